/* Checkpoints. The bulk of a grown log is moved into the file by a helper thread with a connection
 * of its own, while commits go on; what was written meanwhile is little, and the writer moves it
 * between two groups. Then nothing is left in the log and the next commit starts it over.
 * Neighbour: sqlc_write.c. SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdlib.h>

#include "io/sqlc_priv.h"

/* Bytes of log: from WAL_START a checkpoint begins (starting later lengthens the stalls and gains
 * nothing); from WAL_MOST the writer waits for readers, CUT_WAIT_MS at most, once per second; from
 * WAL_HARD it waits for the helper. */
#define WAL_START (16 * 1024 * 1024)
#define WAL_MOST (64 * 1024 * 1024)
#define WAL_HARD (256 * 1024 * 1024)
#define REST_PAGES 500 /* what the writer moves itself; more goes to the helper again */
#define ROUNDS_MOST 3
#define CUT_WAIT_MS 200
#define CUT_PAUSE NSEC_PER_SEC
#define BUSY_MS 5000

static int on_commit(void *arg, sqlite3 *h, const char *name, int pages)
{
    (void)h, (void)name;
    struct sqlc *db = arg;
    if (pages < db->wal.pages) { /* it has started over */
        db->wal.next = WAL_START / db->wal.page_size;
    }
    db->wal.pages = pages;
    return SQLITE_OK;
}

static int note_int(void *arg, int n, char **values, char **names)
{
    (void)n, (void)names;
    *(int *)arg = values[0] ? (int)strtol(values[0], NULL, 10) : 0;
    return 0;
}

void sqlc_wal_begin(struct sqlc *db)
{
    struct sqlc_wal *w = &db->wal;
    w->page_size = 0;
    sqlite3_exec(db->writer.conn.db, "PRAGMA page_size", note_int, &w->page_size, NULL);
    w->page_size = MAX(w->page_size, 512);
    w->pages = 0;
    w->next = WAL_START / w->page_size;
    w->rounds = 0;
    w->cut_at = 0;
    sqlite3_wal_hook(db->writer.conn.db, on_commit, db);
}

static void *help(void *arg)
{
    struct sqlc *db = arg;
    struct sqlc_wal *w = &db->wal;
    struct sqlc_conn c = {0};
    int all = 0;
    pthread_setname_np(pthread_self(), "sqlite-wal");
    w->rc = SQLITE_BUSY; /* could not be opened: the writer does it */
    w->done = 0;
    if (sqlc_role_open(db, &c, SQLC_HELPER, NULL) == EC_OK) {
        sqlite3_db_config(c.db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        w->rc = sqlite3_wal_checkpoint_v2(c.db, NULL, SQLITE_CHECKPOINT_PASSIVE, &all, &w->done);
    }
    sqlc_conn_close(&c);
    atomic_store(&w->moved, true);
    return NULL;
}

/* False: there is no thread to be had. */
static bool start_helper(struct sqlc *db)
{
    struct sqlc_wal *w = &db->wal;
    atomic_store(&w->moved, false);
    w->running = pthread_create(&w->helper, NULL, help, db) == 0;
    w->helped += w->running;
    return w->running;
}

static void join_helper(struct sqlc_wal *w)
{
    pthread_join(w->helper, NULL);
    w->running = false;
}

/* Waits a little for readers of the old log, so that the next commit can start it over. */
static int cut(struct sqlc *db)
{
    sqlite3 *h = db->writer.conn.db;
    sqlite3_busy_timeout(h, CUT_WAIT_MS);
    int rc = sqlite3_wal_checkpoint_v2(h, NULL, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
    sqlite3_busy_timeout(h, BUSY_MS);
    db->wal.cut_at = mono_now() + CUT_PAUSE;
    return rc;
}

static int finish(struct sqlc *db)
{
    struct sqlc_wal *w = &db->wal;
    int all = 0, done = 0;
    int rc =
        sqlite3_wal_checkpoint_v2(db->writer.conn.db, NULL, SQLITE_CHECKPOINT_PASSIVE, &all, &done);
    w->rounds = 0;
    w->next = w->pages + WAL_START / w->page_size / 4; /* unless it starts over */
    if (rc == SQLITE_OK && w->pages > WAL_MOST / w->page_size && mono_now() >= w->cut_at) {
        rc = cut(db);
    }
    return rc;
}

int sqlc_wal_tend(struct sqlc *db)
{
    struct sqlc_wal *w = &db->wal;
    int rc = SQLITE_OK;
    if (w->running) {
        if (!atomic_load(&w->moved) && w->pages < WAL_HARD / w->page_size) {
            return SQLITE_OK;
        }
        join_helper(w);
        rc = w->rc;
        if (!sqlc_is_outage(rc) && (w->pages - w->done <= REST_PAGES || w->rounds >= ROUNDS_MOST)) {
            rc = finish(db);
        } else if (!sqlc_is_outage(rc)) {
            w->rounds++;
            rc = start_helper(db) ? SQLITE_OK : finish(db);
        }
    } else if (w->pages >= w->next) {
        w->rounds = 1;
        rc = start_helper(db) ? SQLITE_OK : finish(db);
    }
    return sqlc_is_outage(rc) ? rc : SQLITE_OK;
}

void sqlc_wal_end(struct sqlc *db)
{
    if (db->wal.running) {
        join_helper(&db->wal);
    }
}
