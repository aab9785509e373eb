/* The filter language of destinations: a JSON object held against an event. Compiled once, then
 * evaluated on the published text itself: nothing of it is copied, numbers compare as exact
 * decimals. Not for topics (topic.h); who asks when is match.h's. Pure, any thread.
 * Spec: pipeline.md 8. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_CORE_FILTER_H
#define OUTRIDER_CORE_FILTER_H

#include "core/strmap.h"
#include "util/time.h"

#define FILTER_TEXT_MAX (256u * 1024)
#define FILTER_DEPTH_MAX 256

/* One evaluation reads at most about this many bytes, counting repeats: what is not decided by
 * then is no match, whatever $not says. */
#define FILTER_WORK_MIN (UINT64_C(4) << 20)
#define FILTER_WORK_PER_BYTE 64 /* and so much more for each byte of what it looks at */

struct filter;

/* text must be a JSON object (borrowed until this returns). EC_INVALID otherwise, EC_LIMIT when it
 * is larger or deeper than above. What is in it is not judged: an unknown operator is the name of
 * a member. */
enum ec filter_new(struct str text, struct filter **out, struct err *err) MUST_CHECK;
void filter_free(struct filter *f); /* NULL is fine */

/* What a filter sees of an event. */
struct filter_input {
    struct str id, topic;
    usec_t time;
    int32_t time_offset_s;
    const struct strmap *metadata; /* NULL: none */
    struct str data;               /* checked JSON text; what is no object counts as {} */
};
/* NULL matches everything. */
bool filter_match(const struct filter *f, const struct filter_input *in);

#endif
