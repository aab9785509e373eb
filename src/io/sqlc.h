/* SQLite behind a thread of its own: one writer thread per file with group commit, and reader threads with
 * connections of their own (WAL). Jobs come by submit, run on the database thread, and complete on the submitter's
 * loop after their transaction is on disk. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_IO_SQLC_H
#define OUTRIDER_IO_SQLC_H

#include <sqlite3.h>

#include "io/loop.h"

struct sqlc;

struct sqlc_job {
    struct op op;
    /* Runs on the database thread inside the group's transaction (writers) or on a reader. Returns EC_OK, or an error that
     * concerns this job alone; what it has changed by then is rolled back. A SQLite error noted with sqlc_check(), or
     * an error after changing rows, aborts the group and its jobs run again one by one, so run() must be repeatable.
     * A write that fails with EC_UNAVAILABLE is not known to be on disk. op.deadline: a write that waits longer is not
     * begun, a read is interrupted (EC_TIMEOUT); 0 = none for writes, 30 s for reads. */
    enum ec (*run)(struct sqlc *db, struct sqlc_job *job);
};

struct sqlc_conf {
    const char *path;
    const char *schema;      /* SQL run at open, idempotent; user_version migrations are the room's own */
    unsigned readers;        /* reader threads; 0 = reads run on the writer */
    unsigned cache_kib;      /* page cache of the writer */
    unsigned group_max;      /* jobs per transaction at most; 0 = 512 */
    unsigned backlog_max;    /* writes not finished, and reads waiting; beyond it EC_UNAVAILABLE; 0 = 200000 */
    bool sync_full;          /* synchronous=FULL, else NORMAL */
    bool create;             /* false: the file must exist */
    /* optional: runs on the writer thread before the first job and after each reopen: prepare statements, load state */
    enum ec (*opened)(struct sqlc *db, void *arg, struct err *err); /* sqlc_stmt etc. work */
    void *arg;
};

/* Blocks (main thread, before loops run). EC_CORRUPT: not a database or damaged; EC_UNAVAILABLE: cannot open. */
enum ec sqlc_open(const struct sqlc_conf *conf, struct sqlc **out, struct err *err) MUST_CHECK;
void sqlc_close(struct sqlc *db); /* finishes what is queued, checkpoints, joins the threads */
void sqlc_write(struct sqlc *db, struct sqlc_job *job);
void sqlc_write_list(struct sqlc *db, struct list *jobs); /* links are op.link; one lock, one wake-up */
void sqlc_read(struct sqlc *db, struct sqlc_job *job);
/* An I/O error, a full disk or a failed sync refuses new writes with EC_UNAVAILABLE; the file is closed, reopened with
 * backoff (at most 2 s apart) and serves again by itself. True while it serves. Any thread. */
bool sqlc_healthy(struct sqlc *db);
const char *sqlc_path(const struct sqlc *db);

/* For run(): on the job's database thread. */
sqlite3 *sqlc_handle(struct sqlc *db);
/* A prepared statement kept per connection, keyed by the address of sql (use string constants). Reset, bindings cleared. */
sqlite3_stmt *sqlc_stmt(struct sqlc *db, const char *sql);
/* Steps a statement that returns no rows; notes the code. Returns EC_OK, EC_CONFLICT on a constraint, else EC_UNAVAILABLE. */
enum ec sqlc_exec(struct sqlc *db, sqlite3_stmt *st);
/* Steps a query: true while there is a row; notes errors. */
bool sqlc_row(struct sqlc *db, sqlite3_stmt *st);
void sqlc_bind(sqlite3_stmt *st, int at, struct str s);      /* text, not copied: must outlive the step */
void sqlc_bind_blob(sqlite3_stmt *st, int at, struct str s);
struct str sqlc_text(sqlite3_stmt *st, int col);             /* valid until the next step */
enum ec sqlc_check(struct sqlc *db, int rc);                 /* notes rc; the group is aborted when it is an error */

/* Connections without a thread of their own, for rooms that keep many files (the log's segments). The calling thread uses
 * one at a time: sqlc_conn_use names it, then sqlc_stmt(NULL, ...) and its kin work on it. */
struct sqlc_conn;
enum sqlc_open_how { SQLC_READ, SQLC_WRITE, SQLC_CREATE };
enum ec sqlc_conn_open(const char *path, enum sqlc_open_how how, bool sync_full, unsigned cache_kib, struct sqlc_conn **out, struct err *err) MUST_CHECK;
void sqlc_conn_free(struct sqlc_conn *c);
void sqlc_conn_use(struct sqlc_conn *c);
enum ec sqlc_conn_exec(struct sqlc_conn *c, const char *sql); /* plain SQL; notes errors */
int sqlc_conn_error(struct sqlc_conn *c);                     /* the first SQLite error noted since the last call; clears it */

/* Brings a file's tables to the form of this release, e.g. from `opened`: steps[i] is the SQL from form i to i + 1, each in
 * a transaction of its own with PRAGMA user_version. EC_INVALID when the file is of a newer release. */
enum ec sqlc_migrate(sqlite3 *h, const char *const steps[], int n, struct err *err) MUST_CHECK;

#ifdef OUTRIDER_TEST_BUILD
void sqlc_test_fail(struct sqlc *db, int nth, int code);      /* the nth commit from now fails with a SQLite code */
void sqlc_test_fail_step(struct sqlc *db, int nth, int code); /* the nth sqlc_exec or sqlc_row, on any thread */
#endif

#endif
