/* The client on a thread and the server on loopback for the tests of the HTTP client. The server is
 * one thread with one epoll set: every answer is a text by path, sent whole, and what happens then.
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/httpc_rig.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MOST_S 20

/* ---- the client's side ---- */

static void *rig_thread(void *arg)
{
    struct httpc_rig *r = arg;
    io_run(r->io);
    return NULL;
}

struct call {
    struct io_msg msg;
    struct httpc_rig *rig;
    void (*fn)(void *arg);
    void *arg;
    bool done;
};

static void on_call(struct io_msg *m)
{
    struct call *c = CONTAINER_OF(m, struct call, msg);
    c->fn(c->arg);
    pthread_mutex_lock(&c->rig->lock);
    c->done = true;
    pthread_cond_broadcast(&c->rig->changed);
    pthread_mutex_unlock(&c->rig->lock);
}

void httpc_rig_call(struct httpc_rig *r, void (*fn)(void *arg), void *arg)
{
    struct call c = {.msg.run = on_call, .rig = r, .fn = fn, .arg = arg};
    io_post(r->io, &c.msg);
    pthread_mutex_lock(&r->lock);
    while (!c.done) {
        pthread_cond_wait(&r->changed, &r->lock);
    }
    pthread_mutex_unlock(&r->lock);
}

struct opening {
    struct httpc_rig *rig;
    const struct httpc_conf *conf;
};

static void on_open(void *arg)
{
    struct opening *o = arg;
    struct err err = {0};
    if (httpc_open(o->rig->io, o->conf, &o->rig->client, &err)) {
        UNREACHABLE(err.text);
    }
}

void httpc_rig_open(struct httpc_rig *r, const struct httpc_conf *conf)
{
    *r = (struct httpc_rig){.io = io_new("httpc-test")};
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    pthread_create(&r->thread, NULL, rig_thread, r);
    struct opening o = {r, conf};
    httpc_rig_call(r, on_open, &o);
}

static void on_close(void *arg)
{
    struct httpc_rig *r = arg;
    httpc_close(r->client);
    r->client = NULL;
}

void httpc_rig_close(struct httpc_rig *r)
{
    if (r->client) {
        httpc_rig_call(r, on_close, r);
    }
    io_stop(r->io);
    pthread_join(r->thread, NULL);
    io_free(r->io);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->changed);
}

static void on_done(struct op *op)
{
    struct ask *a = CONTAINER_OF(CONTAINER_OF(op, struct httpc_req, op), struct ask, rq);
    pthread_mutex_lock(&a->rig->lock);
    a->done++;
    pthread_cond_broadcast(&a->rig->changed);
    pthread_mutex_unlock(&a->rig->lock);
}

void ask_init(struct ask *a, struct httpc_rig *r, nsec_t within, const char *fmt, ...)
{
    *a = (struct ask){.rig = r};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(a->url, sizeof(a->url), fmt, ap);
    va_end(ap);
    a->rq.op.done = on_done;
    a->rq.op.io = r->io;
    a->rq.op.deadline = mono_now() + within;
    a->rq.method = STR("POST");
    a->rq.url = str_z(a->url);
    a->rq.body = STR("hello");
}

static void on_send(void *arg)
{
    struct ask *a = arg;
    httpc_send(a->rig->client, &a->rq);
    if (a->done) {
        UNREACHABLE("done within the submit call");
    }
}

void ask_send(struct ask *a)
{
    httpc_rig_call(a->rig, on_send, a);
}

void ask_wait(struct ask *a)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_MOST_S;
    pthread_mutex_lock(&a->rig->lock);
    while (!a->done) {
        if (pthread_cond_timedwait(&a->rig->changed, &a->rig->lock, &until)) {
            UNREACHABLE("a request did not end");
        }
    }
    pthread_mutex_unlock(&a->rig->lock);
}

void ask_fini(struct ask *a)
{
    httpc_req_fini(&a->rq);
}

/* ---- the server's side ---- */

enum then { KEEP, CLOSE, RESET, HANG, REPEAT };

