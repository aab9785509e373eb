/* Writing JSON: strings as Go's encoder escapes them, raw values compacted, and the comma-keeping
 * writer. Reading and checking is json.c; contract: json.h. SPDX-License-Identifier: Apache-2.0 */
#include "util/json.h"
#include "util/utf8.h"

static bool blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* raw.p[from] is behind an opening quote: the offset of the closing one. */
static size_t string_end(struct str raw, size_t from)
{
    size_t i = from;
    while (i < raw.n && raw.p[i] != '"') {
        i += raw.p[i] == '\\' ? 2 : 1;
    }
    return MIN(i, raw.n);
}

/* Copies what lies between strings, without blanks, up to and including the next quote; returns the
 * offset behind it. */
static size_t add_between(struct buf *b, struct str raw, size_t i)
{
    bool quote = false;
    while (i < raw.n && !quote) {
        while (i < raw.n && blank(raw.p[i])) {
            i++;
        }
        size_t from = i;
        while (i < raw.n && !quote && !blank(raw.p[i])) {
            quote = raw.p[i++] == '"';
        }
        buf_add(b, raw.p + from, i - from);
    }
    return i;
}

void json_compact(struct buf *b, struct str raw)
{
    for (size_t i = 0; (i = add_between(b, raw, i)) < raw.n;) {
        size_t end = string_end(raw, i);
        buf_add(b, raw.p + i, MIN(end + 1, raw.n) - i);
        i = end + 1;
    }
}

static void add_u(struct buf *b, unsigned c)
{
    static const char hex[] = "0123456789abcdef";
    char t[6] = {'\\', 'u', hex[c >> 12 & 15], hex[c >> 8 & 15], hex[c >> 4 & 15], hex[c & 15]};
    buf_add(b, t, 6);
}

/* Bytes from 0x20 on that need no look: everything ASCII but the quote, the backslash and, with
 * html, < > &. */
static bool ordinary(unsigned char c, bool html)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\' &&
           !(html && (c == '<' || c == '>' || c == '&'));
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

/* The inside of a string. raw: escapes in it are kept as they are. */
static void add_inside(struct buf *b, struct str s, bool html, bool raw)
{
    for (size_t i = 0; i < s.n;) {
        size_t from = i;
        while (i < s.n && ordinary((unsigned char)s.p[i], html)) {
            i++;
        }
        buf_add(b, s.p + from, i - from);
        if (i == s.n) {
            return;
        }
        unsigned char c = (unsigned char)s.p[i];
        if (c >= 0x80) {
            i += add_beyond(b, str_sub(s, i, 4), html || !raw);
            continue;
        }
        if (raw && c == '\\' && i + 1 < s.n) {
            buf_add(b, s.p + i, 2);
            i += 2;
            continue;
        }
        if (c == '"' || c == '\\') {
            buf_addc(b, '\\');
            buf_addc(b, (char)c);
        } else if (c < 0x20) {
            add_control(b, c);
        } else {
            add_u(b, c);
        }
        i++;
    }
}

void json_add_string(struct buf *b, struct str text, bool html)
{
    buf_addc(b, '"');
    add_inside(b, text, html, false);
    buf_addc(b, '"');
}

void json_add_raw(struct buf *b, struct str raw, bool html)
{
    for (size_t i = 0; (i = add_between(b, raw, i)) < raw.n;) {
        size_t end = string_end(raw, i);
        add_inside(b, str_sub(raw, i, end - i), html, true);
        buf_addc(b, '"');
        i = end + 1;
    }
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
