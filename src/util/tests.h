/* What the unit tests of this room share: cmocka with what it needs, one function per file of
 * tests, and assertions on borrowed text. Not included by anything but *_test.c and util_tests.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_UTIL_TESTS_H
#define OUTRIDER_UTIL_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "util/str.h"

#define assert_str(got, want)                                                                      \
    do {                                                                                           \
        struct str got_ = (got), want_ = str_z(want);                                              \
        if (!str_eq(got_, want_)) {                                                                \
            fail_msg("got \"%.*s\", want \"%.*s\"", STR_ARG(got_), STR_ARG(want_));                \
        }                                                                                          \
    } while (0)

/* Each runs the group of its file and returns the number of failures. */
int arena_tests(void);
int buf_tests(void);
int decimal_tests(void);
int err_tests(void);
int hash_tests(void);
int heap_tests(void);
int id_tests(void);
int json_tests(void);
int json_write_tests(void);
int list_tests(void);
int log_tests(void);
int map_tests(void);
int query_tests(void);
int secret_tests(void);
int str_tests(void);
int time_tests(void);
int utf8_tests(void);

#endif