static const struct {
    const char *path, *text, *more; /* more: sent again and again with REPEAT */
    enum then then;
} answers[] = {
    {"/ok", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: 1\r\nx-a:  two \r\n\r\nok", NULL, KEEP},
    {"/500", "HTTP/1.1 500 Oh\r\nContent-Length: 3\r\n\r\nbad", NULL, KEEP},
    {"/304", "HTTP/1.1 304 Same\r\n\r\n", NULL, KEEP},
    {"/302", "HTTP/1.1 302 Go\r\nLocation: /ok\r\nContent-Length: 0\r\n\r\n", NULL, KEEP},
    {"/099", "HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n", NULL, CLOSE},
    {"/101", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", NULL, CLOSE},
    {"/100",
     "HTTP/1.1 100 Continue\r\nX-First: 1\r\n\r\nHTTP/1.1 200 OK\r\nX-Last: 1\r\n"
     "Content-Length: 0\r\n\r\n",
     NULL, KEEP},
    {"/only-100", "HTTP/1.1 100 Continue\r\n\r\n", NULL, HANG},
    {"/bare-lf", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", NULL, KEEP},
    {"/nul", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\na\0b\xff", NULL, KEEP},
    {"/gzip",
     "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 10\r\n\r\n"
     "\x1f\x8b\x08\1\2\3\4\5\6\7",
     NULL, KEEP},
    {"/trailer",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: head\r\n\r\n"
     "2\r\nok\r\n0\r\nX-A: trailer\r\n\r\n",
     NULL, KEEP},
    {"/hang", "", NULL, HANG},
    {"/half", "HTTP/1.1 200 OK\r\nContent-Le", NULL, HANG},
    {"/close", "", NULL, CLOSE},
    {"/half-close", "HTTP/1.1 200 OK\r\nContent-Le", NULL, CLOSE},
    {"/reset", "", NULL, RESET},
    {"/half-reset", "HTTP/1.1 200 OK\r\nContent-Le", NULL, RESET},
    {"/body-reset", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", NULL, RESET},
    {"/short", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", NULL, CLOSE},
    {"/long", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 500 X\r\n\r\n", NULL, KEEP},
    {"/body-hang", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", NULL, HANG},
    {"/bad-length", "HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nok", NULL, CLOSE},
    {"/minus-length", "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok", NULL, CLOSE},
    {"/two-lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!", NULL,
     CLOSE},
    {"/same-lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", NULL,
     KEEP},
    {"/garbage", "SSH-2.0-thing\r\n", NULL, CLOSE},
    {"/version", "HTTP/7.0 200 OK\r\n\r\n", NULL, CLOSE},
    {"/endless-head", "HTTP/1.1 200 OK\r\n", "X-Filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", REPEAT},
    {"/endless-line", "HTTP/1.1 200 OK\r\nX: ", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", REPEAT},
    {"/endless-100", "", "HTTP/1.1 100 Continue\r\nX-Filler: aaaaaaaaaaaa\r\n\r\n", REPEAT},
    {"/endless-body", "HTTP/1.1 200 OK\r\n\r\n", "0123456789abcdef0123456789abcdef", REPEAT},
    {"/endless-trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n",
     "X-Filler: aaaaaaaaaaaaaaaaaaaaaaaaa\r\n", REPEAT},
};

struct conn {
    struct list link;
    int fd;
    char in[8192]; /* a request whole */
    size_t in_n;
    struct buf out;
    size_t sent;
    enum then then;
    const char *more;
    bool answering;
};

struct sink {
    pthread_t thread;
    int listener, epoll, stop, port;
    struct list conns;
    atomic_uint accepts, requests;
};

static void conn_end(struct conn *c, bool reset)
{
    if (reset) {
        struct linger now = {.l_onoff = 1, .l_linger = 0};
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    }
    close(c->fd);
    list_del(&c->link);
    buf_fini(&c->out);
    free(c);
}

static void add_text(struct conn *c, const char *text, size_t i)
{
    /* two answers hold a NUL; their ends are known */
    size_t n = strcmp(answers[i].path, "/nul") == 0 ? strlen(text) + 3 : strlen(text);
    buf_add(&c->out, text, n);
}

static void add_body_of(struct conn *c, size_t n)
{
    buf_addf(&c->out, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", n);
    while (n--) {
        buf_addc(&c->out, 'b');
    }
}

static void choose(struct conn *c, struct str path, struct str whole)
{
    uint64_t size;
    c->then = KEEP;
    if (str_eqz(path, "/echo")) {
        buf_addf(&c->out, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", whole.n);
        buf_adds(&c->out, whole);
        return;
    }
    if (str_starts(path, STR("/size/")) && str_to_u64(str_sub(path, 6, path.n), &size)) {
        add_body_of(c, size);
        return;
    }
    if (str_starts(path, STR("/stall/")) && str_to_u64(str_sub(path, 7, path.n), &size)) {
        buf_addz(&c->out, "HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n");
        while (size--) {
            buf_addc(&c->out, 's');
        }
        c->then = HANG;
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        if (str_eqz(path, answers[i].path)) {
            add_text(c, answers[i].text, i);
            c->more = answers[i].more;
            c->then = answers[i].then;
            return;
        }
    }
    buf_addz(&c->out, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
}

/* The request whole? Then its answer is chosen. */
static bool take_request(struct sink *s, struct conn *c)
{
    struct str in = {c->in, c->in_n}, line, method, path;
    size_t head, at;
    uint64_t length = 0;
    if (!str_find(in, STR("\r\n\r\n"), &head)) {
        return false;
    }
    head += 4;
    if (str_find(in, STR("Content-Length: "), &at)) {
        struct str rest = str_sub(in, at + 16, in.n), number;
        str_split(&rest, '\r', &number);
        str_to_u64(number, &length);
    }
    if (in.n < head + length) {
        return false;
    }
    struct str rest = in;
    str_split(&rest, '\r', &line);
    str_split(&line, ' ', &method);
    str_split(&line, ' ', &path);
    atomic_fetch_add(&s->requests, 1);
    choose(c, path, str_sub(in, 0, head + length));
    c->in_n = 0;
    c->answering = true;
    return true;
}

static void want(struct sink *s, struct conn *c, uint32_t events)
{
    struct epoll_event ev = {.events = events, .data.ptr = c};
    epoll_ctl(s->epoll, EPOLL_CTL_MOD, c->fd, &ev);
}

/* False: the connection is gone. */
static bool push(struct sink *s, struct conn *c)
{
    for (int round = 0; round < 16; round++) {
        if (c->sent == c->out.n && c->then == REPEAT) {
            buf_reset(&c->out);
            c->sent = 0;
            for (int i = 0; i < 512; i++) {
                buf_addz(&c->out, c->more);
            }
        }
        if (c->sent == c->out.n) {
            break;
        }
        ssize_t n = send(c->fd, c->out.p + c->sent, c->out.n - c->sent, MSG_NOSIGNAL);
        if (n < 0) {
            break;
        }
        c->sent += (size_t)n;
    }
    if (c->sent < c->out.n || c->then == REPEAT) {
        want(s, c, EPOLLIN | EPOLLOUT);
        return true;
    }
    if (c->then == CLOSE || c->then == RESET) {
        conn_end(c, c->then == RESET);
        return false;
    }
    want(s, c, EPOLLIN);
    c->answering = c->then != KEEP;
    buf_reset(&c->out);
    c->sent = 0;
    return true;
}

static void on_event(struct sink *s, struct conn *c, uint32_t events)
{
    if (events & EPOLLIN) {
        ssize_t n = recv(c->fd, c->in + c->in_n, sizeof(c->in) - c->in_n, 0);
        if (n <= 0) {
            conn_end(c, false);
            return;
        }
        c->in_n += (size_t)n;
        if (c->answering || take_request(s, c)) {
            push(s, c);
        }
    } else if (events & EPOLLOUT) {
        push(s, c);
    } else {
        conn_end(c, false);
    }
}

static void on_accept(struct sink *s)
{
    int fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        return;
    }
    atomic_fetch_add(&s->accepts, 1);
    struct conn *c = xcalloc(1, sizeof(*c));
    c->fd = fd;
    buf_init(&c->out, (size_t)16 * 1024 * 1024);
    list_push(&s->conns, &c->link);
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};
    epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev);
}

static void *sink_thread(void *arg)
{
    struct sink *s = arg;
    for (;;) {
        struct epoll_event ev[64];
        int n = epoll_wait(s->epoll, ev, 64, -1);
        for (int i = 0; i < n; i++) {
            if (ev[i].data.ptr == &s->stop) {
                return NULL;
            }
            if (ev[i].data.ptr == s) {
                on_accept(s);
            } else {
                on_event(s, ev[i].data.ptr, ev[i].events);
            }
        }
    }
}

static int listen_any(int *out_port, int backlog)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(sa);
    if (fd < 0 || bind(fd, (struct sockaddr *)&sa, n) || (backlog && listen(fd, backlog)) ||
        getsockname(fd, (struct sockaddr *)&sa, &n)) {
        UNREACHABLE("no port on loopback");
    }
    *out_port = ntohs(sa.sin_port);
    return fd;
}

struct sink *sink_open(void)
{
    struct sink *s = xcalloc(1, sizeof(*s));
    list_init(&s->conns);
    s->listener = listen_any(&s->port, 4096);
    s->epoll = epoll_create1(EPOLL_CLOEXEC);
    s->stop = eventfd(0, EFD_CLOEXEC);
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = s};
    epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->listener, &ev);
    ev.data.ptr = &s->stop;
    epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->stop, &ev);
    pthread_create(&s->thread, NULL, sink_thread, s);
    return s;
}

void sink_close(struct sink *s)
{
    eventfd_write(s->stop, 1);
    pthread_join(s->thread, NULL);
    while (!list_empty(&s->conns)) {
        conn_end(CONTAINER_OF(s->conns.next, struct conn, link), false);
    }
    close(s->listener);
    close(s->epoll);
    close(s->stop);
    free(s);
}

int sink_port(const struct sink *s)
{
    return s->port;
}

unsigned sink_accepts(const struct sink *s)
{
    return atomic_load(&s->accepts);
}

unsigned sink_requests(const struct sink *s)
{
    return atomic_load(&s->requests);
}

int closed_port(void)
{
    int port;
    close(listen_any(&port, 0));
    return port;
}
