/* The step table of one publish: match -> claim -> put -> confirm, or keep when nothing matches. Where the queue claims in its
 * own commit (embedded), claim and confirm are passed over. Answering is the caller's; delivering is deliver/'s.
 * SPDX-License-Identifier: Apache-2.0 */
#include "publish/publish.h"

#include "core/match.h"
#include "util/log.h"

enum go { GO_NEXT, GO_WAIT, GO_END };
typedef enum go publish_step_fn(struct publish *p);

enum step { P_ROOM, P_MATCH, P_CHOOSE, P_CLAIM, P_CLAIMED, P_PUT, P_PUT_DONE, P_CONFIRMED, P_DROPPED, P_KEEP, P_KEPT };

/* How long a publish waits for room, and between looks; a claim must outlive the slowest enqueue. */
#define ROOM_WAIT (1000 * NSEC_PER_MSEC)
#define ROOM_LOOK (3 * NSEC_PER_MSEC)
/* From so much owed work on a publish waits a moment, so that accepting does not run ahead of delivering and recording. */
#define OWED_CALM 4096
#define CALM_WAIT (200 * NSEC_PER_MSEC)
#define CLAIM_HOLD (60 * USEC_PER_SEC)
#define STEP_DEADLINE (10 * NSEC_PER_SEC)

static publish_step_fn room, match_all, choose, claim, claimed, put, put_done, confirmed, dropped, keep, kept;

static const struct {
    const char *name;
    publish_step_fn *run;
} steps[] = {
    [P_ROOM] = {"room", room},
    [P_MATCH] = {"match", match_all},
    [P_CHOOSE] = {"choose", choose},
    [P_CLAIM] = {"claim", claim},
    [P_CLAIMED] = {"claimed", claimed},
    [P_PUT] = {"put", put},
    [P_PUT_DONE] = {"put_done", put_done},
    [P_CONFIRMED] = {"confirmed", confirmed},
    [P_DROPPED] = {"dropped", dropped},
    [P_KEEP] = {"keep", keep},
    [P_KEPT] = {"kept", kept},
};

static void drive(struct publish *p)
{
    enum go go;
    do {
        go = steps[p->step].run(p);
    } while (go == GO_NEXT);
    if (go == GO_END) {
        event_unref(p->event);
        p->event = NULL;
        op_complete(&p->op);
    }
}

static enum go next(struct publish *p, enum step step)
{
    p->step = step;
    return GO_NEXT;
}

static enum go end(struct publish *p, enum ec code, const char *text)
{
    p->op.err.code = code;
    if (code) {
        err_set(&p->op.err, code, "%s", text);
    }
    return GO_END;
}

/* Prepares a sub-request's op so that its end continues at `step`. */
static struct op request_op(struct publish *p, enum step step, void (*done)(struct op *op))
{
    p->step = step;
    return (struct op){.done = done, .io = p->op.io, .deadline = io_now(p->op.io) + STEP_DEADLINE};
}

void publish_start(struct publish *p)
{
    p->step = P_ROOM;
    p->waited_since = 0;
    p->event = NULL;
    p->duplicate = false;
    p->op.err.code = EC_OK;
    drive(p);
}

enum publish_topic publish_check_topic(const struct publisher *p, struct str topic)
{
    if (p->topics.n == 0) {
        return PUBLISH_TOPIC_OK;
    }
    if (topic.n == 0) {
        return PUBLISH_TOPIC_MISSING;
    }
    if (str_eqz(topic, "*") || strlist_has(&p->topics, topic)) {
        return PUBLISH_TOPIC_OK;
    }
    return PUBLISH_TOPIC_INVALID;
}

static void look_again(struct io_timer *t)
{
    drive(CONTAINER_OF(t, struct publish, timer));
}

/* Accepting is never faster for long than delivering and recording: wait for room a little, then refuse. */
static enum go room(struct publish *p)
{
    struct queue *q = p->publisher->queue;
    nsec_t now = io_now(p->op.io);
    bool calm = queue_owed(q) < OWED_CALM || (p->waited_since && now - p->waited_since > CALM_WAIT);
    if (calm && queue_has_room(q)) {
        return next(p, P_MATCH);
    }
    if (p->waited_since == 0) {
        p->waited_since = now;
    }
    if (now - p->waited_since > ROOM_WAIT) {
        return end(p, EC_UNAVAILABLE, "too much accepted work is waiting to be delivered");
    }
    io_timer_set(p->op.io, &p->timer, now + ROOM_LOOK, look_again);
    return GO_WAIT;
}

static void match_done(struct op *op)
{
    drive(CONTAINER_OF(op, struct publish, match.op));
}

static enum go match_all(struct publish *p)
{
    p->match = (struct dest_match){
        .op = request_op(p, P_CHOOSE, match_done),
        .env = p->draft.env,
        .tenant_id = p->draft.tenant_id,
        .topic = p->draft.topic,
        .destination_id = p->draft.destination_id,
    };
    if (store_dest_match_now(p->publisher->store, &p->match)) {
        return GO_NEXT;
    }
    store_dest_match(p->publisher->store, &p->match);
    return GO_WAIT;
}

