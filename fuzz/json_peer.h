/* A second opinion on JSON for fuzz/json.c: jansson behind neutral names, since its header and
 * util/json.h share enumerators. Not used by the server. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_FUZZ_JSON_PEER_H
#define OUTRIDER_FUZZ_JSON_PEER_H

#include "util/str.h"

struct peer; /* a value; belongs to the whole that peer_parse returned */

/* Why jansson refuses a text that may still be JSON to us. */
enum peer_why {
    PEER_SYNTAX,  /* the grammar; also a lone surrogate */
    PEER_UNICODE, /* a string is not UTF-8 */
    PEER_RANGE,   /* a number beyond a double, or a name with a NUL */
    PEER_DEPTH,   /* deeper than 2048 */
};

struct peer *peer_parse(struct str text, enum peer_why *why); /* NULL: refused */
void peer_free(struct peer *p);
/* 'n' null, 'f' false, 't' true, '0' number, '"' string, '[' array, '{' object */
char peer_kind(const struct peer *p);
size_t peer_count(const struct peer *p);
const struct peer *peer_at(const struct peer *p, size_t i);
const struct peer *peer_member(const struct peer *p, struct str name);
struct str peer_text(const struct peer *p);
double peer_number(const struct peer *p);
bool peer_equal(const struct peer *a, const struct peer *b);

#endif
