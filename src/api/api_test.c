/* Tests of the API's pure parts: cursor text (api.md 6.7), array parameters (6.2), coerced maps
 * (3.4) and JSON in its canonical form (3.1). What answers requests is tested through the server.
 * SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "api/call.h"

#define assert_str(got, want)                                                                      \
    do {                                                                                           \
        struct str got_ = (got), want_ = str_z(want);                                              \
        if (!str_eq(got_, want_)) {                                                                \
            fail_msg("got \"%.*s\", want \"%.*s\"", STR_ARG(got_), STR_ARG(want_));                \
        }                                                                                          \
    } while (0)

#define TNT "gC02baKQeaZ25wNtAYU4DwmZVxp"
#define EVT "1puLH2sP0RcSrvawVgYVqfaUVfgAARF4L3Vp8qffP"
#define ATT "1m2ujFQxiYTL9BtuLQVECxDshH88iWEKrKFaVM0Wl"

static void cursors_made(void **state)
{
    (void)state;
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    assert_str(cursor_make(&a, "evt", 1772359200123, STR("evt_7f3a")), EVT);
    assert_str(cursor_make(&a, "att", 1772359205450, STR("atm_0c11")), ATT);
    assert_str(cursor_make(&a, "tnt", 1772359200123, STR_NULL), TNT);
}

static void reads(const char *text, const char *resource, enum cursor_state want,
                  const char *position)
{
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    struct str got = STR("");
    enum cursor_state state = cursor_read(&a, str_z(text), resource, &got);
    if (state != want) {
        fail_msg("%s as %s: state %d, want %d", text, resource, (int)state, (int)want);
    }
    assert_str(got, position);
}

static void cursors_read(void **state)
{
    (void)state;
    reads(EVT, "evt", CURSOR_OK, "1772359200123::evt_7f3a");
    reads(ATT, "att", CURSOR_OK, "1772359205450::atm_0c11");
    reads(TNT, "tnt", CURSOR_OK, "1772359200123");
    reads("gC02baKQGvHevV9zw9a8sUbYFft", "tnt", CURSOR_VERSION, "");
    reads("1puLH2sP3Cs2xQMlgjWSr0OlchAC4v7WHYLLv8BtT", "evt", CURSOR_VERSION, "");
    reads("29gZnOlJR3", "evt", CURSOR_INVALID, "");
    reads(EVT, "att", CURSOR_INVALID, "");
    reads(TNT, "evt", CURSOR_INVALID, "");
    reads("", "evt", CURSOR_INVALID, "");
    reads("0", "evt", CURSOR_INVALID, "");
    reads("evil!", "evt", CURSOR_INVALID, "");
    reads(EVT "-", "evt", CURSOR_INVALID, "");
    reads("000" EVT, "evt", CURSOR_OK, "1772359200123::evt_7f3a");
}

static void cursors_of_any_length(void **state)
{
    (void)state;
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    char id[1400];
    for (size_t n = 0; n <= sizeof(id); n += 50) {
        struct str position, text;
        memset(id, n % 100 ? 'z' : 1, n);
        text = cursor_make(&a, "evt", (usec_t)n, (struct str){id, n});
        assert_int_equal(cursor_read(&a, text, "evt", &position), CURSOR_OK);
        assert_true(str_starts(position, arena_printf(&a, "%zu::", n)));
        assert_true(n == 0 || !memcmp(position.p + position.n - n, id, n));
    }
    char *much = arena_alloc(&a, 3000);
    memset(much, 'z', 3000);
    struct str position;
    assert_int_equal(cursor_read(&a, (struct str){much, 3000}, "evt", &position), CURSOR_INVALID);
}

/* The values of x as an array, "|" behind each. */
static void array(const char *query, const char *name, const char *want)
{
    CLEANUP(arena_fini) struct arena a;
    CLEANUP(buf_fini) struct buf b;
    arena_init(&a);
    buf_init(&b, 1000);
    struct call c = {.a = &a, .query = query_parse(str_z(query), &a)};
    struct strlist l = query_array(&c, name);
    for (size_t i = 0; i < l.n; i++) {
        buf_adds(&b, l.v[i]);
        buf_addc(&b, '|');
    }
    assert_str(buf_str(&b), want);
}

