/* What the embedded queue hands over beside fresh puts: rows of the last run, retries that fall due, parked tasks that
 * their lane has room for. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "queue/embedded_priv.h"
#include "util/log.h"

#define TICK (20 * NSEC_PER_MSEC)
#define DUE_LATER (1 * NSEC_PER_SEC)

struct take_job {
    struct sqlc_job job;
    struct embedded *e;
    struct list msgs, log_msgs;
    uint64_t last; /* rows of the last run: the last id read */
    size_t count;
    usec_t next_due;
    char *lane;    /* unpark */
    struct str lane_text;
    unsigned max;
    bool more;
    struct inbox *to;
    struct strlist lanes; /* start: lanes with parked rows */
    struct arena arena;
};

struct queue_msg *embedded_read_row(sqlite3_stmt *st)
{
    struct event *ev;
    struct err err = {0};
    if (event_decode(sqlc_text(st, 5), &ev, &err)) {
        log_line(LOG_ERROR, "a queued event cannot be read", li("delivery_row", sqlite3_column_int64(st, 0)),
                 lz("error", err.text));
        return NULL;
    }
    struct task *t = task_new(ev, sqlc_text(st, 2), sqlite3_column_int(st, 3), sqlite3_column_int(st, 4));
    event_unref(ev);
    struct str dlv = str_sub(sqlc_text(st, 1), 0, sizeof(t->delivery_id) - 1);
    memcpy(t->delivery_id, dlv.p, dlv.n);
    t->delivery_id[dlv.n] = '\0';
    return embedded_msg(t, (uint64_t)sqlite3_column_int64(st, 0));
}

static struct take_job *take_new(struct embedded *e, enum ec (*run)(struct sqlc *, struct sqlc_job *),
                                 void (*done)(struct op *op))
{
    struct take_job *t = xcalloc(1, sizeof(*t));
    t->e = e;
    t->job = (struct sqlc_job){.op = {.done = done, .io = io_self() ? io_self() : e->timers}, .run = run};
    list_init(&t->msgs);
    list_init(&t->log_msgs);
    arena_init(&t->arena);
    return t;
}

static void take_free(struct take_job *t)
{
    struct list *l;
    while ((l = list_pop(&t->msgs)) || (l = list_pop(&t->log_msgs))) {
        embedded_msg_free(CONTAINER_OF(l, struct queue_msg, link));
    }
    arena_fini(&t->arena);
    free(t->lane);
    free(t);
}

/* A run may be repeated after a rollback: what it collected is dropped first. */
static void take_reset(struct take_job *t)
{
    struct list *l;
    while ((l = list_pop(&t->msgs))) {
        embedded_msg_free(CONTAINER_OF(l, struct queue_msg, link));
    }
    t->count = 0;
}

static void collect(struct sqlc *db, sqlite3_stmt *st, struct take_job *t)
{
    while (sqlc_row(db, st)) {
        t->last = (uint64_t)sqlite3_column_int64(st, 0);
        t->count++;
        struct queue_msg *m = embedded_read_row(st);
        if (m) {
            list_push(&t->msgs, &m->link);
        }
    }
}

static enum ec clear_column(struct sqlc *db, const char *sql, struct take_job *t)
{
    LIST_EACH(l, &t->msgs)
    {
        sqlite3_stmt *st = sqlc_stmt(db, sql);
        sqlite3_bind_int64(st, 1, (int64_t)CONTAINER_OF(l, struct queue_msg, link)->ref);
        enum ec ec = sqlc_exec(db, st);
        if (ec) {
            return ec;
        }
    }
    return EC_OK;
}

/* ---- due ---- */

static enum ec due_run(struct sqlc *db, struct sqlc_job *job)
{
    struct take_job *t = CONTAINER_OF(job, struct take_job, job);
    take_reset(t);
    sqlite3_stmt *st = sqlc_stmt(db, "SELECT " EMBEDDED_ROW " FROM delivery JOIN event ON event.seq = delivery.id >> 16"
                                     " WHERE due <= ? ORDER BY due LIMIT 256");
    sqlite3_bind_int64(st, 1, wall_now());
    collect(db, st, t);
    enum ec ec = clear_column(db, "UPDATE delivery SET due=NULL WHERE id=?", t);
    st = sqlc_stmt(db, "SELECT min(due) FROM delivery WHERE due IS NOT NULL");
    t->next_due = INT64_MAX;
    if (sqlc_row(db, st) && sqlite3_column_type(st, 0) != SQLITE_NULL) {
        t->next_due = sqlite3_column_int64(st, 0);
    }
    sqlite3_reset(st);
    return ec;
}

