/* What a destination's members must be: topics, filter, times. Shared by create and PATCH. Spec: api.md 10.2, 10.3.
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/outpost/destination_rules.h"

#include "core/topic.h"

enum topics_given topics_read(struct call *c, struct json body, struct strlist *out)
{
    struct json v = body_get(body, "topics"), e;
    if (v.type == JSON_NONE || v.type == JSON_NULL) {
        return TOPICS_ABSENT;
    }
    if (json_is_text(v, STR("*"))) {
        out->v = ARENA_ARRAY(c->a, struct str, 1);
        out->v[0] = STR("*");
        out->n = 1;
        return TOPICS_GIVEN;
    }
    bool good = v.type == JSON_ARRAY;
    out->v = ARENA_ARRAY(c->a, struct str, good ? json_count(v) + 1 : 1);
    out->n = 0;
    struct json_iter it = json_iter(v);
    while (good && json_next(&it, NULL, &e)) {
        good = e.type == JSON_STRING || e.type == JSON_NULL;
        out->v[out->n++] = e.type == JSON_STRING ? json_text(e, c->a) : STR("");
    }
    if (!good) {
        reply_error(c, 422, "validation failed: invalid topics format");
        return TOPICS_ANSWERED;
    }
    return TOPICS_GIVEN;
}

static bool has_star(struct str s)
{
    return s.n && memchr(s.p, '*', s.n);
}

static bool matches_configured(const struct strlist *configured, struct str pattern)
{
    for (size_t i = 0; i < configured->n; i++) {
        if (topic_glob(pattern, configured->v[i])) {
            return true;
        }
    }
    return false;
}

static bool topic_allowed(const struct api_conf *conf, struct str t)
{
    if (conf->topics.n == 0) {
        return !has_star(t) || conf->allow_wildcards;
    }
    if (str_eqz(t, "*")) {
        return false;
    }
    if (has_star(t)) {
        return conf->allow_wildcards && matches_configured(&conf->topics, t);
    }
    return strlist_has(&conf->topics, t);
}

/* Without repeats, and without what another entry's pattern covers. */
static void normalise(struct strlist *l, struct arena *a)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        struct strlist before = {l->v, n};
        if (!strlist_has(&before, l->v[i])) {
            l->v[n++] = l->v[i];
        }
    }
    l->n = n;
    bool *drop = ARENA_ARRAY(a, bool, n + 1);
    for (size_t i = 0; i < n; i++) {
        drop[i] = false;
        for (size_t k = 0; k < n && !drop[i]; k++) {
            drop[i] = k != i && has_star(l->v[k]) && topic_glob(l->v[k], l->v[i]) &&
                      !(has_star(l->v[i]) && topic_glob(l->v[i], l->v[k]));
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (!drop[i]) {
            l->v[kept++] = l->v[i];
        }
    }
    l->n = kept;
}

bool topics_accept(struct call *c, struct strlist *topics)
{
    bool all = topics->n == 1 && str_eqz(topics->v[0], "*");
    bool good = topics->n > 0;
    for (size_t i = 0; good && !all && i < topics->n; i++) {
        good = topic_allowed(&c->api->conf, topics->v[i]);
    }
    if (!good) {
        reply_error(c, 422, "validation failed: invalid topics");
        return false;
    }
    normalise(topics, c->a);
    return true;
}

/* Repeated filters of a create merge, member by member at the top. */
bool filter_merge(struct call *c, struct json body, struct json *out)
{
    struct json key, value, member, k;
    size_t count = 0;
    struct buf b;
    buf_init(&b, 1024 * 1024);
    buf_addc(&b, '{');
    *out = (struct json){JSON_NONE, STR_NULL};
    struct json_iter it = json_iter(body);
    while (json_next(&it, &key, &value)) {
        if (!str_eq_ci(json_text(key, c->a), STR("filter"))) {
            continue;
        }
        *out = value;
        if (value.type == JSON_NULL) {
            buf_reset(&b);
            buf_addc(&b, '{');
            count = 0;
            continue;
        }
        if (value.type != JSON_OBJECT) {
            break;
        }
        struct json_iter in = json_iter(value);
        while (json_next(&in, &k, &member)) {
            buf_addz(&b, b.n > 1 ? "," : "");
            buf_adds(&b, k.raw);
            buf_addc(&b, ':');
            buf_adds(&b, member.raw);
        }
        count++;
    }
    buf_addc(&b, '}');
    if (count > 1 && out->type == JSON_OBJECT) {
        out->raw = arena_copy(c->a, buf_str(&b));
    }
    buf_fini(&b);
    return out->type != JSON_NONE && out->type != JSON_NULL;
}

bool filter_read(struct call *c, struct json v, struct destination *d)
{
    if (v.type != JSON_OBJECT || !json_numbers_fit(v)) {
        reply_error(c, 422, "invalid JSON");
        return false;
    }
    d->filter_text = json_count(v) ? arena_copy(&d->arena, v.raw) : STR("");
    return true;
}

bool time_read(struct call *c, struct json body, const char *name, const char *prefix, usec_t *out, struct str *out_text)
{
    struct json v = body_get(body, name);
    if (v.type == JSON_NONE || v.type == JSON_NULL) {
        return true;
    }
    struct str why = api_time_error(c, v);
    if (why.n) {
        reply_error(c, 422, arena_z(c->a, arena_printf(c->a, "%s%.*s", prefix, STR_ARG(why))));
        return false;
    }
    struct str given = json_text(v, c->a);
    *out_text = api_time_normal(c, given);
    return time_parse(given, out, NULL);
}

bool time_not_future(struct call *c, const char *name, usec_t t, usec_t now)
{
    if (t > now) {
        reply_error(c, 422, arena_z(c->a, arena_printf(c->a, "%s cannot be in the future", name)));
        return false;
    }
    return true;
}

bool validated(struct call *c, struct destination *d, const struct destination *before)
{
    struct dest_problems p = {.arena = c->a};
    enum dest_role role = c->role == ROLE_ADMIN ? DEST_ROLE_ADMIN : DEST_ROLE_TENANT;
    if (dest_validate(c->api->dests, d, before, role, &p) == EC_OK) {
        return true;
    }
    reply_error_list(c, 422, "validation error", p.v, p.n);
    return false;
}
