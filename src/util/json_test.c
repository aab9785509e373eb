/* Tests of json.c: the grammar from both sides, depth, spans, decoding.
 * SPDX-License-Identifier: Apache-2.0 */
#include "util/tests.h"

#include <stdlib.h>

#include "util/json.h"

static const char *const valid[] = {
    "{}",
    "[]",
    "0",
    "-0",
    "-1",
    "10",
    "0.5",
    "1e5",
    "1E+5",
    "1.25e-10",
    "12345678901234567890",
    "1e400",
    "true",
    "false",
    "null",
    "\"\"",
    "\"a\"",
    " \t\r\n{ } \n",
    "[ ]",
    "[1,2 , 3]",
    "{\"a\":1}",
    "{ \"a\" : [ { } ] , \"\" : null }",
    "{\"a\":1,\"a\":2}",
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD834\\uDd1e\"",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "\"\x7f\"",
    "\"\xff\xc0\"",
    "\"0123456789abcdef0123456789\\n0123456\"",
    "[[[[1]]]]",
    "[true,false,null,\"\",{}]",
};

static const char *const invalid[] = {
    "",
    " ",
    "{",
    "}",
    "[",
    "]",
    "[1",
    "[1,",
    "[1,]",
    "[,1]",
    "[1 2]",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1,}",
    "{\"a\":1 \"b\":2}",
    "{a:1}",
    "{'a':1}",
    "{1:2}",
    "{\"a\":1",
    "{\"a",
    "[1}",
    "{\"a\":1]",
    "{\"a\" 1}",
    "{,}",
    "[}",
    "01",
    "-",
    "-a",
    "+1",
    ".5",
    "1.",
    "1.e5",
    "1e",
    "1e+",
    "0x10",
    "1_000",
    "NaN",
    "Infinity",
    "-Infinity",
    "tru",
    "True",
    "nul",
    "nulll",
    "undefined",
    "\"",
    "\"a",
    "\"\\\"",
    "\"\\",
    "\"\\x41\"",
    "\"\\u12\"",
    "\"\\u12g4\"",
    "\"\\u\"",
    "\"\t\"",
    "\"\n\"",
    "\"a\x1fz\"",
    "\"0123456789abcde\n0123456789\"",
    "\"01234567\\q\"",
    "// c\n1",
    "/**/1",
    "1 2",
    "{}{}",
    "[],",
    "\xef\xbb\xbf{}",
    "\v1",
    "\f1",
    "\302\2401",
    "'a'",
    "[1]]",
    "{\"a\":1}}",
    "--1",
    "1-",
    "1.5.5",
    "truefalse",
    "\"\\U0041\"",
};

static void grammar(void **state)
{
    (void)state;
    struct json v;
    struct err err;
    for (size_t i = 0; i < ARRAY_LEN(valid); i++) {
        if (json_check(str_z(valid[i]), 8, &v, &err) != EC_OK || v.type == JSON_NONE) {
            fail_msg("refused: %s", valid[i]);
        }
        assert_true(str_eq(v.raw, str_trim(str_z(valid[i]))));
    }
    for (size_t i = 0; i < ARRAY_LEN(invalid); i++) {
        v.type = JSON_NONE;
        if (json_check(str_z(invalid[i]), 8, &v, &err) != EC_INVALID) {
            fail_msg("passed: %s", invalid[i]);
        }
        assert_int_equal(err.code, EC_INVALID);
        assert_true(err.text[0] != '\0');
    }
    assert_int_equal(json_check((struct str){"1\0", 2}, 8, &v, NULL), EC_INVALID);
    assert_int_equal(json_check((struct str){"\"a\0\"", 4}, 8, &v, NULL), EC_INVALID);
    assert_int_equal(json_check((struct str){"\"\\\0\"", 4}, 8, &v, NULL), EC_INVALID);
    assert_int_equal(json_check(STR_NULL, 8, &v, NULL), EC_INVALID);
}

/* No prefix of a text is valid unless the text is a bare number; no byte behind the end is read. */
static void every_prefix(void **state)
{
    (void)state;
    static const char text[] =
        "{\"key\\u00e9 0123456789\":[1.5e-3,true,false,null,{\"a\":\"b\\\\\"}],\"x\":-0}";
    for (size_t n = 0; n < sizeof(text) - 1; n++) {
        char *exact = xmalloc(n); /* the sanitizer sees a read beyond it */
        memcpy(exact, text, n);
        struct json v;
        assert_int_equal(json_check((struct str){exact, n}, 8, &v, NULL), EC_INVALID);
        free(exact);
    }
    struct json v;
    assert_int_equal(json_check(STR(text), 8, &v, NULL), EC_OK);
}

