/* The checker and the readers. The checker is one loop with a bit per open bracket; strings are
 * scanned eight bytes at a time until a byte needs a look. Readers trust what it passed. The writer
 * is json_write.c; contract: json.h. SPDX-License-Identifier: Apache-2.0 */
#include "util/json.h"

#include <endian.h>

#include "util/utf8.h"

/* 1 = object, 0 = array, one bit per depth. */
struct nest {
    uint8_t bits[JSON_DEPTH_MAX / 8 + 1];
    unsigned depth, max;
};

static void nest_push(struct nest *s, bool object)
{
    uint8_t bit = (uint8_t)(1u << (s->depth & 7));
    uint8_t *b = &s->bits[s->depth >> 3];
    *b = object ? *b | bit : *b & (uint8_t)~bit;
    s->depth++;
}

static bool nest_object(const struct nest *s)
{
    unsigned d = s->depth - 1;
    return s->bits[d >> 3] >> (d & 7) & 1;
}

static const char *skip_blank(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) {
        p++;
    }
    return p;
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

#define ONES UINT64_C(0x0101010101010101)
#define HIGH UINT64_C(0x8080808080808080)

/* High bit set in the bytes that are a quote, a backslash or below 0x20; above the lowest such byte
 * a borrow may set more. */
static inline uint64_t needs_look(uint64_t w)
{
    uint64_t quote = w ^ (ONES * '"'), back = w ^ (ONES * '\\');
    uint64_t hit = (quote - ONES) & ~quote;
    hit |= (back - ONES) & ~back;
    hit |= (w - ONES * 0x20) & ~w;
    return hit & HIGH;
}

/* p is behind the backslash; returns behind the escape, NULL when there is none such. */
static const char *scan_escape(const char *p, const char *end)
{
    if (p == end) {
        return NULL;
    }
    char c = *p++;
    if (c != 'u') {
        return c && strchr("\"\\/bfnrt", c) ? p : NULL;
    }
    bool ok = end - p >= 4 && is_hex(p[0]) && is_hex(p[1]) && is_hex(p[2]) && is_hex(p[3]);
    return ok ? p + 4 : NULL;
}

/* p is behind the opening quote; returns behind the closing one, NULL when malformed. */
static const char *scan_string(const char *p, const char *end)
{
    for (;;) {
        uint64_t w, hit = 0;
        while (end - p >= 8 && (memcpy(&w, p, 8), !(hit = needs_look(le64toh(w))))) {
            p += 8;
        }
        p += hit ? __builtin_ctzll(hit) / 8 : 0;
        if (p == end) {
            return NULL;
        }
        unsigned char c = (unsigned char)*p++;
        if (c == '"') {
            return p;
        }
        if (c < 0x20) {
            return NULL;
        }
        if (c == '\\' && !(p = scan_escape(p, end))) {
            return NULL;
        }
    }
}

static const char *scan_digits(const char *p, const char *end)
{
    const char *from = p;
    while (p < end && *p >= '0' && *p <= '9') {
        p++;
    }
    return p == from ? NULL : p;
}

static const char *scan_number(const char *p, const char *end)
{
    if (p < end && *p == '-') {
        p++;
    }
    if (p < end && *p == '0') {
        p++;
    } else if (!(p = scan_digits(p, end))) {
        return NULL;
    }
    if (p < end && *p == '.' && !(p = scan_digits(p + 1, end))) {
        return NULL;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-')) {
            p++;
        }
        p = scan_digits(p, end);
    }
    return p;
}

static const char *scan_word(const char *p, const char *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - p) >= n && memcmp(p, word, n) == 0 ? p + n : NULL;
}

static enum json_type type_of(char c)
{
    switch (c) {
    case '{':
        return JSON_OBJECT;
    case '[':
        return JSON_ARRAY;
    case '"':
        return JSON_STRING;
    case 't':
        return JSON_TRUE;
    case 'f':
        return JSON_FALSE;
    case 'n':
        return JSON_NULL;
    default:
        return JSON_NUMBER;
    }
}

static const char *scan_scalar(const char *p, const char *end)
{
    switch (*p) {
    case '"':
        return scan_string(p + 1, end);
    case 't':
        return scan_word(p, end, "true");
    case 'f':
        return scan_word(p, end, "false");
    case 'n':
        return scan_word(p, end, "null");
    default:
        return scan_number(p, end);
    }
}

