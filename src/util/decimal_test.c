/* Tests of decimal.c: every pair of a sorted list of equal classes, and powers no integer holds.
 * SPDX-License-Identifier: Apache-2.0 */
#include "util/tests.h"

#include "util/decimal.h"

/* Ascending; a NULL ends a class of equal spellings. */
static const char *const ascending[] = {
    "-1e99999999999999999999999999999",
    NULL,
    "-1e400",
    "-10e399",
    "-0.001e403",
    NULL,
    "-12345678901234567891",
    NULL,
    "-12345678901234567890",
    "-1.234567890123456789e19",
    NULL,
    "-2",
    "-2.0",
    NULL,
    "-1.5",
    "-15e-1",
    NULL,
    "-1e-400",
    NULL,
    "-1e-99999999999999999999999999999",
    NULL,
    "0",
    "-0",
    "0.0",
    "0e9",
    "-0.000e-999999999999999999999999",
    "0e99999999999999999999999999",
    NULL,
    "1e-99999999999999999999999999999",
    NULL,
    "10e-99999999999999999999999999999",
    "1e-99999999999999999999999999998",
    NULL,
    "1e-400",
    "0.1e-399",
    NULL,
    "0.0001",
    "1e-4",
    "1E-4",
    "1e-04",
    NULL,
    "0.1",
    "0.10",
    "1e-1",
    NULL,
    "0.30000000000000004",
    NULL,
    "0.300000000000000041",
    NULL,
    "1",
    "1.0",
    "1e0",
    "1e+0",
    "10e-1",
    "0.1e1",
    "1e-0",
    NULL,
    "1.10",
    "1.1",
    "11e-1",
    NULL,
    "9.99",
    NULL,
    "10",
    "1e1",
    "100e-1",
    NULL,
    "9007199254740992",
    NULL,
    "9007199254740993",
    NULL,
    "12345678901234567890",
    "12345678901234567890.000",
    NULL,
    "12345678901234567891",
    NULL,
    "1e400",
    "1e0400",
    "10E+399",
    NULL,
    "1e1000000000000001",
    "10e1000000000000000",
    NULL,
    "1e1000000000000002",
    NULL,
    "1e18446744073709551616",
    "0.1e18446744073709551617",
    NULL,
    "1e18446744073709551617",
    NULL,
    "9.9e99999999999999999999999999998",
    NULL,
    "1e99999999999999999999999999999",
    "0.01e100000000000000000000000000001",
    NULL,
    "1e100000000000000000000000000000",
    NULL,
};

static void every_pair_of_the_list(void **state)
{
    (void)state;
    for (size_t i = 0, ci = 0; i < ARRAY_LEN(ascending); i++) {
        if (!ascending[i]) {
            ci++;
            continue;
        }
        for (size_t k = 0, ck = 0; k < ARRAY_LEN(ascending); k++) {
            if (!ascending[k]) {
                ck++;
                continue;
            }
            int got = decimal_cmp(str_z(ascending[i]), str_z(ascending[k]));
            int want = ci < ck ? -1 : ci > ck;
            if ((got > 0) - (got < 0) != want) {
                fail_msg("%s against %s: %d, want %d", ascending[i], ascending[k], got, want);
            }
        }
    }
}

static void long_texts(void **state)
{
    (void)state;
    /* 10^2000 written out, as a power, and with its last digit up by one */
    static char out[2001], up[2001];
    memset(out, '0', sizeof(out));
    out[0] = '1';
    memcpy(up, out, sizeof(up));
    up[2000] = '1';
    struct str a = {out, sizeof(out)}, b = {up, sizeof(up)};
    assert_int_equal(decimal_cmp(a, STR("1e2000")), 0);
    assert_true(decimal_cmp(a, b) < 0);
    assert_true(decimal_cmp(b, STR("1e2000")) > 0);
    assert_true(decimal_cmp(b, STR("1e2001")) < 0);
}

int decimal_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_the_list),
        cmocka_unit_test(long_texts),
    };
    return cmocka_run_group_tests_name("util/decimal", tests, NULL, NULL);
}
