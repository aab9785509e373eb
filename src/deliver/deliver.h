/* Delivering: a task's way from the queue to the destination and back, one struct deliver per delivery thread.
 *   load -> claim -> send -> decide -> conclude (failures) -> hand over to record, which settles.
 * How many attempts run at once, and for whom, is limit.h's. Recording is record/'s: this room only hands over.
 * Spec: pipeline.md 16, 17, 20; design.md 3, 10. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_DELIVER_DELIVER_H
#define OUTRIDER_DELIVER_DELIVER_H

#include "core/backoff.h"
#include "dest/dest.h"
#include "queue/queue.h"
#include "store/once.h"
#include "store/store.h"
#include "store/streak.h"
#include "util/id.h"

struct deliver;


struct deliver_conf {
    struct backoff backoff;       /* delays and their jitter */
    int retry_limit;              /* automatic retries after the first attempt */
    int64_t retry_after_max_s;    /* 0: Retry-After is ignored */
    nsec_t timeout;               /* one attempt */
    unsigned concurrency;         /* young attempts */
    unsigned slow_max;            /* attempts older than a second */
    unsigned per_destination;     /* attempts in flight to one destination */
    bool disable_on_gone;
    int64_t streak_limit;         /* consecutive failures that disable the destination; 0 = never */
    enum id_type id_type;
    struct str attempt_prefix;
};

/* What the room works with. hand gives finished attempts to the log thread (record_hand behind app's wiring). */
struct deliver_parts {
    struct io *io;
    struct store *store;
    struct queue *queue;
    struct streak *streak;
    struct dest_pool *dests;
    void (*hand)(void *arg, struct list *entries); /* links of the entries that entry_new made */
    struct list *(*entry_new)(void *arg, struct attempt *attempt, struct event *event, struct queue_msg *msg);
    void *arg;
};

struct deliver *deliver_new(const struct deliver_conf *conf, const struct deliver_parts *parts);
/* The queue consumer's callbacks; arg is the struct deliver. */
void deliver_on_msgs(void *deliver, struct list *msgs);
void deliver_on_parked(void *deliver, struct str lane);
void deliver_on_unparked(void *deliver, struct str lane, bool more);
/* On its thread: starts no further attempt; op completes when none is in flight and all are handed over. */
void deliver_stop(struct deliver *d, struct op *op);
void deliver_free(struct deliver *d); /* the loop has ended */

struct deliver_stats {
    unsigned young, slow, lanes, waiting;
};
void deliver_stats(const struct deliver *d, struct deliver_stats *out); /* on its thread */

#endif
