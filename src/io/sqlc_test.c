/* sqlc in fair weather: groups, order, loops, readers, limits, migrations. Faults:
 * sqlc_fault_test.c. SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/sqlc_rig.h"
#include "io/tests.h"

/* A job that keeps the database thread until the gate opens; the thread stands there on return. */
static struct rig_job *hold(struct rig *r, struct gate *g,
                            void (*submit)(struct sqlc *, struct sqlc_job *))
{
    gate_init(g);
    struct rig_job *j = rig_jobs(r, 1, rig_at_gate);
    j->gate = g;
    submit(r->db, &j->job);
    gate_await(g);
    return j;
}

static void release(struct gate *g, struct rig_job *held)
{
    gate_open(g);
    rig_wait(held, 1);
    free(held);
}

static void all_end_with(struct rig_job *jobs, size_t n, enum ec ec)
{
    rig_wait(jobs, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(jobs[i].job.op.err.code, ec);
    }
}

static void sqlc_groups_share_a_commit(void **state)
{
    (void)state;
    struct rig r;
    struct gate g;
    rig_up(&r);
    rig_open(&r, NULL);
    struct rig_job *held = hold(&r, &g, sqlc_write), *jobs = rig_jobs(&r, 1000, rig_insert);
    rig_write_all(&r, jobs, 500);
    for (size_t i = 500; i < 1000; i++) {
        sqlc_write(r.db, &jobs[i].job);
    }
    release(&g, held);
    all_end_with(jobs, 1000, EC_OK);
    assert_int_equal(atomic_load(&r.db->groups), 3); /* the gate; 512; 488 */
    assert_int_equal(rig_count(&r), 1000);
    free(jobs);
    rig_down(&r);
}

struct submitter {
    struct rig *r;
    struct rig_job *jobs;
    size_t n;
};

static void *submit_all(void *arg)
{
    struct submitter *s = arg;
    for (size_t i = 0; i < s->n; i++) {
        sqlc_write(s->r->db, &s->jobs[i].job);
    }
    return NULL;
}

static enum ec count_disorder(struct sqlc *db, struct rig_job *j)
{
    sqlite3_stmt *st = sqlc_stmt(
        db, "SELECT count(*) FROM (SELECT key, lag(key) OVER (PARTITION BY key / 100000 ORDER BY n)"
            " AS before FROM item) WHERE before >= key");
    j->value = sqlc_row(db, st) ? sqlite3_column_int64(st, 0) : -1;
    return EC_OK;
}

