/* What the queue's contract suite stands on: a queue with one consumer of each kind on the test's
 * own loop, and requests that are waited for. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_QUEUE_CONTRACT_RIG_H
#define OUTRIDER_QUEUE_CONTRACT_RIG_H

#include "io/backend_rig.h"
#include "queue/queue.h"

extern const struct queue_ops *backend; /* of the group that runs */

#define MOST 64

struct world {
    char dir[64], path[96];
    struct io *io;
    struct queue *q;
    struct queue_msg *got[MOST]; /* deliveries, as handed over; NULL: settled */
    size_t count;
    struct queue_msg *logs[MOST];
    size_t log_count;
    unsigned parked_told, unparked_told;
    size_t count_when_unparked; /* deliveries handed over before on_unparked */
    bool more;
    size_t want; /* deliveries that enough() looks for */
};

struct put_how {
    size_t dests; /* d1, d2, ... */
    int number;
    bool claim, manual;
    usec_t ttl;
    /* out */
    bool duplicate;
    int number_given;
};

int setup(void **state);
int teardown(void **state);
/* What is in our hands was never settled; then a new start on the same file. */
void restart(struct world *w);
/* Waits for `count` deliveries in all, then a little for those too many. */
void expect_count(struct world *w, size_t count);
bool log_came(void *arg);
bool parked_is_told(void *arg);
/* Takes *m; returns when it is durable. */
void settle(struct world *w, struct queue_msg **m, enum settle how);
/* Returns when on_unparked was called, once. */
void unpark(struct world *w, struct str lane, unsigned max);
enum ec put_as(struct world *w, const char *id, struct put_how *how);
/* To d1, d2, ... */
void put(struct world *w, const char *id, size_t dests);
bool claimed_put(struct world *w, const char *id, usec_t ttl);
/* Valid until the next call. */
const char *id_of(const struct queue_msg *m);
/* A failed attempt of got[at], retried after `wait`; returns the message for the log. */
struct queue_msg *conclude(struct world *w, size_t at, enum conclude_next next, usec_t wait,
                           struct queue_conclude *out);
/* Keeps it with the others that a restart forgets. */
struct queue_msg **keep_log(struct world *w, struct queue_msg *m);

#endif
