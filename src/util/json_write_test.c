/* Tests of json_write.c: Go's escapes, raw values, the writer's commas.
 * SPDX-License-Identifier: Apache-2.0 */
#include "util/tests.h"

#include "util/json.h"

static void check_string(struct str text, bool html, const char *want)
{
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 10000);
    json_add_string(&b, text, html);
    assert_str(buf_str(&b), want);
}

static void strings(void **state)
{
    (void)state;
    check_string(STR(""), true, "\"\"");
    check_string(STR_NULL, true, "\"\"");
    check_string(STR("a\"b\\c/d\x7f"), true, "\"a\\\"b\\\\c/d\x7f\"");
    check_string(STR("<a>&"), true, "\"\\u003ca\\u003e\\u0026\"");
    check_string(STR("<a>&"), false, "\"<a>&\"");
    check_string((struct str){"\0\1\x1f\b\f\n\r\t\v", 9}, true,
                 "\"\\u0000\\u0001\\u001f\\b\\f\\n\\r\\t\\u000b\"");
    check_string(STR("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbd"), true,
                 "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbd\"");
    check_string(STR("\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa"), true,
                 "\"\\u2028\\u2029\xe2\x80\xaa\"");
    check_string(STR("\xe2\x80\xa8"), false, "\"\\u2028\"");
    /* One replacement for each invalid byte */
    check_string(STR("a\xff\xfe b\xe2\x82"), true, "\"a\\ufffd\\ufffd b\\ufffd\\ufffd\"");
    check_string(STR("\xed\xa0\x80"), false, "\"\\ufffd\\ufffd\\ufffd\"");
}

static void check_raw(const char *raw, bool html, const char *want)
{
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 10000);
    json_add_raw(&b, str_z(raw), html);
    assert_str(buf_str(&b), want);
}

static void raw_values(void **state)
{
    (void)state;
    check_raw(" { \"a\" : [ 1.50 , 1e3 ,\n12345678901234567890 ] , \"a\":\t\"x y\" }\r\n", true,
              "{\"a\":[1.50,1e3,12345678901234567890],\"a\":\"x y\"}");
    check_raw("\"<b>&\\/\\u00e9\\u003C\"", true, "\"\\u003cb\\u003e\\u0026\\/\\u00e9\\u003C\"");
    check_raw("\"<b>&\"", false, "\"<b>&\"");
    check_raw("\"\xe2\x80\xa8\xe2\x80\xa9\"", true, "\"\\u2028\\u2029\"");
    check_raw("\"\xe2\x80\xa8\"", false, "\"\xe2\x80\xa8\"");
    check_raw("{\"k<\":\"\\\\\",\"n\":\" \\\" \"}", true,
              "{\"k\\u003c\":\"\\\\\",\"n\":\" \\\" \"}");
    check_raw("\"\xff\\n\xc3\"", true, "\"\\ufffd\\n\\ufffd\"");
    check_raw("[\"\",\"\" , true,null ]", true, "[\"\",\"\",true,null]");
    check_raw("0", true, "0");
    check_raw("", true, "");
}

static void compaction_keeps_strings(void **state)
{
    (void)state;
    const char *const cases[][2] = {
        {"{ \"a b\" : \"<c  d>\\\" \" , \"e\":[ ] }", "{\"a b\":\"<c  d>\\\" \",\"e\":[]}"},
        {" \"x\xff\" ", "\"x\xff\""},
        {"[1 ,2\n]", "[1,2]"},
        {"\"\\\\\" ", "\"\\\\\""},
        {" ", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf_fini) struct buf b;
        buf_init(&b, 1000);
        json_compact(&b, str_z(cases[i][0]));
        assert_str(buf_str(&b), cases[i][1]);
    }
}

static void writer(void **state)
{
    (void)state;
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 1000);
    struct jsonw w;
    jw_init(&w, &b, true);
    jw_obj(&w);
    jw_kstr(&w, "id<", STR("a&b"));
    jw_kint(&w, "n", -3);
    jw_kbool(&w, "yes", true);
    jw_knull(&w, "none");
    jw_key(&w, STR("list"));
    jw_arr(&w);
    jw_arr(&w);
    jw_arr_end(&w);
    jw_obj(&w);
    jw_obj_end(&w);
    jw_int(&w, 1);
    jw_bool(&w, false);
    jw_null(&w);
    jw_str(&w, STR("x"));
    jw_raw(&w, STR(" { } "));
    jw_raw_go(&w, STR(" { } "));
    jw_arr_end(&w);
    jw_key(&w, STR("o"));
    jw_obj(&w);
    jw_obj_end(&w);
    jw_obj_end(&w);
    assert_str(buf_str(&b), "{\"id\\u003c\":\"a\\u0026b\",\"n\":-3,\"yes\":true,\"none\":null,"
                            "\"list\":[[],{},1,false,null,\"x\", { } ,{}],\"o\":{}}");
}

static void writer_nests(void **state)
{
    (void)state;
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 1000);
    struct jsonw w;
    jw_init(&w, &b, false);
    for (int i = 0; i < 63; i++) {
        jw_arr(&w);
        jw_int(&w, i);
    }
    for (int i = 0; i < 63; i++) {
        jw_int(&w, i);
        jw_arr_end(&w);
    }
    struct json v;
    assert_int_equal(json_check(buf_str(&b), 63, &v, NULL), EC_OK);
    assert_int_equal(json_count(v), 3);
}

int json_write_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings),
        cmocka_unit_test(raw_values),
        cmocka_unit_test(compaction_keeps_strings),
        cmocka_unit_test(writer),
        cmocka_unit_test(writer_nests),
    };
    return cmocka_run_group_tests_name("util/json_write", tests, NULL, NULL);
}
