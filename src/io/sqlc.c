/* Database threads. The writer takes all jobs that wait, runs them in one transaction, syncs once, and completes them.
 * When a statement fails the group is rolled back and its jobs run again one by one, so that only the offender fails. An
 * I/O error or a full disk fails what waits, closes the file and opens it again with backoff. Checkpoints run on the
 * writer between groups: small and often while the log is short, so that no commit waits long.
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/sqlc.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/sqlc_priv.h"
#include "util/log.h"

#define GROUP_MOST 512
#define BACKLOG_MOST 200000
#define BACKOFF_FIRST (100 * NSEC_PER_MSEC)
#define BACKOFF_MOST (2 * NSEC_PER_SEC)
#define BUSY_MS 5000
/* Pages in the write-ahead log from which the writer checkpoints; and the size it is cut to afterwards. */
#define WAL_PAGES 4000
#define WAL_KEEP (64 * 1024 * 1024)

static bool is_outage(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_NOMEM:
    case SQLITE_PROTOCOL:
        return true;
    default:
        return false;
    }
}

static enum ec open_conn(struct sqlc *db, struct sqlc_conn *c, bool writer, struct err *err)
{
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE | (writer && db->conf.create ? SQLITE_OPEN_CREATE : 0);
    int rc = sqlite3_open_v2(db->path, &c->db, flags, NULL);
    char setup[512];
    snprintf(setup, sizeof(setup),
             "PRAGMA busy_timeout=%d; PRAGMA journal_mode=WAL; PRAGMA synchronous=%s; PRAGMA cache_size=-%u;"
             "PRAGMA temp_store=MEMORY; PRAGMA wal_autocheckpoint=0; PRAGMA journal_size_limit=%d;%s",
             BUSY_MS, db->conf.sync_full ? "FULL" : "NORMAL", db->conf.cache_kib ? db->conf.cache_kib : 2048,
             WAL_KEEP, writer ? "" : "PRAGMA query_only=1;");
    if (rc == SQLITE_OK && writer) {
        sqlite3_exec(c->db, "PRAGMA page_size=8192", NULL, NULL, NULL);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_exec(c->db, setup, NULL, NULL, NULL);
    }
    if (rc == SQLITE_OK && writer && db->conf.schema) {
        rc = sqlite3_exec(c->db, db->conf.schema, NULL, NULL, NULL);
    }
    if (rc != SQLITE_OK) {
        enum ec ec = (rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB ? EC_CORRUPT : EC_UNAVAILABLE;
        err_set(err, ec, "%s: %s", db->path, c->db ? sqlite3_errmsg(c->db) : sqlite3_errstr(rc));
        sqlc_conn_close(c);
        return ec;
    }
    return EC_OK;
}

static enum ec open_writer(struct sqlc *db, struct err *err)
{
    struct sqlc_conn *c = &db->writer.conn;
    enum ec ec = open_conn(db, c, true, err);
    if (ec) {
        return ec;
    }
    struct sqlc_conn *before = NULL;
    sqlc_set_conn(c);
    if (db->conf.opened) {
        ec = db->conf.opened(db, db->conf.arg, err);
        if (ec || c->bad) {
            if (!ec) {
                ec = err_set(err, EC_UNAVAILABLE, "%s: %s", db->path, sqlite3_errmsg(c->db));
            }
            sqlc_conn_close(c);
        }
    }
    sqlc_set_conn(before);
    return ec;
}

/* Completes jobs grouped by loop, one wake-up each. */
static void complete_all(struct list *jobs)
{
    while (!list_empty(jobs)) {
        struct io *io = CONTAINER_OF(jobs->next, struct op, link)->io;
        struct list mine;
        list_init(&mine);
        LIST_EACH_SAFE(l, jobs)
        {
            if (CONTAINER_OF(l, struct op, link)->io == io) {
                list_del(l);
                list_push(&mine, l);
            }
        }
        op_complete_list(io, &mine);
    }
}

static void fail_all(struct list *jobs, const char *text)
{
    LIST_EACH(l, jobs)
    {
        err_set(&CONTAINER_OF(l, struct op, link)->err, EC_UNAVAILABLE, "%s", text);
    }
    complete_all(jobs);
}

static int exec(struct sqlc_conn *c, const char *sql)
{
    return sqlite3_exec(c->db, sql, NULL, NULL, NULL);
}

static int commit(struct sqlc *db, struct sqlc_conn *c)
{
    if (atomic_load_explicit(&db->fail_countdown, memory_order_relaxed) > 0 &&
        atomic_fetch_sub(&db->fail_countdown, 1) == 1) {
        return atomic_load(&db->fail_code);
    }
    return exec(c, "COMMIT");
}

static void run_job(struct sqlc *db, struct op *op)
{
    struct sqlc_job *job = CONTAINER_OF(op, struct sqlc_job, op);
    op->err.code = EC_OK;
    op->err.text[0] = '\0';
    enum ec ec = job->run(db, job);
    if (ec && !op->err.code) {
        err_set(&op->err, ec, "%s", ec_name(ec));
    }
}

/* One transaction over the jobs. Returns the SQLite error that stopped it, SQLITE_OK when all is on disk. */
static int run_group(struct sqlc *db, struct list *jobs)
{
    struct sqlc_conn *c = &db->writer.conn;
    c->bad = exec(c, "BEGIN IMMEDIATE");
    LIST_EACH(l, jobs)
    {
        if (c->bad) {
            break;
        }
        run_job(db, CONTAINER_OF(l, struct op, link));
    }
    int rc = c->bad ? c->bad : commit(db, c);
    db->groups++;
    if (rc != SQLITE_OK) {
        exec(c, "ROLLBACK");
    }
    c->bad = SQLITE_OK;
    return rc;
}

/* The group failed: each job alone. Returns the error of an outage, else SQLITE_OK; jobs that ran are completed. */
static int run_singly(struct sqlc *db, struct list *jobs)
{
    while (!list_empty(jobs)) {
        struct list one;
        list_init(&one);
        list_push(&one, list_pop(jobs));
        int rc = run_group(db, &one);
        if (is_outage(rc)) {
            list_splice(&one, jobs);
            list_splice(jobs, &one);
            return rc;
        }
        if (rc != SQLITE_OK) {
            err_set(&CONTAINER_OF(one.next, struct op, link)->err, EC_INTERNAL, "%s", sqlite3_errstr(rc));
        }
        complete_all(&one);
    }
    return SQLITE_OK;
}

static size_t take(struct list *from, struct list *out, size_t most)
{
    size_t n = 0;
    while (n < most && !list_empty(from)) {
        list_push(out, list_pop(from));
        n++;
    }
    return n;
}

static void outage(struct sqlc *db, int rc, struct list *jobs)
{
    char text[200];
    snprintf(text, sizeof(text), "the database cannot be written: %s", sqlite3_errstr(rc));
    log_line(LOG_ERROR, "database outage", lz("file", db->path), lz("error", sqlite3_errstr(rc)));
    atomic_store(&db->healthy, false);
    db->backoff = BACKOFF_FIRST;
    sqlc_set_conn(NULL);
    sqlc_conn_close(&db->writer.conn);
    fail_all(jobs, text);
}

/* A write that proves the file takes writes again. */
static bool probe(struct sqlc *db)
{
    struct err err;
    if (open_writer(db, &err)) {
        return false;
    }
    struct sqlc_conn *c = &db->writer.conn;
    int rc = exec(c, "BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS sqlc_probe(x); DELETE FROM sqlc_probe;"
                     "INSERT INTO sqlc_probe VALUES(zeroblob(65536)); COMMIT");
    if (rc == SQLITE_OK) {
        rc = exec(c, "DELETE FROM sqlc_probe");
    }
    if (rc != SQLITE_OK) {
        sqlc_conn_close(c);
        return false;
    }
    return true;
}

static void try_reopen(struct sqlc *db)
{
    if (probe(db)) {
        sqlc_set_conn(&db->writer.conn);
        atomic_store(&db->healthy, true);
        log_line(LOG_INFO, "database serves again", lz("file", db->path));
    } else {
        db->backoff = MIN(db->backoff * 2, BACKOFF_MOST);
    }
}

static void checkpoint(struct sqlc *db, int mode)
{
    int pages = 0, moved = 0;
    sqlite3_wal_checkpoint_v2(db->writer.conn.db, NULL, mode, &pages, &moved);
}

static int wal_hook(void *arg, sqlite3 *h, const char *name, int pages)
{
    (void)h, (void)name;
    *(int *)arg = pages;
    return SQLITE_OK;
}

static void wait_until(struct sqlc *db, nsec_t wait)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    nsec_t at = (nsec_t)t.tv_sec * NSEC_PER_SEC + t.tv_nsec + wait;
    t.tv_sec = at / NSEC_PER_SEC;
    t.tv_nsec = at % NSEC_PER_SEC;
    pthread_cond_timedwait(&db->writer_wake, &db->lock, &t);
}

