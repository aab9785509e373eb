/* Embedded store: state.db behind a cache of tenant snapshots that holds everything. Reads take a reference under a read
 * lock and touch no disk; a write is one transaction, whose job publishes the new snapshot and takes it back when the commit
 * fails. Spec: storage.md 9, 11; design.md 3. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>

#include "store/sqlite_priv.h"
#include "util/map.h"

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS tenant(env TEXT NOT NULL, id TEXT NOT NULL, metadata TEXT NOT NULL,"
    " created INTEGER NOT NULL, updated INTEGER NOT NULL, PRIMARY KEY(env, id)) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS tenant_created ON tenant(env, created, id);"
    "CREATE TABLE IF NOT EXISTS dest(env TEXT NOT NULL, tenant TEXT NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL,"
    " topics TEXT NOT NULL, filter TEXT NOT NULL, config TEXT NOT NULL, credentials BLOB NOT NULL, delivery_metadata TEXT,"
    " metadata TEXT, created INTEGER NOT NULL, updated INTEGER NOT NULL, disabled INTEGER NOT NULL,"
    " PRIMARY KEY(env, tenant, id)) WITHOUT ROWID;";

struct state {
    struct store store;
    struct sqlc *db;
    char *path;
    struct secret key;
    pthread_rwlock_t lock;
    struct map tenants; /* env \x1f id -> struct entry */
    bool loaded;
};

/* The cache's slot of a tenant; its key text stays while the slot does. */
struct entry {
    struct tenant *tenant; /* NULL: deleted */
    size_t n;
    char key[];
};

static struct state *state_of(struct store *s)
{
    return CONTAINER_OF(s, struct state, store);
}

static struct str make_key(char *small, size_t room, struct arena *a, struct str env, struct str id)
{
    size_t n = env.n + 1 + id.n;
    char *p = n <= room ? small : arena_alloc(a, n);
    memcpy(p, env.p ? env.p : "", env.n);
    p[env.n] = '\x1f';
    memcpy(p + env.n + 1, id.p ? id.p : "", id.n);
    return (struct str){p, n};
}

/* A reference, or NULL. */
static struct tenant *find(struct state *s, struct str env, struct str id)
{
    char small[256];
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    struct str key = make_key(small, sizeof(small), &a, env, id);
    pthread_rwlock_rdlock(&s->lock);
    struct entry *e = map_get(&s->tenants, key);
    struct tenant *t = e && e->tenant ? tenant_ref(e->tenant) : NULL;
    pthread_rwlock_unlock(&s->lock);
    return t;
}

/* Puts t (a reference, or NULL for "deleted") into the cache; returns the reference that was there. */
static struct tenant *swap(struct state *s, struct str env, struct str id, struct tenant *t)
{
    char small[256];
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    struct str key = make_key(small, sizeof(small), &a, env, id);
    pthread_rwlock_wrlock(&s->lock);
    struct entry *e = map_get(&s->tenants, key);
    struct tenant *before = e ? e->tenant : NULL;
    if (!e && t) {
        e = xcalloc(1, sizeof(*e) + key.n);
        memcpy(e->key, key.p, key.n);
        e->n = key.n;
        map_put(&s->tenants, (struct str){e->key, e->n}, e);
    }
    if (t) {
        e->tenant = t;
    } else if (e) {
        map_del(&s->tenants, key);
        free(e);
    }
    pthread_rwlock_unlock(&s->lock);
    return before;
}

/* ---- writes: one job kind, `change` does the work on the database thread ---- */

struct change {
    struct sqlc_job job;
    struct state *s;
    struct str env, tenant_id;
    enum ec (*make)(struct sqlc *db, struct change *c); /* reads c->before, writes rows, sets c->after */
    struct tenant *before, *after;                      /* references */
    bool published;
    union {
        struct tenant_put *tenant_put;
        struct tenant_del *tenant_del;
        struct dest_put *dest_put;
        struct dest_del *dest_del;
    } rq;
    void (*end)(struct change *c);
};

