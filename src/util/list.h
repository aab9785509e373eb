/* Intrusive doubly linked list with a sentinel head. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_UTIL_LIST_H
#define OUTRIDER_UTIL_LIST_H

#include "util/attr.h"

struct list {
    struct list *next, *prev;
};

static inline void list_init(struct list *l)
{
    l->next = l->prev = l;
}
static inline bool list_empty(const struct list *l)
{
    return l->next == l;
}
static inline void list_push(struct list *l, struct list *n) /* at the end */
{
    n->prev = l->prev, n->next = l;
    l->prev->next = n, l->prev = n;
}
static inline void list_push_front(struct list *l, struct list *n)
{
    list_push(l->next, n);
}
static inline void
list_del(struct list *n) /* leaves n as an empty list: deleting twice is harmless */
{
    n->prev->next = n->next, n->next->prev = n->prev;
    n->next = n->prev = n;
}
static inline struct list *list_pop(struct list *l) /* first, or NULL */
{
    struct list *n = l->next;
    if (n == l) {
        return NULL;
    }
    list_del(n);
    return n;
}
/* Moves all of from to the end of l; from is empty afterwards. */
static inline void list_splice(struct list *l, struct list *from)
{
    if (from->next == from) {
        return;
    }
    from->next->prev = l->prev, l->prev->next = from->next;
    from->prev->next = l, l->prev = from->prev;
    list_init(from);
}
#define LIST_EACH(it, l) for (struct list *it = (l)->next; it != (l); it = it->next)
#define LIST_EACH_SAFE(it, l)                                                                      \
    for (struct list *it = (l)->next, *it##_next = it->next; it != (l);                            \
         it = it##_next, it##_next = it->next)

#endif
