/* Seam beside the store: the retry schedule. At most one pending retry per path (event and destination): putting
 * again replaces it. Spec: pipeline.md 17, 18. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_STORE_DELAY_H
#define OUTRIDER_STORE_DELAY_H

#include "core/attempt.h"
#include "io/loop.h"

struct delay;

struct delay_put {
    struct op op;
    const struct task *task; /* number: the one the retry will make; borrowed until done */
    usec_t due;
};
struct delay_cancel {
    struct op op;
    struct str event_id, destination_id;
    bool found;
};
/* Tasks whose time has come. Each is held for the taker until delay_done (or comes again after the visibility time). */
struct delay_take {
    struct op op;
    unsigned max;
    struct list out; /* links of struct task, the caller's */
    usec_t next;     /* when to ask again at the latest; 0 = nothing is scheduled */
};
struct delay_done {
    struct op op;
    struct str event_id, destination_id;
};

struct delay_ops {
    const char *name;
    void (*close)(struct delay *d);
    void (*put)(struct delay *d, struct delay_put *rq);
    void (*cancel)(struct delay *d, struct delay_cancel *rq);
    void (*take)(struct delay *d, struct delay_take *rq); /* NULL: the queue hands over what falls due by itself */
    void (*done)(struct delay *d, struct delay_done *rq); /* NULL with take */
};
struct delay {
    const struct delay_ops *ops;
};
void delay_put(struct delay *d, struct delay_put *rq);
void delay_cancel(struct delay *d, struct delay_cancel *rq);

#endif
