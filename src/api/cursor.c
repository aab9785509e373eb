/* Cursor text: "<resource>v01:<position>" read as one big number and written in base 62 (api.md 6.7), and array parameters
 * of queries (6.2). SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "api/call.h"

static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
#define CURSOR_MOST 2048

static struct str to_base62(struct arena *a, struct str plain)
{
    uint8_t *n = arena_alloc(a, plain.n + 1);
    memcpy(n, plain.p, plain.n);
    size_t len = plain.n, most = plain.n * 2 + 2, at = most;
    char *out = arena_alloc(a, most);
    size_t from = 0;
    while (from < len) {
        unsigned rest = 0;
        for (size_t i = from; i < len; i++) {
            unsigned v = rest << 8 | n[i];
            n[i] = (uint8_t)(v / 62);
            rest = v % 62;
        }
        out[--at] = digits[rest];
        while (from < len && n[from] == 0) {
            from++;
        }
    }
    return (struct str){out + at, most - at};
}

static bool from_base62(struct arena *a, struct str text, struct str *out)
{
    if (text.n > CURSOR_MOST) {
        return false;
    }
    uint8_t *n = arena_zalloc(a, text.n + 1);
    size_t used = 0; /* bytes, least significant first */
    for (size_t i = 0; i < text.n; i++) {
        const char *d = text.p[i] ? strchr(digits, text.p[i]) : NULL;
        if (!d) {
            return false;
        }
        unsigned carry = (unsigned)(d - digits);
        for (size_t k = 0; k < used; k++) {
            unsigned v = n[k] * 62u + carry;
            n[k] = (uint8_t)v;
            carry = v >> 8;
        }
        if (carry) {
            n[used++] = (uint8_t)carry;
        }
    }
    char *p = arena_alloc(a, used + 1);
    for (size_t k = 0; k < used; k++) {
        p[k] = (char)n[used - 1 - k];
    }
    *out = (struct str){p, used};
    return true;
}

struct str cursor_make(struct arena *a, const char *resource, usec_t at_ms, struct str id)
{
    struct str plain = id.p ? arena_printf(a, "%sv01:%lld::%.*s", resource, (long long)at_ms, STR_ARG(id))
                            : arena_printf(a, "%sv01:%lld", resource, (long long)at_ms);
    return to_base62(a, plain);
}

enum cursor_state cursor_read(struct arena *a, struct str text, const char *resource, struct str *out_position)
{
    struct str plain;
    size_t r = strlen(resource);
    if (!from_base62(a, text, &plain) || !str_starts(plain, str_z(resource)) || plain.n < r + 4 || plain.p[r] != 'v' ||
        plain.p[r + 3] != ':') {
        return CURSOR_INVALID;
    }
    if (plain.p[r + 1] != '0' || plain.p[r + 2] != '1') {
        return CURSOR_VERSION;
    }
    *out_position = str_sub(plain, r + 4, plain.n);
    return CURSOR_OK;
}

struct indexed {
    int64_t index;
    struct str name, value;
    size_t order;
};

static int by_index(const void *x, const void *y)
{
    const struct indexed *a = x, *b = y;
    if (a->index != b->index) {
        return a->index < b->index ? -1 : 1;
    }
    return a->order < b->order ? -1 : 1;
}

static bool is_indexed(struct str full, struct str name, int64_t *out)
{
    if (full.n < name.n + 3 || !str_starts(full, name) || full.p[name.n] != '[' || full.p[full.n - 1] != ']') {
        return false;
    }
    struct str in = str_sub(full, name.n + 1, full.n - name.n - 2);
    if (in.n && in.p[0] == '+') {
        in = str_sub(in, 1, in.n);
    }
    return str_to_i64(in, out);
}

struct strlist query_array(struct call *c, const char *z)
{
    struct str name = str_z(z), bracketed = arena_printf(c->a, "%s[]", z);
    const struct query *q = &c->query;
    struct indexed *v = ARENA_ARRAY(c->a, struct indexed, q->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < q->n; i++) {
        int64_t at;
        bool known = false;
        if (is_indexed(q->v[i].name, name, &at)) {
            for (size_t k = 0; k < n; k++) {
                known |= str_eq(v[k].name, q->v[i].name);
            }
            if (!known) {
                v[n] = (struct indexed){at, q->v[i].name, q->v[i].value, n};
                n++;
            }
        }
    }
    struct strlist out = {ARENA_ARRAY(c->a, struct str, q->n + 1), 0};
    if (n) {
        qsort(v, n, sizeof(*v), by_index);
        for (size_t i = 0; i < n; i++) {
            out.v[out.n++] = v[i].value;
        }
        return out;
    }
    for (int round = 0; round < 2 && out.n == 0; round++) {
        for (size_t i = 0; i < q->n; i++) {
            if (str_eq(q->v[i].name, round ? name : bracketed)) {
                out.v[out.n++] = q->v[i].value;
            }
        }
    }
    return out;
}
