/* The listener of one api thread, and the sweep that ends what takes too long. SPDX-License-Identifier: Apache-2.0 */
#include "io/httpd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/httpd_priv.h"

#define REPLY_MOST (256u * 1024 * 1024)
#define CONNS_MOST 20000

static void on_connection(uv_stream_t *listener, int status)
{
    if (status == 0) {
        httpd_conn_open(listener->data, listener);
    }
}

/* A bound SO_REUSEPORT socket, or -1 with errno. */
static int bind_socket(const struct httpd_conf *conf, int family)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -1;
    }
    int on = 1, off = 0;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
    int bad;
    if (family == AF_INET6) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
        struct sockaddr_in6 sa = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)conf->port)};
        if (conf->host && *conf->host) {
            inet_pton(AF_INET6, conf->host, &sa.sin6_addr);
        }
        bad = bind(fd, (struct sockaddr *)&sa, sizeof(sa));
    } else {
        struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons((uint16_t)conf->port)};
        if (conf->host && *conf->host) {
            inet_pton(AF_INET, conf->host, &sa.sin_addr);
        }
        bad = bind(fd, (struct sockaddr *)&sa, sizeof(sa));
    }
    if (bad) {
        int e = errno;
        close(fd);
        errno = e;
        return -1;
    }
    return fd;
}

static int open_socket(const struct httpd_conf *conf)
{
    bool any = !conf->host || !*conf->host;
    bool six = any || strchr(conf->host, ':');
    int fd = bind_socket(conf, six ? AF_INET6 : AF_INET);
    if (fd < 0 && any && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) {
        fd = bind_socket(conf, AF_INET);
    }
    return fd;
}

static void on_sweep(struct io_timer *t)
{
    struct httpd *h = CONTAINER_OF(t, struct httpd, sweep);
    nsec_t now = io_now(h->io);
    LIST_EACH_SAFE(l, &h->conns)
    {
        struct http_conn *c = CONTAINER_OF(l, struct http_conn, link);
        if (c->deadline && c->deadline <= now) {
            httpd_conn_timeout(c);
        }
    }
    io_timer_set(h->io, t, now + NSEC_PER_SEC / 4, on_sweep);
}

static nsec_t or_seconds(nsec_t given, int seconds)
{
    return given ? given : seconds * NSEC_PER_SEC;
}

enum ec httpd_open(struct io *io, const struct httpd_conf *conf, struct httpd **out, struct err *err)
{
    int fd = open_socket(conf);
    if (fd < 0) {
        return err_set(err, EC_UNAVAILABLE, "cannot listen on port %d: %s", conf->port, strerror(errno));
    }
    struct httpd *h = xcalloc(1, sizeof(*h));
    h->io = io;
    h->conf = *conf;
    h->conf.max_conns = conf->max_conns ? conf->max_conns : CONNS_MOST;
    h->conf.head_timeout = or_seconds(conf->head_timeout, 10);
    h->conf.body_timeout = or_seconds(conf->body_timeout, 60);
    h->conf.idle_timeout = or_seconds(conf->idle_timeout, 120);
    h->conf.write_timeout = or_seconds(conf->write_timeout, 60);
    list_init(&h->conns);
    list_init(&h->spare);
    h->read_buf = xmalloc(READ_SIZE);
    buf_init(&h->out, REPLY_MOST);
    uv_tcp_init(io_uv(io), &h->listener);
    h->handles++;
    h->listener.data = h;
    struct sockaddr_storage sa;
    socklen_t n = sizeof(sa);
    if (uv_tcp_open(&h->listener, fd) || uv_listen((uv_stream_t *)&h->listener, 1024, on_connection) ||
        getsockname(fd, (struct sockaddr *)&sa, &n)) {
        httpd_close(h);
        return err_set(err, EC_UNAVAILABLE, "cannot listen on port %d", conf->port);
    }
    h->port = ntohs(sa.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&sa)->sin6_port
                                             : ((struct sockaddr_in *)&sa)->sin_port);
    io_timer_set(io, &h->sweep, mono_now() + NSEC_PER_SEC / 4, on_sweep);
    *out = h;
    return EC_OK;
}

int httpd_port(const struct httpd *h)
{
    return h->port;
}

static void on_listener_closed(uv_handle_t *handle)
{
    ((struct httpd *)handle->data)->handles--;
}

static void close_listener(struct httpd *h)
{
    if (!uv_is_closing((uv_handle_t *)&h->listener)) {
        uv_close((uv_handle_t *)&h->listener, on_listener_closed);
    }
}

void httpd_stop(struct httpd *h)
{
    h->stopping = true;
    close_listener(h);
    LIST_EACH_SAFE(l, &h->conns)
    {
        struct http_conn *c = CONTAINER_OF(l, struct http_conn, link);
        if (c->state == CONN_IDLE && !c->writes) {
            httpd_conn_close(c);
        }
    }
}

unsigned httpd_busy(const struct httpd *h)
{
    unsigned n = h->busy;
    LIST_EACH(l, &h->conns)
    {
        n += CONTAINER_OF(l, struct http_conn, link)->writes > 0;
    }
    return n;
}

static void free_when_closed(struct io_timer *t)
{
    struct httpd *h = CONTAINER_OF(t, struct httpd, sweep);
    if (h->handles) {
        io_timer_set(h->io, t, io_now(h->io) + NSEC_PER_MSEC, free_when_closed);
        return;
    }
    httpd_spare_fini(h);
    buf_fini(&h->out);
    free(h->read_buf);
    free(h);
}

void httpd_close(struct httpd *h)
{
    h->closing = true;
    close_listener(h);
    LIST_EACH_SAFE(l, &h->conns)
    {
        httpd_conn_close(CONTAINER_OF(l, struct http_conn, link));
    }
    io_timer_set(h->io, &h->sweep, mono_now(), free_when_closed);
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
