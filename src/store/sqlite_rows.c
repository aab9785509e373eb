/* Rows of state.db: tenants and destinations to and from their columns. Credentials are sealed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "store/sqlite_priv.h"
#include "util/hash.h"
#include "util/log.h"

#define TEXT_MOST (16u * 1024 * 1024)

static void bind_json_map(sqlite3_stmt *st, int at, struct buf *b, const struct strmap *m, bool present)
{
    if (!present) {
        sqlite3_bind_null(st, at);
        return;
    }
    buf_reset(b);
    strmap_add_json(b, m, false);
    sqlite3_bind_text(st, at, b->p, (int)b->n, SQLITE_TRANSIENT);
}

static void add_credentials(struct buf *b, const struct credmap *m)
{
    buf_addc(b, '{');
    for (size_t i = 0; i < m->n; i++) {
        buf_addz(b, i ? "," : "");
        json_add_string(b, m->v[i].key, false);
        buf_addc(b, ':');
        json_add_string(b, secret_reveal(&m->v[i].value), false);
    }
    buf_addc(b, '}');
}

static void bind_credentials(sqlite3_stmt *st, int at, const struct secret *key, const struct credmap *m)
{
    CLEANUP(buf_fini) struct buf plain;
    CLEANUP(buf_fini) struct buf sealed;
    buf_init(&plain, TEXT_MOST);
    buf_init(&sealed, TEXT_MOST);
    add_credentials(&plain, m);
    seal(&sealed, key, buf_str(&plain));
    explicit_bzero(plain.p, plain.n);
    sqlite3_bind_blob(st, at, sealed.p, (int)sealed.n, SQLITE_TRANSIENT);
}

enum ec state_write_dest(struct sqlc *db, const struct secret *key, struct str env, const struct destination *d)
{
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, TEXT_MOST);
    sqlite3_stmt *st =
        sqlc_stmt(db, "INSERT OR REPLACE INTO dest(env, tenant, id, type, topics, filter, config, credentials,"
                      " delivery_metadata, metadata, created, updated, disabled) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)");
    sqlc_bind(st, 1, env);
    sqlc_bind(st, 2, d->tenant_id);
    sqlc_bind(st, 3, d->id);
    sqlc_bind(st, 4, d->type);
    strlist_add_json(&b, &d->topics, false);
    sqlite3_bind_text(st, 5, b.p, (int)b.n, SQLITE_TRANSIENT);
    sqlc_bind(st, 6, d->filter_text);
    bind_json_map(st, 7, &b, &d->config, true);
    bind_credentials(st, 8, key, &d->credentials);
    bind_json_map(st, 9, &b, &d->delivery_metadata, d->has_delivery_metadata);
    bind_json_map(st, 10, &b, &d->metadata, d->has_metadata);
    sqlite3_bind_int64(st, 11, d->created_at);
    sqlite3_bind_int64(st, 12, d->updated_at);
    sqlite3_bind_int64(st, 13, d->disabled_at);
    return sqlc_exec(db, st);
}

static bool read_map(struct str text, struct arena *a, struct strmap *out)
{
    struct json v;
    return text.n == 0 || (json_check(text, 64, &v, NULL) == EC_OK && strmap_from_json(out, a, v) == EC_OK);
}

static bool read_credentials(struct str sealed, const struct secret *key, struct destination *d)
{
    CLEANUP(buf_fini) struct buf plain;
    buf_init(&plain, TEXT_MOST);
    struct strmap m = {NULL, 0};
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    if (!unseal(&plain, key, sealed) || !read_map(buf_str(&plain), &a, &m)) {
        return false;
    }
    for (size_t i = 0; i < m.n; i++) {
        credmap_set(&d->credentials, &d->arena, arena_copy(&d->arena, m.v[i].key), m.v[i].value);
    }
    explicit_bzero(plain.p, plain.n);
    return true;
}

static bool read_topics(struct str text, struct destination *d)
{
    struct json v, e;
    if (json_check(text, 64, &v, NULL) || v.type != JSON_ARRAY) {
        return false;
    }
    d->topics.v = ARENA_ARRAY(&d->arena, struct str, json_count(v) + 1);
    struct json_iter it = json_iter(v);
    while (json_next(&it, NULL, &e)) {
        d->topics.v[d->topics.n++] = arena_copy(&d->arena, json_text(e, &d->arena));
    }
    return true;
}

struct destination *state_read_dest(sqlite3_stmt *st, const struct secret *key)
{
    struct destination *d = destination_new();
    struct arena *a = &d->arena;
    d->tenant_id = arena_copy(a, sqlc_text(st, 1));
    d->id = arena_copy(a, sqlc_text(st, 2));
    d->type = arena_copy(a, sqlc_text(st, 3));
    d->filter_text = arena_copy(a, sqlc_text(st, 5));
    d->has_delivery_metadata = sqlite3_column_type(st, 8) != SQLITE_NULL;
    d->has_metadata = sqlite3_column_type(st, 9) != SQLITE_NULL;
    d->created_at = sqlite3_column_int64(st, 10);
    d->updated_at = sqlite3_column_int64(st, 11);
    d->disabled_at = sqlite3_column_int64(st, 12);
    struct str config = arena_copy(a, sqlc_text(st, 6)), dm = arena_copy(a, sqlc_text(st, 8)),
               md = arena_copy(a, sqlc_text(st, 9));
    bool ok = read_topics(arena_copy(a, sqlc_text(st, 4)), d) && read_map(config, a, &d->config) &&
              read_map(dm, a, &d->delivery_metadata) && read_map(md, a, &d->metadata) &&
              read_credentials(sqlc_text(st, 7), key, d) && destination_seal(d, NULL) == EC_OK;
    if (!ok) {
        log_line(LOG_ERROR, "a stored destination cannot be read (another encryption secret?)",
                 ls("tenant_id", d->tenant_id), ls("destination_id", d->id));
        destination_unref(d);
        return NULL;
    }
    return d;
}

enum ec state_write_tenant(struct sqlc *db, const struct tenant *t)
{
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, TEXT_MOST);
    strmap_add_json(&b, &t->metadata, false);
    sqlite3_stmt *st =
        sqlc_stmt(db, "INSERT OR REPLACE INTO tenant(env, id, metadata, created, updated) VALUES(?,?,?,?,?)");
    sqlc_bind(st, 1, t->env);
    sqlc_bind(st, 2, t->id);
    sqlite3_bind_text(st, 3, b.p, (int)b.n, SQLITE_TRANSIENT);
    sqlite3_bind_int64(st, 4, t->created_at);
    sqlite3_bind_int64(st, 5, t->updated_at);
    return sqlc_exec(db, st);
}

struct tenant *state_read_tenant(sqlite3_stmt *st)
{
    struct tenant *t = tenant_new();
    t->env = arena_copy(&t->arena, sqlc_text(st, 0));
    t->id = arena_copy(&t->arena, sqlc_text(st, 1));
    struct str md = arena_copy(&t->arena, sqlc_text(st, 2));
    t->created_at = sqlite3_column_int64(st, 3);
    t->updated_at = sqlite3_column_int64(st, 4);
    if (!read_map(md, &t->arena, &t->metadata)) {
        log_line(LOG_ERROR, "a stored tenant cannot be read", ls("tenant_id", t->id));
        tenant_unref(t);
        return NULL;
    }
    return t;
}
