/* The filter language of destinations: a JSON object held against an event. Evaluated on the published text itself: nothing
 * is copied, numbers compare as exact decimals. Pure, any thread. Spec: pipeline.md 8. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_CORE_FILTER_H
#define OUTRIDER_CORE_FILTER_H

#include "core/strmap.h"
#include "util/time.h"

struct filter;

/* text must be a JSON object. EC_INVALID otherwise. */
enum ec filter_new(struct str text, struct filter **out, struct err *err) MUST_CHECK;
void filter_free(struct filter *f); /* NULL is fine */

/* What a filter sees of an event. */
struct filter_input {
    struct str id, topic;
    usec_t time;
    int32_t time_offset_s;
    const struct strmap *metadata;
    struct str data; /* a JSON object's checked text */
};
bool filter_match(const struct filter *f, const struct filter_input *in);

#endif
