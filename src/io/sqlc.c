/* Database threads: how a file is opened and closed, and how jobs get in and out. The threads
 * themselves are in sqlc_write.c and sqlc_read.c. SPDX-License-Identifier: Apache-2.0 */
#include "io/sqlc.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "io/sqlc_priv.h"

#define GROUP_MOST 512
#define BACKLOG_MOST 200000

void sqlc_complete(struct list *jobs)
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

void sqlc_fail(struct list *jobs, enum ec ec, const char *text)
{
    LIST_EACH(l, jobs)
    {
        err_set(&CONTAINER_OF(l, struct op, link)->err, ec, "%s", text);
    }
    sqlc_complete(jobs);
}

void sqlc_run_job(struct sqlc *db, struct op *op)
{
    struct sqlc_job *job = CONTAINER_OF(op, struct sqlc_job, op);
    op->err.code = EC_OK;
    op->err.text[0] = '\0';
    enum ec ec = job->run(db, job);
    if (ec && !op->err.code) {
        err_set(&op->err, ec, "%s", ec_name(ec));
    }
}

static void sqlc_free(struct sqlc *db)
{
    pthread_mutex_destroy(&db->lock);
    pthread_cond_destroy(&db->writer_wake);
    pthread_cond_destroy(&db->reader_wake);
    free(db->path);
    free(db);
}

static struct sqlc *sqlc_new(const struct sqlc_conf *conf)
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
    return db;
}

static void start_thread(struct sqlc *db, struct sqlc_thread *t, void *(*run)(void *))
{
    t->owner = db;
    t->started = pthread_create(&t->thread, NULL, run, t) == 0;
}

/* Signals are for the threads with loops: a sync is not to be interrupted. False: no threads to be
 * had. */
static bool start_threads(struct sqlc *db)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    start_thread(db, &db->writer, sqlc_writer_main);
    bool good = db->writer.started;
    for (unsigned i = 0; i < db->conf.readers; i++) {
        start_thread(db, &db->readers[i], sqlc_reader_main);
        good = good && db->readers[i].started;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return good;
}

enum ec sqlc_open(const struct sqlc_conf *conf, struct sqlc **out, struct err *err)
{
    struct sqlc *db = sqlc_new(conf);
    enum ec ec = sqlc_writer_open(db, err);
    if (ec) {
        sqlc_free(db);
        return ec;
    }
    db->served = true;
    atomic_store(&db->healthy, true);
    if (!start_threads(db)) {
        sqlc_close(db);
        return err_set(err, EC_UNAVAILABLE, "%s: no threads for the database", conf->path);
    }
    *out = db;
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
    sqlc_free(db);
}

/* Puts all jobs into the queue, or none when it would pass backlog_max. */
static bool enqueue(struct sqlc *db, struct list *queue, size_t *count, struct list *jobs, size_t n)
{
    pthread_mutex_lock(&db->lock);
    bool fits = *count + n <= db->conf.backlog_max;
    if (fits) {
        bool was_empty = list_empty(queue);
        list_splice(queue, jobs);
        *count += n;
        if (queue == &db->reads) {
            pthread_cond_signal(&db->reader_wake);
        } else if (was_empty) {
            pthread_cond_signal(&db->writer_wake);
        }
    }
    pthread_mutex_unlock(&db->lock);
    return fits;
}

void sqlc_write_list(struct sqlc *db, struct list *jobs)
{
    size_t n = 0;
    LIST_EACH(l, jobs)
    {
        n++;
    }
    if (!enqueue(db, &db->writes, &db->write_count, jobs, n)) {
        sqlc_fail(jobs, EC_UNAVAILABLE, "too much work is waiting for the database");
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
    struct list one;
    list_init(&one);
    list_push(&one, &job->op.link);
    if (!enqueue(db, &db->reads, &db->read_count, &one, 1)) {
        sqlc_fail(&one, EC_UNAVAILABLE, "too much work is waiting for the database");
    }
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
    atomic_store(&db->fail_commit_code, code);
    atomic_store(&db->fail_commit, nth);
}

void sqlc_test_fail_step(struct sqlc *db, int nth, int code)
{
    atomic_store(&db->fail_step_code, code);
    atomic_store(&db->fail_step, nth);
}
#endif
