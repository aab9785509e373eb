/* Events and attempts: lists and single ones. Spec: api.md 14. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "api/call.h"

#define WAIT (20 * NSEC_PER_SEC)
enum { INCLUDE_EVENT = 1, INCLUDE_DATA = 2, INCLUDE_RESPONSE = 4, INCLUDE_DESTINATION = 8 };

struct log_call {
    struct call *c;
    struct log_list list;
    bool next_given, prev_given;
    unsigned include;
    struct str only_dest; /* destination-scoped: the path's */
    union {
        struct log_event_get event;
        struct log_attempt_get attempt;
    } get;
};

static struct op op_for(void (*done)(struct op *op))
{
    return (struct op){.done = done, .io = io_self(), .deadline = mono_now() + WAIT};
}

/* ---- objects ---- */

static void add_metadata(struct jsonw *w, const struct strmap *m)
{
    if (m->n) {
        jw_key(w, STR("metadata"));
        jw_obj(w);
        for (size_t i = 0; i < m->n; i++) {
            jw_key(w, m->v[i].key);
            jw_str(w, m->v[i].value);
        }
        jw_obj_end(w);
    }
}

/* The payload as published: its text, not its value. Bytes that are no UTF-8 are replaced (design.md 11.14). */
static void add_data(struct jsonw *w, struct str data)
{
    if (data.n == 0) {
        return;
    }
    jw_key(w, STR("data"));
    bool clean = true;
    for (size_t i = 0; i < data.n && clean; i++) {
        clean = !(data.p[i] & 0x80);
    }
    if (clean) {
        jw_raw(w, data);
        return;
    }
    struct str rest = data;
    w->after_key = false;
    while (rest.n) {
        size_t n = 0;
        while (n < rest.n && !(rest.p[n] & 0x80)) {
            n++;
        }
        buf_add(w->b, rest.p, n);
        rest = str_sub(rest, n, rest.n);
        if (rest.n) {
            size_t used = api_add_utf8(w->b, rest);
            rest = str_sub(rest, used, rest.n);
        }
    }
}

static void add_event(struct buf *b, const struct event *e, bool embedded, bool with_data)
{
    struct jsonw w;
    char time[TIME_TEXT_MAX];
    jw_init(&w, b, true);
    jw_obj(&w);
    jw_kstr(&w, "id", e->id);
    jw_kstr(&w, "tenant_id", e->tenant_id);
    if (!embedded) {
        jw_key(&w, STR("matched_destination_ids"));
        jw_arr(&w);
        for (size_t i = 0; i < e->matched.n; i++) {
            jw_str(&w, e->matched.v[i]);
        }
        jw_arr_end(&w);
    }
    jw_kstr(&w, "topic", e->topic);
    jw_kstr(&w, "time", time_text(time, e->time));
    jw_kbool(&w, "eligible_for_retry", e->eligible_for_retry);
    add_metadata(&w, &e->metadata);
    if (with_data) {
        add_data(&w, e->data);
    }
    jw_obj_end(&w);
}

static void add_response(struct jsonw *w, struct str response)
{
    struct json v;
    if (response.n == 0 || json_check(response, JSON_DEPTH_MAX, &v, NULL) || (v.type == JSON_OBJECT && json_count(v) == 0) ||
        v.type == JSON_NULL) {
        return;
    }
    jw_key(w, STR("response_data"));
    json_add_canonical(w->b, v, true);
    w->after_key = false;
}

static void add_included_destination(struct log_call *l, struct jsonw *w, const struct attempt *a)
{
    struct dest_get get = {.tenant_id = a->event->tenant_id, .id = a->destination_id};
    if (store_dest_get_now(l->c->api->store, &get) && get.out) {
        jw_key(w, STR("destination"));
        add_destination(l->c, w->b, get.out, NULL);
        w->after_key = false;
        destination_unref(get.out);
    }
}

static void add_attempt(struct log_call *l, struct buf *b, const struct attempt *a)
{
    struct jsonw w;
    char time[TIME_TEXT_MAX];
    jw_init(&w, b, true);
    jw_obj(&w);
    jw_kstr(&w, "id", a->id);
    jw_kstr(&w, "tenant_id", a->event->tenant_id);
    jw_kstr(&w, "status", a->success ? STR("success") : STR("failed"));
    jw_kstr(&w, "time", time_text(time, a->time));
    if (a->code.n) {
        jw_kstr(&w, "code", a->code);
    }
    if (l->include & INCLUDE_RESPONSE) {
        add_response(&w, a->response);
    }
    jw_kint(&w, "attempt_number", a->number);
    jw_kbool(&w, "manual", a->manual);
    jw_kstr(&w, "destination_type", a->destination_type);
    jw_kstr(&w, "event_id", a->event->id);
    jw_kstr(&w, "destination_id", a->destination_id);
    if (l->include & (INCLUDE_EVENT | INCLUDE_DATA)) {
        jw_key(&w, STR("event"));
        add_event(b, a->event, true, l->include & INCLUDE_DATA);
        w.after_key = false;
    }
    if (l->include & INCLUDE_DESTINATION) {
        add_included_destination(l, &w, a);
    }
    jw_obj_end(&w);
}

