/* Which destinations want an event: enabled, then topic, then filter. Pure. Spec: pipeline.md 5.5, 6, 8.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_CORE_MATCH_H
#define OUTRIDER_CORE_MATCH_H

#include "core/destination.h"
#include "core/event.h"

/* Topic and filter alone (a disabled destination may match). */
bool match_wants(const struct destination *d, const struct event *e);
static inline bool match(const struct destination *d, const struct event *e)
{
    return destination_enabled(d) && match_wants(d, e);
}

#endif