static enum ec change_run(struct sqlc *db, struct sqlc_job *job)
{
    struct change *c = CONTAINER_OF(job, struct change, job);
    struct state *s = c->s;
    if (c->published) { /* run again after a rollback */
        tenant_unref(swap(s, c->env, c->tenant_id, c->before ? tenant_ref(c->before) : NULL));
        c->published = false;
    }
    tenant_unref(c->before);
    tenant_unref(c->after);
    c->after = NULL;
    c->before = find(s, c->env, c->tenant_id);
    enum ec ec = c->make(db, c);
    if (!ec) {
        tenant_unref(swap(s, c->env, c->tenant_id, c->after ? tenant_ref(c->after) : NULL));
        c->published = true;
    }
    return ec;
}

static void change_done(struct op *op)
{
    struct change *c = CONTAINER_OF(op, struct change, job.op);
    if (op->err.code && c->published) {
        tenant_unref(swap(c->s, c->env, c->tenant_id, c->before ? tenant_ref(c->before) : NULL));
    }
    c->end(c);
    tenant_unref(c->before);
    tenant_unref(c->after);
    free(c);
}

static struct change *change_new(struct store *store, struct op *op, struct str env, struct str tenant_id,
                                 enum ec (*make)(struct sqlc *db, struct change *c), void (*end)(struct change *c))
{
    struct change *c = xcalloc(1, sizeof(*c));
    c->s = state_of(store);
    c->env = env;
    c->tenant_id = tenant_id;
    c->make = make;
    c->end = end;
    c->job = (struct sqlc_job){.op = {.done = change_done, .io = op->io}, .run = change_run};
    return c;
}

static void finish(struct change *c, struct op *op)
{
    op_finish(op, c->job.op.err.code, c->job.op.err.text);
}

static enum ec make_tenant_put(struct sqlc *db, struct change *c)
{
    struct tenant_put *rq = c->rq.tenant_put;
    if (!c->before && rq->must_exist) {
        return EC_NOT_FOUND;
    }
    usec_t now = wall_now();
    struct tenant *t = c->before ? tenant_copy(c->before, 0) : tenant_new();
    c->after = t;
    if (!c->before) {
        t->env = arena_copy(&t->arena, rq->env);
        t->id = arena_copy(&t->arena, rq->id);
        t->created_at = now;
    }
    t->metadata = strmap_copy(&rq->metadata, &t->arena);
    t->updated_at = now;
    return state_write_tenant(db, t);
}

static void end_tenant_put(struct change *c)
{
    struct tenant_put *rq = c->rq.tenant_put;
    if (!c->job.op.err.code) {
        rq->out = tenant_ref(c->after);
        rq->created = c->before == NULL;
    }
    finish(c, &rq->op);
}

static void tenant_put(struct store *s, struct tenant_put *rq)
{
    struct change *c = change_new(s, &rq->op, rq->env, rq->id, make_tenant_put, end_tenant_put);
    c->rq.tenant_put = rq;
    sqlc_write(c->s->db, &c->job);
}

static enum ec make_tenant_del(struct sqlc *db, struct change *c)
{
    if (!c->before) {
        return EC_NOT_FOUND;
    }
    static const char *const sql[] = {"DELETE FROM tenant WHERE env=? AND id=?", "DELETE FROM dest WHERE env=? AND tenant=?"};
    enum ec ec = EC_OK;
    for (size_t i = 0; !ec && i < ARRAY_LEN(sql); i++) {
        sqlite3_stmt *st = sqlc_stmt(db, sql[i]);
        sqlc_bind(st, 1, c->env);
        sqlc_bind(st, 2, c->tenant_id);
        ec = sqlc_exec(db, st);
    }
    return ec;
}

static void end_tenant_del(struct change *c)
{
    finish(c, &c->rq.tenant_del->op);
}

static void tenant_del(struct store *s, struct tenant_del *rq)
{
    struct change *c = change_new(s, &rq->op, rq->env, rq->id, make_tenant_del, end_tenant_del);
    c->rq.tenant_del = rq;
    sqlc_write(c->s->db, &c->job);
}

