/* Tests of secret.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "util/tests.h"

#include "util/secret.h"

static void set_compare_clear(void **state)
{
    (void)state;
    struct secret s = {0};
    assert_false(secret_is_set(&s));
    assert_true(secret_equal(&s, STR("")));
    assert_str(secret_reveal(&s), "");
    char source[] = "whsec_1";
    secret_set(&s, str_z(source));
    source[0] = 'x';
    assert_true(secret_is_set(&s));
    assert_true(secret_equal(&s, STR("whsec_1")));
    assert_false(secret_equal(&s, STR("whsec_2")));
    assert_false(secret_equal(&s, STR("whsec_")));
    assert_int_equal(secret_reveal(&s).p[7], 0);
    secret_set(&s, secret_reveal(&s)); /* from itself */
    assert_str(secret_reveal(&s), "whsec_1");
    secret_set(&s, STR_NULL);
    assert_false(secret_is_set(&s));
    secret_fini(&s);
    secret_fini(&s);
    assert_str(secret_reveal(&s), "");
}

int secret_tests(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(set_compare_clear)};
    return cmocka_run_group_tests_name("util/secret", tests, NULL, NULL);
}
