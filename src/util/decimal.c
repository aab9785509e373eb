/* Exact comparison of JSON numbers: both are brought to 0.d1d2d3... x 10^e with d1 != 0, without expanding exponents.
 * SPDX-License-Identifier: Apache-2.0 */
#include "util/decimal.h"

struct decimal {
    bool minus, zero;
    struct str whole, part; /* digits before and behind the point, leading zeros stripped from what counts */
    int64_t e;              /* exponent of the first significant digit, clamped */
};

#define E_MOST INT64_C(1000000000000000)

static int64_t exponent_of(struct str s)
{
    bool minus = s.n && s.p[0] == '-';
    if (s.n && (s.p[0] == '-' || s.p[0] == '+')) {
        s = str_sub(s, 1, s.n);
    }
    int64_t v = 0;
    for (size_t i = 0; i < s.n; i++) {
        v = v * 10 + (s.p[i] - '0');
        if (v > E_MOST) {
            v = E_MOST;
        }
    }
    return minus ? -v : v;
}

static struct decimal parse(struct str s)
{
    struct decimal d = {0};
    if (s.n && s.p[0] == '-') {
        d.minus = true;
        s = str_sub(s, 1, s.n);
    }
    size_t i = 0;
    while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9') {
        i++;
    }
    d.whole = str_sub(s, 0, i);
    if (i < s.n && s.p[i] == '.') {
        size_t from = ++i;
        while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9') {
            i++;
        }
        d.part = str_sub(s, from, i - from);
    }
    int64_t e = i < s.n ? exponent_of(str_sub(s, i + 1, s.n)) : 0;
    while (d.whole.n && d.whole.p[0] == '0') {
        d.whole = str_sub(d.whole, 1, d.whole.n);
    }
    if (d.whole.n) {
        d.e = e + (int64_t)d.whole.n;
        return d;
    }
    d.e = e;
    while (d.part.n && d.part.p[0] == '0') {
        d.part = str_sub(d.part, 1, d.part.n);
        d.e--;
    }
    d.zero = d.part.n == 0;
    return d;
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
    if (a->e != b->e) {
        return a->e < b->e ? -1 : 1;
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
