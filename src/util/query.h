/* URL query strings and percent-encoding, by the rules of form decoding (spec api.md 6.1): '+' is a
 * space; a pair with ';' or a bad escape is dropped, the others stay.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_UTIL_QUERY_H
#define OUTRIDER_UTIL_QUERY_H

#include "util/arena.h"
#include "util/buf.h"

struct query_pair {
    struct str name, value; /* decoded */
};
struct query {
    struct query_pair *v; /* in order; at most QUERY_MOST */
    size_t n;
};
#define QUERY_MOST 1000

/* Decodes into a. Pairs beyond QUERY_MOST are left out. Iterate over v[0..n) for all of them. */
struct query query_parse(struct str raw, struct arena *a);
struct str query_get(const struct query *q, struct str name); /* first; p NULL when absent */
/* All values of name in order, as an array in a; returns how many (0: *out is NULL). */
size_t query_all(const struct query *q, struct str name, struct arena *a, struct str **out);
/* %XX decoded ('+' stays): path segments. false on a bad escape. */
bool percent_decode(struct str raw, struct arena *a, struct str *out);
/* Everything but unreserved characters (RFC 3986) and those in `keep` as %XX, upper case. */
void percent_add(struct buf *b, struct str s, const char *keep);

#endif
