/* Tests of heap.c: order, ties, removal from anywhere, against a plain list as the model.
 * SPDX-License-Identifier: Apache-2.0 */
#include "util/tests.h"

#include <stdlib.h>

#include "util/heap.h"

struct item {
    struct heap_node node;
    int number;
};

static struct item *pop(struct heap *h)
{
    struct heap_node *n = heap_min(h);
    if (!n) {
        return NULL;
    }
    heap_del(h, n);
    assert_false(heap_in(n));
    return CONTAINER_OF(n, struct item, node);
}

static void ties_come_in_order_of_insertion(void **state)
{
    (void)state;
    CLEANUP(heap_fini) struct heap h;
    heap_init(&h);
    struct item items[100] = {0};
    for (int i = 0; i < 100; i++) {
        items[i].number = i;
        heap_push(&h, &items[i].node, i % 3);
    }
    int last = -1, key = 0;
    for (int i = 0; i < 100; i++) {
        const struct item *it = pop(&h);
        if (it->node.key != key) {
            assert_int_equal(it->node.key, ++key);
            last = -1;
        }
        assert_true(it->number > last);
        last = it->number;
    }
    assert_null(heap_min(&h));
}

static void extremes_of_the_key(void **state)
{
    (void)state;
    CLEANUP(heap_fini) struct heap h;
    heap_init(&h);
    struct item a = {0}, b = {0}, c = {0};
    heap_push(&h, &a.node, INT64_MAX);
    heap_push(&h, &b.node, INT64_MIN);
    heap_push(&h, &c.node, 0);
    assert_ptr_equal(pop(&h), &b);
    assert_ptr_equal(pop(&h), &c);
    assert_ptr_equal(pop(&h), &a);
    heap_del(&h, &a.node); /* not in: harmless */
}

static const struct item *model_min(const struct item *items, int n)
{
    const struct item *best = NULL;
    for (int i = 0; i < n; i++) {
        if (!heap_in(&items[i].node)) {
            continue;
        }
        bool less =
            best && (items[i].node.key < best->node.key ||
                     (items[i].node.key == best->node.key && items[i].node.seq < best->node.seq));
        if (!best || less) {
            best = &items[i];
        }
    }
    return best;
}

static void check_order_inside(const struct heap *h)
{
    for (size_t i = 1; i < h->n; i++) {
        assert_true(h->v[(i - 1) / 2]->key <= h->v[i]->key);
        assert_int_equal(h->v[i]->at, i + 1);
    }
}

static void like_a_plain_list(void **state)
{
    (void)state;
    CLEANUP(heap_fini) struct heap h;
    heap_init(&h);
    static struct item items[64];
    memset(items, 0, sizeof(items));
    srand(7);
    size_t in = 0;
    for (int step = 0; step < 20000; step++) {
        struct item *it = &items[rand() % 64];
        if (heap_in(&it->node)) {
            heap_del(&h, &it->node);
            in--;
        } else {
            heap_push(&h, &it->node, rand() % 50);
            in++;
        }
        assert_int_equal(h.n, in);
        check_order_inside(&h);
        const struct item *want = model_min(items, 64);
        assert_ptr_equal(heap_min(&h), want ? &want->node : NULL);
    }
}

int heap_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ties_come_in_order_of_insertion),
        cmocka_unit_test(extremes_of_the_key),
        cmocka_unit_test(like_a_plain_list),
    };
    return cmocka_run_group_tests_name("util/heap", tests, NULL, NULL);
}
