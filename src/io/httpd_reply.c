/* What goes out: replies as bytes, gathered while one connection's requests are served and then
 * written with one call. What the socket does not take is copied and written by uv within
 * write_timeout. When to write: httpd_conn.c. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "io/httpd_priv.h"

#define OUT_FLUSH 65536u         /* gathered before it is written anyway */
#define BODY_COPIED 16384u       /* larger bodies are not copied into the gathered bytes */
#define OUT_KEPT (2 * OUT_FLUSH) /* a larger buffer is given back */

struct http_write {
    uv_write_t req;
    struct http_conn *conn;
    char bytes[];
};

static const char *reason(int status)
{
    static const struct {
        int status;
        const char *text;
    } reasons[] = {
        {200, "OK"},
        {201, "Created"},
        {202, "Accepted"},
        {204, "No Content"},
        {301, "Moved Permanently"},
        {302, "Found"},
        {304, "Not Modified"},
        {307, "Temporary Redirect"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {413, "Request Entity Too Large"},
        {417, "Expectation Failed"},
        {422, "Unprocessable Entity"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (reasons[i].status == status) {
            return reasons[i].text;
        }
    }
    return "Status";
}

/* ---- writing ---- */

static void on_written(uv_write_t *req, int status)
{
    struct http_write *w = CONTAINER_OF(req, struct http_write, req);
    struct http_conn *c = w->conn;
    free(w);
    if (--c->writes == 0) {
        c->server->writing--;
    }
    if (c->closed) {
        return;
    }
    if (status < 0) {
        httpd_conn_close(c);
    } else if (c->writes == 0) {
        httpd_conn_state(c, c->state); /* its clock stood still */
        httpd_conn_run(c, STR_NULL);
    }
}

/* Copies what is behind the first done bytes of both and leaves it to uv. */
static void write_rest(struct http_conn *c, struct str a, struct str b, size_t done)
{
    size_t from_b = done > a.n ? done - a.n : 0;
    a = str_sub(a, done, a.n);
    b = str_sub(b, from_b, b.n);
    struct http_write *w = xmalloc(sizeof(*w) + a.n + b.n);
    w->conn = c;
    memcpy(w->bytes, a.n ? a.p : "", a.n);
    memcpy(w->bytes + a.n, b.n ? b.p : "", b.n);
    uv_buf_t buf = uv_buf_init(w->bytes, (unsigned)(a.n + b.n));
    if (uv_write(&w->req, (uv_stream_t *)&c->tcp, &buf, 1, on_written)) {
        free(w);
        httpd_conn_close(c);
        return;
    }
    if (c->writes++ == 0) {
        c->server->writing++;
        httpd_wait(c, WAIT_WRITE);
    }
}

static void write_both(struct http_conn *c, struct str a, struct str b)
{
    uv_buf_t v[2] = {uv_buf_init((char *)(uintptr_t)a.p, (unsigned)a.n),
                     uv_buf_init((char *)(uintptr_t)b.p, (unsigned)b.n)};
    int n = UV_EAGAIN;
    if (c->writes == 0) {
        n = uv_try_write((uv_stream_t *)&c->tcp, v, b.n ? 2 : 1);
    }
    if (n < 0 && n != UV_EAGAIN) {
        httpd_conn_close(c);
    } else if (n < 0 || (size_t)n < a.n + b.n) {
        write_rest(c, a, b, n < 0 ? 0 : (size_t)n);
    }
}

static void flush_with(struct http_conn *c, struct str body)
{
    struct httpd *h = c->server;
    h->out_conn = NULL;
    if (h->out.over) {
        httpd_conn_close(c); /* headers beyond every measure: no part of a reply is one */
    } else if (!c->closed) {
        write_both(c, buf_str(&h->out), body);
    }
    buf_reset(&h->out);
    if (h->out.cap > OUT_KEPT) {
        buf_fini(&h->out);
    }
}

void httpd_out_flush(struct http_conn *c)
{
    if (c->server->out_conn == c) {
        flush_with(c, STR_NULL);
    }
}

/* The buffer, emptied of what it holds for another connection. */
static struct buf *out_for(struct http_conn *c)
{
    struct httpd *h = c->server;
    if (h->out_conn && h->out_conn != c) {
        httpd_out_flush(h->out_conn);
    }
    h->out_conn = c;
    return &h->out;
}

/* ---- replies as bytes ---- */

static struct str date_line(struct httpd *h)
{
    nsec_t now = io_now(h->io);
    if (h->date_at == 0 || now - h->date_at >= NSEC_PER_SEC) {
        usec_t wall = wall_now();
        time_t t = (time_t)(wall / USEC_PER_SEC);
        struct tm tm;
        gmtime_r(&t, &tm);
        strftime(h->date, sizeof(h->date), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &tm);
        h->date_at = now - wall % USEC_PER_SEC * 1000; /* when that second began */
    }
    return str_z(h->date);
}

static bool has_line_end(struct str s)
{
    return s.n && (memchr(s.p, '\n', s.n) || memchr(s.p, '\r', s.n) || memchr(s.p, '\0', s.n));
}

static void add_header(struct buf *b, const struct http_header *h)
{
    if (has_line_end(h->name) || has_line_end(h->value)) {
        return; /* nothing a caller passed on may begin a line of its own */
    }
    buf_adds(b, h->name);
    buf_adds(b, STR(": "));
    buf_adds(b, h->value);
    buf_adds(b, STR("\r\n"));
}

static void add_head(struct buf *b, struct http_conn *c, const struct http_reply *r, bool close)
{
    buf_adds(b, STR("HTTP/1.1 "));
    buf_addi(b, r->status);
    buf_addc(b, ' ');
    buf_addz(b, reason(r->status));
    buf_adds(b, STR("\r\n"));
    for (size_t i = 0; i < r->header_count; i++) {
        add_header(b, &r->headers[i]);
    }
    buf_adds(b, date_line(c->server));
    if (close) {
        buf_adds(b, STR("Connection: close\r\n"));
    } else if (c->old) {
        buf_adds(b, STR("Connection: keep-alive\r\n"));
    }
    if (r->status != 204 && r->status != 304) {
        buf_adds(b, STR("Content-Length: "));
        buf_addi(b, (int64_t)r->body.n);
        buf_adds(b, STR("\r\n"));
    }
    buf_adds(b, STR("\r\n"));
}

void httpd_out_reply(struct http_conn *c, const struct http_reply *r, bool close, bool no_body)
{
    struct buf *b = out_for(c);
    add_head(b, c, r, close);
    struct str body = no_body || r->status == 204 || r->status == 304 ? STR_NULL : r->body;
    if (body.n > BODY_COPIED) {
        flush_with(c, body);
        return;
    }
    buf_adds(b, body);
    if (b->n >= OUT_FLUSH || b->over) {
        httpd_out_flush(c);
    }
}

void httpd_out_continue(struct http_conn *c)
{
    buf_adds(out_for(c), STR("HTTP/1.1 100 Continue\r\n\r\n"));
}