static size_t place_of(const struct tenant *t, struct str id)
{
    for (size_t i = 0; i < t->dest_count; i++) {
        if (str_eq(t->dests[i]->id, id)) {
            return i;
        }
    }
    return t->dest_count;
}

/* Keeps the snapshot's order: by creation, then id. */
static void insert_sorted(struct tenant *t, struct destination *d)
{
    size_t i = t->dest_count++;
    while (i && (t->dests[i - 1]->created_at > d->created_at ||
                 (t->dests[i - 1]->created_at == d->created_at && str_cmp(t->dests[i - 1]->id, d->id) > 0))) {
        t->dests[i] = t->dests[i - 1];
        i--;
    }
    t->dests[i] = d;
}

static enum ec make_dest_put(struct sqlc *db, struct change *c)
{
    struct dest_put *rq = c->rq.dest_put;
    if (!c->before) {
        return EC_NOT_FOUND;
    }
    size_t at = place_of(c->before, rq->dest->id);
    bool exists = at < c->before->dest_count;
    if (rq->mode == DEST_CREATE) {
        if (exists) {
            return EC_CONFLICT;
        }
        if (rq->max_per_tenant && c->before->dest_count >= rq->max_per_tenant) {
            return EC_LIMIT;
        }
    } else if (!exists) {
        return EC_NOT_FOUND;
    } else if (rq->base && c->before->dests[at] != rq->base) {
        return EC_CONFLICT;
    }
    struct tenant *t = c->after = tenant_copy(c->before, 1);
    if (exists) {
        destination_unref(t->dests[at]);
        t->dests[at] = destination_ref(rq->dest);
    } else {
        insert_sorted(t, destination_ref(rq->dest));
    }
    return state_write_dest(db, &c->s->key, c->env, rq->dest);
}

static struct tenant *maybe_ref(struct tenant *t)
{
    return t ? tenant_ref(t) : NULL;
}

static void end_dest_put(struct change *c)
{
    struct dest_put *rq = c->rq.dest_put;
    if (!c->job.op.err.code) {
        rq->before = maybe_ref(c->before);
        rq->after = maybe_ref(c->after);
    }
    finish(c, &rq->op);
}

static void dest_put(struct store *s, struct dest_put *rq)
{
    struct change *c = change_new(s, &rq->op, rq->env, rq->dest->tenant_id, make_dest_put, end_dest_put);
    c->rq.dest_put = rq;
    sqlc_write(c->s->db, &c->job);
}

static enum ec make_dest_del(struct sqlc *db, struct change *c)
{
    struct dest_del *rq = c->rq.dest_del;
    size_t at = c->before ? place_of(c->before, rq->id) : 0;
    if (!c->before || at == c->before->dest_count) {
        return EC_NOT_FOUND;
    }
    struct tenant *t = c->after = tenant_copy(c->before, 0);
    destination_unref(t->dests[at]);
    memmove(t->dests + at, t->dests + at + 1, (t->dest_count - at - 1) * sizeof(struct destination *));
    t->dest_count--;
    sqlite3_stmt *st = sqlc_stmt(db, "DELETE FROM dest WHERE env=? AND tenant=? AND id=?");
    sqlc_bind(st, 1, rq->env);
    sqlc_bind(st, 2, rq->tenant_id);
    sqlc_bind(st, 3, rq->id);
    return sqlc_exec(db, st);
}

static void end_dest_del(struct change *c)
{
    struct dest_del *rq = c->rq.dest_del;
    if (!c->job.op.err.code) {
        rq->before = maybe_ref(c->before);
        rq->after = maybe_ref(c->after);
    }
    finish(c, &rq->op);
}

static void dest_del(struct store *s, struct dest_del *rq)
{
    struct change *c = change_new(s, &rq->op, rq->env, rq->tenant_id, make_dest_del, end_dest_del);
    c->rq.dest_del = rq;
    sqlc_write(c->s->db, &c->job);
}

