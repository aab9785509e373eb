/* The destination object. Spec: api.md 10.1. SPDX-License-Identifier: Apache-2.0 */
#include "api/call.h"

static void add_map(struct jsonw *w, const char *key, const struct strmap *m)
{
    if (m->n == 0) {
        return;
    }
    jw_key(w, str_z(key));
    jw_obj(w);
    for (size_t i = 0; i < m->n; i++) {
        jw_key(w, m->v[i].key);
        jw_str(w, m->v[i].value);
    }
    jw_obj_end(w);
}

static void add_time(struct jsonw *w, const char *key, usec_t at, struct str given, bool fresh)
{
    char text[TIME_TEXT_MAX];
    usec_t cut = fresh ? 1 : USEC_PER_MSEC;
    jw_kstr(w, key, given.n ? given : time_text(text, at / cut * cut));
}

void add_destination(struct call *c, struct buf *b, const struct destination *d, const struct dest_times *times)
{
    static const struct dest_times none;
    times = times ? times : &none;
    const struct dest_ops *type = dest_type(c->api->dests, d->type);
    struct dest_target target = {0};
    if (type) {
        type->target(d, c->a, &target);
    }
    struct jsonw w;
    jw_init(&w, b, true);
    jw_obj(&w);
    jw_kstr(&w, "id", d->id);
    jw_kstr(&w, "tenant_id", d->tenant_id);
    jw_kstr(&w, "type", d->type);
    jw_key(&w, STR("topics"));
    jw_arr(&w);
    for (size_t i = 0; i < d->topics.n; i++) {
        jw_str(&w, d->topics.v[i]);
    }
    jw_arr_end(&w);
    struct json filter;
    if (d->filter && json_check(d->filter_text, JSON_DEPTH_MAX, &filter, NULL) == EC_OK) {
        jw_key(&w, STR("filter"));
        json_add_canonical(b, filter, true);
        w.after_key = false;
    }
    jw_key(&w, STR("config"));
    dest_add_config_json(c->api->dests, d, b);
    w.after_key = false;
    jw_key(&w, STR("credentials"));
    dest_add_credentials_json(c->api->dests, d, b);
    w.after_key = false;
    add_map(&w, "delivery_metadata", &d->delivery_metadata);
    add_map(&w, "metadata", &d->metadata);
    add_time(&w, "created_at", d->created_at, times->created, times->fresh);
    add_time(&w, "updated_at", d->updated_at, times->updated, times->fresh);
    if (d->disabled_at) {
        add_time(&w, "disabled_at", d->disabled_at, times->disabled, times->fresh);
    } else {
        jw_knull(&w, "disabled_at");
    }
    jw_kstr(&w, "target", target.text);
    if (target.url.n) {
        jw_kstr(&w, "target_url", target.url);
    }
    jw_obj_end(&w);
}
