/* Shared by httpd.c (listener, time-outs), httpd_conn.c (a connection's life), httpd_reply.c (what
 * goes out), httpd_parse.c (bytes to requests) and httpd_head.c (what a head may say).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_IO_HTTPD_PRIV_H
#define OUTRIDER_IO_HTTPD_PRIV_H

#include <llhttp.h>
#include <uv.h>

#include "io/httpd.h"
#include "util/buf.h"

#define HEAD_MOST 65536u
#define HEADER_LINES_MOST 200u
#define READ_SIZE 65536u

/* ---- bytes to requests: no sockets, no clock ---- */

/* Requests to use again, each with a block of its arena. */
struct http_pool {
    struct list spare; /* struct http_pooled */
    unsigned count;
};
void http_pool_init(struct http_pool *pool);
void http_pool_fini(struct http_pool *pool);
struct http_req *http_pool_take(struct http_pool *pool);
void http_pool_give(struct http_pool *pool, struct http_req *rq); /* pool NULL: frees */
struct buf *http_req_body(struct http_req *rq); /* holds a body that came in pieces */

struct http_parse {
    struct http_pool *pool;
    size_t max_body;
    struct http_req *rq;  /* from the head on; whoever takes it leaves NULL */
    llhttp_t llhttp;      /* header fields, then chunks */
    size_t line, scanned; /* offsets in the bytes given: the line at hand, what was looked at */
    unsigned lines, blank, header_room;
    uint64_t body_left; /* of Content-Length */
    uint64_t framing;   /* bytes of a chunked body that are no content */
    int status;         /* of a refusal */
    bool in_body, chunked, in_trailer;
    bool keep_alive, old; /* old: HTTP/1.0 */
    bool expect_continue;
};

enum parsed {
    PARSED_PART,    /* more bytes are needed; those left in bytes must be given again */
    PARSED_HEAD,    /* the head is fine and a body will follow: call again */
    PARSED_WHOLE,   /* rq is there */
    PARSED_REFUSED, /* status says why; nothing behind it can be trusted */
};

void http_parse_init(struct http_parse *p, struct http_pool *pool, size_t max_body);
void http_parse_fini(struct http_parse *p); /* also: ready for the next request */
/* Takes from the front of bytes, never beyond one request. */
enum parsed http_parse(struct http_parse *p, struct str *bytes);

/* httpd_head.c; statuses: 0 = fine. The head ends with the empty line and lives in rq's arena. */
int http_check_line(struct str line, bool first); /* with its line end */
int http_request_line(struct http_parse *p, struct str line);
int http_check_headers(struct http_parse *p);

/* ---- connections ---- */

enum conn_state {
    CONN_IDLE,    /* between requests */
    CONN_HEAD,    /* part of a head is here */
    CONN_BODY,    /* head is parsed, body incomplete */
    CONN_BUSY,    /* the handler has the request */
    CONN_CLOSING, /* the last reply is made; what still comes is thrown away */
};

/* What a connection waits for: its state, or the client's reading. Each wait has one length, so its
 * list is in order of deadlines. */
enum wait { WAIT_IDLE, WAIT_HEAD, WAIT_BODY, WAIT_HANDLER, WAIT_LINGER, WAIT_WRITE, WAIT_COUNT };

struct http_conn {
    uv_tcp_t tcp;
    uv_shutdown_t shutdown;
    struct httpd *server;
    struct list link; /* server->waits */
    nsec_t deadline;
    enum conn_state state;
    struct buf in; /* bytes not yet taken, from in_at on; freed when empty */
    size_t in_at;
    struct http_parse parse;
    struct http_req *rq; /* the handler's */
    unsigned writes;     /* uv_write under way */
    bool keep_alive, old;
    bool reading, serving, eof, shut, closed;
    char peer[INET6_ADDRSTRLEN];
};

struct httpd {
    struct io *io;
    struct httpd_conf conf;
    uv_tcp_t listener;
    int port;
    bool stopping, closing;
    unsigned handles; /* uv's, open */
    unsigned conn_count, busy, writing;
    struct list waits[WAIT_COUNT];
    nsec_t wait_times[WAIT_COUNT]; /* 0 = for ever */
    struct io_timer timer;
    nsec_t timer_at; /* 0 = not set */
    struct http_pool pool;
    char *read_buf; /* of whichever connection is being read */
    struct buf out; /* replies of out_conn, not yet written */
    struct http_conn *out_conn;
    char date[40];
    nsec_t date_at; /* 0 = never */
};

/* httpd.c */
void httpd_wait(struct http_conn *c, enum wait wait); /* starts the clock for it */
void httpd_handle_closed(struct httpd *h);

/* httpd_conn.c */
void httpd_conn_open(struct httpd *h, uv_stream_t *listener);
void httpd_conn_close(struct http_conn *c);
void httpd_conn_timeout(struct http_conn *c);
void httpd_conn_state(struct http_conn *c, enum conn_state state);
/* After anything changed: serves what is here, writes, reads on or closes. */
void httpd_conn_run(struct http_conn *c, struct str fresh);

/* httpd_reply.c: output is gathered for one connection at a time. */
void httpd_out_continue(struct http_conn *c);
void httpd_out_reply(struct http_conn *c, const struct http_reply *r, bool close, bool no_body);
void httpd_out_flush(struct http_conn *c); /* no-op when nothing is gathered for c */

#endif
