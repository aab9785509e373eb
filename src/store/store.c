/* The wrapper around a store backend, the only caller of its pointers; and the small siblings' wrappers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include <stdlib.h>

#include "store/once.h"

enum ec store_open(const struct store_ops *ops, const struct store_conf *conf, struct store **out, struct err *err)
{
    enum ec ec = ops->open(conf, out, err);
    if (!ec) {
        (*out)->ops = ops;
    }
    return ec;
}

void store_close(struct store *s)
{
    if (s) {
        s->ops->close(s);
    }
}

bool store_healthy(struct store *s)
{
    return s->ops->healthy(s);
}

void store_tenant_get(struct store *s, struct tenant_get *rq)
{
    rq->out = NULL;
    s->ops->tenant_get(s, rq);
}

void store_tenant_put(struct store *s, struct tenant_put *rq)
{
    rq->out = NULL;
    rq->created = false;
    s->ops->tenant_put(s, rq);
}

void store_tenant_del(struct store *s, struct tenant_del *rq)
{
    s->ops->tenant_del(s, rq);
}

bool store_can_list(const struct store *s)
{
    return s->ops->tenant_list != NULL;
}

void store_tenant_list(struct store *s, struct tenant_list *rq)
{
    rq->out = NULL;
    rq->out_count = 0;
    rq->more = false;
    s->ops->tenant_list(s, rq);
}

void tenant_list_fini(struct tenant_list *rq)
{
    for (size_t i = 0; i < rq->out_count; i++) {
        tenant_unref(rq->out[i]);
    }
    free(rq->out);
    rq->out = NULL;
    rq->out_count = 0;
}

void store_dest_get(struct store *s, struct dest_get *rq)
{
    rq->out = NULL;
    s->ops->dest_get(s, rq);
}

void store_dest_put(struct store *s, struct dest_put *rq)
{
    rq->before = rq->after = NULL;
    s->ops->dest_put(s, rq);
}

void store_dest_del(struct store *s, struct dest_del *rq)
{
    rq->before = rq->after = NULL;
    s->ops->dest_del(s, rq);
}

void store_dest_match(struct store *s, struct dest_match *rq)
{
    rq->out = NULL;
    s->ops->dest_match(s, rq);
}

bool store_dest_match_now(struct store *s, struct dest_match *rq)
{
    rq->out = NULL;
    rq->op.err.code = EC_OK;
    return s->ops->dest_match_now && s->ops->dest_match_now(s, rq);
}

bool store_dest_get_now(struct store *s, struct dest_get *rq)
{
    rq->out = NULL;
    rq->op.err.code = EC_OK;
    return s->ops->dest_get_now && s->ops->dest_get_now(s, rq);
}

void once_claim(struct once *o, struct once_claim *rq)
{
    o->ops->claim(o, rq);
}

void once_confirm(struct once *o, struct once_mark *rq)
{
    o->ops->confirm(o, rq);
}

void once_drop(struct once *o, struct once_mark *rq)
{
    o->ops->drop(o, rq);
}
