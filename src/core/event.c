/* Events in one block each, and their stored form.
 * Stored form, version 1: byte 1, flags (1 eligible, 2 id given), time, its offset, received, env, id, tenant, forced
 * destination, topic, data, matched ids, metadata. SPDX-License-Identifier: Apache-2.0 */
#include "core/event.h"

#include <stdlib.h>

#include "core/codec.h"

#define EVENT_FORM 1
enum { FLAG_ELIGIBLE = 1, FLAG_ID_GIVEN = 2 };

static size_t text_size(const struct event *e)
{
    size_t n = e->env.n + e->id.n + e->tenant_id.n + e->destination_id.n + e->topic.n + e->data.n + 6;
    for (size_t i = 0; i < e->matched.n; i++) {
        n += e->matched.v[i].n + 1;
    }
    for (size_t i = 0; i < e->metadata.n; i++) {
        n += e->metadata.v[i].key.n + e->metadata.v[i].value.n + 2;
    }
    return n;
}

struct event *event_new(const struct event *from)
{
    size_t vectors = from->matched.n * sizeof(struct str) + from->metadata.n * sizeof(struct strpair);
    size_t size = sizeof(*from) + vectors + text_size(from);
    struct event *e = xmalloc(size);
    *e = *from;
    atomic_init(&e->refs, 1);
    e->size = size;
    e->matched.v = (struct str *)(e + 1);
    e->metadata.v = (struct strpair *)(e->matched.v + from->matched.n);
    char *at = (char *)(e->metadata.v + from->metadata.n);
    e->env = pack_str(&at, from->env);
    e->id = pack_str(&at, from->id);
    e->tenant_id = pack_str(&at, from->tenant_id);
    e->destination_id = pack_str(&at, from->destination_id);
    e->topic = pack_str(&at, from->topic);
    e->data = pack_str(&at, from->data);
    for (size_t i = 0; i < from->matched.n; i++) {
        e->matched.v[i] = pack_str(&at, from->matched.v[i]);
    }
    for (size_t i = 0; i < from->metadata.n; i++) {
        e->metadata.v[i].key = pack_str(&at, from->metadata.v[i].key);
        e->metadata.v[i].value = pack_str(&at, from->metadata.v[i].value);
    }
    return e;
}

struct event *event_ref(struct event *e)
{
    atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
    return e;
}

void event_unref(struct event *e)
{
    if (e && atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) == 1) {
        free(e);
    }
}

void event_encode(const struct event *e, struct buf *b)
{
    buf_addc(b, EVENT_FORM);
    enc_u64(b, (e->eligible_for_retry ? FLAG_ELIGIBLE : 0) | (e->id_given ? FLAG_ID_GIVEN : 0));
    enc_i64(b, e->time);
    enc_i64(b, e->time_offset_s);
    enc_i64(b, e->received);
    enc_str(b, e->env);
    enc_str(b, e->id);
    enc_str(b, e->tenant_id);
    enc_str(b, e->destination_id);
    enc_str(b, e->topic);
    enc_str(b, e->data);
    enc_list(b, &e->matched);
    enc_map(b, &e->metadata);
}

enum ec event_decode(struct str blob, struct event **out, struct err *err)
{
    if (blob.n == 0 || blob.p[0] != EVENT_FORM) {
        return err_set(err, EC_CORRUPT, "stored event has an unknown form");
    }
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    struct dec d = {str_sub(blob, 1, blob.n), false, &a};
    uint64_t flags = dec_u64(&d);
    struct event e = {
        .eligible_for_retry = flags & FLAG_ELIGIBLE,
        .id_given = flags & FLAG_ID_GIVEN,
    };
    e.time = dec_i64(&d);
    e.time_offset_s = (int32_t)dec_i64(&d);
    e.received = dec_i64(&d);
    e.env = dec_str(&d);
    e.id = dec_str(&d);
    e.tenant_id = dec_str(&d);
    e.destination_id = dec_str(&d);
    e.topic = dec_str(&d);
    e.data = dec_str(&d);
    e.matched = dec_list(&d);
    e.metadata = dec_map(&d);
    if (d.bad || d.rest.n) {
        return err_set(err, EC_CORRUPT, "stored event is damaged");
    }
    *out = event_new(&e);
    return EC_OK;
}
