/* Borrowed text: a pointer and a length, not NUL-terminated. Whoever made it owns the bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_UTIL_STR_H
#define OUTRIDER_UTIL_STR_H

#include <string.h>

#include "util/attr.h"

struct str {
    const char *p; /* may be NULL only when n is 0 */
    size_t n;
};

#define STR(lit) ((struct str){(lit), sizeof(lit) - 1})
#define STR_NULL ((struct str){NULL, 0})
/* For printf's %.*s */
#define STR_ARG(s) (int)(s).n, (s).n ? (s).p : ""

static inline struct str str_z(const char *z)
{
    return (struct str){z, z ? strlen(z) : 0};
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool str_eqz(struct str a, const char *z)
{
    return str_eq(a, str_z(z));
}

/* Bytewise order, shorter first when one is a prefix: <0, 0, >0. */
int str_cmp(struct str a, struct str b);
bool str_eq_ci(struct str a, struct str b); /* ASCII case folded */
bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);
bool str_find(struct str s, struct str needle, size_t *out_at);
struct str str_trim(struct str s);                       /* ASCII white space, both ends */
struct str str_sub(struct str s, size_t from, size_t n); /* clamped to s */
/* Takes the part before the first sep off *rest (which then starts behind it); false when *rest is
 * used up. */
bool str_split(struct str *rest, char sep, struct str *out);
/* Whole text as decimal; false on anything else or overflow. An optional leading '-', no '+', no
 * blanks. */
bool str_to_i64(struct str s, int64_t *out);
bool str_to_u64(struct str s, uint64_t *out);
/* 0 to 15, or -1 when c is no hexadecimal digit. */
static inline int str_hex_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}
/* Seeded 64-bit hash (SipHash-1-3, one random key per process): for maps, never stored. */
uint64_t str_hash(struct str s);
uint64_t str_hash_keyed(const uint64_t key[2], struct str s);
/* The same text always gives the same value, in every process and release (documented in str.c):
 * may be stored. Not for untrusted map keys. */
uint64_t str_hash_stable(struct str s);

#endif
