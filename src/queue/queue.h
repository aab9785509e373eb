/* Seam: the delivery queue and the log queue, and for a queue that keeps its own schedule, retries. Two families of backend
 * live behind it: the embedded one (queue.db: rows are the restart's copy, hand-over is in memory) and brokers with
 * acknowledgements. Whatever is handed to a consumer stays unsettled until queue_settle; what is unsettled when the
 * process dies comes again.
 * Threads: put, conclude and settle from any thread with a loop; a consumer's callbacks run on its own io.
 * Spec: pipeline.md 3, 7, 9, 15 to 20; design.md 3. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_QUEUE_QUEUE_H
#define OUTRIDER_QUEUE_QUEUE_H

#include "core/attempt.h"
#include "io/loop.h"

struct queue;

enum queue_kind { QUEUE_DELIVERY, QUEUE_LOG };

/* One unsettled message. The consumer owns it (and task or attempt) until it settles or concludes it. */
struct queue_msg {
    struct list link;          /* the holder's */
    enum queue_kind kind;
    struct task *task;         /* QUEUE_DELIVERY */
    struct attempt *attempt;   /* QUEUE_LOG: an attempt to record */
    bool unparked;             /* handed over because unpark asked for its lane */
    bool counted;              /* the wrapper's: part of what the server owes itself */
    uint64_t ref;              /* the backend's */
    void *impl;                /* the backend's */
};

enum settle {
    SETTLE_ACK,  /* done with: gone for good */
    SETTLE_BACK, /* give it back: comes again after a while, to anybody */
    SETTLE_PARK, /* delivery only, where ops->unpark is offered: keep it on disk until unpark asks for its lane */
};

/* Publish: all tasks of one event become durable together, or none. */
struct queue_put {
    struct op op;
    struct event *event;       /* a reference of the caller's, kept until done */
    struct task **tasks;       /* count of them; owned by the queue from submit on, whatever the result */
    size_t count;
    bool claim;                /* claim (env, tenant, event id) for claim_ttl in the same commit; only where claims_in_put */
    usec_t claim_ttl;          /* 0 or less: for ever */
    /* A manual retry: replaces a pending automatic one of the same event and destination; its number is a floor which
     * the backend raises above every number it knows of for that path. count is 1. */
    bool manual;
    /* out */
    bool duplicate;            /* the id was claimed before: nothing was queued */
    int number;                /* manual: the number given */
};
/* Errors: EC_UNAVAILABLE (disk full, broker away, backlog), EC_CONFLICT (claim in flight elsewhere). */

/* What becomes of a delivery message after an attempt that failed: one commit, where ops->conclude is offered. It holds the next
 * try (or the end) of the path, the streak, and the attempt until it is recorded. The delivery message is settled by it. */
enum conclude_next { NEXT_NONE, NEXT_RETRY };
struct queue_conclude {
    struct op op;
    struct queue_msg *msg;     /* owned by the queue from submit on when it succeeds; on error still the caller's */
    struct attempt *attempt;   /* borrowed until done */
    enum conclude_next next;
    usec_t due;                /* NEXT_RETRY: wall time */
    /* out */
    struct queue_msg *log_msg; /* kind QUEUE_LOG, the caller's: settle ACK once recorded */
    int64_t streak;            /* consecutive failures of the destination, this one included */
    bool superseded;           /* a manual retry of the path is waiting: no automatic one was scheduled */
};

struct queue_stats {
    uint64_t ready;     /* handed over or about to be, unsettled */
    uint64_t parked;    /* on disk, waiting for their destination */
    uint64_t scheduled; /* retries not yet due */
    uint64_t unlogged;  /* attempts not yet recorded */
};

struct queue_consumer {
    struct io *io;
    enum queue_kind kind;
    unsigned window;           /* unsettled messages at most (brokers' prefetch); embedded: hint of the batch size */
    /* msgs: links of struct queue_msg, at least one; take them all off. */
    void (*on_msgs)(void *arg, struct list *msgs);
    /* Embedded: there are parked tasks of this lane (told once per lane after a start). */
    void (*on_parked)(void *arg, struct str lane);
    /* The answer to unpark, behind its messages (perhaps none): are there more? */
    void (*on_unparked)(void *arg, struct str lane, bool more);
    void *arg;
};

