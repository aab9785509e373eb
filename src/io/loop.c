/* The event loop of one thread: libuv underneath, a mailbox, a heap of timers on one uv timer,
 * work at the end of the turn. A turn is timers, sockets, then on_turn: mail, completions and
 * deferred work until all is quiet. Only a loop that is about to sleep is woken for mail.
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/loop.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define ROUNDS_MOST 4 /* then sockets and timers get their turn */

struct io {
    char name[16];
    pthread_mutex_t lock; /* guards the next four */
    struct list mail;     /* struct io_msg of any thread */
    struct list mail_ops; /* struct op completed by other threads */
    bool asleep;          /* the lists are not looked into before a wake-up */
    bool stopping;
    uv_async_t wake;
    /* this thread only */
    uv_loop_t uv;
    struct list msgs;     /* struct io_msg to run */
    struct list ops;      /* struct op to finish, own ones too */
    struct list deferred; /* struct io_defer */
    struct list to_free;  /* struct garbage */
    struct heap timers;
    uv_timer_t timer;
    nsec_t timer_at; /* what the uv timer is set for; 0 = not */
    bool firing;     /* inside on_timer */
    uv_prepare_t turn;
    uv_check_t polled;
    uv_idle_t busy; /* active: the loop polls without sleeping */
    nsec_t now;
};

struct garbage {
    struct list link;
    void *p;
};

static _Thread_local struct io *self;

/* ---- timers ---- */

static void on_timer(uv_timer_t *t)
{
    struct io *io = t->data;
    struct heap_node *n;
    io->timer_at = 0;
    io->now = mono_now();
    io->firing = true;
    while ((n = heap_min(&io->timers)) && n->key <= io->now) {
        struct io_timer *timer = CONTAINER_OF(n, struct io_timer, node);
        heap_del(&io->timers, n);
        timer->fire(timer);
    }
    io->firing = false; /* on_turn sets the uv timer again */
}

