/* See sqlc_rig.h. SPDX-License-Identifier: Apache-2.0 */
#include "io/sqlc_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
}

static void *loop_main(void *arg)
{
    io_run(arg);
    return NULL;
}

void rig_up(struct rig *r)
{
    memset(r, 0, sizeof(*r));
    strcpy(r->dir, "/tmp/sqlc-test-XXXXXX");
    assert_non_null(mkdtemp(r->dir));
    snprintf(r->path, sizeof(r->path), "%s/a.db", r->dir);
    for (int i = 0; i < RIG_LOOPS; i++) {
        r->io[i] = io_new(i ? "test-b" : "test-a");
        assert_int_equal(pthread_create(&r->thread[i], NULL, loop_main, r->io[i]), 0);
    }
}

void rig_down(struct rig *r)
{
    sqlc_close(r->db);
    for (int i = 0; i < RIG_LOOPS; i++) {
        io_stop(r->io[i]);
        pthread_join(r->thread[i], NULL);
        io_free(r->io[i]);
    }
    static const char *const names[] = {"a.db", "a.db-wal", "a.db-shm", "filler"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char path[160];
        snprintf(path, sizeof(path), "%s/%s", r->dir, names[i]);
        unlink(path);
    }
    assert_int_equal(rmdir(r->dir), 0);
}

void rig_open(struct rig *r, const struct sqlc_conf *conf)
{
    struct sqlc_conf c = conf ? *conf : (struct sqlc_conf){.readers = 2, .sync_full = true};
    c.path = r->path;
    c.create = true;
    c.schema = "CREATE TABLE IF NOT EXISTS item(n INTEGER PRIMARY KEY, key INTEGER UNIQUE, body)";
    struct err err = {0};
    if (sqlc_open(&c, &r->db, &err)) {
        fail_msg("open: %s", err.text);
    }
}

static enum ec run(struct sqlc *db, struct sqlc_job *job)
{
    struct rig_job *j = CONTAINER_OF(job, struct rig_job, job);
    j->runs++;
    return j->run(db, j);
}

static void done(struct op *op)
{
    struct rig_job *j = CONTAINER_OF(op, struct rig_job, job.op);
    j->right_loop = io_self() == op->io;
    atomic_store(&j->done, true);
}

struct rig_job *rig_jobs(struct rig *r, size_t n,
                         enum ec (*how)(struct sqlc *db, struct rig_job *j))
{
    struct rig_job *jobs = xcalloc(n, sizeof(*jobs));
    for (size_t i = 0; i < n; i++) {
        jobs[i].job =
            (struct sqlc_job){.op = {.done = done, .io = r->io[i % RIG_LOOPS]}, .run = run};
        jobs[i].run = how;
        jobs[i].key = (int64_t)i;
    }
    return jobs;
}

void rig_write_all(struct rig *r, struct rig_job *jobs, size_t n)
{
    struct list all;
    list_init(&all);
    for (size_t i = 0; i < n; i++) {
        list_push(&all, &jobs[i].job.op.link);
    }
    sqlc_write_list(r->db, &all);
}

void rig_wait(struct rig_job *jobs, size_t n)
{
    nsec_t until = mono_now() + RIG_WAIT_S * NSEC_PER_SEC;
    for (size_t i = 0; i < n; i++) {
        while (!atomic_load(&jobs[i].done)) {
            if (mono_now() > until) {
                fail_msg("job %zu of %zu does not end", i, n);
            }
            nap();
        }
        assert_true(jobs[i].right_loop);
    }
}

enum ec rig_write(struct rig *r, int64_t key)
{
    struct rig_job *j = rig_jobs(r, 1, rig_insert);
    j->key = key;
    sqlc_write(r->db, &j->job);
    rig_wait(j, 1);
    enum ec ec = j->job.op.err.code;
    free(j);
    return ec;
}

int64_t rig_count(struct rig *r)
{
    struct rig_job *j = rig_jobs(r, 1, rig_select_count);
    sqlc_read(r->db, &j->job);
    rig_wait(j, 1);
    assert_int_equal(j->job.op.err.code, EC_OK);
    int64_t n = j->value;
    free(j);
    return n;
}

bool rig_serves_within(struct rig *r, int64_t key, nsec_t most)
{
    for (nsec_t until = mono_now() + most; mono_now() < until; nap()) {
        if (rig_write(r, key) == EC_OK) {
            return true;
        }
    }
    return false;
}

enum ec rig_insert_big(struct sqlc *db, struct rig_job *j)
{
    sqlite3_stmt *st = sqlc_stmt(db, "INSERT INTO item(key, body) VALUES(?, zeroblob(?))");
    sqlite3_bind_int64(st, 1, j->key);
    sqlite3_bind_int64(st, 2, j->value);
    return sqlc_exec(db, st);
}

enum ec rig_insert(struct sqlc *db, struct rig_job *j)
{
    sqlite3_stmt *st = sqlc_stmt(db, "INSERT INTO item(key) VALUES(?)");
    sqlite3_bind_int64(st, 1, j->key);
    return sqlc_exec(db, st);
}

enum ec rig_select_count(struct sqlc *db, struct rig_job *j)
{
    sqlite3_stmt *st = sqlc_stmt(db, "SELECT count(*) FROM item");
    j->value = sqlc_row(db, st) ? sqlite3_column_int64(st, 0) : -1;
    return EC_OK; /* the statement stays open: that must not matter */
}

enum ec rig_at_gate(struct sqlc *db, struct rig_job *j)
{
    (void)db;
    struct gate *g = j->gate;
    pthread_mutex_lock(&g->lock);
    g->arrived = true;
    pthread_cond_broadcast(&g->change);
    while (!g->open) {
        pthread_cond_wait(&g->change, &g->lock);
    }
    pthread_mutex_unlock(&g->lock);
    return EC_OK;
}

void gate_init(struct gate *g)
{
    *g = (struct gate){.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER};
}

void gate_await(struct gate *g)
{
    pthread_mutex_lock(&g->lock);
    while (!g->arrived) {
        pthread_cond_wait(&g->change, &g->lock);
    }
    pthread_mutex_unlock(&g->lock);
}

void gate_open(struct gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->open = true;
    pthread_cond_broadcast(&g->change);
    pthread_mutex_unlock(&g->lock);
}
