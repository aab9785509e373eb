/* Attempt number -> delay until the next try. Pure. Not when or whether to retry: that is
 * deliver/'s. Spec: pipeline.md 17; jitter and Retry-After: design.md 10.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_CORE_BACKOFF_H
#define OUTRIDER_CORE_BACKOFF_H

#include "util/time.h"

#define BACKOFF_MOST_S INT64_C(9999999)

struct backoff {
    int64_t interval_s;        /* exponential: interval * 2^(attempt-1) */
    const int64_t *schedule_s; /* when schedule_count > 0: by attempt, the last one stays */
    size_t schedule_count;
    double jitter; /* share of the delay, both ways: 0.1 = 90 % to 110 % */
};

/* Delay after attempt `number` failed (from 1). unit: uniform in [0, 1). From 0 to BACKOFF_MOST_S,
 * whatever the settings say. */
usec_t backoff_delay(const struct backoff *b, int number, double unit);
/* Retry-After of RFC 9110 10.2.3: seconds or a date. false: neither. A date in the past gives 0,
 * a number beyond INT32_MAX gives that. */
bool retry_after_parse(struct str value, usec_t now, int64_t *out_s);

#endif
