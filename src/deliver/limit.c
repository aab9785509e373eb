/* Lanes, rings and pools. See limit.h for the rules. SPDX-License-Identifier: Apache-2.0 */
#include "deliver/limit.h"

#include <stdlib.h>

/* Tasks in memory per lane: a quick lane holds what publishing runs ahead of it (that is bounded by back-pressure), a slow one a few dozen. All lanes together: beyond WAITING_MOST
 * every lane has the small window. */
#define WINDOW_QUICK 20000
#define WINDOW_SLOW 32
#define WAITING_MOST 20000
/* A parked lane asks for more when this few are left. */
#define WINDOW_LOW 8
/* Lanes without work that are remembered (their record of slow or proven). */
#define IDLE_MOST 10000
#define FEW_SLOTS 16

void limit_init(struct limit *l, unsigned concurrency, unsigned slow_max, unsigned per_destination)
{
    *l = (struct limit){
        .concurrency = concurrency, .slow_max = slow_max, .per_destination = per_destination};
    map_init(&l->lanes);
    list_init(&l->ready);
    list_init(&l->ready_new);
    list_init(&l->ready_slow);
    list_init(&l->young_slots);
    list_init(&l->young_new_slots);
    list_init(&l->idle);
}

void limit_fini(struct limit *l)
{
    struct lane *lane;
    for (size_t i = 0; (lane = map_next(&l->lanes, &i));) {
        free(lane);
    }
    map_fini(&l->lanes);
}

struct lane *limit_lane(struct limit *l, struct str key)
{
    struct lane *lane = map_get(&l->lanes, key);
    if (lane) {
        return lane;
    }
    lane = xcalloc(1, sizeof(*lane) + key.n);
    memcpy(lane + 1, key.p, key.n);
    lane->key = (struct str){(char *)(lane + 1), key.n};
    list_init(&lane->ring);
    list_init(&lane->waiting);
    list_init(&lane->idle);
    map_put(&l->lanes, lane->key, lane);
    return lane;
}

static unsigned window(const struct limit *l, const struct lane *lane)
{
    return lane->slow || l->waiting > WAITING_MOST ? WINDOW_SLOW : WINDOW_QUICK;
}

/* A slow destination gets few slots at a time, so that the slow pool serves many. */
static unsigned lane_cap(const struct limit *l, const struct lane *lane)
{
    return lane->slow ? MAX(1u, l->per_destination / 8) : l->per_destination;
}

/* Puts the lane into the ring it belongs to, or takes it out. */
static void place(struct limit *l, struct lane *lane)
{
    list_del(&lane->ring);
    list_del(&lane->idle);
    if (lane->waiting_count && lane->in_flight < lane_cap(l, lane)) {
        list_push(lane->slow ? &l->ready_slow : lane->proven ? &l->ready : &l->ready_new, &lane->ring);
    }
}

/* Remembers idle lanes for a while; the longest idle one is forgotten first. */
static void retire(struct limit *l, struct lane *lane)
{
    if (lane->waiting_count || lane->in_flight || lane->parked || lane->unparking) {
        return;
    }
    list_del(&lane->idle);
    list_push(&l->idle, &lane->idle);
    if (l->lanes.count <= IDLE_MOST) {
        return;
    }
    struct lane *oldest = CONTAINER_OF(list_pop(&l->idle), struct lane, idle);
    map_del(&l->lanes, oldest->key);
    free(oldest);
}

bool limit_offer(struct limit *l, struct lane *lane, struct queue_msg *m, bool can_park)
{
    bool behind = (lane->parked || lane->unparking) && !m->unparked;
    bool full = lane->waiting_count >= window(l, lane) && !m->unparked;
    if (can_park && (behind || full)) {
        lane->parked = true;
        return false;
    }
    list_push(&lane->waiting, &m->link);
    lane->waiting_count++;
    l->waiting++;
    if (list_empty(&lane->ring)) {
        place(l, lane);
    }
    return true;
}

