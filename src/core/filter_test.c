/* Tests of the filter language: the truth table, what is refused, how an event is shown to a
 * filter, and that neither depth nor size of either side costs more than it may.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/tests.h"

#include "core/filter.h"
#include "core/filter_table.h"

static struct filter *compiled(struct str text)
{
    struct filter *f = NULL;
    struct err err = {0};
    if (filter_new(text, &f, &err)) {
        fail_msg("%s: %.*s", err.text, (int)MIN(text.n, (size_t)200), text.p);
    }
    return f;
}

static bool matches_text(struct str filter, const struct filter_input *in)
{
    struct filter *f = compiled(filter);
    bool r = filter_match(f, in);
    filter_free(f);
    return r;
}

static bool data_matches(struct str filter, struct str data)
{
    struct filter_input in = {.id = STR("e1"), .topic = STR("x"), .data = data};
    return matches_text(filter, &in);
}

static struct str member_or(struct json event, struct str name, struct str otherwise,
                            struct arena *a)
{
    struct json v = json_get(event, name);
    return v.type == JSON_NONE ? otherwise : v.type == JSON_STRING ? json_text(v, a) : v.raw;
}

static bool row_matches(const struct filter_row *row, const char *filter, struct arena *a)
{
    struct json event;
    int offset;
    struct strmap metadata = {0};
    struct filter_input in = {.id = STR("e1"), .metadata = &metadata};
    assert_int_equal(json_check(str_z(row->event), 100, &event, NULL), EC_OK);
    in.topic = member_or(event, STR("topic"), STR("x"), a);
    in.data = member_or(event, STR("data"), STR("{}"), a);
    struct str time = member_or(event, STR("time"), STR("2025-01-15T00:00:00Z"), a);
    assert_true(time_parse(time, &in.time, &offset));
    in.time_offset_s = offset;
    struct json m = json_get(event, STR("metadata"));
    if (m.type != JSON_NONE) {
        assert_int_equal(strmap_from_json(&metadata, a, m), EC_OK);
    }
    return matches_text(str_z(filter), &in);
}

/* Every row, and its negation, and itself as the only one of several. */
static void truth_table(void **state)
{
    (void)state;
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    size_t rows = 0, spec = 0;
    for (const struct filter_row *r = filter_table; r->name; r++, rows++) {
        spec += r->name[0] == 'F';
        if (row_matches(r, r->filter, &a) != r->matches) {
            fail_msg("%s: %s on %s: want %d", r->name, r->filter, r->event, r->matches);
        }
        struct str not_it = arena_printf(&a, "{\"$not\":%s}", r->filter);
        if (row_matches(r, not_it.p, &a) == r->matches) {
            fail_msg("%s negated", r->name);
        }
        struct str among = arena_printf(&a,
                                        " { \"$or\" : [ {\"id\":\"no\"} , {\"$and\":[%s,{}]} ] , "
                                        "\"topic\" : {\"$exist\":true} } ",
                                        r->filter);
        if (row_matches(r, among.p, &a) != r->matches) {
            fail_msg("%s among others", r->name);
        }
    }
    assert_int_equal(spec, 186);
    assert_int_equal(rows - spec, 77);
}

static const struct {
    const char *text;
    enum ec ec;
    const char *why;
} refused[] = {
    {"", EC_INVALID, "invalid JSON"},
    {" ", EC_INVALID, "invalid JSON"},
    {"{", EC_INVALID, "invalid JSON"},
    {"{\"a\":}", EC_INVALID, "invalid JSON"},
    {"{\"a\":01}", EC_INVALID, "invalid JSON"},
    {"{} x", EC_INVALID, "invalid JSON"},
    {"{'a':1}", EC_INVALID, "invalid JSON"},
    {"[\"x\"]", EC_INVALID, "filter must be a JSON object"},
    {"\"x\"", EC_INVALID, "filter must be a JSON object"},
    {"5", EC_INVALID, "filter must be a JSON object"},
    {"true", EC_INVALID, "filter must be a JSON object"},
    {"null", EC_INVALID, "filter must be a JSON object"},
};

static void what_is_no_filter(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct filter *f = NULL;
        struct err err = {0};
        assert_int_equal(filter_new(str_z(refused[i].text), &f, &err), refused[i].ec);
        assert_int_equal(err.code, refused[i].ec);
        assert_string_equal(err.text, refused[i].why);
        assert_null(f);
        assert_int_equal(filter_new(str_z(refused[i].text), &f, NULL), refused[i].ec);
    }
    filter_free(NULL);
}

