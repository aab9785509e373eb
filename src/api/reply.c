/* The ways to answer. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "api/call.h"
#include "util/log.h"

#define BODY_MOST (256u * 1024 * 1024)
#define BODY_KEPT (1024u * 1024)

/* One buffer per api thread: answers are copied out by http_reply before the next one begins. */
struct buf *call_body(struct call *c)
{
    (void)c;
    static _Thread_local struct buf body;
    if (!body.max || body.cap > BODY_KEPT) {
        buf_fini(&body);
        buf_init(&body, BODY_MOST);
    }
    buf_reset(&body);
    return &body;
}

static void send_reply(struct call *c, int status, const struct http_header *headers, size_t n, struct str body)
{
    if (c->route && status >= 500) {
        log_line(LOG_ERROR, "request completed", ls("method", c->rq->method), lz("path", c->route->path), li("status", status));
    } else if (c->route) {
        log_line(LOG_DEBUG, "request completed", ls("method", c->rq->method), lz("path", c->route->path), li("status", status));
    }
    tenant_unref(c->tenant);
    struct http_reply r = {.status = status, .headers = headers, .header_count = n, .body = body};
    http_reply(c->rq, &r);
}

static const struct http_header json_type[] = {{{"Content-Type", 12}, {"application/json; charset=utf-8", 31}}};

void reply_json(struct call *c, int status, struct buf *body)
{
    send_reply(c, status, json_type, 1, buf_str(body));
}

void reply_error(struct call *c, int status, const char *message)
{
    reply_error_list(c, status, message, NULL, 0);
}

void reply_error_list(struct call *c, int status, const char *message, const struct str *items, size_t n)
{
    struct buf *b = call_body(c);
    struct jsonw w;
    jw_init(&w, b, true);
    jw_obj(&w);
    jw_kint(&w, "status", status);
    jw_kstr(&w, "message", str_z(message));
    if (items) {
        jw_key(&w, STR("data"));
        jw_arr(&w);
        for (size_t i = 0; i < n; i++) {
            jw_str(&w, items[i]);
        }
        jw_arr_end(&w);
    }
    jw_obj_end(&w);
    reply_json(c, status, b);
}

void reply_error_field(struct call *c, int status, const char *message, struct str key, struct str text)
{
    struct buf *b = call_body(c);
    struct jsonw w;
    jw_init(&w, b, true);
    jw_obj(&w);
    jw_kint(&w, "status", status);
    jw_kstr(&w, "message", str_z(message));
    jw_key(&w, STR("data"));
    jw_obj(&w);
    jw_key(&w, key);
    jw_str(&w, text);
    jw_obj_end(&w);
    jw_obj_end(&w);
    reply_json(c, status, b);
}

void reply_bare(struct call *c, int status)
{
    send_reply(c, status, NULL, 0, STR(""));
}

void reply_not_found_plain(struct call *c)
{
    static const struct http_header h = {{"Content-Type", 12}, {"text/plain", 10}};
    send_reply(c, 404, &h, 1, STR("404 page not found"));
}

void reply_internal(struct call *c, const struct err *err)
{
    bool later = err->code == EC_UNAVAILABLE || err->code == EC_TIMEOUT;
    log_line(later ? LOG_WARN : LOG_ERROR, "request failed", lz("path", c->route->path), lz("error", err->text));
    struct buf *b = call_body(c);
    if (!later) {
        buf_addz(b, "{\"status\":500,\"message\":\"internal server error\"}");
        reply_json(c, 500, b);
        return;
    }
    buf_addz(b, "{\"status\":503,\"message\":\"service unavailable\"}");
    struct http_header h[2] = {json_type[0], {STR("Retry-After"), STR("1")}};
    send_reply(c, 503, h, 2, buf_str(b));
}

void reply_success(struct call *c)
{
    struct buf *b = call_body(c);
    buf_addz(b, "{\"success\":true}");
    reply_json(c, 200, b);
}
