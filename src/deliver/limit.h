/* Who may be attempted next: lanes (one destination's line of tasks), two pools of slots, windows of memory.
 *   young pool: attempts younger than a second, `concurrency` slots; lanes without a good record use half of it at most.
 *   slow pool:  older attempts, and every attempt of a lane known as slow, `slow_max` slots.
 * Lanes that can go on stand in a ring per pool and take turns, so no lane can starve another. A lane keeps at most a window of
 * tasks in memory; what is beyond it is parked on disk. Pure bookkeeping: no I/O, no clock; deliver.c acts on it. One thread.
 * Design.md 3, 10. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_DELIVER_LIMIT_H
#define OUTRIDER_DELIVER_LIMIT_H

#include "queue/queue.h"
#include "util/map.h"

#define LIMIT_YOUNG (1 * NSEC_PER_SEC) /* an attempt older than this is slow */
/* The same for lanes without a good record, so that thousands of dead ones are known within a second or two. */
#define LIMIT_YOUNG_NEW (100 * NSEC_PER_MSEC)

struct lane {
    struct str key;          /* task lane; owned */
    struct list ring;        /* in one of the ready rings, or alone */
    struct list waiting;     /* struct queue_msg, oldest first */
    unsigned waiting_count;
    unsigned in_flight;
    bool slow;               /* an attempt of it grew old; until one ends well and quickly */
    bool proven;             /* its last attempt ended well and quickly */
    bool parked;             /* there are more on disk */
    bool unparking;          /* asked for; newcomers queue up behind on disk meanwhile */
    struct list idle;        /* lanes without work, oldest first */
};

/* The slot of one attempt. */
struct slot {
    struct list link;        /* young attempts by start time */
    struct lane *lane;
    nsec_t started;
    bool slow;               /* counted in the slow pool */
    bool unproven;           /* counted in the unproven half of the young pool */
};

struct limit {
    unsigned concurrency, slow_max, per_destination;
    unsigned young, unproven, slow;
    unsigned waiting;        /* in memory, all lanes */
    struct map lanes;
    struct list ready, ready_new, ready_slow; /* rings of lanes: proven, not proven, slow */
    bool new_turn;           /* proven and new lanes alternate */
    struct list young_slots, young_new_slots; /* by start; proven lanes, and the others */
    struct list idle;
    unsigned idle_count;
};

void limit_init(struct limit *l, unsigned concurrency, unsigned slow_max, unsigned per_destination);
void limit_fini(struct limit *l);
struct lane *limit_lane(struct limit *l, struct str key); /* made when unknown */
/* Takes a message into its lane. false: the window is full (or others wait on disk before it); the caller parks it. */
bool limit_offer(struct limit *l, struct lane *lane, struct queue_msg *m, bool can_park);
/* The next message that may be attempted, with its slot taken; NULL when none may. */
struct queue_msg *limit_next(struct limit *l, struct slot *slot, nsec_t now);
/* The attempt has ended. good: it succeeded. The lane may be freed when nothing is left of it. */
void limit_end(struct limit *l, struct slot *slot, nsec_t now, bool good);
/* Moves attempts that have grown old to the slow pool and calls grown for each; first: its lane has become slow by it.
 * Returns when to call again; 0 = nothing young. */
typedef void limit_grown_fn(void *arg, struct slot *slot, bool first);
nsec_t limit_age(struct limit *l, nsec_t now, limit_grown_fn *grown, void *arg);
/* How many more tasks of a parked lane there is room for; 0: enough are here. */
unsigned limit_wants(const struct limit *l, const struct lane *lane);
/* Takes off the newest waiting messages beyond the window of a slow lane, for parking. */
void limit_overflow(struct limit *l, struct lane *lane, struct list *out);

#endif
