/* Reader threads: one queue, a connection each, one snapshot per job. A connection that met an
 * error of the file is closed and opened again for the next job. Reads that outlast their deadline
 * are interrupted, so that none keeps the write-ahead log from starting over.
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/sqlc_priv.h"

#define READ_MOST (30 * NSEC_PER_SEC) /* for jobs without a deadline */

static bool ensure_open(struct sqlc *db, struct sqlc_conn *c, struct err *err)
{
    if (c->db && !sqlc_is_outage(c->bad)) {
        c->bad = SQLITE_OK;
        return true;
    }
    sqlc_conn_close(c);
    return sqlc_role_open(db, c, SQLC_READER, err) == EC_OK;
}

static void read_one(struct sqlc *db, struct sqlc_conn *c, struct op *op)
{
    struct err err = {0};
    if (!ensure_open(db, c, &err)) {
        op_finish(op, err.code, err.text);
        return;
    }
    c->deadline = op->deadline ? op->deadline : mono_now() + READ_MOST;
    c->bad = sqlc_sql(c, "BEGIN");
    if (!c->bad) {
        sqlc_run_job(db, op);
        c->deadline = 0;
        sqlc_reset_all(c);
        int rc = sqlc_sql(c, "COMMIT");
        c->bad = c->bad ? c->bad : rc;
    }
    if (c->bad) {
        err_set(&op->err, sqlc_ec(c->bad), "%s", sqlite3_errstr(c->bad));
    }
    op_complete(op);
}

void *sqlc_reader_main(void *arg)
{
    struct sqlc_thread *t = arg;
    struct sqlc *db = t->owner;
    pthread_setname_np(pthread_self(), "sqlite-read");
    sqlc_set_conn(&t->conn);
    pthread_mutex_lock(&db->lock);
    for (;;) {
        while (list_empty(&db->reads) && !db->closing) {
            pthread_cond_wait(&db->reader_wake, &db->lock);
        }
        struct list *l = list_pop(&db->reads);
        if (!l) {
            break;
        }
        db->read_count--;
        pthread_mutex_unlock(&db->lock);
        read_one(db, &t->conn, CONTAINER_OF(l, struct op, link));
        pthread_mutex_lock(&db->lock);
    }
    pthread_mutex_unlock(&db->lock);
    return NULL;
}
