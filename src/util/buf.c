/* Growing, bounded bytes: doubling up to the maximum, one spare byte for the NUL of buf_z. What
 * does not fit is dropped whole, never cut. Contract: buf.h; memory that ends with a request:
 * arena.h. SPDX-License-Identifier: Apache-2.0 */
#include "util/buf.h"

#include <stdio.h>
#include <stdlib.h>

void buf_init(struct buf *b, size_t max)
{
    *b = (struct buf){.max = max};
}

void buf_fini(struct buf *b)
{
    free(b->p);
    *b = (struct buf){.max = b->max};
}

void buf_reset(struct buf *b)
{
    b->n = 0;
    b->over = false;
}

char *buf_space(struct buf *b, size_t n)
{
    if (b->over || n > b->max || b->n > b->max - n) {
        b->over = true;
        return NULL;
    }
    if (b->n + n > b->cap) {
        size_t cap = MAX(b->cap * 2, (size_t)64);
        cap = MIN(MAX(cap, b->n + n), b->max);
        b->p = xrealloc(b->p, cap + 1); /* one more for buf_z */
        b->cap = cap;
    }
    return b->p ? b->p + b->n : NULL;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
    char *at = n ? buf_space(b, n) : NULL;
    if (at) {
        memcpy(at, p, n);
        b->n += n;
    }
}

void buf_adds(struct buf *b, struct str s)
{
    buf_add(b, s.p, s.n);
}

void buf_addz(struct buf *b, const char *z)
{
    buf_add(b, z, strlen(z));
}

void buf_addc(struct buf *b, char c)
{
    if (b->n < b->cap && !b->over) {
        b->p[b->n++] = c;
    } else {
        buf_add(b, &c, 1);
    }
}

void buf_addi(struct buf *b, int64_t v)
{
    char t[24];
    char *end = t + sizeof(t), *p = end;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do {
        *--p = (char)('0' + u % 10);
        u /= 10;
    } while (u);
    if (v < 0) {
        *--p = '-';
    }
    buf_add(b, p, (size_t)(end - p));
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char small[256];
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(small, sizeof(small), fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof(small)) {
        buf_add(b, small, (size_t)n);
    } else if (n > 0) {
        char *big = xmalloc((size_t)n + 1);
        vsnprintf(big, (size_t)n + 1, fmt, again);
        buf_add(b, big, (size_t)n);
        free(big);
    }
    va_end(again);
}

const char *buf_z(struct buf *b)
{
    if (!b->p) {
        return "";
    }
    b->p[b->n] = '\0';
    return b->p;
}
