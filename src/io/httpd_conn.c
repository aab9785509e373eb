/* One connection's life: reading, handing requests to the handler one at a time, writing replies, closing with
 * manners (shutdown, then throwing away what still comes for a moment, so that the reply is not lost to a reset).
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "io/httpd_priv.h"

#define LINGER (1 * NSEC_PER_SEC)

struct http_write {
    uv_write_t req;
    struct http_conn *conn;
    size_t n;
    char bytes[];
};

static void advance(struct http_conn *c);

const char *http_reason(int status)
{
    static const struct {
        int status;
        const char *text;
    } reasons[] = {
        {100, "Continue"}, {200, "OK"}, {201, "Created"}, {202, "Accepted"}, {204, "No Content"},
        {301, "Moved Permanently"}, {302, "Found"}, {304, "Not Modified"}, {307, "Temporary Redirect"},
        {400, "Bad Request"}, {401, "Unauthorized"}, {403, "Forbidden"}, {404, "Not Found"},
        {408, "Request Timeout"}, {409, "Conflict"}, {410, "Gone"}, {413, "Request Entity Too Large"},
        {422, "Unprocessable Entity"}, {429, "Too Many Requests"}, {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"}, {501, "Not Implemented"}, {502, "Bad Gateway"},
        {503, "Service Unavailable"}, {504, "Gateway Timeout"}, {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (reasons[i].status == status) {
            return reasons[i].text;
        }
    }
    return "Status";
}

static void set_state(struct http_conn *c, enum conn_state state)
{
    const struct httpd_conf *conf = &c->server->conf;
    nsec_t now = io_now(c->server->io);
    c->state = state;
    switch (state) {
    case CONN_IDLE:
        c->deadline = now + conf->idle_timeout;
        break;
    case CONN_HEAD:
        c->deadline = now + conf->head_timeout;
        break;
    case CONN_BODY:
        c->deadline = now + conf->body_timeout;
        break;
    case CONN_BUSY:
        c->deadline = 0;
        break;
    case CONN_CLOSING:
        c->deadline = now + LINGER;
        break;
    }
}

static void on_closed(uv_handle_t *h)
{
    struct http_conn *c = h->data;
    struct httpd *s = c->server;
    buf_fini(&c->in);
    buf_fini(&c->body);
    s->handles--;
    free(c);
}

void httpd_conn_close(struct http_conn *c)
{
    if (c->closed) {
        return;
    }
    c->closed = true;
    struct http_req *rq = c->rq;
    if (rq && c->state != CONN_BUSY) {
        httpd_req_give(c->server, rq);
        c->rq = NULL;
    } else if (rq) {
        rq->conn = NULL; /* the handler still has it; its reply is dropped */
        c->server->busy--;
        if (rq->gone) {
            rq->gone(rq);
        }
    }
    list_del(&c->link);
    c->server->conn_count--;
    uv_close((uv_handle_t *)&c->tcp, on_closed);
}

static void on_alloc(uv_handle_t *h, size_t hint, uv_buf_t *out)
{
    (void)hint;
    struct http_conn *c = h->data;
    *out = uv_buf_init(c->server->read_buf, READ_SIZE);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *b)
{
    struct http_conn *c = stream->data;
    if (n == 0) {
        return;
    }
    if (n < 0) {
        c->eof = true;
        /* A client may close its side after the last request and still read the reply. */
        if (n == UV_EOF && c->state == CONN_BUSY) {
            uv_read_stop(stream);
            c->reading = false;
            return;
        }
        httpd_conn_close(c);
        return;
    }
    httpd_conn_feed(c, b->base, (size_t)n);
}

static void start_reading(struct http_conn *c)
{
    if (!c->reading && !c->eof && !c->closed) {
        c->reading = true;
        uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read);
    }
}

static void on_written(uv_write_t *req, int status)
{
    struct http_write *w = CONTAINER_OF(req, struct http_write, req);
    struct http_conn *c = w->conn;
    free(w);
    c->writes--;
    if (c->closed) {
        return;
    }
    if (status < 0) {
        httpd_conn_close(c);
    } else if (c->writes == 0 && c->state != CONN_CLOSING) {
        set_state(c, c->state);
        advance(c);
    }
}

