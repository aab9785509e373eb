/* The writer thread. It takes all jobs that wait, runs them in transactions of up to group_max,
 * syncs once each, and completes them. When a job spoils a group, the group is rolled back and its
 * jobs run again one by one, so that only the offender fails. An error of the file or its disk
 * fails everything that waits; the file is closed and opened again with backoff, and a probe
 * decides when it serves. SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdio.h>

#include "io/sqlc_priv.h"
#include "util/log.h"

#define BACKOFF_FIRST (100 * NSEC_PER_MSEC)
#define BACKOFF_MOST (2 * NSEC_PER_SEC)

enum verdict { ON_DISK, ONE_IS_BAD, OUTAGE };

enum ec sqlc_writer_open(struct sqlc *db, struct err *err)
{
    struct sqlc_conn *c = &db->writer.conn;
    enum ec ec = sqlc_role_open(db, c, SQLC_WRITER, err);
    if (ec) {
        return ec;
    }
    sqlc_set_conn(c);
    if (db->conf.opened) {
        ec = db->conf.opened(db, db->conf.arg, err);
    }
    if (!ec && c->bad) {
        ec = err_set(err, sqlc_ec(c->bad), "%s: %s", db->path, sqlite3_errstr(c->bad));
    }
    sqlc_reset_all(c);
    sqlc_set_conn(NULL);
    if (ec) {
        sqlc_conn_close(c);
        return ec;
    }
    sqlc_wal_begin(db);
    return EC_OK;
}

/* Gives finished jobs back: their places in the backlog, then the jobs. */
static void give_back(struct sqlc *db, struct list *jobs)
{
    size_t n = 0;
    LIST_EACH(l, jobs)
    {
        n++;
    }
    pthread_mutex_lock(&db->lock);
    db->write_count -= n;
    pthread_mutex_unlock(&db->lock);
    sqlc_complete(jobs);
}

static void refuse(struct sqlc *db, struct list *jobs, const char *text)
{
    LIST_EACH(l, jobs)
    {
        err_set(&CONTAINER_OF(l, struct op, link)->err, EC_UNAVAILABLE, "%s", text);
    }
    give_back(db, jobs);
}

static int commit(struct sqlc *db)
{
#ifdef OUTRIDER_TEST_BUILD
    if (atomic_load_explicit(&db->fail_commit, memory_order_relaxed) > 0 &&
        atomic_fetch_sub(&db->fail_commit, 1) == 1) {
        return atomic_load(&db->fail_commit_code);
    }
#endif
    return sqlc_sql(&db->writer.conn, "COMMIT");
}

/* False: the job spoils its transaction, by an error noted or by failing after it has changed rows.
 */
static bool run_clean(struct sqlc *db, struct op *op, nsec_t now)
{
    struct sqlc_conn *c = &db->writer.conn;
    if (op->deadline && op->deadline < now) {
        err_set(&op->err, EC_TIMEOUT, "the database did not get to it in time");
        return true;
    }
    int64_t changes = sqlite3_total_changes64(c->db);
    sqlc_run_job(db, op);
    return !c->bad && (!op->err.code || sqlite3_total_changes64(c->db) == changes);
}

/* One transaction over the jobs. *rc is the SQLite error that ended it, if one did. */
static enum verdict run_group(struct sqlc *db, struct list *jobs, int *rc)
{
    struct sqlc_conn *c = &db->writer.conn;
    atomic_fetch_add_explicit(&db->groups, 1, memory_order_relaxed);
    *rc = sqlc_sql(c, "BEGIN IMMEDIATE");
    if (*rc) { /* no job is to blame: somebody else holds the file, or the disk is bad */
        return OUTAGE;
    }
    nsec_t now = mono_now();
    bool clean = true;
    for (struct list *l = jobs->next; clean && l != jobs; l = l->next) {
        clean = run_clean(db, CONTAINER_OF(l, struct op, link), now);
    }
    sqlc_reset_all(c);
    *rc = clean ? commit(db) : c->bad;
    c->bad = SQLITE_OK;
    if (clean && !*rc) {
        return ON_DISK;
    }
    bool was_rolled_back = sqlite3_get_autocommit(c->db);
    int back = was_rolled_back ? SQLITE_OK : sqlc_sql(c, "ROLLBACK");
    *rc = back ? back : *rc;
    return back || sqlc_is_outage(*rc) ? OUTAGE : ONE_IS_BAD;
}

static void blame(struct op *op, int rc)
{
    if (rc) {
        err_set(&op->err, EC_INTERNAL, "%s", sqlite3_errstr(rc));
    }
}

/* The group was spoilt: each job alone. Jobs whose outcome is known are given back; an outage
 * leaves the rest. */
