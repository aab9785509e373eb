/* What every queue owes its callers, run on each backend: what was put is handed over once, what is
 * not settled comes again after a restart, retries come when due and not before, parked tasks come
 * in order. SPDX-License-Identifier: Apache-2.0 */
#include "io/backend_rig.h"
#include "io/sqlc.h"
#include "queue/queue.h"
#include "queue/tests.h"

static const struct queue_ops *backend; /* of the group that runs */

#define MOST 64

struct world {
    char dir[64], path[96];
    struct io *io;
    struct queue *q;
    struct queue_msg *got[MOST]; /* deliveries, as handed over; NULL: settled */
    size_t count;
    struct queue_msg *logs[MOST];
    size_t log_count;
    unsigned parked_told, unparked_told;
    size_t count_when_unparked; /* deliveries handed over before on_unparked */
    bool more;
    size_t want; /* deliveries that enough() looks for */
};

static void on_msgs(void *arg, struct list *msgs)
{
    struct world *w = arg;
    struct list *l;
    while ((l = list_pop(msgs))) {
        if (w->count == MOST) {
            abort();
        }
        w->got[w->count++] = CONTAINER_OF(l, struct queue_msg, link);
    }
}

static void on_logs(void *arg, struct list *msgs)
{
    struct world *w = arg;
    struct list *l;
    while ((l = list_pop(msgs))) {
        if (w->log_count == MOST) {
            abort();
        }
        w->logs[w->log_count++] = CONTAINER_OF(l, struct queue_msg, link);
    }
}

static void on_parked(void *arg, struct str lane)
{
    (void)lane;
    ((struct world *)arg)->parked_told++;
}

static void on_unparked(void *arg, struct str lane, bool more)
{
    struct world *w = arg;
    (void)lane;
    w->more = more;
    w->count_when_unparked = w->count;
    w->unparked_told++;
}

static void begin(struct world *w)
{
    struct queue_conf conf = {.path = w->path};
    struct err err = {0};
    w->io = io_new("queue-test");
    if (queue_open(backend, &conf, &w->q, &err)) {
        fail_msg("open: %s", err.text);
    }
    struct queue_consumer c = {.io = w->io,
                               .kind = QUEUE_DELIVERY,
                               .window = MOST,
                               .on_msgs = on_msgs,
                               .on_parked = on_parked,
                               .on_unparked = on_unparked,
                               .arg = w};
    queue_consume(w->q, &c);
    queue_consume(
        w->q, &(struct queue_consumer){
                  .io = w->io, .kind = QUEUE_LOG, .window = MOST, .on_msgs = on_logs, .arg = w});
    assert_int_equal(queue_start(w->q, w->io, &err), EC_OK);
}

static void forget(struct queue_msg **v, size_t *count)
{
    for (size_t i = 0; i < *count; i++) {
        if (v[i]) {
            task_free(v[i]->task);
            attempt_unref(v[i]->attempt);
            free(v[i]);
            v[i] = NULL;
        }
    }
    *count = 0;
}

static void flush(struct world *w)
{
    struct op op = rig_op(w->io);
    queue_flush(w->q, &op);
    assert_int_equal(rig_finish(&op), EC_OK);
}

/* Ends the process as far as the queue can tell: what is in our hands was never settled. */
static void end(struct world *w)
{
    queue_pause(w->q);
    flush(w);
    queue_close(w->q);
    io_free(w->io);
    forget(w->got, &w->count);
    forget(w->logs, &w->log_count);
    w->parked_told = w->unparked_told = 0;
}

static void restart(struct world *w)
{
    end(w);
    begin(w);
}

static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));
    rig_folder(w->dir);
    snprintf(w->path, sizeof(w->path), "%s/queue.db", w->dir);
    begin(w);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    end(w);
    rig_folder_gone(w->dir);
    wall_set_offset(0);
    free(w);
    return 0;
}

/* ---- waiting ---- */

static bool enough(void *arg)
{
    struct world *w = arg;
    return w->count >= w->want;
}

/* Waits for `count` deliveries in all, then a little for those too many. */
static void expect_count(struct world *w, size_t count)
{
    w->want = count;
    assert_true(rig_within(w->io, RIG_WAIT, enough, w));
    w->want = count + 1;
    assert_false(rig_within(w->io, 150 * NSEC_PER_MSEC, enough, w));
    assert_int_equal(w->count, count);
}

static bool log_came(void *arg)
{
    return ((struct world *)arg)->log_count > 0;
}

static bool parked_is_told(void *arg)
{
    return ((struct world *)arg)->parked_told > 0;
}

static bool unparked_is_told(void *arg)
{
    return ((struct world *)arg)->unparked_told > 0;
}

/* Settling asks for the loop it is called on: it goes there as mail. */
struct settling {
    struct io_msg msg;
    struct world *w;
    struct queue_msg *m;
    enum settle how;
    bool done;
};

