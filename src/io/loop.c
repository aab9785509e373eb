/* The event loop of one thread: libuv underneath, a mailbox, a heap of timers on one uv timer, end-of-turn work.
 * Mail for the own thread needs neither lock nor wake-up. SPDX-License-Identifier: Apache-2.0 */
#include "io/loop.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

struct io {
    uv_loop_t uv;
    char name[16];
    pthread_mutex_t lock;
    struct list mail;     /* struct io_msg links of other threads */
    struct list mail_ops; /* struct op links of other threads */
    bool woken;           /* the async handle has been signalled for what is in the lists */
    bool stopping;
    uv_async_t wake;
    /* this thread only */
    struct list own; /* struct op links completed on this thread */
    struct list deferred;
    struct list to_free; /* struct garbage */
    struct heap timers;
    uv_timer_t timer;
    nsec_t timer_at; /* what the uv timer is set for; 0 = not */
    uv_prepare_t turn;
    uv_idle_t busy; /* keeps the loop from sleeping while there is own mail */
    bool busy_on;
    nsec_t now;
};

struct garbage {
    struct list link;
    void *p;
};

static _Thread_local struct io *self;

static void run_mail(struct io *io)
{
    struct list mail, ops, *l;
    list_init(&mail);
    list_init(&ops);
    pthread_mutex_lock(&io->lock);
    list_splice(&mail, &io->mail);
    list_splice(&ops, &io->mail_ops);
    io->woken = false;
    pthread_mutex_unlock(&io->lock);
    while ((l = list_pop(&ops))) {
        struct op *op = CONTAINER_OF(l, struct op, link);
        op->done(op);
    }
    while ((l = list_pop(&mail))) {
        struct io_msg *m = CONTAINER_OF(l, struct io_msg, link);
        m->run(m);
    }
}

static void on_wake(uv_async_t *a)
{
    run_mail(a->data);
}

static void set_timer(struct io *io);

static void on_timer(uv_timer_t *t)
{
    struct io *io = t->data;
    io->timer_at = 0;
    io->now = mono_now();
    struct heap_node *n;
    while ((n = heap_min(&io->timers)) && n->key <= io->now) {
        heap_del(&io->timers, n);
        struct io_timer *timer = CONTAINER_OF(n, struct io_timer, node);
        timer->fire(timer);
    }
    set_timer(io);
}

static void set_timer(struct io *io)
{
    struct heap_node *n = heap_min(&io->timers);
    if (!n) {
        return;
    }
    if (io->timer_at && io->timer_at <= n->key) {
        return;
    }
    nsec_t wait = n->key - mono_now();
    uint64_t ms = wait <= 0 ? 0 : (uint64_t)((wait + NSEC_PER_MSEC - 1) / NSEC_PER_MSEC);
    io->timer_at = n->key;
    uv_update_time(&io->uv);
    uv_timer_start(&io->timer, on_timer, ms, 0);
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
    (void)idle; /* its being active is what counts: the loop polls without sleeping */
}

/* The end of a turn: own completions, then deferred work, until both are quiet or a bound is reached (so that sockets
 * get their turn too). */
static void on_turn(uv_prepare_t *prepare)
{
    struct io *io = prepare->data;
    for (int round = 0; round < 4 && (!list_empty(&io->own) || !list_empty(&io->deferred)); round++) {
        struct list ops, work, *l;
        list_init(&ops);
        list_splice(&ops, &io->own);
        while ((l = list_pop(&ops))) {
            struct op *op = CONTAINER_OF(l, struct op, link);
            op->done(op);
        }
        list_init(&work);
        list_splice(&work, &io->deferred);
        while ((l = list_pop(&work))) {
            struct io_defer *d = CONTAINER_OF(l, struct io_defer, link);
            d->run(d);
        }
    }
    free_garbage(io);
    set_timer(io);
    bool busy = !list_empty(&io->own) || !list_empty(&io->deferred);
    if (busy != io->busy_on) {
        io->busy_on = busy;
        if (busy) {
            uv_idle_start(&io->busy, on_busy);
        } else {
            uv_idle_stop(&io->busy);
        }
    }
    pthread_mutex_lock(&io->lock);
    bool stop = io->stopping && list_empty(&io->mail) && list_empty(&io->mail_ops);
    pthread_mutex_unlock(&io->lock);
    if (stop && !busy) {
        uv_stop(&io->uv);
    }
}