/* Waits for jobs and takes up to a group of them. False: closing and nothing left. */
static bool next_group(struct sqlc *db, struct list *jobs)
{
    bool healthy = atomic_load(&db->healthy);
    pthread_mutex_lock(&db->lock);
    while (list_empty(&db->writes) && !db->closing && healthy) {
        pthread_cond_wait(&db->writer_wake, &db->lock);
    }
    if (!healthy && !db->closing) {
        wait_until(db, list_empty(&db->writes) ? db->backoff : NSEC_PER_MSEC);
    }
    size_t n = take(&db->writes, jobs, healthy ? db->conf.group_max : db->write_count);
    db->write_count -= n;
    bool go_on = n || !db->closing;
    pthread_mutex_unlock(&db->lock);
    return go_on;
}

static void *writer_main(void *arg)
{
    struct sqlc_thread *t = arg;
    struct sqlc *db = t->owner;
    pthread_setname_np(pthread_self(), "sqlite-write");
    sqlc_set_conn(&t->conn);
    int pages = 0;
    struct list jobs;
    list_init(&jobs);
    sqlite3_wal_hook(t->conn.db, wal_hook, &pages);
    nsec_t reopen_at = 0;
    while (next_group(db, &jobs)) {
        if (!atomic_load(&db->healthy)) {
            fail_all(&jobs, "the database cannot be written at present");
            if (mono_now() >= reopen_at) {
                try_reopen(db);
                reopen_at = mono_now() + db->backoff;
                if (atomic_load(&db->healthy)) {
                    sqlite3_wal_hook(t->conn.db, wal_hook, &pages);
                }
            }
            continue;
        }
        if (list_empty(&jobs)) {
            continue;
        }
        int rc = run_group(db, &jobs);
        if (rc != SQLITE_OK && !is_outage(rc)) {
            rc = run_singly(db, &jobs);
        }
        if (rc != SQLITE_OK) {
            outage(db, rc, &jobs);
            reopen_at = mono_now() + db->backoff;
            continue;
        }
        complete_all(&jobs);
        if (pages > WAL_PAGES) {
            checkpoint(db, SQLITE_CHECKPOINT_PASSIVE);
            pages = 0;
        }
    }
    if (t->conn.db) {
        checkpoint(db, SQLITE_CHECKPOINT_TRUNCATE);
    }
    return NULL;
}

