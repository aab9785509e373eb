/* Numbers and text of the stored binary forms. SPDX-License-Identifier: Apache-2.0 */
#include "core/codec.h"

void enc_u64(struct buf *b, uint64_t v)
{
    char t[10];
    size_t n = 0;
    while (v >= 0x80) {
        t[n++] = (char)(v | 0x80);
        v >>= 7;
    }
    t[n++] = (char)v;
    buf_add(b, t, n);
}

void enc_i64(struct buf *b, int64_t v)
{
    enc_u64(b, ((uint64_t)v << 1) ^ (uint64_t)(v >> 63));
}

void enc_str(struct buf *b, struct str s)
{
    enc_u64(b, s.n);
    buf_adds(b, s);
}

void enc_list(struct buf *b, const struct strlist *l)
{
    enc_u64(b, l->n);
    for (size_t i = 0; i < l->n; i++) {
        enc_str(b, l->v[i]);
    }
}

void enc_map(struct buf *b, const struct strmap *m)
{
    enc_u64(b, m->n);
    for (size_t i = 0; i < m->n; i++) {
        enc_str(b, m->v[i].key);
        enc_str(b, m->v[i].value);
    }
}

uint64_t dec_u64(struct dec *d)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && d->rest.n; shift += 7) {
        uint8_t c = (uint8_t)*d->rest.p;
        d->rest.p++, d->rest.n--;
        v |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80)) {
            return v;
        }
    }
    d->bad = true;
    return 0;
}

int64_t dec_i64(struct dec *d)
{
    uint64_t v = dec_u64(d);
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

struct str dec_str(struct dec *d)
{
    uint64_t n = dec_u64(d);
    if (d->bad || n > d->rest.n) {
        d->bad = true;
        return STR("");
    }
    struct str s = {d->rest.p, (size_t)n};
    d->rest.p += n, d->rest.n -= (size_t)n;
    return s;
}

/* A count of items of at least `least` bytes each, so that a damaged count cannot ask for much memory. */
static size_t dec_count(struct dec *d, size_t least)
{
    uint64_t n = dec_u64(d);
    if (d->bad || n > d->rest.n / least) {
        d->bad = true;
        return 0;
    }
    return (size_t)n;
}

struct strlist dec_list(struct dec *d)
{
    size_t n = dec_count(d, 1);
    struct strlist l = {n ? ARENA_ARRAY(d->a, struct str, n) : NULL, n};
    for (size_t i = 0; i < n; i++) {
        l.v[i] = dec_str(d);
    }
    return l;
}

struct strmap dec_map(struct dec *d)
{
    size_t n = dec_count(d, 2);
    struct strmap m = {n ? ARENA_ARRAY(d->a, struct strpair, n) : NULL, n};
    for (size_t i = 0; i < n; i++) {
        m.v[i].key = dec_str(d);
        m.v[i].value = dec_str(d);
    }
    return m;
}

struct str pack_str(char **at, struct str s)
{
    char *p = *at;
    if (s.n) {
        memcpy(p, s.p, s.n);
    }
    p[s.n] = '\0';
    *at += s.n + 1;
    return (struct str){p, s.n};
}
