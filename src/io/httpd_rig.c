/* See httpd_rig.h. SPDX-License-Identifier: Apache-2.0 */
#include "io/httpd_rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define PATIENCE_S 5

/* ---- the server's side ---- */

struct held {
    struct list link;
    struct httpd_rig *rig;
    struct http_req *rq;
    struct io_timer timer;
};

static void answer(struct http_req *rq)
{
    struct http_header type = {STR("Content-Type"), STR("text/plain")};
    struct http_reply r = {.status = 200, .headers = &type, .header_count = 1};
    r.body = arena_printf(&rq->arena, "%.*s %.*s?%.*s [%.*s]", STR_ARG(rq->method),
                          STR_ARG(rq->path), STR_ARG(rq->query), STR_ARG(rq->body));
    http_reply(rq, &r);
}

static void release(struct held *h)
{
    struct http_req *rq = h->rq;
    list_del(&h->link);
    io_timer_clear(h->rig->io, &h->timer);
    free(h);
    rq->gone = NULL;
    answer(rq);
}

static void on_gone(struct http_req *rq)
{
    struct held *h = rq->user;
    atomic_fetch_add(&h->rig->gone, 1);
    release(h);
}

static void on_later(struct io_timer *t)
{
    release(CONTAINER_OF(t, struct held, timer));
}

static void hold(struct httpd_rig *r, struct http_req *rq, bool later)
{
    struct held *h = xcalloc(1, sizeof(*h));
    *h = (struct held){.rig = r, .rq = rq};
    rq->user = h;
    rq->gone = on_gone;
    list_push(&r->held, &h->link);
    if (later) {
        io_timer_set(r->io, &h->timer, io_now(r->io) + NSEC_PER_MSEC, on_later);
    }
}

static void release_all(struct httpd_rig *r)
{
    while (!list_empty(&r->held)) {
        release(CONTAINER_OF(r->held.next, struct held, link));
    }
}

static void on_request(void *arg, struct http_req *rq)
{
    struct httpd_rig *r = arg;
    atomic_fetch_add(&r->requests, 1);
    struct http_header bad[] = {{STR("X-Bad"), STR("a\r\nX-Evil: 1")},
                                {STR("X-Worse\n"), STR("b")},
                                {STR("X-Good"), STR("c")}};
    if (str_eq(rq->path, STR("/later")) || str_eq(rq->path, STR("/hold"))) {
        hold(r, rq, str_eq(rq->path, STR("/later")));
    } else if (str_eq(rq->path, STR("/big"))) {
        http_reply(rq, &(struct http_reply){.status = 200, .body = {r->big, HTTPD_RIG_BIG}});
    } else if (str_eq(rq->path, STR("/close"))) {
        http_reply(rq, &(struct http_reply){.status = 200, .close = true});
    } else if (str_eq(rq->path, STR("/204"))) {
        http_reply(rq, &(struct http_reply){.status = 204, .body = STR("no such thing")});
    } else if (str_eq(rq->path, STR("/inject"))) {
        http_reply(rq, &(struct http_reply){.status = 200, .headers = bad, .header_count = 3});
    } else if (str_eq(rq->path, STR("/peer"))) {
        http_reply(rq, &(struct http_reply){.status = 200, .body = rq->peer});
    } else {
        if (str_eq(rq->path, STR("/free"))) {
            release_all(r);
        }
        answer(rq);
    }
}

static void on_error(void *arg, int status, struct arena *a, struct http_reply *out)
{
    struct httpd_rig *r = arg;
    atomic_fetch_add(&r->refused, 1);
    out->body = arena_printf(a, "refused %d", status);
}

static void *run_loop(void *arg)
{
    io_run(arg);
    return NULL;
}

void httpd_rig_open(struct httpd_rig *r, const struct httpd_conf *conf)
{
    struct httpd_conf c = conf ? *conf : (struct httpd_conf){0};
    struct err err;
    c.host = c.host ? c.host : "127.0.0.1";
    c.max_body = c.max_body ? c.max_body : 1 << 20;
    c.on_request = on_request;
    c.on_error = on_error;
    c.arg = r;
    *r = (struct httpd_rig){.io = io_new("httpd"), .big = xcalloc(1, HTTPD_RIG_BIG)};
    list_init(&r->held);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    assert_int_equal(httpd_open(r->io, &c, &r->httpd, &err), EC_OK);
    assert_int_equal(pthread_create(&r->thread, NULL, run_loop, r->io), 0);
}

struct call {
    struct io_msg msg;
    struct httpd_rig *rig;
    void (*fn)(struct call *call);
    unsigned result;
    bool done;
};