/* ---- reads ---- */

static void tenant_get(struct store *s, struct tenant_get *rq)
{
    rq->out = find(state_of(s), rq->env, rq->id);
    op_finish(&rq->op, rq->out ? EC_OK : EC_NOT_FOUND, "tenant not found");
}

static bool dest_get_now(struct store *s, struct dest_get *rq)
{
    struct tenant *t = find(state_of(s), rq->env, rq->tenant_id);
    struct destination *d = t ? tenant_dest(t, rq->id) : NULL;
    rq->out = d ? destination_ref(d) : NULL;
    tenant_unref(t);
    rq->op.err.code = d ? EC_OK : EC_NOT_FOUND;
    return true;
}

static void dest_get(struct store *s, struct dest_get *rq)
{
    dest_get_now(s, rq);
    op_finish(&rq->op, rq->op.err.code, "destination not found");
}

static bool dest_match_now(struct store *s, struct dest_match *rq)
{
    rq->out = find(state_of(s), rq->env, rq->tenant_id);
    return true;
}

static void dest_match(struct store *s, struct dest_match *rq)
{
    dest_match_now(s, rq);
    op_finish(&rq->op, EC_OK, NULL);
}

/* ---- list ---- */

struct list_job {
    struct sqlc_job job;
    struct state *s;
    struct tenant_list *rq;
};

static bool wanted(const struct tenant_list *rq, struct str id)
{
    return rq->ids.n == 0 || strlist_has(&rq->ids, id);
}

static void take_row(struct list_job *j, struct str id)
{
    struct tenant_list *rq = j->rq;
    if (rq->out_count == rq->limit) {
        rq->more = true;
        return;
    }
    struct tenant *t = find(j->s, rq->env, id);
    if (t) {
        rq->out[rq->out_count++] = t;
    }
}

static enum ec list_run(struct sqlc *db, struct sqlc_job *job)
{
    struct list_job *j = CONTAINER_OF(job, struct list_job, job);
    struct tenant_list *rq = j->rq;
    /* A cursor names a millisecond; without an id the whole of it counts as seen. */
    bool up = rq->ascending != rq->backward;
    static const char up_sql[] = "SELECT id FROM tenant WHERE env=? AND created > ? ORDER BY created, id";
    static const char down_sql[] = "SELECT id FROM tenant WHERE env=? AND created < ? ORDER BY created DESC, id DESC";
    sqlite3_stmt *st = sqlc_stmt(db, up ? up_sql : down_sql);
    sqlc_bind(st, 1, rq->env);
    usec_t from = up ? (rq->has_position ? rq->position + USEC_PER_MSEC - 1 : INT64_MIN)
                     : (rq->has_position ? rq->position : INT64_MAX);
    sqlite3_bind_int64(st, 2, from);
    rq->out = xcalloc(rq->limit, sizeof(struct tenant *));
    while (!rq->more && sqlc_row(db, st)) {
        struct str id = sqlc_text(st, 0);
        if (wanted(rq, id)) {
            take_row(j, id);
        }
    }
    sqlite3_reset(st);
    for (size_t a = 0, b = rq->out_count; rq->backward && a + 1 < b; a++, b--) {
        struct tenant *t = rq->out[a];
        rq->out[a] = rq->out[b - 1];
        rq->out[b - 1] = t;
    }
    if (rq->ids.n) {
        rq->total = 0;
        for (size_t i = 0; i < rq->ids.n; i++) {
            struct strlist before = {rq->ids.v, i};
            struct tenant *t = strlist_has(&before, rq->ids.v[i]) ? NULL : find(j->s, rq->env, rq->ids.v[i]);
            rq->total += t != NULL;
            tenant_unref(t);
        }
        return EC_OK;
    }
    st = sqlc_stmt(db, "SELECT count(*) FROM tenant WHERE env=?");
    sqlc_bind(st, 1, rq->env);
    rq->total = sqlc_row(db, st) ? (size_t)sqlite3_column_int64(st, 0) : 0;
    sqlite3_reset(st);
    return EC_OK;
}

