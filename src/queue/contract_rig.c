/* See contract_rig.h. SPDX-License-Identifier: Apache-2.0 */
#include "queue/contract_rig.h"

const struct queue_ops *backend;

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

void restart(struct world *w)
{
    end(w);
    begin(w);
}

int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));
    rig_folder(w->dir);
    snprintf(w->path, sizeof(w->path), "%s/queue.db", w->dir);
    begin(w);
    *state = w;
    return 0;
}

int teardown(void **state)
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
void expect_count(struct world *w, size_t count)
{
    w->want = count;
    assert_true(rig_within(w->io, RIG_WAIT, enough, w));
    w->want = count + 1;
    assert_false(rig_within(w->io, 150 * NSEC_PER_MSEC, enough, w));
    assert_int_equal(w->count, count);
}

bool log_came(void *arg)
{
    return ((struct world *)arg)->log_count > 0;
}

bool parked_is_told(void *arg)
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

void settle(struct world *w, struct queue_msg **m, enum settle how)
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

void unpark(struct world *w, struct str lane, unsigned max)
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

enum ec put_as(struct world *w, const char *id, struct put_how *how)
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

void put(struct world *w, const char *id, size_t dests)
{
    struct put_how how = {.dests = dests};
    assert_int_equal(put_as(w, id, &how), EC_OK);
    assert_false(how.duplicate);
}

bool claimed_put(struct world *w, const char *id, usec_t ttl)
{
    struct put_how how = {.dests = 1, .claim = true, .ttl = ttl};
    assert_int_equal(put_as(w, id, &how), EC_OK);
    return !how.duplicate;
}

const char *id_of(const struct queue_msg *m)
{
    static char text[40];
    snprintf(text, sizeof(text), "%.*s", STR_ARG(m->task->event->id));
    return text;
}

/* A failed attempt of got[at], retried after `wait`; returns the message for the log. */
struct queue_msg *conclude(struct world *w, size_t at, enum conclude_next next, usec_t wait,
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
struct queue_msg **keep_log(struct world *w, struct queue_msg *m)
{
    w->logs[w->log_count] = m;
    return &w->logs[w->log_count++];
}
