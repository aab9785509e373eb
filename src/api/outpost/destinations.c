/* Destinations: create, read, list, delete, enable, disable, PATCH. Spec: api.md 10.
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/outpost/destination_rules.h"
#include "core/topic.h"
#include "util/log.h"

#define WAIT (10 * NSEC_PER_SEC)

struct change_call {
    struct call *c;
    struct dest_put put;
    struct dest_times times;
    const char *audit;
    int status;
};

static void audit(const char *what, const struct destination *d)
{
    log_line(LOG_INFO, what, ls("tenant_id", d->tenant_id), ls("destination_id", d->id), ls("destination_type", d->type));
}

static void put_done(struct op *op)
{
    struct change_call *x = CONTAINER_OF(op, struct change_call, put.op);
    struct call *c = x->c;
    struct destination *d = x->put.dest;
    tenant_unref(x->put.before);
    tenant_unref(x->put.after);
    bool create = x->put.mode == DEST_CREATE;
    switch (op->err.code) {
    case EC_OK: {
        audit(x->audit, d);
        struct buf *b = call_body(c);
        add_destination(c, b, d, &x->times);
        reply_json(c, x->status, b);
        break;
    }
    case EC_CONFLICT:
        reply_error(c, 400, create ? "destination already exists" : "destination was changed by another request");
        break;
    case EC_LIMIT:
        reply_error(c, 400, "maximum number of destinations per tenant reached");
        break;
    case EC_NOT_FOUND:
        if (create) {
            reply_error(c, 404, "tenant not found");
        } else {
            reply_not_found_plain(c);
        }
        break;
    default:
        reply_internal(c, &op->err);
    }
    destination_unref(d);
}

static void put(struct call *c, struct destination *d, enum dest_put_mode mode, const char *what, int status, const struct dest_times *times)
{
    struct change_call *x = ARENA_NEW(c->a, struct change_call);
    x->c = c;
    x->audit = what;
    x->status = status;
    x->times = *times;
    x->put = (struct dest_put){
        .op = {.done = put_done, .io = io_self(), .deadline = mono_now() + WAIT},
        .mode = mode,
        .dest = d,
        .max_per_tenant = mode == DEST_CREATE ? c->api->conf.max_destinations : 0,
    };
    store_dest_put(c->api->store, &x->put);
}

/* ---- create ---- */

static bool read_maps(struct call *c, struct json body, struct destination *d)
{
    struct strmap credentials = {NULL, 0};
    bool given;
    if (!body_map(c, body, "config", MAP_CREATE, &d->config, &given) ||
        !body_map(c, body, "credentials", MAP_CREATE, &credentials, &given) ||
        !body_map(c, body, "delivery_metadata", MAP_CREATE, &d->delivery_metadata, &d->has_delivery_metadata) ||
        !body_map(c, body, "metadata", MAP_CREATE, &d->metadata, &d->has_metadata)) {
        return false;
    }
    d->config = strmap_copy(&d->config, &d->arena);
    d->delivery_metadata = strmap_copy(&d->delivery_metadata, &d->arena);
    d->metadata = strmap_copy(&d->metadata, &d->arena);
    for (size_t i = 0; i < credentials.n; i++) {
        credmap_set(&d->credentials, &d->arena, arena_copy(&d->arena, credentials.v[i].key), credentials.v[i].value);
    }
    return true;
}

static bool check_required(struct call *c, struct str type, enum topics_given topics)
{
    struct str missing[2];
    size_t n = 0;
    if (type.n == 0) {
        missing[n++] = STR("type is required");
    }
    if (topics == TOPICS_ABSENT) {
        missing[n++] = STR("topics is required");
    }
    if (n) {
        reply_error_list(c, 422, "validation error", missing, n);
    }
    return n == 0;
}

static bool check_times(struct call *c, const struct destination *d, const struct dest_times *t, usec_t now)
{
    if (c->role == ROLE_TENANT && (t->created.n || t->updated.n)) {
        reply_error(c, 403, "created_at and updated_at can only be set with API key authentication");
        return false;
    }
    return time_not_future(c, "created_at", d->created_at, now) && time_not_future(c, "updated_at", d->updated_at, now) &&
           time_not_future(c, "disabled_at", d->disabled_at, now);
}