/* Writes now what the socket takes; the rest is copied and written later, within write_timeout. */
static void write_out(struct http_conn *c, struct str bytes)
{
    uv_buf_t b = uv_buf_init((char *)(uintptr_t)bytes.p, (unsigned)bytes.n);
    int n = c->writes ? UV_EAGAIN : uv_try_write((uv_stream_t *)&c->tcp, &b, 1);
    if (n < 0 && n != UV_EAGAIN) {
        httpd_conn_close(c);
        return;
    }
    size_t done = n > 0 ? (size_t)n : 0;
    if (done == bytes.n) {
        return;
    }
    struct http_write *w = xmalloc(sizeof(*w) + bytes.n - done);
    w->conn = c;
    w->n = bytes.n - done;
    memcpy(w->bytes, bytes.p + done, w->n);
    b = uv_buf_init(w->bytes, (unsigned)w->n);
    if (uv_write(&w->req, (uv_stream_t *)&c->tcp, &b, 1, on_written)) {
        free(w);
        httpd_conn_close(c);
        return;
    }
    c->writes++;
    c->deadline = io_now(c->server->io) + c->server->conf.write_timeout;
}

static void on_shut(uv_shutdown_t *req, int status)
{
    struct http_conn *c = req->data;
    if (!c->closed && (status < 0 || c->eof)) {
        httpd_conn_close(c);
    }
}

/* Nothing more will be answered on this connection. */
static void close_politely(struct http_conn *c)
{
    if (c->closed) {
        return;
    }
    nsec_t writing = c->writes ? c->deadline : 0;
    set_state(c, CONN_CLOSING);
    c->deadline = MAX(c->deadline, writing);
    buf_fini(&c->in);
    c->shutdown.data = c;
    if (uv_shutdown(&c->shutdown, (uv_stream_t *)&c->tcp, on_shut)) {
        httpd_conn_close(c);
        return;
    }
    start_reading(c);
}

static struct str date_line(struct httpd *h)
{
    nsec_t now = io_now(h->io);
    if (h->date_at == 0 || now - h->date_at >= NSEC_PER_SEC) {
        time_t t = (time_t)(wall_now() / USEC_PER_SEC);
        struct tm tm;
        gmtime_r(&t, &tm);
        strftime(h->date, sizeof(h->date), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &tm);
        h->date_at = now;
    }
    return str_z(h->date);
}

static void build_reply(struct httpd *h, const struct http_reply *r, bool close, bool no_body)
{
    struct buf *b = &h->out;
    buf_reset(b);
    buf_addz(b, "HTTP/1.1 ");
    buf_addi(b, r->status);
    buf_addc(b, ' ');
    buf_addz(b, http_reason(r->status));
    buf_addz(b, "\r\n");
    for (size_t i = 0; i < r->header_count; i++) {
        buf_adds(b, r->headers[i].name);
        buf_addz(b, ": ");
        buf_adds(b, r->headers[i].value);
        buf_addz(b, "\r\n");
    }
    buf_adds(b, date_line(h));
    if (close) {
        buf_addz(b, "Connection: close\r\n");
    }
    if (r->status != 304 && r->status != 204) {
        buf_addz(b, "Content-Length: ");
        buf_addi(b, (int64_t)r->body.n);
        buf_addz(b, "\r\n");
    }
    buf_addz(b, "\r\n");
    if (!no_body) {
        buf_adds(b, r->body);
    }
}

void http_reply(struct http_req *rq, const struct http_reply *r)
{
    struct http_conn *c = rq->conn;
    if (!c) { /* the client went away */
        httpd_req_drop(rq);
        return;
    }
    struct httpd *h = c->server;
    bool close = r->close || !c->keep_alive || h->stopping || c->eof;
    build_reply(h, r, close, str_eqz(rq->method, "HEAD"));
    c->rq = NULL;
    h->busy--;
    set_state(c, CONN_IDLE);
    httpd_req_give(h, rq);
    write_out(c, buf_str(&h->out));
    if (h->out.cap > READ_SIZE) {
        buf_fini(&h->out);
    }
    if (c->closed) {
        return;
    }
    if (close) {
        close_politely(c);
    } else {
        advance(c);
    }
}

