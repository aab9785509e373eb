/* Prepared statements by the address of their text, binding and stepping.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/sqlc_priv.h"
#include "util/log.h"

static _Thread_local struct sqlc_conn *current;

void sqlc_set_conn(struct sqlc_conn *c)
{
    current = c;
}

struct sqlc_conn *sqlc_conn_current(void)
{
    assert(current);
    return current;
}

sqlite3 *sqlc_handle(struct sqlc *db)
{
    (void)db;
    return sqlc_conn_current()->db;
}

enum ec sqlc_check(struct sqlc *db, int rc)
{
    (void)db;
    enum ec ec = sqlc_ec(rc);
    if (ec == EC_OK || ec == EC_CONFLICT) {
        return ec;
    }
    struct sqlc_conn *c = sqlc_conn_current();
    if (c->bad == SQLITE_OK) {
        c->bad = rc;
    }
    return ec;
}

void sqlc_reset_all(struct sqlc_conn *c)
{
    for (sqlite3_stmt *st = NULL; (st = sqlite3_next_stmt(c->db, st));) {
        if (sqlite3_stmt_busy(st)) {
            sqlite3_reset(st);
        }
    }
}

/* One step, or the fault that a test has ordered. */
static int step(struct sqlc *db, sqlite3_stmt *st)
{
#ifdef OUTRIDER_TEST_BUILD
    if (db && atomic_load_explicit(&db->fail_step, memory_order_relaxed) > 0 &&
        atomic_fetch_sub(&db->fail_step, 1) == 1) {
        return atomic_load(&db->fail_step_code);
    }
#endif
    (void)db;
    return sqlite3_step(st);
}

sqlite3_stmt *sqlc_stmt(struct sqlc *db, const char *sql)
{
    struct sqlc_conn *c = sqlc_conn_current();
    size_t i = ((uintptr_t)sql >> 3) % STMT_SLOTS;
    for (size_t n = 0; c->stmts[i].sql && n < STMT_SLOTS; n++, i = (i + 1) % STMT_SLOTS) {
        if (c->stmts[i].sql == sql) {
            sqlite3_reset(c->stmts[i].st);
            sqlite3_clear_bindings(c->stmts[i].st);
            return c->stmts[i].st;
        }
    }
    assert(!c->stmts[i].sql); /* more different statements than slots: a bug */
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v3(c->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &st, NULL);
    if (rc != SQLITE_OK) {
        log_line(LOG_ERROR, "statement could not be prepared", lz("error", sqlite3_errmsg(c->db)),
                 lz("sql", sql));
        sqlc_check(db, rc);
        return NULL; /* SQLite's bind and step functions answer NULL with SQLITE_MISUSE */
    }
    c->stmts[i] = (struct sqlc_stmt_slot){sql, st};
    return st;
}

enum ec sqlc_exec(struct sqlc *db, sqlite3_stmt *st)
{
    if (!st) {
        return EC_UNAVAILABLE;
    }
    int rc = step(db, st);
    sqlite3_reset(st);
    return sqlc_check(db, rc);
}

bool sqlc_row(struct sqlc *db, sqlite3_stmt *st)
{
    if (!st) {
        return false;
    }
    int rc = step(db, st);
    if (rc == SQLITE_ROW) {
        return true;
    }
    sqlite3_reset(st);
    sqlc_check(db, rc);
    return false;
}

void sqlc_bind(sqlite3_stmt *st, int at, struct str s)
{
    sqlite3_bind_text(st, at, s.n ? s.p : "", (int)s.n, SQLITE_STATIC);
}

void sqlc_bind_blob(sqlite3_stmt *st, int at, struct str s)
{
    sqlite3_bind_blob(st, at, s.n ? s.p : "", (int)s.n, SQLITE_STATIC);
}

struct str sqlc_text(sqlite3_stmt *st, int col)
{
    const void *p = sqlite3_column_blob(st, col);
    return (struct str){p, p ? (size_t)sqlite3_column_bytes(st, col) : 0};
}

void sqlc_conn_close(struct sqlc_conn *c)
{
    for (size_t i = 0; i < STMT_SLOTS; i++) {
        sqlite3_finalize(c->stmts[i].st);
        c->stmts[i] = (struct sqlc_stmt_slot){NULL, NULL};
    }
    if (c->db) {
        sqlite3_close_v2(c->db);
    }
    c->db = NULL;
    c->bad = SQLITE_OK;
    c->deadline = 0;
}

enum ec sqlc_conn_open(const char *path, enum sqlc_open_how how, bool sync_full, unsigned cache_kib,
                       struct sqlc_conn **out, struct err *err)
{
    struct sqlc_conn *c = xcalloc(1, sizeof(*c));
    int flags =
        SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE | (how == SQLC_CREATE ? SQLITE_OPEN_CREATE : 0);
    int rc = sqlite3_open_v2(path, &c->db, flags, NULL);
    char setup[256];
    snprintf(setup, sizeof(setup),
             "PRAGMA busy_timeout=5000; PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA "
             "synchronous=%s;"
             "PRAGMA cache_size=-%u; PRAGMA temp_store=MEMORY; PRAGMA wal_autocheckpoint=0;%s",
             sync_full ? "FULL" : "NORMAL", cache_kib,
             how == SQLC_READ ? "PRAGMA query_only=1;" : "");
    if (rc == SQLITE_OK) {
        rc = sqlite3_exec(c->db, setup, NULL, NULL, NULL);
    }
    if (rc != SQLITE_OK) {
        bool damaged = (rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB;
        enum ec ec =
            err_set(err, damaged ? EC_CORRUPT : EC_UNAVAILABLE, "%s: %s", path, sqlite3_errstr(rc));
        sqlc_conn_free(c);
        return ec;
    }
    *out = c;
    return EC_OK;
}

void sqlc_conn_free(struct sqlc_conn *c)
{
    if (c) {
        sqlc_conn_close(c);
        free(c);
    }
}

void sqlc_conn_use(struct sqlc_conn *c)
{
    sqlc_set_conn(c);
}

enum ec sqlc_conn_exec(struct sqlc_conn *c, const char *sql)
{
    int rc = sqlite3_exec(c->db, sql, NULL, NULL, NULL);
    if (rc != SQLITE_OK && c->bad == SQLITE_OK) {
        c->bad = rc;
    }
    return rc == SQLITE_OK ? EC_OK : EC_UNAVAILABLE;
}

int sqlc_conn_error(struct sqlc_conn *c)
{
    int bad = c->bad;
    c->bad = SQLITE_OK;
    return bad;
}
