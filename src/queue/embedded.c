/* The embedded queue: rows in queue.db for the restart, hand-over in memory. A publish is one commit of the event, its
 * delivery rows and its claim; the end of a failed attempt is one commit of the retry, its number, the streak and the attempt
 * that waits to be recorded. Design.md 3. SPDX-License-Identifier: Apache-2.0 */
#include "queue/embedded.h"

#include <stdlib.h>

#include "queue/embedded_priv.h"
#include "util/hash.h"
#include "util/log.h"

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS event(seq INTEGER PRIMARY KEY, body BLOB NOT NULL);"
    /* due: not yet; lane: parked; neither: in progress, taken up again at start */
    "CREATE TABLE IF NOT EXISTS delivery(id INTEGER PRIMARY KEY, dlv TEXT NOT NULL, dest TEXT NOT NULL,"
    " number INTEGER NOT NULL, manual INTEGER NOT NULL, due INTEGER, lane TEXT, path INTEGER);"
    "CREATE INDEX IF NOT EXISTS delivery_due ON delivery(due) WHERE due IS NOT NULL;"
    "CREATE INDEX IF NOT EXISTS delivery_path ON delivery(path) WHERE due IS NOT NULL;"
    "CREATE INDEX IF NOT EXISTS delivery_lane ON delivery(lane, id) WHERE lane IS NOT NULL;"
    "CREATE TABLE IF NOT EXISTS claim(key BLOB PRIMARY KEY, until INTEGER NOT NULL, done INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS claim_until ON claim(until);"
    "CREATE TABLE IF NOT EXISTS unlogged(id INTEGER PRIMARY KEY, event BLOB NOT NULL, attempt BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS streak(tenant TEXT, dest TEXT, count INTEGER NOT NULL, PRIMARY KEY(tenant, dest)) WITHOUT ROWID;";

#define BLOB_MOST (64u * 1024 * 1024)
#define BACK_DELAY (1 * USEC_PER_SEC)

uint64_t embedded_path_key(struct str tenant_id, struct str event_id, struct str destination_id)
{
    return str_hash_stable(tenant_id) * 31 + str_hash_stable(event_id) * 7 + str_hash_stable(destination_id);
}

static uint64_t task_path(const struct task *t)
{
    return embedded_path_key(t->event->tenant_id, t->event->id, t->destination_id);
}

static struct str key_text(const struct flying *f)
{
    return (struct str){(const char *)&f->key, sizeof(f->key)};
}

void embedded_fly(struct embedded *e, const struct task *t, int step)
{
    struct flying probe = {.key = task_path(t)};
    pthread_mutex_lock(&e->lock);
    struct flying *f = map_get(&e->flying, key_text(&probe));
    if (!f && step > 0) {
        f = xcalloc(1, sizeof(*f));
        f->key = probe.key;
        map_put(&e->flying, key_text(f), f);
    }
    if (f) {
        f->count += (unsigned)step;
        f->number = MAX(f->number, t->number);
        if (f->count == 0) {
            map_del(&e->flying, key_text(f));
            free(f);
        }
    }
    pthread_mutex_unlock(&e->lock);
}

/* Tasks of a path in memory and the highest number among them. */
static unsigned flying_of(struct embedded *e, uint64_t key, int *out_number)
{
    struct flying probe = {.key = key};
    pthread_mutex_lock(&e->lock);
    struct flying *f = map_get(&e->flying, key_text(&probe));
    unsigned count = f ? f->count : 0;
    *out_number = f ? f->number : 0;
    pthread_mutex_unlock(&e->lock);
    return count;
}

static void inbox_run(struct io_msg *m)
{
    struct inbox *in = CONTAINER_OF(m, struct inbox, wake);
    struct list msgs;
    list_init(&msgs);
    pthread_mutex_lock(&in->lock);
    list_splice(&msgs, &in->msgs);
    in->told = false;
    pthread_mutex_unlock(&in->lock);
    if (!list_empty(&msgs)) {
        in->c.on_msgs(in->c.arg, &msgs);
    }
}