static void arrays(void **state)
{
    (void)state;
    array("", "x", "");
    array("x=a&y=c&x=b", "x", "a|b|");
    array("x=", "x", "|");
    array("x=a,b", "x", "a,b|");
    array("x[]=a&x[]=b&x=c", "x", "a|b|");
    array("x[2]=c&x[0]=a&x[1]=b", "x", "a|b|c|");
    array("x[10]=j&x[9]=i&x[-1]=z", "x", "z|i|j|");
    array("x[0]=a&x[0]=b", "x", "a|");
    array("x[0]=&x[]=b&x=c", "x", "|");
    array("x[%2B1]=b&x[0]=a", "x", "a|b|");
    array("x[a]=1&x[]=2&x[1]x=3&x[1=4&x[ 1]=5", "x", "2|");
    array("x[a]=1&x=2", "x", "2|");
    array("xx[0]=1&xx=2", "x", "");
    array("filters[topic]=a", "filters[topic]", "a|");
    array("filters[topic][]=a&filters[topic][]=b", "filters[topic]", "a|b|");
    array("filters[topic][1]=b&filters[topic][0]=a", "filters[topic]", "a|b|");
}

static struct json parsed(const char *text)
{
    struct json v;
    assert_int_equal(json_check(str_z(text), JSON_DEPTH_MAX, &v, NULL), EC_OK);
    return v;
}

/* The map that a body's config becomes, over {"old":"1"}; as JSON. */
static void map(enum map_rule rule, const char *body, const char *want, bool want_present)
{
    CLEANUP(arena_fini) struct arena a;
    CLEANUP(buf_fini) struct buf b;
    arena_init(&a);
    buf_init(&b, 10000);
    struct call c = {.a = &a};
    struct strmap m = {NULL, 0};
    bool present;
    if (rule == MAP_MERGE) {
        strmap_set(&m, &a, STR("old"), STR("1"));
    }
    assert_true(body_map(&c, parsed(body), "config", rule, &m, &present));
    assert_int_equal(present, want_present);
    strmap_add_json(&b, &m, false);
    assert_str(buf_str(&b), want);
}

static void numbers_in_maps(void **state)
{
    (void)state;
    static const char *const t[][2] = {{"42", "42"},
                                       {"5672", "5672"},
                                       {"999999", "999999"},
                                       {"1000000", "1e+06"},
                                       {"20999999", "2.0999999e+07"},
                                       {"1.0", "1"},
                                       {"-0", "-0"},
                                       {"1234567", "1.234567e+06"},
                                       {"9007199254740993", "9.007199254740992e+15"},
                                       {"3.14", "3.14"},
                                       {"0.0001", "0.0001"},
                                       {"0.00001", "1e-05"},
                                       {"-5", "-5"},
                                       {"12345678901234567890", "1.2345678901234567e+19"},
                                       {"100000", "100000"},
                                       {"123456", "123456"},
                                       {"123456789", "1.23456789e+08"},
                                       {"99.99", "99.99"},
                                       {"12345678.9", "1.23456789e+07"},
                                       {"5e-324", "5e-324"},
                                       {"1.7976931348623157e308", "1.7976931348623157e+308"},
                                       {"1e-400", "0"},
                                       {"0.1", "0.1"},
                                       {"-1.5e2", "-150"}};
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        char body[100], want[100];
        snprintf(body, sizeof(body), "{\"config\":{\"k\":%s}}", t[i][0]);
        snprintf(want, sizeof(want), "{\"k\":\"%s\"}", t[i][1]);
        map(MAP_CREATE, body, want, true);
    }
}

