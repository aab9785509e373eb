/* Tests of arena.c: alignment, content that stays put, large pieces, reuse.
 * SPDX-License-Identifier: Apache-2.0 */
#include "util/tests.h"

#include "util/arena.h"

static void pieces_are_aligned_and_apart(void **state)
{
    (void)state;
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    unsigned char *pieces[400];
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        pieces[i] = arena_alloc(&a, i);
        assert_int_equal((uintptr_t)pieces[i] % 16, 0);
        memset(pieces[i], (int)(i & 0xff), i);
    }
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        for (size_t k = 0; k < i; k++) {
            assert_int_equal(pieces[i][k], i & 0xff);
        }
    }
}

static void large_piece_leaves_the_open_block(void **state)
{
    (void)state;
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    char *small = arena_alloc(&a, 16);
    char *large = arena_alloc(&a, 1 << 20);
    memset(large, 'x', 1 << 20);
    char *next = arena_alloc(&a, 16);
    assert_ptr_equal(next, small + 16);
    assert_int_equal(a.used, 16 + (1 << 20) + 16);
}

static void reset_keeps_one_block(void **state)
{
    (void)state;
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    assert_null(a.head);
    arena_reset(&a);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 100; i++) {
            memset(arena_alloc(&a, 1000), 1, 1000);
        }
        arena_alloc(&a, 1 << 20);
        arena_reset(&a);
        assert_int_equal(a.used, 0);
        assert_non_null(a.head);
    }
    /* What is kept is not what a large piece took. */
    arena_fini(&a);
    arena_alloc(&a, 1 << 20);
    arena_reset(&a);
    assert_null(a.head);
}

static void zalloc_zeroes_used_memory(void **state)
{
    (void)state;
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    memset(arena_alloc(&a, 512), 0xee, 512);
    arena_reset(&a);
    const unsigned char *p = arena_zalloc(&a, 512);
    for (int i = 0; i < 512; i++) {
        assert_int_equal(p[i], 0);
    }
}

static void texts_are_terminated_copies(void **state)
{
    (void)state;
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    char source[] = "hello";
    struct str s = arena_copy(&a, str_z(source));
    source[0] = 'j';
    assert_str(s, "hello");
    assert_int_equal(s.p[5], 0);
    assert_string_equal(arena_z(&a, STR_NULL), "");
    assert_int_equal(arena_copy(&a, (struct str){"a\0b", 3}).n, 3);
    assert_str(arena_printf(&a, "%s-%d", "n", 7), "n-7");
    assert_int_equal(arena_printf(&a, "%5000d", 1).n, 5000);
    assert_str(arena_printf(&a, "%s", ""), "");
}

int arena_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_aligned_and_apart),
        cmocka_unit_test(large_piece_leaves_the_open_block),
        cmocka_unit_test(reset_keeps_one_block),
        cmocka_unit_test(zalloc_zeroes_used_memory),
        cmocka_unit_test(texts_are_terminated_copies),
    };
    return cmocka_run_group_tests_name("util/arena", tests, NULL, NULL);
}
