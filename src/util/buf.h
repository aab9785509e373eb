/* Owned, growing, bounded bytes. Every buffer has a maximum; what does not fit sets `over`, the
 * bytes so far stay, further adds do nothing. Check `over` once at the end.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_UTIL_BUF_H
#define OUTRIDER_UTIL_BUF_H

#include <stdarg.h>

#include "util/str.h"

struct buf {
    char *p;
    size_t n, cap, max;
    bool over; /* something did not fit into max */
};

void buf_init(struct buf *b, size_t max);
void buf_fini(struct buf *b);  /* frees; b may be used again after buf_init */
void buf_reset(struct buf *b); /* empties, keeps the memory */
void buf_add(struct buf *b, const void *p, size_t n);
void buf_adds(struct buf *b, struct str s);
void buf_addz(struct buf *b, const char *z);
void buf_addc(struct buf *b, char c);
void buf_addi(struct buf *b, int64_t v); /* decimal */
void buf_addf(struct buf *b, const char *fmt, ...) PRINTF(2, 3);
char *
buf_space(struct buf *b,
          size_t n); /* room for n more bytes at the end, or NULL (over set); then add to b->n */
/* NUL-terminated view (the NUL is not counted in n); "" when empty. */
const char *buf_z(struct buf *b);
static inline struct str buf_str(const struct buf *b)
{
    return (struct str){b->p, b->n};
}

#endif
