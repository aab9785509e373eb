/* Tests of utf8.h: every code point both ways, and the forms that are refused.
 * SPDX-License-Identifier: Apache-2.0 */
#include "util/tests.h"

#include "util/utf8.h"

static void every_code_point(void **state)
{
    (void)state;
    for (unsigned c = 0; c <= 0x10ffff; c++) {
        char text[4];
        size_t n = utf8_put(text, c);
        unsigned got;
        size_t used = utf8_get((struct str){text, n}, &got);
        bool surrogate = c >= 0xd800 && c < 0xe000;
        if (surrogate ? used != 1 || got != UTF8_REPLACEMENT : used != n || got != c) {
            fail_msg("code point %x", c);
        }
        if (!surrogate && n > 1 && utf8_valid((struct str){text, n - 1})) {
            fail_msg("code point %x cut short", c);
        }
    }
}

static void refused_forms(void **state)
{
    (void)state;
    const char *const bad[] = {
        "\x80",
        "\xbf",
        "\xc0\x80",
        "\xc1\xbf",
        "\xe0\x9f\xbf",
        "\xed\xa0\x80",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xff",
        "\xc3(",
        "\xe2\x82(",
        "a\xc3",
        "\xe2\x82\xac\xe2",
        "\xf0\x9f\x98",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (utf8_valid(str_z(bad[i]))) {
            fail_msg("form %zu passed", i);
        }
    }
    assert_true(utf8_valid(STR("")));
    assert_true(utf8_valid(STR("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbd")));
}

int utf8_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_point),
        cmocka_unit_test(refused_forms),
    };
    return cmocka_run_group_tests_name("util/utf8", tests, NULL, NULL);
}
