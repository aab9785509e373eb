/* What every queue owes its callers, run on each backend: what was put is handed over once, what is
 * not settled comes again after a restart, retries come when due and not before, parked tasks come
 * in order. SPDX-License-Identifier: Apache-2.0 */
#include "io/sqlc.h"
#include "queue/contract_rig.h"
#include "queue/tests.h"

/* ---- put ---- */

static void test_put_is_handed_over_once(void **state)
{
    struct world *w = *state;
    put(w, "e1", 3);
    expect_count(w, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct task *t = w->got[i]->task;
        char dest[] = {'d', (char)('1' + i), '\0'};
        assert_true(str_eqz(t->destination_id, dest));
        assert_int_equal(w->got[i]->kind, QUEUE_DELIVERY);
        assert_int_equal(t->number, 1);
        assert_false(t->manual);
        assert_true(str_eqz(t->event->data, "{ \"n\" : 1.50 }"));
    }
    assert_int_equal(queue_owed(w->q), 3);
}

static void test_put_is_durable(void **state)
{
    struct world *w = *state;
    put(w, "e1", 2);
    expect_count(w, 2);
    char delivery[DELIVERY_ID_MAX];
    strcpy(delivery, w->got[0]->task->delivery_id);
    restart(w);
    expect_count(w, 2);
    const struct task *t = w->got[0]->task;
    assert_string_equal(t->delivery_id, delivery);
    assert_true(str_eqz(t->destination_id, "d1"));
    assert_true(str_eqz(t->event->tenant_id, "acme"));
    assert_true(str_eqz(t->event->topic, "user.created"));
    assert_true(str_eqz(t->event->data, "{ \"n\" : 1.50 }"));
    assert_true(str_eqz(t->event->metadata.v[0].value, "shop"));
    assert_true(t->event->eligible_for_retry);
}

static void test_claimed_id_is_taken_once(void **state)
{
    struct world *w = *state;
    assert_true(claimed_put(w, "e1", 3600 * USEC_PER_SEC));
    assert_false(claimed_put(w, "e1", 3600 * USEC_PER_SEC));
    assert_true(claimed_put(w, "e2", 3600 * USEC_PER_SEC));
    expect_count(w, 2);
    restart(w);
    assert_false(claimed_put(w, "e1", 3600 * USEC_PER_SEC));
    expect_count(w, 2);
}

static void test_claim_lives_as_long_as_asked(void **state)
{
    struct world *w = *state;
    assert_true(claimed_put(w, "short", 60 * USEC_PER_SEC));
    assert_true(claimed_put(w, "forever", 0));
    wall_set_offset(59 * USEC_PER_SEC);
    assert_false(claimed_put(w, "short", 60 * USEC_PER_SEC));
    wall_set_offset(61 * USEC_PER_SEC);
    assert_true(claimed_put(w, "short", 60 * USEC_PER_SEC));
    assert_false(claimed_put(w, "short", 60 * USEC_PER_SEC));
    wall_set_offset(10 * 365 * 86400 * USEC_PER_SEC);
    assert_false(claimed_put(w, "forever", 0));
    expect_count(w, 3);
}

/* ---- settle ---- */

static void test_unsettled_comes_again_and_settled_does_not(void **state)
{
    struct world *w = *state;
    put(w, "e1", 2);
    put(w, "e2", 1);
    expect_count(w, 3);
    settle(w, &w->got[0], SETTLE_ACK);
    restart(w);
    expect_count(w, 2);
    assert_true(str_eqz(w->got[0]->task->destination_id, "d2"));
    assert_string_equal(id_of(w->got[0]), "e1");
    assert_string_equal(id_of(w->got[1]), "e2");
    settle(w, &w->got[0], SETTLE_ACK);
    settle(w, &w->got[1], SETTLE_ACK);
    assert_int_equal(queue_owed(w->q), 0);
    restart(w);
    expect_count(w, 0);
}

