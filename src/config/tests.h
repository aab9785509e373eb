/* What the unit tests of this room share. Each function runs the group of its file and returns the
 * number of failures. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_CONFIG_TESTS_H
#define OUTRIDER_CONFIG_TESTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "config/config_priv.h"

#define assert_str(got, want)                                                                      \
    do {                                                                                           \
        struct str got_ = (got), want_ = str_z(want);                                              \
        if (!str_eq(got_, want_)) {                                                                \
            fail_msg("got \"%.*s\", want \"%.*s\"", STR_ARG(got_), STR_ARG(want_));                \
        }                                                                                          \
    } while (0)

/* One trial of the whole: a file in a fresh folder that is the working directory, an environment, a
 * flag. */
struct trial {
    const char *env[12];     /* "NAME=value" */
    const char *file, *text; /* written before, when file is set */
    const char *flag, *service;
};
struct outcome {
    struct config *c; /* NULL: it was not read */
    enum ec read, check;
    struct config_report report;
};
void try_config(const struct trial *t, struct outcome *out);
void outcome_fini(struct outcome *o);
/* The value of a row as `config list` shows it, in a static buffer. */
const char *shown(const struct config *c, const char *yaml);
const char *source_of(const struct config *c, const char *yaml);
bool has_text(const struct config_list *l, const char *part);
/* The working directory becomes an empty folder, which the second call removes with what is in it.
 */
void enter_folder(void);
void leave_folder(void);

int read_tests(void);
int check_tests(void);
int print_tests(void);
int first_start_tests(void);
int docs_tests(void);

#endif
