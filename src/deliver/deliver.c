/* The step table of one task: load -> send -> decide -> conclude -> hand over. Tasks wait in lanes (limit.h) until they may
 * start. A success goes to the log thread with its queue message, which is settled when the row is on disk; a failure is
 * concluded first (retry, number, streak and attempt in one commit). SPDX-License-Identifier: Apache-2.0 */
#include "deliver/deliver.h"

#include <stdlib.h>

#include "core/match.h"
#include "deliver/limit.h"
#include "util/hash.h"
#include "util/log.h"

enum go { GO_NEXT, GO_WAIT, GO_END };
enum step { D_LOAD, D_LOADED, D_SEND, D_DECIDE, D_CONCLUDE, D_CONCLUDED, D_SUCCEEDED, D_DROP };

#define CONCLUDE_AGAIN (500 * NSEC_PER_MSEC)

struct job {
    struct deliver *d;
    struct queue_msg *msg;
    struct slot slot;
    enum step step;
    bool slot_held, good;
    struct destination *dest;
    struct attempt *attempt;
    char attempt_id[64];
    usec_t started_wall;
    usec_t retry_delay; /* 0 = none */
    struct dest_get get;
    struct dest_send send;
    struct queue_conclude conclude;
    struct io_timer again;
};

struct deliver {
    struct deliver_conf conf;
    struct deliver_parts parts;
    struct limit limit;
    unsigned jobs; /* not yet handed over or dropped */
    bool stopping;
    struct op *stop;
    struct list handed;  /* finished entries of this turn */
    struct list to_park; /* queue_msg of this turn */
    struct list unhandled; /* messages that came while stopping */
    struct io_defer turn;
    struct io_timer aging;
    nsec_t aging_at;
};

typedef enum go deliver_step_fn(struct job *j);
static deliver_step_fn load, loaded, attempt_send, decide, conclude, concluded, succeeded, drop;

static const struct {
    const char *name;
    deliver_step_fn *run;
} steps[] = {
    [D_LOAD] = {"load", load},          [D_LOADED] = {"loaded", loaded},
    [D_SEND] = {"send", attempt_send},          [D_DECIDE] = {"decide", decide},
    [D_CONCLUDE] = {"conclude", conclude}, [D_CONCLUDED] = {"concluded", concluded},
    [D_SUCCEEDED] = {"succeeded", succeeded}, [D_DROP] = {"drop", drop},
};

static void start_more(struct deliver *d);

static void release_slot(struct job *j)
{
    if (j->slot_held) {
        j->slot_held = false;
        limit_end(&j->d->limit, &j->slot, io_now(j->d->parts.io), j->good);
        io_defer(j->d->parts.io, &j->d->turn);
    }
}

static void finish_stop(struct deliver *d)
{
    if (d->stop && d->jobs == 0 && list_empty(&d->handed)) {
        struct op *op = d->stop;
        d->stop = NULL;
        op_finish(op, EC_OK, NULL);
    }
}

static void job_free(struct job *j)
{
    struct deliver *d = j->d;
    release_slot(j);
    destination_unref(j->dest);
    attempt_unref(j->attempt);
    arena_fini(&j->send.arena);
    free(j);
    d->jobs--;
    io_defer(d->parts.io, &d->turn);
}

static void drive(struct job *j)
{
    enum go go;
    do {
        go = steps[j->step].run(j);
    } while (go == GO_NEXT);
    if (go == GO_END) {
        job_free(j);
    }
}

static enum go next(struct job *j, enum step step)
{
    j->step = step;
    return GO_NEXT;
}

/* ---- load ---- */

static void got(struct op *op)
{
    drive(CONTAINER_OF(op, struct job, get.op));
}

