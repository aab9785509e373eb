/* The table of routes, matching, redirects on trailing slashes, and the two kinds of 404 (api.md 2).
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "api/call.h"
#include "util/log.h"

#define T true
#define F false
const struct route api_routes[] = {
    {"GET", "/healthz", F, F, health_get},
    {"GET", "/readyz", F, F, ready_get},
    {"GET", "/api/v1/healthz", F, F, health_get},
    {"POST", "/api/v1/publish", T, F, publish_post},
    {"POST", "/api/v1/retry", F, F, retry_post},
    {"GET", "/api/v1/topics", F, F, topics_list},
    {"GET", "/api/v1/destination-types", F, F, types_list},
    {"GET", "/api/v1/destination-types/:type", F, F, type_read},
    {"GET", "/api/v1/events", F, F, events_list},
    {"GET", "/api/v1/events/:event_id", F, F, event_read},
    {"GET", "/api/v1/attempts", F, F, attempts_list},
    {"GET", "/api/v1/attempts/:attempt_id", F, F, attempt_read},
    {"GET", "/api/v1/tenants", F, F, tenants_list},
    {"PUT", "/api/v1/tenants/:tenant_id", F, F, tenant_upsert},
    {"GET", "/api/v1/tenants/:tenant_id", F, T, tenant_read},
    {"DELETE", "/api/v1/tenants/:tenant_id", F, T, tenant_delete},
    {"GET", "/api/v1/tenants/:tenant_id/token", T, T, tenant_token},
    {"GET", "/api/v1/tenants/:tenant_id/portal", T, T, tenant_portal},
    {"GET", "/api/v1/tenants/:tenant_id/destinations", F, T, destinations_list},
    {"POST", "/api/v1/tenants/:tenant_id/destinations", F, T, destination_create},
    {"GET", "/api/v1/tenants/:tenant_id/destinations/:destination_id", F, T, destination_read},
    {"PATCH", "/api/v1/tenants/:tenant_id/destinations/:destination_id", F, T, destination_patch},
    {"DELETE", "/api/v1/tenants/:tenant_id/destinations/:destination_id", F, T, destination_delete},
    {"PUT", "/api/v1/tenants/:tenant_id/destinations/:destination_id/enable", F, T, destination_enable},
    {"PUT", "/api/v1/tenants/:tenant_id/destinations/:destination_id/disable", F, T, destination_disable},
    {"GET", "/api/v1/tenants/:tenant_id/destinations/:destination_id/attempts", F, T, destination_attempts},
    {"GET", "/api/v1/tenants/:tenant_id/destinations/:destination_id/attempts/:attempt_id", F, T, destination_attempt},
};
#undef T
#undef F
const size_t api_route_count = ARRAY_LEN(api_routes);

/* A parameter may be empty only in front of a further segment. */
static bool path_matches(const char *pattern, struct str path, struct str *params)
{
    struct str want = str_z(pattern), w, p;
    size_t n = 0;
    while (true) {
        bool more_w = str_split(&want, '/', &w), more_p = str_split(&path, '/', &p);
        if (!more_w || !more_p) {
            return more_w == more_p;
        }
        if (w.n && w.p[0] == ':') {
            if (p.n == 0 && !path.p) {
                return false;
            }
            if (n < PARAMS_MOST) {
                params[n++] = p;
            }
        } else if (!str_eq(w, p)) {
            return false;
        }
    }
}

static const struct route *find(struct str method, struct str path, struct str *params)
{
    for (size_t i = 0; i < api_route_count; i++) {
        if (str_eqz(method, api_routes[i].method) && path_matches(api_routes[i].path, path, params)) {
            return &api_routes[i];
        }
    }
    return NULL;
}

static void html_add(struct buf *b, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        switch (s.p[i]) {
        case '<':
            buf_addz(b, "&lt;");
            break;
        case '>':
            buf_addz(b, "&gt;");
            break;
        case '&':
            buf_addz(b, "&amp;");
            break;
        case '"':
            buf_addz(b, "&#34;");
            break;
        case '\'':
            buf_addz(b, "&#39;");
            break;
        default:
            buf_addc(b, s.p[i]);
        }
    }
}

