/* HTTP/1.1 server on llhttp: strict about everything that request smuggling needs, bounded in
 * memory and time. One instance per api thread, its own SO_REUSEPORT listener. Limits: design 11.4
 * (head 64 KiB and 200 lines, 10 s; body 60 s and max_body; one Host; both lengths, obs-fold, bare
 * CR, NUL: 400; transfer codings but chunked: 400 or 501). All functions on the owning thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_IO_HTTPD_H
#define OUTRIDER_IO_HTTPD_H

#include "io/loop.h"
#include "util/arena.h"

struct httpd;
struct http_conn;

struct http_header {
    struct str name, value;
};

/* A request, whole. Lives until http_reply; the arena is the place for everything the handler
 * builds. */
struct http_req {
    struct arena arena;
    struct http_conn *conn; /* private */
    struct str method;      /* "GET", as sent */
    struct str target;      /* as sent */
    struct str path;        /* raw, percent-encoded, before '?'; without "http://host" */
    struct str query;       /* raw, behind '?', "" if none */
    struct http_header *headers;
    size_t header_count;
    struct str body; /* whole */
    bool has_length; /* a Content-Length or chunked body was announced */
    nsec_t received; /* monotonic, head complete */
    struct str peer; /* address text */
    void *user;      /* the handler's */
    /* Optional: the connection broke; a reply must still be made (it is dropped). A client that
     * only closed its sending side is not gone. */
    void (*gone)(struct http_req *rq);
};

struct http_reply {
    int status;
    /* Beyond Content-Length, Date, Connection; Content-Type is one of these. One with a line end in
     * it is left out. */
    const struct http_header *headers;
    size_t header_count;
    struct str body;
    bool close; /* close the connection after this reply */
};

struct httpd_conf {
    const char *host; /* an address; NULL or "": all of them, both families */
    int port;         /* 0: any free port, see httpd_port */
    size_t max_body;
    unsigned max_conns; /* 0 = 20000; beyond it new connections are closed */
    nsec_t head_timeout, body_timeout, idle_timeout, write_timeout; /* 0 = 10, 60, 120, 60 s */
    /* Called once per request, in order, one at a time per connection. Must lead to one http_reply,
     * now or later. */
    void (*on_request)(void *arg, struct http_req *rq);
    /* What is answered before a handler sees it (400, 408, 413, 417, 431, 501, 505): fills status'
     * body; may be NULL for an empty one. */
    void (*on_error)(void *arg, int status, struct arena *a, struct http_reply *out);
    void *arg;
};

enum ec httpd_open(struct io *io, const struct httpd_conf *conf, struct httpd **out,
                   struct err *err) MUST_CHECK;
int httpd_port(const struct httpd *h);
/* Stops accepting; idle connections close; those with a request finish it with Connection: close.
 */
void httpd_stop(struct httpd *h);
unsigned httpd_busy(const struct httpd *h); /* requests whose head is read and that are not yet answered and written */
void httpd_close(struct httpd *h); /* drops what is left; h is gone once its sockets are, io_free
                                      sees to it at the latest */

/* Copies what it needs; rq and its arena are freed. On the owning thread. */
void http_reply(struct http_req *rq, const struct http_reply *r);
struct str http_req_header(const struct http_req *rq,
                           const char *name); /* first of that name, any case; p NULL if absent */

#endif