static void sqlc_keeps_the_order_of_each_submitter(void **state)
{
    (void)state;
    struct rig r;
    rig_up(&r);
    rig_open(&r, &(struct sqlc_conf){.readers = 1, .group_max = 7});
    struct submitter s[3];
    pthread_t t[3];
    for (int i = 0; i < 3; i++) {
        s[i] = (struct submitter){&r, rig_jobs(&r, 400, rig_insert), 400};
        for (size_t k = 0; k < 400; k++) {
            s[i].jobs[k].key += i * 100000;
        }
        assert_int_equal(pthread_create(&t[i], NULL, submit_all, &s[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(t[i], NULL);
        all_end_with(s[i].jobs, 400, EC_OK);
        free(s[i].jobs);
    }
    struct rig_job *j = rig_jobs(&r, 1, count_disorder);
    sqlc_read(r.db, &j->job);
    all_end_with(j, 1, EC_OK);
    assert_int_equal(j->value, 0);
    assert_int_equal(rig_count(&r), 1200);
    free(j);
    rig_down(&r);
}

static enum ec bad_sql(struct sqlc *db, struct rig_job *j)
{
    enum ec ec = rig_insert(db, j);
    return ec ? ec
              : sqlc_check(db, sqlite3_exec(sqlc_handle(db), "SELECT nothing FROM nowhere", NULL,
                                            NULL, NULL));
}

static void sqlc_isolates_the_job_that_spoils_a_group(void **state)
{
    (void)state;
    struct rig r;
    struct gate g;
    rig_up(&r);
    rig_open(&r, NULL);
    struct rig_job *held = hold(&r, &g, sqlc_write), *jobs = rig_jobs(&r, 50, rig_insert);
    jobs[20].run = bad_sql;
    rig_write_all(&r, jobs, 50);
    release(&g, held);
    rig_wait(jobs, 50);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(jobs[i].job.op.err.code, i == 20 ? EC_INTERNAL : EC_OK);
        assert_int_equal(jobs[i].runs,
                         i <= 20 ? 2 : 1); /* those behind it were reached only alone */
    }
    assert_int_equal(rig_count(&r), 49);
    assert_true(sqlc_healthy(r.db));
    free(jobs);
    rig_down(&r);
}

/* Changes a row, then meets a conflict: none of it may stay. */
static enum ec half_then_conflict(struct sqlc *db, struct rig_job *j)
{
    struct rig_job other = {.key = j->key + 1000};
    enum ec ec = rig_insert(db, &other);
    if (ec) {
        return ec;
    }
    other.key = 0; /* exists */
    return rig_insert(db, &other);
}

static void sqlc_rolls_back_what_a_failed_job_changed(void **state)
{
    (void)state;
    struct rig r;
    struct gate g;
    rig_up(&r);
    rig_open(&r, NULL);
    struct rig_job *held = hold(&r, &g, sqlc_write), *jobs = rig_jobs(&r, 10, rig_insert);
    jobs[5].run = half_then_conflict;
    rig_write_all(&r, jobs, 10);
    release(&g, held);
    rig_wait(jobs, 10);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(jobs[i].job.op.err.code, i == 5 ? EC_CONFLICT : EC_OK);
    }
    assert_int_equal(rig_count(&r), 9);
    free(jobs);
    rig_down(&r);
}

static void sqlc_lets_a_plain_refusal_fail_alone(void **state)
{
    (void)state;
    struct rig r;
    struct gate g;
    rig_up(&r);
    rig_open(&r, NULL);
    struct rig_job *held = hold(&r, &g, sqlc_write), *jobs = rig_jobs(&r, 10, rig_insert);
    jobs[5].key = 0; /* conflict, nothing changed */
    rig_write_all(&r, jobs, 10);
    release(&g, held);
    rig_wait(jobs, 10);
    assert_int_equal(jobs[5].job.op.err.code, EC_CONFLICT);
    assert_int_equal(atomic_load(&r.db->groups), 2); /* the group went through */
    assert_int_equal(rig_count(&r), 9);
    free(jobs);
    rig_down(&r);
}

static void sqlc_readers_see_what_is_committed(void **state)
{
    (void)state;
    struct rig r;
    struct gate g;
    rig_up(&r);
    rig_open(&r, NULL);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(rig_write(&r, i), EC_OK);
        assert_int_equal(rig_count(&r), i + 1);
    }
    gate_init(&g);
    struct rig_job *jobs =
        rig_jobs(&r, 2, rig_insert); /* an insert and the gate in one transaction */
    jobs[0].key = 100;
    jobs[1].run = rig_at_gate;
    jobs[1].gate = &g;
    rig_write_all(&r, jobs, 2);
    gate_await(&g);
    assert_int_equal(rig_count(&r), 20);
    gate_open(&g);
    all_end_with(jobs, 2, EC_OK);
    assert_int_equal(rig_count(&r), 21);
    free(jobs);
    rig_down(&r);
}

static void sqlc_readers_cannot_write(void **state)
{
    (void)state;
    struct rig r;
    rig_up(&r);
    rig_open(&r, NULL);
    struct rig_job *j = rig_jobs(&r, 1, rig_insert);
    sqlc_read(r.db, &j->job);
    all_end_with(j, 1, EC_UNAVAILABLE);
    assert_int_equal(rig_count(&r), 0);
    free(j);
    rig_down(&r);
}

static void sqlc_without_readers_reads_on_the_writer(void **state)
{
    (void)state;
    struct rig r;
    rig_up(&r);
    rig_open(&r, &(struct sqlc_conf){.sync_full = true});
    assert_int_equal(rig_write(&r, 1), EC_OK);
    assert_int_equal(rig_count(&r), 1);
    rig_down(&r);
}