static enum go load(struct job *j)
{
    struct deliver *d = j->d;
    const struct task *t = j->msg->task;
    j->get = (struct dest_get){
        .op = {.done = got, .io = d->parts.io, .deadline = io_now(d->parts.io) + d->conf.timeout},
        .env = t->event->env,
        .tenant_id = t->event->tenant_id,
        .id = t->destination_id,
    };
    j->step = D_LOADED;
    if (store_dest_get_now(d->parts.store, &j->get)) {
        return GO_NEXT;
    }
    store_dest_get(d->parts.store, &j->get);
    return GO_WAIT;
}

static enum go loaded(struct job *j)
{
    switch (j->get.op.err.code) {
    case EC_OK:
        break;
    case EC_NOT_FOUND:
    case EC_DENIED:
        return next(j, D_DROP);
    default:
        queue_settle_one(j->d->parts.queue, j->msg, SETTLE_BACK);
        return GO_END;
    }
    j->dest = j->get.out;
    return next(j, destination_enabled(j->dest) ? D_SEND : D_DROP);
}

/* The destination is gone or disabled: the event stays in the log, no attempt is made (design.md 11.2). */
static enum go drop(struct job *j)
{
    const struct task *t = j->msg->task;
    log_line(LOG_DEBUG, "delivery dropped: destination is gone or disabled", ls("event_id", t->event->id),
             ls("destination_id", t->destination_id));
    list_push(&j->d->handed, j->d->parts.entry_new(j->d->parts.arg, NULL, event_ref(t->event), j->msg));
    return GO_END;
}

/* ---- send ---- */

static void sent(struct op *op)
{
    drive(CONTAINER_OF(op, struct job, send.op));
}

static enum go attempt_send(struct job *j)
{
    struct deliver *d = j->d;
    const struct task *t = j->msg->task;
    char id[ID_TEXT_MAX];
    id_text(d->conf.id_type, id);
    struct buf text = {.p = j->attempt_id, .cap = sizeof(j->attempt_id) - 1, .max = sizeof(j->attempt_id) - 1};
    buf_adds(&text, str_sub(d->conf.attempt_prefix, 0, 20));
    buf_addz(&text, id);
    j->attempt_id[text.n] = '\0';
    j->started_wall = wall_now();
    j->send = (struct dest_send){
        .op = {.done = sent, .io = d->parts.io, .deadline = io_now(d->parts.io) + d->conf.timeout},
        .event = t->event,
        .destination = j->dest,
        .number = t->number,
        .manual = t->manual,
        .attempt_id = {j->attempt_id, text.n},
        .now = j->started_wall,
    };
    arena_init(&j->send.arena);
    j->step = D_DECIDE;
    dest_send(d->parts.dests, &j->send);
    return GO_WAIT;
}

/* ---- decide ---- */

static usec_t delay_of(struct job *j)
{
    struct deliver *d = j->d;
    const struct task *t = j->msg->task;
    if (!t->event->eligible_for_retry || t->number > d->conf.retry_limit) {
        return 0;
    }
    usec_t delay = MAX(backoff_delay(&d->conf.backoff, t->number, random_unit()), USEC_PER_MSEC);
    int64_t asked = j->send.outcome.retry_after_s;
    if (asked > 0 && d->conf.retry_after_max_s > 0) {
        delay = MAX(delay, MIN(asked, d->conf.retry_after_max_s) * USEC_PER_SEC);
    }
    return delay;
}

static void log_attempt(struct job *j, int64_t took_ms)
{
    const struct attempt *a = j->attempt;
    log_line(LOG_INFO, "delivery.attempted", ls("attempt_id", a->id), ls("event_id", a->event->id),
             ls("tenant_id", a->event->tenant_id), ls("topic", a->event->topic), ls("destination_id", a->destination_id),
             ls("destination_type", a->destination_type), lz("attempt_status", a->success ? "success" : "failed"),
             ls("attempt_code", a->code), li("attempt_number", a->number), li("attempt_max", j->d->conf.retry_limit + 1),
             lb("manual", a->manual), lb("eligible_for_retry", a->event->eligible_for_retry),
             li("attempt_duration_ms", took_ms), lb("retry_scheduled", j->retry_delay > 0),
             li("retry_backoff_ms", j->retry_delay / USEC_PER_MSEC));
}

