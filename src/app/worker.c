/* Threads: one loop each and what lives on it. The main thread asks them by message and waits for their answers.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <sys/sysinfo.h>
#include <time.h>

#include "app/app_priv.h"

static void answer(struct app *a)
{
    pthread_mutex_lock(&a->lock);
    a->answered++;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

/* Waits until n workers have answered; false at the deadline (monotonic). */
static bool wait_for(struct app *a, size_t n, nsec_t until)
{
    struct timespec t = {until / NSEC_PER_SEC, until % NSEC_PER_SEC};
    pthread_mutex_lock(&a->lock);
    int rc = 0;
    while (a->answered < n && rc == 0) {
        rc = pthread_cond_timedwait(&a->changed, &a->lock, &t);
    }
    bool all = a->answered >= n;
    pthread_mutex_unlock(&a->lock);
    return all;
}

static size_t ask(struct app *a, enum worker_kind kind, void (*run)(struct io_msg *m))
{
    size_t n = 0;
    pthread_mutex_lock(&a->lock);
    a->answered = 0;
    pthread_mutex_unlock(&a->lock);
    for (size_t i = 0; i < a->worker_count; i++) {
        if (a->workers[i].kind == kind) {
            a->workers[i].ask.run = run;
            io_post(a->workers[i].io, &a->workers[i].ask);
            n++;
        }
    }
    return n;
}

static void *thread_main(void *arg)
{
    io_run(((struct worker *)arg)->io);
    return NULL;
}

static struct list *entry_new(void *arg, struct attempt *attempt, struct event *event, struct queue_msg *msg)
{
    (void)arg;
    return &record_entry_new(attempt, event, msg)->link;
}

static void hand(void *arg, struct list *entries)
{
    record_hand(((struct app *)arg)->record, entries);
}

static enum ec open_delivery(struct worker *w, struct err *err)
{
    struct app *a = w->app;
    struct httpc_conf hc = {.max_cached_conns = 8192, .egress = a->egress};
    enum ec ec = httpc_open(w->io, &hc, &w->httpc, err);
    if (ec) {
        return ec;
    }
    w->dests = dest_pool_new(a->registry, w->io, w->httpc);
    struct deliver_parts parts = {
        .io = w->io,
        .store = a->store,
        .queue = a->queue,
        .streak = queue_embedded_streak(a->queue),
        .dests = w->dests,
        .hand = hand,
        .entry_new = entry_new,
        .arg = a,
    };
    w->deliver = deliver_new(&a->deliver_conf, &parts);
    struct queue_consumer c = {
        .io = w->io,
        .kind = QUEUE_DELIVERY,
        .on_msgs = deliver_on_msgs,
        .on_parked = deliver_on_parked,
        .on_unparked = deliver_on_unparked,
        .arg = w->deliver,
    };
    queue_consume(a->queue, &c);
    return EC_OK;
}

static enum ec open_log(struct worker *w)
{
    struct app *a = w->app;
    struct record_conf rc = {.batch = (unsigned)a->config->log_batch_size, .wait = 5 * NSEC_PER_MSEC};
    a->record = record_new(w->io, a->log, a->queue, &rc);
    struct queue_consumer c = {.io = w->io, .kind = QUEUE_LOG, .on_msgs = record_on_msgs, .arg = a->record};
    queue_consume(a->queue, &c);
    return EC_OK;
}

static enum ec open_worker(struct app *a, enum worker_kind kind, struct err *err)
{
    static const char *const names[] = {[WORKER_API] = "api", [WORKER_DELIVERY] = "delivery", [WORKER_LOG] = "log"};
    struct worker *w = &a->workers[a->worker_count++];
    w->kind = kind;
    w->app = a;
    w->io = io_new(names[kind]);
    switch (kind) {
    case WORKER_API: {
        enum ec ec = httpd_open(w->io, &a->httpd_conf, &w->httpd, err);
        if (!ec) {
            a->port = a->httpd_conf.port = httpd_port(w->httpd);
        }
        return ec;
    }
    case WORKER_DELIVERY:
        return open_delivery(w, err);
    case WORKER_LOG:
        return open_log(w);
    }
    UNREACHABLE("a kind of worker");
}

static int threads_of(int64_t asked)
{
    int n = asked > 0 ? (int)asked : get_nprocs() / 2;
    return MAX(1, MIN(n, 6));
}

enum ec workers_start(struct app *a, struct err *err)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&a->changed, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&a->lock, NULL);
    enum ec ec = open_worker(a, WORKER_LOG, err);
    for (int i = 0; !ec && i < threads_of(a->config->delivery_threads); i++) {
        ec = open_worker(a, WORKER_DELIVERY, err);
    }
    ec = ec ? ec : queue_start(a->queue, a->workers[0].io, err);
    for (int i = 0; !ec && i < threads_of(a->config->api_threads); i++) {
        ec = open_worker(a, WORKER_API, err);
    }
    for (size_t i = 0; !ec && i < a->worker_count; i++) {
        struct worker *w = &a->workers[i];
        w->started = pthread_create(&w->thread, NULL, thread_main, w) == 0;
        ec = w->started ? EC_OK : err_set(err, EC_UNAVAILABLE, "no thread for a worker");
    }
    return ec;
}

/* ---- stopping ---- */

static void poll_busy(struct io_timer *t)
{
    struct worker *w = CONTAINER_OF(t, struct worker, poll);
    if (httpd_busy(w->httpd) == 0) {
        answer(w->app);
    } else {
        io_timer_set(w->io, t, io_now(w->io) + 5 * NSEC_PER_MSEC, poll_busy);
    }
}

static void stop_accepting(struct io_msg *m)
{
    struct worker *w = CONTAINER_OF(m, struct worker, ask);
    httpd_stop(w->httpd);
    poll_busy(&w->poll);
}

bool workers_stop_accepting(struct app *a, nsec_t until)
{
    return wait_for(a, ask(a, WORKER_API, stop_accepting), until);
}

static void delivered(struct op *op)
{
    answer(CONTAINER_OF(op, struct worker, stopped)->app);
}

static void stop_delivering(struct io_msg *m)
{
    struct worker *w = CONTAINER_OF(m, struct worker, ask);
    w->stopped = (struct op){.done = delivered, .io = w->io};
    deliver_stop(w->deliver, &w->stopped);
}

bool workers_stop_delivering(struct app *a, nsec_t until)
{
    return wait_for(a, ask(a, WORKER_DELIVERY, stop_delivering), until);
}

static void flush_log(struct io_msg *m)
{
    struct worker *w = CONTAINER_OF(m, struct worker, ask);
    w->stopped = (struct op){.done = delivered, .io = w->io};
    record_flush(w->app->record, &w->stopped);
}

bool workers_flush_log(struct app *a, nsec_t until)
{
    return wait_for(a, ask(a, WORKER_LOG, flush_log), until);
}

static void close_parts(struct io_msg *m)
{
    struct worker *w = CONTAINER_OF(m, struct worker, ask);
    if (w->httpd) {
        httpd_close(w->httpd);
    }
    if (w->httpc) {
        httpc_close(w->httpc);
    }
    answer(w->app);
}

void workers_end(struct app *a)
{
    static const enum worker_kind kinds[] = {WORKER_API, WORKER_DELIVERY};
    nsec_t until = mono_now() + NSEC_PER_SEC;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        wait_for(a, ask(a, kinds[k], close_parts), until);
    }
    for (size_t i = 0; i < a->worker_count; i++) {
        if (a->workers[i].started) {
            io_stop(a->workers[i].io);
            pthread_join(a->workers[i].thread, NULL);
        }
    }
}
