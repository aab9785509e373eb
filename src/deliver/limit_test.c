/* Tests of limit.c: turns between lanes, the two pools, windows of memory and what is parked. Time
 * is a number. SPDX-License-Identifier: Apache-2.0 */
#include "deliver/limit.h"
#include "deliver/tests.h"

#include <stdio.h>

#define SECOND NSEC_PER_SEC
#define MESSAGES 200

struct rig {
    struct limit l;
    struct queue_msg m[MESSAGES];
    size_t used;
};

static struct lane *lane(struct rig *r, const char *key)
{
    return limit_lane(&r->l, str_z(key));
}

static bool offer(struct rig *r, const char *key, bool can_park)
{
    assert_true(r->used < MESSAGES);
    return limit_offer(&r->l, lane(r, key), &r->m[r->used++], can_park);
}

static void offer_many(struct rig *r, const char *key, size_t n)
{
    while (n--) {
        assert_true(offer(r, key, false));
    }
}

/* Whose turn it is; "" when nobody's. */
static const char *next(struct rig *r, struct slot *slot, nsec_t now)
{
    return limit_next(&r->l, slot, now) ? slot->lane->key.p : "";
}

/* Takes n turns at once and writes down the lanes' first letters. */
static void turns(struct rig *r, struct slot *slots, const char *want)
{
    char got[64] = "";
    size_t n = strlen(want);
    for (size_t i = 0; i < n; i++) {
        const char *key = next(r, &slots[i], SECOND);
        got[i] = key[0] ? key[0] : '-';
    }
    assert_string_equal(got, want);
}

/* One attempt from start to end, so that the lane has a record. */
static void attempt(struct rig *r, const char *key, nsec_t took, bool good)
{
    struct slot slot;
    offer_many(r, key, 1);
    assert_int_equal(next(r, &slot, SECOND)[0], key[0]);
    limit_end(&r->l, &slot, SECOND + took, good);
}

static void end_all(struct rig *r, struct slot *slots, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        limit_end(&r->l, &slots[i], SECOND, true);
    }
}

static void lanes_take_turns(void **state)
{
    (void)state;
    struct rig r = {0};
    struct slot s[10];
    limit_init(&r.l, 100, 10, 100);
    offer_many(&r, "a", 4);
    offer_many(&r, "b", 2);
    offer_many(&r, "c", 1);
    assert_int_equal(r.l.waiting, 7);
    turns(&r, s, "abcabaa-");
    assert_int_equal(r.l.waiting, 0);
    assert_int_equal(r.l.young, 7);
    end_all(&r, s, 7);
    assert_int_equal(r.l.young + r.l.unproven + r.l.slow, 0);
    limit_fini(&r.l);
}

static void oldest_first(void **state)
{
    (void)state;
    struct rig r = {0};
    struct slot s[3];
    limit_init(&r.l, 100, 10, 100);
    offer_many(&r, "a", 3);
    for (size_t i = 0; i < 3; i++) {
        assert_ptr_equal(limit_next(&r.l, &s[i], SECOND), &r.m[i]);
    }
    limit_fini(&r.l);
}

static void per_destination(void **state)
{
    (void)state;
    struct rig r = {0};
    struct slot s[8];
    limit_init(&r.l, 100, 10, 2);
    offer_many(&r, "a", 5);
    offer_many(&r, "b", 1);
    turns(&r, s, "aba-");
    limit_end(&r.l, &s[0], SECOND, true);
    turns(&r, s + 3, "a-");
    limit_fini(&r.l);
}

static void concurrency(void **state)
{
    (void)state;
    struct rig r = {0};
    struct slot s[8];
    limit_init(&r.l, 4, 10, 100);
    attempt(&r, "a", 0, true);
    offer_many(&r, "a", 6);
    turns(&r, s, "aaaa-");
    limit_end(&r.l, &s[1], SECOND, true);
    turns(&r, s + 4, "a-");
    limit_fini(&r.l);
}

/* Lanes without a good record hold half of the young slots at most, so the others always get
 * through. */
static void unproven_half(void **state)
{
    (void)state;
    struct rig r = {0};
    struct slot s[16];
    limit_init(&r.l, 8, 10, 100);
    attempt(&r, "p", 0, true);
    assert_true(lane(&r, "p")->proven);
    offer_many(&r, "x", 10);
    turns(&r, s, "xxxx-");
    assert_int_equal(r.l.unproven, 4);
    offer_many(&r, "p", 10);
    turns(&r, s + 4, "pppp-");
    limit_end(&r.l, &s[0], SECOND, false);
    assert_int_equal(r.l.unproven, 3);
    turns(&r, s + 8, "x-");
    limit_fini(&r.l);
}