/* A member's name and colon; returns at the value. */
static const char *scan_key(const char *p, const char *end)
{
    p = skip_blank(p, end);
    if (p == end || *p != '"' || !(p = scan_string(p + 1, end))) {
        return NULL;
    }
    p = skip_blank(p, end);
    return p < end && *p == ':' ? p + 1 : NULL;
}

/* Behind a value: closes brackets and passes commas until the next value or the end. *more tells
 * which. */
static const char *scan_after(struct nest *s, const char *p, const char *end, bool *more)
{
    *more = false;
    while (s->depth) {
        p = skip_blank(p, end);
        if (p == end) {
            return NULL;
        }
        bool object = nest_object(s);
        if (*p == ',') {
            *more = true;
            return object ? scan_key(p + 1, end) : p + 1;
        }
        if (*p != (object ? '}' : ']')) {
            return NULL;
        }
        p++;
        s->depth--;
    }
    return p;
}

/* At an opening bracket. *inside: the next thing is a value in it, else the value is complete
 * (empty brackets). */
static const char *scan_open(struct nest *s, const char *p, const char *end, bool *inside)
{
    bool object = *p == '{';
    nest_push(s, object);
    p = skip_blank(p + 1, end);
    if (p == end) {
        return NULL;
    }
    *inside = *p != (object ? '}' : ']');
    if (*inside) {
        return object ? scan_key(p, end) : p;
    }
    s->depth--;
    return p + 1;
}

/* One value from p on; returns behind it, NULL when malformed; *deep when the depth was the reason.
 */
static const char *scan_value(struct nest *s, const char *p, const char *end, bool *deep)
{
    for (bool more = true; more;) {
        p = skip_blank(p, end);
        if (p == end) {
            return NULL;
        }
        bool inside = false;
        if (*p != '{' && *p != '[') {
            p = scan_scalar(p, end);
        } else if (s->depth >= s->max) {
            *deep = true;
            return NULL;
        } else {
            p = scan_open(s, p, end, &inside);
        }
        if (p && !inside) {
            p = scan_after(s, p, end, &more);
        }
        if (!p) {
            return NULL;
        }
    }
    return p;
}

enum ec json_first(struct str text, unsigned max_depth, struct json *out, size_t *out_end,
                   struct err *err)
{
    struct nest s;
    s.depth = 0;
    s.max = MIN(max_depth, (unsigned)JSON_DEPTH_MAX);
    if (text.n == 0) {
        return err_set(err, EC_INVALID, "invalid JSON");
    }
    const char *end = text.p + text.n;
    const char *from = skip_blank(text.p, end);
    bool deep = false;
    const char *behind = from == end ? NULL : scan_value(&s, from, end, &deep);
    if (deep) {
        return err_set(err, EC_LIMIT, "JSON is nested too deeply");
    }
    if (!behind) {
        return err_set(err, EC_INVALID, "invalid JSON");
    }
    *out = (struct json){type_of(*from), {from, (size_t)(behind - from)}};
    if (out_end) {
        *out_end = (size_t)(behind - text.p);
    }
    return EC_OK;
}

enum ec json_check(struct str text, unsigned max_depth, struct json *out, struct err *err)
{
    size_t behind;
    enum ec ec = json_first(text, max_depth, out, &behind, err);
    if (ec) {
        return ec;
    }
    const char *end = text.p + text.n;
    if (skip_blank(text.p + behind, end) != end) {
        return err_set(err, EC_INVALID, "invalid JSON");
    }
    return EC_OK;
}

/* Behind a value of checked text: no depth limit is needed, brackets are balanced; strings are
 * skipped whole. */
static const char *pass_value(const char *p, const char *end)
{
    if (*p != '{' && *p != '[') {
        return scan_scalar(p, end);
    }
    size_t depth = 0;
    do {
        if (*p == '"') {
            p = scan_string(p + 1, end);
            continue;
        }
        if (*p == '{' || *p == '[') {
            depth++;
        } else if (*p == '}' || *p == ']') {
            depth--;
        }
        p++;
    } while (depth);
    return p;
}

struct json_iter json_iter(struct json v)
{
    struct json_iter it = {0};
    if (v.type == JSON_OBJECT || v.type == JSON_ARRAY) {
        it = (struct json_iter){v.raw.p + 1, v.raw.p + v.raw.n, v.type == JSON_OBJECT};
    }
    return it;
}