static void inbox_add(struct inbox *in, struct queue_msg *m)
{
    pthread_mutex_lock(&in->lock);
    list_push(&in->msgs, &m->link);
    bool tell = !in->told;
    in->told = true;
    pthread_mutex_unlock(&in->lock);
    if (tell) {
        io_post(in->c.io, &in->wake);
    }
}

void embedded_hand(struct embedded *e, struct list *msgs)
{
    struct list *l;
    while ((l = list_pop(msgs))) {
        struct queue_msg *m = CONTAINER_OF(l, struct queue_msg, link);
        queue_hand(&e->q, m);
        embedded_fly(e, m->task, 1);
        inbox_add(e->inboxes[str_hash_stable(m->task->lane) % e->inbox_count], m);
    }
}

void embedded_hand_log(struct embedded *e, struct list *msgs)
{
    struct list *l;
    while ((l = list_pop(msgs))) {
        inbox_add(e->log_inbox, CONTAINER_OF(l, struct queue_msg, link));
    }
}

struct queue_msg *embedded_msg(struct task *t, uint64_t id)
{
    struct queue_msg *m = xcalloc(1, sizeof(*m));
    list_init(&m->link);
    m->kind = QUEUE_DELIVERY;
    m->task = t;
    m->ref = id;
    return m;
}

void embedded_msg_free(struct queue_msg *m)
{
    task_free(m->task);
    attempt_unref(m->attempt);
    free(m);
}

void embedded_note_due(struct embedded *e, usec_t due)
{
    int64_t now = atomic_load(&e->next_due);
    while (due < now && !atomic_compare_exchange_weak(&e->next_due, &now, due)) {
    }
}

/* ---- put ---- */

struct put_job {
    struct sqlc_job job;
    struct embedded *e;
    struct queue_put *rq;
    struct buf body;
    uint8_t claim[16];
    uint64_t *ids; /* behind the struct */
    int number;    /* manual: floor, then the number given */
    bool duplicate, replaced;
};

static enum ec insert_delivery(struct sqlc *db, uint64_t id, const struct task *t, int number)
{
    sqlite3_stmt *st = sqlc_stmt(db, "INSERT INTO delivery(id, dlv, dest, number, manual) VALUES(?,?,?,?,?)");
    sqlite3_bind_int64(st, 1, (int64_t)id);
    sqlc_bind(st, 2, str_z(t->delivery_id));
    sqlc_bind(st, 3, t->destination_id);
    sqlite3_bind_int(st, 4, number);
    sqlite3_bind_int(st, 5, t->manual);
    return sqlc_exec(db, st);
}

static enum ec insert_rows(struct sqlc *db, struct put_job *p)
{
    struct embedded *e = p->e;
    int64_t seq = e->next_seq++;
    sqlite3_stmt *st = sqlc_stmt(db, "INSERT INTO event(seq, body) VALUES(?,?)");
    sqlite3_bind_int64(st, 1, seq);
    sqlc_bind_blob(st, 2, buf_str(&p->body));
    enum ec ec = sqlc_exec(db, st);
    for (size_t i = 0; !ec && i < p->rq->count; i++) {
        p->ids[i] = (uint64_t)FIRST_ID(seq) + i;
        ec = insert_delivery(db, p->ids[i], p->rq->tasks[i], p->rq->manual ? p->number : p->rq->tasks[i]->number);
    }
    return ec;
}

