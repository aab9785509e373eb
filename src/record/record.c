/* Batches attempts into the log store on the log thread. One insert is under way at a time: while it runs, the next batch
 * fills, so batches grow with the load. A failed insert is tried again for ever, with backoff, in the same order.
 * SPDX-License-Identifier: Apache-2.0 */
#include "record/record.h"

#include <pthread.h>
#include <stdlib.h>

#include "util/log.h"

#define RETRY_FIRST (50 * NSEC_PER_MSEC)
#define RETRY_MOST (2 * NSEC_PER_SEC)
#define INSERT_DEADLINE (30 * NSEC_PER_SEC)

struct record {
    struct io *io;
    struct logstore *log;
    struct queue *queue;
    struct record_conf conf;
    /* shared with the threads that hand over */
    pthread_mutex_t lock;
    struct list handed; /* record_entry */
    bool told;          /* the log thread has been woken for `handed` */
    struct io_msg wake;
    /* log thread only */
    struct list waiting; /* record_entry */
    size_t waiting_count;
    struct list batch; /* record_entry of the insert under way */
    bool inserting;
    nsec_t backoff;
    struct io_timer timer;
    struct log_insert insert;
    struct attempt **attempts;
    struct event **events;
    struct list flushes; /* op.link of those who wait for everything */
};

static void collect(struct record *r);
static void write_batch(struct record *r);

struct record_entry *record_entry_new(struct attempt *attempt, struct event *event, struct queue_msg *msg)
{
    struct record_entry *e = xcalloc(1, sizeof(*e));
    list_init(&e->link);
    e->attempt = attempt;
    e->event = event;
    e->msg = msg;
    return e;
}

static void entry_free(struct record_entry *e)
{
    attempt_unref(e->attempt);
    event_unref(e->event);
    free(e);
}

/* Only here is `told` taken back: until now the message itself was in the mailbox and must not be posted again. */
static void woken(struct io_msg *m)
{
    struct record *r = CONTAINER_OF(m, struct record, wake);
    pthread_mutex_lock(&r->lock);
    r->told = false;
    pthread_mutex_unlock(&r->lock);
    collect(r);
}

struct record *record_new(struct io *io, struct logstore *log, struct queue *queue, const struct record_conf *conf)
{
    struct record *r = xcalloc(1, sizeof(*r));
    *r = (struct record){.io = io, .log = log, .queue = queue, .conf = *conf};
    pthread_mutex_init(&r->lock, NULL);
    list_init(&r->handed);
    list_init(&r->waiting);
    list_init(&r->batch);
    list_init(&r->flushes);
    list_init(&r->wake.link);
    r->wake.run = woken;
    r->attempts = xcalloc(conf->batch, sizeof(*r->attempts));
    r->events = xcalloc(conf->batch, sizeof(*r->events));
    return r;
}

void record_hand(struct record *r, struct list *entries)
{
    if (list_empty(entries)) {
        return;
    }
    pthread_mutex_lock(&r->lock);
    list_splice(&r->handed, entries);
    bool tell = !r->told;
    r->told = true;
    pthread_mutex_unlock(&r->lock);
    if (tell) {
        io_post(r->io, &r->wake);
    }
}

void record_on_msgs(void *record, struct list *msgs)
{
    struct record *r = record;
    struct list entries, *l;
    list_init(&entries);
    while ((l = list_pop(msgs))) {
        struct queue_msg *m = CONTAINER_OF(l, struct queue_msg, link);
        list_push(&entries, &record_entry_new(attempt_ref(m->attempt), NULL, m)->link);
    }
    record_hand(r, &entries);
}

static void tick(struct io_timer *t)
{
    write_batch(CONTAINER_OF(t, struct record, timer));
}

