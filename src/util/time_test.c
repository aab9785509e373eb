/* Tests of time.c: RFC 3339 both ways, HTTP dates, the calendar over ten thousand years, the
 * clocks. SPDX-License-Identifier: Apache-2.0 */
#include "util/tests.h"

#include <stdio.h>

#include "util/time.h"

#define S(n) (INT64_C(n) * USEC_PER_SEC)

static void parse_accepts(void **state)
{
    (void)state;
    const struct {
        const char *text;
        usec_t want;
        int offset;
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0, 0},
        {"2024-02-29T12:34:56Z", S(1709210096), 0},
        {"2024-02-29T12:34:56.5Z", S(1709210096) + 500000, 0},
        {"2024-02-29T12:34:56.1234569Z", S(1709210096) + 123456, 0},
        {"2024-02-29T12:34:56.000000000000000000001Z", S(1709210096), 0},
        {"2024-02-29T12:34:56,25Z", S(1709210096) + 250000, 0},
        {"2024-02-29T14:34:56+02:00", S(1709210096), 7200},
        {"2024-02-29T07:04:56-05:30", S(1709210096), -19800},
        {"2024-02-29T2:34:56Z", S(1709174096), 0},
        {"2024-02-29T12:34:56-00:00", S(1709210096), 0},
        {"0001-01-01T00:00:00Z", S(-62135596800), 0},
        {"9999-12-31T23:59:59.999999Z", S(253402300799) + 999999, 0},
        {"1969-12-31T23:59:59.75Z", -250000, 0},
        {"2000-02-29T00:00:00Z", S(951782400), 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        usec_t t = 0;
        int offset = 1;
        if (!time_parse(str_z(cases[i].text), &t, &offset) || t != cases[i].want ||
            offset != cases[i].offset) {
            fail_msg("%s: %lld, offset %d", cases[i].text, (long long)t, offset);
        }
        assert_true(time_parse(str_z(cases[i].text), &t, NULL));
    }
}

static void parse_refuses(void **state)
{
    (void)state;
    const char *const bad[] = {
        "",
        "2024-02-29",
        "2024-02-29T12:34:56",
        "2024-02-29T12:34Z",
        "2024-02-29 12:34:56Z",
        "2024-02-29t12:34:56Z",
        "2024-02-29T12:34:56z",
        "2024-02-29T12:34:56Z ",
        " 2024-02-29T12:34:56Z",
        "2024-02-29T12:34:56.Z",
        "2024-02-29T12:34:56+0200",
        "2024-02-29T12:34:56+02",
        "2024-02-29T12:34:56+25:00",
        "2024-02-29T12:34:56+02:61",
        "2024-02-29T24:00:00Z",
        "2024-02-29T12:60:00Z",
        "2024-02-29T12:34:60Z",
        "2024-00-10T12:34:56Z",
        "2024-13-10T12:34:56Z",
        "2024-01-00T12:34:56Z",
        "2024-04-31T12:34:56Z",
        "2023-02-29T12:34:56Z",
        "1900-02-29T12:34:56Z",
        "24-02-29T12:34:56Z",
        "12024-02-29T12:34:56Z",
        "-024-02-29T12:34:56Z",
        "2024-2-9T12:34:56Z",
        "1709210096",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        usec_t t = 42;
        if (time_parse(str_z(bad[i]), &t, NULL) || t != 42) {
            fail_msg("\"%s\" passed", bad[i]);
        }
    }
}

static void check_text(usec_t t, const char *want)
{
    char text[TIME_TEXT_MAX];
    assert_str(time_text(text, t), want);
}

static void texts(void **state)
{
    (void)state;
    check_text(0, "1970-01-01T00:00:00Z");
    check_text(-1, "1969-12-31T23:59:59.999999Z");
    check_text(S(1709210096) + 500000, "2024-02-29T12:34:56.5Z");
    check_text(S(1709210096) + 10, "2024-02-29T12:34:56.00001Z");
    check_text(S(1709210096) + 120, "2024-02-29T12:34:56.00012Z");
    check_text(S(-62135596800), "0001-01-01T00:00:00Z");
    check_text(S(253402300799) + 999999, "9999-12-31T23:59:59.999999Z");
    check_text(S(253402300800), "9999-12-31T23:59:59.999999Z");
    check_text(INT64_MAX, "9999-12-31T23:59:59.999999Z");
    check_text(INT64_MIN, "0000-01-01T00:00:00Z");
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 100);
    time_add(&b, S(951782400));
    assert_str(buf_str(&b), "2000-02-29T00:00:00Z");
}

static void every_day_both_ways(void **state)
{
    (void)state;
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int y = 1, m = 1, d = 1;
    for (usec_t t = S(-62135596800); t < S(253402300800); t += S(86400)) {
        char want[64], text[TIME_TEXT_MAX];
        snprintf(want, sizeof(want), "%04d-%02d-%02dT00:00:00Z", y, m, d);
        usec_t back = 0;
        if (!str_eqz(time_text(text, t), want) || !time_parse(str_z(want), &back, NULL) ||
            back != t) {
            fail_msg("%s", want);
        }
        bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
        if (++d > lengths[m - 1] + (m == 2 && leap)) {
            d = 1;
            m = m % 12 + 1;
            y += m == 1;
        }
    }
    assert_int_equal(y, 10000);
}

static void http_dates(void **state)
{
    (void)state;
    const char *const good[] = {
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        " Sun, 06 Nov 1994 08:49:37 GMT ",
    };
    usec_t t = 0;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_true(time_parse_http(str_z(good[i]), &t));
        assert_true(t == S(784111777));
    }
    assert_true(time_parse_http(STR("Sun Nov 16 08:49:37 2036"), &t));
    assert_true(t == S(2110438177));
    assert_true(time_parse_http(STR("Sunday, 16-Nov-36 08:49:37 GMT"), &t));
    assert_true(t == S(2110438177));
    const char *const bad[] = {
        "",
        "120",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 GMT+1",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nob 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov",
        "Sun,",
        "Sun Nov  6 08:49:37 199",
        "Sun Nov  6 08:49:37 1994 x",
        "Sun Nov 06 8:49:37 1994 ",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (time_parse_http(str_z(bad[i]), &t)) {
            fail_msg("\"%s\" passed", bad[i]);
        }
    }
}

static void clocks(void **state)
{
    (void)state;
    nsec_t a = mono_now();
    assert_true(mono_now() >= a);
    usec_t before = wall_now();
    assert_true(before > S(1600000000));
    wall_set_offset(S(3600));
    usec_t shifted = wall_now();
    wall_set_offset(0);
    assert_true(shifted - before >= S(3600) && shifted - before < S(3660));
    assert_true(wall_now() < shifted);
}

int time_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parse_accepts), cmocka_unit_test(parse_refuses),
        cmocka_unit_test(texts),         cmocka_unit_test(every_day_both_ways),
        cmocka_unit_test(http_dates),    cmocka_unit_test(clocks),
    };
    return cmocka_run_group_tests_name("util/time", tests, NULL, NULL);
}