/* A manual retry takes the place of a scheduled one of the same path. */
static bool replace_scheduled(struct sqlc *db, struct put_job *p)
{
    const struct task *t = p->rq->tasks[0];
    sqlite3_stmt *st = sqlc_stmt(db, "SELECT id, number, dest FROM delivery WHERE path=? AND due IS NOT NULL");
    sqlite3_bind_int64(st, 1, (int64_t)task_path(t));
    uint64_t id = 0;
    int number = 0;
    while (!id && sqlc_row(db, st)) {
        if (str_eq(sqlc_text(st, 2), t->destination_id)) {
            id = (uint64_t)sqlite3_column_int64(st, 0);
            number = sqlite3_column_int(st, 1);
        }
    }
    sqlite3_reset(st);
    if (!id) {
        return false;
    }
    p->ids[0] = id;
    p->number = MAX(p->number, number);
    st = sqlc_stmt(db, "UPDATE delivery SET due=NULL, manual=1, number=? WHERE id=?");
    sqlite3_bind_int(st, 1, p->number);
    sqlite3_bind_int64(st, 2, (int64_t)id);
    return sqlc_exec(db, st) == EC_OK;
}

static enum ec put_run(struct sqlc *db, struct sqlc_job *job)
{
    struct put_job *p = CONTAINER_OF(job, struct put_job, job);
    p->duplicate = p->replaced = false;
    if (p->rq->claim) {
        bool mine;
        usec_t until = p->rq->claim_ttl > 0 ? wall_now() + p->rq->claim_ttl : INT64_MAX;
        enum ec ec = embedded_claim(db, p->claim, until, &mine);
        if (ec) {
            return ec;
        }
        if (!mine) {
            p->duplicate = true;
            return EC_OK;
        }
    }
    if (p->rq->manual) {
        int highest;
        flying_of(p->e, task_path(p->rq->tasks[0]), &highest);
        p->number = MAX(p->rq->tasks[0]->number, highest + 1);
        if (replace_scheduled(db, p)) {
            p->replaced = true;
            return EC_OK;
        }
    }
    return insert_rows(db, p);
}

static void put_done(struct op *op)
{
    struct put_job *p = CONTAINER_OF(op, struct put_job, job.op);
    struct queue_put *rq = p->rq;
    struct list msgs;
    list_init(&msgs);
    bool hand = op->err.code == EC_OK && !p->duplicate;
    for (size_t i = 0; i < rq->count; i++) {
        if (!hand) {
            task_free(rq->tasks[i]);
            continue;
        }
        if (rq->manual) {
            rq->tasks[i]->number = rq->number = p->number;
        }
        list_push(&msgs, &embedded_msg(rq->tasks[i], p->ids[i])->link);
    }
    if (p->replaced) {
        atomic_fetch_sub(&p->e->scheduled, 1);
    }
    embedded_hand(p->e, &msgs);
    rq->duplicate = p->duplicate;
    queue_put_done(&p->e->q, rq, op->err.code, op->err.text);
    buf_fini(&p->body);
    free(p);
}

static void claim_key(const struct event *ev, uint8_t out[16])
{
    uint8_t full[32];
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, BLOB_MOST);
    buf_addf(&b, "publish %zu %zu ", ev->env.n, ev->tenant_id.n);
    buf_adds(&b, ev->env);
    buf_adds(&b, ev->tenant_id);
    buf_adds(&b, ev->id);
    sha256(buf_str(&b), full);
    memcpy(out, full, 16);
}

static void embedded_put(struct queue *q, struct queue_put *rq)
{
    struct put_job *p = xcalloc(1, sizeof(*p) + rq->count * sizeof(*p->ids));
    p->e = embedded_of(q);
    p->rq = rq;
    p->ids = (uint64_t *)(p + 1);
    p->job = (struct sqlc_job){.op = {.done = put_done, .io = rq->op.io}, .run = put_run};
    buf_init(&p->body, BLOB_MOST);
    event_encode(rq->event, &p->body);
    if (rq->claim) {
        claim_key(rq->event, p->claim);
    }
    sqlc_write(p->e->db, &p->job);
}

/* ---- settle ---- */

struct settle_job {
    struct sqlc_job job;
    struct embedded *e;
    struct list msgs;
    enum settle how;
};

