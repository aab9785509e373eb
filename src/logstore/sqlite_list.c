/* Pages over segments: each segment gives its best rows beyond the position, the best of all make the page. Segments whose
 * times cannot reach the page any more are passed over. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "logstore/sqlite_priv.h"

/* A row of the page under construction. */
struct found {
    usec_t time;
    struct str id; /* of the noun */
    struct event *event;
    struct attempt *attempt;
};

struct page {
    struct log_list *rq;
    bool attempts, up; /* up: walked towards later times */
    usec_t position;
    struct found *v; /* best first, at most limit + 1 */
    size_t n;
};

/* <0: a comes before b in walking order. */
static int order(const struct page *p, usec_t at, struct str a, usec_t bt, struct str b)
{
    int c = at != bt ? (at < bt ? -1 : 1) : str_cmp(a, b);
    return p->up ? c : -c;
}

static void found_free(struct found *f)
{
    event_unref(f->event);
    attempt_unref(f->attempt);
}

/* Returns whether a row behind this one could still get onto the page. */
static bool keep(struct page *p, struct found f)
{
    size_t most = p->rq->limit + 1, at = p->n;
    while (at) {
        int c = order(p, f.time, f.id, p->v[at - 1].time, p->v[at - 1].id);
        if (c == 0) { /* recorded twice, in two segments */
            found_free(&f);
            return p->n < most || at < p->n;
        }
        if (c > 0) {
            break;
        }
        at--;
    }
    if (at == most) {
        found_free(&f);
        return false;
    }
    if (p->n == most) {
        found_free(&p->v[--p->n]);
    }
    memmove(p->v + at + 1, p->v + at, (p->n - at) * sizeof(*p->v));
    p->v[at] = f;
    p->n++;
    return p->n < most || at + 1 < p->n;
}

static void add_in(struct buf *sql, const char *column, const struct strlist *l)
{
    if (l->n == 0) {
        return;
    }
    buf_addf(sql, " AND %s IN (", column);
    for (size_t i = 0; i < l->n; i++) {
        buf_addz(sql, i ? ",?" : "?");
    }
    buf_addc(sql, ')');
}

static void add_hash_in(struct buf *sql, const char *column, size_t n)
{
    if (n) {
        buf_addf(sql, " AND %s IN (", column);
        for (size_t i = 0; i < n; i++) {
            buf_addz(sql, i ? ",?" : "?");
        }
        buf_addc(sql, ')');
    }
}

static void build(struct page *p, struct buf *sql)
{
    const struct log_filter *f = &p->rq->filter;
    buf_addf(sql, "SELECT %s FROM %s WHERE env=?", p->attempts ? ATTEMPT_COLUMNS : EVENT_COLUMNS,
             p->attempts ? "attempt" : "event");
    add_in(sql, "tenant", &f->tenant_ids);
    add_hash_in(sql, p->attempts ? "eh" : "h", f->event_ids.n);
    add_in(sql, p->attempts ? "event_id" : "id", &f->event_ids);
    add_in(sql, "topic", &f->topics);
    if (p->attempts) {
        add_in(sql, "dest", &f->destination_ids);
        add_in(sql, "type", &f->destination_types);
        if (f->has_status) {
            buf_addz(sql, " AND success=?");
        }
    } else if (f->destination_ids.n) {
        buf_addz(sql, " AND EXISTS(SELECT 1 FROM json_each(matched) WHERE 1");
        add_in(sql, "value", &f->destination_ids);
        buf_addc(sql, ')');
    }
    static const struct {
        const char *text;
    } bounds[] = {{" AND time>=?"}, {" AND time<=?"}, {" AND time>?"}, {" AND time<?"}};
    const bool has[] = {f->has_gte, f->has_lte, f->has_gt, f->has_lt};
    for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
        if (has[i]) {
            buf_addz(sql, bounds[i].text);
        }
    }
    if (p->rq->has_position) {
        buf_addf(sql, " AND (time, id) %s (?, ?)", p->up ? ">" : "<");
    }
    buf_addf(sql, " ORDER BY time %s, id %s LIMIT ?", p->up ? "ASC" : "DESC", p->up ? "ASC" : "DESC");
}

