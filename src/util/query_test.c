/* Tests of query.c: what form decoding keeps, drops and bounds.
 * SPDX-License-Identifier: Apache-2.0 */
#include "util/tests.h"

#include "util/query.h"

/* The pairs as "name=value|", in order. */
static void check_pairs(const char *raw, const char *want)
{
    CLEANUP(arena_fini) struct arena a;
    CLEANUP(buf_fini) struct buf b;
    arena_init(&a);
    buf_init(&b, 1000);
    struct query q = query_parse(str_z(raw), &a);
    for (size_t i = 0; i < q.n; i++) {
        buf_adds(&b, q.v[i].name);
        buf_addc(&b, '=');
        buf_adds(&b, q.v[i].value);
        buf_addc(&b, '|');
    }
    struct str got = buf_str(&b);
    if (!str_eqz(got, want)) {
        fail_msg("%s: got %.*s, want %s", raw, STR_ARG(got), want);
    }
}

static void pairs(void **state)
{
    (void)state;
    check_pairs("", "");
    check_pairs("a=1&b=2&a=3", "a=1|b=2|a=3|");
    check_pairs("a", "a=|");
    check_pairs("a=", "a=|");
    check_pairs("=v", "=v|");
    check_pairs("=", "=|");
    check_pairs("&&a=1&&", "a=1|");
    check_pairs("a=b=c", "a=b=c|");
    check_pairs("a+b=c+d%20e%2Bf", "a b=c d e+f|");
    check_pairs("x%5B0%5d=%e2%82%AC", "x[0]=\xe2\x82\xac|");
    check_pairs("topic[]=a&topic[]=b", "topic[]=a|topic[]=b|");
    check_pairs("a=%26%3D&b=1", "a=&=|b=1|");
}

static void dropped_pairs(void **state)
{
    (void)state;
    check_pairs("a=1;b=2&c=3", "c=3|");
    check_pairs("a;&c=3", "c=3|");
    check_pairs("a=%3B", "a=;|");
    check_pairs("a=%&b=%4&c=%zz&d=%4g&%=1&e=5", "e=5|");
    check_pairs("%61=1&%6=2", "a=1|");
    check_pairs("a=%u0041&b=2", "b=2|");
}

static void nul_is_a_byte(void **state)
{
    (void)state;
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    struct query q = query_parse(STR("a=x%00y"), &a);
    assert_int_equal(q.n, 1);
    assert_int_equal(q.v[0].value.n, 3);
    assert_memory_equal(q.v[0].value.p, "x\0y", 4);
}

static void get_and_all(void **state)
{
    (void)state;
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    struct query q = query_parse(STR("limit=5&topic=a&topic=&limit=9&topic=c"), &a);
    assert_str(query_get(&q, STR("limit")), "5");
    assert_null(query_get(&q, STR("lim")).p);
    struct query empty = query_parse(STR("a="), &a);
    assert_non_null(query_get(&empty, STR("a")).p);
    struct str *all;
    assert_int_equal(query_all(&q, STR("topic"), &a, &all), 3);
    assert_str(all[0], "a");
    assert_str(all[1], "");
    assert_str(all[2], "c");
    assert_int_equal(query_all(&q, STR("none"), &a, &all), 0);
    assert_null(all);
}

static void bounded(void **state)
{
    (void)state;
    CLEANUP(arena_fini) struct arena a;
    CLEANUP(buf_fini) struct buf b;
    arena_init(&a);
    buf_init(&b, 100000);
    for (int i = 0; i < 1500; i++) {
        buf_addf(&b, "&a%d=%d", i, i);
    }
    struct query q = query_parse(buf_str(&b), &a);
    assert_int_equal(q.n, QUERY_MOST);
    assert_str(q.v[q.n - 1].name, "a999");
    /* Dropped pairs take no place. */
    buf_reset(&b);
    for (int i = 0; i < 1500; i++) {
        buf_addz(&b, "%&");
    }
    buf_addz(&b, "last=1");
    q = query_parse(buf_str(&b), &a);
    assert_int_equal(q.n, 1);
}

static void path_segments(void **state)
{
    (void)state;
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    struct str out = STR("before");
    assert_true(percent_decode(STR("a%2Fb+c%20d"), &a, &out));
    assert_str(out, "a/b+c d");
    assert_true(percent_decode(STR_NULL, &a, &out));
    assert_str(out, "");
    out = STR("before");
    assert_false(percent_decode(STR("a%2"), &a, &out));
    assert_false(percent_decode(STR("%G0"), &a, &out));
    assert_false(percent_decode(STR("%"), &a, &out));
    assert_str(out, "before");
}

static void encoding(void **state)
{
    (void)state;
    CLEANUP(arena_fini) struct arena a;
    CLEANUP(buf_fini) struct buf b;
    arena_init(&a);
    buf_init(&b, 1000);
    percent_add(&b, STR("aZ09-._~ /?\xe2\x82\xac%"), "");
    assert_str(buf_str(&b), "aZ09-._~%20%2F%3F%E2%82%AC%25");
    buf_reset(&b);
    percent_add(&b, STR("a/b?c"), "/");
    assert_str(buf_str(&b), "a/b%3Fc");
    /* Every byte comes back. */
    char all[256];
    for (int i = 0; i < 256; i++) {
        all[i] = (char)i;
    }
    buf_reset(&b);
    percent_add(&b, (struct str){all, 256}, "/");
    struct str back;
    assert_true(percent_decode(buf_str(&b), &a, &back));
    assert_int_equal(back.n, 256);
    assert_memory_equal(back.p, all, 256);
}

int query_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs),         cmocka_unit_test(dropped_pairs),
        cmocka_unit_test(nul_is_a_byte), cmocka_unit_test(get_and_all),
        cmocka_unit_test(bounded),       cmocka_unit_test(path_segments),
        cmocka_unit_test(encoding),
    };
    return cmocka_run_group_tests_name("util/query", tests, NULL, NULL);
}