struct queue_conf {
    const char *path;          /* embedded: the file */
    bool sync_full;
    uint64_t backlog_max;      /* owed beyond which queue_has_room says no; 0 = no limit */
};

struct queue_ops {
    const char *name;
    bool claims_in_put;        /* put can claim the event's id in its own commit */
    bool schedules;            /* keeps retries itself (delay_* below are served) */
    enum ec (*open)(const struct queue_conf *conf, struct queue **out, struct err *err); /* main thread, may block */
    void (*close)(struct queue *q);         /* settles what was asked for, then frees; loops have ended */
    bool (*healthy)(struct queue *q);
    void (*put)(struct queue *q, struct queue_put *rq);
    /* Before start; several consumers of a kind share the work, tasks of one destination always go to the same one. */
    void (*consume)(struct queue *q, const struct queue_consumer *c);
    enum ec (*start)(struct queue *q, struct io *timers, struct err *err); /* hands over what was left, then what comes */
    void (*pause)(struct queue *q);         /* shutting down: nothing more is handed over; put still works */
    void (*settle)(struct queue *q, struct list *msgs, enum settle how); /* takes the messages and what they own */
    void (*flush)(struct queue *q, struct op *op);                       /* done when all settles so far are durable */
    void (*stats)(struct queue *q, struct queue_stats *out);             /* any thread, cheap */
    /* Optional (NULL: the caller composes delay, streak, log put and settle): */
    void (*conclude)(struct queue *q, struct queue_conclude *rq);
    /* From the consumer's io: up to max parked tasks of the lane come by on_msgs, oldest due first, then on_unparked once. */
    void (*unpark)(struct queue *q, struct str lane, unsigned max);
};

/* Every backend's struct queue begins with this. `owed` is what the server owes itself: puts under way, and messages handed
 * over, not yet settled and not waiting for a slow destination (BACKLOG_MAX, design.md 3). */
struct queue {
    const struct queue_ops *ops;
    _Atomic int64_t owed;
    int64_t owed_max; /* 0 = no limit */
};

enum ec queue_open(const struct queue_ops *ops, const struct queue_conf *conf, struct queue **out, struct err *err) MUST_CHECK;
void queue_close(struct queue *q);
bool queue_healthy(struct queue *q);
void queue_put(struct queue *q, struct queue_put *rq);
void queue_consume(struct queue *q, const struct queue_consumer *c);
enum ec queue_start(struct queue *q, struct io *timers, struct err *err) MUST_CHECK;
void queue_pause(struct queue *q);
void queue_settle(struct queue *q, struct list *msgs, enum settle how);
void queue_settle_one(struct queue *q, struct queue_msg *m, enum settle how);
void queue_flush(struct queue *q, struct op *op);
void queue_stats(struct queue *q, struct queue_stats *out);
static inline bool queue_concludes(const struct queue *q)
{
    return q->ops->conclude != NULL;
}
void queue_conclude(struct queue *q, struct queue_conclude *rq);
static inline bool queue_parks(const struct queue *q)
{
    return q->ops->unpark != NULL;
}
void queue_unpark(struct queue *q, struct str lane, unsigned max);
/* Whether publishing may go on; beyond the bound it waits a little, then answers 503. */
bool queue_has_room(struct queue *q);
int64_t queue_owed(struct queue *q);
/* The message now waits for a slow or failing destination: no longer counted in owed. Harmless when repeated. */
void queue_uncount(struct queue *q, struct queue_msg *m);

/* For backends. Each message handed over goes through queue_hand first; each put ends with queue_put_done. */
void queue_hand(struct queue *q, struct queue_msg *m);
void queue_put_done(struct queue *q, struct queue_put *rq, enum ec code, const char *text);

extern const struct queue_ops queue_embedded;

#endif
