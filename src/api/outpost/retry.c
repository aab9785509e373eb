/* POST /retry: a manual attempt of an event at a destination. Steps: newest attempt -> event -> destination -> put.
 * Spec: api.md 13, pipeline.md 20; design.md 11.2. SPDX-License-Identifier: Apache-2.0 */
#include "api/call.h"
#include "core/match.h"
#include "util/log.h"

#define WAIT (10 * NSEC_PER_SEC)

enum go { GO_NEXT, GO_WAIT };
enum step { R_NEWEST, R_EVENT, R_DESTINATION, R_CHECK, R_DONE };

struct retry {
    struct call *c;
    enum step step;
    struct str event_id, destination_id;
    struct log_list newest;
    struct log_event_get event;
    struct dest_get dest;
    struct queue_put put;
    struct task *task;
    int floor;
};

typedef enum go retry_step_fn(struct retry *r);
static retry_step_fn newest, find_event, find_destination, check, done;
static const struct {
    const char *name;
    retry_step_fn *run;
} steps[] = {
    [R_NEWEST] = {"newest", newest}, [R_EVENT] = {"event", find_event}, [R_DESTINATION] = {"destination", find_destination},
    [R_CHECK] = {"check", check},    [R_DONE] = {"done", done},
};

static void drive(struct retry *r)
{
    while (steps[r->step].run(r) == GO_NEXT) {
    }
}

static struct op op_for(void (*ended)(struct op *op))
{
    return (struct op){.done = ended, .io = io_self(), .deadline = mono_now() + WAIT};
}

static void newest_ended(struct op *op)
{
    drive(CONTAINER_OF(op, struct retry, newest.op));
}

static void event_ended(struct op *op)
{
    drive(CONTAINER_OF(op, struct retry, event.op));
}

static void dest_ended(struct op *op)
{
    drive(CONTAINER_OF(op, struct retry, dest.op));
}

static void put_ended(struct op *op)
{
    drive(CONTAINER_OF(op, struct retry, put.op));
}

static struct str tenant_of(struct retry *r)
{
    return r->c->role == ROLE_TENANT ? r->c->token_tenant : STR("");
}

static enum go newest(struct retry *r)
{
    r->newest = (struct log_list){.op = op_for(newest_ended), .limit = 1};
    r->newest.filter.event_ids = (struct strlist){&r->event_id, 1};
    r->newest.filter.destination_ids = (struct strlist){&r->destination_id, 1};
    if (r->c->role == ROLE_TENANT) {
        r->newest.filter.tenant_ids = (struct strlist){&r->c->token_tenant, 1};
    }
    r->step = R_EVENT;
    logstore_attempt_list(r->c->api->log, &r->newest);
    return GO_WAIT;
}

static enum go find_event(struct retry *r)
{
    if (r->newest.op.err.code) {
        reply_internal(r->c, &r->newest.op.err);
        return GO_WAIT;
    }
    struct str tenant = tenant_of(r);
    r->floor = 1;
    if (r->newest.count) {
        r->floor = r->newest.attempts[0]->number + 1;
        tenant = arena_copy(r->c->a, r->newest.attempts[0]->event->tenant_id);
    }
    log_list_fini(&r->newest);
    r->event = (struct log_event_get){.op = op_for(event_ended), .tenant_id = tenant, .id = r->event_id};
    r->step = R_DESTINATION;
    logstore_event_get(r->c->api->log, &r->event);
    return GO_WAIT;
}

static enum go find_destination(struct retry *r)
{
    if (r->event.op.err.code == EC_NOT_FOUND) {
        reply_error(r->c, 404, "event not found");
        return GO_WAIT;
    }
    if (r->event.op.err.code) {
        reply_internal(r->c, &r->event.op.err);
        return GO_WAIT;
    }
    r->dest = (struct dest_get){.op = op_for(dest_ended), .tenant_id = r->event.out->tenant_id, .id = r->destination_id};
    r->step = R_CHECK;
    if (store_dest_get_now(r->c->api->store, &r->dest)) {
        return GO_NEXT;
    }
    store_dest_get(r->c->api->store, &r->dest);
    return GO_WAIT;
}

static void refuse(struct retry *r, int status, const char *message)
{
    event_unref(r->event.out);
    destination_unref(r->dest.out);
    reply_error(r->c, status, message);
}

static enum go check(struct retry *r)
{
    enum ec ec = r->dest.op.err.code;
    if (ec == EC_NOT_FOUND || ec == EC_DENIED) {
        /* Without an attempt, event and destination have never met: as the real one says it. */
        refuse(r, 404, r->floor > 1 ? "destination not found" : "event not found");
        return GO_WAIT;
    }
    if (ec) {
        event_unref(r->event.out);
        reply_internal(r->c, &r->dest.op.err);
        return GO_WAIT;
    }
    if (!destination_enabled(r->dest.out)) {
        event_unref(r->event.out);
        destination_unref(r->dest.out);
        reply_error_field(r->c, 400, "Destination is disabled", STR("error"), STR("destination_disabled"));
        return GO_WAIT;
    }
    if (!match_wants(r->dest.out, r->event.out)) {
        refuse(r, 400, "destination does not match event");
        return GO_WAIT;
    }
    r->task = task_new(r->event.out, r->destination_id, r->floor, true);
    r->put = (struct queue_put){
        .op = op_for(put_ended), .event = r->event.out, .tasks = &r->task, .count = 1, .manual = true};
    r->step = R_DONE;
    queue_put(r->c->api->queue, &r->put);
    return GO_WAIT;
}

static enum go done(struct retry *r)
{
    struct call *c = r->c;
    if (!r->put.op.err.code) {
        log_line(LOG_INFO, "manual retry initiated", ls("event_id", r->event_id), ls("tenant_id", r->event.out->tenant_id),
                 ls("destination_id", r->destination_id), ls("destination_type", r->dest.out->type));
    }
    event_unref(r->event.out);
    destination_unref(r->dest.out);
    if (r->put.op.err.code) {
        reply_internal(c, &r->put.op.err);
        return GO_WAIT;
    }
    struct buf *b = call_body(c);
    buf_addz(b, "{\"success\":true}");
    reply_json(c, 202, b);
    return GO_WAIT;
}

void retry_post(struct call *c)
{
    struct json body;
    struct retry *r = ARENA_NEW(c->a, struct retry);
    r->c = c;
    if (!body_object(c, &body) || !body_text(c, body, "event_id", &r->event_id) ||
        !body_text(c, body, "destination_id", &r->destination_id)) {
        return;
    }
    struct str missing[2];
    size_t n = 0;
    if (r->event_id.n == 0) {
        missing[n++] = STR("event_id is required");
    }
    if (r->destination_id.n == 0) {
        missing[n++] = STR("destination_id is required");
    }
    if (n) {
        reply_error_list(c, 422, "validation error", missing, n);
        return;
    }
    drive(r);
}