enum ec embedded_delete(struct sqlc *db, uint64_t id);

/* The delivery row goes, and the event's with the last of them. */
enum ec embedded_delete(struct sqlc *db, uint64_t id)
{
    sqlite3_stmt *st = sqlc_stmt(db, "DELETE FROM delivery WHERE id=?");
    sqlite3_bind_int64(st, 1, (int64_t)id);
    enum ec ec = sqlc_exec(db, st);
    if (ec) {
        return ec;
    }
    int64_t seq = (int64_t)EVENT_SEQ(id);
    st = sqlc_stmt(db, "SELECT 1 FROM delivery WHERE id BETWEEN ? AND ? LIMIT 1");
    sqlite3_bind_int64(st, 1, FIRST_ID(seq));
    sqlite3_bind_int64(st, 2, LAST_ID(seq));
    bool others = sqlc_row(db, st);
    sqlite3_reset(st);
    if (others) {
        return EC_OK;
    }
    st = sqlc_stmt(db, "DELETE FROM event WHERE seq=?");
    sqlite3_bind_int64(st, 1, seq);
    return sqlc_exec(db, st);
}

static enum ec settle_one(struct sqlc *db, const struct queue_msg *m, enum settle how)
{
    sqlite3_stmt *st;
    if (m->kind == QUEUE_LOG) {
        if (how != SETTLE_ACK) {
            return EC_OK;
        }
        st = sqlc_stmt(db, "DELETE FROM unlogged WHERE id=?");
        sqlite3_bind_int64(st, 1, (int64_t)m->ref);
        return sqlc_exec(db, st);
    }
    switch (how) {
    case SETTLE_ACK:
        return embedded_delete(db, m->ref);
    case SETTLE_PARK:
        st = sqlc_stmt(db, "UPDATE delivery SET lane=? WHERE id=?");
        sqlc_bind(st, 1, m->task->lane);
        sqlite3_bind_int64(st, 2, (int64_t)m->ref);
        return sqlc_exec(db, st);
    case SETTLE_BACK:
        st = sqlc_stmt(db, "UPDATE delivery SET due=?, path=? WHERE id=?");
        sqlite3_bind_int64(st, 1, wall_now() + BACK_DELAY);
        sqlite3_bind_int64(st, 2, (int64_t)task_path(m->task));
        sqlite3_bind_int64(st, 3, (int64_t)m->ref);
        return sqlc_exec(db, st);
    }
    UNREACHABLE("a way to settle");
}

static enum ec settle_run(struct sqlc *db, struct sqlc_job *job)
{
    struct settle_job *s = CONTAINER_OF(job, struct settle_job, job);
    LIST_EACH(l, &s->msgs)
    {
        enum ec ec = settle_one(db, CONTAINER_OF(l, struct queue_msg, link), s->how);
        if (ec) {
            return ec;
        }
    }
    return EC_OK;
}

static void count_settled(struct embedded *e, const struct queue_msg *m, enum settle how)
{
    if (m->kind == QUEUE_LOG) {
        atomic_fetch_sub(&e->unlogged, 1);
    } else if (how == SETTLE_PARK) {
        atomic_fetch_add(&e->parked, 1);
    } else if (how == SETTLE_BACK) {
        atomic_fetch_add(&e->scheduled, 1);
        embedded_note_due(e, wall_now() + BACK_DELAY);
    }
}

static void settle_again(struct io_timer *t);

struct settle_retry {
    struct io_timer timer;
    struct settle_job *s;
};