static void sqlc_refuses_beyond_the_backlog(void **state)
{
    (void)state;
    struct rig r;
    struct gate g;
    rig_up(&r);
    rig_open(&r, &(struct sqlc_conf){.readers = 1, .backlog_max = 10});
    struct rig_job *held = hold(&r, &g, sqlc_write), *jobs = rig_jobs(&r, 14, rig_insert);
    rig_write_all(&r, jobs, 7);
    rig_write_all(&r, jobs + 7, 3); /* 11 with the one at the gate: none of the three */
    all_end_with(jobs + 7, 3, EC_UNAVAILABLE);
    rig_write_all(&r, jobs + 10, 2);
    rig_write_all(&r, jobs + 12, 1);
    all_end_with(jobs + 12, 1, EC_UNAVAILABLE);
    release(&g, held);
    all_end_with(jobs, 7, EC_OK);
    all_end_with(jobs + 10, 2, EC_OK);
    assert_int_equal(rig_write(&r, 100), EC_OK); /* there is room again */
    assert_int_equal(rig_count(&r), 10);
    held = hold(&r, &g, sqlc_read);
    struct rig_job *reads = rig_jobs(&r, 11, rig_select_count);
    for (int i = 0; i < 11; i++) {
        sqlc_read(r.db, &reads[i].job);
    }
    all_end_with(reads + 10, 1, EC_UNAVAILABLE);
    release(&g, held);
    all_end_with(reads, 10, EC_OK);
    free(reads);
    free(jobs);
    rig_down(&r);
}

static void sqlc_close_finishes_the_queue(void **state)
{
    (void)state;
    struct rig r;
    rig_up(&r);
    rig_open(&r, NULL);
    struct rig_job *jobs = rig_jobs(&r, 2000, rig_insert);
    rig_write_all(&r, jobs, 2000);
    sqlc_close(r.db);
    all_end_with(jobs, 2000, EC_OK);
    char wal[128];
    struct stat st;
    snprintf(wal, sizeof(wal), "%s-wal", r.path);
    assert_int_not_equal(stat(wal, &st), 0); /* checkpointed and gone */
    rig_open(&r, NULL);
    assert_int_equal(rig_count(&r), 2000);
    free(jobs);
    rig_down(&r);
}

