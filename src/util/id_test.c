/* Tests of id.c: form, version bits, time order, alphabet.
 * SPDX-License-Identifier: Apache-2.0 */
#include "util/tests.h"

#include <stdlib.h>

#include "util/id.h"
#include "util/time.h"

static void check_uuid(const char *text, char version)
{
    assert_int_equal(strlen(text), 36);
    for (int i = 0; i < 36; i++) {
        if (i == 8 || i == 13 || i == 18 || i == 23) {
            assert_int_equal(text[i], '-');
        } else {
            assert_non_null(strchr("0123456789abcdef", text[i]));
        }
    }
    assert_int_equal(text[14], version);
    assert_non_null(strchr("89ab", text[19]));
}

static void uuids(void **state)
{
    (void)state;
    char a[ID_TEXT_MAX], b[ID_TEXT_MAX];
    for (int i = 0; i < 200; i++) {
        assert_int_equal(id_text(ID_UUIDV4, a), 36);
        check_uuid(a, '4');
        id_text(ID_UUIDV4, b);
        assert_string_not_equal(a, b);
        id_text(ID_UUIDV7, a);
        check_uuid(a, '7');
    }
}

static void v7_starts_with_the_time(void **state)
{
    (void)state;
    char text[ID_TEXT_MAX], ms_text[13];
    usec_t before = wall_now() / USEC_PER_MSEC;
    id_text(ID_UUIDV7, text);
    usec_t after = wall_now() / USEC_PER_MSEC;
    memcpy(ms_text, text, 8);
    memcpy(ms_text + 8, text + 9, 4);
    ms_text[12] = '\0';
    usec_t ms = strtoll(ms_text, NULL, 16);
    assert_true(ms >= before && ms <= after);
}

static void nanoid_uses_its_whole_alphabet(void **state)
{
    (void)state;
    int seen[256] = {0}, kinds = 0;
    for (int i = 0; i < 500; i++) {
        char text[ID_TEXT_MAX];
        assert_int_equal(id_text(ID_NANOID, text), 26);
        assert_int_equal(strlen(text), 26);
        for (const char *p = text; *p; p++) {
            kinds += seen[(unsigned char)*p]++ == 0;
        }
    }
    assert_int_equal(kinds, 62);
    for (int c = 0; c < 256; c++) {
        bool expected = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        assert_true(expected == (seen[c] > 0));
    }
}

static void prefix_is_prepended(void **state)
{
    (void)state;
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    struct str id = id_new(&a, ID_NANOID, STR("evt_"));
    assert_int_equal(id.n, 30);
    assert_true(str_starts(id, STR("evt_")));
    assert_int_equal(id.p[id.n], 0);
    assert_int_equal(id_new(&a, ID_UUIDV4, STR_NULL).n, 36);
}

int id_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uuids),
        cmocka_unit_test(v7_starts_with_the_time),
        cmocka_unit_test(nanoid_uses_its_whole_alphabet),
        cmocka_unit_test(prefix_is_prepended),
    };
    return cmocka_run_group_tests_name("util/id", tests, NULL, NULL);
}
