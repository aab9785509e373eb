/* Intrusive binary heap: nodes know their place, so that one in the middle can be taken out. An
 * array of pointers is all the memory it has; nodes belong to the caller. Contract: heap.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "util/heap.h"

#include <stdlib.h>

void heap_init(struct heap *h)
{
    *h = (struct heap){0};
}

void heap_fini(struct heap *h)
{
    free(h->v);
    heap_init(h);
}

static bool before(const struct heap_node *a, const struct heap_node *b)
{
    return a->key != b->key ? a->key < b->key : a->seq < b->seq;
}

static void put(struct heap *h, size_t i, struct heap_node *n)
{
    h->v[i] = n;
    n->at = i + 1;
}

static void up(struct heap *h, size_t i)
{
    struct heap_node *n = h->v[i];
    while (i && before(n, h->v[(i - 1) / 2])) {
        put(h, i, h->v[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    put(h, i, n);
}

static void down(struct heap *h, size_t i)
{
    struct heap_node *n = h->v[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= h->n) {
            break;
        }
        if (child + 1 < h->n && before(h->v[child + 1], h->v[child])) {
            child++;
        }
        if (!before(h->v[child], n)) {
            break;
        }
        put(h, i, h->v[child]);
        i = child;
    }
    put(h, i, n);
}

void heap_push(struct heap *h, struct heap_node *n, int64_t key)
{
    assert(!n->at);
    if (h->n == h->cap) {
        h->cap = h->cap ? h->cap * 2 : 16;
        h->v = xrealloc(h->v, h->cap * sizeof(struct heap_node *));
    }
    n->key = key;
    n->seq = h->seq++;
    h->v[h->n++] = n;
    up(h, h->n - 1);
}

void heap_del(struct heap *h, struct heap_node *n)
{
    if (!n->at) {
        return;
    }
    size_t i = n->at - 1;
    n->at = 0;
    struct heap_node *last = h->v[--h->n];
    if (last == n) {
        return;
    }
    put(h, i, last);
    up(h, i);
    down(h, last->at - 1);
}

struct heap_node *heap_min(const struct heap *h)
{
    return h->n ? h->v[0] : NULL;
}