static void bind_list(sqlite3_stmt *st, int *at, const struct strlist *l)
{
    for (size_t i = 0; i < l->n; i++) {
        sqlc_bind(st, (*at)++, l->v[i]);
    }
}

static void bind_all(struct page *p, sqlite3_stmt *st, int64_t most)
{
    const struct log_filter *f = &p->rq->filter;
    int at = 1;
    sqlc_bind(st, at++, f->env);
    bind_list(st, &at, &f->tenant_ids);
    for (size_t i = 0; i < f->event_ids.n; i++) {
        sqlite3_bind_int64(st, at++, (int64_t)str_hash_stable(f->event_ids.v[i]));
    }
    bind_list(st, &at, &f->event_ids);
    bind_list(st, &at, &f->topics);
    bind_list(st, &at, &f->destination_ids);
    if (p->attempts) {
        bind_list(st, &at, &f->destination_types);
        if (f->has_status) {
            int want = str_eqz(f->status, "success") ? 1 : str_eqz(f->status, "failed") ? 0 : -1;
            sqlite3_bind_int(st, at++, want);
        }
    }
    const struct {
        bool has;
        usec_t v;
    } bounds[] = {{f->has_gte, f->gte}, {f->has_lte, f->lte}, {f->has_gt, f->gt}, {f->has_lt, f->lt}};
    for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
        if (bounds[i].has) {
            sqlite3_bind_int64(st, at++, bounds[i].v);
        }
    }
    if (p->rq->has_position) {
        sqlite3_bind_int64(st, at++, p->position);
        sqlc_bind(st, at++, p->rq->position_id);
    }
    sqlite3_bind_int64(st, at, most);
}

/* Could a row of this segment still get onto the page? */
static bool reaches(const struct page *p, const struct segment *s)
{
    int64_t min = atomic_load(p->attempts ? &s->attempt_min : &s->event_min);
    int64_t max = atomic_load(p->attempts ? &s->attempt_max : &s->event_max);
    const struct log_filter *f = &p->rq->filter;
    if (min > max || (f->has_gte && max < f->gte) || (f->has_gt && max <= f->gt) || (f->has_lte && min > f->lte) ||
        (f->has_lt && min >= f->lt)) {
        return false;
    }
    if (p->rq->has_position && (p->up ? max < p->position : min > p->position)) {
        return false;
    }
    if (p->n <= p->rq->limit) {
        return true;
    }
    usec_t last = p->v[p->n - 1].time;
    return p->up ? min <= last : max >= last;
}

/* Offers the first `most` rows of a segment to the page. *out_short: rows recorded twice took the place of others, behind
 * which there may be more for the page. */
static enum ec offer(struct page *p, sqlite3_stmt *st, int64_t most, bool *out_short)
{
    int rc;
    int64_t rows = 0;
    *out_short = false;
    bind_all(p, st, most);
    while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        struct found f = {0};
        if (p->attempts) {
            f.attempt = log_read_attempt(st, p->rq->want_response);
            f.time = f.attempt->time;
            f.id = f.attempt->id;
        } else {
            f.event = log_read_event(st, p->rq->want_data);
            f.time = f.event->time;
            f.id = f.event->id;
        }
        bool room = keep(p, f);
        *out_short = ++rows == most && room;
    }
    sqlite3_reset(st);
    return rc == SQLITE_DONE ? EC_OK : EC_UNAVAILABLE;
}

static enum ec walk(struct page *p, struct sqlc_conn *c, const char *sql, struct err *err)
{
    sqlite3_stmt *st = NULL;
    sqlc_conn_use(c);
    enum ec ec = sqlite3_prepare_v2(sqlc_handle(NULL), sql, -1, &st, NULL) == SQLITE_OK ? EC_OK : EC_UNAVAILABLE;
    bool again = true;
    for (int64_t most = (int64_t)p->rq->limit + 1; !ec && again; most *= 2) {
        ec = offer(p, st, most, &again);
    }
    if (ec) {
        err_set(err, ec, "the log could not be read: %s", sqlite3_errmsg(sqlc_handle(NULL)));
    }
    sqlite3_finalize(st);
    return ec;
}

