/* Tests of list.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "util/tests.h"

#include "util/list.h"

struct item {
    int number;
    struct list link;
};

static int number_of(struct list *l)
{
    return CONTAINER_OF(l, struct item, link)->number;
}

static void fill(struct list *l, struct item *items, int n, int from)
{
    list_init(l);
    for (int i = 0; i < n; i++) {
        items[i].number = from + i;
        list_push(l, &items[i].link);
    }
}

static void check(struct list *l, const int *want, size_t n)
{
    size_t i = 0;
    LIST_EACH(it, l)
    {
        assert_true(i < n);
        assert_int_equal(number_of(it), want[i++]);
        assert_ptr_equal(it->next->prev, it);
    }
    assert_int_equal(i, n);
}

static void ends_and_pop(void **state)
{
    (void)state;
    struct list l;
    struct item items[3], first = {.number = 9};
    fill(&l, items, 3, 0);
    list_push_front(&l, &first.link);
    check(&l, (const int[]){9, 0, 1, 2}, 4);
    assert_int_equal(number_of(list_pop(&l)), 9);
    list_del(&items[1].link);
    list_del(&items[1].link);
    check(&l, (const int[]){0, 2}, 2);
    list_pop(&l);
    list_pop(&l);
    assert_null(list_pop(&l));
    assert_true(list_empty(&l));
}

static void splice_moves_all(void **state)
{
    (void)state;
    struct list a, b;
    struct item in_a[2], in_b[2];
    fill(&a, in_a, 2, 0);
    fill(&b, in_b, 2, 10);
    list_splice(&a, &b);
    check(&a, (const int[]){0, 1, 10, 11}, 4);
    assert_true(list_empty(&b));
    list_splice(&a, &b);
    check(&a, (const int[]){0, 1, 10, 11}, 4);
    list_splice(&b, &a);
    check(&b, (const int[]){0, 1, 10, 11}, 4);
    assert_true(list_empty(&a));
}

static void deleting_while_walking(void **state)
{
    (void)state;
    struct list l;
    struct item items[6];
    fill(&l, items, 6, 0);
    LIST_EACH_SAFE(it, &l)
    {
        if (number_of(it) % 2 == 0) {
            list_del(it);
        }
    }
    check(&l, (const int[]){1, 3, 5}, 3);
}

int list_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_and_pop),
        cmocka_unit_test(splice_moves_all),
        cmocka_unit_test(deleting_while_walking),
    };
    return cmocka_run_group_tests_name("util/list", tests, NULL, NULL);
}