/* Makes the uv timer follow the heap. It may be early when timers were cleared: harmless. */
static void set_timer(struct io *io)
{
    struct heap_node *n = heap_min(&io->timers);
    if (!n || (io->timer_at && io->timer_at <= n->key)) {
        return;
    }
    uv_update_time(&io->uv);
    nsec_t due = (n->key + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC; /* uv counts the same clock in ms */
    nsec_t now = (nsec_t)uv_now(&io->uv);
    io->timer_at = n->key;
    uv_timer_start(&io->timer, on_timer, due > now ? (uint64_t)(due - now) : 0, 0);
}

void io_timer_set(struct io *io, struct io_timer *t, nsec_t at, void (*fire)(struct io_timer *t))
{
    heap_del(&io->timers, &t->node);
    t->fire = fire;
    /* a timer that sets itself for the past must not keep on_timer from ending */
    heap_push(&io->timers, &t->node, io->firing ? MAX(at, io->now + 1) : at);
}

void io_timer_clear(struct io *io, struct io_timer *t)
{
    heap_del(&io->timers, &t->node);
}

/* ---- the turn ---- */

/* Takes what other threads have sent. False when there is nothing to do: then the next post wakes
 * the loop. */
static bool collect(struct io *io, bool *out_stop)
{
    pthread_mutex_lock(&io->lock);
    list_splice(&io->msgs, &io->mail);
    list_splice(&io->ops, &io->mail_ops);
    bool work = !list_empty(&io->msgs) || !list_empty(&io->ops) || !list_empty(&io->deferred);
    io->asleep = !work;
    *out_stop = io->stopping;
    pthread_mutex_unlock(&io->lock);
    return work;
}

/* What comes up meanwhile waits for the next round. */
static void run_round(struct io *io)
{
    struct list ops, msgs, deferred, *l;
    list_init(&ops);
    list_init(&msgs);
    list_init(&deferred);
    list_splice(&ops, &io->ops);
    list_splice(&msgs, &io->msgs);
    while ((l = list_pop(&ops))) {
        struct op *op = CONTAINER_OF(l, struct op, link);
        op->done(op);
    }
    while ((l = list_pop(&msgs))) {
        struct io_msg *m = CONTAINER_OF(l, struct io_msg, link);
        m->run(m);
    }
    list_splice(&deferred, &io->deferred);
    while ((l = list_pop(&deferred))) {
        struct io_defer *d = CONTAINER_OF(l, struct io_defer, link);
        d->run(d);
    }
}

static void free_garbage(struct io *io)
{
    struct list *l;
    while ((l = list_pop(&io->to_free))) {
        struct garbage *g = CONTAINER_OF(l, struct garbage, link);
        free(g->p);
        free(g);
    }
}

static void on_busy(uv_idle_t *idle)
{
    (void)idle;
}

static void on_turn(uv_prepare_t *prepare)
{
    struct io *io = prepare->data;
    bool stop;
    bool work = collect(io, &stop);
    for (int round = 0; work && round < ROUNDS_MOST; round++) {
        run_round(io);
        work = collect(io, &stop);
    }
    free_garbage(io);
    set_timer(io);
    if (work) {
        uv_idle_start(&io->busy, on_busy);
    } else {
        uv_idle_stop(&io->busy);
    }
    if (stop && !work) {
        uv_stop(&io->uv);
    }
}

static void on_polled(uv_check_t *check)
{
    struct io *io = check->data;
    io->now = mono_now();
    pthread_mutex_lock(&io->lock);
    io->asleep = false;
    pthread_mutex_unlock(&io->lock);
}

static void on_wake(uv_async_t *wake)
{
    (void)wake; /* on_turn comes before the next sleep */
}

void io_defer_init(struct io_defer *d, void (*run)(struct io_defer *d))
{
    list_init(&d->link);
    d->run = run;
}

void io_defer(struct io *io, struct io_defer *d)
{
    if (list_empty(&d->link)) {
        list_push(&io->deferred, &d->link);
    }
}

void io_defer_free(struct io *io, void *p)
{
    struct garbage *g = xmalloc(sizeof(*g));
    g->p = p;
    list_push(&io->to_free, &g->link);
}

/* ---- life ---- */

struct io *io_new(const char *name)
{
    struct io *io = xcalloc(1, sizeof(*io));
    strncpy(io->name, name, sizeof(io->name) - 1);
    pthread_mutex_init(&io->lock, NULL);
    list_init(&io->mail);
    list_init(&io->mail_ops);
    list_init(&io->msgs);
    list_init(&io->ops);
    list_init(&io->deferred);
    list_init(&io->to_free);
    heap_init(&io->timers);
    io->now = mono_now();
    signal(SIGPIPE, SIG_IGN); /* a peer that left is an error code to us */
    if (uv_loop_init(&io->uv) || uv_async_init(&io->uv, &io->wake, on_wake)) {
        UNREACHABLE("no descriptors for an event loop");
    }
    uv_timer_init(&io->uv, &io->timer);
    uv_prepare_init(&io->uv, &io->turn);
    uv_check_init(&io->uv, &io->polled);
    uv_idle_init(&io->uv, &io->busy);
    io->timer.data = io->turn.data = io->polled.data = io;
    uv_prepare_start(&io->turn, on_turn);
    uv_check_start(&io->polled, on_polled);
    return io;
}

static void close_handle(uv_handle_t *h, void *arg)
{
    (void)arg;
    if (!uv_is_closing(h)) {
        uv_close(h, NULL);
    }
}

void io_free(struct io *io)
{
    if (!io) {
        return;
    }
    uv_walk(&io->uv, close_handle, NULL);
    uv_run(&io->uv, UV_RUN_DEFAULT);
    uv_loop_close(&io->uv);
    free_garbage(io);
    heap_fini(&io->timers);
    pthread_mutex_destroy(&io->lock);
    free(io);
}

void io_run(struct io *io)
{
    self = io;
    pthread_setname_np(pthread_self(), io->name);
    io->now = mono_now();
    uv_run(&io->uv, UV_RUN_DEFAULT);
    self = NULL;
}

const char *io_name(const struct io *io)
{
    return io->name;
}

struct io *io_self(void)
{
    return self;
}

void *io_uv(struct io *io)
{
    return &io->uv;
}

nsec_t io_now(struct io *io)
{
    return io->now;
}

/* ---- from other threads ---- */

/* Under the lock: whether its owner must call uv_async_send. Once per sleep. */
static bool must_wake(struct io *io)
{
    bool wake = io->asleep;
    io->asleep = false;
    return wake;
}

static void post(struct io *io, struct list *to, struct list *links)
{
    pthread_mutex_lock(&io->lock);
    list_splice(to, links);
    bool wake = must_wake(io);
    pthread_mutex_unlock(&io->lock);
    if (wake) {
        uv_async_send(&io->wake);
    }
}

static void post_one(struct io *io, struct list *to, struct list *link)
{
    struct list one;
    list_init(&one);
    list_push(&one, link);
    post(io, to, &one);
}

void io_stop(struct io *io)
{
    pthread_mutex_lock(&io->lock);
    io->stopping = true;
    bool wake = must_wake(io);
    pthread_mutex_unlock(&io->lock);
    if (wake) {
        uv_async_send(&io->wake);
    }
}

void io_post(struct io *io, struct io_msg *m)
{
    if (io == self) {
        list_push(&io->msgs, &m->link);
    } else {
        post_one(io, &io->mail, &m->link);
    }
}

void io_post_list(struct io *io, struct list *msgs)
{
    if (list_empty(msgs)) {
        return;
    }
    if (io == self) {
        list_splice(&io->msgs, msgs);
    } else {
        post(io, &io->mail, msgs);
    }
}

/* ---- completions ---- */

void op_complete(struct op *op)
{
    if (op->io == self) {
        list_push(&self->ops, &op->link);
    } else {
        post_one(op->io, &op->io->mail_ops, &op->link);
    }
}

void op_complete_list(struct io *io, struct list *ops)
{
    if (list_empty(ops)) {
        return;
    }
    if (io == self) {
        list_splice(&self->ops, ops);
    } else {
        post(io, &io->mail_ops, ops);
    }
}

void op_finish(struct op *op, enum ec code, const char *text)
{
    op->err.code = code;
    op->err.text[0] = '\0';
    if (code) {
        err_set(&op->err, code, "%s", text ? text : ec_name(code));
    }
    op_complete(op);
}

void op_cancel(struct op *op)
{
    if (op->cancel) {
        op->cancel(op);
    }
}
