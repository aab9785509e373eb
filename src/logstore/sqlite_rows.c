/* Rows of a segment. Look-ups by id go through 64-bit hashes (small index keys), the text decides.
 * SPDX-License-Identifier: Apache-2.0 */
#include "logstore/sqlite_priv.h"
#include "util/log.h"

const char log_schema[] =
    "CREATE TABLE IF NOT EXISTS event(h INTEGER NOT NULL, id TEXT NOT NULL, env TEXT NOT NULL, tenant TEXT NOT NULL,"
    " topic TEXT NOT NULL, time INTEGER NOT NULL, received INTEGER NOT NULL, eligible INTEGER NOT NULL,"
    " matched TEXT NOT NULL, metadata TEXT NOT NULL, data BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS attempt(h INTEGER NOT NULL, eh INTEGER NOT NULL, id TEXT NOT NULL, event_id TEXT NOT NULL,"
    " env TEXT NOT NULL, tenant TEXT NOT NULL, dest TEXT NOT NULL, type TEXT NOT NULL, topic TEXT NOT NULL,"
    " success INTEGER NOT NULL, number INTEGER NOT NULL, manual INTEGER NOT NULL, time INTEGER NOT NULL,"
    " latency INTEGER NOT NULL, code TEXT NOT NULL, response TEXT NOT NULL, dlv TEXT NOT NULL,"
    " event_time INTEGER NOT NULL, eligible INTEGER NOT NULL);"
    "CREATE INDEX IF NOT EXISTS event_h ON event(h);"
    "CREATE INDEX IF NOT EXISTS attempt_h ON attempt(h);"
    "CREATE INDEX IF NOT EXISTS attempt_eh ON attempt(eh);";

const char log_seal_schema[] =
    "CREATE INDEX IF NOT EXISTS event_time ON event(time, id);"
    "CREATE INDEX IF NOT EXISTS event_tenant ON event(tenant, time, id);"
    "CREATE INDEX IF NOT EXISTS attempt_time ON attempt(time, id);"
    "CREATE INDEX IF NOT EXISTS attempt_tenant ON attempt(tenant, time, id);"
    "CREATE INDEX IF NOT EXISTS attempt_dest ON attempt(tenant, dest, time, id);"
    "PRAGMA user_version=1;";

#define TEXT_MOST (32u * 1024 * 1024)

uint64_t log_event_hash(struct str env, struct str tenant_id, struct str id)
{
    return str_hash_stable(id) + 3 * str_hash_stable(tenant_id) + 7 * str_hash_stable(env);
}

enum ec log_insert_event(const struct event *e)
{
    CLEANUP(buf_fini) struct buf matched;
    CLEANUP(buf_fini) struct buf metadata;
    buf_init(&matched, TEXT_MOST);
    buf_init(&metadata, TEXT_MOST);
    strlist_add_json(&matched, &e->matched, false);
    strmap_add_json(&metadata, &e->metadata, false);
    sqlite3_stmt *st = sqlc_stmt(NULL, "INSERT INTO event(h, id, env, tenant, topic, time, received, eligible, matched,"
                                       " metadata, data) VALUES(?,?,?,?,?,?,?,?,?,?,?)");
    sqlite3_bind_int64(st, 1, (int64_t)str_hash_stable(e->id));
    sqlc_bind(st, 2, e->id);
    sqlc_bind(st, 3, e->env);
    sqlc_bind(st, 4, e->tenant_id);
    sqlc_bind(st, 5, e->topic);
    sqlite3_bind_int64(st, 6, e->time);
    sqlite3_bind_int64(st, 7, e->received);
    sqlite3_bind_int(st, 8, e->eligible_for_retry);
    sqlc_bind(st, 9, buf_str(&matched));
    sqlc_bind(st, 10, buf_str(&metadata));
    sqlc_bind_blob(st, 11, e->data);
    return sqlc_exec(NULL, st);
}

