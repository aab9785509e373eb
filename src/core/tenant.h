/* A tenant and its destinations as one immutable, counted snapshot. An application is a tenant of an environment;
 * `env` scopes tenants ("" = the one environment of the Outpost vocabulary).
 * Spec: api.md 9.1. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_CORE_TENANT_H
#define OUTRIDER_CORE_TENANT_H

#include "core/destination.h"

struct tenant {
    atomic_int refs;
    struct arena arena;
    struct str env, id;
    struct strmap metadata;
    usec_t created_at, updated_at;
    struct destination **dests; /* references; live ones only, by creation time then id */
    size_t dest_count;
};

struct tenant *tenant_new(void);
struct tenant *tenant_ref(struct tenant *t);
void tenant_unref(struct tenant *t); /* any thread */
/* A copy with the same metadata and times and room for `extra` more destinations (its own references). */
struct tenant *tenant_copy(const struct tenant *t, size_t extra);
struct destination *tenant_dest(const struct tenant *t, struct str id); /* borrowed; NULL if none */
/* Sorted union of the topics of all destinations; exactly ["*"] if any has "*". In a. */
struct strlist tenant_topics(const struct tenant *t, struct arena *a);

#endif
