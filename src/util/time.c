/* Clocks and dates. Days are counted by the civil-from-days method of Howard Hinnant's chrono
 * notes, valid for all years used here. No time zones but offsets; libc's calendar functions are
 * not used. Contract: time.h. SPDX-License-Identifier: Apache-2.0 */
#include "util/time.h"

#include <stdatomic.h>
#include <time.h>

static _Atomic int64_t wall_offset;

nsec_t mono_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (nsec_t)t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

usec_t wall_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (usec_t)t.tv_sec * USEC_PER_SEC + t.tv_nsec / 1000 +
           atomic_load_explicit(&wall_offset, memory_order_relaxed);
}

void wall_set_offset(usec_t by)
{
    atomic_store(&wall_offset, by);
}

static int64_t days_of(int64_t y, unsigned m, unsigned d)
{
    y -= m <= 2;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    unsigned yoe = (unsigned)(y - era * 400);
    unsigned doy = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
    unsigned doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return era * 146097 + (int64_t)doe - 719468;
}

static void civil_of(int64_t days, int64_t *y, unsigned *m, unsigned *d)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    unsigned doe = (unsigned)(days - era * 146097);
    unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    unsigned mp = (5 * doy + 2) / 153;
    *d = doy - (153 * mp + 2) / 5 + 1;
    *m = mp < 10 ? mp + 3 : mp - 9;
    *y = (int64_t)yoe + era * 400 + (*m <= 2);
}

static unsigned month_days(int64_t y, unsigned m)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    return days[m - 1] + (m == 2 && leap);
}

/* Exactly n digits at *s. */
static bool digits(struct str *s, size_t n, unsigned *out)
{
    if (s->n < n) {
        return false;
    }
    unsigned v = 0;
    for (size_t i = 0; i < n; i++) {
        if (s->p[i] < '0' || s->p[i] > '9') {
            return false;
        }
        v = v * 10 + (unsigned)(s->p[i] - '0');
    }
    *out = v;
    *s = str_sub(*s, n, s->n);
    return true;
}

static bool skip(struct str *s, char c)
{
    if (!s->n || s->p[0] != c) {
        return false;
    }
    *s = str_sub(*s, 1, s->n);
    return true;
}

static bool fraction(struct str *s, int64_t *out_us)
{
    *out_us = 0;
    if (!skip(s, '.') && !skip(s, ',')) {
        return true;
    }
    int64_t scale = 100000;
    size_t n = 0;
    while (s->n && s->p[0] >= '0' && s->p[0] <= '9') {
        *out_us += (s->p[0] - '0') * scale;
        scale /= 10;
        n++;
        *s = str_sub(*s, 1, s->n);
    }
    return n > 0;
}

static bool zone(struct str *s, int *out_s)
{
    if (skip(s, 'Z')) {
        *out_s = 0;
        return true;
    }
    int sign = skip(s, '+') ? 1 : skip(s, '-') ? -1 : 0;
    unsigned h, m;
    if (!sign || !digits(s, 2, &h) || !skip(s, ':') || !digits(s, 2, &m) || h > 24 || m > 60) {
        return false;
    }
    *out_s = sign * (int)(h * 3600 + m * 60);
    return true;
}

bool time_parse(struct str s, usec_t *out, int *out_offset_s)
{
    unsigned y, mo, d, h, mi, sec;
    if (!digits(&s, 4, &y) || !skip(&s, '-') || !digits(&s, 2, &mo) || !skip(&s, '-') ||
        !digits(&s, 2, &d) || !skip(&s, 'T')) {
        return false;
    }
    /* Go tolerates a one-digit hour. */
    if (!digits(&s, 2, &h) && !digits(&s, 1, &h)) {
        return false;
    }
    if (!skip(&s, ':') || !digits(&s, 2, &mi) || !skip(&s, ':') || !digits(&s, 2, &sec)) {
        return false;
    }
    int64_t us;
    int offset;
    if (!fraction(&s, &us) || !zone(&s, &offset) || s.n) {
        return false;
    }
    if (mo < 1 || mo > 12 || d < 1 || d > month_days(y, mo) || h > 23 || mi > 59 || sec > 59) {
        return false;
    }
    int64_t secs = days_of(y, mo, d) * 86400 + h * 3600 + mi * 60 + sec - offset;
    *out = secs * USEC_PER_SEC + us;
    if (out_offset_s) {
        *out_offset_s = offset;
    }
    return true;
}

