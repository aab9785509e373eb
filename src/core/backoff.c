/* Delays of retries. Contract: backoff.h. SPDX-License-Identifier: Apache-2.0 */
#include "core/backoff.h"

#define RETRY_AFTER_MOST ((int64_t)INT32_MAX)

static int64_t plain_s(const struct backoff *b, int number)
{
    size_t n = number > 1 ? (size_t)number - 1 : 0;
    if (b->schedule_count) {
        return b->schedule_s[MIN(n, b->schedule_count - 1)];
    }
    int64_t s = b->interval_s;
    for (size_t i = 0; i < n && s > 0 && s < BACKOFF_MOST_S; i++) {
        s *= 2;
    }
    return s;
}

usec_t backoff_delay(const struct backoff *b, int number, double unit)
{
    int64_t s = MIN(MAX(plain_s(b, number), 0), BACKOFF_MOST_S);
    double factor = 1.0 + b->jitter * (2.0 * unit - 1.0);
    double delay = (double)(s * USEC_PER_SEC) * factor;
    return (usec_t)MIN(MAX(delay, 0.0), (double)(BACKOFF_MOST_S * USEC_PER_SEC));
}

static bool all_digits(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9') {
            return false;
        }
    }
    return s.n > 0;
}

bool retry_after_parse(struct str value, usec_t now, int64_t *out_s)
{
    value = str_trim(value);
    uint64_t s;
    usec_t at;
    if (all_digits(value)) {
        bool fits = str_to_u64(value, &s) && s <= (uint64_t)RETRY_AFTER_MOST;
        *out_s = fits ? (int64_t)s : RETRY_AFTER_MOST;
        return true;
    }
    if (!time_parse_http(value, &at)) {
        return false;
    }
    int64_t wait = at <= now ? 0 : (at - now + USEC_PER_SEC - 1) / USEC_PER_SEC;
    *out_s = MIN(wait, RETRY_AFTER_MOST);
    return true;
}