/* ---- parameters ---- */

static unsigned read_include(struct call *c)
{
    struct strlist v = query_array(c, "include");
    unsigned bits = 0;
    for (size_t i = 0; i < v.n; i++) {
        bits |= str_eqz(v.v[i], "event")           ? INCLUDE_EVENT
                : str_eqz(v.v[i], "event.data")    ? INCLUDE_EVENT | INCLUDE_DATA
                : str_eqz(v.v[i], "response_data") ? INCLUDE_RESPONSE
                : str_eqz(v.v[i], "destination")   ? INCLUDE_DESTINATION
                                                   : 0u;
    }
    return bits;
}

static unsigned read_limit(struct call *c)
{
    struct str text = query_get(&c->query, STR("limit"));
    int64_t v = 0;
    if (text.n && text.p[0] == '+') {
        text = str_sub(text, 1, text.n);
    }
    return str_to_i64(text, &v) && v > 0 ? (unsigned)MIN(v, (int64_t)1000) : 100;
}

static bool parse_when(struct call *c, struct str text, usec_t *out)
{
    if (time_parse(text, out, NULL)) {
        return true;
    }
    return text.n == 10 && time_parse(arena_printf(c->a, "%.*sT00:00:00Z", STR_ARG(text)), out, NULL);
}

static bool read_times(struct call *c, struct log_filter *f)
{
    if (query_get(&c->query, STR("time[any]")).n) {
        reply_error(c, 400, "operator 'any' is not supported, use 'gte', 'lte', 'gt', or 'lt'");
        return false;
    }
    const struct {
        const char *op;
        bool *has;
        usec_t *value;
    } ops[] = {{"gte", &f->has_gte, &f->gte}, {"lte", &f->has_lte, &f->lte}, {"gt", &f->has_gt, &f->gt}, {"lt", &f->has_lt, &f->lt}};
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        struct str text = query_get(&c->query, arena_printf(c->a, "time[%s]", ops[i].op));
        if (text.n == 0) {
            continue;
        }
        if (!parse_when(c, text, ops[i].value)) {
            reply_error_field(c, 422, "validation error", arena_printf(c->a, "query.time[%s]", ops[i].op),
                              STR("invalid format, expected RFC3339 (e.g. 2024-01-15T09:30:00Z or 2024-01-15T09:30:00.123Z) or YYYY-MM-DD"));
            return false;
        }
        *ops[i].has = true;
    }
    return true;
}

/* A tenant's caller sees its own; asking for others is refused. */
static bool scope_tenant(struct call *c, struct log_filter *f, bool from_path)
{
    if (from_path) {
        f->tenant_ids.v = ARENA_ARRAY(c->a, struct str, 1);
        f->tenant_ids.v[0] = c->tenant->id;
        f->tenant_ids.n = 1;
        return true;
    }
    f->tenant_ids = query_array(c, "tenant_id");
    if (c->role == ROLE_ADMIN) {
        return true;
    }
    bool same = f->tenant_ids.n == 0 || (f->tenant_ids.n == 1 && str_eq(f->tenant_ids.v[0], c->token_tenant));
    if (!same) {
        reply_error(c, 403, "tenant_id query parameter does not match authenticated tenant");
        return false;
    }
    f->tenant_ids.v = ARENA_ARRAY(c->a, struct str, 1);
    f->tenant_ids.v[0] = c->token_tenant;
    f->tenant_ids.n = 1;
    return true;
}

static bool read_cursor(struct log_call *l, struct str cursor, const char *resource)
{
    struct str position, ms, rest;
    int64_t at;
    switch (cursor_read(l->c->a, cursor, resource, &position)) {
    case CURSOR_INVALID:
        reply_error(l->c, 400, "invalid cursor");
        return false;
    case CURSOR_VERSION:
        reply_error(l->c, 400, "cursor version mismatch: expected version 01");
        return false;
    case CURSOR_OK:
        break;
    }
    size_t colon;
    if (!str_find(position, STR("::"), &colon)) {
        return true;
    }
    ms = str_sub(position, 0, colon);
    rest = str_sub(position, colon + 2, position.n);
    if (str_to_i64(ms, &at) && at < INT64_MAX / USEC_PER_MSEC && at > INT64_MIN / USEC_PER_MSEC) {
        l->list.has_position = true;
        l->list.position = at * USEC_PER_MSEC;
        l->list.position_id = rest;
    }
    return true;
}

