/* The wrapper around a queue backend: the only caller of its pointers, and the count of what the server owes itself.
 * SPDX-License-Identifier: Apache-2.0 */
#include "queue/queue.h"

#include <stdlib.h>

enum ec queue_open(const struct queue_ops *ops, const struct queue_conf *conf, struct queue **out, struct err *err)
{
    enum ec ec = ops->open(conf, out, err);
    if (!ec) {
        (*out)->ops = ops;
        (*out)->owed_max = (int64_t)conf->backlog_max;
    }
    return ec;
}

void queue_close(struct queue *q)
{
    if (q) {
        q->ops->close(q);
    }
}

bool queue_healthy(struct queue *q)
{
    return q->ops->healthy(q);
}

void queue_put(struct queue *q, struct queue_put *rq)
{
    atomic_fetch_add_explicit(&q->owed, (int64_t)rq->count, memory_order_relaxed);
    rq->duplicate = false;
    q->ops->put(q, rq);
}

void queue_put_done(struct queue *q, struct queue_put *rq, enum ec code, const char *text)
{
    atomic_fetch_sub_explicit(&q->owed, (int64_t)rq->count, memory_order_relaxed);
    rq->op.err.code = code;
    if (code) {
        err_set(&rq->op.err, code, "%s", text ? text : ec_name(code));
    }
    op_complete(&rq->op);
}

void queue_hand(struct queue *q, struct queue_msg *m)
{
    m->counted = true;
    atomic_fetch_add_explicit(&q->owed, 1, memory_order_relaxed);
}

void queue_uncount(struct queue *q, struct queue_msg *m)
{
    if (m->counted) {
        m->counted = false;
        atomic_fetch_sub_explicit(&q->owed, 1, memory_order_relaxed);
    }
}

bool queue_has_room(struct queue *q)
{
    return q->owed_max == 0 || atomic_load_explicit(&q->owed, memory_order_relaxed) < q->owed_max;
}

int64_t queue_owed(struct queue *q)
{
    return atomic_load_explicit(&q->owed, memory_order_relaxed);
}

void queue_consume(struct queue *q, const struct queue_consumer *c)
{
    q->ops->consume(q, c);
}

enum ec queue_start(struct queue *q, struct io *timers, struct err *err)
{
    return q->ops->start(q, timers, err);
}

void queue_pause(struct queue *q)
{
    q->ops->pause(q);
}

void queue_settle(struct queue *q, struct list *msgs, enum settle how)
{
    if (list_empty(msgs)) {
        return;
    }
    LIST_EACH(l, msgs)
    {
        queue_uncount(q, CONTAINER_OF(l, struct queue_msg, link));
    }
    q->ops->settle(q, msgs, how);
}

void queue_settle_one(struct queue *q, struct queue_msg *m, enum settle how)
{
    struct list one;
    list_init(&one);
    list_push(&one, &m->link);
    queue_settle(q, &one, how);
}

void queue_flush(struct queue *q, struct op *op)
{
    q->ops->flush(q, op);
}

void queue_stats(struct queue *q, struct queue_stats *out)
{
    q->ops->stats(q, out);
}

void queue_conclude(struct queue *q, struct queue_conclude *rq)
{
    rq->log_msg = NULL;
    rq->superseded = false;
    q->ops->conclude(q, rq);
}

void queue_unpark(struct queue *q, struct str lane, unsigned max)
{
    q->ops->unpark(q, lane, max);
}
