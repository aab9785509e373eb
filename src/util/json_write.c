/* Writing JSON: strings as Go's encoder escapes them, raw values compacted, and the comma-keeping
 * writer. Reading and checking is json.c; contract: json.h. SPDX-License-Identifier: Apache-2.0 */
#include "util/json.h"
#include "util/utf8.h"

/* Why a byte may not simply be copied. */
enum {
    LOOK_BLANK = 1,  /* white space between tokens */
    LOOK_QUOTE = 2,  /* begins or ends a string */
    LOOK_STRING = 4, /* inside a string: escaped, an escape, or not ASCII */
    LOOK_HTML = 8,   /* inside a string: escaped for HTML */
};

static const uint8_t look[256] = {
    [0 ... 8] = LOOK_STRING,
    ['\t'] = LOOK_STRING | LOOK_BLANK,
    ['\n'] = LOOK_STRING | LOOK_BLANK,
    [11 ... 12] = LOOK_STRING,
    ['\r'] = LOOK_STRING | LOOK_BLANK,
    [14 ... 31] = LOOK_STRING,
    [' '] = LOOK_BLANK,
    ['"'] = LOOK_STRING | LOOK_QUOTE,
    ['\\'] = LOOK_STRING,
    ['<'] = LOOK_HTML,
    ['>'] = LOOK_HTML,
    ['&'] = LOOK_HTML,
    [128 ... 255] = LOOK_STRING,
};

/* The first place from i on that has one of the reasons. */
static inline size_t until(struct str s, size_t i, unsigned reasons)
{
    while (i < s.n && !(look[(uint8_t)s.p[i]] & reasons)) {
        i++;
    }
    return i;
}

/* raw.p[i] is behind an opening quote; returns behind the closing one. */
static size_t pass_string(struct str raw, size_t i)
{
    while ((i = until(raw, i, LOOK_STRING)) < raw.n && raw.p[i] != '"') {
        i += raw.p[i] == '\\' ? 2 : 1;
    }
    return MIN(i + 1, raw.n);
}

void json_compact(struct buf *b, struct str raw)
{
    size_t from = 0;
    for (size_t i = 0; (i = until(raw, i, LOOK_BLANK | LOOK_QUOTE)) < raw.n;) {
        if (raw.p[i] == '"') {
            i = pass_string(raw, i + 1);
            continue;
        }
        buf_add(b, raw.p + from, i - from);
        from = ++i;
    }
    buf_add(b, raw.p + from, raw.n - from);
}

static void add_u(struct buf *b, unsigned c)
{
    static const char hex[] = "0123456789abcdef";
    char t[6] = {'\\', 'u', hex[c >> 12 & 15], hex[c >> 8 & 15], hex[c >> 4 & 15], hex[c & 15]};
    buf_add(b, t, 6);
}

static void add_control(struct buf *b, unsigned char c)
{
    static const char *const named[] = {
        ['\b'] = "\\b", ['\f'] = "\\f", ['\n'] = "\\n", ['\r'] = "\\r", ['\t'] = "\\t"};
    if (c < ARRAY_LEN(named) && named[c]) {
        buf_add(b, named[c], 2);
    } else {
        add_u(b, c);
    }
}

/* One code point beyond ASCII at s; returns the bytes used. The line separators U+2028/9 are
 * written as escapes when lines. */
static size_t add_beyond(struct buf *b, struct str s, bool lines)
{
    unsigned c;
    size_t n = utf8_get(s, &c);
    if (n == 1 || (lines && (c == 0x2028 || c == 0x2029))) {
        add_u(b, c);
    } else {
        buf_add(b, s.p, n);
    }
    return n;
}

/* What begins at s, which may not be copied: an escape already when raw, else one byte or code
 * point to escape. Returns the bytes used. */
static size_t add_looked_at(struct buf *b, struct str s, bool html, bool raw)
{
    unsigned char c = (unsigned char)s.p[0];
    if (c >= 0x80) {
        return add_beyond(b, s, html || !raw);
    }
    if (raw && c == '\\') {
        size_t n = MIN(s.n, (size_t)2);
        buf_add(b, s.p, n);
        return n;
    }
    if (c == '"' || c == '\\') {
        buf_addc(b, '\\');
        buf_addc(b, (char)c);
    } else if (c < 0x20) {
        add_control(b, c);
    } else {
        add_u(b, c);
    }
    return 1;
}