static enum go decide(struct job *j)
{
    struct dest_send *s = &j->send;
    if (s->op.err.code || s->outcome.no_attempt) {
        log_line(LOG_WARN, "delivery could not be attempted", ls("event_id", j->msg->task->event->id),
                 ls("destination_id", j->msg->task->destination_id), lz("error", s->op.err.text));
        queue_settle_one(j->d->parts.queue, j->msg, SETTLE_BACK);
        return GO_END;
    }
    const struct task *t = j->msg->task;
    int64_t took_ms = (s->ended - s->started) / NSEC_PER_MSEC;
    struct attempt a = {
        .event = t->event,
        .destination = j->dest,
        .id = s->attempt_id,
        .delivery_id = str_z(t->delivery_id),
        .destination_id = t->destination_id,
        .destination_type = j->dest->type,
        .number = t->number,
        .manual = t->manual,
        .success = s->outcome.delivered,
        .time = wall_now(),
        .latency_ms = took_ms,
        .code = s->outcome.code,
        .response = s->outcome.response,
    };
    j->attempt = attempt_new(&a);
    j->good = a.success;
    j->retry_delay = a.success ? 0 : delay_of(j);
    log_attempt(j, took_ms);
    release_slot(j);
    return next(j, a.success ? D_SUCCEEDED : D_CONCLUDE);
}

struct clear_job {
    struct streak_clear rq;
};

static void cleared(struct op *op)
{
    free(CONTAINER_OF(op, struct clear_job, rq.op));
}

/* Its text is copied: the attempt is the log thread's from here on. */
static void clear_streak(struct job *j)
{
    const struct attempt *a = j->attempt;
    if (streak_is_clear(j->d->parts.streak, a->event->tenant_id, a->destination_id)) {
        return;
    }
    size_t n = a->event->tenant_id.n + a->destination_id.n;
    struct clear_job *c = xcalloc(1, sizeof(*c) + n + 1);
    char *at = (char *)(c + 1);
    memcpy(at, a->event->tenant_id.p, a->event->tenant_id.n);
    memcpy(at + a->event->tenant_id.n, a->destination_id.p, a->destination_id.n);
    c->rq = (struct streak_clear){
        .op = {.done = cleared, .io = j->d->parts.io},
        .tenant_id = {at, a->event->tenant_id.n},
        .destination_id = {at + a->event->tenant_id.n, a->destination_id.n},
    };
    streak_clear(j->d->parts.streak, &c->rq);
}

static enum go succeeded(struct job *j)
{
    clear_streak(j);
    list_push(&j->d->handed, j->d->parts.entry_new(j->d->parts.arg, TAKE(j->attempt), NULL, j->msg));
    return GO_END;
}

/* ---- conclude ---- */

static void conclude_ended(struct op *op)
{
    drive(CONTAINER_OF(op, struct job, conclude.op));
}

static enum go conclude(struct job *j)
{
    struct deliver *d = j->d;
    j->conclude = (struct queue_conclude){
        .op = {.done = conclude_ended, .io = d->parts.io},
        .msg = j->msg,
        .attempt = j->attempt,
        .next = j->retry_delay ? NEXT_RETRY : NEXT_NONE,
        .due = wall_now() + j->retry_delay,
    };
    j->step = D_CONCLUDED;
    queue_conclude(d->parts.queue, &j->conclude);
    return GO_WAIT;
}

static void conclude_again(struct io_timer *t)
{
    struct job *j = CONTAINER_OF(t, struct job, again);
    j->step = D_CONCLUDE;
    drive(j);
}

struct disable_job {
    struct dest_put put;
    struct destination *dest;
};

