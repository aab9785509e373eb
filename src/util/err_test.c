/* Tests of err.c and of the clean-up idiom of attr.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "util/tests.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/err.h"

static void text_is_one_bounded_line(void **state)
{
    (void)state;
    struct err err;
    assert_int_equal(err_set(&err, EC_TIMEOUT, "after %d s\r\nmore", 5), EC_TIMEOUT);
    assert_int_equal(err.code, EC_TIMEOUT);
    assert_string_equal(err.text, "after 5 s  more");
    assert_int_equal(err_set(&err, EC_LIMIT, "%1000d", 1), EC_LIMIT);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    assert_int_equal(err_set(NULL, EC_DENIED, "nobody listens"), EC_DENIED);
}

static void every_code_has_its_own_name(void **state)
{
    (void)state;
    for (enum ec a = EC_OK; a <= EC_INTERNAL; a++) {
        assert_true(strlen(ec_name(a)) > 0);
        for (enum ec b = EC_OK; b < a; b++) {
            assert_string_not_equal(ec_name(a), ec_name(b));
        }
    }
    assert_string_equal(ec_name(EC_NOT_FOUND), "not_found");
}

static int freed;

static void free_text(char **p)
{
    freed += *p != NULL;
    free(*p);
}

static char *take(bool hand_out)
{
    CLEANUP(free_text) char *p = xstrdup("mine");
    return hand_out ? TAKE(p) : NULL;
}

static void cleanup_and_take(void **state)
{
    (void)state;
    freed = 0;
    assert_null(take(false));
    assert_int_equal(freed, 1);
    char *p = take(true);
    assert_int_equal(freed, 1);
    assert_string_equal(p, "mine");
    free(p);
}

static void memory_of_no_bytes_is_memory(void **state)
{
    (void)state;
    void *a = xmalloc(0), *b = xcalloc(0, 8), *c = xrealloc(NULL, 0);
    assert_non_null(a);
    assert_non_null(b);
    assert_non_null(c);
    free(a);
    free(b);
    free(c);
}

/* What a child that runs fn dies of; its last words go nowhere. */
static int death_of(void (*fn)(void))
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        signal(SIGABRT, SIG_DFL); /* cmocka turns it into a failed test */
        close(STDERR_FILENO);
        fn();
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void reach(void)
{
    UNREACHABLE("a test");
}

static void nothing(void)
{
}

static void unreachable_stops(void **state)
{
    (void)state;
    assert_int_equal(death_of(nothing), 0);
    assert_int_equal(death_of(reach), SIGABRT);
}

int err_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_one_bounded_line), cmocka_unit_test(every_code_has_its_own_name),
        cmocka_unit_test(cleanup_and_take),         cmocka_unit_test(memory_of_no_bytes_is_memory),
        cmocka_unit_test(unreachable_stops),
    };
    return cmocka_run_group_tests_name("util/err", tests, NULL, NULL);
}