enum ec log_insert_attempt(const struct attempt *a)
{
    const struct event *e = a->event;
    sqlite3_stmt *st = sqlc_stmt(NULL, "INSERT INTO attempt(h, eh, id, event_id, env, tenant, dest, type, topic, success,"
                                       " number, manual, time, latency, code, response, dlv, event_time, eligible)"
                                       " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
    sqlite3_bind_int64(st, 1, (int64_t)str_hash_stable(a->id));
    sqlite3_bind_int64(st, 2, (int64_t)str_hash_stable(e->id));
    sqlc_bind(st, 3, a->id);
    sqlc_bind(st, 4, e->id);
    sqlc_bind(st, 5, e->env);
    sqlc_bind(st, 6, e->tenant_id);
    sqlc_bind(st, 7, a->destination_id);
    sqlc_bind(st, 8, a->destination_type);
    sqlc_bind(st, 9, e->topic);
    sqlite3_bind_int(st, 10, a->success);
    sqlite3_bind_int(st, 11, a->number);
    sqlite3_bind_int(st, 12, a->manual);
    sqlite3_bind_int64(st, 13, a->time);
    sqlite3_bind_int64(st, 14, a->latency_ms);
    sqlc_bind(st, 15, a->code);
    sqlc_bind(st, 16, a->response);
    sqlc_bind(st, 17, a->delivery_id);
    sqlite3_bind_int64(st, 18, e->time);
    sqlite3_bind_int(st, 19, e->eligible_for_retry);
    return sqlc_exec(NULL, st);
}

static void read_matched(struct str text, struct arena *a, struct strlist *out)
{
    struct json v, e;
    if (json_check(text, 8, &v, NULL)) {
        return;
    }
    out->v = ARENA_ARRAY(a, struct str, json_count(v) + 1);
    struct json_iter it = json_iter(v);
    while (json_next(&it, NULL, &e)) {
        out->v[out->n++] = json_text(e, a);
    }
}

struct event *log_read_event(sqlite3_stmt *st, bool with_data)
{
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    struct event e = {
        .id = sqlc_text(st, 0),
        .tenant_id = sqlc_text(st, 1),
        .topic = sqlc_text(st, 2),
        .time = sqlite3_column_int64(st, 3),
        .received = sqlite3_column_int64(st, 4),
        .eligible_for_retry = sqlite3_column_int(st, 5),
        .env = sqlc_text(st, 9),
        .id_given = true,
    };
    struct json md;
    read_matched(sqlc_text(st, 6), &a, &e.matched);
    if (json_check(sqlc_text(st, 7), 8, &md, NULL) == EC_OK && strmap_from_json(&e.metadata, &a, md)) {
        log_line(LOG_ERROR, "a logged event's metadata cannot be read", ls("event_id", e.id));
    }
    if (with_data) {
        e.data = sqlc_text(st, 8);
    }
    return event_new(&e);
}

struct attempt *log_read_attempt(sqlite3_stmt *st, bool with_response)
{
    struct event bare = {
        .id = sqlc_text(st, 1),
        .tenant_id = sqlc_text(st, 2),
        .topic = sqlc_text(st, 5),
        .time = sqlite3_column_int64(st, 14),
        .eligible_for_retry = sqlite3_column_int(st, 15),
        .env = sqlc_text(st, 16),
        .id_given = true,
    };
    struct event *e = event_new(&bare);
    struct attempt a = {
        .event = e,
        .id = sqlc_text(st, 0),
        .destination_id = sqlc_text(st, 3),
        .destination_type = sqlc_text(st, 4),
        .success = sqlite3_column_int(st, 6),
        .number = sqlite3_column_int(st, 7),
        .manual = sqlite3_column_int(st, 8),
        .time = sqlite3_column_int64(st, 9),
        .latency_ms = sqlite3_column_int64(st, 10),
        .code = sqlc_text(st, 11),
        .response = with_response ? sqlc_text(st, 12) : STR(""),
        .delivery_id = sqlc_text(st, 13),
    };
    struct attempt *out = attempt_new(&a);
    event_unref(e);
    return out;
}

struct event *log_find_event(struct str env, struct str tenant_id, struct str id, bool with_data)
{
    sqlite3_stmt *st = sqlc_stmt(NULL, "SELECT " EVENT_COLUMNS " FROM event WHERE h=? AND id=? AND env=?"
                                       " AND (?='' OR tenant=?) ORDER BY received DESC LIMIT 1");
    sqlite3_bind_int64(st, 1, (int64_t)str_hash_stable(id));
    sqlc_bind(st, 2, id);
    sqlc_bind(st, 3, env);
    sqlc_bind(st, 4, tenant_id);
    sqlc_bind(st, 5, tenant_id);
    struct event *e = sqlc_row(NULL, st) ? log_read_event(st, with_data) : NULL;
    sqlite3_reset(st);
    return e;
}

struct attempt *log_find_attempt(struct str env, struct str tenant_id, struct str id)
{
    sqlite3_stmt *st = sqlc_stmt(NULL, "SELECT " ATTEMPT_COLUMNS " FROM attempt WHERE h=? AND id=? AND env=?"
                                       " AND (?='' OR tenant=?) LIMIT 1");
    sqlite3_bind_int64(st, 1, (int64_t)str_hash_stable(id));
    sqlc_bind(st, 2, id);
    sqlc_bind(st, 3, env);
    sqlc_bind(st, 4, tenant_id);
    sqlc_bind(st, 5, tenant_id);
    struct attempt *a = sqlc_row(NULL, st) ? log_read_attempt(st, true) : NULL;
    sqlite3_reset(st);
    return a;
}
