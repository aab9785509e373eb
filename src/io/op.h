/* What every asynchronous request embeds. The caller owns the request from submit until done();
 * done() runs exactly once, on the thread that submitted, and never from within the submit call.
 * Cancelling completes it with EC_CANCELED, the deadline with EC_TIMEOUT (nng's aio with typed
 * fields; style guide section 8). SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_IO_OP_H
#define OUTRIDER_IO_OP_H

#include "util/err.h"
#include "util/list.h"
#include "util/time.h"

struct io;

struct op {
    /* set by the caller before submit */
    void (*done)(struct op *op);
    struct io *io;   /* the submitting thread; done() runs there */
    nsec_t deadline; /* monotonic; 0 = the backend's own default */
    /* set by the callee */
    struct err err;                /* code EC_OK: the request's result fields hold */
    void (*cancel)(struct op *op); /* NULL when not cancellable; ask through op_cancel */
    struct list link;              /* the callee's queues, then the mailbox */
};

/* For callees: finishes op with code (text may be NULL) by posting it to op->io. Any thread. */
void op_finish(struct op *op, enum ec code, const char *text);
/* For callees: op->err is already set. Any thread. */
void op_complete(struct op *op);
/* For callees: many that belong to one loop, links of op.link; one lock, one wake-up. */
void op_complete_list(struct io *io, struct list *ops);
/* For callers, on op->io's thread: asks for an early end; done() still comes, once. */
void op_cancel(struct op *op);

#endif
