/* Health, topics, destination types: what needs no store. Spec: api.md 8, 11. SPDX-License-Identifier: Apache-2.0 */
#include "api/call.h"

void health_get(struct call *c)
{
    struct buf *b = call_body(c);
    struct jsonw w;
    char now[TIME_TEXT_MAX];
    jw_init(&w, b, true);
    jw_obj(&w);
    jw_kstr(&w, "status", STR("healthy"));
    jw_kstr(&w, "timestamp", time_text(now, wall_now()));
    jw_key(&w, STR("workers"));
    jw_obj(&w);
    for (const char *const *name = c->api->conf.workers; *name; name++) {
        jw_key(&w, str_z(*name));
        jw_raw(&w, STR("{\"status\":\"healthy\"}"));
    }
    jw_obj_end(&w);
    jw_obj_end(&w);
    reply_json(c, 200, b);
}

/* Whether every file takes writes; names those that do not (design.md 11.11). */
void ready_get(struct call *c)
{
    const struct {
        const char *name;
        bool good;
    } parts[] = {
        {"logstore", logstore_healthy(c->api->log)},
        {"queue", queue_healthy(c->api->queue)},
        {"store", store_healthy(c->api->store)},
    };
    bool all = true;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        all &= parts[i].good;
    }
    struct buf *b = call_body(c);
    struct jsonw w;
    jw_init(&w, b, true);
    jw_obj(&w);
    jw_kstr(&w, "status", all ? STR("ready") : STR("unavailable"));
    jw_key(&w, STR("dependencies"));
    jw_obj(&w);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        jw_kstr(&w, parts[i].name, parts[i].good ? STR("ready") : STR("unavailable"));
    }
    jw_obj_end(&w);
    jw_obj_end(&w);
    reply_json(c, all ? 200 : 503, b);
}

void topics_list(struct call *c)
{
    struct buf *b = call_body(c);
    const struct api_conf *conf = &c->api->conf;
    if (!conf->topics_set) {
        buf_addz(b, "null");
    } else {
        strlist_add_json(b, &conf->topics, true);
    }
    reply_json(c, 200, b);
}

void types_list(struct call *c)
{
    struct buf *b = call_body(c);
    const struct dest_ops *t;
    buf_addc(b, '[');
    for (size_t i = 0; (t = dest_type_at(c->api->dests, i)); i++) {
        buf_addz(b, i ? "," : "");
        dest_add_type_json(t, b);
    }
    buf_addc(b, ']');
    reply_json(c, 200, b);
}

void type_read(struct call *c)
{
    const struct dest_ops *t;
    for (size_t i = 0; (t = dest_type_at(c->api->dests, i)); i++) {
        if (str_eqz(c->params[0], t->type)) {
            struct buf *b = call_body(c);
            dest_add_type_json(t, b);
            reply_json(c, 200, b);
            return;
        }
    }
    reply_not_found_plain(c);
}
