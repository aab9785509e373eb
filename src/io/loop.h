/* One thread's event loop (libuv), mailbox, timers and end-of-turn work. Threads share nothing
 * mutable: they hand each other lists of messages. A post to a loop that is busy costs a lock and
 * no system call; a whole list costs one wake-up. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_IO_LOOP_H
#define OUTRIDER_IO_LOOP_H

#include "io/op.h"
#include "util/heap.h"

struct io;

/* A message to another thread. Its memory is the receiver's from io_post on. */
struct io_msg {
    struct list link;
    void (*run)(struct io_msg *m); /* on the receiving thread */
};

struct io *io_new(const char *name); /* name: for the thread and the log, at most 15 characters */
/* After io_run has returned and when nobody posts any more; mail that nobody ran is dropped. */
void io_free(struct io *io);
/* Runs on the calling thread until io_stop, which may come first. */
void io_run(struct io *io);
/* Any thread. Runs what is in the mailbox, then ends io_run. */
void io_stop(struct io *io);
const char *io_name(const struct io *io);
struct io *io_self(void);   /* the loop that runs on this thread, NULL on others */
void *io_uv(struct io *io); /* the uv_loop_t, for io/ only */

void io_post(struct io *io, struct io_msg *m); /* any thread */
void io_post_list(struct io *io,
                  struct list *msgs); /* links of struct io_msg; the list is empty afterwards */

/* Loop time, refreshed once a turn: cheap. On its thread. */
nsec_t io_now(struct io *io);

/* Timers: a heap beside uv, so that thousands cost one uv_timer. Fires once, never early, ties in
 * the order they were set; set it again in the callback to repeat: a time that has passed means the
 * next turn. Memory starts zeroed. */
struct io_timer {
    struct heap_node node;
    void (*fire)(struct io_timer *t);
};
void io_timer_set(struct io *io, struct io_timer *t, nsec_t at,
                  void (*fire)(struct io_timer *t));    /* monotonic; re-sets */
void io_timer_clear(struct io *io, struct io_timer *t); /* harmless when not set */

/* Runs fn at the end of this loop turn, before the loop sleeps: batching, and releasing what a
 * callback still uses. */
struct io_defer {
    struct list link; /* list_init first; queued once however often asked; list_del to forget */
    void (*run)(struct io_defer *d);
};
void io_defer_init(struct io_defer *d, void (*run)(struct io_defer *d));
void io_defer(struct io *io, struct io_defer *d);
void io_defer_free(struct io *io, void *p); /* free(p) at the end of the turn */

/* What a descriptor is watched for, in curl's glue. */
enum { IO_READ = 1, IO_WRITE = 2 };

#endif