static void disabled(struct op *op)
{
    struct disable_job *x = CONTAINER_OF(op, struct disable_job, put.op);
    if (op->err.code && op->err.code != EC_CONFLICT && op->err.code != EC_NOT_FOUND) {
        log_line(LOG_WARN, "a destination could not be disabled", ls("destination_id", x->dest->id), lz("error", op->err.text));
    } else if (!op->err.code) {
        log_line(LOG_INFO, "destination disabled", ls("tenant_id", x->dest->tenant_id),
                 ls("destination_id", x->dest->id), ls("destination_type", x->dest->type));
    }
    tenant_unref(x->put.before);
    tenant_unref(x->put.after);
    destination_unref(x->dest);
    free(x);
}

/* 410 with DISABLE_ON_GONE, or too many failures in a row. An edit that came meanwhile wins. */
static void disable(struct job *j)
{
    struct destination *c = destination_copy(j->dest);
    c->disabled_at = c->updated_at = wall_now();
    if (destination_seal(c, NULL)) {
        destination_unref(c);
        return;
    }
    struct disable_job *x = xcalloc(1, sizeof(*x));
    x->dest = c;
    x->put = (struct dest_put){
        .op = {.done = disabled, .io = j->d->parts.io},
        .env = j->attempt->event->env,
        .mode = DEST_REPLACE,
        .dest = c,
        .base = j->dest,
    };
    store_dest_put(j->d->parts.store, &x->put);
}

static enum go concluded(struct job *j)
{
    struct deliver *d = j->d;
    if (j->conclude.op.err.code) {
        /* The file cannot be written at present: the outcome is kept here until it can. */
        if (!d->stopping) {
            io_timer_set(d->parts.io, &j->again, io_now(d->parts.io) + CONCLUDE_AGAIN, conclude_again);
            return GO_WAIT;
        }
        return GO_END;
    }
    bool too_many = d->conf.streak_limit > 0 && j->conclude.streak >= d->conf.streak_limit;
    if ((d->conf.disable_on_gone && j->send.outcome.gone) || too_many) {
        disable(j);
    }
    list_push(&d->handed, d->parts.entry_new(d->parts.arg, TAKE(j->attempt), NULL, j->conclude.log_msg));
    return GO_END;
}

/* ---- lanes ---- */

/* An attempt has grown old: it is no longer owed soon, nor is what waits behind it; what is beyond the window is parked. */
static void grow_old(void *arg, struct slot *slot, bool first)
{
    struct deliver *d = arg;
    struct lane *lane = slot->lane;
    queue_uncount(d->parts.queue, CONTAINER_OF(slot, struct job, slot)->msg);
    if (!first) {
        return;
    }
    if (queue_parks(d->parts.queue)) {
        struct list out;
        list_init(&out);
        limit_overflow(&d->limit, lane, &out);
        list_splice(&d->to_park, &out);
    }
    LIST_EACH(l, &lane->waiting)
    {
        queue_uncount(d->parts.queue, CONTAINER_OF(l, struct queue_msg, link));
    }
    io_defer(d->parts.io, &d->turn);
}

static void age(struct io_timer *t)
{
    struct deliver *d = CONTAINER_OF(t, struct deliver, aging);
    d->aging_at = limit_age(&d->limit, io_now(d->parts.io), grow_old, d);
    if (d->aging_at) {
        io_timer_set(d->parts.io, &d->aging, d->aging_at, age);
    }
    start_more(d);
}

/* What is to be parked goes first, so that the answer counts it; what is parked while the request is under way sets
 * lane->parked again. */
static void ask_for_parked(struct deliver *d, struct lane *lane)
{
    unsigned want = limit_wants(&d->limit, lane);
    if (want && !d->stopping) {
        queue_settle(d->parts.queue, &d->to_park, SETTLE_PARK);
        lane->parked = false;
        lane->unparking = true;
        queue_unpark(d->parts.queue, lane->key, want);
    }
}

