/* Recording attempts: batches into the log store, then settles what waited for the row. Lives on the log thread.
 * Entries come from delivery threads by record_hand, any number at once. A log store that is away delays recording and
 * loses nothing: entries wait, and their queue messages stay unsettled. Spec: pipeline.md 21; design.md 3, 11.5.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_RECORD_RECORD_H
#define OUTRIDER_RECORD_RECORD_H

#include "io/loop.h"
#include "logstore/logstore.h"
#include "queue/queue.h"

struct record;

/* One attempt to record, or an event alone (a delivery that was dropped). Made by the deliverer, freed here. */
struct record_entry {
    struct list link;
    struct attempt *attempt; /* a reference; NULL: the event alone */
    struct event *event;     /* a reference; only without attempt */
    struct queue_msg *msg;   /* settled ACK once the row is on disk; may be NULL */
};

struct record_conf {
    unsigned batch;  /* rows per insert, at most */
    nsec_t wait;     /* how long an entry may wait for company */
};

struct record *record_new(struct io *io, struct logstore *log, struct queue *queue, const struct record_conf *conf);
/* Any thread: takes the list of record_entry (its links). One wake-up. */
void record_hand(struct record *r, struct list *entries);
struct record_entry *record_entry_new(struct attempt *attempt, struct event *event, struct queue_msg *msg); /* takes the references */
/* QUEUE_LOG consumer: attempts left unrecorded at the last stop. */
void record_on_msgs(void *record, struct list *msgs);
/* Log thread: writes out what is there; done() when everything handed before is recorded and settled, or at the deadline. */
void record_flush(struct record *r, struct op *op);
void record_free(struct record *r); /* the loop has ended */

#endif
