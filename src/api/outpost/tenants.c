/* Tenants. Spec: api.md 9. SPDX-License-Identifier: Apache-2.0 */
#include "api/call.h"
#include "util/log.h"

#define WAIT (10 * NSEC_PER_SEC)

static struct op op_for(void (*done)(struct op *op))
{
    return (struct op){.done = done, .io = io_self(), .deadline = mono_now() + WAIT};
}

void add_tenant(struct buf *b, const struct tenant *t, struct arena *a, bool fresh)
{
    struct strlist topics = tenant_topics(t, a);
    struct jsonw w;
    char text[TIME_TEXT_MAX];
    usec_t cut = fresh ? 1 : USEC_PER_MSEC;
    jw_init(&w, b, true);
    jw_obj(&w);
    jw_kstr(&w, "id", t->id);
    jw_kint(&w, "destinations_count", (int64_t)t->dest_count);
    jw_key(&w, STR("topics"));
    jw_arr(&w);
    for (size_t i = 0; i < topics.n; i++) {
        jw_str(&w, topics.v[i]);
    }
    jw_arr_end(&w);
    if (t->metadata.n) {
        jw_key(&w, STR("metadata"));
        jw_obj(&w);
        for (size_t i = 0; i < t->metadata.n; i++) {
            jw_key(&w, t->metadata.v[i].key);
            jw_str(&w, t->metadata.v[i].value);
        }
        jw_obj_end(&w);
    }
    /* Read back later it is whole milliseconds; both times of a creation are the same instant. */
    jw_kstr(&w, "created_at", time_text(text, t->created_at / cut * cut));
    jw_kstr(&w, "updated_at", time_text(text, t->updated_at / cut * cut));
    jw_obj_end(&w);
}

void tenant_read(struct call *c)
{
    struct buf *b = call_body(c);
    add_tenant(b, c->tenant, c->a, false);
    reply_json(c, 200, b);
}

struct upsert {
    struct call *c;
    struct tenant_put put;
};

static void upserted(struct op *op)
{
    struct upsert *u = CONTAINER_OF(op, struct upsert, put.op);
    struct call *c = u->c;
    if (op->err.code == EC_NOT_FOUND) {
        reply_bare(c, 401);
        return;
    }
    if (op->err.code) {
        reply_internal(c, &op->err);
        return;
    }
    log_line(LOG_INFO, u->put.created ? "tenant created" : "tenant updated", ls("tenant_id", u->put.id));
    struct buf *b = call_body(c);
    add_tenant(b, u->put.out, c->a, u->put.created);
    tenant_unref(u->put.out);
    reply_json(c, u->put.created ? 201 : 200, b);
}

void tenant_upsert(struct call *c)
{
    struct upsert *u = ARENA_NEW(c->a, struct upsert);
    u->c = c;
    u->put = (struct tenant_put){.op = op_for(upserted), .id = c->params[0], .must_exist = c->role == ROLE_TENANT};
    /* A chunked body counts as absent. */
    struct str length = http_req_header(c->rq, "content-length");
    if (length.n && c->rq->body.n) {
        struct json body;
        bool present;
        if (!body_object(c, &body) || !body_map(c, body, "metadata", MAP_CREATE, &u->put.metadata, &present)) {
            return;
        }
    }
    if (!id_is_addressable(u->put.id)) {
        struct str one = STR("id must not contain '/' or control characters");
        reply_error_list(c, 422, "validation error", &one, 1);
        return;
    }
    store_tenant_put(c->api->store, &u->put);
}

struct removal {
    struct call *c;
    struct tenant_del del;
};

static void deleted(struct op *op)
{
    struct removal *r = CONTAINER_OF(op, struct removal, del.op);
    struct call *c = r->c;
    if (op->err.code == EC_NOT_FOUND) {
        reply_not_found_plain(c);
    } else if (op->err.code) {
        reply_internal(c, &op->err);
    } else {
        log_line(LOG_INFO, "tenant deleted", ls("tenant_id", r->del.id));
        reply_success(c);
    }
}

void tenant_delete(struct call *c)
{
    struct removal *r = ARENA_NEW(c->a, struct removal);
    r->c = c;
    r->del = (struct tenant_del){.op = op_for(deleted), .id = c->params[0]};
    store_tenant_del(c->api->store, &r->del);
}

void tenant_token(struct call *c)
{
    struct buf *b = call_body(c);
    struct jsonw w;
    jw_init(&w, b, true);
    jw_obj(&w);
    jw_kstr(&w, "tenant_id", c->params[0]);
    jw_kstr(&w, "token", jwt_issue(c, c->params[0]));
    jw_obj_end(&w);
    reply_json(c, 200, b);
}

void tenant_portal(struct call *c)
{
    struct str theme = query_get(&c->query, STR("theme"));
    bool known = str_eqz(theme, "dark") || str_eqz(theme, "light");
    struct str url = arena_printf(c->a, "http://%.*s?token=%.*s%s%.*s", STR_ARG(http_req_header(c->rq, "host")),
                                  STR_ARG(jwt_issue(c, c->params[0])), known ? "&theme=" : "", known ? (int)theme.n : 0, theme.p ? theme.p : "");
    struct buf *b = call_body(c);
    struct jsonw w;
    jw_init(&w, b, true);
    jw_obj(&w);
    jw_kstr(&w, "redirect_url", url);
    jw_kstr(&w, "tenant_id", c->params[0]);
    jw_obj_end(&w);
    reply_json(c, 200, b);
}