/* Settling is owed: a file that cannot be written now is tried again until it can. */
static void settle_done(struct op *op)
{
    struct settle_job *s = CONTAINER_OF(op, struct settle_job, job.op);
    if (op->err.code == EC_UNAVAILABLE) {
        struct settle_retry *r = xcalloc(1, sizeof(*r));
        r->s = s;
        io_timer_set(op->io, &r->timer, io_now(op->io) + NSEC_PER_SEC / 2, settle_again);
        return;
    }
    struct list *l;
    while ((l = list_pop(&s->msgs))) {
        struct queue_msg *m = CONTAINER_OF(l, struct queue_msg, link);
        count_settled(s->e, m, s->how);
        if (m->task) {
            embedded_fly(s->e, m->task, -1);
        }
        embedded_msg_free(m);
    }
    free(s);
}

static void settle_again(struct io_timer *t)
{
    struct settle_retry *r = CONTAINER_OF(t, struct settle_retry, timer);
    sqlc_write(r->s->e->db, &r->s->job);
    free(r);
}

static void embedded_settle(struct queue *q, struct list *msgs, enum settle how)
{
    struct settle_job *s = xcalloc(1, sizeof(*s));
    s->e = embedded_of(q);
    s->how = how;
    list_init(&s->msgs);
    list_splice(&s->msgs, msgs);
    s->job = (struct sqlc_job){.op = {.done = settle_done, .io = io_self()}, .run = settle_run};
    sqlc_write(s->e->db, &s->job);
}

struct flush_job {
    struct sqlc_job job;
    struct op *op;
};

static enum ec flush_run(struct sqlc *db, struct sqlc_job *job)
{
    (void)db, (void)job;
    return EC_OK;
}

static void flush_done(struct op *op)
{
    struct flush_job *f = CONTAINER_OF(op, struct flush_job, job.op);
    op_finish(f->op, op->err.code, op->err.text);
    free(f);
}

static void embedded_flush(struct queue *q, struct op *op)
{
    struct flush_job *f = xcalloc(1, sizeof(*f));
    f->op = op;
    f->job = (struct sqlc_job){.op = {.done = flush_done, .io = op->io}, .run = flush_run};
    sqlc_write(embedded_of(q)->db, &f->job);
}

/* ---- conclude ---- */

struct conclude_job {
    struct sqlc_job job;
    struct embedded *e;
    struct queue_conclude *rq;
    struct buf event, attempt;
    int64_t unlogged_id, streak;
    enum conclude_next next;
};

static enum ec add_streak(struct sqlc *db, const struct task *t, int64_t *out)
{
    sqlite3_stmt *st = sqlc_stmt(db, "INSERT INTO streak(tenant, dest, count) VALUES(?,?,1)"
                                     " ON CONFLICT(tenant, dest) DO UPDATE SET count=count+1 RETURNING count");
    sqlc_bind(st, 1, t->event->tenant_id);
    sqlc_bind(st, 2, t->destination_id);
    if (!sqlc_row(db, st)) {
        return EC_UNAVAILABLE;
    }
    *out = sqlite3_column_int64(st, 0);
    sqlite3_reset(st);
    return EC_OK;
}

static enum ec conclude_run(struct sqlc *db, struct sqlc_job *job)
{
    struct conclude_job *c = CONTAINER_OF(job, struct conclude_job, job);
    const struct queue_msg *m = c->rq->msg;
    c->unlogged_id = c->e->next_unlogged++;
    sqlite3_stmt *st = sqlc_stmt(db, "INSERT INTO unlogged(id, event, attempt) VALUES(?,?,?)");
    sqlite3_bind_int64(st, 1, c->unlogged_id);
    sqlc_bind_blob(st, 2, buf_str(&c->event));
    sqlc_bind_blob(st, 3, buf_str(&c->attempt));
    enum ec ec = sqlc_exec(db, st);
    if (!ec) {
        ec = add_streak(db, m->task, &c->streak);
    }
    if (ec) {
        return ec;
    }
    if (c->next == NEXT_NONE) {
        return embedded_delete(db, m->ref);
    }
    st = sqlc_stmt(db, "UPDATE delivery SET due=?, path=?, number=?, manual=0 WHERE id=?");
    sqlite3_bind_int64(st, 1, c->rq->due);
    sqlite3_bind_int64(st, 2, (int64_t)task_path(m->task));
    sqlite3_bind_int(st, 3, m->task->number + 1);
    sqlite3_bind_int64(st, 4, (int64_t)m->ref);
    return sqlc_exec(db, st);
}

