/* sqlc in bad weather: a killed process, full disks, failed syncs and reads.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/sqlc_rig.h"
#include "io/tests.h"

/* The longest that an outage may last once its cause is gone: the backoff's most and some time for
 * a busy machine. */
#define RECOVERY (4 * NSEC_PER_SEC)

static int ack_fd;

static enum ec insert_random_size(struct sqlc *db, struct rig_job *j)
{
    j->value = 200 + j->key * 37 % 3000;
    return rig_insert_big(db, j);
}

static void tell_parent(struct op *op)
{
    struct rig_job *j = CONTAINER_OF(op, struct rig_job, job.op);
    if (op->err.code || write(ack_fd, &j->key, sizeof(j->key)) != sizeof(j->key)) {
        _exit(3);
    }
}

/* The child: writes without end and tells every write that has completed. */
NORETURN static void load(const char *path, int64_t first)
{
    struct rig r;
    rig_up(&r);
    rmdir(r.dir);
    snprintf(r.path, sizeof(r.path), "%s", path);
    rig_open(&r, NULL);
    for (int64_t key = first;; key += 64) {
        struct rig_job *jobs = rig_jobs(&r, 64, insert_random_size);
        for (int i = 0; i < 64; i++) {
            jobs[i].key += key;
            jobs[i].job.op.done = tell_parent;
        }
        rig_write_all(&r, jobs, 64); /* they stay allocated: the process is killed soon */
        usleep(500);
    }
}

static int64_t collect_acks(int fd, bool *seen, int64_t most, pid_t child, int64_t kill_after)
{
    int64_t key, n = 0;
    while (read(fd, &key, sizeof(key)) == sizeof(key)) {
        assert_in_range(key, 0, most - 1);
        seen[key] = true;
        if (++n == kill_after) {
            kill(child, SIGKILL);
        }
    }
    return n;
}

static enum ec exists(struct sqlc *db, struct rig_job *j)
{
    sqlite3_stmt *st = sqlc_stmt(db, "SELECT 1 FROM item WHERE key=?");
    sqlite3_bind_int64(st, 1, j->key);
    j->value = sqlc_row(db, st);
    return EC_OK;
}

static enum ec is_sound(struct sqlc *db, struct rig_job *j)
{
    sqlite3_stmt *st = sqlc_stmt(db, "PRAGMA integrity_check");
    j->value = sqlc_row(db, st) && str_eq(sqlc_text(st, 0), str_z("ok"));
    return EC_OK;
}

static int64_t read_value(struct rig *r, int64_t key,
                          enum ec (*how)(struct sqlc *, struct rig_job *))
{
    struct rig_job *j = rig_jobs(r, 1, how);
    j->key = key;
    sqlc_read(r->db, &j->job);
    rig_wait(j, 1);
    assert_int_equal(j->job.op.err.code, EC_OK);
    int64_t v = j->value;
    free(j);
    return v;
}

#define KILL_ROUNDS 8
#define KEYS_MOST 1000000

