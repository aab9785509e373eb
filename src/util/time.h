/* Two clocks and RFC 3339. Wall time orders and names things for people; monotonic time is for
 * deadlines. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_UTIL_TIME_H
#define OUTRIDER_UTIL_TIME_H

#include "util/buf.h"

typedef int64_t nsec_t; /* monotonic nanoseconds */
typedef int64_t
    usec_t; /* wall clock: microseconds since 1970-01-01T00:00:00Z; years 0001 to 9999 fit */

#define NSEC_PER_SEC INT64_C(1000000000)
#define NSEC_PER_MSEC INT64_C(1000000)
#define USEC_PER_SEC INT64_C(1000000)
#define USEC_PER_MSEC INT64_C(1000)

nsec_t mono_now(void);
usec_t wall_now(void); /* tests may shift it with wall_set_offset */
void wall_set_offset(usec_t by);

/* Strict RFC 3339 as Go's time.Parse(time.RFC3339Nano): "2006-01-02T15:04:05[.fraction](Z|±hh:mm)".
 * Fractions beyond microseconds are cut. *out_offset_s (may be NULL): the written offset. */
bool time_parse(struct str s, usec_t *out, int *out_offset_s);
/* RFC 3339 in UTC, fraction without trailing zeros, none when zero. Times outside the years 0000 to
 * 9999 are shown as the nearest inside. */
void time_add(struct buf *b, usec_t t);
#define TIME_TEXT_MAX 40
struct str time_text(char out[TIME_TEXT_MAX], usec_t t);
/* RFC 9110 HTTP date ("Sun, 06 Nov 1994 08:49:37 GMT"), the obsolete forms too. */
bool time_parse_http(struct str s, usec_t *out);

#endif