/* Attempts with want_data carry their whole event. */
static void fill_events(struct reader *r, struct page *p)
{
    for (size_t i = 0; i < p->n && p->attempts && p->rq->want_data; i++) {
        struct attempt *a = p->v[i].attempt;
        struct event *whole = log_event_anywhere(r, a->event->env, a->event->tenant_id, a->event->id, true);
        if (whole) {
            event_unref(a->event);
            a->event = whole;
        }
    }
}

static void hand_out(struct page *p)
{
    struct log_list *rq = p->rq;
    rq->more = p->n > rq->limit;
    if (rq->more) {
        found_free(&p->v[--p->n]);
    }
    rq->events = p->attempts ? NULL : xcalloc(p->n, sizeof(struct event *));
    rq->attempts = p->attempts ? xcalloc(p->n, sizeof(struct attempt *)) : NULL;
    rq->count = p->n;
    for (size_t i = 0; i < p->n; i++) {
        size_t to = rq->backward ? p->n - 1 - i : i;
        if (p->attempts) {
            rq->attempts[to] = p->v[i].attempt;
        } else {
            rq->events[to] = p->v[i].event;
        }
    }
}

/* The cursor's millisecond becomes the exact time of its row, where the row still exists. */
static void refine(struct reader *r, struct page *p)
{
    p->position = p->rq->position;
    if (!p->rq->has_position || p->rq->position_id.n == 0) {
        return;
    }
    usec_t exact = p->position;
    if (p->attempts) {
        struct attempt *a = log_attempt_anywhere(r, p->rq->filter.env, STR(""), p->rq->position_id);
        exact = a ? a->time : exact;
        attempt_unref(a);
    } else {
        struct event *e = log_event_anywhere(r, p->rq->filter.env, STR(""), p->rq->position_id, false);
        exact = e ? e->time : exact;
        event_unref(e);
    }
    if (exact / USEC_PER_MSEC == p->position / USEC_PER_MSEC) {
        p->position = exact;
    }
}

enum ec log_run_list(struct reader *r, struct log_list *rq, bool attempts, struct err *err)
{
    struct page p = {.rq = rq, .attempts = attempts, .up = rq->ascending != rq->backward};
    refine(r, &p);
    p.v = xcalloc(rq->limit + 2, sizeof(*p.v));
    CLEANUP(buf_fini) struct buf sql;
    buf_init(&sql, 1024 * 1024);
    build(&p, &sql);
    struct segment **segments;
    size_t n = seglog_snapshot(r->l, &segments);
    enum ec ec = EC_OK;
    for (size_t i = 0; i < n; i++) {
        struct segment *s = segments[p.up ? n - 1 - i : i];
        struct sqlc_conn *c = !ec && reaches(&p, s) ? reader_conn(r, s) : NULL;
        if (c) {
            ec = walk(&p, c, buf_z(&sql), err);
        }
    }
    fill_events(r, &p);
    for (size_t i = 0; i < n; i++) {
        segment_unref(segments[i]);
    }
    free(segments);
    if (!ec) {
        hand_out(&p);
    } else {
        for (size_t i = 0; i < p.n; i++) {
            found_free(&p.v[i]);
        }
    }
    free(p.v);
    return ec;
}

struct event *log_event_anywhere(struct reader *r, struct str env, struct str tenant_id, struct str id, bool with_data)
{
    struct segment **segments;
    size_t n = seglog_snapshot(r->l, &segments);
    struct event *e = NULL;
    for (size_t i = 0; i < n; i++) {
        struct sqlc_conn *c = e ? NULL : reader_conn(r, segments[i]);
        if (c) {
            sqlc_conn_use(c);
            e = log_find_event(env, tenant_id, id, with_data);
        }
        segment_unref(segments[i]);
    }
    free(segments);
    return e;
}

struct attempt *log_attempt_anywhere(struct reader *r, struct str env, struct str tenant_id, struct str id)
{
    struct segment **segments;
    size_t n = seglog_snapshot(r->l, &segments);
    struct attempt *a = NULL;
    for (size_t i = 0; i < n; i++) {
        struct sqlc_conn *c = a ? NULL : reader_conn(r, segments[i]);
        if (c) {
            sqlc_conn_use(c);
            a = log_find_attempt(env, tenant_id, id);
        }
        segment_unref(segments[i]);
    }
    free(segments);
    return a;
}
