/* HTTP client on libcurl's multi interface: one per delivery thread, one epoll set of its own
 * inside the loop, sockets left registered between transfers. HTTP/1.1 only, no redirects, no
 * environment proxies, addresses checked as dialled (io/egress.h), answers capped. Not for retries,
 * signatures or codes of attempts: those are dest/. Settings and why: docs/performance.md; limits
 * measured for libcurl 7.88. Everything on the loop's thread. SPDX-License-Identifier: Apache-2.0
 */
#ifndef OUTRIDER_IO_HTTPC_H
#define OUTRIDER_IO_HTTPC_H

#include "io/egress.h"
#include "io/httpd.h"
#include "io/loop.h"

struct httpc;

struct httpc_conf {
    unsigned max_cached_conns;   /* connection cache; 0 = 4096 */
    const struct egress *egress; /* NULL: every address allowed. Immutable, outlives the client */
    const char *user_agent;      /* NULL: none is sent unless a request has one */
    const char *ca_file;         /* NULL: the system's bundle, parsed once */
};

/* How a transfer ended when there was no complete head of an answer. */
enum httpc_fail {
    HTTPC_OK,          /* status and headers hold; the body may be cut, by the peer too */
    HTTPC_DNS,         /* the name did not resolve */
    HTTPC_REFUSED,     /* connection refused */
    HTTPC_UNREACHABLE, /* network is unreachable */
    HTTPC_RESET,       /* connection reset before a complete head */
    HTTPC_CLOSED,      /* closed without an answer, in the middle of the head or the handshake */
    HTTPC_TIMEOUT,     /* deadline */
    HTTPC_TLS,         /* handshake or certificate */
    HTTPC_PLAIN_HTTP,  /* https:// at a peer that answers HTTP in the clear */
    HTTPC_BLOCKED,     /* address refused by the egress policy; fail_text names range and setting */
    HTTPC_PROXY,       /* no connection to the proxy, or it refused a tunnel (proxy_status) */
    HTTPC_PROTOCOL,    /* not HTTP, bad framing, headers beyond their limit */
    HTTPC_URL,         /* URL or method cannot be used; nothing was sent */
    HTTPC_HEADER,      /* a header name or value cannot be sent; nothing was sent */
    HTTPC_OTHER,       /* no route to host, and the rest */
};

struct httpc_req {
    /* deadline: 0 = 30 s. op.err is EC_OK for every answer and every fail above; EC_CANCELED, or
     * EC_UNAVAILABLE when this process lacks descriptors or threads: the peer is not to blame. */
    struct op op;
    /* in: must stay valid until done */
    struct str method; /* GET and HEAD carry no body */
    struct str url; /* http:// or https://; userinfo becomes Authorization unless headers has one */
    /* Sent in this order, exactly these besides Host, Content-Length, User-Agent and, for a proxy,
     * its own. Names Host, Content-Length, Transfer-Encoding, Trailer and Expect are left out. */
    const struct http_header *headers;
    size_t header_count;
    struct str body;
    struct str proxy;    /* URL (http, https, socks5), "" = none; its own address is not checked */
    size_t max_response; /* bytes of body kept; then up to 1 MiB or 1 s are dropped; 0 = 64 KiB */
    bool exempt;         /* operator-set address: not checked against the egress policy */
    bool tls_insecure;
    void *user;
    /* out */
    enum httpc_fail fail;
    char fail_text[240]; /* one sentence, never credentials; "" when HTTPC_OK */
    int status;          /* 0 unless HTTPC_OK */
    int proxy_status; /* HTTPC_PROXY: what CONNECT was answered, head_out has its headers; else 0 */
    bool reused;      /* went out on a kept connection */
    bool truncated;   /* the body was longer than max_response */
    struct buf body_out; /* at most max_response; not decoded */
    struct buf head_out; /* header lines as received, capped at 64 KiB */
    nsec_t started, ended;
    void *impl;
};

enum ec httpc_open(struct io *io, const struct httpc_conf *conf, struct httpc **out,
                   struct err *err) MUST_CHECK;
void httpc_close(struct httpc *c); /* cancels what is under way */
void httpc_send(struct httpc *c, struct httpc_req *rq);
void httpc_req_fini(struct httpc_req *rq); /* frees the out buffers */
/* Last of that name in head_out, trimmed; p NULL if absent. */
struct str httpc_header(const struct httpc_req *rq, const char *name);

#endif
