/* What the unit tests of this room share: cmocka with what it needs. Included by *_test.c only.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_DELIVER_TESTS_H
#define OUTRIDER_DELIVER_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#endif
