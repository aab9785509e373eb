/* HTTP client on libcurl's multi interface: one per delivery thread, one epoll set of its own inside the loop,
 * sockets left registered between transfers. HTTP/1.1 only, no redirects, no environment proxies, addresses
 * checked as dialled (io/egress.h), answers capped. Settings and why: docs/performance.md, limits measured for libcurl 7.88.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_IO_HTTPC_H
#define OUTRIDER_IO_HTTPC_H

#include "io/egress.h"
#include "io/httpd.h"
#include "io/loop.h"

struct httpc;

struct httpc_conf {
    unsigned max_cached_conns;      /* connection cache; 0 = 4096 */
    const struct egress *egress;    /* NULL: every address allowed. Immutable, outlives the client */
    const char *user_agent;         /* NULL: none is sent unless a request has one */
    const char *ca_file;            /* NULL: the system's bundle, parsed once */
};

/* How a transfer ended when there was no complete answer. */
enum httpc_fail {
    HTTPC_OK,        /* status and headers hold */
    HTTPC_DNS,       /* the name did not resolve */
    HTTPC_REFUSED,   /* connection refused */
    HTTPC_UNREACHABLE,
    HTTPC_RESET,     /* connection reset before a complete answer */
    HTTPC_CLOSED,    /* closed without an answer, or in the middle of the head */
    HTTPC_TIMEOUT,   /* deadline */
    HTTPC_TLS,       /* handshake or certificate */
    HTTPC_PLAIN_HTTP, /* https:// at a peer that answers HTTP in the clear */
    HTTPC_BLOCKED,   /* address refused by the egress policy; fail_text names the range and the setting */
    HTTPC_PROXY,     /* the proxy refused or failed */
    HTTPC_PROTOCOL,  /* not HTTP, bad framing, headers beyond their limit */
    HTTPC_URL,       /* the URL cannot be used */
    HTTPC_OTHER,
};

struct httpc_req {
    struct op op;            /* deadline is required; op.err stays EC_OK for every answer and every fail below */
    /* in: must stay valid until done */
    struct str method;
    struct str url;
    const struct http_header *headers; /* sent in this order, exactly these besides Host, Content-Length, User-Agent and Accept-Encoding (none) */
    size_t header_count;
    struct str body;
    struct str proxy;        /* URL, "" = none */
    size_t max_response;     /* bytes of body kept; the rest is read up to a bound and dropped; 0 = 64 KiB */
    bool exempt;             /* operator-set address: not checked against the egress policy */
    bool tls_insecure;
    void *user;
    /* out */
    enum httpc_fail fail;
    char fail_text[240];     /* one sentence, never credentials */
    int status;
    struct buf body_out;     /* at most max_response; not decoded */
    bool truncated;
    struct buf head_out;     /* header lines as received, capped at 64 KiB */
    nsec_t started, ended;
    void *impl;
};

enum ec httpc_open(struct io *io, const struct httpc_conf *conf, struct httpc **out, struct err *err) MUST_CHECK;
void httpc_close(struct httpc *c); /* cancels what is under way */
void httpc_send(struct httpc *c, struct httpc_req *rq);
void httpc_req_fini(struct httpc_req *rq); /* frees the out buffers */
struct str httpc_header(const struct httpc_req *rq, const char *name); /* last of that name in head_out, trimmed; p NULL if absent */

#endif