static bool ensure_reader(struct sqlc *db, struct sqlc_conn *c, struct err *err)
{
    if (c->db && !is_outage(c->bad)) {
        c->bad = SQLITE_OK;
        return true;
    }
    sqlc_conn_close(c);
    return open_conn(db, c, false, err) == EC_OK;
}

static void read_one(struct sqlc *db, struct sqlc_conn *c, struct op *op)
{
    struct err err = {0};
    if (!ensure_reader(db, c, &err)) {
        op_finish(op, EC_UNAVAILABLE, err.text);
        return;
    }
    exec(c, "BEGIN");
    run_job(db, op);
    exec(c, "COMMIT");
    if (c->bad && !op->err.code) {
        err_set(&op->err, EC_UNAVAILABLE, "%s", sqlite3_errstr(c->bad));
    }
    op_complete(op);
}

static void *reader_main(void *arg)
{
    struct sqlc_thread *t = arg;
    struct sqlc *db = t->owner;
    pthread_setname_np(pthread_self(), "sqlite-read");
    sqlc_set_conn(&t->conn);
    pthread_mutex_lock(&db->lock);
    for (;;) {
        while (list_empty(&db->reads) && !db->closing) {
            pthread_cond_wait(&db->reader_wake, &db->lock);
        }
        struct list *l = list_pop(&db->reads);
        if (!l) {
            break;
        }
        pthread_mutex_unlock(&db->lock);
        read_one(db, &t->conn, CONTAINER_OF(l, struct op, link));
        pthread_mutex_lock(&db->lock);
    }
    pthread_mutex_unlock(&db->lock);
    return NULL;
}