/* core/match.c has the last word on the candidates. */
static enum go choose(struct publish *p)
{
    if (p->match.op.err.code) {
        return end(p, p->match.op.err.code, "failed to match event destinations");
    }
    struct tenant *t = p->match.out;
    p->matched = (struct strlist){NULL, 0};
    if (t && t->dest_count) {
        p->matched.v = ARENA_ARRAY(p->arena, struct str, t->dest_count);
        for (size_t i = 0; i < t->dest_count; i++) {
            const struct destination *d = t->dests[i];
            bool asked = p->draft.destination_id.n == 0 || str_eq(p->draft.destination_id, d->id);
            if (asked && match(d, &p->draft)) {
                p->matched.v[p->matched.n++] = arena_copy(p->arena, d->id);
            }
        }
    }
    tenant_unref(t);
    p->draft.matched = p->matched;
    p->event = event_new(&p->draft);
    if (p->matched.n == 0) {
        return p->publisher->log_unmatched ? next(p, P_KEEP) : end(p, EC_OK, "");
    }
    bool claim_apart = p->draft.id_given && !p->publisher->queue->ops->claims_in_put;
    return next(p, claim_apart ? P_CLAIM : P_PUT);
}

static struct str claim_key(struct publish *p)
{
    return arena_printf(p->arena, "idempotency:publishmq:%.*s:%.*s", STR_ARG(p->draft.tenant_id),
                        STR_ARG(p->draft.id));
}

static void claim_done(struct op *op)
{
    drive(CONTAINER_OF(op, struct publish, claim.op));
}

static void mark_done(struct op *op)
{
    drive(CONTAINER_OF(op, struct publish, mark.op));
}

static enum go claim(struct publish *p)
{
    p->claim = (struct once_claim){
        .op = request_op(p, P_CLAIMED, claim_done), .key = claim_key(p), .hold = CLAIM_HOLD};
    once_claim(p->publisher->once, &p->claim);
    return GO_WAIT;
}

static enum go claimed(struct publish *p)
{
    if (p->claim.op.err.code) {
        return end(p, p->claim.op.err.code, "the event's id could not be claimed");
    }
    if (p->claim.state == ONCE_CLAIMED) {
        return end(p, EC_CONFLICT, "the event is being published by another request");
    }
    if (p->claim.state == ONCE_DONE) {
        p->duplicate = true;
        return end(p, EC_OK, "");
    }
    return next(p, P_PUT);
}

static void put_ended(struct op *op)
{
    drive(CONTAINER_OF(op, struct publish, put.op));
}

static enum go put(struct publish *p)
{
    struct task **tasks = ARENA_ARRAY(p->arena, struct task *, p->matched.n);
    for (size_t i = 0; i < p->matched.n; i++) {
        tasks[i] = task_new(p->event, p->matched.v[i], 1, false);
    }
    p->put = (struct queue_put){
        .op = request_op(p, P_PUT_DONE, put_ended),
        .event = p->event,
        .tasks = tasks,
        .count = p->matched.n,
        .claim = p->draft.id_given && p->publisher->queue->ops->claims_in_put,
        .claim_ttl = p->publisher->claim_ttl,
    };
    queue_put(p->publisher->queue, &p->put);
    return GO_WAIT;
}

/* Where the claim stands apart it is confirmed now, or dropped so that a repeat may try again. */
static enum go put_done(struct publish *p)
{
    bool failed = p->put.op.err.code != EC_OK;
    bool apart = p->draft.id_given && !p->publisher->queue->ops->claims_in_put;
    p->duplicate = p->put.duplicate;
    if (!apart) {
        return end(p, p->put.op.err.code, p->put.op.err.text);
    }
    p->mark = (struct once_mark){
        .op = request_op(p, failed ? P_DROPPED : P_CONFIRMED, mark_done),
        .key = p->claim.key,
        .ttl = p->publisher->claim_ttl,
    };
    if (failed) {
        once_drop(p->publisher->once, &p->mark);
    } else {
        once_confirm(p->publisher->once, &p->mark);
    }
    return GO_WAIT;
}

static enum go confirmed(struct publish *p)
{
    return end(p, p->mark.op.err.code, "the event's id could not be marked as published");
}

static enum go dropped(struct publish *p)
{
    return end(p, p->put.op.err.code, p->put.op.err.text);
}

static void insert_done(struct op *op)
{
    drive(CONTAINER_OF(op, struct publish, insert.op));
}

/* Nothing matched: the event goes straight to the log, before the 202 (design.md 11.2). */
static enum go keep(struct publish *p)
{
    p->insert = (struct log_insert){
        .op = request_op(p, P_KEPT, insert_done), .events = &p->event, .event_count = 1};
    logstore_insert(p->publisher->log, &p->insert);
    return GO_WAIT;
}

static enum go kept(struct publish *p)
{
    if (p->insert.op.err.code) {
        return end(p, p->insert.op.err.code, "the event could not be recorded");
    }
    return end(p, EC_OK, "");
}
