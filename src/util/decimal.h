/* Numbers as their text: comparison of JSON numbers as exact decimals, whatever their size or
 * exponent. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_UTIL_DECIMAL_H
#define OUTRIDER_UTIL_DECIMAL_H

#include "util/str.h"

/* a and b are JSON number texts ("1e400", "-0", "12345678901234567890"). <0, 0, >0; 1.0 == 1, -0 ==
 * 0. O(n); exponents of any length are handled without expanding them. */
int decimal_cmp(struct str a, struct str b);

#endif
