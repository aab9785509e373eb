/* The listener of one api thread, and what takes too long. Connections lie in one list per thing
 * they wait for; every wait of a list is equally long, so its first is the first to end, and one
 * timer watches the firsts. A connection's life: httpd_conn.c. SPDX-License-Identifier: Apache-2.0
 */
#include "io/httpd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/httpd_priv.h"

#define OUT_MOST (4u * 1024 * 1024) /* gathered replies; bodies above 16 KiB do not count */
#define CONNS_MOST 20000
#define BACKLOG 1024
#define LINGER (2 * NSEC_PER_SEC)

/* ---- time ---- */

static void on_timer(struct io_timer *t)
{
    struct httpd *h = CONTAINER_OF(t, struct httpd, timer);
    nsec_t now = io_now(h->io), next = 0;
    h->timer_at = 0;
    for (int wait = 0; wait < WAIT_COUNT; wait++) {
        struct list *l = &h->waits[wait];
        while (h->wait_times[wait] && !list_empty(l)) {
            struct http_conn *c = CONTAINER_OF(l->next, struct http_conn, link);
            if (c->deadline > now) {
                next = next ? MIN(next, c->deadline) : c->deadline;
                break;
            }
            httpd_conn_timeout(c); /* which leaves this list */
        }
    }
    if (next && (h->timer_at == 0 || next < h->timer_at)) {
        h->timer_at = next;
        io_timer_set(h->io, &h->timer, next, on_timer);
    }
}

void httpd_wait(struct http_conn *c, enum wait wait)
{
    struct httpd *h = c->server;
    if (c->closed) {
        return;
    }
    list_del(&c->link);
    list_push(&h->waits[wait], &c->link);
    c->deadline = io_now(h->io) + h->wait_times[wait];
    if (h->wait_times[wait] && (h->timer_at == 0 || c->deadline < h->timer_at)) {
        h->timer_at = c->deadline;
        io_timer_set(h->io, &h->timer, h->timer_at, on_timer);
    }
}

static nsec_t or_seconds(nsec_t given, int seconds)
{
    return given ? given : seconds * NSEC_PER_SEC;
}

static void set_times(struct httpd *h)
{
    h->wait_times[WAIT_IDLE] = or_seconds(h->conf.idle_timeout, 120);
    h->wait_times[WAIT_HEAD] = or_seconds(h->conf.head_timeout, 10);
    h->wait_times[WAIT_BODY] = or_seconds(h->conf.body_timeout, 60);
    h->wait_times[WAIT_WRITE] = or_seconds(h->conf.write_timeout, 60);
    h->wait_times[WAIT_LINGER] = LINGER;
}

/* ---- the listener ---- */

/* Fills in sa; false when host is no address. */
static bool address(const struct httpd_conf *conf, bool six, struct sockaddr_storage *sa)
{
    memset(sa, 0, sizeof(*sa));
    struct sockaddr_in *v4 = (struct sockaddr_in *)sa;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)sa;
    void *to = &v4->sin_addr;
    v4->sin_family = AF_INET;
    v4->sin_port = htons((uint16_t)conf->port);
    if (six) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)conf->port);
        to = &v6->sin6_addr;
    }
    return !conf->host || !*conf->host || inet_pton(six ? AF_INET6 : AF_INET, conf->host, to) == 1;
}

/* A bound SO_REUSEPORT socket, or -1 with errno. */
static int bind_socket(const struct httpd_conf *conf, bool six)
{
    struct sockaddr_storage sa;
    if (!address(conf, six, &sa)) {
        errno = EADDRNOTAVAIL;
        return -1;
    }
    int fd = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -1;
    }
    int on = 1, off = 0;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
    if (six) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    }
    if (bind(fd, (struct sockaddr *)&sa,
             six ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in))) {
        int e = errno;
        close(fd);
        errno = e;
        return -1;
    }
    return fd;
}

/* All addresses: one IPv6 socket takes IPv4 too, unless this machine has no IPv6. */
static int open_socket(const struct httpd_conf *conf)
{
    bool any = !conf->host || !*conf->host;
    int fd = bind_socket(conf, any || strchr(conf->host, ':'));
    if (fd < 0 && any && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) {
        fd = bind_socket(conf, false);
    }
    return fd;
}

