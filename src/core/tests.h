/* What the unit tests of this room share. Not included by anything but *_test.c and core_tests.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_CORE_TESTS_H
#define OUTRIDER_CORE_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "util/str.h"

/* Each runs the group of its file and returns the number of failures. */
int backoff_tests(void);
int filter_tests(void);
int topic_tests(void);

#endif
