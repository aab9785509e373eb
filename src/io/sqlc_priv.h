/* Shared by the files behind sqlc.h: sqlc.c (life, submitting), sqlc_conn.c (opening a connection),
 * sqlc_stmt.c (statements), sqlc_write.c (groups, outages), sqlc_read.c (readers), sqlc_wal.c
 * (checkpoints). SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_IO_SQLC_PRIV_H
#define OUTRIDER_IO_SQLC_PRIV_H

#include <pthread.h>

#include "io/sqlc.h"

#define STMT_SLOTS 128
#define READERS_MOST 8

struct sqlc_stmt_slot {
    const char *sql;
    sqlite3_stmt *st;
};

/* One connection and what belongs to it; only its thread touches it. */
struct sqlc_conn {
    sqlite3 *db;
    int bad; /* the first SQLite error noted since the group or the read began; SQLITE_OK = none */
    nsec_t deadline; /* of the read under way; 0 = none */
    struct sqlc_stmt_slot stmts[STMT_SLOTS];
};

struct sqlc_thread {
    struct sqlc *owner;
    pthread_t thread;
    struct sqlc_conn conn;
    bool started;
};

/* The write-ahead log as the writer sees it. The helper thread lives for one checkpoint. */
struct sqlc_wal {
    int page_size;
    int pages;     /* in the log at the last commit */
    int next;      /* from this many on a checkpoint begins */
    int rounds;    /* of the helper since the last finish */
    nsec_t cut_at; /* the writer waits for readers not before */
    pthread_t helper;
    bool running;       /* the helper has to be joined */
    _Atomic bool moved; /* the helper is through; rc and done hold after the join */
    int rc, done;
    uint64_t helped; /* helper runs, for tests */
};

struct sqlc {
    struct sqlc_conf conf;
    char *path;
    bool served; /* opened once: the file is not created again */
    pthread_mutex_t lock;
    pthread_cond_t writer_wake, reader_wake;
    struct list writes, reads;      /* op.link of jobs */
    size_t write_count, read_count; /* jobs submitted and not yet finished; reads: not yet taken */
    bool closing;
    _Atomic bool healthy;
    struct sqlc_thread writer, readers[READERS_MOST];
    struct sqlc_wal wal; /* the writer's */
    nsec_t backoff, reopen_at;
    _Atomic uint64_t groups; /* transactions begun */
    _Atomic int fail_commit, fail_commit_code, fail_step,
        fail_step_code; /* test builds: countdowns */
};

/* sqlc_conn.c */
enum sqlc_role { SQLC_WRITER, SQLC_READER, SQLC_HELPER };
enum ec sqlc_role_open(struct sqlc *db, struct sqlc_conn *c, enum sqlc_role role,
                       struct err *err) MUST_CHECK;
int sqlc_sql(struct sqlc_conn *c, const char *sql);
/* Errors of the file or its disk, not of one job: the connection is not to be used further. */
bool sqlc_is_outage(int rc);
enum ec sqlc_ec(int rc); /* a SQLite code in our words */

/* sqlc_stmt.c */
void sqlc_conn_close(struct sqlc_conn *c);
struct sqlc_conn *sqlc_conn_current(void); /* of the calling database thread */
void sqlc_set_conn(struct sqlc_conn *c);
void sqlc_reset_all(
    struct sqlc_conn *c); /* statements that a job left open: they would hold a snapshot */

/* sqlc.c */
void sqlc_run_job(struct sqlc *db, struct op *op); /* op->err holds the result */
void sqlc_complete(struct list *jobs);             /* grouped by loop, one wake-up each */
void sqlc_fail(struct list *jobs, enum ec ec, const char *text);

/* sqlc_write.c */
enum ec sqlc_writer_open(struct sqlc *db, struct err *err) MUST_CHECK;
void *sqlc_writer_main(void *arg);

/* sqlc_read.c */
void *sqlc_reader_main(void *arg);

/* sqlc_wal.c, on the writer: after the connection opened, after each group, before it closes */
void sqlc_wal_begin(struct sqlc *db);
int sqlc_wal_tend(struct sqlc *db); /* SQLITE_OK, or the code of an outage */
void sqlc_wal_end(struct sqlc *db);

#endif
