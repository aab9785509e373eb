/* An event: what a product published, once. Immutable and counted: one copy serves all its deliveries. The payload
 * is the published text, byte for byte. A message of the applications vocabulary is an event.
 * Spec: pipeline.md 3.2, storage.md 15. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_CORE_EVENT_H
#define OUTRIDER_CORE_EVENT_H

#include <stdatomic.h>

#include "core/strmap.h"
#include "util/time.h"

struct event {
    atomic_int refs;
    struct str env, id, tenant_id;
    struct str destination_id;   /* forced by the publisher; "" = by topic */
    struct strlist matched;      /* destination ids matched at publish */
    struct str topic;
    bool eligible_for_retry;
    bool id_given;               /* the publisher chose the id: idempotency is claimed for it */
    usec_t time;                 /* the event's own time */
    int32_t time_offset_s;       /* as the publisher wrote it; 0 once it has been through the log */
    usec_t received;             /* arrival, wall clock: segments and retention count from here */
    struct strmap metadata;
    struct str data;             /* a JSON object's text, as published */
    size_t size;                 /* bytes of memory behind it */
};

/* What event_new copies; text is borrowed until it returns. */
struct event *event_new(const struct event *from); /* one allocation, one reference */
struct event *event_ref(struct event *e);          /* any thread */
void event_unref(struct event *e);                 /* NULL is fine; any thread */

/* Stored form (queue.db, embedded): version byte, then length-prefixed fields; the recipe is in event.c. */
void event_encode(const struct event *e, struct buf *b);
enum ec event_decode(struct str blob, struct event **out, struct err *err) MUST_CHECK;

#endif