static struct lane *pick(struct limit *l, struct slot *slot)
{
    if (l->young < l->concurrency) {
        bool new_may = !list_empty(&l->ready_new) && l->unproven < MAX(1u, l->concurrency / 2);
        struct list *ring = new_may && (l->new_turn || list_empty(&l->ready)) ? &l->ready_new : &l->ready;
        l->new_turn = ring == &l->ready;
        if (!list_empty(ring)) {
            slot->slow = false;
            return CONTAINER_OF(ring->next, struct lane, ring);
        }
    }
    if (l->slow < l->slow_max && !list_empty(&l->ready_slow)) {
        slot->slow = true;
        return CONTAINER_OF(l->ready_slow.next, struct lane, ring);
    }
    return NULL;
}

struct queue_msg *limit_next(struct limit *l, struct slot *slot, nsec_t now)
{
    struct lane *lane = pick(l, slot);
    if (!lane) {
        return NULL;
    }
    struct queue_msg *m = CONTAINER_OF(list_pop(&lane->waiting), struct queue_msg, link);
    lane->waiting_count--;
    l->waiting--;
    lane->in_flight++;
    slot->lane = lane;
    slot->started = now;
    slot->unproven = !slot->slow && !lane->proven;
    list_init(&slot->link);
    if (slot->slow) {
        l->slow++;
    } else {
        l->young++;
        l->unproven += slot->unproven;
        list_push(slot->unproven ? &l->young_new_slots : &l->young_slots, &slot->link);
    }
    place(l, lane);
    return m;
}

static void leave_pool(struct limit *l, struct slot *slot)
{
    if (slot->slow) {
        l->slow--;
        return;
    }
    l->young--;
    l->unproven -= slot->unproven;
    list_del(&slot->link);
}

void limit_end(struct limit *l, struct slot *slot, nsec_t now, bool good)
{
    struct lane *lane = slot->lane;
    leave_pool(l, slot);
    lane->in_flight--;
    bool quick = now - slot->started < LIMIT_YOUNG;
    if (quick) {
        lane->slow = false;
    }
    lane->proven = quick && good;
    place(l, lane);
    retire(l, lane);
}

static nsec_t age(struct limit *l, struct list *slots, nsec_t young, nsec_t now, limit_grown_fn *grown,
                  void *arg)
{
    while (!list_empty(slots)) {
        struct slot *slot = CONTAINER_OF(slots->next, struct slot, link);
        if (now - slot->started < young) {
            return slot->started + young;
        }
        if (l->slow >= l->slow_max) {
            /* The slow pool is full: the attempt keeps its young slot until there is room. */
            return now + LIMIT_YOUNG / 10;
        }
        leave_pool(l, slot);
        slot->slow = true;
        l->slow++;
        struct lane *lane = slot->lane;
        bool first = !lane->slow;
        lane->slow = true;
        lane->proven = false;
        place(l, lane);
        grown(arg, slot, first);
    }
    return 0;
}

nsec_t limit_age(struct limit *l, nsec_t now, limit_grown_fn *grown, void *arg)
{
    /* With few slots each attempt keeps its second: one at a time means one at a time. */
    nsec_t young_new = l->concurrency >= FEW_SLOTS ? LIMIT_YOUNG_NEW : LIMIT_YOUNG;
    nsec_t a = age(l, &l->young_slots, LIMIT_YOUNG, now, grown, arg);
    nsec_t b = age(l, &l->young_new_slots, young_new, now, grown, arg);
    return a && b ? MIN(a, b) : MAX(a, b);
}

unsigned limit_wants(const struct limit *l, const struct lane *lane)
{
    if (!lane->parked || lane->unparking || lane->waiting_count > WINDOW_LOW) {
        return 0;
    }
    return window(l, lane) - lane->waiting_count;
}

void limit_overflow(struct limit *l, struct lane *lane, struct list *out)
{
    while (lane->waiting_count > WINDOW_SLOW) {
        struct list *last = lane->waiting.prev;
        list_del(last);
        list_push_front(out, last);
        lane->waiting_count--;
        l->waiting--;
        lane->parked = true;
    }
}