static void due_done(struct op *op)
{
    struct take_job *t = CONTAINER_OF(op, struct take_job, job.op);
    struct embedded *e = t->e;
    e->taking = false;
    if (op->err.code) {
        embedded_note_due(e, wall_now() + USEC_PER_SEC);
    } else {
        atomic_fetch_sub(&e->scheduled, t->count);
        embedded_hand(e, &t->msgs);
        embedded_note_due(e, t->next_due);
    }
    take_free(t);
}

static void on_tick(struct io_timer *timer)
{
    struct embedded *e = CONTAINER_OF(timer, struct embedded, tick);
    if (atomic_load(&e->paused)) {
        return;
    }
    if (!e->taking && atomic_load(&e->next_due) <= wall_now() && queue_has_room(&e->q)) {
        e->taking = true;
        atomic_store(&e->next_due, INT64_MAX);
        sqlc_write(e->db, &take_new(e, due_run, due_done)->job);
    }
    io_timer_set(e->timers, &e->tick, io_now(e->timers) + TICK, on_tick);
}

/* ---- unpark ---- */

static enum ec unpark_run(struct sqlc *db, struct sqlc_job *job)
{
    struct take_job *t = CONTAINER_OF(job, struct take_job, job);
    take_reset(t);
    sqlite3_stmt *st = sqlc_stmt(db, "SELECT " EMBEDDED_ROW " FROM delivery JOIN event ON event.seq = delivery.id >> 16"
                                     " WHERE lane = ? ORDER BY delivery.id LIMIT ?");
    sqlc_bind(st, 1, t->lane_text);
    sqlite3_bind_int(st, 2, (int)t->max);
    collect(db, st, t);
    enum ec ec = clear_column(db, "UPDATE delivery SET lane=NULL WHERE id=?", t);
    st = sqlc_stmt(db, "SELECT 1 FROM delivery WHERE lane = ? LIMIT 1");
    sqlc_bind(st, 1, t->lane_text);
    t->more = sqlc_row(db, st);
    sqlite3_reset(st);
    return ec;
}

static void unpark_done(struct op *op)
{
    struct take_job *t = CONTAINER_OF(op, struct take_job, job.op);
    struct embedded *e = t->e;
    bool more = op->err.code ? true : t->more;
    if (!op->err.code) {
        atomic_fetch_sub(&e->parked, t->count);
        LIST_EACH(l, &t->msgs)
        {
            struct queue_msg *m = CONTAINER_OF(l, struct queue_msg, link);
            m->unparked = true;
            queue_hand(&e->q, m);
            embedded_fly(e, m->task, 1);
        }
        if (!list_empty(&t->msgs)) {
            t->to->c.on_msgs(t->to->c.arg, &t->msgs);
        }
    }
    t->to->c.on_unparked(t->to->c.arg, t->lane_text, more);
    take_free(t);
}

void embedded_unpark(struct queue *q, struct str lane, unsigned max)
{
    struct embedded *e = embedded_of(q);
    struct take_job *t = take_new(e, unpark_run, unpark_done);
    t->lane = xmalloc(lane.n + 1);
    memcpy(t->lane, lane.p, lane.n);
    t->lane_text = (struct str){t->lane, lane.n};
    t->max = max;
    t->to = e->inboxes[str_hash_stable(lane) % e->inbox_count];
    sqlc_write(e->db, &t->job);
}

/* ---- start ---- */

static void left_over_next(struct embedded *e);
static void left_over_ended(struct embedded *e);

static enum ec left_over_run(struct sqlc *db, struct sqlc_job *job)
{
    struct take_job *t = CONTAINER_OF(job, struct take_job, job);
    take_reset(t);
    sqlite3_stmt *st = sqlc_stmt(db, "SELECT " EMBEDDED_ROW " FROM delivery JOIN event ON event.seq = delivery.id >> 16"
                                     " WHERE delivery.id > ? AND delivery.id <= ? AND due IS NULL AND lane IS NULL"
                                     " ORDER BY delivery.id LIMIT 256");
    sqlite3_bind_int64(st, 1, (int64_t)t->e->taken_up_to);
    sqlite3_bind_int64(st, 2, (int64_t)t->e->left_over_max);
    collect(db, st, t);
    return EC_OK;
}

struct again {
    struct io_timer timer;
    struct embedded *e;
};

static void on_again(struct io_timer *timer)
{
    struct again *a = CONTAINER_OF(timer, struct again, timer);
    left_over_next(a->e);
    free(a);
}

static void left_over_later(struct embedded *e, nsec_t wait)
{
    struct again *a = xcalloc(1, sizeof(*a));
    a->e = e;
    io_timer_set(e->timers, &a->timer, io_now(e->timers) + wait, on_again);
}

