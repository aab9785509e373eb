/* Shared by sqlc.c (threads, groups, reopening) and sqlc_stmt.c (statements). SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_IO_SQLC_PRIV_H
#define OUTRIDER_IO_SQLC_PRIV_H

#include <pthread.h>

#include "io/sqlc.h"

#define STMT_SLOTS 128

struct sqlc_stmt_slot {
    const char *sql;
    sqlite3_stmt *st;
};

/* One connection and what belongs to it; only its thread touches it. */
struct sqlc_conn {
    sqlite3 *db;
    int bad; /* the first SQLite error noted since the group began; SQLITE_OK = none */
    struct sqlc_stmt_slot stmts[STMT_SLOTS];
};

struct sqlc_thread {
    struct sqlc *owner;
    pthread_t thread;
    struct sqlc_conn conn;
    bool started;
};

#define READERS_MOST 8

struct sqlc {
    struct sqlc_conf conf;
    char *path;
    pthread_mutex_t lock;
    pthread_cond_t writer_wake, reader_wake;
    struct list writes, reads; /* op.link of jobs */
    size_t write_count;
    bool closing;
    _Atomic bool healthy;
    struct sqlc_thread writer, readers[READERS_MOST];
    nsec_t backoff;
    uint64_t groups; /* transactions so far */
    _Atomic int fail_countdown, fail_code; /* tests: the nth commit from now fails */
};

void sqlc_conn_close(struct sqlc_conn *c);
struct sqlc_conn *sqlc_conn_current(void); /* of the calling database thread */
void sqlc_set_conn(struct sqlc_conn *c);

#endif
