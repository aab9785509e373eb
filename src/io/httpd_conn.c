/* One connection's life: reading, handing requests to the handler one at a time, closing with
 * manners (shutdown, then throwing away what still comes for a moment, so that the reply is not
 * lost to a reset). httpd_conn_run is the one place that decides what happens next; it loops where
 * calling back would nest. Writing: httpd_reply.c. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "io/httpd_priv.h"

#define IN_MOST 65536u /* read ahead of the answers */

void httpd_conn_state(struct http_conn *c, enum conn_state state)
{
    static const enum wait waits[] = {
        [CONN_IDLE] = WAIT_IDLE,    [CONN_HEAD] = WAIT_HEAD,      [CONN_BODY] = WAIT_BODY,
        [CONN_BUSY] = WAIT_HANDLER, [CONN_CLOSING] = WAIT_LINGER,
    };
    c->state = state;
    if (c->writes == 0) {
        httpd_wait(c, waits[state]);
    }
}

/* ---- the end ---- */

static void on_closed(uv_handle_t *handle)
{
    struct http_conn *c = handle->data;
    struct httpd *h = c->server;
    http_parse_fini(&c->parse);
    buf_fini(&c->in);
    free(c);
    httpd_handle_closed(h);
}

void httpd_conn_close(struct http_conn *c)
{
    if (c->closed) {
        return;
    }
    struct httpd *h = c->server;
    struct http_req *rq = c->rq;
    c->closed = true;
    if (h->out_conn == c) {
        h->out_conn = NULL;
        buf_reset(&h->out);
    }
    list_del(&c->link);
    h->conn_count--;
    uv_close((uv_handle_t *)&c->tcp, on_closed);
    if (rq) { /* the handler still has it; its reply is dropped */
        c->rq = NULL;
        rq->conn = NULL;
        h->busy--;
        if (rq->gone) {
            rq->gone(rq);
        }
    }
}

static void on_shut(uv_shutdown_t *req, int status)
{
    struct http_conn *c = req->data;
    if (!c->closed && (status < 0 || c->eof)) {
        httpd_conn_close(c);
    }
}

/* ---- reading ---- */

static void on_alloc(uv_handle_t *handle, size_t hint, uv_buf_t *out)
{
    (void)hint;
    struct http_conn *c = handle->data;
    *out = uv_buf_init(c->server->read_buf, READ_SIZE);
}

static void stop_reading(struct http_conn *c)
{
    uv_read_stop((uv_stream_t *)&c->tcp);
    c->reading = false;
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *b)
{
    struct http_conn *c = stream->data;
    if (n == UV_EOF) { /* it may still read our replies */
        c->eof = true;
        stop_reading(c);
        httpd_conn_run(c, STR_NULL);
    } else if (n < 0) {
        httpd_conn_close(c);
    } else if (n > 0 && c->state != CONN_CLOSING) {
        httpd_conn_run(c, (struct str){b->base, (size_t)n});
    }
}

/* ---- requests ---- */

static void dispatch(struct http_conn *c)
{
    struct httpd *h = c->server;
    struct http_req *rq = c->rq = c->parse.rq;
    c->parse.rq = NULL;
    c->keep_alive = c->parse.keep_alive;
    c->old = c->parse.old;
    http_parse_fini(&c->parse);
    rq->conn = c;
    rq->peer = arena_copy(&rq->arena, str_z(c->peer));
    h->busy++;
    httpd_conn_state(c, CONN_BUSY);
    h->conf.on_request(h->conf.arg, rq);
}

/* Answers what no handler will see; nothing more is taken from this connection. */
static void refuse(struct http_conn *c, int status)
{
    struct httpd *h = c->server;
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    struct http_reply r = {.status = status};
    if (h->conf.on_error) {
        h->conf.on_error(h->conf.arg, status, &a, &r);
    }
    bool head = c->parse.rq && str_eqz(c->parse.rq->method, "HEAD");
    httpd_conn_state(c, CONN_CLOSING);
    httpd_out_reply(c, &r, true, head);
}

void http_reply(struct http_req *rq, const struct http_reply *r)
{
    struct http_conn *c = rq->conn;
    if (!c) { /* the client went away */
        http_pool_give(NULL, rq);
        return;
    }
    struct httpd *h = c->server;
    bool close = r->close || !c->keep_alive || h->stopping;
    bool head = str_eqz(rq->method, "HEAD");
    c->rq = NULL;
    h->busy--;
    httpd_conn_state(c, close ? CONN_CLOSING : CONN_IDLE);
    httpd_out_reply(c, r, close, head);
    http_pool_give(&h->pool, rq); /* the reply may have pointed into it */
    if (!c->serving) {
        httpd_conn_run(c, STR_NULL);
    }
}

static bool takes_requests(const struct http_conn *c)
{
    return !c->closed && c->writes == 0 && c->state != CONN_BUSY && c->state != CONN_CLOSING;
}

