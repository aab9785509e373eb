/* Delays of retries. SPDX-License-Identifier: Apache-2.0 */
#include "core/backoff.h"

static int64_t plain_s(const struct backoff *b, int number)
{
    size_t n = number > 1 ? (size_t)number - 1 : 0;
    if (b->schedule_count) {
        return b->schedule_s[MIN(n, b->schedule_count - 1)];
    }
    int64_t s = b->interval_s;
    for (size_t i = 0; i < n && s < BACKOFF_MOST_S; i++) {
        s *= 2;
    }
    return s;
}

usec_t backoff_delay(const struct backoff *b, int number, double unit)
{
    int64_t s = MIN(plain_s(b, number), BACKOFF_MOST_S);
    double factor = 1.0 + b->jitter * (2.0 * unit - 1.0);
    return (usec_t)((double)(s * USEC_PER_SEC) * factor);
}

bool retry_after_parse(struct str value, usec_t now, int64_t *out_s)
{
    value = str_trim(value);
    uint64_t s;
    usec_t at;
    if (str_to_u64(value, &s)) {
        *out_s = (int64_t)MIN(s, (uint64_t)INT32_MAX);
        return true;
    }
    if (!time_parse_http(value, &at)) {
        return false;
    }
    *out_s = at <= now ? 0 : (at - now + USEC_PER_SEC - 1) / USEC_PER_SEC;
    return true;
}
