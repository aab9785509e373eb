/* The wrapper around a log store backend. SPDX-License-Identifier: Apache-2.0 */
#include "logstore/logstore.h"

#include <stdlib.h>

#include "util/log.h"

enum ec logstore_open(const struct logstore_ops *ops, const struct logstore_conf *conf, struct logstore **out, struct err *err)
{
    enum ec ec = ops->open(conf, out, err);
    if (!ec) {
        (*out)->ops = ops;
    }
    return ec;
}

void logstore_close(struct logstore *l)
{
    if (l) {
        l->ops->close(l);
    }
}

bool logstore_healthy(struct logstore *l)
{
    return l->ops->healthy(l);
}

void logstore_insert(struct logstore *l, struct log_insert *rq)
{
    rq->refused = 0;
    l->ops->insert(l, rq);
}

void logstore_event_get(struct logstore *l, struct log_event_get *rq)
{
    rq->out = NULL;
    l->ops->event_get(l, rq);
}

void logstore_attempt_get(struct logstore *l, struct log_attempt_get *rq)
{
    rq->out = NULL;
    l->ops->attempt_get(l, rq);
}

static void clear_list(struct log_list *rq)
{
    rq->events = NULL;
    rq->attempts = NULL;
    rq->count = 0;
    rq->more = false;
}

void logstore_event_list(struct logstore *l, struct log_list *rq)
{
    clear_list(rq);
    l->ops->event_list(l, rq);
}

void logstore_attempt_list(struct logstore *l, struct log_list *rq)
{
    clear_list(rq);
    l->ops->attempt_list(l, rq);
}

void log_list_fini(struct log_list *rq)
{
    for (size_t i = 0; i < rq->count; i++) {
        if (rq->events) {
            event_unref(rq->events[i]);
        }
        if (rq->attempts) {
            attempt_unref(rq->attempts[i]);
        }
    }
    free(rq->events);
    free(rq->attempts);
    clear_list(rq);
}
