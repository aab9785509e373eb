/* Embedded log store: the threads. The writer commits batches to the active segment; readers answer lists and look-ups over
 * all segments; the caretaker seals full segments and applies retention. An I/O error on a segment delays recording and
 * starts a new one; it never loses a row that was answered. Design.md 3. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "logstore/sqlite_priv.h"
#include "util/log.h"

#define CARE_EVERY 1 /* seconds between the caretaker's rounds */
#define CHECKPOINT_EVERY 16
#define COUNT_EVERY 4

enum read_kind { READ_EVENT, READ_ATTEMPT, READ_EVENTS, READ_ATTEMPTS };

static struct seglog *seglog_of(struct logstore *s)
{
    return CONTAINER_OF(s, struct seglog, store);
}

/* ---- writer ---- */

static bool seen(const struct map *m, const uint64_t *h)
{
    return map_get(m, (struct str){(const char *)h, sizeof(*h)}) != NULL;
}

static void note_seen(struct map *m, uint64_t h)
{
    uint64_t *kept = xmalloc(sizeof(h));
    *kept = h;
    map_put(m, (struct str){(const char *)kept, sizeof(*kept)}, kept);
}

static void seen_fini(struct map *m)
{
    void *v;
    for (size_t i = 0; (v = map_next(m, &i));) {
        free(v);
    }
    map_fini(m);
}

/* The event's row, once: its first attempts may come from several destinations. */
static enum ec write_event(struct seglog *l, const struct event *e, bool alone)
{
    uint64_t h = log_event_hash(e->env, e->tenant_id, e->id);
    if (seen(&l->seen, &h) || seen(&l->seen_before, &h)) {
        return EC_OK;
    }
    /* Only what was kept unmatched, or comes from the last run, may have a row already; others have their claim. */
    if ((alone && e->id_given) || e->received < l->opened_at) {
        struct event *there = log_event_anywhere(&l->writer_reads, e->env, e->tenant_id, e->id, false);
        sqlc_conn_use(l->conn);
        if (there) {
            event_unref(there);
            return EC_OK;
        }
    }
    note_seen(&l->seen, h);
    segment_note(l->active, false, e->time);
    l->active_rows++;
    return log_insert_event(e);
}

static enum ec write_attempt(struct seglog *l, const struct attempt *a)
{
    enum ec ec = a->number <= 1 && !a->manual ? write_event(l, a->event, false) : EC_OK;
    if (ec) {
        return ec;
    }
    segment_note(l->active, true, a->time);
    l->active_rows++;
    return log_insert_attempt(a);
}

static enum ec write_request(struct seglog *l, struct log_insert *rq)
{
    for (size_t i = 0; i < rq->event_count; i++) {
        if (write_event(l, rq->events[i], true)) {
            return EC_UNAVAILABLE;
        }
    }
    for (size_t i = 0; i < rq->attempt_count; i++) {
        if (write_attempt(l, rq->attempts[i])) {
            return EC_UNAVAILABLE;
        }
    }
    return EC_OK;
}

static void end_active(struct seglog *l)
{
    if (l->conn) {
        sqlc_conn_use(NULL);
        sqlc_conn_free(l->conn);
        l->conn = NULL;
        l->active->newest = wall_now();
        segment_unref(l->active);
        l->active = NULL;
        pthread_cond_signal(&l->care_wake);
    }
    seen_fini(&l->seen_before);
    l->seen_before = l->seen;
    map_init(&l->seen);
}

static bool is_full(struct seglog *l)
{
    return l->active_rows >= SEGMENT_ROWS * 2 || atomic_load(&l->active->bytes) >= l->conf.segment_bytes ||
           wall_now() - l->active->number > SEGMENT_AGE;
}

static enum ec ensure_active(struct seglog *l, struct err *err)
{
    if (l->conn && is_full(l)) {
        end_active(l);
    }
    return l->conn ? EC_OK : seglog_begin(l, err);
}

static void count_bytes(struct seglog *l)
{
    sqlite3_stmt *st = sqlc_stmt(NULL, "SELECT page_count * 8192 FROM pragma_page_count");
    if (sqlc_row(NULL, st)) {
        atomic_store(&l->active->bytes, sqlite3_column_int64(st, 0));
    }
    sqlite3_reset(st);
}

