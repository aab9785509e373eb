/* Tests of str.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "util/tests.h"

#include <stdio.h>

static void compare(void **state)
{
    (void)state;
    assert_true(str_eq(STR_NULL, STR("")));
    assert_true(str_eqz(STR("a"), "a"));
    assert_false(str_eqz(STR("a"), ""));
    assert_false(str_eq((struct str){"a\0b", 3}, (struct str){"a\0c", 3}));
    assert_int_equal(str_cmp(STR("b"), STR("b")), 0);
    assert_true(str_cmp(STR("a"), STR("b")) < 0);
    assert_true(str_cmp(STR("ab"), STR("a")) > 0);
    assert_true(str_cmp(STR_NULL, STR("a")) < 0);
    assert_true(str_cmp(STR("\xc3"), STR("z")) > 0); /* bytes are unsigned */
    assert_true(str_eq_ci(STR("Content-TYPE"), STR("content-type")));
    assert_false(str_eq_ci(STR("a@"), STR("a`")));
    assert_false(str_eq_ci(STR("[k"), STR("{K")));
    assert_false(str_eq_ci(STR("ab"), STR("abc")));
}

static void parts(void **state)
{
    (void)state;
    const struct str s = STR("webhook.sent");
    assert_true(str_starts(s, STR("web")) && str_starts(s, STR_NULL) && str_starts(s, s));
    assert_false(str_starts(STR("we"), STR("web")));
    assert_true(str_ends(s, STR(".sent")) && str_ends(s, STR_NULL));
    assert_false(str_ends(STR("sent"), STR(".sent")));
    size_t at = 99;
    assert_true(str_find(s, STR("."), &at));
    assert_int_equal(at, 7);
    assert_true(str_find(s, STR_NULL, &at));
    assert_int_equal(at, 0);
    at = 99;
    assert_false(str_find(s, STR("x"), &at));
    assert_false(str_find(STR_NULL, STR("x"), &at));
    assert_int_equal(at, 99);
    assert_str(str_sub(s, 8, 2), "se");
    assert_str(str_sub(s, 8, SIZE_MAX), "sent");
    assert_str(str_sub(s, 50, 1), "");
    assert_str(str_sub(STR_NULL, 0, 1), "");
    assert_str(str_trim(STR(" \t\r\n\v\fa b \n")), "a b");
    assert_str(str_trim(STR(" \n")), "");
    assert_str(str_trim(STR_NULL), "");
}

static void split(void **state)
{
    (void)state;
    const struct {
        const char *text, *joined;
    } cases[] = {
        {"a,b", "[a][b]"}, {"a", "[a]"}, {"", "[]"}, {",", "[][]"}, {"a,,b,", "[a][][b][]"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char got[64] = "";
        size_t n = 0;
        struct str rest = str_z(cases[i].text), part;
        while (str_split(&rest, ',', &part)) {
            n += (size_t)snprintf(got + n, sizeof(got) - n, "[%.*s]", STR_ARG(part));
        }
        assert_string_equal(got, cases[i].joined);
    }
    struct str none = STR_NULL, part;
    assert_false(str_split(&none, ',', &part));
}

static void integers(void **state)
{
    (void)state;
    const struct {
        const char *text;
        bool ok;
        int64_t want;
    } cases[] = {
        {"0", true, 0},
        {"007", true, 7},
        {"-0", true, 0},
        {"-12", true, -12},
        {"9223372036854775807", true, INT64_MAX},
        {"9223372036854775808", false, 0},
        {"-9223372036854775808", true, INT64_MIN},
        {"-9223372036854775809", false, 0},
        {"18446744073709551616", false, 0},
        {"99999999999999999999999", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"+1", false, 0},
        {"--1", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"1.0", false, 0},
        {"1e3", false, 0},
        {"0x1", false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t v = 77;
        bool ok = str_to_i64(str_z(cases[i].text), &v);
        if (ok != cases[i].ok || v != (ok ? cases[i].want : 77)) {
            fail_msg("\"%s\": %d, %lld", cases[i].text, ok, (long long)v);
        }
    }
    uint64_t u = 77;
    assert_true(str_to_u64(STR("18446744073709551615"), &u));
    assert_true(u == UINT64_MAX);
    assert_false(str_to_u64(STR("18446744073709551616"), &u));
    assert_false(str_to_u64(STR("-1"), &u));
    assert_false(str_to_i64((struct str){"1\0", 2}, &(int64_t){0}));
}

/* SipHash-1-3 of 00 01 02 ... (n bytes) under the key 00 01 .. 0f, the lengths 0 to 17. */
static void siphash_vectors(void **state)
{
    (void)state;
    const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    const uint64_t want[] = {
        UINT64_C(0xabac0158050fc4dc), UINT64_C(0xc9f49bf37d57ca93), UINT64_C(0x82cb9b024dc7d44d),
        UINT64_C(0x8bf80ab8e7ddf7fb), UINT64_C(0xcf75576088d38328), UINT64_C(0xdef9d52f49533b67),
        UINT64_C(0xc50d2b50c59f22a7), UINT64_C(0xd3927d989bb11140), UINT64_C(0x369095118d299a8e),
        UINT64_C(0x25a48eb36c063de4), UINT64_C(0x79de85ee92ff097f), UINT64_C(0x70c118c1f94dc352),
        UINT64_C(0x78a384b157b4d9a2), UINT64_C(0x306f760c1229ffa7), UINT64_C(0x605aa111c0f95d34),
        UINT64_C(0xd320d86d2a519956), UINT64_C(0xcc4fdd1a7d908b66), UINT64_C(0x9cf2689063dbd80c)};
    char text[ARRAY_LEN(want)];
    for (size_t n = 0; n < ARRAY_LEN(want); n++) {
        text[n] = (char)n;
        if (str_hash_keyed(key, (struct str){text, n}) != want[n]) {
            fail_msg("length %zu", n);
        }
    }
}

static void hashes(void **state)
{
    (void)state;
    assert_true(str_hash(STR("a")) == str_hash(STR("a")));
    assert_true(str_hash(STR("a")) != str_hash(STR("b")));
    assert_true(str_hash(STR("")) != str_hash((struct str){"\0", 1}));
    /* Stored values: these never change. */
    assert_true(str_hash_stable(STR("")) == UINT64_C(0xefd01f60ba992926));
    assert_true(str_hash_stable(STR("tenant-1")) == UINT64_C(0x27a4a8c6e79b9950));
}

static void hex_values(void **state)
{
    (void)state;
    const char digits[] = "0123456789abcdefABCDEF";
    int count = 0;
    for (int c = -128; c < 128; c++) {
        const char *at = c ? strchr(digits, c) : NULL;
        long want = at ? at - digits : -1;
        assert_int_equal(str_hex_value((char)c), want > 15 ? want - 6 : want);
        count += at != NULL;
    }
    assert_int_equal(count, 22);
}

int str_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compare),         cmocka_unit_test(parts),  cmocka_unit_test(split),
        cmocka_unit_test(integers),        cmocka_unit_test(hashes), cmocka_unit_test(hex_values),
        cmocka_unit_test(siphash_vectors),
    };
    return cmocka_run_group_tests_name("util/str", tests, NULL, NULL);
}