/* ---- list ---- */

struct listing {
    struct call *c;
    struct tenant_list list;
    bool next_given, prev_given;
};

static void add_cursor(struct jsonw *w, const char *key, struct call *c, const struct tenant *t)
{
    if (!t) {
        jw_knull(w, key);
        return;
    }
    jw_kstr(w, key, cursor_make(c->a, "tnt", t->created_at / USEC_PER_MSEC, STR_NULL));
}

static void add_page(struct listing *l, struct buf *b)
{
    struct tenant_list *rq = &l->list;
    struct call *c = l->c;
    buf_addz(b, "{\"models\":[");
    for (size_t i = 0; i < rq->out_count; i++) {
        buf_addz(b, i ? "," : "");
        add_tenant(b, rq->out[i], c->a, false);
    }
    buf_addz(b, "],\"pagination\":");
    struct tenant *first = rq->out_count ? rq->out[0] : NULL, *last = rq->out_count ? rq->out[rq->out_count - 1] : NULL;
    struct jsonw w;
    jw_init(&w, b, true);
    jw_obj(&w);
    jw_kstr(&w, "order_by", STR("created_at"));
    jw_kstr(&w, "dir", rq->ascending ? STR("asc") : STR("desc"));
    jw_kint(&w, "limit", rq->limit);
    add_cursor(&w, "next", c, l->prev_given || rq->more ? last : NULL);
    add_cursor(&w, "prev", c, l->next_given || (l->prev_given && rq->more) ? first : NULL);
    jw_obj_end(&w);
    buf_addf(b, ",\"count\":%zu}", rq->total);
}

static void listed(struct op *op)
{
    struct listing *l = CONTAINER_OF(op, struct listing, list.op);
    if (op->err.code) {
        reply_internal(l->c, &op->err);
        return;
    }
    struct buf *b = call_body(l->c);
    add_page(l, b);
    tenant_list_fini(&l->list);
    reply_json(l->c, 200, b);
}

static void list_own(struct call *c)
{
    struct buf *b = call_body(c);
    buf_addz(b, "{\"models\":[");
    add_tenant(b, c->tenant, c->a, false);
    buf_addz(b, "],\"pagination\":{\"order_by\":\"created_at\",\"dir\":\"desc\",\"limit\":20,\"next\":null,\"prev\":null},\"count\":1}");
    reply_json(c, 200, b);
}

/* false: answered. */
static bool read_limit(struct call *c, unsigned *out)
{
    struct str text = query_get(&c->query, STR("limit"));
    int64_t v = 20;
    if (text.n && text.p[0] == '+') {
        text = str_sub(text, 1, text.n);
    }
    if (text.n && !str_to_i64(text, &v)) {
        reply_error(c, 400, "invalid limit: must be an integer");
        return false;
    }
    if (v < 1 || v > 100) {
        reply_error(c, 400, "invalid limit: must be between 1 and 100");
        return false;
    }
    *out = (unsigned)v;
    return true;
}

static bool read_position(struct call *c, struct str cursor, usec_t *out)
{
    struct str position;
    int64_t ms;
    switch (cursor_read(c->a, cursor, "tnt", &position)) {
    case CURSOR_OK:
        if (str_to_i64(position, &ms) && ms < INT64_MAX / USEC_PER_MSEC && ms > INT64_MIN / USEC_PER_MSEC) {
            *out = ms * USEC_PER_MSEC;
            return true;
        }
        reply_error(c, 400, "invalid cursor: invalid timestamp");
        return false;
    case CURSOR_INVALID:
        reply_error(c, 400, "invalid cursor: invalid cursor");
        return false;
    case CURSOR_VERSION:
        reply_error(c, 400, "invalid cursor: cursor version mismatch: expected version 01");
        return false;
    }
    UNREACHABLE("a state of a cursor");
}

void tenants_list(struct call *c)
{
    if (c->role == ROLE_TENANT) {
        list_own(c);
        return;
    }
    struct str next = query_get(&c->query, STR("next")), prev = query_get(&c->query, STR("prev"));
    struct str dir = query_get(&c->query, STR("dir"));
    struct listing *l = ARENA_NEW(c->a, struct listing);
    l->c = c;
    l->next_given = next.n > 0;
    l->prev_given = prev.n > 0;
    if (next.n && prev.n) {
        reply_error(c, 400, "cannot specify both 'next' and 'prev' cursors");
        return;
    }
    if (dir.n && !str_eqz(dir, "asc") && !str_eqz(dir, "desc")) {
        reply_error_field(c, 422, "validation error", STR("query.dir"), STR("must be 'asc' or 'desc'"));
        return;
    }
    l->list = (struct tenant_list){.op = op_for(listed), .ascending = str_eqz(dir, "asc"), .backward = prev.n > 0};
    if (!read_limit(c, &l->list.limit)) {
        return;
    }
    if (!store_can_list(c->api->store)) {
        reply_error(c, 501, "list tenant feature is not enabled");
        return;
    }
    if (next.n || prev.n) {
        l->list.has_position = true;
        if (!read_position(c, next.n ? next : prev, &l->list.position)) {
            return;
        }
    }
    l->list.ids = query_array(c, "id");
    store_tenant_list(c->api->store, &l->list);
}
