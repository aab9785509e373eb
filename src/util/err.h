/* Error codes and one-sentence error texts, used by every room.
 * A fallible function returns enum ec; 0 is success. Callers that need words pass a struct err
 * last. A refusal by a destination is not an error here: it is an outcome (core/attempt.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_UTIL_ERR_H
#define OUTRIDER_UTIL_ERR_H

#include "util/attr.h"

enum ec {
    EC_OK,
    EC_INVALID,     /* the caller's input is wrong */
    EC_NOT_FOUND,   /* no such thing */
    EC_CONFLICT,    /* exists already, or somebody else is at it */
    EC_LIMIT,       /* larger, deeper or more than allowed */
    EC_DENIED,      /* not permitted */
    EC_TIMEOUT,     /* the deadline passed */
    EC_UNAVAILABLE, /* a dependency is away; try again */
    EC_CANCELED,    /* given up on request */
    EC_CORRUPT,     /* stored data cannot be read */
    EC_INTERNAL,    /* a bug, or a library's surprise */
};

/* text: one sentence without newline, never a secret; "" when there is none. */
struct err {
    enum ec code;
    char text[240];
};

/* Formats into err (NULL is fine) and returns code. */
enum ec err_set(struct err *err, enum ec code, const char *fmt, ...) PRINTF(3, 4);
/* Lower-case word for a code: "invalid", "not_found", ... */
const char *ec_name(enum ec code);

#endif