static void proven_and_new_alternate(void **state)
{
    (void)state;
    struct rig r = {0};
    struct slot s[16];
    limit_init(&r.l, 100, 10, 100);
    attempt(&r, "p", 0, true);
    attempt(&r, "q", 0, true);
    offer_many(&r, "p", 3);
    offer_many(&r, "q", 3);
    offer_many(&r, "x", 3);
    char got[10] = "";
    for (size_t i = 0; i < 6; i++) {
        got[i] = next(&r, &s[i], SECOND)[0];
    }
    assert_true(!strcmp(got, "xpxqxp") || !strcmp(got, "pxqxpx"));
    limit_fini(&r.l);
}

static void the_record_of_a_lane(void **state)
{
    (void)state;
    struct rig r = {0};
    limit_init(&r.l, 100, 10, 100);
    attempt(&r, "a", 0, true);
    assert_true(lane(&r, "a")->proven);
    attempt(&r, "a", 0, false);
    assert_false(lane(&r, "a")->proven);
    attempt(&r, "a", LIMIT_YOUNG - 1, true);
    assert_true(lane(&r, "a")->proven);
    attempt(&r, "a", LIMIT_YOUNG, true);
    assert_false(lane(&r, "a")->proven);
    limit_fini(&r.l);
}

static void count_grown(void *arg, struct slot *slot, bool first)
{
    assert_true(slot->slow && slot->lane->slow);
    *(int *)arg += first;
}

/* An attempt that grew old leaves its young slot; its lane uses the slow pool and an eighth of its
 * share. */
static void old_attempts_move(void **state)
{
    (void)state;
    struct rig r = {0};
    struct slot s[12];
    int grown = 0;
    limit_init(&r.l, 4, 3, 16);
    assert_int_equal(limit_age(&r.l, SECOND, count_grown, &grown), 0);
    offer_many(&r, "a", 8);
    turns(&r, s, "aa-");
    assert_int_equal(limit_age(&r.l, 2 * SECOND - 1, count_grown, &grown), 2 * SECOND);
    assert_int_equal(grown, 0);
    assert_int_equal(limit_age(&r.l, 2 * SECOND, count_grown, &grown), 0);
    assert_int_equal(grown, 1);
    assert_int_equal(r.l.young + r.l.unproven, 0);
    assert_int_equal(r.l.slow, 2);
    turns(&r, s + 2, "-");
    limit_end(&r.l, &s[0], 3 * SECOND, true);
    assert_true(lane(&r, "a")->slow);
    turns(&r, s + 2, "a-");
    assert_true(s[2].slow);
    offer_many(&r, "b", 2);
    turns(&r, s + 3, "bb-");
    assert_int_equal(r.l.young, 2);
    /* one that ends quickly, well or not, gives the lane its share again */
    limit_end(&r.l, &s[2], SECOND + 1, false);
    assert_false(lane(&r, "a")->slow);
    assert_int_equal(r.l.slow, 1);
    limit_fini(&r.l);
}

static void full_slow_pool(void **state)
{
    (void)state;
    struct rig r = {0};
    struct slot s[8];
    int grown = 0;
    limit_init(&r.l, 8, 1, 100);
    offer_many(&r, "a", 1);
    offer_many(&r, "b", 1);
    turns(&r, s, "ab");
    assert_int_equal(limit_age(&r.l, 5 * SECOND, count_grown, &grown),
                     5 * SECOND + LIMIT_YOUNG / 10);
    assert_int_equal(grown, 1);
    assert_int_equal(r.l.slow, 1);
    assert_int_equal(r.l.young, 1);
    limit_end(&r.l, &s[0], 5 * SECOND, false);
    assert_int_equal(limit_age(&r.l, 5 * SECOND, count_grown, &grown), 0);
    assert_int_equal(grown, 2);
    assert_int_equal(r.l.young, 0);
    limit_fini(&r.l);
}

/* Slow lanes cannot take a slot of the young pool, however free it is. */
static void slow_lanes_share(void **state)
{
    (void)state;
    struct rig r = {0};
    struct slot s[16];
    limit_init(&r.l, 100, 3, 16);
    for (const char *k = "ab"; *k; k++) {
        const char key[2] = {*k, 0};
        lane(&r, key)->slow = true;
        offer_many(&r, key, 6);
    }
    turns(&r, s, "aba-");
    limit_end(&r.l, &s[1], SECOND + 2 * SECOND, false);
    turns(&r, s + 3, "b-");
    limit_fini(&r.l);
}

/* A slow lane keeps 32 in memory; from the first that did not fit on, newcomers queue up behind on
 * disk. */
