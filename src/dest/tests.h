/* What the unit tests of this room share: cmocka with what it needs, settings of a fresh install,
 * destinations made from a line, and one function per file of tests. Included by *_test.c and
 * dest_tests.c only. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_DEST_TESTS_H
#define OUTRIDER_DEST_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "dest/dest.h"

#define assert_str(got, want)                                                                      \
    do {                                                                                           \
        struct str got_ = (got), want_ = str_z(want);                                              \
        if (!str_eq(got_, want_)) {                                                                \
            fail_msg("got \"%.*s\", want \"%.*s\"", STR_ARG(got_), STR_ARG(want_));                \
        }                                                                                          \
    } while (0)

/* As a fresh install has them (destinations.md 4.1, 4.3). */
struct dest_conf conf_default(void);
struct dest_conf conf_standard(void);
/* Of type webhook with this URL; credentials: "key=value|key=value", "" for none. */
struct destination *webhook_new(const char *url, const char *credentials);
struct str cred_of(const struct destination *d, const char *key); /* "" when absent */

/* Each runs the group of its file and returns the number of failures. */
int dest_check_tests(void);
int pool_tests(void);
int secrets_tests(void);
int template_tests(void);
int url_tests(void);
int webhook_tests(void);

#endif
