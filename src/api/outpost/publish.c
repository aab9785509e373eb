/* POST /publish. Spec: api.md 12, pipeline.md 5. SPDX-License-Identifier: Apache-2.0 */
#include "api/call.h"
#include "util/log.h"

struct publish_call {
    struct call *c;
    struct publish p;
    nsec_t began;
};

/* Ids that a path cannot carry are refused (design.md 11.15). */
bool id_is_addressable(struct str id)
{
    for (size_t i = 0; i < id.n; i++) {
        if (id.p[i] == '/' || (unsigned char)id.p[i] < 0x20 || id.p[i] == 0x7f) {
            return false;
        }
    }
    return true;
}

static void log_received(struct publish_call *pc)
{
    const struct event *e = &pc->p.draft;
    size_t queued = pc->p.duplicate || pc->p.op.err.code ? 0 : pc->p.matched.n;
    if (!log_on(LOG_INFO)) {
        return;
    }
    struct strlist enqueued = {pc->p.matched.v, queued};
    CLEANUP(buf_fini) struct buf matched_ids;
    CLEANUP(buf_fini) struct buf enqueued_ids;
    buf_init(&matched_ids, 1024 * 1024);
    buf_init(&enqueued_ids, 1024 * 1024);
    strlist_add_json(&matched_ids, &pc->p.matched, false);
    strlist_add_json(&enqueued_ids, &enqueued, false);
    char received[TIME_TEXT_MAX];
    log_line(LOG_INFO, "event.received", ls("event_id", e->id), ls("tenant_id", e->tenant_id), ls("topic", e->topic),
             li("matched_destination_count", (int64_t)pc->p.matched.n), lj("matched_destination_ids", buf_str(&matched_ids)),
             li("enqueued_destination_count", (int64_t)queued), lj("enqueued_destination_ids", buf_str(&enqueued_ids)),
             ls("event_received_at", time_text(received, e->received)),
             lb("duplicate", pc->p.duplicate), lb("enqueue_failed", pc->p.op.err.code != EC_OK),
             li("duration_ms", (mono_now() - pc->began) / NSEC_PER_MSEC));
}

static void published(struct op *op)
{
    struct publish_call *pc = CONTAINER_OF(op, struct publish_call, p.op);
    struct call *c = pc->c;
    log_received(pc);
    if (op->err.code == EC_CONFLICT) {
        reply_bare(c, 409);
        return;
    }
    if (op->err.code) {
        reply_internal(c, &op->err);
        return;
    }
    struct buf *b = call_body(c);
    buf_addz(b, "{\"id\":");
    json_add_string(b, pc->p.draft.id, true);
    buf_addz(b, pc->p.duplicate ? ",\"duplicate\":true,\"destination_ids\":" : ",\"duplicate\":false,\"destination_ids\":");
    strlist_add_json(b, &pc->p.matched, true);
    buf_addc(b, '}');
    reply_json(c, 202, b);
}

/* All members in one walk; what repeats counts as the spec says. */
struct fields {
    struct json id, tenant_id, destination_id, topic, eligible, time, data;
    struct strmap metadata;
};

static bool take(struct json *to, struct json v)
{
    if (v.type != JSON_NULL || to->type == JSON_NONE) {
        *to = v;
    }
    return true;
}

static bool take_metadata(struct call *c, struct strmap *to, struct json v)
{
    if (v.type == JSON_NULL) {
        to->n = 0;
        return true;
    }
    struct strmap m;
    if (strmap_from_json(&m, c->a, v)) {
        return false;
    }
    for (size_t i = 0; i < m.n; i++) {
        strmap_set(to, c->a, m.v[i].key, m.v[i].value);
    }
    return true;
}

static bool text_or_nothing(struct json v)
{
    return v.type == JSON_NONE || v.type == JSON_NULL || v.type == JSON_STRING;
}