static void on_connection(uv_stream_t *listener, int status)
{
    if (status == 0) {
        httpd_conn_open(listener->data, listener);
    }
}

static int listen_on(struct httpd *h, int fd)
{
    int bad = uv_tcp_open(&h->listener, fd);
    if (bad) {
        close(fd);
        return bad;
    }
    bad = uv_listen((uv_stream_t *)&h->listener, BACKLOG, on_connection);
    struct sockaddr_storage sa;
    socklen_t n = sizeof(sa);
    if (!bad && getsockname(fd, (struct sockaddr *)&sa, &n) == 0) {
        h->port = ntohs(sa.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&sa)->sin6_port
                                                 : ((struct sockaddr_in *)&sa)->sin_port);
    }
    return bad;
}

/* ---- life ---- */

enum ec httpd_open(struct io *io, const struct httpd_conf *conf, struct httpd **out,
                   struct err *err)
{
    const char *host = conf->host && *conf->host ? conf->host : "all addresses";
    int fd = open_socket(conf);
    if (fd < 0) {
        return err_set(err, EC_UNAVAILABLE, "cannot listen on port %d of %s: %s", conf->port, host,
                       strerror(errno));
    }
    struct httpd *h = xcalloc(1, sizeof(*h));
    h->io = io;
    h->conf = *conf;
    h->conf.max_conns = conf->max_conns ? conf->max_conns : CONNS_MOST;
    set_times(h);
    for (int wait = 0; wait < WAIT_COUNT; wait++) {
        list_init(&h->waits[wait]);
    }
    http_pool_init(&h->pool);
    h->read_buf = xmalloc(READ_SIZE);
    buf_init(&h->out, OUT_MOST);
    uv_tcp_init(io_uv(io), &h->listener);
    h->handles = 1;
    h->listener.data = h;
    int bad = listen_on(h, fd);
    if (bad) {
        httpd_close(h);
        return err_set(err, EC_UNAVAILABLE, "cannot listen on port %d of %s: %s", conf->port, host,
                       uv_strerror(bad));
    }
    *out = h;
    return EC_OK;
}

int httpd_port(const struct httpd *h)
{
    return h->port;
}

void httpd_handle_closed(struct httpd *h)
{
    if (--h->handles || !h->closing) {
        return;
    }
    http_pool_fini(&h->pool);
    buf_fini(&h->out);
    free(h->read_buf);
    free(h);
}

static void on_listener_closed(uv_handle_t *handle)
{
    httpd_handle_closed(handle->data);
}

static void close_listener(struct httpd *h)
{
    if (!uv_is_closing((uv_handle_t *)&h->listener)) {
        uv_close((uv_handle_t *)&h->listener, on_listener_closed);
    }
}

static void close_all(struct httpd *h, enum wait wait)
{
    while (!list_empty(&h->waits[wait])) {
        httpd_conn_close(CONTAINER_OF(h->waits[wait].next, struct http_conn, link));
    }
}

void httpd_stop(struct httpd *h)
{
    h->stopping = true;
    close_listener(h);
    close_all(h, WAIT_IDLE);
}

unsigned httpd_busy(const struct httpd *h)
{
    unsigned n = h->busy + h->writing;
    LIST_EACH(l, &h->waits[WAIT_BODY]) /* a request whose head is read will be answered */
    {
        n++;
    }
    return n;
}

void httpd_close(struct httpd *h)
{
    h->closing = true;
    io_timer_clear(h->io, &h->timer);
    h->handles++; /* this call; nothing is freed before its end */
    close_listener(h);
    for (int wait = 0; wait < WAIT_COUNT; wait++) {
        close_all(h, wait);
    }
    io_timer_clear(h->io, &h->timer);
    httpd_handle_closed(h);
}

struct str http_req_header(const struct http_req *rq, const char *name)
{
    for (size_t i = 0; i < rq->header_count; i++) {
        if (str_eq_ci(rq->headers[i].name, str_z(name))) {
            return rq->headers[i].value;
        }
    }
    return STR_NULL;
}