static void any_object_is_a_filter(void **state)
{
    (void)state;
    static const char *const odd[] = {
        "{\"$nope\":1}",      "{\"data\":{\"a\":{\"$gt\":{}}}}", "{\"$or\":5,\"$and\":null}",
        "{\"$not\":[]}",      "{\"$in\":{\"$in\":[[]]}}",        " {\n}\t",
        "{\"\":{\"\":[{}]}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        filter_free(compiled(str_z(odd[i])));
    }
}

/* The text may go away once it is compiled; a filter may be asked any number of times. */
static void text_is_copied(void **state)
{
    (void)state;
    char text[] = "{\"data\":{\"key\":{\"$in\":[\"one\",\"two\"]}}}";
    struct filter *f = compiled(str_z(text));
    memset(text, '#', sizeof(text) - 1);
    struct filter_input yes = {.data = STR("{\"key\":\"two\"}")}, no = {.data = STR("{}")};
    for (int i = 0; i < 3; i++) {
        assert_true(filter_match(f, &yes));
        assert_false(filter_match(f, &no));
    }
    filter_free(f);
}

static void how_an_event_looks(void **state)
{
    (void)state;
    struct filter_input in = {.data = STR_NULL};
    assert_true(filter_match(NULL, &in));
    assert_true(matches_text(STR("{}"), &in));
    assert_true(matches_text(STR("{\"data\":{\"$eq\":{}},\"metadata\":{\"$eq\":{}}}"), &in));
    static const char *const no_objects[] = {"", "null", "[1]", "5", "\"{}\""};
    for (size_t i = 0; i < ARRAY_LEN(no_objects); i++) {
        assert_true(data_matches(STR("{\"data\":{\"$eq\":{}}}"), str_z(no_objects[i])));
    }
    assert_true(data_matches(STR("{\"data\":{\"a\":1}}"), STR(" \n{ \"a\" : 1 }\t")));
    in = (struct filter_input){.time = 0, .time_offset_s = 19800};
    assert_true(matches_text(STR("{\"time\":\"1970-01-01T05:30:00+05:30\"}"), &in));
    in = (struct filter_input){.time = -1, .time_offset_s = 0};
    assert_true(matches_text(STR("{\"time\":\"1969-12-31T23:59:59Z\"}"), &in));
}

/* before * n, core, after * n */
static struct str nested(struct buf *b, const char *before, size_t n, const char *core,
                         const char *after)
{
    buf_init(b, 64u << 20);
    for (size_t i = 0; i < n; i++) {
        buf_addz(b, before);
    }
    buf_addz(b, core);
    for (size_t i = 0; i < n; i++) {
        buf_addz(b, after);
    }
    assert_false(b->over);
    return buf_str(b);
}

static void depth_of_filters(void **state)
{
    (void)state;
    CLEANUP(buf_fini) struct buf b, deeper, nots;
    struct filter *f = NULL;
    struct err err = {0};
    struct str text = nested(&b, "{\"a\":", FILTER_DEPTH_MAX - 1, "{}", "}");
    filter_free(compiled(text));
    text = nested(&deeper, "{\"a\":", FILTER_DEPTH_MAX, "{}", "}");
    assert_int_equal(filter_new(text, &f, &err), EC_LIMIT);
    assert_string_equal(err.text, "filter is nested deeper than 256 levels");
    assert_null(f);
    text = nested(&nots, "{\"$not\":", FILTER_DEPTH_MAX - 2, "{\"topic\":\"x\"}", "}");
    assert_true(data_matches(text, STR("{}")));
}

static void size_of_filters(void **state)
{
    (void)state;
    CLEANUP(buf_fini) struct buf b;
    struct filter *f = NULL;
    struct err err = {0};
    buf_init(&b, FILTER_TEXT_MAX + 1);
    buf_addz(&b, "{\"data\":{\"a\":{\"$in\":[0");
    while (b.n < FILTER_TEXT_MAX - 6) {
        buf_addz(&b, ",1");
    }
    buf_addz(&b, b.n % 2 ? "]}}} " : "]}}}  ");
    assert_int_equal(b.n, FILTER_TEXT_MAX);
    assert_true(data_matches(buf_str(&b), STR("{\"a\":1}")));
    assert_false(data_matches(buf_str(&b), STR("{\"a\":2}")));
    buf_addc(&b, ' ');
    assert_int_equal(filter_new(buf_str(&b), &f, &err), EC_LIMIT);
    assert_string_equal(err.text, "filter is larger than 262144 bytes");
    assert_null(f);
}