static void on_check(uv_check_t *check)
{
    struct io *io = check->data;
    io->now = mono_now();
}

struct io *io_new(const char *name)
{
    struct io *io = xcalloc(1, sizeof(*io));
    strncpy(io->name, name, sizeof(io->name) - 1);
    pthread_mutex_init(&io->lock, NULL);
    list_init(&io->mail);
    list_init(&io->mail_ops);
    list_init(&io->own);
    list_init(&io->deferred);
    list_init(&io->to_free);
    heap_init(&io->timers);
    io->now = mono_now();
    uv_check_t *check = xcalloc(1, sizeof(*check));
    if (uv_loop_init(&io->uv) || uv_async_init(&io->uv, &io->wake, on_wake) || uv_timer_init(&io->uv, &io->timer) ||
        uv_prepare_init(&io->uv, &io->turn) || uv_idle_init(&io->uv, &io->busy) || uv_check_init(&io->uv, check)) {
        UNREACHABLE("no descriptors for an event loop");
    }
    io->wake.data = io->timer.data = io->turn.data = io->busy.data = check->data = io;
    uv_prepare_start(&io->turn, on_turn);
    uv_check_start(check, on_check);
    uv_unref((uv_handle_t *)&io->turn);
    uv_unref((uv_handle_t *)check);
    return io;
}

static void on_closed_check(uv_handle_t *h)
{
    free(h);
}

static void close_handle(uv_handle_t *h, void *arg)
{
    (void)arg;
    if (!uv_is_closing(h)) {
        uv_close(h, h->type == UV_CHECK ? on_closed_check : NULL);
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

void io_stop(struct io *io)
{
    pthread_mutex_lock(&io->lock);
    io->stopping = true;
    pthread_mutex_unlock(&io->lock);
    uv_async_send(&io->wake);
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

static void post(struct io *io, struct list *to, struct list *links, bool many)
{
    pthread_mutex_lock(&io->lock);
    if (many) {
        list_splice(to, links);
    } else {
        list_push(to, links);
    }
    bool wake = !io->woken;
    io->woken = true;
    pthread_mutex_unlock(&io->lock);
    if (wake) {
        uv_async_send(&io->wake);
    }
}

void io_post(struct io *io, struct io_msg *m)
{
    post(io, &io->mail, &m->link, false);
}

void io_post_list(struct io *io, struct list *msgs)
{
    if (!list_empty(msgs)) {
        post(io, &io->mail, msgs, true);
    }
}

void op_complete(struct op *op)
{
    if (op->io == self) {
        list_init(&op->link);
        list_push(&self->own, &op->link);
    } else {
        list_init(&op->link);
        post(op->io, &op->io->mail_ops, &op->link, false);
    }
}

void op_complete_list(struct io *io, struct list *ops)
{
    if (list_empty(ops)) {
        return;
    }
    if (io == self) {
        list_splice(&self->own, ops);
    } else {
        post(io, &io->mail_ops, ops, true);
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

void io_timer_set(struct io *io, struct io_timer *t, nsec_t at, void (*fire)(struct io_timer *t))
{
    if (heap_in(&t->node)) {
        heap_del(&io->timers, &t->node);
    }
    t->fire = fire;
    heap_push(&io->timers, &t->node, at);
    /* The uv timer follows at the end of the turn. */
}

void io_timer_clear(struct io *io, struct io_timer *t)
{
    heap_del(&io->timers, &t->node);
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
    list_init(&g->link);
    list_push(&io->to_free, &g->link);
}
