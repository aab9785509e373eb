/* Tests of backoff.c: the numbers of the specification (pipeline.md 17), both ends of jitter,
 * settings out of all bounds, Retry-After in each of its forms. SPDX-License-Identifier: Apache-2.0
 */
#include "core/tests.h"

#include <limits.h>

#include "core/backoff.h"

#define MOST (BACKOFF_MOST_S * USEC_PER_SEC)

static int64_t delay_s(const struct backoff *b, int number)
{
    usec_t d = backoff_delay(b, number, 0.5);
    assert_int_equal(d % USEC_PER_SEC, 0);
    return d / USEC_PER_SEC;
}

static void doubles(void **state)
{
    (void)state;
    static const int64_t want[] = {30, 60, 120, 240, 480, 960, 1920, 3840, 7680, 15360};
    struct backoff b = {.interval_s = 30};
    int64_t sum = 0;
    for (int i = 0; i < (int)ARRAY_LEN(want); i++) {
        assert_int_equal(delay_s(&b, i + 1), want[i]);
        sum += delay_s(&b, i + 1);
    }
    assert_int_equal(sum, 30690);
    assert_int_equal(delay_s(&b, 0), 30);
    assert_int_equal(delay_s(&b, -7), 30);
    assert_int_equal(delay_s(&b, INT_MIN), 30);
}

static void stays_below_the_most(void **state)
{
    (void)state;
    struct backoff b = {.interval_s = 30};
    assert_int_equal(delay_s(&b, 19), 7864320); /* 30 * 2^18 */
    assert_int_equal(delay_s(&b, 20), BACKOFF_MOST_S);
    assert_int_equal(delay_s(&b, 64), BACKOFF_MOST_S);
    assert_int_equal(delay_s(&b, INT_MAX), BACKOFF_MOST_S);
    b.interval_s = INT64_MAX;
    assert_int_equal(delay_s(&b, 1), BACKOFF_MOST_S);
    assert_int_equal(delay_s(&b, 2), BACKOFF_MOST_S);
    b.interval_s = 0;
    assert_int_equal(delay_s(&b, INT_MAX), 0);
    b.interval_s = -5;
    assert_int_equal(delay_s(&b, 3), 0);
    b = (struct backoff){.interval_s = BACKOFF_MOST_S, .jitter = 1};
    assert_int_equal(backoff_delay(&b, 1, 0.999), MOST);
    b.jitter = 1e300;
    assert_int_equal(backoff_delay(&b, 1, 0.999), MOST);
    assert_int_equal(backoff_delay(&b, 1, 0), 0);
}

static void schedule(void **state)
{
    (void)state;
    static const int64_t s[] = {5, 300, 1800, 7200};
    struct backoff b = {.interval_s = 30, .schedule_s = s, .schedule_count = ARRAY_LEN(s)};
    assert_int_equal(delay_s(&b, 0), 5);
    assert_int_equal(delay_s(&b, 1), 5);
    assert_int_equal(delay_s(&b, 2), 300);
    assert_int_equal(delay_s(&b, 4), 7200);
    assert_int_equal(delay_s(&b, 5), 7200);
    assert_int_equal(delay_s(&b, INT_MAX), 7200);
    static const int64_t odd[] = {-1, 0, INT64_MAX};
    b = (struct backoff){.schedule_s = odd, .schedule_count = ARRAY_LEN(odd)};
    assert_int_equal(delay_s(&b, 1), 0);
    assert_int_equal(delay_s(&b, 2), 0);
    assert_int_equal(delay_s(&b, 3), BACKOFF_MOST_S);
}

static void jitter(void **state)
{
    (void)state;
    struct backoff b = {.interval_s = 100};
    for (double unit = 0; unit < 1; unit += 0.125) {
        assert_int_equal(backoff_delay(&b, 1, unit), 100 * USEC_PER_SEC);
    }
    b.jitter = 0.1;
    assert_int_equal(backoff_delay(&b, 1, 0), 90 * USEC_PER_SEC);
    assert_int_equal(backoff_delay(&b, 1, 0.25), 95 * USEC_PER_SEC);
    assert_int_equal(backoff_delay(&b, 1, 0.5), 100 * USEC_PER_SEC);
    assert_int_equal(backoff_delay(&b, 2, 0.75), 210 * USEC_PER_SEC);
    usec_t high = backoff_delay(&b, 1, 0x1.fffffffffffffp-1);
    assert_in_range(high, 110 * USEC_PER_SEC - 1, 110 * USEC_PER_SEC);
    b.jitter = 1;
    assert_int_equal(backoff_delay(&b, 1, 0), 0);
}

#define NOW (INT64_C(784111777) * USEC_PER_SEC) /* 1994-11-06T08:49:37Z */

static const struct {
    const char *value;
    usec_t now;
    bool ok;
    int64_t seconds;
} headers[] = {
    {"0", NOW, true, 0},
    {"120", NOW, true, 120},
    {" 7\t", NOW, true, 7},
    {"007", NOW, true, 7},
    {"2147483647", NOW, true, INT32_MAX},
    {"2147483648", NOW, true, INT32_MAX},
    {"18446744073709551616", NOW, true, INT32_MAX},
    {"99999999999999999999999999999999999999999999", NOW, true, INT32_MAX},
    {"Sun, 06 Nov 1994 08:49:37 GMT", NOW, true, 0},
    {"Sun, 06 Nov 1994 08:51:37 GMT", NOW, true, 120},
    {" Sun, 06 Nov 1994 08:51:37 GMT ", NOW, true, 120},
    {"Sunday, 06-Nov-94 08:50:37 GMT", NOW, true, 60},
    {"Sun Nov  6 08:49:39 1994", NOW, true, 2},
    {"Sun, 06 Nov 1994 08:49:36 GMT", NOW, true, 0},
    {"Thu, 01 Jan 1970 00:00:00 GMT", NOW, true, 0},
    {"Sun, 06 Nov 1994 08:49:38 GMT", NOW + 1, true, 1}, /* never early: a part counts whole */
    {"Sun, 06 Nov 1994 08:49:38 GMT", NOW + USEC_PER_SEC - 1, true, 1},
    {"Fri, 31 Dec 9999 23:59:59 GMT", NOW, true, INT32_MAX},
    {"", NOW, false, 0},
    {" ", NOW, false, 0},
    {"-1", NOW, false, 0},
    {"+1", NOW, false, 0},
    {"1.5", NOW, false, 0},
    {"1 2", NOW, false, 0},
    {"1e3", NOW, false, 0},
    {"0x10", NOW, false, 0},
    {"soon", NOW, false, 0},
    {"Sun, 06 Nov 1994", NOW, false, 0},
    {"Sun, 31 Feb 1994 08:49:37 GMT", NOW, false, 0},
    {"1994-11-06T08:49:37Z", NOW, false, 0},
};

static void retry_after(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
        int64_t s = -7;
        bool ok = retry_after_parse(str_z(headers[i].value), headers[i].now, &s);
        if (ok != headers[i].ok || s != (ok ? headers[i].seconds : -7)) {
            fail_msg("\"%s\": %d, %lld", headers[i].value, ok, (long long)s);
        }
    }
}

int backoff_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles),     cmocka_unit_test(stays_below_the_most),
        cmocka_unit_test(schedule),    cmocka_unit_test(jitter),
        cmocka_unit_test(retry_after),
    };
    return cmocka_run_group_tests_name("backoff", tests, NULL, NULL);
}