static void depth_of_events(void **state)
{
    (void)state;
    CLEANUP(buf_fini) struct buf arrays, objects;
    struct str data = nested(&arrays, "[", JSON_DEPTH_MAX - 1, "7", "]");
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, data.n + 10);
    buf_addf(&b, "{\"a\":%.*s}", STR_ARG(data));
    assert_true(data_matches(STR("{\"data\":{\"a\":7}}"), buf_str(&b)));
    assert_false(data_matches(STR("{\"data\":{\"a\":8}}"), buf_str(&b)));
    assert_true(data_matches(STR("{\"data\":{\"a\":[[[7]]]}}"), buf_str(&b)));
    assert_false(data_matches(STR("{\"data\":{\"a\":{\"$eq\":[[7]]}}}"), buf_str(&b)));
    data = nested(&objects, "{\"a\":", JSON_DEPTH_MAX - 1, "{}", "}");
    assert_true(data_matches(STR("{\"data\":{\"a\":{\"a\":{\"b\":{\"$exist\":false}}}}}"), data));
}

/* Thousands of alternatives held against thousands of elements: too much to decide, so neither
 * the filter nor its negation matches, and that soon. */
static void work_is_bounded(void **state)
{
    (void)state;
    CLEANUP(buf_fini) struct buf list, b, data;
    struct str alternatives = nested(&list, "1.5,", 60000, "1.5", "");
    buf_init(&b, 1u << 20);
    buf_init(&data, 1u << 20);
    buf_addf(&b, "{\"data\":{\"a\":[%.*s,3]}}", STR_ARG(alternatives));
    buf_addz(&data, "{\"a\":[2");
    for (int i = 0; i < 100000; i++) {
        buf_addz(&data, ",2");
    }
    buf_addz(&data, "]}");
    nsec_t began = mono_now();
    assert_false(data_matches(buf_str(&b), buf_str(&data)));
    /* each alternative is found at the very end */
    data.n -= 5;
    buf_addz(&data, ",1.5]}");
    assert_false(data_matches(buf_str(&b), buf_str(&data)));
    CLEANUP(buf_fini) struct buf not_it;
    buf_init(&not_it, 1u << 20);
    buf_addf(&not_it, "{\"$not\":%.*s}", STR_ARG(buf_str(&b)));
    assert_false(data_matches(buf_str(&not_it), buf_str(&data)));
    assert_true(mono_now() - began < 20 * NSEC_PER_SEC);
}

/* What people may well write is decided: a long list, many alternatives, a large event. */
static void much_is_decided(void **state)
{
    (void)state;
    CLEANUP(buf_fini) struct buf list, b, data;
    buf_init(&list, 1u << 20);
    for (int i = 0; i < 6000; i++) {
        buf_addf(&list, "%s\"0b5c1f0e-7d52-4f30-a2c5-%012d\"", i ? "," : "", i);
    }
    buf_init(&b, 1u << 20);
    buf_addf(&b, "{\"data\":{\"a\":{\"$in\":[%.*s]}}}", STR_ARG(buf_str(&list)));
    assert_true(data_matches(buf_str(&b), STR("{\"a\":\"0b5c1f0e-7d52-4f30-a2c5-000000005999\"}")));
    assert_false(
        data_matches(buf_str(&b), STR("{\"a\":\"0b5c1f0e-7d52-4f30-a2c5-000000006000\"}")));
    buf_reset(&b);
    buf_addz(&b, "{\"$or\":[{\"data\":{\"b\":-1}}");
    for (int i = 0; i < 30; i++) {
        buf_addf(&b, ",{\"data\":{\"b\":%d}}", i);
    }
    buf_addz(&b, "]}");
    struct str filler = nested(&data, "[\"some text\"],", 150000, "0", "");
    CLEANUP(buf_fini) struct buf event;
    buf_init(&event, 4u << 20);
    buf_addf(&event, "{\"a\":[%.*s],\"b\":29}", STR_ARG(filler));
    assert_true(data_matches(buf_str(&b), buf_str(&event)));
}

int filter_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truth_table),
        cmocka_unit_test(what_is_no_filter),
        cmocka_unit_test(any_object_is_a_filter),
        cmocka_unit_test(text_is_copied),
        cmocka_unit_test(how_an_event_looks),
        cmocka_unit_test(depth_of_filters),
        cmocka_unit_test(size_of_filters),
        cmocka_unit_test(depth_of_events),
        cmocka_unit_test(work_is_bounded),
        cmocka_unit_test(much_is_decided),
    };
    return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