static bool fill(struct call *c, struct destination *d, struct dest_times *t)
{
    struct json body;
    struct str id, type;
    struct strlist topics = {NULL, 0};
    usec_t now = wall_now();
    if (!body_object(c, &body)) {
        return false;
    }
    enum topics_given given = topics_read(c, body, &topics);
    if (given == TOPICS_ANSWERED || !body_text(c, body, "id", &id) || !body_text(c, body, "type", &type) || !read_maps(c, body, d)) {
        return false;
    }
    struct json filter;
    if (filter_merge(c, body, &filter) && !filter_read(c, filter, d)) {
        return false;
    }
    d->created_at = now;
    if (!time_read(c, body, "created_at", "", &d->created_at, &t->created)) {
        return false;
    }
    d->updated_at = d->created_at;
    t->updated = t->created;
    struct str updated = {NULL, 0};
    if (!time_read(c, body, "updated_at", "", &d->updated_at, &updated) ||
        !time_read(c, body, "disabled_at", "", &d->disabled_at, &t->disabled) || !check_required(c, type, given)) {
        return false;
    }
    t->updated = updated.n ? updated : t->updated;
    if (!check_times(c, d, t, now) || !topics_accept(c, &topics)) {
        return false;
    }
    if (!id_is_addressable(id)) {
        struct str one = STR("id must not contain '/' or control characters");
        reply_error_list(c, 422, "validation error", &one, 1);
        return false;
    }
    struct str new_id = id.n ? id : id_new(c->a, c->api->conf.id_type, c->api->conf.destination_prefix);
    d->id = arena_copy(&d->arena, new_id);
    d->tenant_id = arena_copy(&d->arena, c->tenant->id);
    d->type = arena_copy(&d->arena, type);
    d->topics = strlist_copy(&topics, &d->arena);
    if (!dest_type(c->api->dests, type)) {
        reply_error(c, 422, arena_z(c->a, arena_printf(c->a, "no provider registered for destination type: %.*s", STR_ARG(type))));
        return false;
    }
    return validated(c, d, NULL);
}

void destination_create(struct call *c)
{
    struct destination *d = destination_new();
    struct dest_times times = {.fresh = true};
    if (!fill(c, d, &times)) {
        destination_unref(d);
        return;
    }
    struct err err = {0};
    if (destination_seal(d, &err)) {
        destination_unref(d);
        reply_error(c, 422, "invalid JSON");
        return;
    }
    put(c, d, DEST_CREATE, "destination created", 201, &times);
}

/* ---- read, list ---- */

void destination_read(struct call *c)
{
    const struct destination *d = tenant_dest(c->tenant, c->params[1]);
    if (!d) {
        reply_not_found_plain(c);
        return;
    }
    struct buf *b = call_body(c);
    add_destination(c, b, d, NULL);
    reply_json(c, 200, b);
}

static bool wanted(const struct destination *d, const struct strlist *types, const struct strlist *topics)
{
    if (types->n && !strlist_has(types, d->type)) {
        return false;
    }
    if (topics->n == 1 && str_eqz(topics->v[0], "*")) {
        return d->topics.n == 1 && str_eqz(d->topics.v[0], "*");
    }
    for (size_t i = 0; i < topics->n; i++) {
        if (!topic_match(&d->topics, topics->v[i])) {
            return false;
        }
    }
    return true;
}

void destinations_list(struct call *c)
{
    struct strlist types = query_array(c, "type"), topics = query_array(c, "topics");
    struct buf *b = call_body(c);
    buf_addc(b, '[');
    bool first = true;
    for (size_t i = 0; i < c->tenant->dest_count; i++) {
        const struct destination *d = c->tenant->dests[i];
        if (wanted(d, &types, &topics)) {
            buf_addz(b, first ? "" : ",");
            first = false;
            add_destination(c, b, d, NULL);
        }
    }
    buf_addc(b, ']');
    reply_json(c, 200, b);
}

/* ---- delete, enable, disable ---- */

struct removal {
    struct call *c;
    struct dest_del del;
    struct destination *d;
};

static void removed(struct op *op)
{
    struct removal *r = CONTAINER_OF(op, struct removal, del.op);
    tenant_unref(r->del.before);
    tenant_unref(r->del.after);
    if (op->err.code == EC_NOT_FOUND) {
        reply_not_found_plain(r->c);
    } else if (op->err.code) {
        reply_internal(r->c, &op->err);
    } else {
        audit("destination deleted", r->d);
        reply_success(r->c);
    }
}

void destination_delete(struct call *c)
{
    struct removal *r = ARENA_NEW(c->a, struct removal);
    r->c = c;
    r->d = tenant_dest(c->tenant, c->params[1]);
    if (!r->d) {
        reply_not_found_plain(c);
        return;
    }
    r->del = (struct dest_del){
        .op = {.done = removed, .io = io_self(), .deadline = mono_now() + WAIT},
        .tenant_id = c->tenant->id,
        .id = c->params[1],
    };
    store_dest_del(c->api->store, &r->del);
}

static void switch_to(struct call *c, bool enabled)
{
    struct destination *d = tenant_dest(c->tenant, c->params[1]);
    if (!d) {
        reply_not_found_plain(c);
        return;
    }
    if (destination_enabled(d) == enabled) {
        struct buf *b = call_body(c);
        add_destination(c, b, d, NULL);
        reply_json(c, 200, b);
        return;
    }
    struct destination *n = destination_copy(d);
    n->disabled_at = enabled ? 0 : wall_now();
    struct dest_times times = {0};
    char text[TIME_TEXT_MAX];
    if (!enabled) {
        times.disabled = arena_copy(c->a, time_text(text, n->disabled_at));
    }
    if (destination_seal(n, NULL)) {
        UNREACHABLE("a stored filter that does not compile");
    }
    put(c, n, DEST_REPLACE, enabled ? "destination enabled" : "destination disabled", 200, &times);
}