/* Checks in the order of api.md 6.6; false: answered. */
static bool read_list(struct log_call *l, bool attempts, bool scoped)
{
    struct call *c = l->c;
    struct log_list *rq = &l->list;
    struct str next = query_get(&c->query, STR("next")), prev = query_get(&c->query, STR("prev"));
    struct str dir = query_get(&c->query, STR("dir")), order = query_get(&c->query, STR("order_by"));
    if (!scope_tenant(c, &rq->filter, scoped)) {
        return false;
    }
    if (next.n && prev.n) {
        reply_error(c, 400, "cannot specify both 'next' and 'prev' cursors");
        return false;
    }
    if (dir.n && !str_eqz(dir, "asc") && !str_eqz(dir, "desc")) {
        reply_error_field(c, 422, "validation error", STR("query.dir"), STR("must be 'asc' or 'desc'"));
        return false;
    }
    if (order.n && !str_eqz(order, "time")) {
        reply_error_field(c, 422, "validation error", STR("query.order_by"), STR("must be one of: [time]"));
        return false;
    }
    if (!read_times(c, &rq->filter)) {
        return false;
    }
    rq->ascending = str_eqz(dir, "asc");
    rq->backward = prev.n > 0;
    rq->limit = read_limit(c);
    l->next_given = next.n > 0;
    l->prev_given = prev.n > 0;
    if ((next.n || prev.n) && !read_cursor(l, next.n ? next : prev, attempts ? "att" : "evt")) {
        return false;
    }
    rq->filter.topics = query_array(c, "topic");
    rq->filter.destination_ids = query_array(c, "destination_id");
    rq->filter.event_ids = query_array(c, attempts ? "event_id" : "id");
    if (attempts) {
        rq->filter.destination_types = query_array(c, "destination_type");
        rq->filter.status = query_get(&c->query, STR("status"));
        rq->filter.has_status = rq->filter.status.n > 0;
    }
    return true;
}

/* ---- lists ---- */

static void add_cursor(struct log_call *l, struct jsonw *w, const char *key, bool there, bool attempts, size_t at)
{
    if (!there || l->list.count == 0) {
        jw_knull(w, key);
        return;
    }
    usec_t time = attempts ? l->list.attempts[at]->time : l->list.events[at]->time;
    struct str id = attempts ? l->list.attempts[at]->id : l->list.events[at]->id;
    usec_t ms = time / USEC_PER_MSEC - (time % USEC_PER_MSEC < 0);
    jw_kstr(w, key, cursor_make(l->c->a, attempts ? "att" : "evt", ms, id));
}

static void add_pagination(struct log_call *l, struct buf *b, bool attempts)
{
    struct log_list *rq = &l->list;
    struct jsonw w;
    jw_init(&w, b, true);
    jw_obj(&w);
    jw_kstr(&w, "order_by", STR("time"));
    jw_kstr(&w, "dir", rq->ascending ? STR("asc") : STR("desc"));
    jw_kint(&w, "limit", rq->limit);
    add_cursor(l, &w, "next", l->prev_given || rq->more, attempts, rq->count ? rq->count - 1 : 0);
    add_cursor(l, &w, "prev", l->next_given || (l->prev_given && rq->more), attempts, 0);
    jw_obj_end(&w);
}

static void listed(struct log_call *l, bool attempts)
{
    if (l->list.op.err.code) {
        reply_internal(l->c, &l->list.op.err);
        return;
    }
    struct buf *b = call_body(l->c);
    buf_addz(b, "{\"models\":[");
    for (size_t i = 0; i < l->list.count; i++) {
        buf_addz(b, i ? "," : "");
        if (attempts) {
            add_attempt(l, b, l->list.attempts[i]);
        } else {
            add_event(b, l->list.events[i], false, true);
        }
    }
    buf_addz(b, "],\"pagination\":");
    add_pagination(l, b, attempts);
    buf_addc(b, '}');
    log_list_fini(&l->list);
    reply_json(l->c, 200, b);
}

static void events_done(struct op *op)
{
    listed(CONTAINER_OF(op, struct log_call, list.op), false);
}

static void attempts_done(struct op *op)
{
    listed(CONTAINER_OF(op, struct log_call, list.op), true);
}

