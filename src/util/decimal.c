/* Exact comparison of JSON numbers: both are read as 0.d1d2d3... x 10^(power + shift) with d1 != 0.
 * Powers stay texts and are compared by their difference, so that they may be of any length. Not
 * arithmetic: only order. SPDX-License-Identifier: Apache-2.0 */
#include "util/decimal.h"

struct decimal {
    bool minus, zero;
    struct str whole,
        part; /* digits before and behind the point, from the first significant one on */
    bool power_minus;
    struct str power; /* digits of the written exponent */
    int64_t shift;    /* places from the written exponent to the first significant digit */
};

static struct str digits_from(struct str s, size_t from)
{
    size_t i = from;
    while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9') {
        i++;
    }
    return str_sub(s, from, i - from);
}

static struct str without_zeros(struct str s)
{
    while (s.n && s.p[0] == '0') {
        s = str_sub(s, 1, s.n);
    }
    return s;
}

static void parse_power(struct decimal *d, struct str s)
{
    if (s.n && (s.p[0] == '-' || s.p[0] == '+')) {
        d->power_minus = s.p[0] == '-';
        s = str_sub(s, 1, s.n);
    }
    d->power = without_zeros(digits_from(s, 0));
}

static struct decimal parse(struct str s)
{
    struct decimal d = {0};
    if (s.n && s.p[0] == '-') {
        d.minus = true;
        s = str_sub(s, 1, s.n);
    }
    d.whole = digits_from(s, 0);
    size_t i = d.whole.n;
    if (i < s.n && s.p[i] == '.') {
        d.part = digits_from(s, i + 1);
        i += 1 + d.part.n;
    }
    if (i < s.n) {
        parse_power(&d, str_sub(s, i + 1, s.n));
    }
    d.whole = without_zeros(d.whole);
    d.shift = (int64_t)d.whole.n;
    if (!d.whole.n) {
        size_t written = d.part.n;
        d.part = without_zeros(d.part);
        d.shift = (int64_t)d.part.n - (int64_t)written;
        d.zero = d.part.n == 0;
    }
    return d;
}

/* The digit of a power at place (counted from the end), with its sign. */
static int power_digit(const struct decimal *d, size_t place)
{
    int v = place < d->power.n ? d->power.p[d->power.n - 1 - place] - '0' : 0;
    return d->power_minus ? -v : v;
}

#define GAP_MOST INT64_C(100000000000000000)

/* Power of a minus power of b. Beyond GAP_MOST only the sign counts: no text is long enough to make
 * up for it, and further digits cannot bring the sum back. */
static int64_t power_gap(const struct decimal *a, const struct decimal *b)
{
    int64_t gap = 0;
    for (size_t place = MAX(a->power.n, b->power.n);
         place-- > 0 && gap < GAP_MOST && gap > -GAP_MOST;) {
        gap = gap * 10 + power_digit(a, place) - power_digit(b, place);
    }
    return gap;
}

static char digit(const struct decimal *d, size_t i)
{
    if (i < d->whole.n) {
        return d->whole.p[i];
    }
    i -= d->whole.n;
    return i < d->part.n ? d->part.p[i] : '0';
}

static int magnitude(const struct decimal *a, const struct decimal *b)
{
    int64_t gap = power_gap(a, b) + a->shift - b->shift;
    if (gap) {
        return gap < 0 ? -1 : 1;
    }
    size_t n = MAX(a->whole.n + a->part.n, b->whole.n + b->part.n);
    for (size_t i = 0; i < n; i++) {
        int c = digit(a, i) - digit(b, i);
        if (c) {
            return c;
        }
    }
    return 0;
}

int decimal_cmp(struct str sa, struct str sb)
{
    struct decimal a = parse(sa), b = parse(sb);
    if (a.zero || b.zero) {
        if (a.zero && b.zero) {
            return 0;
        }
        return a.zero ? (b.minus ? 1 : -1) : (a.minus ? -1 : 1);
    }
    if (a.minus != b.minus) {
        return a.minus ? -1 : 1;
    }
    int c = magnitude(&a, &b);
    return a.minus ? -c : c;
}