void destination_enable(struct call *c)
{
    switch_to(c, true);
}

void destination_disable(struct call *c)
{
    switch_to(c, false);
}

/* ---- patch ---- */

static bool patch_credentials(struct call *c, struct json body, struct destination *d)
{
    struct strmap m = {NULL, 0};
    bool given;
    for (size_t i = 0; i < d->credentials.n; i++) {
        strmap_set(&m, c->a, d->credentials.v[i].key, secret_reveal(&d->credentials.v[i].value));
    }
    if (!body_map(c, body, "credentials", MAP_MERGE, &m, &given)) {
        return false;
    }
    struct strmap kept = strmap_copy(&m, c->a);
    credmap_fini(&d->credentials);
    d->credentials = (struct credmap){NULL, 0};
    for (size_t i = 0; i < kept.n; i++) {
        credmap_set(&d->credentials, &d->arena, arena_copy(&d->arena, kept.v[i].key), kept.v[i].value);
    }
    return true;
}

static bool patch_maps(struct call *c, struct json body, struct destination *d)
{
    bool given;
    if (!body_map(c, body, "config", MAP_MERGE, &d->config, &given) || !patch_credentials(c, body, d)) {
        return false;
    }
    struct json filter = {JSON_NONE, STR_NULL}, key, value;
    struct json_iter it = json_iter(body);
    while (json_next(&it, &key, &value)) {
        if (str_eq_ci(json_text(key, c->a), STR("filter"))) {
            filter = value;
        }
    }
    if (filter.type == JSON_NULL) {
        d->filter_text = STR("");
    } else if (filter.type != JSON_NONE && !filter_read(c, filter, d)) {
        return false;
    }
    if (!body_map(c, body, "delivery_metadata", MAP_MERGE, &d->delivery_metadata, &given) ||
        !body_map(c, body, "metadata", MAP_MERGE, &d->metadata, &given)) {
        return false;
    }
    d->config = strmap_copy(&d->config, &d->arena);
    d->delivery_metadata = strmap_copy(&d->delivery_metadata, &d->arena);
    d->metadata = strmap_copy(&d->metadata, &d->arena);
    d->has_delivery_metadata = d->delivery_metadata.n > 0;
    d->has_metadata = d->metadata.n > 0;
    return true;
}

static bool patch_disabled(struct call *c, struct json body, struct destination *d, struct dest_times *t, usec_t now)
{
    struct json v = body_get(body, "disabled_at");
    if (v.type == JSON_NULL) {
        d->disabled_at = 0;
        return true;
    }
    return time_read(c, body, "disabled_at", "invalid disabled_at: ", &d->disabled_at, &t->disabled) &&
           time_not_future(c, "disabled_at", d->disabled_at, now);
}

static bool patch(struct call *c, struct json body, enum topics_given given, struct strlist *topics, struct str type,
                  struct destination *d, const struct destination *before, struct dest_times *t)
{
    usec_t now = wall_now();
    char text[TIME_TEXT_MAX];
    if (given == TOPICS_GIVEN) {
        if (!topics_accept(c, topics)) {
            return false;
        }
        d->topics = strlist_copy(topics, &d->arena);
    }
    if (type.n && !str_eq(type, d->type)) {
        reply_error(c, 422, "type cannot be updated");
        return false;
    }
    if (!patch_maps(c, body, d) || !patch_disabled(c, body, d, t, now)) {
        return false;
    }
    dest_unmask(c->api->dests, d, before);
    d->updated_at = now;
    t->updated = arena_copy(c->a, time_text(text, now));
    return validated(c, d, before);
}

void destination_patch(struct call *c)
{
    struct json body;
    struct str type;
    struct strlist topics = {NULL, 0};
    if (!body_object(c, &body)) {
        return;
    }
    enum topics_given given = topics_read(c, body, &topics);
    if (given == TOPICS_ANSWERED || !body_text(c, body, "type", &type)) {
        return;
    }
    struct destination *before = tenant_dest(c->tenant, c->params[1]);
    if (!before) {
        reply_not_found_plain(c);
        return;
    }
    struct destination *d = destination_copy(before);
    struct dest_times times = {0};
    if (!patch(c, body, given, &topics, type, d, before, &times)) {
        destination_unref(d);
        return;
    }
    if (destination_seal(d, NULL)) {
        destination_unref(d);
        reply_error(c, 422, "invalid JSON");
        return;
    }
    put(c, d, DEST_REPLACE, "destination updated", 200, &times);
}
