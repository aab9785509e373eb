/* Prepared statements by the address of their text, binding and stepping. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "io/sqlc_priv.h"
#include "util/log.h"

static _Thread_local struct sqlc_conn *current;

void sqlc_set_conn(struct sqlc_conn *c)
{
    current = c;
}

struct sqlc_conn *sqlc_conn(struct sqlc *db)
{
    (void)db;
    assert(current);
    return current;
}

sqlite3 *sqlc_handle(struct sqlc *db)
{
    return sqlc_conn(db)->db;
}

enum ec sqlc_check(struct sqlc *db, int rc)
{
    int kind = rc & 0xff;
    if (kind == SQLITE_OK || kind == SQLITE_ROW || kind == SQLITE_DONE) {
        return EC_OK;
    }
    if (kind == SQLITE_CONSTRAINT) {
        return EC_CONFLICT;
    }
    struct sqlc_conn *c = sqlc_conn(db);
    if (c->bad == SQLITE_OK) {
        c->bad = rc;
    }
    return kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB ? EC_CORRUPT : EC_UNAVAILABLE;
}

sqlite3_stmt *sqlc_stmt(struct sqlc *db, const char *sql)
{
    struct sqlc_conn *c = sqlc_conn(db);
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
        log_line(LOG_ERROR, "statement could not be prepared", lz("error", sqlite3_errmsg(c->db)), lz("sql", sql));
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
    int rc = sqlite3_step(st);
    sqlite3_reset(st);
    return sqlc_check(db, rc);
}

bool sqlc_row(struct sqlc *db, sqlite3_stmt *st)
{
    if (!st) {
        return false;
    }
    int rc = sqlite3_step(st);
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
}