static void list_done(struct op *op)
{
    struct list_job *j = CONTAINER_OF(op, struct list_job, job.op);
    op_finish(&j->rq->op, op->err.code, op->err.text);
    free(j);
}

static void tenant_list(struct store *s, struct tenant_list *rq)
{
    struct list_job *j = xcalloc(1, sizeof(*j));
    j->s = state_of(s);
    j->rq = rq;
    j->job = (struct sqlc_job){.op = {.done = list_done, .io = rq->op.io}, .run = list_run};
    sqlc_read(j->s->db, &j->job);
}

/* ---- open, close ---- */

static enum ec opened(struct sqlc *db, void *arg, struct err *err)
{
    struct state *s = arg;
    if (s->loaded) {
        return EC_OK; /* a reopened file holds what the cache holds */
    }
    sqlite3_stmt *st = sqlc_stmt(db, "SELECT env, id, metadata, created, updated FROM tenant");
    while (sqlc_row(db, st)) {
        struct tenant *t = state_read_tenant(st);
        if (t) {
            tenant_unref(swap(s, t->env, t->id, t));
        }
    }
    st = sqlc_stmt(db, "SELECT env, tenant, id, type, topics, filter, config, credentials, delivery_metadata, metadata,"
                       " created, updated, disabled FROM dest ORDER BY env, tenant, created, id");
    while (sqlc_row(db, st)) {
        struct destination *d = state_read_dest(st, &s->key);
        struct tenant *t = d ? find(s, sqlc_text(st, 0), d->tenant_id) : NULL;
        if (!d) {
            return err_set(err, EC_CORRUPT, "a stored destination cannot be decrypted: is AES_ENCRYPTION_SECRET the one it was written with?");
        }
        if (!t) {
            destination_unref(d);
            continue;
        }
        struct tenant *more = tenant_copy(t, 1);
        insert_sorted(more, d);
        tenant_unref(swap(s, t->env, t->id, more));
        tenant_unref(t);
    }
    s->loaded = true;
    return EC_OK;
}

static void state_free(struct state *s)
{
    struct entry *e;
    for (size_t i = 0; (e = map_next(&s->tenants, &i));) {
        tenant_unref(e->tenant);
        free(e);
    }
    map_fini(&s->tenants);
    secret_fini(&s->key);
    pthread_rwlock_destroy(&s->lock);
    free(s->path);
    free(s);
}

static enum ec state_open(const struct store_conf *conf, struct store **out, struct err *err)
{
    struct state *s = xcalloc(1, sizeof(*s));
    map_init(&s->tenants);
    pthread_rwlock_init(&s->lock, NULL);
    s->path = xstrdup(conf->path);
    secret_set(&s->key, secret_reveal(conf->encryption_key));
    struct sqlc_conf dc = {
        .path = s->path,
        .schema = schema,
        .readers = 1,
        .group_max = 1, /* each change is seen by the next one only when it is published: see change_run */
        .sync_full = conf->sync_full,
        .create = true,
        .opened = opened,
        .arg = s,
    };
    enum ec ec = sqlc_open(&dc, &s->db, err);
    if (ec) {
        state_free(s);
        return ec;
    }
    *out = &s->store;
    return EC_OK;
}

static void state_close(struct store *store)
{
    struct state *s = state_of(store);
    sqlc_close(s->db);
    state_free(s);
}

static bool state_healthy(struct store *s)
{
    return sqlc_healthy(state_of(s)->db);
}

const struct store_ops store_sqlite = {
    .name = "sqlite",
    .open = state_open,
    .close = state_close,
    .healthy = state_healthy,
    .tenant_get = tenant_get,
    .tenant_put = tenant_put,
    .tenant_del = tenant_del,
    .tenant_list = tenant_list,
    .dest_get = dest_get,
    .dest_put = dest_put,
    .dest_del = dest_del,
    .dest_match = dest_match,
    .dest_match_now = dest_match_now,
    .dest_get_now = dest_get_now,
};
