/* Shared by httpc.c (life of a request), httpc_setup.c (what is sent, and whereto), httpc_answer.c
 * (what comes back) and httpc_glue.c (curl's sockets in the loop).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_IO_HTTPC_PRIV_H
#define OUTRIDER_IO_HTTPC_PRIV_H

#include <curl/curl.h>
#include <uv.h>

#include "io/httpc.h"

/* A descriptor of curl's: what epoll has, and whether curl wants it at present. */
struct fd_state {
    uint8_t mask; /* in epoll: IO_READ, IO_WRITE */
    bool wanted;
    bool dialled; /* a connection's, not the resolver's: we hear when it is closed */
};

struct httpc {
    struct io *io;
    const struct egress *egress;
    char *user_agent, *ca_file;
    CURLM *multi;
    CURLSH *share; /* TLS sessions */
    int epfd;
    uv_poll_t poll;
    struct fd_state *fds; /* by descriptor */
    size_t fd_count;
    struct io_timer timer;             /* curl's */
    struct io_defer kick;              /* adds what is queued and reaps, outside curl's callbacks */
    struct list queued, active, spare; /* of struct transfer */
    unsigned spare_count;
    bool closing;
};

/* One easy handle and the request that it works on. */
struct transfer {
    struct list link;
    struct httpc *client;
    struct httpc_req *rq;
    CURL *easy;
    struct io_timer guard;         /* ends what curl does not end in time */
    struct str url, method, proxy; /* as set on the handle, NUL-terminated copies */
    struct curl_slist *lines;      /* header lines, an array linked in order; text in line_text */
    size_t line_cap;
    char *line_text;
    size_t text_cap;
    char error[CURL_ERROR_SIZE];
    struct err blocked; /* the egress policy's words */
    nsec_t deadline;
    size_t head_seen, trailer_seen, body_seen;
    uint64_t length; /* Content-Length of the head at hand */
    unsigned dialled;
    bool tls;
    bool was_blocked;
    bool no_socket; /* this process could not make one */
    bool added;     /* to the multi handle */
    bool canceled;
    bool on_wire; /* the connection stands, through a proxy too; the request goes out */
    bool in_head, final_head, bad_head, has_length;
    bool plain_http; /* an https peer answered in the clear */
};

/* httpc_setup.c */
void httpc_options(struct transfer *t);           /* those that never change */
enum httpc_fail httpc_set_up(struct transfer *t); /* not HTTPC_OK: ends without curl */
void httpc_set_up_free(struct transfer *t);
/* httpc_answer.c */
size_t httpc_on_header(char *p, size_t size, size_t count, void *arg);
size_t httpc_on_body(char *p, size_t size, size_t count, void *arg);
void httpc_judge(struct transfer *t, CURLcode rc);
void httpc_refuse(struct transfer *t, enum httpc_fail fail); /* before anything was sent */
/* httpc_glue.c */
bool httpc_glue_open(struct httpc *c);
void httpc_glue_close(struct httpc *c); /* frees c at the end of the turn */
void httpc_fd_opened(struct httpc *c, int fd);
int httpc_on_close_socket(void *arg, curl_socket_t fd);
/* httpc.c */
void httpc_reap(struct httpc *c); /* completes what curl has finished */
void httpc_on_guard(struct io_timer *timer);

#endif