bool json_next(struct json_iter *it, struct json *key, struct json *value)
{
    if (!it->p) {
        return false;
    }
    const char *p = skip_blank(it->p, it->end);
    if (p < it->end && *p == ',') {
        p = skip_blank(p + 1, it->end);
    }
    if (p >= it->end || *p == '}' || *p == ']') {
        it->p = NULL;
        return false;
    }
    struct json k = {JSON_NONE, STR_NULL};
    if (it->object) {
        const char *behind = scan_string(p + 1, it->end);
        k = (struct json){JSON_STRING, {p, (size_t)(behind - p)}};
        p = skip_blank(behind, it->end) + 1; /* the colon */
        p = skip_blank(p, it->end);
    }
    const char *behind = pass_value(p, it->end);
    if (key) {
        *key = k;
    }
    if (value) {
        *value = (struct json){type_of(*p), {p, (size_t)(behind - p)}};
    }
    it->p = behind;
    return true;
}

struct json json_get(struct json object, struct str name)
{
    struct json found = {JSON_NONE, STR_NULL}, key, value;
    if (object.type != JSON_OBJECT) {
        return found;
    }
    struct json_iter it = json_iter(object);
    while (json_next(&it, &key, &value)) {
        if (json_is_text(key, name)) {
            found = value;
        }
    }
    return found;
}

size_t json_count(struct json v)
{
    struct json_iter it = json_iter(v);
    size_t n = 0;
    while (json_next(&it, NULL, NULL)) {
        n++;
    }
    return n;
}

static unsigned hex4(const char *p)
{
    unsigned v = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        v = v << 4 | (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return v;
}

/* \uXXXX at p (behind the u), a surrogate pair taken together; returns behind it. */
static const char *unescape_u(const char *p, const char *end, char **out)
{
    unsigned c = hex4(p);
    p += 4;
    if (c >= 0xd800 && c < 0xe000) {
        unsigned low = c < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u' ? hex4(p + 2) : 0;
        if (low >= 0xdc00 && low < 0xe000) {
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
            p += 6;
        } else {
            c = UTF8_REPLACEMENT;
        }
    }
    *out += utf8_put(*out, c);
    return p;
}

static const char *unescape(const char *p, const char *end, char **out)
{
    char c = *p++;
    switch (c) {
    case 'u':
        return unescape_u(p, end, out);
    case 'b':
        c = '\b';
        break;
    case 'f':
        c = '\f';
        break;
    case 'n':
        c = '\n';
        break;
    case 'r':
        c = '\r';
        break;
    case 't':
        c = '\t';
        break;
    default:
        break;
    }
    *(*out)++ = c;
    return p;
}

/* ASCII without a backslash: the text is its own decoding. */
static bool plain(struct str s)
{
    size_t i = 0;
    for (uint64_t w; i + 8 <= s.n; i += 8) {
        memcpy(&w, s.p + i, 8);
        uint64_t back = w ^ (ONES * '\\');
        if ((w | ((back - ONES) & ~back)) & HIGH) {
            return false;
        }
    }
    for (; i < s.n; i++) {
        if (s.p[i] == '\\' || (s.p[i] & 0x80)) {
            return false;
        }
    }
    return true;
}

struct str json_text(struct json v, struct arena *a)
{
    if (v.type != JSON_STRING) {
        return STR("");
    }
    struct str in = {v.raw.p + 1, v.raw.n - 2};
    if (plain(in) || (!memchr(in.p, '\\', in.n) && utf8_valid(in))) {
        return in;
    }
    /* An invalid byte grows to three. */
    char *from = arena_alloc(a, in.n * 3 + 1), *out = from;
    const char *p = in.p, *end = in.p + in.n;
    while (p < end) {
        if (*p == '\\') {
            p = unescape(p + 1, end, &out);
            continue;
        }
        unsigned c;
        p += utf8_get((struct str){p, (size_t)(end - p)}, &c);
        out += utf8_put(out, c);
    }
    *out = '\0';
    return (struct str){from, (size_t)(out - from)};
}

bool json_is_text(struct json v, struct str text)
{
    if (v.type != JSON_STRING) {
        return false;
    }
    struct str in = {v.raw.p + 1, v.raw.n - 2};
    if (plain(in)) {
        return str_eq(in, text);
    }
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    return str_eq(json_text(v, &a), text);
}
