/* Open destinations of one delivery thread, by version: an edit makes a new version, so a rotated
 * secret takes effect with the next delivery. The least recently used idle one is closed first.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "dest/dest.h"
#include "util/map.h"

#define OPEN_MOST 10000
#define IDLE_MOST (60 * NSEC_PER_SEC)
#define SWEEP_EVERY (10 * NSEC_PER_SEC)

struct open_dest {
    struct list link; /* least recently used first */
    struct destination *d;
    const struct dest_ops *ops;
    unsigned in_flight;
    nsec_t used;
    struct err failed; /* open's words; code EC_OK = open, EC_INVALID = this version never opens */
    _Alignas(16) char conn[];
};

struct dest_pool {
    const struct dest_registry *registry;
    struct io *io;
    struct httpc *http;
    struct map open; /* by the destination's address */
    struct list lru;
    struct io_timer sweep;
};

static struct str key_of(const struct open_dest *o)
{
    return (struct str){(const char *)&o->d, sizeof(o->d)};
}

static void close_one(struct dest_pool *p, struct open_dest *o)
{
    map_del(&p->open, key_of(o));
    list_del(&o->link);
    if (o->ops->close) {
        o->ops->close(o->conn);
    }
    destination_unref(o->d);
    free(o);
}

static void shrink(struct dest_pool *p, nsec_t older_than)
{
    LIST_EACH_SAFE(l, &p->lru)
    {
        struct open_dest *o = CONTAINER_OF(l, struct open_dest, link);
        if (o->used > older_than && p->open.count <= OPEN_MOST) {
            break;
        }
        if (o->in_flight == 0) {
            close_one(p, o);
        }
    }
}

static void on_sweep(struct io_timer *t)
{
    struct dest_pool *p = CONTAINER_OF(t, struct dest_pool, sweep);
    shrink(p, io_now(p->io) - IDLE_MOST);
    io_timer_set(p->io, t, io_now(p->io) + SWEEP_EVERY, on_sweep);
}

struct dest_pool *dest_pool_new(const struct dest_registry *r, struct io *io, struct httpc *http)
{
    struct dest_pool *p = xcalloc(1, sizeof(*p));
    *p = (struct dest_pool){.registry = r, .io = io, .http = http};
    map_init(&p->open);
    list_init(&p->lru);
    io_timer_set(io, &p->sweep, mono_now() + SWEEP_EVERY, on_sweep);
    return p;
}

void dest_pool_free(struct dest_pool *p)
{
    if (!p) {
        return;
    }
    io_timer_clear(p->io, &p->sweep);
    while (!list_empty(&p->lru)) {
        close_one(p, CONTAINER_OF(p->lru.next, struct open_dest, link));
    }
    map_fini(&p->open);
    free(p);
}

static struct open_dest *find(struct dest_pool *p, struct destination *d,
                              const struct dest_ops *ops)
{
    struct open_dest *o = map_get(&p->open, (struct str){(const char *)&d, sizeof(d)});
    if (!o) {
        o = xcalloc(1, sizeof(*o) + ops->conn_size);
        o->d = destination_ref(d);
        o->ops = ops;
        list_init(&o->link);
        if (ops->open &&
            !ops->open(o->conn, dest_registry_conf(p->registry), d, p->http, &o->failed)) {
            o->failed = (struct err){.code = EC_OK};
        }
        map_put(&p->open, key_of(o), o);
        list_push(&p->lru, &o->link);
        o->used = io_now(p->io);
        o->in_flight++; /* not the one to be closed */
        shrink(p, INT64_MIN);
        o->in_flight--;
    }
    o->used = io_now(p->io);
    list_del(&o->link);
    list_push(&p->lru, &o->link);
    return o;
}

/* The caller's done, wrapped to count what is in flight; in the request's arena. */
struct sending {
    struct open_dest *o;
    void (*done)(struct op *op);
};

static void on_done(struct op *op)
{
    struct dest_send *rq = CONTAINER_OF(op, struct dest_send, op);
    struct sending *s = rq->wrapped;
    s->o->in_flight--;
    op->done = s->done;
    rq->wrapped = NULL;
    if (!rq->ended) {
        rq->ended = mono_now();
    }
    op->done(op);
}

/* An attempt that is shown to the customer: what is stored for this destination cannot be used. */
static void fail_invalid(struct dest_send *rq, const char *text)
{
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 4096);
    buf_addz(&b, "{\"error\":");
    json_add_string(&b, arena_printf(&rq->arena, "failed to create publisher: %s", text), false);
    buf_addc(&b, '}');
    rq->outcome.code = STR("ERR");
    rq->outcome.response = arena_copy(&rq->arena, buf_str(&b));
    op_finish(&rq->op, EC_OK, NULL);
}

static void fail_to_open(struct dest_send *rq, const struct err *why)
{
    rq->started = rq->ended = mono_now();
    if (why->code == EC_INVALID) {
        fail_invalid(rq, why->text);
        return;
    }
    rq->outcome.no_attempt = true;
    op_finish(&rq->op, why->code, why->text);
}

void dest_send(struct dest_pool *p, struct dest_send *rq)
{
    const struct dest_ops *ops = dest_type(p->registry, rq->destination->type);
    rq->conf = dest_registry_conf(p->registry);
    rq->outcome = (struct outcome){.retry_after_s = -1};
    if (!ops) {
        fail_to_open(rq, &(struct err){EC_INVALID, "this destination type is not available"});
        return;
    }
    struct open_dest *o = find(p, rq->destination, ops);
    if (o->failed.code) {
        fail_to_open(rq, &o->failed);
        if (o->failed.code != EC_INVALID) {
            close_one(p, o); /* the next attempt tries again */
        }
        return;
    }
    struct sending *s = ARENA_NEW(&rq->arena, struct sending);
    *s = (struct sending){o, rq->op.done};
    rq->wrapped = s;
    rq->op.done = on_done;
    rq->started = mono_now();
    rq->ended = 0;
    o->in_flight++;
    ops->send(o->conn, rq);
}