static void windows(void **state)
{
    (void)state;
    struct rig r = {0};
    limit_init(&r.l, 100, 10, 100);
    struct lane *a = lane(&r, "a");
    a->slow = true;
    for (size_t i = 0; i < 32; i++) {
        assert_true(offer(&r, "a", true));
    }
    assert_false(a->parked);
    assert_false(offer(&r, "a", true));
    assert_true(a->parked);
    assert_int_equal(a->waiting_count, 32);
    assert_true(offer(&r, "a", false)); /* nowhere to park: it must fit */
    r.m[r.used].unparked = true;
    assert_true(offer(&r, "a", true)); /* it comes from there */
    assert_int_equal(a->waiting_count, 34);
    assert_true(offer(&r, "quick", true));
    limit_fini(&r.l);
}

static void behind_what_is_parked(void **state)
{
    (void)state;
    struct rig r = {0};
    limit_init(&r.l, 100, 10, 100);
    struct lane *a = lane(&r, "a");
    a->unparking = true;
    assert_false(offer(&r, "a", true));
    assert_true(a->parked);
    a->unparking = false;
    assert_false(offer(&r, "a", true));
    a->parked = false;
    assert_true(offer(&r, "a", true));
    limit_fini(&r.l);
}

static void wants(void **state)
{
    (void)state;
    struct rig r = {0};
    limit_init(&r.l, 100, 10, 100);
    struct lane *a = lane(&r, "a");
    a->slow = true;
    assert_int_equal(limit_wants(&r.l, a), 0);
    a->parked = true;
    assert_int_equal(limit_wants(&r.l, a), 32);
    offer_many(&r, "a", 8);
    assert_int_equal(limit_wants(&r.l, a), 24);
    a->unparking = true;
    assert_int_equal(limit_wants(&r.l, a), 0);
    a->unparking = false;
    offer_many(&r, "a", 1);
    assert_int_equal(limit_wants(&r.l, a), 0);
    limit_fini(&r.l);
}

/* The newest go to disk, in their order; the oldest stay. */
static void overflow(void **state)
{
    (void)state;
    struct rig r = {0};
    struct list out;
    list_init(&out);
    limit_init(&r.l, 100, 10, 100);
    struct lane *a = lane(&r, "a");
    offer_many(&r, "a", 35);
    limit_overflow(&r.l, a, &out);
    assert_true(a->parked);
    assert_int_equal(a->waiting_count, 32);
    assert_int_equal(r.l.waiting, 32);
    for (size_t i = 32; i < 35; i++) {
        assert_ptr_equal(CONTAINER_OF(list_pop(&out), struct queue_msg, link), &r.m[i]);
    }
    assert_true(list_empty(&out));
    a->parked = false;
    limit_overflow(&r.l, a, &out);
    assert_true(list_empty(&out) && !a->parked);
    limit_fini(&r.l);
}

/* Idle lanes are forgotten beyond ten thousand, the longest idle first; busy and parked ones are
 * not. */
static void idle_lanes_are_forgotten(void **state)
{
    (void)state;
    struct rig r = {0};
    struct slot slot;
    char key[16];
    limit_init(&r.l, 100, 10, 100);
    lane(&r, "parked")->parked = true;
    attempt(&r, "parked", 0, true);
    for (int i = 0; i < 10005; i++) {
        snprintf(key, sizeof(key), "%d", i);
        assert_true(limit_offer(&r.l, lane(&r, key), &r.m[0], false));
        assert_non_null(limit_next(&r.l, &slot, SECOND));
        limit_end(&r.l, &slot, SECOND, true);
    }
    assert_int_equal(r.l.lanes.count, 10000);
    assert_null(map_get(&r.l.lanes, STR("0")));
    assert_non_null(map_get(&r.l.lanes, STR("parked")));
    assert_non_null(map_get(&r.l.lanes, STR("10004")));
    limit_fini(&r.l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_take_turns),
        cmocka_unit_test(oldest_first),
        cmocka_unit_test(per_destination),
        cmocka_unit_test(concurrency),
        cmocka_unit_test(unproven_half),
        cmocka_unit_test(proven_and_new_alternate),
        cmocka_unit_test(the_record_of_a_lane),
        cmocka_unit_test(old_attempts_move),
        cmocka_unit_test(full_slow_pool),
        cmocka_unit_test(slow_lanes_share),
        cmocka_unit_test(windows),
        cmocka_unit_test(behind_what_is_parked),
        cmocka_unit_test(wants),
        cmocka_unit_test(overflow),
        cmocka_unit_test(idle_lanes_are_forgotten),
    };
    return cmocka_run_group_tests_name("deliver/limit", tests, NULL, NULL) != 0;
}
