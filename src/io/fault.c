/* Which fault of a plan applies to a call. SPDX-License-Identifier: Apache-2.0 */
#include "io/fault.h"

#include <string.h>

struct fault *fault_next(struct fault_plan *p, const char *verb)
{
    for (size_t i = 0; i < p->n; i++) {
        struct fault *f = &p->v[i];
        if (f->verb && strcmp(f->verb, verb)) {
            continue;
        }
        f->seen++;
        if (f->nth == 0 || f->nth == f->seen) {
            return f;
        }
    }
    return NULL;
}
