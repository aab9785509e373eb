/* Shared by httpc.c (requests, results) and httpc_glue.c (curl's sockets in the loop). SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_IO_HTTPC_PRIV_H
#define OUTRIDER_IO_HTTPC_PRIV_H

#include <curl/curl.h>
#include <uv.h>

#include "io/httpc.h"

#define SPARE_MOST 1024

/* curl's sockets by descriptor: what epoll has, and whether curl wants it at present. */
struct fd_state {
    uint8_t mask; /* in epoll */
    bool wanted;
};

struct httpc {
    struct io *io;
    struct httpc_conf conf;
    CURLM *multi;
    CURLSH *share;
    int epfd;
    uv_poll_t poll;
    bool poll_closed;
    struct fd_state *fds;
    size_t fd_count;
    struct io_timer timer;
    struct io_defer kick; /* adds queued transfers and reaps finished ones outside curl's callbacks */
    struct list queued;   /* struct transfer to add */
    struct list active;
    struct list spare;
    unsigned spare_count;
    bool closing;
};

struct transfer {
    struct list link;
    struct httpc *client;
    struct httpc_req *rq;
    CURL *easy;
    struct curl_slist *headers;
    struct str url, method, proxy; /* heap copies, NUL-terminated, as set on the handle */
    char error[CURL_ERROR_SIZE];
    struct err blocked; /* the egress policy's words */
    bool was_blocked;
    bool canceled;
    size_t body_seen;
    nsec_t body_over_since; /* when the body passed what is kept */
    bool plain_http;        /* an https peer answered in the clear */
    bool over_head;
};

/* httpc_glue.c */
bool httpc_glue_open(struct httpc *c);
void httpc_glue_close(struct httpc *c);
int httpc_on_close_socket(void *arg, curl_socket_t fd);
void httpc_reap(struct httpc *c); /* httpc.c: completes what curl has finished */

#endif
