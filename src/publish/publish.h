/* Publishing one event: topic, match, idempotency, durable enqueue. The API and (later) a customer's own queue enter here.
 * One struct publish per event, in the request's memory; done() on the submitting thread.
 * Spec: pipeline.md 5, api.md 12; design.md 3 and 11.2. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_PUBLISH_PUBLISH_H
#define OUTRIDER_PUBLISH_PUBLISH_H

#include "io/loop.h"
#include "logstore/logstore.h"
#include "queue/queue.h"
#include "store/once.h"
#include "store/store.h"

/* Shared and immutable after start; the seams inside are thread-safe. */
struct publisher {
    struct store *store;
    struct queue *queue;
    struct logstore *log;
    struct once *once;      /* used when the queue cannot claim in its own commit */
    struct strlist topics;  /* configured; n == 0: any topic */
    usec_t claim_ttl;       /* PUBLISH_IDEMPOTENCY_KEY_TTL */
    bool log_unmatched;
};

enum publish_topic { PUBLISH_TOPIC_OK, PUBLISH_TOPIC_MISSING, PUBLISH_TOPIC_INVALID };
enum publish_topic publish_check_topic(const struct publisher *p, struct str topic);

struct publish {
    struct op op;            /* op.err: EC_UNAVAILABLE (try later), EC_CONFLICT, EC_TIMEOUT, EC_INTERNAL */
    struct publisher *publisher;
    struct event draft;      /* in: id, tenant, topic, ... borrowed until done; matched is filled in */
    struct arena *arena;     /* the request's */
    /* out */
    bool duplicate;
    struct strlist matched;  /* destination ids, in arena */
    /* private */
    int step;
    usec_t waited_since;
    struct io_timer timer;
    struct event *event;
    struct dest_match match;
    struct once_claim claim;
    struct once_mark mark;
    struct queue_put put;
    struct log_insert insert;
};
void publish_start(struct publish *p);

#endif
