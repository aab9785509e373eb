/* Compiler attributes, the clean-up idiom and memory that never fails, for every room. Not a place for
 * helpers: those live with their noun. Code: err.c. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_UTIL_ATTR_H
#define OUTRIDER_UTIL_ATTR_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/param.h> /* MIN, MAX */

#define PRINTF(f, a) __attribute__((format(printf, f, a)))
#define MUST_CHECK __attribute__((warn_unused_result))
#define NORETURN __attribute__((noreturn))
#define UNUSED __attribute__((unused))
/* CLEANUP(buf_fini) struct buf b; runs buf_fini(&b) when b goes out of scope. */
#define CLEANUP(fn) __attribute__((cleanup(fn)))
/* Hands ownership out of a CLEANUP variable: returns p and leaves NULL behind. */
#define TAKE(p)                                                                                    \
    ({                                                                                             \
        __typeof__(p) taken_ = (p);                                                                \
        (p) = NULL;                                                                                \
        taken_;                                                                                    \
    })
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* For arms that only a bug can reach. Prints where, then aborts. */
NORETURN void unreachable_at(const char *file, int line, const char *what);
#define UNREACHABLE(what) unreachable_at(__FILE__, __LINE__, what)

/* Memory for small things: never returns NULL, the process stops when there is none.
 * Sizes that a peer chooses are checked against a limit first. */
void *xmalloc(size_t n);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *p, size_t n);
char *xstrdup(const char *s);

#endif
