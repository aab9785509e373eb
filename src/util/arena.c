/* Blocks of growing size in a list; the newest serves, and a piece larger than a block gets one of
 * its own. Nothing is given back before the end. Contract: arena.h; bytes that must grow in place:
 * buf.h. SPDX-License-Identifier: Apache-2.0 */
#include "util/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCK_FIRST 2032
#define BLOCK_MOST 65520
#define ALIGN 16

struct arena_block {
    struct arena_block *next;
    size_t cap, n;
    _Alignas(ALIGN) char bytes[];
};

void arena_init(struct arena *a)
{
    *a = (struct arena){NULL, 0};
}

void arena_fini(struct arena *a)
{
    for (struct arena_block *b = a->head, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    *a = (struct arena){NULL, 0};
}

void arena_reset(struct arena *a)
{
    struct arena_block *keep = NULL;
    for (struct arena_block *b = a->head, *next; b; b = next) {
        next = b->next;
        if (!keep && b->cap <= BLOCK_MOST) {
            keep = b;
        } else {
            free(b);
        }
    }
    if (keep) {
        keep->next = NULL;
        keep->n = 0;
    }
    *a = (struct arena){keep, 0};
}

void *arena_alloc(struct arena *a, size_t n)
{
    n = (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    struct arena_block *b = a->head;
    if (!b || b->cap - b->n < n) {
        size_t cap = b ? MIN(b->cap * 2, (size_t)BLOCK_MOST) : BLOCK_FIRST;
        cap = MAX(cap, n);
        struct arena_block *fresh = xmalloc(sizeof(*fresh) + cap);
        *fresh = (struct arena_block){.next = b, .cap = cap};
        if (b && n > BLOCK_MOST) {
            /* A large piece stands alone behind the block that still has room. */
            fresh->next = b->next;
            b->next = fresh;
        } else {
            a->head = fresh;
        }
        b = fresh;
    }
    void *p = b->bytes + b->n;
    b->n += n;
    a->used += n;
    return p;
}

void *arena_zalloc(struct arena *a, size_t n)
{
    return memset(arena_alloc(a, n), 0, n);
}

struct str arena_copy(struct arena *a, struct str s)
{
    return (struct str){arena_z(a, s), s.n};
}

char *arena_z(struct arena *a, struct str s)
{
    char *p = arena_alloc(a, s.n + 1);
    if (s.n) {
        memcpy(p, s.p, s.n);
    }
    p[s.n] = '\0';
    return p;
}

struct str arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0) {
        n = 0;
    }
    char *p = arena_alloc(a, (size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return (struct str){p, (size_t)n};
}