static struct log_call *log_call_new(struct call *c)
{
    struct log_call *l = ARENA_NEW(c->a, struct log_call);
    l->c = c;
    return l;
}

void events_list(struct call *c)
{
    struct log_call *l = log_call_new(c);
    l->list.op = op_for(events_done);
    l->list.want_data = true;
    if (read_list(l, false, false)) {
        logstore_event_list(c->api->log, &l->list);
    }
}

static void list_attempts(struct call *c, bool scoped)
{
    struct log_call *l = log_call_new(c);
    l->list.op = op_for(attempts_done);
    l->include = read_include(c);
    l->list.want_data = l->include & (INCLUDE_EVENT | INCLUDE_DATA);
    l->list.want_response = l->include & INCLUDE_RESPONSE;
    if (!read_list(l, true, scoped)) {
        return;
    }
    if (scoped && c->params[1].n) {
        l->list.filter.destination_ids.v = &c->params[1];
        l->list.filter.destination_ids.n = 1;
    }
    logstore_attempt_list(c->api->log, &l->list);
}

void attempts_list(struct call *c)
{
    list_attempts(c, false);
}

void destination_attempts(struct call *c)
{
    list_attempts(c, true);
}

/* ---- single ones ---- */

static struct str scalar_tenant(struct call *c)
{
    if (c->role == ROLE_TENANT) {
        return c->token_tenant;
    }
    struct str t = query_get(&c->query, STR("tenant_id"));
    return t.p ? t : STR("");
}

static void event_got(struct op *op)
{
    struct log_call *l = CONTAINER_OF(op, struct log_call, get.event.op);
    if (op->err.code == EC_NOT_FOUND) {
        reply_error(l->c, 404, "event not found");
        return;
    }
    if (op->err.code) {
        reply_internal(l->c, &op->err);
        return;
    }
    struct buf *b = call_body(l->c);
    add_event(b, l->get.event.out, false, true);
    event_unref(l->get.event.out);
    reply_json(l->c, 200, b);
}

void event_read(struct call *c)
{
    struct log_call *l = log_call_new(c);
    l->get.event = (struct log_event_get){.op = op_for(event_got), .tenant_id = scalar_tenant(c), .id = c->params[0]};
    logstore_event_get(c->api->log, &l->get.event);
}

static void whole_event_got(struct op *op);

static void attempt_got(struct op *op)
{
    struct log_call *l = CONTAINER_OF(op, struct log_call, get.attempt.op);
    struct attempt *a = l->get.attempt.out;
    if (!op->err.code && l->only_dest.n && !str_eq(a->destination_id, l->only_dest)) {
        attempt_unref(a);
        op->err.code = EC_NOT_FOUND;
    }
    if (op->err.code == EC_NOT_FOUND) {
        reply_error(l->c, 404, "attempt not found");
        return;
    }
    if (op->err.code) {
        reply_internal(l->c, &op->err);
        return;
    }
    struct log_call *with = log_call_new(l->c);
    with->include = l->include;
    with->list.attempts = ARENA_NEW(l->c->a, struct attempt *);
    with->list.attempts[0] = a;
    with->get.event = (struct log_event_get){.op = op_for(whole_event_got), .tenant_id = a->event->tenant_id, .id = a->event->id};
    if (l->include & (INCLUDE_EVENT | INCLUDE_DATA)) {
        logstore_event_get(l->c->api->log, &with->get.event);
    } else {
        op_finish(&with->get.event.op, EC_NOT_FOUND, NULL);
    }
}

static void whole_event_got(struct op *op)
{
    struct log_call *l = CONTAINER_OF(op, struct log_call, get.event.op);
    struct attempt *a = l->list.attempts[0];
    if (!op->err.code) {
        event_unref(a->event);
        a->event = l->get.event.out;
    }
    struct buf *b = call_body(l->c);
    add_attempt(l, b, a);
    attempt_unref(a);
    reply_json(l->c, 200, b);
}

static void read_attempt(struct call *c, struct str tenant, struct str dest, struct str id)
{
    struct log_call *l = log_call_new(c);
    l->include = read_include(c);
    l->only_dest = dest;
    l->get.attempt = (struct log_attempt_get){.op = op_for(attempt_got), .tenant_id = tenant, .id = id};
    logstore_attempt_get(c->api->log, &l->get.attempt);
}

void attempt_read(struct call *c)
{
    read_attempt(c, scalar_tenant(c), STR(""), c->params[0]);
}

void destination_attempt(struct call *c)
{
    read_attempt(c, c->tenant->id, c->params[1], c->params[2]);
}
