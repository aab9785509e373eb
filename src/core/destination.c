/* Making, copying and counting destinations. Validation by type is dest/'s, storage is store/'s.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/destination.h"

#include <stdlib.h>

#include "core/filter.h"

struct destination *destination_new(void)
{
    struct destination *d = xcalloc(1, sizeof(*d));
    atomic_init(&d->refs, 1);
    arena_init(&d->arena);
    return d;
}

enum ec destination_seal(struct destination *d, struct err *err)
{
    if (d->filter_text.n == 0 || str_eqz(d->filter_text, "{}")) {
        return EC_OK;
    }
    return filter_new(d->filter_text, &d->filter, err);
}

struct destination *destination_copy(const struct destination *d)
{
    struct destination *c = destination_new();
    struct arena *a = &c->arena;
    c->id = arena_copy(a, d->id);
    c->tenant_id = arena_copy(a, d->tenant_id);
    c->type = arena_copy(a, d->type);
    c->topics = strlist_copy(&d->topics, a);
    c->filter_text = arena_copy(a, d->filter_text);
    c->config = strmap_copy(&d->config, a);
    c->credentials = credmap_copy(&d->credentials, a);
    c->delivery_metadata = strmap_copy(&d->delivery_metadata, a);
    c->metadata = strmap_copy(&d->metadata, a);
    c->has_delivery_metadata = d->has_delivery_metadata;
    c->has_metadata = d->has_metadata;
    c->created_at = d->created_at;
    c->updated_at = d->updated_at;
    c->disabled_at = d->disabled_at;
    return c;
}

struct destination *destination_ref(struct destination *d)
{
    atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);
    return d;
}

void destination_unref(struct destination *d)
{
    if (!d || atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) > 1) {
        return;
    }
    filter_free(d->filter);
    credmap_fini(&d->credentials);
    arena_fini(&d->arena);
    free(d);
}