static void coerced_maps(void **state)
{
    (void)state;
    map(MAP_CREATE, "{}", "{}", false);
    map(MAP_CREATE, "{\"config\":null}", "{}", true);
    map(MAP_CREATE, "{\"CONFIG\":{\"a\":\"x\",\"t\":true,\"f\":false,\"n\":null}}",
        "{\"a\":\"x\",\"f\":\"false\",\"n\":\"\",\"t\":\"true\"}", true);
    map(MAP_CREATE, "{\"config\":{\"o\":{\"b\":1,\"a\":\"<x\"},\"l\":[1.0, 1e21, null]}}",
        "{\"l\":\"[1,1e+21,null]\",\"o\":\"{\\\"a\\\":\\\"\\\\u003cx\\\",\\\"b\\\":1}\"}", true);
    map(MAP_CREATE, "{\"config\":{\"a\":1,\"a\":2}}", "{\"a\":\"2\"}", true);
}

static void merged_maps(void **state)
{
    (void)state;
    map(MAP_MERGE, "{}", "{\"old\":\"1\"}", false);
    map(MAP_MERGE, "{\"config\":{}}", "{\"old\":\"1\"}", true);
    map(MAP_MERGE, "{\"config\":{\"b\":7}}", "{\"b\":\"7\",\"old\":\"1\"}", true);
    map(MAP_MERGE, "{\"config\":{\"old\":null,\"b\":\"\",\"gone\":null}}", "{\"b\":\"\"}", true);
    map(MAP_MERGE, "{\"config\":null}", "{}", true);
}

static void canonical(const char *text, bool html, const char *want)
{
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 10000);
    json_add_canonical(&b, parsed(text), html);
    assert_str(buf_str(&b), want);
}

static void canonical_json(void **state)
{
    (void)state;
    canonical(" { \"b\" : [ 1 , true , null , false ] , \"a\" : { } , \"c\" : [ ] } ", false,
              "{\"a\":{},\"b\":[1,true,null,false],\"c\":[]}");
    canonical("{\"a\":1,\"b\":2,\"a\":3}", false, "{\"a\":3,\"b\":2}");
    canonical("{\"\\u0062\":1,\"a\":\"\\u0041\\/\"}", false, "{\"a\":\"A/\",\"b\":1}");
    canonical("{\"z\":1.0,\"amount\":{\"$gte\":1e2}}", true, "{\"amount\":{\"$gte\":100},\"z\":1}");
    canonical("\"<&>\"", true, "\"\\u003c\\u0026\\u003e\"");
    canonical("\"<&>\"", false, "\"<&>\"");
    canonical("[1e20,1e21,1234567,0.000001,0.0000001,-0,-0.0,1.50]", false,
              "[100000000000000000000,1e+21,1234567,0.000001,1e-7,-0,-0,1.5]");
}

static void numbers_beyond_a_double(void **state)
{
    (void)state;
    assert_true(json_numbers_fit(parsed("{\"a\":[1e308,{\"b\":-1e308}],\"c\":\"1e999\"}")));
    assert_false(json_numbers_fit(parsed("{\"a\":[1,{\"b\":1e309}]}")));
    assert_false(json_numbers_fit(parsed("-1e999")));
}

static void members_in_any_case(void **state)
{
    (void)state;
    struct json o = parsed("{\"Type\":1,\"\\u0054YPE\":2,\"tYPe\":null,\"x\":null}");
    assert_str(body_get(o, "type").raw, "2");
    assert_int_equal(body_get(o, "x").type, JSON_NULL);
    assert_int_equal(body_get(o, "y").type, JSON_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cursors_made),
        cmocka_unit_test(cursors_read),
        cmocka_unit_test(cursors_of_any_length),
        cmocka_unit_test(arrays),
        cmocka_unit_test(numbers_in_maps),
        cmocka_unit_test(coerced_maps),
        cmocka_unit_test(merged_maps),
        cmocka_unit_test(canonical_json),
        cmocka_unit_test(numbers_beyond_a_double),
        cmocka_unit_test(members_in_any_case),
    };
    return cmocka_run_group_tests_name("api", tests, NULL, NULL) != 0;
}