static void conclude_done(struct op *op)
{
    struct conclude_job *c = CONTAINER_OF(op, struct conclude_job, job.op);
    struct queue_conclude *rq = c->rq;
    if (op->err.code == EC_OK) {
        struct embedded *e = c->e;
        if (c->next == NEXT_RETRY) {
            atomic_fetch_add(&e->scheduled, 1);
            embedded_note_due(e, rq->due);
        }
        embedded_note_streak(e, rq->msg->task->event->tenant_id, rq->msg->task->destination_id, c->streak);
        rq->superseded = rq->next != c->next;
        rq->streak = c->streak;
        rq->log_msg = xcalloc(1, sizeof(*rq->log_msg));
        list_init(&rq->log_msg->link);
        rq->log_msg->kind = QUEUE_LOG;
        rq->log_msg->ref = (uint64_t)c->unlogged_id;
        rq->log_msg->attempt = attempt_ref(rq->attempt);
        queue_hand(&e->q, rq->log_msg);
        atomic_fetch_add(&e->unlogged, 1);
        embedded_fly(e, rq->msg->task, -1);
        queue_uncount(&e->q, rq->msg);
        embedded_msg_free(rq->msg);
    }
    buf_fini(&c->event);
    buf_fini(&c->attempt);
    op_finish(&rq->op, op->err.code, op->err.text);
    free(c);
}

static void embedded_conclude(struct queue *q, struct queue_conclude *rq)
{
    struct conclude_job *c = xcalloc(1, sizeof(*c));
    c->e = embedded_of(q);
    c->rq = rq;
    c->next = rq->next;
    int highest;
    if (flying_of(c->e, task_path(rq->msg->task), &highest) > 1) {
        c->next = NEXT_NONE; /* a manual retry of the path is on its way */
    }
    buf_init(&c->event, BLOB_MOST);
    buf_init(&c->attempt, BLOB_MOST);
    event_encode(rq->attempt->event, &c->event);
    attempt_encode(rq->attempt, &c->attempt);
    c->job = (struct sqlc_job){.op = {.done = conclude_done, .io = rq->op.io}, .run = conclude_run};
    sqlc_write(c->e->db, &c->job);
}

/* ---- open, close ---- */

static int64_t select_int(struct sqlc *db, const char *sql)
{
    sqlite3_stmt *st = sqlc_stmt(db, sql);
    int64_t v = sqlc_row(db, st) ? sqlite3_column_int64(st, 0) : 0;
    sqlite3_reset(st);
    return v;
}

static enum ec opened(struct sqlc *db, void *arg, struct err *err)
{
    (void)err;
    struct embedded *e = arg;
    /* Numbers never come again, even when all rows are gone: they start from the clock. */
    int64_t floor_seq = wall_now() / USEC_PER_MSEC << 4;
    int64_t in_use = MAX(select_int(db, "SELECT max(seq) FROM event"),
                         (int64_t)EVENT_SEQ((uint64_t)select_int(db, "SELECT max(id) FROM delivery")));
    e->next_seq = MAX(e->next_seq, MAX(floor_seq, in_use + 1));
    e->next_unlogged = MAX(e->next_unlogged, select_int(db, "SELECT max(id) FROM unlogged") + 1);
    e->left_over_max = (uint64_t)select_int(db, "SELECT max(id) FROM delivery");
    atomic_store(&e->parked, (uint64_t)select_int(db, "SELECT count(*) FROM delivery WHERE lane IS NOT NULL"));
    atomic_store(&e->scheduled, (uint64_t)select_int(db, "SELECT count(*) FROM delivery WHERE due IS NOT NULL"));
    atomic_store(&e->next_due, 0);
    sqlite3_stmt *st = sqlc_stmt(db, "SELECT tenant, dest, count FROM streak");
    while (sqlc_row(db, st)) {
        embedded_note_streak(e, sqlc_text(st, 0), sqlc_text(st, 1), sqlite3_column_int64(st, 2));
    }
    return EC_OK;
}