/* The embedded queue's file: rows of a table, by a connection of our own. */
static int rows(struct world *w, const char *sql)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    assert_int_equal(sqlite3_open_v2(w->path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    int n = sqlite3_column_int(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(db);
    return n;
}

static void test_event_goes_with_its_last_delivery(void **state)
{
    struct world *w = *state;
    if (backend != &queue_embedded) {
        skip();
    }
    put(w, "e1", 2);
    expect_count(w, 2);
    settle(w, &w->got[1], SETTLE_ACK);
    assert_int_equal(rows(w, "SELECT count(*) FROM event"), 1);
    settle(w, &w->got[0], SETTLE_ACK);
    assert_int_equal(rows(w, "SELECT count(*) FROM delivery"), 0);
    assert_int_equal(rows(w, "SELECT count(*) FROM event"), 0);
}

static void test_given_back_comes_again(void **state)
{
    struct world *w = *state;
    put(w, "e1", 1);
    expect_count(w, 1);
    settle(w, &w->got[0], SETTLE_BACK);
    expect_count(w, 2);
    assert_string_equal(id_of(w->got[1]), "e1");
    assert_int_equal(w->got[1]->task->number, 1);
}

static void park_three(struct world *w, struct str *out_lane)
{
    static char lane[64];
    put(w, "e1", 1);
    put(w, "e2", 1);
    put(w, "e3", 1);
    expect_count(w, 3);
    struct str from = w->got[0]->task->lane;
    assert_true(from.n <= sizeof(lane));
    memcpy(lane, from.p, from.n);
    *out_lane = (struct str){lane, from.n};
    settle(w, &w->got[2], SETTLE_PARK);
    settle(w, &w->got[0], SETTLE_PARK);
    settle(w, &w->got[1], SETTLE_PARK);
    struct queue_stats stats;
    queue_stats(w->q, &stats);
    assert_int_equal(stats.parked, 3);
    assert_int_equal(queue_owed(w->q), 0);
}

static void test_parked_come_in_order_when_asked_for(void **state)
{
    struct world *w = *state;
    struct str lane;
    if (!queue_parks(w->q)) {
        skip();
    }
    park_three(w, &lane);
    expect_count(w, 3); /* none by itself */
    unpark(w, lane, 2);
    assert_true(w->more);
    assert_int_equal(w->count_when_unparked, 5);
    assert_string_equal(id_of(w->got[3]), "e1");
    assert_string_equal(id_of(w->got[4]), "e2");
    assert_true(w->got[3]->unparked);
    unpark(w, lane, 2);
    assert_false(w->more);
    assert_int_equal(w->count_when_unparked, 6);
    assert_string_equal(id_of(w->got[5]), "e3");
    unpark(w, lane, 2);
    assert_false(w->more);
    expect_count(w, 6);
}

static void test_parked_are_told_after_a_restart(void **state)
{
    struct world *w = *state;
    struct str lane;
    if (!queue_parks(w->q)) {
        skip();
    }
    park_three(w, &lane);
    restart(w);
    assert_true(rig_within(w->io, RIG_WAIT, parked_is_told, w));
    expect_count(w, 0);
    assert_int_equal(w->parked_told, 1);
    unpark(w, lane, 8);
    assert_false(w->more);
    expect_count(w, 3);
    assert_string_equal(id_of(w->got[0]), "e1");
    assert_string_equal(id_of(w->got[2]), "e3");
}

/* ---- conclude ---- */

static void test_retry_comes_when_due(void **state)
{
    struct world *w = *state;
    if (!queue_concludes(w->q)) {
        skip();
    }
    struct queue_conclude c;
    put(w, "e1", 1);
    expect_count(w, 1);
    keep_log(w, conclude(w, 0, NEXT_RETRY, 100 * USEC_PER_SEC, &c));
    assert_int_equal(c.streak, 1);
    assert_false(c.superseded);
    wall_set_offset(95 * USEC_PER_SEC);
    expect_count(w, 1);
    wall_set_offset(101 * USEC_PER_SEC);
    expect_count(w, 2);
    assert_int_equal(w->got[1]->task->number, 2);
    assert_false(w->got[1]->task->manual);
    keep_log(w, conclude(w, 1, NEXT_RETRY, 100 * USEC_PER_SEC, &c));
    assert_int_equal(c.streak, 2);
    restart(w);
    expect_count(w, 0); /* a restart does not hurry it */
    wall_set_offset(202 * USEC_PER_SEC);
    expect_count(w, 1);
    assert_int_equal(w->got[0]->task->number, 3);
}

static void test_conclude_without_retry_ends_the_path(void **state)
{
    struct world *w = *state;
    if (!queue_concludes(w->q)) {
        skip();
    }
    struct queue_conclude c;
    put(w, "e1", 1);
    expect_count(w, 1);
    settle(w, keep_log(w, conclude(w, 0, NEXT_NONE, 0, &c)), SETTLE_ACK);
    assert_int_equal(queue_owed(w->q), 0);
    restart(w);
    expect_count(w, 0);
    assert_int_equal(w->log_count, 0);
}

static void test_unlogged_attempt_comes_again(void **state)
{
    struct world *w = *state;
    if (!queue_concludes(w->q)) {
        skip();
    }
    struct queue_conclude c;
    put(w, "e1", 1);
    expect_count(w, 1);
    keep_log(w, conclude(w, 0, NEXT_RETRY, 3600 * USEC_PER_SEC, &c));
    restart(w);
    assert_true(rig_within(w->io, RIG_WAIT, log_came, w));
    assert_int_equal(w->log_count, 1);
    const struct attempt *a = w->logs[0]->attempt;
    assert_true(str_eqz(a->id, "att1"));
    assert_true(str_eqz(a->event->id, "e1"));
    assert_true(str_eqz(a->event->data, "{ \"n\" : 1.50 }"));
    assert_true(str_eqz(a->code, "500"));
    assert_true(str_eqz(a->response, "{\"status\":500}"));
    assert_false(a->success);
    settle(w, &w->logs[0], SETTLE_ACK);
    restart(w);
    expect_count(w, 0);
    assert_int_equal(w->log_count, 0);
}

/* ---- manual ---- */

static void test_manual_replaces_the_scheduled_retry(void **state)
{
    struct world *w = *state;
    if (!queue_concludes(w->q)) {
        skip();
    }
    struct queue_conclude c;
    put(w, "e1", 1);
    expect_count(w, 1);
    keep_log(w, conclude(w, 0, NEXT_RETRY, 100 * USEC_PER_SEC, &c));
    struct put_how manual = {.dests = 1, .number = 1, .manual = true};
    assert_int_equal(put_as(w, "e1", &manual), EC_OK);
    assert_int_equal(manual.number_given, 2);
    expect_count(w, 2);
    assert_true(w->got[1]->task->manual);
    assert_int_equal(w->got[1]->task->number, 2);
    wall_set_offset(200 * USEC_PER_SEC);
    expect_count(w, 2); /* the automatic one does not come beside it */
    restart(w);
    expect_count(w, 1);
    assert_true(w->got[0]->task->manual);
    assert_int_equal(w->got[0]->task->number, 2);
}

static void test_manual_number_is_above_what_is_under_way(void **state)
{
    struct world *w = *state;
    struct put_how second = {.dests = 1, .number = 1, .manual = true}, floor = second;
    put(w, "e1", 1);
    expect_count(w, 1);
    assert_int_equal(put_as(w, "e1", &second), EC_OK);
    assert_int_equal(second.number_given, 2);
    floor.number = 7;
    assert_int_equal(put_as(w, "e1", &floor), EC_OK);
    assert_int_equal(floor.number_given, 7);
    expect_count(w, 3);
    if (queue_concludes(w->q)) { /* a manual one waits: no automatic retry beside it */
        struct queue_conclude c;
        keep_log(w, conclude(w, 0, NEXT_RETRY, 0, &c));
        assert_true(c.superseded);
        expect_count(w, 3);
    }
}

/* ---- the rest ---- */

static void test_paused_hands_over_no_retry_and_still_takes_puts(void **state)
{
    struct world *w = *state;
    put(w, "e1", 1);
    expect_count(w, 1);
    queue_pause(w->q);
    settle(w, &w->got[0], SETTLE_BACK);
    wall_set_offset(10 * USEC_PER_SEC);
    expect_count(w, 1);
    struct put_how how = {.dests = 1};
    assert_int_equal(put_as(w, "e2", &how), EC_OK);
    restart(w);
    expect_count(w, 2);
}

int contract_tests(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_put_is_handed_over_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_put_is_durable, setup, teardown),
        cmocka_unit_test_setup_teardown(test_claimed_id_is_taken_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_claim_lives_as_long_as_asked, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unsettled_comes_again_and_settled_does_not, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_event_goes_with_its_last_delivery, setup, teardown),
        cmocka_unit_test_setup_teardown(test_given_back_comes_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_parked_come_in_order_when_asked_for, setup, teardown),
        cmocka_unit_test_setup_teardown(test_parked_are_told_after_a_restart, setup, teardown),
        cmocka_unit_test_setup_teardown(test_retry_comes_when_due, setup, teardown),
        cmocka_unit_test_setup_teardown(test_conclude_without_retry_ends_the_path, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unlogged_attempt_comes_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_manual_replaces_the_scheduled_retry, setup, teardown),
        cmocka_unit_test_setup_teardown(test_manual_number_is_above_what_is_under_way, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_paused_hands_over_no_retry_and_still_takes_puts, setup,
                                        teardown),
    };
    static const struct queue_ops *const backends[] = {&queue_embedded};
    int failed = 0;
    for (size_t i = 0; i < ARRAY_LEN(backends); i++) {
        backend = backends[i];
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    return failed;
}
