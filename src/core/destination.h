/* A destination: where a tenant wants its events sent. Immutable and counted once built: threads share one copy,
 * an edit makes a new one. An endpoint of the applications vocabulary is a destination of type webhook.
 * Spec: api.md 10.1, storage.md 7. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_CORE_DESTINATION_H
#define OUTRIDER_CORE_DESTINATION_H

#include <stdatomic.h>

#include "core/strmap.h"
#include "util/time.h"

struct filter; /* core/filter.h */

struct destination {
    atomic_int refs;
    struct arena arena; /* holds all text below */
    struct str id, tenant_id, type;
    struct strlist topics;
    struct str filter_text;  /* JSON object, as the API shows it; "" = none */
    struct filter *filter;   /* compiled from filter_text; NULL = matches all */
    struct strmap config;
    struct credmap credentials;
    struct strmap delivery_metadata;
    struct strmap metadata;
    bool has_delivery_metadata, has_metadata; /* present, perhaps empty (as opposed to absent) */
    usec_t created_at, updated_at;
    usec_t disabled_at; /* 0 = enabled */
};

/* A fresh one with one reference, to be filled by its maker; nobody else may see it before destination_seal. */
struct destination *destination_new(void);
/* Compiles filter_text. EC_INVALID with the filter's own words. After this the thing does not change any more. */
enum ec destination_seal(struct destination *d, struct err *err) MUST_CHECK;
/* A deep, unsealed copy to edit. */
struct destination *destination_copy(const struct destination *d);
struct destination *destination_ref(struct destination *d); /* any thread */
void destination_unref(struct destination *d);              /* NULL is fine; any thread */
static inline bool destination_enabled(const struct destination *d)
{
    return d->disabled_at == 0;
}

#endif
