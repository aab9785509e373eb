/* UTF-8, one code point at a time, by the rules of RFC 3629: no surrogates, no overlong forms. For
 * JSON and for texts that answers show; payloads are never put through it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_UTIL_UTF8_H
#define OUTRIDER_UTIL_UTF8_H

#include "util/str.h"

#define UTF8_REPLACEMENT 0xfffdu

/* First code point of s (not empty); returns the bytes used. An invalid byte gives U+FFFD and 1; a
 * real U+FFFD uses 3 bytes, so the pair (U+FFFD, 1) tells an invalid one. */
static inline size_t utf8_get(struct str s, unsigned *out)
{
    const unsigned char *p = (const unsigned char *)s.p;
    unsigned c = p[0];
    if (c < 0x80) {
        *out = c;
        return 1;
    }
    size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    *out = UTF8_REPLACEMENT;
    if (c < 0xc2 || c > 0xf4 || s.n < n) {
        return 1;
    }
    unsigned v = c & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 1;
        }
        v = v << 6 | (p[i] & 0x3f);
    }
    if (v < least[n] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000)) {
        return 1;
    }
    *out = v;
    return n;
}

/* Writes c (valid) to out; returns the bytes, at most 4. */
static inline size_t utf8_put(char *out, unsigned c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

static inline bool utf8_valid(struct str s)
{
    while (s.n) {
        unsigned c;
        size_t n = utf8_get(s, &c);
        if (n == 1 && c == UTF8_REPLACEMENT) {
            return false;
        }
        s.p += n, s.n -= n;
    }
    return true;
}

#endif