/* Every byte at every place of an eight-byte step: only quote, backslash and control characters
 * stop a string. */
static void every_byte_in_a_string(void **state)
{
    (void)state;
    for (int at = 1; at <= 20; at++) {
        for (int c = 0; c < 256; c++) {
            char text[23];
            memset(text, 'x', sizeof(text));
            text[0] = text[22] = '"';
            text[at] = (char)c;
            struct json v;
            bool ok = json_check((struct str){text, 23}, 1, &v, NULL) == EC_OK;
            if (ok == (c < 0x20 || c == '"' || c == '\\')) {
                fail_msg("byte %d at %d", c, at);
            }
        }
    }
}

static void first_value_and_its_end(void **state)
{
    (void)state;
    struct json v;
    size_t end = 0;
    assert_int_equal(json_first(STR(" {\"a\":1} trailing"), 4, &v, &end, NULL), EC_OK);
    assert_str(v.raw, "{\"a\":1}");
    assert_int_equal(end, 8);
    assert_int_equal(json_first(STR("1,2"), 4, &v, &end, NULL), EC_OK);
    assert_int_equal(end, 1);
    assert_int_equal(json_first(STR("null"), 4, &v, NULL, NULL), EC_OK);
    assert_int_equal(v.type, JSON_NULL);
    assert_int_equal(json_first(STR("x"), 4, &v, &end, NULL), EC_INVALID);
}

static enum ec check_deep(size_t depth, unsigned max, bool object)
{
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 10 * (depth + 1));
    for (size_t i = 0; i < depth; i++) {
        buf_addz(&b, object ? "{\"\":" : "[");
    }
    buf_addz(&b, object ? "0" : "");
    for (size_t i = 0; i < depth; i++) {
        buf_addc(&b, object ? '}' : ']');
    }
    struct json v;
    return json_check(buf_str(&b), max, &v, NULL);
}

static void depth(void **state)
{
    (void)state;
    for (int object = 0; object < 2; object++) {
        assert_int_equal(check_deep(1, 1, object), EC_OK);
        assert_int_equal(check_deep(2, 1, object), EC_LIMIT);
        assert_int_equal(check_deep(1, 0, object), EC_LIMIT);
        assert_int_equal(check_deep(JSON_DEPTH_MAX, JSON_DEPTH_MAX, object), EC_OK);
        assert_int_equal(check_deep(JSON_DEPTH_MAX + 1, JSON_DEPTH_MAX, object), EC_LIMIT);
        assert_int_equal(check_deep(200000, UINT32_MAX, object), EC_LIMIT);
    }
    struct json v;
    assert_int_equal(json_check(STR("[[],[],[]]"), 2, &v, NULL), EC_OK); /* width is not depth */
    assert_int_equal(json_check(STR("[{\"a\":[1]},[{}]]"), 3, &v, NULL), EC_OK);
    assert_int_equal(json_check(STR("7"), 0, &v, NULL), EC_OK);
}

static struct json checked(const char *text)
{
    struct json v;
    if (json_check(str_z(text), 64, &v, NULL) != EC_OK) {
        fail_msg("refused: %s", text);
    }
    return v;
}

static void walking(void **state)
{
    (void)state;
    struct json v =
        checked(" { \"a\" : 1 ,\"b\\\"]\":[ \"]\" , {\"c\":\"}\"} ] , \"d\" : { } , \"e\":\"x\"}");
    const char *const keys[] = {"\"a\"", "\"b\\\"]\"", "\"d\"", "\"e\""};
    const char *const values[] = {"1", "[ \"]\" , {\"c\":\"}\"} ]", "{ }", "\"x\""};
    const enum json_type types[] = {JSON_NUMBER, JSON_ARRAY, JSON_OBJECT, JSON_STRING};
    struct json_iter it = json_iter(v);
    struct json key, value;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        assert_true(json_next(&it, &key, &value));
        assert_str(key.raw, keys[i]);
        assert_str(value.raw, values[i]);
        assert_int_equal(value.type, types[i]);
    }
    assert_false(json_next(&it, &key, &value));
    assert_false(json_next(&it, &key, &value));
    it = json_iter(checked("[true, false,null , -1.5 ]"));
    const enum json_type in_array[] = {JSON_TRUE, JSON_FALSE, JSON_NULL, JSON_NUMBER};
    for (size_t i = 0; i < ARRAY_LEN(in_array); i++) {
        assert_true(json_next(&it, &key, &value));
        assert_int_equal(key.type, JSON_NONE);
        assert_int_equal(value.type, in_array[i]);
    }
    assert_false(json_next(&it, NULL, NULL));
    it = json_iter(checked("\"[1]\""));
    assert_false(json_next(&it, &key, &value));
    assert_int_equal(json_count(checked("[]")), 0);
    assert_int_equal(json_count(checked("[[1,2],3]")), 2);
    assert_int_equal(json_count(checked("5")), 0);
}