static enum verdict run_singly(struct sqlc *db, struct list *jobs, int *rc)
{
    while (!list_empty(jobs)) {
        struct list one;
        list_init(&one);
        list_push(&one, list_pop(jobs));
        enum verdict v = run_group(db, &one, rc);
        if (v == OUTAGE) {
            list_push_front(jobs, list_pop(&one));
            return v;
        }
        if (v == ONE_IS_BAD) {
            blame(CONTAINER_OF(one.next, struct op, link), *rc);
        }
        give_back(db, &one);
    }
    return ON_DISK;
}

static enum verdict run_jobs(struct sqlc *db, struct list *jobs, int *rc)
{
    bool alone = jobs->next == jobs->prev;
    enum verdict v = run_group(db, jobs, rc);
    if (v == ONE_IS_BAD && alone) {
        blame(CONTAINER_OF(jobs->next, struct op, link), *rc);
        return ON_DISK;
    }
    return v == ONE_IS_BAD ? run_singly(db, jobs, rc) : v;
}

static void outage(struct sqlc *db, int rc, struct list *jobs)
{
    char text[200];
    snprintf(text, sizeof(text), "the database cannot be written: %s", sqlite3_errstr(rc));
    log_line(LOG_ERROR, "database outage", lz("file", db->path), lz("error", sqlite3_errstr(rc)),
             li("code", rc));
    atomic_store(&db->healthy, false);
    db->backoff = BACKOFF_FIRST;
    db->reopen_at = mono_now() + db->backoff;
    sqlc_set_conn(NULL);
    sqlc_wal_end(db);
    sqlc_conn_close(&db->writer.conn);
    refuse(db, jobs, text);
}

/* Proves that the file takes writes and syncs again; leaves nothing behind. */
static bool probe(struct sqlc *db)
{
    struct sqlc_conn *c = &db->writer.conn;
    struct err err;
    if (sqlc_writer_open(db, &err)) {
        return false;
    }
    int rc = sqlc_sql(
        c, "PRAGMA synchronous=FULL; BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS sqlc_probe(x);"
           "INSERT INTO sqlc_probe VALUES(zeroblob(65536)); COMMIT; DROP TABLE sqlc_probe");
    if (!rc && !db->conf.sync_full) {
        rc = sqlc_sql(c, "PRAGMA synchronous=NORMAL");
    }
    if (rc) {
        sqlc_conn_close(c);
    }
    return !rc;
}

static void try_reopen(struct sqlc *db)
{
    if (mono_now() < db->reopen_at) {
        return;
    }
    if (probe(db)) {
        sqlc_set_conn(&db->writer.conn);
        atomic_store(&db->healthy, true);
        log_line(LOG_INFO, "database serves again", lz("file", db->path));
        return;
    }
    db->backoff = MIN(db->backoff * 2, BACKOFF_MOST);
    db->reopen_at = mono_now() + db->backoff;
}

static void wait_until(struct sqlc *db, nsec_t at)
{
    struct timespec t = {.tv_sec = at / NSEC_PER_SEC, .tv_nsec = at % NSEC_PER_SEC};
    pthread_cond_timedwait(&db->writer_wake, &db->lock, &t);
}

/* Takes everything that waits, or waits for something to do. False: closing and nothing left. */
static bool take_all(struct sqlc *db, struct list *jobs)
{
    bool healthy = atomic_load(&db->healthy);
    pthread_mutex_lock(&db->lock);
    while (list_empty(&db->writes) && !db->closing && (healthy || mono_now() < db->reopen_at)) {
        if (healthy) {
            pthread_cond_wait(&db->writer_wake, &db->lock);
        } else {
            wait_until(db, db->reopen_at);
        }
    }
    list_splice(jobs, &db->writes);
    bool go_on = !list_empty(jobs) || !db->closing;
    pthread_mutex_unlock(&db->lock);
    return go_on;
}

static void run_next(struct sqlc *db, struct list *taken)
{
    struct list group;
    list_init(&group);
    for (unsigned n = 0; n < db->conf.group_max && !list_empty(taken); n++) {
        list_push(&group, list_pop(taken));
    }
    int rc;
    enum verdict v = run_jobs(db, &group, &rc);
    if (v == ON_DISK) {
        give_back(db, &group);
        rc = sqlc_wal_tend(db);
        v = rc ? OUTAGE : ON_DISK;
    }
    if (v == OUTAGE) {
        list_splice(&group, taken);
        outage(db, rc, &group);
    }
}

void *sqlc_writer_main(void *arg)
{
    struct sqlc_thread *t = arg;
    struct sqlc *db = t->owner;
    struct list taken;
    list_init(&taken);
    pthread_setname_np(pthread_self(), "sqlite-write");
    sqlc_set_conn(&t->conn);
    while (take_all(db, &taken)) {
        if (!atomic_load(&db->healthy)) {
            refuse(db, &taken, "the database cannot be written at present");
            try_reopen(db);
        }
        while (!list_empty(&taken)) {
            run_next(db, &taken);
        }
    }
    sqlc_wal_end(db);
    if (t->conn.db) {
        sqlite3_wal_checkpoint_v2(t->conn.db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    }
    return NULL;
}
