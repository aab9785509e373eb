/* How a connection is opened and set up, and what SQLite's codes mean to us. Not here: statements
 * (sqlc_stmt.c). SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "io/sqlc_priv.h"

#define BUSY_MS 5000
#define CACHE_KIB 2048
#define WAL_KEEP (64 * 1024 * 1024) /* the log file is cut to this when it starts over */
#define PROGRESS_STEPS 20000        /* instructions between two looks at a read's deadline */

bool sqlc_is_outage(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_NOMEM:
    case SQLITE_PROTOCOL:
        return true;
    default:
        return false;
    }
}

enum ec sqlc_ec(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return EC_OK;
    case SQLITE_CONSTRAINT:
        return EC_CONFLICT;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return EC_CORRUPT;
    case SQLITE_INTERRUPT:
        return EC_TIMEOUT;
    default:
        return EC_UNAVAILABLE;
    }
}

int sqlc_sql(struct sqlc_conn *c, const char *sql)
{
    return sqlite3_exec(c->db, sql, NULL, NULL, NULL);
}

static int past_deadline(void *arg)
{
    struct sqlc_conn *c = arg;
    return c->deadline && mono_now() > c->deadline;
}

static int note_mode(void *arg, int n, char **values, char **names)
{
    (void)names;
    *(bool *)arg = n == 1 && values[0] && sqlite3_stricmp(values[0], "wal") == 0;
    return 0;
}

/* Where shared memory does not work SQLite stays in another mode without an error. */
static int set_wal(struct sqlc_conn *c)
{
    bool is_wal = false;
    int rc = sqlite3_exec(c->db, "PRAGMA journal_mode=WAL", note_mode, &is_wal, NULL);
    return rc != SQLITE_OK || is_wal ? rc : SQLITE_CANTOPEN;
}

static int set_up(struct sqlc *db, struct sqlc_conn *c, enum sqlc_role role)
{
    unsigned cache = db->conf.cache_kib ? db->conf.cache_kib : CACHE_KIB;
    char text[400];
    snprintf(text, sizeof(text),
             "PRAGMA synchronous=%s; PRAGMA cache_size=-%u; PRAGMA temp_store=MEMORY; PRAGMA "
             "mmap_size=0;"
             "PRAGMA foreign_keys=0; PRAGMA wal_autocheckpoint=0; PRAGMA journal_size_limit=%d;%s",
             db->conf.sync_full ? "FULL" : "NORMAL",
             role == SQLC_WRITER ? cache : MIN(cache, (unsigned)CACHE_KIB), WAL_KEEP,
             role == SQLC_READER ? "PRAGMA query_only=1;" : "");
    sqlite3_extended_result_codes(c->db, 1);
    sqlite3_busy_timeout(c->db, BUSY_MS);
    int rc = SQLITE_OK;
    if (role == SQLC_WRITER) {
        rc = sqlc_sql(c, "PRAGMA page_size=8192"); /* of a new file */
    }
    rc = rc ? rc : set_wal(c);
    rc = rc ? rc : sqlc_sql(c, text);
    if (rc == SQLITE_OK && role == SQLC_WRITER && db->conf.schema) {
        rc = sqlc_sql(c, db->conf.schema);
    }
    if (role == SQLC_READER) {
        sqlite3_progress_handler(c->db, PROGRESS_STEPS, past_deadline, c);
    }
    return rc;
}

enum ec sqlc_role_open(struct sqlc *db, struct sqlc_conn *c, enum sqlc_role role, struct err *err)
{
    int flags = SQLITE_OPEN_NOMUTEX;
    flags |= role == SQLC_READER ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    flags |= role == SQLC_WRITER && db->conf.create && !db->served ? SQLITE_OPEN_CREATE : 0;
    int rc = sqlite3_open_v2(db->path, &c->db, flags, NULL);
    if (rc == SQLITE_OK) {
        rc = set_up(db, c, role);
    }
    if (rc == SQLITE_OK) {
        return EC_OK;
    }
    enum ec ec = sqlc_ec(rc) == EC_CORRUPT ? EC_CORRUPT : EC_UNAVAILABLE;
    err_set(err, ec, "%s: %s", db->path, c->db ? sqlite3_errmsg(c->db) : sqlite3_errstr(rc));
    sqlc_conn_close(c);
    return ec;
}