/* Answers what the parser refused, then closes. */
static void refuse(struct http_conn *c, int status)
{
    struct httpd *h = c->server;
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    struct http_reply r = {.status = status};
    if (h->conf.on_error) {
        h->conf.on_error(h->conf.arg, status, &a, &r);
    }
    build_reply(h, &r, true, false);
    if (c->rq) {
        httpd_req_give(h, c->rq);
        c->rq = NULL;
    }
    write_out(c, buf_str(&h->out));
    close_politely(c);
}

static void dispatch(struct http_conn *c)
{
    c->server->busy++;
    set_state(c, CONN_BUSY);
    c->server->conf.on_request(c->server->conf.arg, c->rq);
}

/* What the bytes so far led to. Returns false when no more may be taken now. */
static bool after_parse(struct http_conn *c, enum conn_state before)
{
    if (c->parse_status) {
        refuse(c, c->parse_status);
        return false;
    }
    if (c->state == CONN_BUSY) {
        dispatch(c);
        return false;
    }
    if (c->state == CONN_BODY && before != CONN_BODY) {
        set_state(c, CONN_BODY);
        if (c->expect_continue) {
            write_out(c, STR("HTTP/1.1 100 Continue\r\n\r\n"));
        }
    }
    return !c->closed;
}

void httpd_conn_feed(struct http_conn *c, const char *p, size_t n)
{
    if (c->state == CONN_CLOSING) {
        return;
    }
    if (c->state == CONN_BUSY || c->writes || c->in.n) {
        buf_add(&c->in, p, n);
        if (c->in.n > HEAD_MOST && c->state == CONN_BUSY) {
            uv_read_stop((uv_stream_t *)&c->tcp); /* it sends ahead of the answers: let it wait */
            c->reading = false;
        }
        if (c->state != CONN_BUSY && !c->writes) {
            advance(c);
        }
        return;
    }
    enum conn_state before = c->state;
    size_t used = httpd_parse(c, p, n);
    if (used < n && !c->parse_status) {
        buf_add(&c->in, p + used, n - used);
    }
    if (c->state == CONN_IDLE && c->in.n) {
        set_state(c, CONN_HEAD);
    }
    if (after_parse(c, before) && c->in.n && c->state != CONN_HEAD) {
        advance(c);
    }
}

/* Takes requests from what has been read and not yet used. */
static void advance(struct http_conn *c)
{
    while (!c->closed && c->in.n && c->state != CONN_BUSY && c->state != CONN_CLOSING && !c->writes) {
        enum conn_state before = c->state;
        size_t used = httpd_parse(c, c->in.p, c->in.n);
        memmove(c->in.p, c->in.p + used, c->in.n - used);
        c->in.n -= used;
        if (c->state == CONN_IDLE && c->in.n) {
            set_state(c, CONN_HEAD);
        }
        if (c->in.n == 0) {
            buf_fini(&c->in);
        }
        if (!after_parse(c, before) || used == 0) {
            break;
        }
    }
    if (!c->closed && c->state != CONN_CLOSING && c->state != CONN_BUSY) {
        start_reading(c);
    }
}

void httpd_conn_timeout(struct http_conn *c)
{
    if (c->writes || c->state == CONN_IDLE || c->state == CONN_CLOSING) {
        httpd_conn_close(c);
    } else {
        refuse(c, 408);
    }
}

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
    uv_tcp_init(io_uv(h->io), &c->tcp);
    h->handles++;
    c->tcp.data = c;
    list_push(&h->conns, &c->link);
    h->conn_count++;
    buf_init(&c->in, HEAD_MOST + 2 * READ_SIZE);
    buf_init(&c->body, h->conf.max_body);
    if (uv_accept(listener, (uv_stream_t *)&c->tcp) || h->conn_count > h->conf.max_conns) {
        httpd_conn_close(c);
        return;
    }
    uv_tcp_nodelay(&c->tcp, 1);
    name_peer(c);
    set_state(c, CONN_IDLE);
    start_reading(c);
}
