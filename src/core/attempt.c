/* Tasks and attempts, and the stored form of an attempt.
 * Stored form, version 1: byte 1, flags (1 manual, 2 success), number, time, latency, id, delivery id, destination id,
 * destination type, code, response. SPDX-License-Identifier: Apache-2.0 */
#include "core/attempt.h"

#include <stdlib.h>

#include "core/codec.h"
#include "util/id.h"

#define ATTEMPT_FORM 1
#define LANE_SEPARATOR '\x1f'
enum { FLAG_MANUAL = 1, FLAG_SUCCESS = 2 };

struct task *task_new(struct event *e, struct str destination_id, int number, bool manual)
{
    size_t lane = e->env.n + 1 + e->tenant_id.n + 1 + destination_id.n;
    struct task *t = xcalloc(1, sizeof(*t) + lane + 1);
    list_init(&t->link);
    t->event = event_ref(e);
    char *at = (char *)(t + 1);
    t->lane = (struct str){at, lane};
    pack_str(&at, e->env);
    at[-1] = LANE_SEPARATOR;
    pack_str(&at, e->tenant_id);
    at[-1] = LANE_SEPARATOR;
    t->destination_id = pack_str(&at, destination_id);
    t->number = number;
    t->manual = manual;
    memcpy(t->delivery_id, "dlv_", 4);
    id_text(ID_NANOID, t->delivery_id + 4);
    return t;
}

void task_free(struct task *t)
{
    if (t) {
        event_unref(t->event);
        free(t);
    }
}

struct str task_key(const struct task *t, struct arena *a)
{
    return arena_printf(a, "%.*s:%.*s", STR_ARG(t->event->id), STR_ARG(t->destination_id));
}

struct attempt *attempt_new(const struct attempt *from)
{
    size_t text = from->id.n + from->delivery_id.n + from->destination_id.n + from->destination_type.n +
                  from->code.n + from->response.n + 6;
    struct attempt *a = xmalloc(sizeof(*a) + text);
    *a = *from;
    atomic_init(&a->refs, 1);
    a->event = event_ref(from->event);
    a->destination = from->destination ? destination_ref(from->destination) : NULL;
    char *at = (char *)(a + 1);
    a->id = pack_str(&at, from->id);
    a->delivery_id = pack_str(&at, from->delivery_id);
    a->destination_id = pack_str(&at, from->destination_id);
    a->destination_type = pack_str(&at, from->destination_type);
    a->code = pack_str(&at, from->code);
    a->response = pack_str(&at, from->response);
    return a;
}

struct attempt *attempt_ref(struct attempt *a)
{
    atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);
    return a;
}

void attempt_unref(struct attempt *a)
{
    if (a && atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) == 1) {
        event_unref(a->event);
        destination_unref(a->destination);
        free(a);
    }
}

void attempt_encode(const struct attempt *a, struct buf *b)
{
    buf_addc(b, ATTEMPT_FORM);
    enc_u64(b, (a->manual ? FLAG_MANUAL : 0) | (a->success ? FLAG_SUCCESS : 0));
    enc_i64(b, a->number);
    enc_i64(b, a->time);
    enc_i64(b, a->latency_ms);
    enc_str(b, a->id);
    enc_str(b, a->delivery_id);
    enc_str(b, a->destination_id);
    enc_str(b, a->destination_type);
    enc_str(b, a->code);
    enc_str(b, a->response);
}

enum ec attempt_decode(struct str blob, struct event *event, struct attempt **out, struct err *err)
{
    if (blob.n == 0 || blob.p[0] != ATTEMPT_FORM) {
        return err_set(err, EC_CORRUPT, "stored attempt has an unknown form");
    }
    struct dec d = {str_sub(blob, 1, blob.n), false, NULL};
    uint64_t flags = dec_u64(&d);
    struct attempt a = {
        .event = event,
        .manual = flags & FLAG_MANUAL,
        .success = flags & FLAG_SUCCESS,
    };
    a.number = (int)dec_i64(&d);
    a.time = dec_i64(&d);
    a.latency_ms = dec_i64(&d);
    a.id = dec_str(&d);
    a.delivery_id = dec_str(&d);
    a.destination_id = dec_str(&d);
    a.destination_type = dec_str(&d);
    a.code = dec_str(&d);
    a.response = dec_str(&d);
    if (d.bad || d.rest.n) {
        return err_set(err, EC_CORRUPT, "stored attempt is damaged");
    }
    *out = attempt_new(&a);
    return EC_OK;
}