static void do_settle(struct io_msg *msg)
{
    struct settling *s = CONTAINER_OF(msg, struct settling, msg);
    queue_settle_one(s->w->q, s->m, s->how);
    s->done = true;
}

static bool is_settled(void *arg)
{
    return ((struct settling *)arg)->done;
}

static void settle(struct world *w, struct queue_msg **m, enum settle how)
{
    struct settling s = {.msg.run = do_settle, .w = w, .m = TAKE(*m), .how = how};
    io_post(w->io, &s.msg);
    assert_true(rig_within(w->io, RIG_WAIT, is_settled, &s));
    flush(w);
}

struct unparking {
    struct io_msg msg;
    struct world *w;
    struct str lane;
    unsigned max;
};

static void do_unpark(struct io_msg *msg)
{
    struct unparking *u = CONTAINER_OF(msg, struct unparking, msg);
    queue_unpark(u->w->q, u->lane, u->max);
}

static void unpark(struct world *w, struct str lane, unsigned max)
{
    struct unparking u = {.msg.run = do_unpark, .w = w, .lane = lane, .max = max};
    w->unparked_told = 0;
    io_post(w->io, &u.msg);
    assert_true(rig_within(w->io, RIG_WAIT, unparked_is_told, w));
    assert_int_equal(w->unparked_told, 1);
}

/* ---- putting ---- */

static struct event *make_event(const char *id)
{
    struct strpair pair = {STR("source"), STR("shop")};
    struct event e = {
        .id = str_z(id),
        .tenant_id = STR("acme"),
        .topic = STR("user.created"),
        .eligible_for_retry = true,
        .time = wall_now(),
        .received = wall_now(),
        .metadata = {&pair, 1},
        .data = STR("{ \"n\" : 1.50 }"),
    };
    return event_new(&e);
}

struct put_how {
    size_t dests; /* d1, d2, ... */
    int number;
    bool claim, manual;
    usec_t ttl;
    /* out */
    bool duplicate;
    int number_given;
};

static enum ec put_as(struct world *w, const char *id, struct put_how *how)
{
    struct event *e = make_event(id);
    struct task *tasks[4];
    for (size_t i = 0; i < how->dests; i++) {
        char dest[] = {'d', (char)('1' + i), '\0'};
        tasks[i] = task_new(e, str_z(dest), MAX(how->number, 1), how->manual);
    }
    struct queue_put rq = {.op = rig_op(w->io),
                           .event = e,
                           .tasks = tasks,
                           .count = how->dests,
                           .claim = how->claim,
                           .claim_ttl = how->ttl,
                           .manual = how->manual};
    queue_put(w->q, &rq);
    enum ec ec = rig_finish(&rq.op);
    event_unref(e);
    how->duplicate = rq.duplicate;
    how->number_given = rq.number;
    return ec;
}

static void put(struct world *w, const char *id, size_t dests)
{
    struct put_how how = {.dests = dests};
    assert_int_equal(put_as(w, id, &how), EC_OK);
    assert_false(how.duplicate);
}

static bool claimed_put(struct world *w, const char *id, usec_t ttl)
{
    struct put_how how = {.dests = 1, .claim = true, .ttl = ttl};
    assert_int_equal(put_as(w, id, &how), EC_OK);
    return !how.duplicate;
}

static const char *id_of(const struct queue_msg *m)
{
    static char text[40];
    snprintf(text, sizeof(text), "%.*s", STR_ARG(m->task->event->id));
    return text;
}

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

/* A failed attempt of got[at], retried after `wait`; returns the message for the log. */
static struct queue_msg *conclude(struct world *w, size_t at, enum conclude_next next, usec_t wait,
                                  struct queue_conclude *out)
{
    struct queue_msg *m = TAKE(w->got[at]);
    struct attempt from = {
        .event = m->task->event,
        .id = STR("att1"),
        .delivery_id = str_z(m->task->delivery_id),
        .destination_id = m->task->destination_id,
        .destination_type = STR("webhook"),
        .number = m->task->number,
        .time = wall_now(),
        .latency_ms = 12,
        .code = STR("500"),
        .response = STR("{\"status\":500}"),
    };
    struct attempt *a = attempt_new(&from);
    *out = (struct queue_conclude){
        .op = rig_op(w->io), .msg = m, .attempt = a, .next = next, .due = wall_now() + wait};
    queue_conclude(w->q, out);
    assert_int_equal(rig_finish(&out->op), EC_OK);
    attempt_unref(a);
    assert_non_null(out->log_msg);
    assert_int_equal(out->log_msg->kind, QUEUE_LOG);
    return out->log_msg;
}

/* Keeps it with the others that end() forgets. */
static struct queue_msg **keep_log(struct world *w, struct queue_msg *m)
{
    w->logs[w->log_count] = m;
    return &w->logs[w->log_count++];
}

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
