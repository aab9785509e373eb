/* Delivery, task, outcome, attempt, log entry: the path of one event to one destination.
 *   delivery: the path itself (dlv id), with all its attempts, automatic and manual.
 *   task:     "make attempt N of this delivery", what travels on the delivery queue.
 *   outcome:  what the destination said.
 *   attempt:  task + outcome, as recorded.
 * Spec: pipeline.md 3.3, 3.5, 16. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_CORE_ATTEMPT_H
#define OUTRIDER_CORE_ATTEMPT_H

#include "core/destination.h"
#include "core/event.h"
#include "util/list.h"

#define DELIVERY_ID_MAX 48

/* One heap block each (the lane's text lies behind the struct); owned by whoever holds it. */
struct task {
    struct list link;
    struct event *event;              /* a reference */
    struct str lane;                  /* "<env>\x1f<tenant id>\x1f<destination id>": one destination's line of tasks */
    struct str destination_id;        /* the lane's tail */
    char delivery_id[DELIVERY_ID_MAX]; /* "" only for tasks that an Outpost queued */
    int number;                       /* attempt number, from 1 */
    bool manual;
    usec_t due;                       /* wall time it became due; 0 = at once */
};
struct task *task_new(struct event *e, struct str destination_id, int number, bool manual); /* refs e, new delivery id */
void task_free(struct task *t); /* NULL is fine */
/* "<event id>:<destination id>", the key of retries. */
struct str task_key(const struct task *t, struct arena *a);

/* What a destination answered. Text lives in the arena given at submit. */
struct outcome {
    bool delivered;
    bool no_attempt;          /* nothing was tried and nothing is recorded; the task goes back (spec 16.2 PRE) */
    struct str code;          /* "200", "timeout", ...: spec destinations.md 3, at most 64 bytes */
    struct str response;      /* response_data, a JSON text; "" = none */
    int64_t retry_after_s;    /* -1 = not said */
    bool gone;                /* HTTP 410 */
};

/* One heap block, counted: travels from the delivery thread to the log thread and back. */
struct attempt {
    atomic_int refs;
    struct event *event;             /* a reference */
    struct destination *destination; /* a reference, as used for this attempt; NULL in entries read back at start */
    struct str id, delivery_id, destination_id, destination_type;
    int number;
    bool manual, success;
    usec_t time;                     /* when the result was known */
    int64_t latency_ms;
    struct str code, response;       /* response: JSON text or "" */
};
struct attempt *attempt_new(const struct attempt *from); /* copies text, takes references of event and destination */
struct attempt *attempt_ref(struct attempt *a);
void attempt_unref(struct attempt *a); /* NULL is fine; any thread */
/* Stored form without the event; recipe in attempt.c. */
void attempt_encode(const struct attempt *a, struct buf *b);
enum ec attempt_decode(struct str blob, struct event *event, struct attempt **out, struct err *err) MUST_CHECK;

#endif