static void on_call(struct io_msg *m)
{
    struct call *c = CONTAINER_OF(m, struct call, msg);
    struct httpd_rig *r = c->rig;
    c->fn(c);
    pthread_mutex_lock(&r->lock);
    c->done = true;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

static unsigned call(struct httpd_rig *r, void (*fn)(struct call *call))
{
    struct call c = {.msg.run = on_call, .rig = r, .fn = fn};
    io_post(r->io, &c.msg);
    pthread_mutex_lock(&r->lock);
    while (!c.done) {
        pthread_cond_wait(&r->changed, &r->lock);
    }
    pthread_mutex_unlock(&r->lock);
    return c.result;
}

static void do_stop(struct call *c)
{
    httpd_stop(c->rig->httpd);
}

void httpd_rig_stop(struct httpd_rig *r)
{
    call(r, do_stop);
}

static void do_release(struct call *c)
{
    release_all(c->rig);
}

void httpd_rig_release(struct httpd_rig *r)
{
    call(r, do_release);
}

static void do_busy(struct call *c)
{
    c->result = httpd_busy(c->rig->httpd);
}

unsigned httpd_rig_busy(struct httpd_rig *r)
{
    return call(r, do_busy);
}

static void do_close(struct call *c)
{
    httpd_close(c->rig->httpd);
}

void httpd_rig_close(struct httpd_rig *r)
{
    call(r, do_close);
    io_stop(r->io);
    pthread_join(r->thread, NULL);
    assert_true(list_empty(&r->held));
    io_free(r->io);
    free(r->big);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->changed);
}

bool httpd_rig_reaches(atomic_uint *counter, unsigned n)
{
    for (int i = 0; i < PATIENCE_S * 1000 && atomic_load(counter) < n; i++) {
        usleep(1000);
    }
    return atomic_load(counter) == n;
}

/* ---- the client's side ---- */

int wire_dial(const struct httpd_rig *r)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)httpd_port(r->httpd)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {.tv_sec = PATIENCE_S};
    int on = 1;
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    return fd;
}

void wire_send(int fd, struct str bytes)
{
    while (bytes.n) {
        ssize_t n = send(fd, bytes.p, bytes.n, MSG_NOSIGNAL);
        if (n <= 0) {
            return;
        }
        bytes = str_sub(bytes, (size_t)n, bytes.n);
    }
}

bool wire_read_all(int fd, struct buf *out)
{
    for (;;) {
        char piece[65536];
        ssize_t n = recv(fd, piece, sizeof(piece), 0);
        if (n <= 0) {
            return n == 0 || errno == ECONNRESET;
        }
        buf_add(out, piece, (size_t)n);
    }
}

bool wire_is_closed(int fd, nsec_t within)
{
    char c;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, (int)(within / NSEC_PER_MSEC)) == 1 && recv(fd, &c, 1, 0) <= 0;
}

bool wire_reply(struct str *rest, bool no_body, struct wire_reply *out)
{
    size_t end, at;
    uint64_t length = 0;
    if (!str_find(*rest, STR("\r\n\r\n"), &end)) {
        return false;
    }
    out->head = str_sub(*rest, 0, end + 2);
    assert_true(str_starts(out->head, STR("HTTP/1.1 ")));
    out->status = atoi(out->head.p + 9);
    if (str_find(out->head, STR("\r\nContent-Length: "), &at)) {
        struct str tail = str_sub(out->head, at + 18, out->head.n), digits;
        assert_true(str_split(&tail, '\r', &digits) && str_to_u64(digits, &length));
    }
    length = no_body ? 0 : length;
    if (rest->n - end - 4 < length) {
        return false;
    }
    out->body = str_sub(*rest, end + 4, length);
    *rest = str_sub(*rest, end + 4 + length, rest->n);
    return true;
}

bool wire_read_reply(int fd, struct buf *in, struct wire_reply *out)
{
    for (;;) {
        struct str rest = buf_str(in);
        if (wire_reply(&rest, false, out)) {
            return true;
        }
        char piece[4096];
        ssize_t n = recv(fd, piece, sizeof(piece), 0);
        if (n <= 0) {
            return false;
        }
        buf_add(in, piece, (size_t)n);
    }
}

bool wire_has(struct str text, const char *part)
{
    size_t at;
    return str_find(text, str_z(part), &at);
}

int wire_ask(const struct httpd_rig *r, const char *text)
{
    int fd = wire_dial(r);
    wire_send(fd, str_z(text));
    return fd;
}

bool wire_serves(int fd)
{
    CLEANUP(buf_fini) struct buf in;
    struct wire_reply reply;
    buf_init(&in, 1 << 20);
    wire_send(fd, STR("GET /again HTTP/1.1\r\nHost: a\r\n\r\n"));
    return wire_read_reply(fd, &in, &reply) && reply.status == 200;
}
