/* Tests of buf.c: growth, the maximum, numbers, formatted text longer than its first try.
 * SPDX-License-Identifier: Apache-2.0 */
#include "util/tests.h"

#include "util/buf.h"

static void grows_and_keeps(void **state)
{
    (void)state;
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 100000);
    for (int i = 0; i < 10000; i++) {
        buf_addc(&b, (char)('a' + i % 26));
    }
    assert_int_equal(b.n, 10000);
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(b.p[i], 'a' + i % 26);
    }
    assert_false(b.over);
    assert_true(b.cap <= b.max);
}

static void maximum_drops_whole_pieces(void **state)
{
    (void)state;
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 10);
    buf_addz(&b, "12345678");
    buf_addz(&b, "abc");
    assert_true(b.over);
    assert_str(buf_str(&b), "12345678");
    buf_addc(&b, 'x'); /* would fit, but something was lost already */
    buf_addi(&b, 1);
    assert_str(buf_str(&b), "12345678");
    assert_null(buf_space(&b, 1));
    buf_reset(&b);
    assert_false(b.over);
    buf_addz(&b, "1234567890");
    assert_false(b.over);
    assert_int_equal(b.n, 10);
    assert_string_equal(buf_z(&b), "1234567890");
    buf_add(&b, "", SIZE_MAX);
    assert_true(b.over);
}

static void empty_is_empty(void **state)
{
    (void)state;
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 0);
    assert_string_equal(buf_z(&b), "");
    buf_add(&b, NULL, 0);
    buf_adds(&b, STR_NULL);
    assert_false(b.over);
    buf_addc(&b, 'x');
    assert_true(b.over);
    assert_int_equal(b.n, 0);
}

static void numbers(void **state)
{
    (void)state;
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 200);
    const int64_t v[] = {0, -1, 10, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        buf_addi(&b, v[i]);
        buf_addc(&b, ' ');
    }
    assert_str(buf_str(&b), "0 -1 10 9223372036854775807 -9223372036854775808 ");
}

static void formatted(void **state)
{
    (void)state;
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 3000);
    buf_addf(&b, "%s=%d;", "a", 5);
    buf_addf(&b, "%0*d", 2000, 7);
    assert_int_equal(b.n, 2004);
    assert_int_equal(b.p[2003], '7');
    assert_string_equal(buf_z(&b) + 2000, "0007");
    buf_addf(&b, "%2000d", 1);
    assert_true(b.over);
    assert_int_equal(b.n, 2004);
}

static void space_is_filled_by_hand(void **state)
{
    (void)state;
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 4096);
    char *p = buf_space(&b, 4096);
    assert_non_null(p);
    assert_int_equal(b.n, 0);
    memset(p, 'z', 4096);
    b.n += 4096;
    assert_null(buf_space(&b, 1));
    assert_int_equal(strlen(buf_z(&b)), 4096);
}

int buf_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_and_keeps), cmocka_unit_test(maximum_drops_whole_pieces),
        cmocka_unit_test(empty_is_empty),  cmocka_unit_test(numbers),
        cmocka_unit_test(formatted),       cmocka_unit_test(space_is_filled_by_hand),
    };
    return cmocka_run_group_tests_name("util/buf", tests, NULL, NULL);
}