static enum ec endless(struct sqlc *db, struct rig_job *j)
{
    sqlite3_stmt *st = sqlc_stmt(
        db, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c");
    j->value = sqlc_row(db, st);
    return EC_OK;
}

static void sqlc_keeps_deadlines(void **state)
{
    (void)state;
    struct rig r;
    struct gate g;
    rig_up(&r);
    rig_open(&r, NULL);
    struct rig_job *held = hold(&r, &g, sqlc_write), *late = rig_jobs(&r, 2, rig_insert),
                   *read = rig_jobs(&r, 1, endless);
    late[0].job.op.deadline = mono_now() + NSEC_PER_MSEC;
    rig_write_all(&r, late, 2);
    read->job.op.deadline = mono_now() + 50 * NSEC_PER_MSEC;
    sqlc_read(r.db, &read->job);
    all_end_with(read, 1, EC_TIMEOUT);
    release(&g, held);
    all_end_with(late, 1, EC_TIMEOUT);
    all_end_with(late + 1, 1, EC_OK);
    assert_int_equal(late[0].runs, 0);
    assert_int_equal(rig_count(&r), 1);
    free(late);
    free(read);
    rig_down(&r);
}

/* The log starts over again and again while commits go on, also after a reader has held it back. */
static void sqlc_bounds_the_write_ahead_log(void **state)
{
    (void)state;
    struct rig r;
    struct gate g;
    rig_up(&r);
    rig_open(&r, &(struct sqlc_conf){.readers = 2});
    assert_int_equal(rig_write(&r, -1), EC_OK);
    struct rig_job *begun = hold(&r, &g, sqlc_read);
    struct rig_job *jobs = rig_jobs(&r, 16000, rig_insert_big);
    for (int i = 0; i < 16000; i++) {
        jobs[i].value = 20000;
    }
    rig_write_all(&r, jobs, 3000); /* 60 MB */
    all_end_with(jobs, 3000, EC_OK);
    release(&g, begun);
    for (int i = 3000; i < 16000; i += 100) {
        rig_write_all(&r, jobs + i, 100);
        rig_wait(jobs + i, 100);
    }
    all_end_with(jobs, 16000, EC_OK);
    char wal[128];
    struct stat st;
    snprintf(wal, sizeof(wal), "%s-wal", r.path);
    assert_int_equal(stat(wal, &st), 0);
    assert_in_range(st.st_size, 1, 160 * 1024 * 1024); /* of 330 MB written */
    assert_int_equal(rig_count(&r), 16001);
    free(jobs);
    rig_down(&r);
}

static void sqlc_names_damaged_files(void **state)
{
    (void)state;
    struct rig r;
    struct err err = {0};
    struct sqlc *db = NULL;
    rig_up(&r);
    struct sqlc_conf conf = {.path = r.path};
    assert_int_equal(sqlc_open(&conf, &db, &err),
                     EC_UNAVAILABLE); /* not there, and not to be made */
    assert_null(db);
    FILE *f = fopen(r.path, "w");
    for (int i = 0; i < 4096; i++) {
        fputs("this is no database ", f);
    }
    fclose(f);
    conf.create = true;
    assert_int_equal(sqlc_open(&conf, &db, &err), EC_CORRUPT);
    assert_non_null(strstr(err.text, r.path));
    rig_down(&r);
}

static int64_t ask(sqlite3 *h, const char *sql)
{
    sqlite3_stmt *st = NULL;
    assert_int_equal(sqlite3_prepare_v2(h, sql, -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    int64_t v = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return v;
}

static void sqlc_migrates_step_by_step(void **state)
{
    (void)state;
    static const char *const steps[] = {
        "CREATE TABLE a(x)", "ALTER TABLE a ADD y; INSERT INTO a VALUES(1, 2)",
        "INSERT INTO a VALUES(3, 4)", "INSERT INTO a VALUES(5, 6); INSERT INTO b VALUES(1)"};
    struct rig r;
    struct err err = {0};
    sqlite3 *h;
    rig_up(&r);
    assert_int_equal(sqlite3_open(r.path, &h), SQLITE_OK);
    assert_int_equal(sqlc_migrate(h, steps, 2, &err), EC_OK);
    assert_int_equal(sqlc_migrate(h, steps, 2, &err), EC_OK); /* nothing to do */
    assert_int_equal(ask(h, "SELECT count(*) FROM a"), 1);
    assert_int_equal(sqlc_migrate(h, steps, 3, &err), EC_OK);
    assert_int_equal(ask(h, "PRAGMA user_version"), 3);
    assert_int_equal(sqlc_migrate(h, steps, 2, &err), EC_INVALID);
    assert_non_null(strstr(err.text, "newer release"));
    assert_int_equal(sqlc_migrate(h, steps, 4, &err), EC_INTERNAL); /* its second statement fails */
    assert_int_equal(ask(h, "PRAGMA user_version"), 3);
    assert_int_equal(ask(h, "SELECT count(*) FROM a"), 2);
    assert_int_equal(sqlite3_get_autocommit(h), 1);
    sqlite3_close(h);
    rig_down(&r);
}

int sqlc_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sqlc_groups_share_a_commit),
        cmocka_unit_test(sqlc_keeps_the_order_of_each_submitter),
        cmocka_unit_test(sqlc_isolates_the_job_that_spoils_a_group),
        cmocka_unit_test(sqlc_rolls_back_what_a_failed_job_changed),
        cmocka_unit_test(sqlc_lets_a_plain_refusal_fail_alone),
        cmocka_unit_test(sqlc_readers_see_what_is_committed),
        cmocka_unit_test(sqlc_readers_cannot_write),
        cmocka_unit_test(sqlc_without_readers_reads_on_the_writer),
        cmocka_unit_test(sqlc_refuses_beyond_the_backlog),
        cmocka_unit_test(sqlc_close_finishes_the_queue),
        cmocka_unit_test(sqlc_keeps_deadlines),
        cmocka_unit_test(sqlc_bounds_the_write_ahead_log),
        cmocka_unit_test(sqlc_names_damaged_files),
        cmocka_unit_test(sqlc_migrates_step_by_step),
    };
    return cmocka_run_group_tests_name("sqlc", tests, NULL, NULL);
}
