/* Tests of map.c: replacing, deletion that must not break probe chains (against an array as the
 * model), walking. SPDX-License-Identifier: Apache-2.0 */
#include "util/tests.h"

#include <stdio.h>
#include <stdlib.h>

#include "util/map.h"

static void put_get_replace_delete(void **state)
{
    (void)state;
    CLEANUP(map_fini) struct map m;
    map_init(&m);
    int one = 1, two = 2;
    assert_null(map_get(&m, STR("a")));
    assert_null(map_del(&m, STR("a")));
    assert_null(map_put(&m, STR("a"), &one));
    assert_null(map_put(&m, STR(""), &two));
    assert_ptr_equal(map_get(&m, STR("")), &two);
    assert_null(map_get(&m, STR("b")));
    char again[] = "a";
    struct str key = str_z(again);
    assert_ptr_equal(map_put(&m, key, &two), &one);
    assert_int_equal(m.count, 2);
    size_t i = 0, seen = 0;
    while (map_next(&m, &i)) {
        seen += m.slots[i - 1].key.p == again; /* the new key pointer is in use */
    }
    assert_int_equal(seen, 1);
    assert_ptr_equal(map_del(&m, STR("a")), &two);
    assert_null(map_get(&m, STR("a")));
    assert_int_equal(m.count, 1);
}

#define KEYS 300

static void like_an_array(void **state)
{
    (void)state;
    CLEANUP(map_fini) struct map m;
    map_init(&m);
    static char names[KEYS][16];
    static int values[KEYS];
    bool in[KEYS] = {false};
    size_t count = 0;
    for (int i = 0; i < KEYS; i++) {
        snprintf(names[i], sizeof(names[i]), "key-%d", i);
    }
    srand(11);
    for (int step = 0; step < 30000; step++) {
        int k = rand() % KEYS;
        struct str key = str_z(names[k]);
        void *was = in[k] ? &values[k] : NULL;
        bool add = rand() % 2;
        assert_ptr_equal(add ? map_put(&m, key, &values[k]) : map_del(&m, key), was);
        in[k] = add;
        count += (size_t)add - (was != NULL);
        assert_int_equal(m.count, count);
        int other = rand() % KEYS;
        assert_ptr_equal(map_get(&m, str_z(names[other])), in[other] ? &values[other] : NULL);
    }
    bool seen[KEYS] = {false};
    int *v;
    for (size_t i = 0; (v = map_next(&m, &i));) {
        assert_false(seen[v - values]);
        seen[v - values] = true;
    }
    assert_memory_equal(seen, in, sizeof(in));
}

int map_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(put_get_replace_delete),
        cmocka_unit_test(like_an_array),
    };
    return cmocka_run_group_tests_name("util/map", tests, NULL, NULL);
}
