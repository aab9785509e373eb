/* The embedded queue's siblings in the same file: idempotency claims, streaks, and the schedule's cancel.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "queue/embedded_priv.h"
#include "util/hash.h"

#define SWEEP_EVERY (1 * USEC_PER_SEC)

/* Takes the claim when it is free or has run out. */
enum ec embedded_claim(struct sqlc *db, const uint8_t key[16], usec_t until, bool *out_mine)
{
    usec_t now = wall_now();
    sqlite3_stmt *st = sqlc_stmt(db, "INSERT INTO claim(key, until, done) VALUES(?,?,1) ON CONFLICT(key) DO UPDATE"
                                     " SET until=excluded.until, done=1 WHERE claim.until <= ?");
    sqlite3_bind_blob(st, 1, key, 16, SQLITE_STATIC);
    sqlite3_bind_int64(st, 2, until);
    sqlite3_bind_int64(st, 3, now);
    enum ec ec = sqlc_exec(db, st);
    *out_mine = ec == EC_OK && sqlite3_changes(sqlc_handle(db)) > 0;
    if (ec || !*out_mine) {
        return ec;
    }
    /* Each new claim takes a few dead ones away: the table stays as large as its living part. */
    st = sqlc_stmt(db, "DELETE FROM claim WHERE key IN (SELECT key FROM claim WHERE until <= ? LIMIT 2)");
    sqlite3_bind_int64(st, 1, now);
    return sqlc_exec(db, st);
}

/* ---- streak ---- */

static struct str note_key(struct arena *a, struct str tenant_id, struct str destination_id)
{
    return arena_printf(a, "%.*s\x1f%.*s", STR_ARG(tenant_id), STR_ARG(destination_id));
}

void embedded_note_streak(struct embedded *e, struct str tenant_id, struct str destination_id, int64_t count)
{
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    struct str key = note_key(&a, tenant_id, destination_id);
    pthread_mutex_lock(&e->lock);
    struct streak_note *n = map_get(&e->streaks, key);
    if (count == 0 && n) {
        map_del(&e->streaks, key);
        free(n);
    } else if (count && !n) {
        n = xcalloc(1, sizeof(*n) + key.n);
        memcpy(n->key, key.p, key.n);
        map_put(&e->streaks, (struct str){n->key, key.n}, n);
    }
    if (count && n) {
        n->count = count;
    }
    pthread_mutex_unlock(&e->lock);
}

static bool is_clear(struct streak *s, struct str tenant_id, struct str destination_id)
{
    struct embedded *e = CONTAINER_OF(s, struct embedded, streak);
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    pthread_mutex_lock(&e->lock);
    bool clear = e->streaks.count == 0 || !map_get(&e->streaks, note_key(&a, tenant_id, destination_id));
    pthread_mutex_unlock(&e->lock);
    return clear;
}

struct streak_job {
    struct sqlc_job job;
    struct embedded *e;
    struct streak_add *add;
    struct streak_clear *clear;
};

static enum ec streak_run(struct sqlc *db, struct sqlc_job *job)
{
    struct streak_job *j = CONTAINER_OF(job, struct streak_job, job);
    sqlite3_stmt *st;
    if (j->clear) {
        st = sqlc_stmt(db, "DELETE FROM streak WHERE tenant=? AND dest=?");
        sqlc_bind(st, 1, j->clear->tenant_id);
        sqlc_bind(st, 2, j->clear->destination_id);
        return sqlc_exec(db, st);
    }
    st = sqlc_stmt(db, "INSERT INTO streak(tenant, dest, count) VALUES(?,?,1)"
                       " ON CONFLICT(tenant, dest) DO UPDATE SET count=count+1 RETURNING count");
    sqlc_bind(st, 1, j->add->tenant_id);
    sqlc_bind(st, 2, j->add->destination_id);
    j->add->count = sqlc_row(db, st) ? sqlite3_column_int64(st, 0) : 0;
    sqlite3_reset(st);
    return EC_OK;
}

static void streak_done(struct op *op)
{
    struct streak_job *j = CONTAINER_OF(op, struct streak_job, job.op);
    if (!op->err.code && j->clear) {
        embedded_note_streak(j->e, j->clear->tenant_id, j->clear->destination_id, 0);
    } else if (!op->err.code) {
        embedded_note_streak(j->e, j->add->tenant_id, j->add->destination_id, j->add->count);
    }
    op_finish(j->clear ? &j->clear->op : &j->add->op, op->err.code, op->err.text);
    free(j);
}

static void streak_submit(struct streak *s, struct streak_add *add, struct streak_clear *clear)
{
    struct streak_job *j = xcalloc(1, sizeof(*j));
    j->e = CONTAINER_OF(s, struct embedded, streak);
    j->add = add;
    j->clear = clear;
    j->job = (struct sqlc_job){.op = {.done = streak_done, .io = add ? add->op.io : clear->op.io}, .run = streak_run};
    sqlc_write(j->e->db, &j->job);
}

static void add(struct streak *s, struct streak_add *rq)
{
    streak_submit(s, rq, NULL);
}

static void clear(struct streak *s, struct streak_clear *rq)
{
    streak_submit(s, NULL, rq);
}

static const struct streak_ops streak_ops = {.name = "embedded", .add = add, .clear = clear, .is_clear = is_clear};

void embedded_marks_init(struct embedded *e)
{
    e->streak.ops = &streak_ops;
}

struct streak *queue_embedded_streak(struct queue *q)
{
    return &embedded_of(q)->streak;
}

void streak_add(struct streak *s, struct streak_add *rq)
{
    s->ops->add(s, rq);
}

void streak_clear(struct streak *s, struct streak_clear *rq)
{
    s->ops->clear(s, rq);
}

bool streak_is_clear(struct streak *s, struct str tenant_id, struct str destination_id)
{
    return s->ops->is_clear && s->ops->is_clear(s, tenant_id, destination_id);
}