static enum ec embedded_open(const struct queue_conf *conf, struct queue **out, struct err *err)
{
    struct embedded *e = xcalloc(1, sizeof(*e));
    pthread_mutex_init(&e->lock, NULL);
    map_init(&e->flying);
    map_init(&e->streaks);
    e->path = xstrdup(conf->path);
    embedded_marks_init(e);
    struct sqlc_conf dc = {
        .path = e->path,
        .schema = schema,
        .cache_kib = 8192,
        .group_max = 1024,
        .sync_full = conf->sync_full,
        .create = true,
        .opened = opened,
        .arg = e,
    };
    enum ec ec = sqlc_open(&dc, &e->db, err);
    if (ec) {
        free(e->path);
        free(e);
        return ec;
    }
    *out = &e->q;
    return EC_OK;
}

static void free_values(struct map *m)
{
    void *v;
    for (size_t i = 0; (v = map_next(m, &i));) {
        free(v);
    }
    map_fini(m);
}

static void inbox_free(struct inbox *in)
{
    struct list *l;
    while (in && (l = list_pop(&in->msgs))) {
        embedded_msg_free(CONTAINER_OF(l, struct queue_msg, link));
    }
    free(in);
}

static void embedded_close(struct queue *q)
{
    struct embedded *e = embedded_of(q);
    sqlc_close(e->db);
    for (size_t i = 0; i < e->inbox_count; i++) {
        inbox_free(e->inboxes[i]);
    }
    inbox_free(e->log_inbox);
    free_values(&e->flying);
    free_values(&e->streaks);
    pthread_mutex_destroy(&e->lock);
    free(e->path);
    free(e);
}

static bool embedded_healthy(struct queue *q)
{
    return sqlc_healthy(embedded_of(q)->db);
}

static void embedded_consume(struct queue *q, const struct queue_consumer *c)
{
    struct embedded *e = embedded_of(q);
    struct inbox *in = xcalloc(1, sizeof(*in));
    in->c = *c;
    pthread_mutex_init(&in->lock, NULL);
    list_init(&in->msgs);
    list_init(&in->wake.link);
    in->wake.run = inbox_run;
    if (c->kind == QUEUE_LOG) {
        e->log_inbox = in;
    } else {
        assert(e->inbox_count < CONSUMERS_MOST);
        e->inboxes[e->inbox_count++] = in;
    }
}

static void embedded_pause(struct queue *q)
{
    atomic_store(&embedded_of(q)->paused, true);
}

static void embedded_stats(struct queue *q, struct queue_stats *out)
{
    struct embedded *e = embedded_of(q);
    int64_t owed = atomic_load(&q->owed);
    *out = (struct queue_stats){
        .ready = owed > 0 ? (uint64_t)owed : 0,
        .parked = atomic_load(&e->parked),
        .scheduled = atomic_load(&e->scheduled),
        .unlogged = atomic_load(&e->unlogged),
    };
}

const struct queue_ops queue_embedded = {
    .name = "embedded",
    .claims_in_put = true,
    .schedules = true,
    .open = embedded_open,
    .close = embedded_close,
    .healthy = embedded_healthy,
    .put = embedded_put,
    .consume = embedded_consume,
    .start = embedded_start,
    .pause = embedded_pause,
    .settle = embedded_settle,
    .flush = embedded_flush,
    .stats = embedded_stats,
    .conclude = embedded_conclude,
    .unpark = embedded_unpark,
};
