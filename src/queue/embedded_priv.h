/* The embedded queue's inside, shared by embedded.c (put, settle, conclude), embedded_take.c (start, due, unpark) and
 * embedded_marks.c (once, streak, delay). SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_QUEUE_EMBEDDED_PRIV_H
#define OUTRIDER_QUEUE_EMBEDDED_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "io/sqlc.h"
#include "queue/embedded.h"
#include "util/map.h"

/* A delivery row's id is its event's number and its place among the event's deliveries. */
#define PLACE_BITS 16
#define EVENT_SEQ(id) ((id) >> PLACE_BITS)
#define FIRST_ID(seq) ((seq) << PLACE_BITS)
#define LAST_ID(seq) (((seq) << PLACE_BITS) | 0xffff)

#define CONSUMERS_MOST 64
#define TAKE_MOST 256

/* A consumer's inbox: filled by any thread, emptied on its own. */
struct inbox {
    struct queue_consumer c;
    pthread_mutex_t lock;
    struct list msgs;
    bool told;
    struct io_msg wake;
};

/* Paths with a task in memory: how many, and the highest number handed out. */
struct flying {
    uint64_t key;
    unsigned count;
    int number;
};

struct embedded {
    struct queue q;
    struct sqlc *db;
    char *path;
    struct inbox *inboxes[CONSUMERS_MOST];
    size_t inbox_count;
    struct inbox *log_inbox;
    struct io *timers;
    struct io_timer tick;
    atomic_bool paused;
    _Atomic int64_t next_due; /* earliest known due time; INT64_MAX = none */
    struct take_job *start; /* the first look at the file, until the walk is done; timers' thread */
    bool taking;              /* a take of due rows is under way; timers' thread */
    uint64_t taken_up_to, left_over_max; /* the walk over rows of the last run; timers' thread */
    /* database thread */
    int64_t next_seq, next_unlogged;
    usec_t swept_at;
    /* any thread, under lock */
    pthread_mutex_t lock;
    struct map flying;  /* by 8-byte key */
    struct map streaks; /* tenant \x1f destination -> struct streak_note */
    _Atomic uint64_t parked, scheduled, unlogged;
    struct streak streak;
};

struct streak_note {
    int64_t count;
    char key[];
};

static inline struct embedded *embedded_of(struct queue *q)
{
    return CONTAINER_OF(q, struct embedded, q);
}

uint64_t embedded_path_key(struct str tenant_id, struct str event_id, struct str destination_id);
void embedded_fly(struct embedded *e, const struct task *t, int step); /* +1 handed over, -1 settled */
/* Hands messages (links of queue_msg, kind DELIVERY) to the consumers of their lanes. Any thread. */
void embedded_hand(struct embedded *e, struct list *msgs);
void embedded_hand_log(struct embedded *e, struct list *msgs);
struct queue_msg *embedded_msg(struct task *t, uint64_t id);
void embedded_msg_free(struct queue_msg *m);
/* A task from the columns id, dlv, dest, number, manual, body of a row; NULL when it cannot be read. Database thread. */
struct queue_msg *embedded_read_row(sqlite3_stmt *st);
#define EMBEDDED_ROW "delivery.id, dlv, dest, number, manual, event.body"
void embedded_note_due(struct embedded *e, usec_t due);
void embedded_note_streak(struct embedded *e, struct str tenant_id, struct str destination_id, int64_t count);

/* embedded_take.c */
enum ec embedded_start(struct queue *q, struct io *timers, struct err *err);
void embedded_unpark(struct queue *q, struct str lane, unsigned max);
/* embedded_marks.c */
void embedded_marks_init(struct embedded *e);
enum ec embedded_claim(struct sqlc *db, const uint8_t key[16], usec_t until, bool *out_mine);

#endif