/* Until the handler keeps a request, the client does not read, or the bytes are used up; returns
 * the rest. */
static struct str serve(struct http_conn *c, struct str bytes)
{
    size_t before = SIZE_MAX;
    c->serving = true;
    while (bytes.n && bytes.n < before && takes_requests(c)) {
        before = bytes.n;
        switch (http_parse(&c->parse, &bytes)) {
        case PARSED_PART:
            if (c->state == CONN_IDLE && bytes.n) {
                httpd_conn_state(c, CONN_HEAD);
            }
            break;
        case PARSED_HEAD:
            c->parse.rq->received = io_now(c->server->io);
            httpd_conn_state(c, CONN_BODY);
            if (c->parse.expect_continue && bytes.n == 0) {
                httpd_out_continue(c);
            }
            break;
        case PARSED_WHOLE:
            if (c->state != CONN_BODY) {
                c->parse.rq->received = io_now(c->server->io);
            }
            dispatch(c);
            break;
        case PARSED_REFUSED:
            refuse(c, c->parse.status);
            break;
        }
    }
    c->serving = false;
    return bytes;
}

/* Keeps what serve left: at the end of `in`, or as the new start of it. */
static void keep_rest(struct http_conn *c, struct str rest, bool from_in)
{
    if (from_in) {
        c->in_at = c->in.n - rest.n;
    } else {
        buf_adds(&c->in, rest);
    }
    if (c->in_at == c->in.n) {
        buf_fini(&c->in); /* an idle connection holds no buffers */
        c->in_at = 0;
    } else if (c->in_at > c->in.n / 2) {
        memmove(c->in.p, c->in.p + c->in_at, c->in.n - c->in_at);
        c->in.n -= c->in_at;
        c->in_at = 0;
    }
}

static void take_in(struct http_conn *c, struct str fresh)
{
    bool from_in = c->in.n > 0;
    if (from_in) {
        buf_adds(&c->in, fresh);
        fresh = (struct str){c->in.p + c->in_at, c->in.n - c->in_at};
    }
    struct str rest = serve(c, fresh);
    if (c->closed || c->state == CONN_CLOSING) {
        rest = STR_NULL;
    }
    keep_rest(c, rest, from_in);
}

/* Begins or pauses reading; a client far ahead of the answers has to wait. */
static void set_reading(struct http_conn *c)
{
    bool wanted = c->state == CONN_CLOSING || takes_requests(c) || c->in.n - c->in_at < IN_MOST;
    if (c->reading && !wanted) {
        stop_reading(c);
    } else if (!c->reading && wanted && !c->eof) {
        c->reading = uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read) == 0;
    }
}

void httpd_conn_run(struct http_conn *c, struct str fresh)
{
    take_in(c, fresh);
    httpd_out_flush(c);
    if (c->closed) {
        return;
    }
    if (c->state == CONN_CLOSING && !c->shut) {
        c->shut = true;
        c->shutdown.data = c;
        if (uv_shutdown(&c->shutdown, (uv_stream_t *)&c->tcp, on_shut)) {
            httpd_conn_close(c);
            return;
        }
    } else if (c->eof && (takes_requests(c) || (c->shut && c->writes == 0))) {
        httpd_conn_close(c); /* nothing is left to say */
        return;
    }
    set_reading(c);
}

void httpd_conn_timeout(struct http_conn *c)
{
    if (c->writes || (c->state != CONN_HEAD && c->state != CONN_BODY)) {
        httpd_conn_close(c);
        return;
    }
    refuse(c, 408);
    httpd_conn_run(c, STR_NULL);
}

/* ---- the beginning ---- */

static void name_peer(struct http_conn *c)
{
    struct sockaddr_storage sa;
    int n = sizeof(sa);
    if (uv_tcp_getpeername(&c->tcp, (struct sockaddr *)&sa, &n) == 0) {
        uv_ip_name((struct sockaddr *)&sa, c->peer, sizeof(c->peer));
    }
    if (strncmp(c->peer, "::ffff:", 7) == 0) {
        memmove(c->peer, c->peer + 7, strlen(c->peer + 7) + 1);
    }
}

void httpd_conn_open(struct httpd *h, uv_stream_t *listener)
{
    struct http_conn *c = xcalloc(1, sizeof(*c));
    c->server = h;
    c->tcp.data = c;
    uv_tcp_init(io_uv(h->io), &c->tcp);
    h->handles++;
    h->conn_count++;
    list_init(&c->link);
    buf_init(&c->in, IN_MOST + 2 * READ_SIZE);
    http_parse_init(&c->parse, &h->pool, h->conf.max_body);
    if (uv_accept(listener, (uv_stream_t *)&c->tcp) || h->conn_count > h->conf.max_conns) {
        httpd_conn_close(c);
        return;
    }
    uv_tcp_nodelay(&c->tcp, 1);
    name_peer(c);
    httpd_conn_state(c, CONN_IDLE);
    set_reading(c);
}