static void left_over_done(struct op *op)
{
    struct take_job *t = CONTAINER_OF(op, struct take_job, job.op);
    struct embedded *e = t->e;
    if (op->err.code) {
        left_over_later(e, NSEC_PER_SEC);
    } else if (t->count) {
        e->taken_up_to = t->last;
        embedded_hand(e, &t->msgs);
        left_over_later(e, NSEC_PER_MSEC);
    } else {
        left_over_ended(e);
    }
    take_free(t);
}

static void left_over_next(struct embedded *e)
{
    if (atomic_load(&e->paused)) {
        return;
    }
    if (!queue_has_room(&e->q)) {
        left_over_later(e, 50 * NSEC_PER_MSEC);
        return;
    }
    sqlc_write(e->db, &take_new(e, left_over_run, left_over_done)->job);
}

static enum ec begin_run(struct sqlc *db, struct sqlc_job *job)
{
    struct take_job *t = CONTAINER_OF(job, struct take_job, job);
    sqlite3_stmt *st = sqlc_stmt(db, "SELECT DISTINCT lane FROM delivery WHERE lane IS NOT NULL");
    size_t room = 0;
    t->lanes = (struct strlist){NULL, 0};
    while (sqlc_row(db, st)) {
        if (t->lanes.n == room) {
            room = room ? room * 2 : 64;
            struct str *v = ARENA_ARRAY(&t->arena, struct str, room);
            if (t->lanes.n) {
                memcpy(v, t->lanes.v, t->lanes.n * sizeof(*v));
            }
            t->lanes.v = v;
        }
        t->lanes.v[t->lanes.n++] = arena_copy(&t->arena, sqlc_text(st, 0));
    }
    st = sqlc_stmt(db, "SELECT id, event, attempt FROM unlogged ORDER BY id");
    while (sqlc_row(db, st)) {
        struct event *ev = NULL;
        struct attempt *a = NULL;
        if (event_decode(sqlc_text(st, 1), &ev, NULL) || attempt_decode(sqlc_text(st, 2), ev, &a, NULL)) {
            log_line(LOG_ERROR, "an attempt waiting to be recorded cannot be read", li("row", sqlite3_column_int64(st, 0)));
            event_unref(ev);
            continue;
        }
        event_unref(ev);
        struct queue_msg *m = xcalloc(1, sizeof(*m));
        m->kind = QUEUE_LOG;
        m->ref = (uint64_t)sqlite3_column_int64(st, 0);
        m->attempt = a;
        list_push(&t->log_msgs, &m->link);
    }
    return EC_OK;
}

struct parked_note {
    struct io_msg msg;
    struct inbox *to;
    struct str lane;
    char text[];
};

static void tell_parked(struct io_msg *m)
{
    struct parked_note *n = CONTAINER_OF(m, struct parked_note, msg);
    n->to->c.on_parked(n->to->c.arg, n->lane);
    free(n);
}

static void begin_done(struct op *op)
{
    struct take_job *t = CONTAINER_OF(op, struct take_job, job.op);
    struct embedded *e = t->e;
    e->start = t; /* its lanes are told when the walk over rows in progress is done */
    LIST_EACH(l, &t->log_msgs)
    {
        queue_hand(&e->q, CONTAINER_OF(l, struct queue_msg, link));
        atomic_fetch_add(&e->unlogged, 1);
    }
    embedded_hand_log(e, &t->log_msgs);
    left_over_next(e);
}

/* Only now may rows lose their lane or due time again: during the walk they would look like rows in progress, and be handed
 * over twice. */
static void left_over_ended(struct embedded *e)
{
    struct take_job *t = e->start;
    e->start = NULL;
    for (size_t i = 0; i < t->lanes.n; i++) {
        struct parked_note *n = xcalloc(1, sizeof(*n) + t->lanes.v[i].n);
        memcpy(n->text, t->lanes.v[i].p, t->lanes.v[i].n);
        n->lane = (struct str){n->text, t->lanes.v[i].n};
        n->to = e->inboxes[str_hash_stable(n->lane) % e->inbox_count];
        n->msg.run = tell_parked;
        io_post(n->to->c.io, &n->msg);
    }
    take_free(t);
    on_tick(&e->tick);
}

enum ec embedded_start(struct queue *q, struct io *timers, struct err *err)
{
    (void)err;
    struct embedded *e = embedded_of(q);
    assert(e->inbox_count && e->log_inbox);
    e->timers = timers;
    sqlc_write(e->db, &take_new(e, begin_run, begin_done)->job);
    return EC_OK;
}
