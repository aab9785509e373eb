/* Tenant snapshots. SPDX-License-Identifier: Apache-2.0 */
#include "core/tenant.h"

#include <stdlib.h>

struct tenant *tenant_new(void)
{
    struct tenant *t = xcalloc(1, sizeof(*t));
    atomic_init(&t->refs, 1);
    arena_init(&t->arena);
    return t;
}

struct tenant *tenant_ref(struct tenant *t)
{
    atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    return t;
}

void tenant_unref(struct tenant *t)
{
    if (!t || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) > 1) {
        return;
    }
    for (size_t i = 0; i < t->dest_count; i++) {
        destination_unref(t->dests[i]);
    }
    arena_fini(&t->arena);
    free(t);
}

struct tenant *tenant_copy(const struct tenant *t, size_t extra)
{
    struct tenant *c = tenant_new();
    struct arena *a = &c->arena;
    c->env = arena_copy(a, t->env);
    c->id = arena_copy(a, t->id);
    c->metadata = strmap_copy(&t->metadata, a);
    c->created_at = t->created_at;
    c->updated_at = t->updated_at;
    c->dests = ARENA_ARRAY(a, struct destination *, t->dest_count + extra + 1);
    c->dest_count = t->dest_count;
    for (size_t i = 0; i < t->dest_count; i++) {
        c->dests[i] = destination_ref(t->dests[i]);
    }
    return c;
}

struct destination *tenant_dest(const struct tenant *t, struct str id)
{
    for (size_t i = 0; i < t->dest_count; i++) {
        if (str_eq(t->dests[i]->id, id)) {
            return t->dests[i];
        }
    }
    return NULL;
}

struct strlist tenant_topics(const struct tenant *t, struct arena *a)
{
    size_t most = 0;
    for (size_t i = 0; i < t->dest_count; i++) {
        most += t->dests[i]->topics.n;
    }
    struct strlist all = {ARENA_ARRAY(a, struct str, most + 1), 0};
    for (size_t i = 0; i < t->dest_count; i++) {
        for (size_t k = 0; k < t->dests[i]->topics.n; k++) {
            all.v[all.n++] = t->dests[i]->topics.v[k];
        }
    }
    if (strlist_has(&all, STR("*"))) {
        all.v[0] = STR("*");
        all.n = 1;
        return all;
    }
    strlist_sort(&all);
    size_t kept = 0;
    for (size_t i = 0; i < all.n; i++) {
        if (kept == 0 || !str_eq(all.v[kept - 1], all.v[i])) {
            all.v[kept++] = all.v[i];
        }
    }
    all.n = kept;
    return all;
}