/* All waiting inserts in one transaction. */
static enum ec write_group(struct seglog *l, struct list *ops, struct err *err)
{
    enum ec ec = ensure_active(l, err);
    if (ec) {
        return ec;
    }
    sqlc_conn_use(l->conn);
    sqlc_conn_exec(l->conn, "BEGIN IMMEDIATE");
    LIST_EACH(o, ops)
    {
        ec = ec ? ec : write_request(l, CONTAINER_OF(o, struct log_insert, op.link));
    }
    sqlc_conn_exec(l->conn, ec ? "ROLLBACK" : "COMMIT");
    int rc = sqlc_conn_error(l->conn);
    if (ec || rc) {
        err_set(err, EC_UNAVAILABLE, "the log could not be written: %s", sqlite3_errstr(rc));
        end_active(l); /* whatever is wrong with it, the next try gets a fresh file */
        seen_fini(&l->seen_before);
        map_init(&l->seen_before);
        return EC_UNAVAILABLE;
    }
    if (++l->commits % CHECKPOINT_EVERY == 0) {
        sqlite3_wal_checkpoint_v2(sqlc_handle(NULL), NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    }
    if (l->commits % COUNT_EVERY == 0) {
        count_bytes(l);
    }
    return EC_OK;
}

static void complete(struct list *ops, enum ec ec, const char *text)
{
    struct list *o;
    while ((o = list_pop(ops))) {
        op_finish(CONTAINER_OF(o, struct op, link), ec, text);
    }
}

static void *writer_main(void *arg)
{
    struct seglog *l = arg;
    pthread_setname_np(pthread_self(), "log-write");
    struct list ops;
    list_init(&ops);
    pthread_mutex_lock(&l->lock);
    for (;;) {
        while (list_empty(&l->writes) && !l->closing) {
            pthread_cond_wait(&l->write_wake, &l->lock);
        }
        if (list_empty(&l->writes)) {
            break;
        }
        list_splice(&ops, &l->writes);
        pthread_mutex_unlock(&l->lock);
        struct err err = {0};
        enum ec ec = write_group(l, &ops, &err);
        atomic_store(&l->healthy, ec == EC_OK);
        complete(&ops, ec, err.text);
        pthread_mutex_lock(&l->lock);
    }
    pthread_mutex_unlock(&l->lock);
    end_active(l);
    return NULL;
}

static void insert(struct logstore *s, struct log_insert *rq)
{
    struct seglog *l = seglog_of(s);
    list_init(&rq->op.link);
    pthread_mutex_lock(&l->lock);
    list_push(&l->writes, &rq->op.link);
    pthread_cond_signal(&l->write_wake);
    pthread_mutex_unlock(&l->lock);
}

/* ---- readers ---- */

struct read_job {
    struct list link;
    enum read_kind kind;
    struct op *op;
    void *rq;
};

static void run_read(struct reader *r, struct read_job *j)
{
    struct err err = {0};
    enum ec ec = EC_OK;
    switch (j->kind) {
    case READ_EVENT: {
        struct log_event_get *rq = j->rq;
        rq->out = log_event_anywhere(r, rq->env, rq->tenant_id, rq->id, true);
        ec = rq->out ? EC_OK : err_set(&err, EC_NOT_FOUND, "event not found");
        break;
    }
    case READ_ATTEMPT: {
        struct log_attempt_get *rq = j->rq;
        rq->out = log_attempt_anywhere(r, rq->env, rq->tenant_id, rq->id);
        ec = rq->out ? EC_OK : err_set(&err, EC_NOT_FOUND, "attempt not found");
        break;
    }
    case READ_EVENTS:
    case READ_ATTEMPTS:
        ec = log_run_list(r, j->rq, j->kind == READ_ATTEMPTS, &err);
        break;
    }
    op_finish(j->op, ec, err.text);
    free(j);
}

static void reader_close(struct reader *r)
{
    sqlc_conn_use(NULL);
    for (size_t i = 0; i < OPEN_MOST; i++) {
        sqlc_conn_free(r->open[i].c);
        segment_unref(r->open[i].s);
        r->open[i].c = NULL;
        r->open[i].s = NULL;
    }
}

static void *reader_main(void *arg)
{
    struct reader *r = arg;
    struct seglog *l = r->l;
    pthread_setname_np(pthread_self(), "log-read");
    pthread_mutex_lock(&l->lock);
    for (;;) {
        while (list_empty(&l->reads) && !l->closing) {
            pthread_cond_wait(&l->read_wake, &l->lock);
        }
        struct list *o = list_pop(&l->reads);
        if (!o) {
            break;
        }
        pthread_mutex_unlock(&l->lock);
        run_read(r, CONTAINER_OF(o, struct read_job, link));
        pthread_mutex_lock(&l->lock);
    }
    pthread_mutex_unlock(&l->lock);
    reader_close(r);
    return NULL;
}

static void submit_read(struct logstore *s, enum read_kind kind, struct op *op, void *rq)
{
    struct seglog *l = seglog_of(s);
    struct read_job *j = xcalloc(1, sizeof(*j));
    *j = (struct read_job){.kind = kind, .op = op, .rq = rq};
    pthread_mutex_lock(&l->lock);
    list_push(&l->reads, &j->link);
    pthread_cond_signal(&l->read_wake);
    pthread_mutex_unlock(&l->lock);
}

static void event_get(struct logstore *s, struct log_event_get *rq)
{
    submit_read(s, READ_EVENT, &rq->op, rq);
}

static void attempt_get(struct logstore *s, struct log_attempt_get *rq)
{
    submit_read(s, READ_ATTEMPT, &rq->op, rq);
}

static void event_list(struct logstore *s, struct log_list *rq)
{
    submit_read(s, READ_EVENTS, &rq->op, rq);
}

static void attempt_list(struct logstore *s, struct log_list *rq)
{
    submit_read(s, READ_ATTEMPTS, &rq->op, rq);
}

/* ---- caretaker ---- */

static struct segment *unsealed(struct seglog *l)
{
    struct segment **segments, *found = NULL;
    size_t n = seglog_snapshot(l, &segments);
    for (size_t i = 0; i < n; i++) {
        /* The newest is the active one. */
        if (!found && i > 0 && !atomic_load(&segments[i]->sealed)) {
            found = segment_ref(segments[i]);
        }
        segment_unref(segments[i]);
    }
    free(segments);
    return found;
}

static void *caretaker_main(void *arg)
{
    struct seglog *l = arg;
    pthread_setname_np(pthread_self(), "log-care");
    pthread_mutex_lock(&l->lock);
    while (!l->closing) {
        pthread_mutex_unlock(&l->lock);
        struct segment *s;
        if ((s = unsealed(l))) {
            seglog_seal(l, s);
            segment_unref(s);
        }
        seglog_retain(l);
        pthread_mutex_lock(&l->lock);
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_sec += CARE_EVERY;
        if (!l->closing) {
            pthread_cond_timedwait(&l->care_wake, &l->lock, &t);
        }
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

/* ---- open, close ---- */

static enum ec log_open(const struct logstore_conf *conf, struct logstore **out, struct err *err)
{
    struct seglog *l = xcalloc(1, sizeof(*l));
    l->conf = *conf;
    l->dir = xstrdup(conf->path);
    if (l->conf.segment_bytes == 0) { /* a small log is kept in small segments, so that retention can take a part of it */
        int64_t share = conf->retention_bytes / 8;
        l->conf.segment_bytes = conf->retention_bytes ? MAX(MIN(share, SEGMENT_BYTES), SEGMENT_LEAST) : SEGMENT_BYTES;
    }
    l->opened_at = wall_now();
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->write_wake, NULL);
    pthread_cond_init(&l->read_wake, NULL);
    pthread_cond_init(&l->care_wake, NULL);
    list_init(&l->writes);
    list_init(&l->reads);
    map_init(&l->seen);
    map_init(&l->seen_before);
    enum ec ec = seglog_scan(l, err);
    if (!ec) {
        ec = seglog_begin(l, err);
    }
    if (ec) {
        free(l->dir);
        free(l);
        return ec;
    }
    atomic_store(&l->healthy, true);
    l->writer_reads.l = l;
    pthread_create(&l->writer, NULL, writer_main, l);
    pthread_create(&l->caretaker, NULL, caretaker_main, l);
    for (size_t i = 0; i < READERS; i++) {
        l->readers[i].l = l;
        pthread_create(&l->readers[i].thread, NULL, reader_main, &l->readers[i]);
    }
    *out = &l->store;
    return EC_OK;
}

static void log_close(struct logstore *s)
{
    struct seglog *l = seglog_of(s);
    pthread_mutex_lock(&l->lock);
    l->closing = true;
    pthread_cond_broadcast(&l->write_wake);
    pthread_cond_broadcast(&l->read_wake);
    pthread_cond_broadcast(&l->care_wake);
    pthread_mutex_unlock(&l->lock);
    pthread_join(l->writer, NULL);
    pthread_join(l->caretaker, NULL);
    for (size_t i = 0; i < READERS; i++) {
        pthread_join(l->readers[i].thread, NULL);
    }
    reader_close(&l->writer_reads);
    for (size_t i = 0; i < l->segment_count; i++) {
        segment_unref(l->segments[i]);
    }
    seen_fini(&l->seen);
    seen_fini(&l->seen_before);
    free(l->segments);
    free(l->dir);
    free(l);
}

static bool log_healthy(struct logstore *s)
{
    return atomic_load(&seglog_of(s)->healthy);
}

const struct logstore_ops logstore_sqlite = {
    .name = "sqlite",
    .open = log_open,
    .close = log_close,
    .healthy = log_healthy,
    .insert = insert,
    .event_get = event_get,
    .attempt_get = attempt_get,
    .event_list = event_list,
    .attempt_list = attempt_list,
};