/* Takes over what was handed; a full batch is written at once, a smaller one after conf.wait. */
static void collect(struct record *r)
{
    struct list taken;
    list_init(&taken);
    pthread_mutex_lock(&r->lock);
    list_splice(&taken, &r->handed);
    pthread_mutex_unlock(&r->lock);
    LIST_EACH(l, &taken)
    {
        r->waiting_count++;
    }
    bool first = list_empty(&r->waiting);
    list_splice(&r->waiting, &taken);
    if (r->inserting || list_empty(&r->waiting)) {
        return;
    }
    if (r->waiting_count >= r->conf.batch || !list_empty(&r->flushes)) {
        write_batch(r);
    } else if (first) {
        io_timer_set(r->io, &r->timer, io_now(r->io) + r->conf.wait, tick);
    }
}

static void settle_batch(struct record *r)
{
    struct list msgs, *l;
    list_init(&msgs);
    while ((l = list_pop(&r->batch))) {
        struct record_entry *e = CONTAINER_OF(l, struct record_entry, link);
        if (e->msg) {
            list_push(&msgs, &e->msg->link);
        }
        entry_free(e);
    }
    if (!list_empty(&msgs)) {
        queue_settle(r->queue, &msgs, SETTLE_ACK);
    }
}

static void end_flushes(struct record *r)
{
    if (r->inserting || !list_empty(&r->waiting)) {
        return;
    }
    struct list *l;
    while ((l = list_pop(&r->flushes))) {
        queue_flush(r->queue, CONTAINER_OF(l, struct op, link));
    }
}

static void submit(struct record *r);

static void again(struct io_timer *t)
{
    submit(CONTAINER_OF(t, struct record, timer));
}

static void inserted(struct op *op)
{
    struct record *r = CONTAINER_OF(op, struct record, insert.op);
    if (op->err.code) {
        log_line(LOG_WARN, "attempts could not be recorded yet", lz("error", op->err.text),
                 li("count", (int64_t)(r->insert.attempt_count + r->insert.event_count)));
        r->backoff = r->backoff ? MIN(r->backoff * 2, RETRY_MOST) : RETRY_FIRST;
        io_timer_set(r->io, &r->timer, io_now(r->io) + r->backoff, again);
        return;
    }
    r->backoff = 0;
    r->inserting = false;
    settle_batch(r);
    collect(r);
    if (!r->inserting && !list_empty(&r->waiting)) {
        /* What came meanwhile has waited for the insert already. */
        write_batch(r);
    }
    end_flushes(r);
}

static void submit(struct record *r)
{
    size_t attempts = 0, events = 0;
    LIST_EACH(l, &r->batch)
    {
        struct record_entry *e = CONTAINER_OF(l, struct record_entry, link);
        if (e->attempt) {
            r->attempts[attempts++] = e->attempt;
        } else {
            r->events[events++] = e->event;
        }
    }
    r->insert = (struct log_insert){
        .op = {.done = inserted, .io = r->io, .deadline = io_now(r->io) + INSERT_DEADLINE},
        .attempts = r->attempts,
        .attempt_count = attempts,
        .events = r->events,
        .event_count = events,
    };
    logstore_insert(r->log, &r->insert);
}

static void write_batch(struct record *r)
{
    if (r->inserting || list_empty(&r->waiting)) {
        return;
    }
    io_timer_clear(r->io, &r->timer);
    for (unsigned n = 0; n < r->conf.batch; n++) {
        struct list *l = list_pop(&r->waiting);
        if (!l) {
            break;
        }
        r->waiting_count--;
        list_push(&r->batch, l);
    }
    r->inserting = true;
    submit(r);
}

void record_flush(struct record *r, struct op *op)
{
    list_init(&op->link);
    list_push(&r->flushes, &op->link);
    collect(r);
    write_batch(r);
    end_flushes(r);
}

static void drop_all(struct list *entries)
{
    struct list *l;
    while ((l = list_pop(entries))) {
        entry_free(CONTAINER_OF(l, struct record_entry, link));
    }
}

void record_free(struct record *r)
{
    if (!r) {
        return;
    }
    drop_all(&r->handed);
    drop_all(&r->waiting);
    drop_all(&r->batch);
    pthread_mutex_destroy(&r->lock);
    free(r->attempts);
    free(r->events);
    free(r);
}