static void start_thread(struct sqlc *db, struct sqlc_thread *t, void *(*run)(void *))
{
    t->owner = db;
    t->started = pthread_create(&t->thread, NULL, run, t) == 0;
    if (!t->started) {
        UNREACHABLE("no thread for the database");
    }
}

enum ec sqlc_open(const struct sqlc_conf *conf, struct sqlc **out, struct err *err)
{
    struct sqlc *db = xcalloc(1, sizeof(*db));
    db->conf = *conf;
    db->conf.group_max = conf->group_max ? conf->group_max : GROUP_MOST;
    db->conf.backlog_max = conf->backlog_max ? conf->backlog_max : BACKLOG_MOST;
    db->conf.readers = MIN(conf->readers, (unsigned)READERS_MOST);
    db->path = xstrdup(conf->path);
    pthread_mutex_init(&db->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&db->writer_wake, &attr);
    pthread_cond_init(&db->reader_wake, &attr);
    pthread_condattr_destroy(&attr);
    list_init(&db->writes);
    list_init(&db->reads);
    db->writer.owner = db;
    *out = db; /* `opened` may ask for it */
    enum ec ec = open_writer(db, err);
    if (ec) {
        *out = NULL;
        free(db->path);
        free(db);
        return ec;
    }
    atomic_store(&db->healthy, true);
    start_thread(db, &db->writer, writer_main);
    for (unsigned i = 0; i < db->conf.readers; i++) {
        start_thread(db, &db->readers[i], reader_main);
    }
    return EC_OK;
}

static void join(struct sqlc_thread *t)
{
    if (t->started) {
        pthread_join(t->thread, NULL);
    }
    sqlc_conn_close(&t->conn);
}

void sqlc_close(struct sqlc *db)
{
    if (!db) {
        return;
    }
    pthread_mutex_lock(&db->lock);
    db->closing = true;
    pthread_cond_broadcast(&db->writer_wake);
    pthread_cond_broadcast(&db->reader_wake);
    pthread_mutex_unlock(&db->lock);
    for (unsigned i = 0; i < db->conf.readers; i++) {
        join(&db->readers[i]);
    }
    join(&db->writer);
    pthread_mutex_destroy(&db->lock);
    pthread_cond_destroy(&db->writer_wake);
    pthread_cond_destroy(&db->reader_wake);
    free(db->path);
    free(db);
}

void sqlc_write_list(struct sqlc *db, struct list *jobs)
{
    size_t n = 0;
    LIST_EACH(l, jobs)
    {
        n++;
    }
    pthread_mutex_lock(&db->lock);
    bool full = db->write_count + n > db->conf.backlog_max;
    if (!full) {
        bool wake = list_empty(&db->writes);
        list_splice(&db->writes, jobs);
        db->write_count += n;
        if (wake) {
            pthread_cond_signal(&db->writer_wake);
        }
    }
    pthread_mutex_unlock(&db->lock);
    if (full) {
        fail_all(jobs, "too much work is waiting for the database");
    }
}

void sqlc_write(struct sqlc *db, struct sqlc_job *job)
{
    struct list one;
    list_init(&one);
    list_push(&one, &job->op.link);
    sqlc_write_list(db, &one);
}

void sqlc_read(struct sqlc *db, struct sqlc_job *job)
{
    if (db->conf.readers == 0) {
        sqlc_write(db, job);
        return;
    }
    list_init(&job->op.link);
    pthread_mutex_lock(&db->lock);
    list_push(&db->reads, &job->op.link);
    pthread_cond_signal(&db->reader_wake);
    pthread_mutex_unlock(&db->lock);
}

bool sqlc_healthy(struct sqlc *db)
{
    return atomic_load(&db->healthy);
}

const char *sqlc_path(const struct sqlc *db)
{
    return db->path;
}

#ifdef OUTRIDER_TEST_BUILD
void sqlc_test_fail(struct sqlc *db, int nth, int code)
{
    atomic_store(&db->fail_code, code);
    atomic_store(&db->fail_countdown, nth);
}
#endif
