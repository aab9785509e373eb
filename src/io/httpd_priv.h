/* Shared by httpd.c (listener, sweep), httpd_conn.c (a connection's life) and httpd_parse.c (bytes to requests).
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

enum conn_state {
    CONN_IDLE,    /* between requests */
    CONN_HEAD,    /* part of a head is here */
    CONN_BODY,    /* head is parsed, body incomplete */
    CONN_BUSY,    /* the handler has the request */
    CONN_CLOSING, /* the last reply is written; what still comes is thrown away */
};

struct http_conn {
    uv_tcp_t tcp;
    uv_shutdown_t shutdown;
    struct httpd *server;
    struct list link; /* server->conns */
    enum conn_state state;
    nsec_t deadline;     /* for the state; 0 = none */
    struct buf in;       /* bytes not yet taken; freed when empty and idle */
    struct http_req *rq; /* being read or handled */
    llhttp_t parser;     /* of rq; used on for chunked bodies */
    struct buf body;     /* body so far when it did not come at once */
    uint64_t body_left;  /* Content-Length bytes missing */
    bool chunked, body_done, keep_alive, expect_continue;
    int parse_status; /* HTTP status of a refusal, 0 = none */
    bool eof, closed, reading;
    unsigned writes; /* uv_write under way */
    unsigned header_room;
    char peer[64];
};

struct httpd {
    struct io *io;
    struct httpd_conf conf;
    uv_tcp_t listener;
    int port;
    bool stopping, closing;
    unsigned conn_count, busy, handles;
    struct list conns;
    struct list spare; /* struct spare_req: recycled requests */
    unsigned spare_count;
    struct io_timer sweep;
    char *read_buf;
    char date[64];
    nsec_t date_at;
    struct buf out; /* the reply being built */
};

/* httpd_parse.c: takes what it can from p..p+n; returns the bytes used. Stops behind one request (state CONN_BUSY), or at
 * a refusal (parse_status). */
size_t httpd_parse(struct http_conn *c, const char *p, size_t n);
struct http_req *httpd_req_take(struct httpd *h); /* recycled or fresh */
void httpd_req_give(struct httpd *h, struct http_req *rq);
void httpd_req_drop(struct http_req *rq); /* frees one whose connection is gone */
void httpd_spare_fini(struct httpd *h);

/* httpd_conn.c */
void httpd_conn_open(struct httpd *h, uv_stream_t *listener);
void httpd_conn_close(struct http_conn *c);
void httpd_conn_timeout(struct http_conn *c);
void httpd_conn_feed(struct http_conn *c, const char *p, size_t n);
const char *http_reason(int status);

#endif
