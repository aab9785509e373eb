/* Fault plans for tests: a fault backend wraps another and lets the nth call of a verb fail, lag or run twice.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_IO_FAULT_H
#define OUTRIDER_IO_FAULT_H

#include "io/op.h"

enum fault_how { FAULT_NONE, FAULT_FAIL, FAULT_LATE, FAULT_TWICE };
struct fault {
    const char *verb;   /* "put", "insert", ...; NULL: any */
    unsigned nth;       /* from 1; 0 = every call */
    enum fault_how how;
    enum ec code;       /* FAULT_FAIL */
    nsec_t delay;       /* FAULT_LATE */
    unsigned seen;      /* counts calls; atomic use not needed in tests with one loop */
};
struct fault_plan {
    struct fault *v;
    size_t n;
};
/* The fault that applies to this call, counting it; NULL when none. */
struct fault *fault_next(struct fault_plan *p, const char *verb);

#endif
