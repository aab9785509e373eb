/* Text that must not be seen. It is a struct on purpose: no formatter, logger or JSON writer takes
 * it, memory is cleared on free, comparison is constant time. secret_reveal() is the one way to the
 * bytes, easy to grep. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_UTIL_SECRET_H
#define OUTRIDER_UTIL_SECRET_H

#include "util/str.h"

struct secret {
    char *hidden_;
    size_t n_;
};

void secret_set(struct secret *s,
                struct str value); /* copies; the old value is cleared and freed */
void secret_fini(struct secret *s);
bool secret_is_set(const struct secret *s); /* non-empty */
bool secret_equal(const struct secret *s, struct str other);
struct str secret_reveal(const struct secret *s);

#endif