#define TIME_LEAST (-INT64_C(62167219200) * USEC_PER_SEC) /* 0000-01-01 */
#define TIME_MOST                                                                                  \
    (INT64_C(253402300800) * USEC_PER_SEC - 1) /* 9999-12-31, its last microsecond                 \
                                                */

struct str time_text(char out[TIME_TEXT_MAX], usec_t t)
{
    t = MAX(MIN(t, TIME_MOST), TIME_LEAST);
    int64_t secs = t / USEC_PER_SEC, us = t % USEC_PER_SEC;
    if (us < 0) {
        us += USEC_PER_SEC, secs--;
    }
    int64_t days = secs / 86400, in_day = secs % 86400;
    if (in_day < 0) {
        in_day += 86400, days--;
    }
    int64_t y;
    unsigned m, d;
    civil_of(days, &y, &m, &d);
    char *p = out;
    unsigned parts[] = {
        (unsigned)(y / 100 % 100),    (unsigned)(y % 100),    m, d, (unsigned)(in_day / 3600),
        (unsigned)(in_day / 60 % 60), (unsigned)(in_day % 60)};
    const char *between = "\0--T::\0";
    for (int i = 0; i < 7; i++) {
        *p++ = (char)('0' + parts[i] / 10);
        *p++ = (char)('0' + parts[i] % 10);
        if (between[i]) {
            *p++ = between[i];
        }
    }
    if (us) {
        *p++ = '.';
        for (int64_t scale = 100000; us; scale /= 10) {
            *p++ = (char)('0' + us / scale);
            us %= scale;
        }
    }
    *p++ = 'Z';
    return (struct str){out, (size_t)(p - out)};
}

void time_add(struct buf *b, usec_t t)
{
    char text[TIME_TEXT_MAX];
    buf_adds(b, time_text(text, t));
}

static bool month_name(struct str s, unsigned *out)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (unsigned i = 0; i < 12; i++) {
        if (s.n >= 3 && memcmp(s.p, names + 3 * i, 3) == 0) {
            *out = i + 1;
            return true;
        }
    }
    return false;
}

static bool clock_of(struct str *s, unsigned *h, unsigned *m, unsigned *sec)
{
    return digits(s, 2, h) && skip(s, ':') && digits(s, 2, m) && skip(s, ':') &&
           digits(s, 2, sec) && *h < 24 && *m < 60 && *sec < 61;
}

/* A year of four digits, or of two: 70 to 99 are last century's. */
static bool year_of(struct str *s, unsigned *y)
{
    if (digits(s, 4, y)) {
        return true;
    }
    if (!digits(s, 2, y)) {
        return false;
    }
    *y += *y < 70 ? 2000 : 1900;
    return true;
}

struct http_date {
    unsigned y, mo, d, h, mi, sec;
};

/* Behind the comma of "Sun, 06 Nov 1994 08:49:37 GMT" or "Sunday, 06-Nov-94 08:49:37 GMT". */
static bool http_new(struct str s, struct http_date *t)
{
    if (!skip(&s, ' ') || !digits(&s, 2, &t->d) || !(skip(&s, ' ') || skip(&s, '-')) ||
        !month_name(s, &t->mo)) {
        return false;
    }
    s = str_sub(s, 3, s.n);
    return (skip(&s, ' ') || skip(&s, '-')) && year_of(&s, &t->y) && skip(&s, ' ') &&
           clock_of(&s, &t->h, &t->mi, &t->sec) && str_eqz(s, " GMT");
}

/* "Sun Nov  6 08:49:37 1994" */
static bool http_asctime(struct str s, struct http_date *t)
{
    if (s.n != 24 || s.p[3] != ' ' || !month_name(str_sub(s, 4, 3), &t->mo)) {
        return false;
    }
    s = str_sub(s, 7, s.n);
    return skip(&s, ' ') && (skip(&s, ' ') ? digits(&s, 1, &t->d) : digits(&s, 2, &t->d)) &&
           skip(&s, ' ') && clock_of(&s, &t->h, &t->mi, &t->sec) && skip(&s, ' ') &&
           digits(&s, 4, &t->y) && s.n == 0;
}

bool time_parse_http(struct str s, usec_t *out)
{
    struct http_date t;
    size_t comma;
    s = str_trim(s);
    bool ok = str_find(s, STR(","), &comma) ? http_new(str_sub(s, comma + 1, s.n), &t)
                                            : http_asctime(s, &t);
    if (!ok || t.d < 1 || t.d > month_days(t.y, t.mo)) {
        return false;
    }
    *out = (days_of(t.y, t.mo, t.d) * 86400 + t.h * 3600 + t.mi * 60 + t.sec) * USEC_PER_SEC;
    return true;
}
