/* Form decoding: one pass over the raw query, decoded texts in the caller's arena. Routing and the
 * meaning of parameters belong to the API's rooms. Contract: query.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "util/query.h"

static bool decode(struct str raw, struct arena *a, bool plus, struct str *out)
{
    char *p = arena_alloc(a, raw.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < raw.n; i++) {
        char c = raw.p[i];
        if (c == '%') {
            int hi = i + 1 < raw.n ? str_hex_value(raw.p[i + 1]) : -1;
            int lo = i + 2 < raw.n ? str_hex_value(raw.p[i + 2]) : -1;
            if (hi < 0 || lo < 0) {
                return false;
            }
            c = (char)(hi << 4 | lo);
            i += 2;
        } else if (plus && c == '+') {
            c = ' ';
        }
        p[n++] = c;
    }
    p[n] = '\0';
    *out = (struct str){p, n};
    return true;
}

bool percent_decode(struct str raw, struct arena *a, struct str *out)
{
    return decode(raw, a, false, out);
}

static size_t pairs_in(struct str raw)
{
    size_t n = 1;
    for (size_t i = 0; i < raw.n; i++) {
        n += raw.p[i] == '&';
    }
    return MIN(n, (size_t)QUERY_MOST);
}

struct query query_parse(struct str raw, struct arena *a)
{
    struct query q = {NULL, 0};
    if (raw.n == 0) {
        return q;
    }
    size_t most = pairs_in(raw);
    q.v = ARENA_ARRAY(a, struct query_pair, most);
    struct str pair;
    while (q.n < most && str_split(&raw, '&', &pair)) {
        if (pair.n == 0 || memchr(pair.p, ';', pair.n)) {
            continue;
        }
        struct str value = pair, name;
        str_split(&value, '=', &name);
        if (!value.p) {
            value = STR("");
        }
        struct query_pair *out = &q.v[q.n];
        if (decode(name, a, true, &out->name) && decode(value, a, true, &out->value)) {
            q.n++;
        }
    }
    return q;
}

struct str query_get(const struct query *q, struct str name)
{
    for (size_t i = 0; i < q->n; i++) {
        if (str_eq(q->v[i].name, name)) {
            return q->v[i].value;
        }
    }
    return STR_NULL;
}

size_t query_all(const struct query *q, struct str name, struct arena *a, struct str **out)
{
    size_t n = 0;
    for (size_t i = 0; i < q->n; i++) {
        n += str_eq(q->v[i].name, name);
    }
    *out = n ? ARENA_ARRAY(a, struct str, n) : NULL;
    for (size_t i = 0, at = 0; at < n; i++) {
        if (str_eq(q->v[i].name, name)) {
            (*out)[at++] = q->v[i].value;
        }
    }
    return n;
}

void percent_add(struct buf *b, struct str s, const char *keep)
{
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     (c && strchr("-._~", c)) || (c && strchr(keep, c));
        if (plain) {
            buf_addc(b, c);
        } else {
            char t[3] = {'%', hex[(uint8_t)c >> 4], hex[(uint8_t)c & 15]};
            buf_add(b, t, 3);
        }
    }
}