static void members(void **state)
{
    (void)state;
    struct json v =
        checked("{\"a\":1,\"b\":2,\"a\":3,\"\\u0063\":4,\"A\":5,\"\":6,\"in\":{\"x\":7}}");
    assert_str(json_get(v, STR("a")).raw, "3");
    assert_str(json_get(v, STR("c")).raw, "4");
    assert_str(json_get(v, STR("")).raw, "6");
    assert_int_equal(json_get(v, STR("x")).type, JSON_NONE);
    assert_int_equal(json_get(checked("[1]"), STR("a")).type, JSON_NONE);
    assert_int_equal(json_get((struct json){0}, STR("a")).type, JSON_NONE);
}

static void decoding(void **state)
{
    (void)state;
    const char *const cases[][2] = {
        {"\"\"", ""},
        {"\"plain\"", "plain"},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u00e9\\u20ac\\u0041\"", "\xc3\xa9\xe2\x82\xac"
                                      "A"},
        {"\"\\ud83d\\ude00\\uD83D\\uDE00\"", "\xf0\x9f\x98\x80\xf0\x9f\x98\x80"},
        {"\"\\ud83d\"", "\xef\xbf\xbd"},
        {"\"\\ude00\"", "\xef\xbf\xbd"},
        {"\"\\ud83dx\"", "\xef\xbf\xbdx"},
        {"\"\\ud83d\\u0041\"", "\xef\xbf\xbd"
                               "A"},
        {"\"\\ud83d\\ud83d\\ude00\"", "\xef\xbf\xbd\xf0\x9f\x98\x80"},
        {"\"\\ud83d\\n\"", "\xef\xbf\xbd\n"},
        {"\"\\ufffd\"", "\xef\xbf\xbd"},
        {"\"a\xff\xc3z\"", "a\xef\xbf\xbd\xef\xbf\xbdz"},
        {"\"\xc3\xa9 and \xe2\x82\xac\"", "\xc3\xa9 and \xe2\x82\xac"},
        {"\"0123456789abcdef\\n\"", "0123456789abcdef\n"},
    };
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct json v = checked(cases[i][0]);
        assert_str(json_text(v, &a), cases[i][1]);
        assert_true(json_is_text(v, str_z(cases[i][1])));
        assert_false(json_is_text(v, STR("other")));
    }
    struct str nul = json_text(checked("\"a\\u0000b\""), &a);
    assert_int_equal(nul.n, 3);
    assert_memory_equal(nul.p, "a\0b", 3);
    assert_str(json_text(checked("12"), &a), "");
    assert_false(json_is_text(checked("12"), STR("12")));
    assert_false(json_is_text(checked("\"\xff\""), STR("\xff"))); /* decoded it is U+FFFD */
}

static void plain_text_is_borrowed(void **state)
{
    (void)state;
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    struct json v = checked("\"caf\xc3\xa9 0123456789\"");
    assert_ptr_equal(json_text(v, &a).p, v.raw.p + 1);
    assert_int_equal(a.used, 0);
}

int json_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grammar),
        cmocka_unit_test(every_prefix),
        cmocka_unit_test(every_byte_in_a_string),
        cmocka_unit_test(first_value_and_its_end),
        cmocka_unit_test(depth),
        cmocka_unit_test(walking),
        cmocka_unit_test(members),
        cmocka_unit_test(decoding),
        cmocka_unit_test(plain_text_is_borrowed),
    };
    return cmocka_run_group_tests_name("util/json", tests, NULL, NULL);
}
