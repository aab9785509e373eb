/* Matching. SPDX-License-Identifier: Apache-2.0 */
#include "core/match.h"

#include "core/filter.h"
#include "core/topic.h"

bool match_wants(const struct destination *d, const struct event *e)
{
    if (!topic_match(&d->topics, e->topic)) {
        return false;
    }
    if (!d->filter) {
        return true;
    }
    struct filter_input in = {e->id, e->topic, e->time, e->time_offset_s, &e->metadata, e->data};
    return filter_match(d->filter, &in);
}