static void start_more(struct deliver *d)
{
    nsec_t now = io_now(d->parts.io);
    while (!d->stopping) {
        struct job *j = xcalloc(1, sizeof(*j));
        struct queue_msg *m = limit_next(&d->limit, &j->slot, now);
        if (!m) {
            free(j);
            break;
        }
        struct lane *lane = j->slot.lane;
        j->d = d;
        j->msg = m;
        j->slot_held = true;
        j->step = D_LOAD;
        d->jobs++;
        if (j->slot.slow) {
            queue_uncount(d->parts.queue, m);
        }
        ask_for_parked(d, lane);
        drive(j);
    }
    bool fresh = !list_empty(&d->limit.young_new_slots);
    nsec_t at = now + (fresh ? LIMIT_YOUNG_NEW : LIMIT_YOUNG);
    if ((fresh || !list_empty(&d->limit.young_slots)) && (!d->aging_at || at < d->aging_at)) {
        d->aging_at = at;
        io_timer_set(d->parts.io, &d->aging, d->aging_at, age);
    }
}

/* Once a turn: what has ended goes to the log thread in one list, what found no room is parked, what may start starts. */
static void on_turn(struct io_defer *t)
{
    struct deliver *d = CONTAINER_OF(t, struct deliver, turn);
    queue_settle(d->parts.queue, &d->to_park, SETTLE_PARK);
    start_more(d);
    if (!list_empty(&d->handed)) {
        d->parts.hand(d->parts.arg, &d->handed);
    }
    finish_stop(d);
}

void deliver_on_msgs(void *deliver, struct list *msgs)
{
    struct deliver *d = deliver;
    struct list *l;
    bool can_park = queue_parks(d->parts.queue);
    while ((l = list_pop(msgs))) {
        struct queue_msg *m = CONTAINER_OF(l, struct queue_msg, link);
        if (d->stopping) {
            list_push(&d->unhandled, &m->link);
            continue;
        }
        struct lane *lane = limit_lane(&d->limit, m->task->lane);
        if (!limit_offer(&d->limit, lane, m, can_park)) {
            list_push(&d->to_park, &m->link);
        } else if (lane->slow) {
            queue_uncount(d->parts.queue, m);
        }
    }
    io_defer(d->parts.io, &d->turn);
}

void deliver_on_parked(void *deliver, struct str key)
{
    struct deliver *d = deliver;
    struct lane *lane = limit_lane(&d->limit, key);
    lane->parked = true;
    ask_for_parked(d, lane);
}

void deliver_on_unparked(void *deliver, struct str key, bool more)
{
    struct deliver *d = deliver;
    struct lane *lane = limit_lane(&d->limit, key);
    lane->unparking = false;
    lane->parked |= more;
    ask_for_parked(d, lane);
}

struct deliver *deliver_new(const struct deliver_conf *conf, const struct deliver_parts *parts)
{
    struct deliver *d = xcalloc(1, sizeof(*d));
    d->conf = *conf;
    d->parts = *parts;
    limit_init(&d->limit, conf->concurrency, conf->slow_max, conf->per_destination);
    list_init(&d->handed);
    list_init(&d->to_park);
    list_init(&d->unhandled);
    io_defer_init(&d->turn, on_turn);
    return d;
}

void deliver_stop(struct deliver *d, struct op *op)
{
    d->stopping = true;
    d->stop = op;
    io_defer(d->parts.io, &d->turn);
}

void deliver_stats(const struct deliver *d, struct deliver_stats *out)
{
    *out = (struct deliver_stats){d->limit.young, d->limit.slow, (unsigned)d->limit.lanes.count, d->limit.waiting};
}

static void free_msgs(struct list *msgs)
{
    struct list *l;
    while ((l = list_pop(msgs))) {
        struct queue_msg *m = CONTAINER_OF(l, struct queue_msg, link);
        task_free(m->task);
        free(m);
    }
}

void deliver_free(struct deliver *d)
{
    if (!d) {
        return;
    }
    struct lane *lane;
    for (size_t i = 0; (lane = map_next(&d->limit.lanes, &i));) {
        free_msgs(&lane->waiting);
    }
    free_msgs(&d->unhandled);
    free_msgs(&d->to_park);
    limit_fini(&d->limit);
    free(d);
}