static void sqlc_survives_sigkill(void **state)
{
    (void)state;
    static bool seen[KEYS_MOST];
    struct rig r;
    memset(seen, 0, sizeof(seen));
    strcpy(r.dir, "/tmp/sqlc-kill-XXXXXX");
    assert_non_null(mkdtemp(r.dir));
    snprintf(r.path, sizeof(r.path), "%s/a.db", r.dir);
    for (int round = 0; round < KILL_ROUNDS; round++) {
        int fd[2];
        assert_int_equal(pipe(fd), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            ack_fd = fd[1];
            close(fd[0]);
            load(r.path, round * (KEYS_MOST / KILL_ROUNDS));
        }
        close(fd[1]);
        assert_true(collect_acks(fd[0], seen, KEYS_MOST, child, 150 + 211 * round) >=
                    150 + 211 * round);
        close(fd[0]);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    struct rig fresh;
    rig_up(&fresh);
    rmdir(fresh.dir);
    memcpy(fresh.dir, r.dir, sizeof(r.dir));
    memcpy(fresh.path, r.path, sizeof(r.path));
    rig_open(&fresh, NULL);
    assert_true(read_value(&fresh, 0, is_sound));
    for (int64_t key = 0; key < KEYS_MOST; key++) {
        if (seen[key]) {
            assert_true(read_value(&fresh, key, exists));
        }
    }
    rig_down(&fresh);
}

/* A small file system of its own where that is possible, else a limit on the pages of the file. */
struct small_disk {
    struct rig *r;
    bool mounted;
    char filler[96];
};

static char mounted_at[64]; /* for the teardown of a test that failed half-way */

static int unmount(void **state)
{
    (void)state;
    if (mounted_at[0]) {
        umount2(mounted_at, MNT_DETACH);
        mounted_at[0] = '\0';
    }
    return 0;
}

static enum ec limit_pages(struct sqlc *db, struct rig_job *j)
{
    (void)j;
    return sqlc_check(db,
                      sqlite3_exec(sqlc_handle(db), "PRAGMA max_page_count=100", NULL, NULL, NULL));
}

static void small_disk_up(struct small_disk *d, struct rig *r)
{
    *d = (struct small_disk){.r = r};
    d->mounted = geteuid() == 0 && mount("tmpfs", r->dir, "tmpfs", 0, "size=6m") == 0;
    snprintf(d->filler, sizeof(d->filler), "%s/filler", r->dir);
    if (d->mounted) {
        memcpy(mounted_at, r->dir, sizeof(mounted_at));
        int fd = open(d->filler, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        assert_int_equal(posix_fallocate(fd, 0, 4 << 20), 0);
        close(fd);
    }
    rig_open(r, NULL);
    if (!d->mounted) {
        struct rig_job *j = rig_jobs(r, 1, limit_pages);
        sqlc_write(r->db, &j->job);
        rig_wait(j, 1);
        free(j);
    }
}

static void small_disk_down(struct small_disk *d)
{
    sqlc_close(d->r->db);
    d->r->db = NULL;
    if (d->mounted) {
        assert_int_equal(umount(d->r->dir), 0);
        mounted_at[0] = '\0';
    }
}

/* Writes until the disk is full; returns how many succeeded. All of a group fail or none. */
static int64_t fill(struct rig *r)
{
    for (int64_t key = 0;; key += 10) {
        struct rig_job *jobs = rig_jobs(r, 10, rig_insert_big);
        for (int i = 0; i < 10; i++) {
            jobs[i].key += key;
            jobs[i].value = 20000;
        }
        rig_write_all(r, jobs, 10);
        rig_wait(jobs, 10);
        enum ec ec = jobs[0].job.op.err.code;
        for (int i = 1; i < 10; i++) {
            assert_int_equal(jobs[i].job.op.err.code, ec);
        }
        free(jobs);
        if (ec) {
            assert_int_equal(ec, EC_UNAVAILABLE);
            return key;
        }
        assert_true(key < 100000);
    }
}

/* Uses up the last byte, then the room that is left inside the log's file. Returns how many more
 * rows were kept. */
static int64_t fill_to_the_brim(struct small_disk *d)
{
    static const char block[4096];
    int fd = open(d->filler, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_true(fd >= 0);
    while (write(fd, block, sizeof(block)) > 0) {
    }
    close(fd);
    int64_t kept = 0;
    while (rig_serves_within(d->r, -1000 - kept, NSEC_PER_SEC)) {
        kept++;
        assert_true(kept < 1000);
    }
    return kept;
}

static void sqlc_gets_over_a_full_disk(void **state)
{
    (void)state;
    struct rig r;
    struct small_disk disk;
    rig_up(&r);
    small_disk_up(&disk, &r);
    int64_t kept = fill(&r);
    assert_true(kept > 0);
    if (disk.mounted) { /* no room for the probe: it goes on refusing, while reads are served */
        kept += fill_to_the_brim(&disk);
        assert_false(sqlc_healthy(r.db));
        assert_int_equal(rig_count(&r), kept);
        assert_int_equal(unlink(disk.filler), 0);
    }
    assert_true(rig_serves_within(&r, -1, RECOVERY));
    assert_true(sqlc_healthy(r.db));
    assert_int_equal(rig_count(&r), kept + 1);
    assert_true(read_value(&r, 0, is_sound));
    small_disk_down(&disk);
    rig_down(&r);
}

#ifdef OUTRIDER_TEST_BUILD

static void sqlc_reopens_after_a_failed_sync(void **state)
{
    (void)state;
    struct rig r;
    rig_up(&r);
    rig_open(&r, NULL);
    assert_int_equal(rig_write(&r, 1), EC_OK);
    for (int round = 0; round < 3; round++) {
        struct rig_job *jobs = rig_jobs(&r, 20, rig_insert);
        for (int i = 0; i < 20; i++) {
            jobs[i].key += 100;
        }
        sqlc_test_fail(r.db, 1, SQLITE_IOERR_FSYNC);
        rig_write_all(&r, jobs, 20);
        rig_wait(jobs, 20);
        for (int i = 0; i < 20; i++) {
            assert_int_equal(jobs[i].job.op.err.code, EC_UNAVAILABLE);
            assert_int_equal(jobs[i].runs,
                             1); /* not tried one by one: the disk is bad, not a job */
        }
        assert_false(sqlc_healthy(r.db));
        assert_int_equal(rig_write(&r, 50), EC_UNAVAILABLE);
        assert_true(rig_serves_within(&r, 10 + round, RECOVERY));
        assert_true(sqlc_healthy(r.db));
        free(jobs);
    }
    assert_int_equal(rig_count(&r), 4);
    rig_down(&r);
}

static void sqlc_fails_all_that_waits_on_an_io_error(void **state)
{
    (void)state;
    struct rig r;
    rig_up(&r);
    rig_open(&r, &(struct sqlc_conf){.readers = 1, .group_max = 10, .sync_full = true});
    struct rig_job *jobs = rig_jobs(&r, 100, rig_insert);
    sqlc_test_fail_step(r.db, 25, SQLITE_IOERR_WRITE);
    rig_write_all(&r, jobs, 100);
    rig_wait(jobs, 100);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(jobs[i].job.op.err.code, i < 20 ? EC_OK : EC_UNAVAILABLE);
    }
    assert_int_equal(rig_count(&r), 20);
    assert_true(rig_serves_within(&r, 1000, RECOVERY));
    free(jobs);
    rig_down(&r);
}

static void sqlc_repeats_a_group_whose_commit_failed(void **state)
{
    (void)state;
    struct rig r;
    rig_up(&r);
    rig_open(&r, NULL);
    struct rig_job *jobs = rig_jobs(&r, 20, rig_insert);
    sqlc_test_fail(r.db, 1, SQLITE_ERROR);
    rig_write_all(&r, jobs, 20);
    rig_wait(jobs, 20);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(jobs[i].job.op.err.code, EC_OK);
        assert_int_equal(jobs[i].runs, 2);
    }
    assert_int_equal(rig_count(&r), 20);
    free(jobs);
    rig_down(&r);
}

static void sqlc_readers_reopen_after_an_error(void **state)
{
    (void)state;
    struct rig r;
    rig_up(&r);
    rig_open(&r, &(struct sqlc_conf){.readers = 1});
    assert_int_equal(rig_write(&r, 1), EC_OK);
    for (int round = 0; round < 3; round++) {
        struct rig_job *j = rig_jobs(&r, 1, rig_select_count);
        sqlc_test_fail_step(r.db, 1, round == 1 ? SQLITE_CORRUPT : SQLITE_IOERR_READ);
        sqlc_read(r.db, &j->job);
        rig_wait(j, 1);
        assert_int_equal(j->job.op.err.code, round == 1 ? EC_CORRUPT : EC_UNAVAILABLE);
        assert_true(sqlc_healthy(r.db)); /* the writer is not concerned */
        assert_int_equal(rig_count(&r), 1);
        free(j);
    }
    rig_down(&r);
}

static _Atomic int opens;

static enum ec count_opens(struct sqlc *db, void *arg, struct err *err)
{
    (void)arg, (void)err;
    struct rig_job j = {.key = -100 - opens};
    opens++;
    return rig_insert(db, &j);
}

static void sqlc_calls_opened_again_and_closes_while_down(void **state)
{
    (void)state;
    struct rig r;
    rig_up(&r);
    opens = 0;
    rig_open(&r, &(struct sqlc_conf){.readers = 1, .opened = count_opens});
    assert_int_equal(opens, 1);
    sqlc_test_fail(r.db, 1, SQLITE_FULL);
    assert_int_equal(rig_write(&r, 1), EC_UNAVAILABLE);
    assert_true(rig_serves_within(&r, 2, RECOVERY));
    assert_int_equal(opens, 2);
    sqlc_test_fail(r.db, 1, SQLITE_FULL);
    struct rig_job *jobs = rig_jobs(&r, 600, rig_insert);
    rig_write_all(&r, jobs, 600);
    sqlc_close(r.db);
    r.db = NULL;
    rig_wait(jobs, 600);
    for (int i = 0; i < 600; i++) {
        assert_int_equal(jobs[i].job.op.err.code, EC_UNAVAILABLE);
    }
    free(jobs);
    rig_down(&r);
}

#endif

int sqlc_fault_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sqlc_survives_sigkill),
        cmocka_unit_test_teardown(sqlc_gets_over_a_full_disk, unmount),
#ifdef OUTRIDER_TEST_BUILD
        cmocka_unit_test(sqlc_reopens_after_a_failed_sync),
        cmocka_unit_test(sqlc_fails_all_that_waits_on_an_io_error),
        cmocka_unit_test(sqlc_repeats_a_group_whose_commit_failed),
        cmocka_unit_test(sqlc_readers_reopen_after_an_error),
        cmocka_unit_test(sqlc_calls_opened_again_and_closes_while_down),
#endif
    };
    return cmocka_run_group_tests_name("sqlc faults", tests, NULL, NULL);
}