void json_add_string(struct buf *b, struct str text, bool html)
{
    unsigned reasons = LOOK_STRING | (html ? LOOK_HTML : 0);
    buf_addc(b, '"');
    for (size_t i = 0; i < text.n;) {
        size_t from = i;
        i = until(text, i, reasons);
        buf_add(b, text.p + from, i - from);
        if (i < text.n) {
            i += add_looked_at(b, str_sub(text, i, text.n), html, false);
        }
    }
    buf_addc(b, '"');
}

void json_add_raw(struct buf *b, struct str raw, bool html)
{
    const unsigned outside = LOOK_BLANK | LOOK_QUOTE, inside = LOOK_STRING | (html ? LOOK_HTML : 0);
    bool in_string = false;
    size_t from = 0; /* copied up to here */
    for (size_t i = 0; (i = until(raw, i, in_string ? inside : outside)) < raw.n;) {
        if (raw.p[i] == '"') {
            in_string = !in_string;
            i++;
            continue;
        }
        buf_add(b, raw.p + from, i - from);
        i += in_string ? add_looked_at(b, str_sub(raw, i, raw.n), html, true) : 1;
        from = i;
    }
    buf_add(b, raw.p + from, raw.n - from);
}

#define DEPTH_MOST 64

void jw_init(struct jsonw *w, struct buf *b, bool html)
{
    *w = (struct jsonw){.b = b, .html = html};
}

/* In front of every value and key. */
static void separate(struct jsonw *w)
{
    if (w->after_key) {
        w->after_key = false;
        return;
    }
    uint64_t bit = UINT64_C(1) << w->depth;
    if (w->has & bit) {
        buf_addc(w->b, ',');
    }
    w->has |= bit;
}

static void open_bracket(struct jsonw *w, char c)
{
    separate(w);
    buf_addc(w->b, c);
    w->depth++;
    assert(w->depth < DEPTH_MOST);
    w->has &= ~(UINT64_C(1) << w->depth);
}

void jw_obj(struct jsonw *w)
{
    open_bracket(w, '{');
}

void jw_arr(struct jsonw *w)
{
    open_bracket(w, '[');
}

void jw_obj_end(struct jsonw *w)
{
    assert(w->depth > 0 && !w->after_key);
    w->depth--;
    buf_addc(w->b, '}');
}

void jw_arr_end(struct jsonw *w)
{
    assert(w->depth > 0 && !w->after_key);
    w->depth--;
    buf_addc(w->b, ']');
}

void jw_key(struct jsonw *w, struct str key)
{
    separate(w);
    json_add_string(w->b, key, w->html);
    buf_addc(w->b, ':');
    w->after_key = true;
}

void jw_str(struct jsonw *w, struct str s)
{
    separate(w);
    json_add_string(w->b, s, w->html);
}

void jw_int(struct jsonw *w, int64_t v)
{
    separate(w);
    buf_addi(w->b, v);
}

void jw_bool(struct jsonw *w, bool v)
{
    separate(w);
    buf_addz(w->b, v ? "true" : "false");
}

void jw_null(struct jsonw *w)
{
    separate(w);
    buf_addz(w->b, "null");
}

void jw_raw(struct jsonw *w, struct str raw)
{
    separate(w);
    buf_adds(w->b, raw);
}

void jw_raw_go(struct jsonw *w, struct str raw)
{
    separate(w);
    json_add_raw(w->b, raw, w->html);
}

void jw_kstr(struct jsonw *w, const char *key, struct str s)
{
    jw_key(w, str_z(key));
    jw_str(w, s);
}

void jw_kint(struct jsonw *w, const char *key, int64_t v)
{
    jw_key(w, str_z(key));
    jw_int(w, v);
}

void jw_kbool(struct jsonw *w, const char *key, bool v)
{
    jw_key(w, str_z(key));
    jw_bool(w, v);
}

void jw_knull(struct jsonw *w, const char *key)
{
    jw_key(w, str_z(key));
    jw_null(w);
}
