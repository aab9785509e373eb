/* curl's sockets in an epoll set of their own, watched as one descriptor by the loop. Sockets of
 * connections stay registered between transfers: curl reports REMOVE at each end and ADD at each
 * start, and acting on both would cost two system calls a request. One that fires while nobody
 * wants it is taken out then; we hear of its close. The resolver's descriptors are closed without a
 * word, so those are taken out when curl says so. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "io/httpc_priv.h"

#define EVENTS_MOST 256

static struct fd_state *state_of(struct httpc *c, int fd)
{
    if ((size_t)fd >= c->fd_count) {
        size_t n = MAX(c->fd_count * 2, (size_t)fd + 64);
        c->fds = xrealloc(c->fds, n * sizeof(*c->fds));
        memset(c->fds + c->fd_count, 0, (n - c->fd_count) * sizeof(*c->fds));
        c->fd_count = n;
    }
    return &c->fds[fd];
}

static void watch(struct httpc *c, int fd, struct fd_state *s, uint8_t mask)
{
    struct epoll_event ev = {.data.fd = fd};
    ev.events =
        (mask & IO_READ ? (uint32_t)EPOLLIN : 0) | (mask & IO_WRITE ? (uint32_t)EPOLLOUT : 0);
    int how = s->mask ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (epoll_ctl(c->epfd, how, fd, &ev)) {
        /* The note was wrong: the number belongs to another socket by now. */
        epoll_ctl(c->epfd, errno == ENOENT ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &ev);
    }
    s->mask = mask;
}

static void unwatch(struct httpc *c, int fd, struct fd_state *s)
{
    if (s->mask) {
        epoll_ctl(c->epfd, EPOLL_CTL_DEL, fd, NULL);
    }
    s->mask = 0;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *per_socket)
{
    (void)easy, (void)per_socket;
    struct httpc *c = arg;
    struct fd_state *s = state_of(c, fd);
    if (what == CURL_POLL_REMOVE || what == CURL_POLL_NONE) {
        s->wanted = false;
        if (!s->dialled) {
            unwatch(c, fd, s);
        }
        return 0;
    }
    uint8_t mask = what == CURL_POLL_IN    ? IO_READ
                   : what == CURL_POLL_OUT ? IO_WRITE
                                           : IO_READ | IO_WRITE;
    s->wanted = true;
    /* Of a smaller wish only less writing is heard at once: a writable socket fires all the time.
     */
    if (mask & ~s->mask || (s->mask & IO_WRITE && !(mask & IO_WRITE))) {
        watch(c, fd, s, mask);
    }
    return 0;
}

void httpc_fd_opened(struct httpc *c, int fd)
{
    *state_of(c, fd) = (struct fd_state){.dialled = true};
}

int httpc_on_close_socket(void *arg, curl_socket_t fd)
{
    struct httpc *c = arg;
    *state_of(c, fd) = (struct fd_state){0};
    return close(fd);
}

static void on_timeout(struct io_timer *t)
{
    struct httpc *c = CONTAINER_OF(t, struct httpc, timer);
    int running;
    curl_multi_socket_action(c->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    httpc_reap(c);
}

static int on_timer(CURLM *multi, long ms, void *arg)
{
    (void)multi;
    struct httpc *c = arg;
    if (ms > 0) {
        io_timer_set(c->io, &c->timer, mono_now() + ms * NSEC_PER_MSEC, on_timeout);
        return 0;
    }
    io_timer_clear(c->io, &c->timer);
    if (ms == 0 && !c->closing) {
        io_defer(c->io, &c->kick); /* this turn still, but not from within curl */
    }
    return 0;
}

static void on_ready(uv_poll_t *p, int status, int events)
{
    (void)status, (void)events;
    struct httpc *c = p->data;
    struct epoll_event ev[EVENTS_MOST];
    int n = epoll_wait(c->epfd, ev, EVENTS_MOST, 0);
    for (int i = 0; i < n; i++) {
        int fd = ev[i].data.fd;
        struct fd_state *s = state_of(c, fd);
        if (!s->wanted) {
            unwatch(c, fd, s);
            continue;
        }
        int what = (ev[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
                   (ev[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                   (ev[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
        int running;
        curl_multi_socket_action(c->multi, fd, what, &running);
    }
    httpc_reap(c);
}

bool httpc_glue_open(struct httpc *c)
{
    c->epfd = epoll_create1(EPOLL_CLOEXEC);
    if (c->epfd < 0) {
        return false;
    }
    if (uv_poll_init(io_uv(c->io), &c->poll, c->epfd)) {
        close(c->epfd);
        return false;
    }
    c->poll.data = c;
    uv_poll_start(&c->poll, UV_READABLE, on_ready);
    curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
    curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
    return true;
}

static void on_poll_closed(uv_handle_t *h)
{
    struct httpc *c = h->data;
    close(c->epfd);
    free(c->fds);
    free(c);
}

void httpc_glue_close(struct httpc *c)
{
    io_timer_clear(c->io, &c->timer);
    uv_close((uv_handle_t *)&c->poll, on_poll_closed);
}
