/* Intrusive binary min-heap of 64-bit keys, ties in order of insertion.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_UTIL_HEAP_H
#define OUTRIDER_UTIL_HEAP_H

#include "util/attr.h"

struct heap_node {
    int64_t key;
    uint64_t seq;
    size_t at; /* position + 1; 0 = not in a heap */
};
struct heap {
    struct heap_node **v;
    size_t n, cap;
    uint64_t seq;
};

void heap_init(struct heap *h);
void heap_fini(struct heap *h);
void heap_push(struct heap *h, struct heap_node *n, int64_t key);
void heap_del(struct heap *h, struct heap_node *n); /* harmless when not in */
struct heap_node *heap_min(const struct heap *h);   /* NULL when empty */
static inline bool heap_in(const struct heap_node *n)
{
    return n->at != 0;
}

#endif