/* X-Forwarded-Prefix in front of a redirect: letters, digits, '/' and '-' only, no double '/'. */
static void add_prefix(struct call *c, struct buf *b)
{
    struct str prefix = http_req_header(c->rq, "x-forwarded-prefix");
    for (size_t i = 0; i < prefix.n; i++) {
        char ch = prefix.p[i];
        bool good = (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '/' || ch == '-';
        if (good && !(ch == '/' && b->n && b->p[b->n - 1] == '/')) {
            buf_addc(b, ch);
        }
    }
}

/* "/a/" + "/b" has one slash between. */
static struct str join_path(const struct buf *prefix, struct str path)
{
    bool doubled = prefix->n && prefix->p[prefix->n - 1] == '/' && path.n && path.p[0] == '/';
    return str_sub(path, doubled, path.n);
}

static void redirect(struct call *c, struct str path)
{
    CLEANUP(buf_fini) struct buf to;
    CLEANUP(buf_fini) struct buf html;
    buf_init(&to, 256 * 1024);
    buf_init(&html, 1024 * 1024);
    add_prefix(c, &to);
    percent_add(&to, join_path(&to, path), "/$&+,:;=@!'()*");
    if (c->rq->query.n) {
        buf_addc(&to, '?');
        buf_adds(&to, c->rq->query);
    }
    bool get = str_eqz(c->rq->method, "GET");
    if (get) {
        buf_addz(&html, "<a href=\"");
        html_add(&html, buf_str(&to));
        buf_addz(&html, "\">Moved Permanently</a>.\n\n");
    }
    struct http_header h[2] = {{STR("Location"), buf_str(&to)}, {STR("Content-Type"), STR("text/html; charset=utf-8")}};
    struct http_reply r = {.status = get ? 301 : 307, .headers = h, .header_count = get ? 2 : 1, .body = buf_str(&html)};
    http_reply(c->rq, &r);
}

static void unmatched(struct call *c)
{
    struct str slash = str_sub(c->path, 0, c->path.n ? c->path.n - 1 : 0);
    struct str ignored[PARAMS_MOST];
    if (c->path.n > 1 && c->path.p[c->path.n - 1] == '/' && find(c->rq->method, slash, ignored)) {
        redirect(c, slash);
        return;
    }
    if (str_starts(c->path, STR("/api/"))) {
        struct buf *b = call_body(c);
        buf_addz(b, "{\"message\":\"not found\",\"status\":404}");
        reply_json(c, 404, b);
        return;
    }
    reply_not_found_plain(c);
}

void api_on_request(void *arg, struct http_req *rq)
{
    struct call *c = ARENA_NEW(&rq->arena, struct call);
    c->api = arg;
    c->rq = rq;
    c->a = &rq->arena;
    if (!percent_decode(rq->path, c->a, &c->path)) {
        reply_bare(c, 400);
        return;
    }
    c->route = find(rq->method, c->path, c->params);
    if (!c->route) {
        unmatched(c);
        return;
    }
    c->query = query_parse(rq->query, c->a);
    if (c->route->handle == health_get || c->route->handle == ready_get) {
        c->route->handle(c);
        return;
    }
    api_authenticate(c);
}

void api_on_error(void *arg, int status, struct arena *a, struct http_reply *out)
{
    (void)arg;
    static const struct http_header type = {{"Content-Type", 12}, {"application/json; charset=utf-8", 31}};
    out->headers = &type;
    out->header_count = 1;
    const char *text = status == 413   ? "request body too large"
                       : status == 431 ? "request header fields too large"
                       : status == 408 ? "request timeout"
                       : status == 505 ? "HTTP version not supported"
                                       : "bad request";
    out->body = arena_printf(a, "{\"status\":%d,\"message\":\"%s\"}", status, text);
}
