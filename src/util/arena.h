/* Memory with one end: everything a request or job builds lives here and is freed at once.
 * Not thread-safe: an arena moves between threads only together with its owner.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_UTIL_ARENA_H
#define OUTRIDER_UTIL_ARENA_H

#include "util/str.h"

struct arena_block;
struct arena {
    struct arena_block *head;
    size_t used; /* bytes handed out since init or reset */
};

void arena_init(struct arena *a); /* no memory is taken until the first alloc */
void arena_fini(struct arena *a);
void arena_reset(struct arena *a);            /* keeps one block of ordinary size for reuse */
void *arena_alloc(struct arena *a, size_t n); /* aligned to 16, not zeroed, never NULL */
void *arena_zalloc(struct arena *a, size_t n);
struct str arena_copy(struct arena *a, struct str s); /* also NUL-terminated behind n */
char *arena_z(struct arena *a, struct str s);         /* NUL-terminated copy */
struct str arena_printf(struct arena *a, const char *fmt, ...) PRINTF(2, 3);
#define ARENA_NEW(a, type) ((type *)arena_zalloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, count) ((type *)arena_zalloc((a), sizeof(type) * (count)))

#endif