static bool read_fields(struct call *c, struct json body, struct fields *f)
{
    struct json_iter it = json_iter(body);
    struct json key, v;
    bool good = true;
    while (good && json_next(&it, &key, &v)) {
        struct str k = json_text(key, c->a);
        if (str_eq_ci(k, STR("data"))) {
            f->data = v;
        } else if (str_eq_ci(k, STR("tenant_id"))) {
            good = text_or_nothing(v) && take(&f->tenant_id, v);
        } else if (str_eq_ci(k, STR("topic"))) {
            good = text_or_nothing(v) && take(&f->topic, v);
        } else if (str_eq_ci(k, STR("id"))) {
            good = text_or_nothing(v) && take(&f->id, v);
        } else if (str_eq_ci(k, STR("destination_id"))) {
            good = text_or_nothing(v) && take(&f->destination_id, v);
        } else if (str_eq_ci(k, STR("eligible_for_retry"))) {
            good = (v.type == JSON_NULL || v.type == JSON_TRUE || v.type == JSON_FALSE) && take(&f->eligible, v);
        } else if (str_eq_ci(k, STR("metadata"))) {
            good = take_metadata(c, &f->metadata, v);
        } else if (str_eq_ci(k, STR("time"))) {
            take(&f->time, v);
        }
    }
    return good;
}

/* Answers and returns false when the time does not parse. */
static bool read_time(struct call *c, struct json v, usec_t now, usec_t *out, int32_t *out_offset_s)
{
    static const usec_t zero_time = INT64_C(-62135596800000000); /* 0001-01-01T00:00:00Z */
    *out = now;
    if (v.type == JSON_NONE || v.type == JSON_NULL) {
        return true;
    }
    struct str text = json_text(v, c->a);
    struct str why = api_time_error(c, v);
    if (why.n) {
        reply_error(c, 422, arena_z(c->a, why));
        return false;
    }
    int offset = 0;
    if (time_parse(text, out, &offset)) {
        *out_offset_s = offset;
    }
    if (*out == zero_time) {
        *out = now;
        *out_offset_s = 0;
    }
    return true;
}

static bool check_required(struct call *c, const struct event *e, struct json data)
{
    struct str missing[2];
    size_t n = 0;
    if (e->tenant_id.n == 0) {
        missing[n++] = STR("tenant_id is required");
    }
    if (data.type == JSON_NONE) {
        missing[n++] = STR("data is required");
    }
    if (n) {
        reply_error_list(c, 422, "validation error", missing, n);
        return false;
    }
    struct str one = STR("data must be a valid JSON object");
    if (data.type != JSON_OBJECT) {
        reply_error_list(c, 422, "validation error", &one, 1);
        return false;
    }
    return true;
}

static bool check_topic(struct call *c, struct str topic)
{
    struct str one;
    switch (publish_check_topic(c->api->publisher, topic)) {
    case PUBLISH_TOPIC_OK:
        return true;
    case PUBLISH_TOPIC_MISSING:
        one = STR("topic is required");
        break;
    case PUBLISH_TOPIC_INVALID:
        one = STR("topic is invalid");
        break;
    }
    reply_error_list(c, 422, "validation error", &one, 1);
    return false;
}

void publish_post(struct call *c)
{
    struct json body;
    struct fields f = {0};
    if (json_first(c->rq->body, JSON_DEPTH_MAX, &body, NULL, NULL) || (body.type != JSON_OBJECT && body.type != JSON_NULL) ||
        !read_fields(c, body, &f)) {
        reply_error(c, 422, "invalid JSON");
        return;
    }
    struct publish_call *pc = ARENA_NEW(c->a, struct publish_call);
    pc->c = c;
    pc->began = mono_now();
    struct event *e = &pc->p.draft;
    usec_t now = wall_now();
    if (!read_time(c, f.time, now, &e->time, &e->time_offset_s)) {
        return;
    }
    e->received = now;
    e->id = json_text(f.id, c->a);
    e->tenant_id = json_text(f.tenant_id, c->a);
    e->destination_id = json_text(f.destination_id, c->a);
    e->topic = json_text(f.topic, c->a);
    e->eligible_for_retry = f.eligible.type != JSON_FALSE;
    e->metadata = f.metadata;
    e->data = f.data.raw;
    if (!check_required(c, e, f.data) || !check_topic(c, e->topic)) {
        return;
    }
    if (!id_is_addressable(e->id) || !id_is_addressable(e->tenant_id)) {
        struct str one = id_is_addressable(e->id) ? STR("tenant_id must not contain '/' or control characters")
                                                  : STR("id must not contain '/' or control characters");
        reply_error_list(c, 422, "validation error", &one, 1);
        return;
    }
    e->id_given = e->id.n > 0;
    if (!e->id_given) {
        e->id = id_new(c->a, c->api->conf.id_type, c->api->conf.event_prefix);
    }
    pc->p.op = (struct op){.done = published, .io = io_self()};
    pc->p.publisher = c->api->publisher;
    pc->p.arena = c->a;
    publish_start(&pc->p);
}
