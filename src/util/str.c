/* Borrowed text: nothing here allocates. Hashes: SipHash-1-3 with a process key for maps;
 * str_hash_stable, whose value may be stored, is 64-bit FNV-1a followed by the finalizer of
 * MurmurHash3 and must never change. Contract: str.h. SPDX-License-Identifier: Apache-2.0 */
#include "util/str.h"

#include <endian.h>
#include <pthread.h>
#include <sys/random.h>

int str_cmp(struct str a, struct str b)
{
    size_t n = MIN(a.n, b.n);
    int c = n ? memcmp(a.p, b.p, n) : 0;
    if (c) {
        return c;
    }
    return a.n < b.n ? -1 : a.n > b.n;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

bool str_eq_ci(struct str a, struct str b)
{
    if (a.n != b.n) {
        return false;
    }
    for (size_t i = 0; i < a.n; i++) {
        if (lower(a.p[i]) != lower(b.p[i])) {
            return false;
        }
    }
    return true;
}

bool str_starts(struct str s, struct str prefix)
{
    return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

bool str_ends(struct str s, struct str suffix)
{
    return s.n >= suffix.n &&
           (suffix.n == 0 || memcmp(s.p + s.n - suffix.n, suffix.p, suffix.n) == 0);
}

bool str_find(struct str s, struct str needle, size_t *out_at)
{
    if (needle.n == 0) {
        *out_at = 0;
        return true;
    }
    const char *at = s.n ? memmem(s.p, s.n, needle.p, needle.n) : NULL;
    if (at) {
        *out_at = (size_t)(at - s.p);
    }
    return at != NULL;
}

static bool blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct str str_trim(struct str s)
{
    while (s.n && blank(s.p[0])) {
        s.p++, s.n--;
    }
    while (s.n && blank(s.p[s.n - 1])) {
        s.n--;
    }
    return s;
}

struct str str_sub(struct str s, size_t from, size_t n)
{
    if (from >= s.n) {
        return (struct str){s.p ? s.p + s.n : NULL, 0};
    }
    return (struct str){s.p + from, MIN(n, s.n - from)};
}

/* A used-up rest has p == NULL, so that "a," yields "a" and "". */
bool str_split(struct str *rest, char sep, struct str *out)
{
    if (!rest->p) {
        return false;
    }
    const char *at = rest->n ? memchr(rest->p, sep, rest->n) : NULL;
    if (!at) {
        *out = *rest;
        *rest = STR_NULL;
        return true;
    }
    *out = (struct str){rest->p, (size_t)(at - rest->p)};
    rest->n -= out->n + 1;
    rest->p = at + 1;
    return true;
}

bool str_to_u64(struct str s, uint64_t *out)
{
    uint64_t v = 0;
    if (s.n == 0) {
        return false;
    }
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9' || __builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v)) {
            return false;
        }
    }
    *out = v;
    return true;
}

bool str_to_i64(struct str s, int64_t *out)
{
    bool minus = s.n && s.p[0] == '-';
    uint64_t v;
    if (!str_to_u64(minus ? str_sub(s, 1, s.n) : s, &v)) {
        return false;
    }
    if (v > (uint64_t)INT64_MAX + minus) {
        return false;
    }
    *out = minus ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

static uint64_t sip_key[2];

static void sip_init(void)
{
    if (getrandom(sip_key, sizeof(sip_key), 0) != (ssize_t)sizeof(sip_key)) {
        UNREACHABLE("getrandom for 16 bytes");
    }
}

#define ROTL(x, b) (((x) << (b)) | ((x) >> (64 - (b))))

static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1], v[1] = ROTL(v[1], 13), v[1] ^= v[0], v[0] = ROTL(v[0], 32);
    v[2] += v[3], v[3] = ROTL(v[3], 16), v[3] ^= v[2];
    v[0] += v[3], v[3] = ROTL(v[3], 21), v[3] ^= v[0];
    v[2] += v[1], v[1] = ROTL(v[1], 17), v[1] ^= v[2], v[2] = ROTL(v[2], 32);
}

uint64_t str_hash(struct str s)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, sip_init);
    return str_hash_keyed(sip_key, s);
}

uint64_t str_hash_keyed(const uint64_t key[2], struct str s)
{
    uint64_t v[4] = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                     key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};
    size_t i = 0;
    for (; i + 8 <= s.n; i += 8) {
        uint64_t m;
        memcpy(&m, s.p + i, 8);
        m = le64toh(m);
        v[3] ^= m;
        sip_round(v);
        v[0] ^= m;
    }
    uint64_t last = 0;
    if (s.n > i) {
        memcpy(&last, s.p + i, s.n - i);
    }
    last = le64toh(last) | (uint64_t)s.n << 56;
    v[3] ^= last;
    sip_round(v);
    v[0] ^= last;
    v[2] ^= 0xff;
    sip_round(v);
    sip_round(v);
    sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t str_hash_stable(struct str s)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < s.n; i++) {
        h = (h ^ (uint8_t)s.p[i]) * UINT64_C(0x100000001b3);
    }
    h ^= h >> 33;
    h *= UINT64_C(0xff51afd7ed558ccd);
    h ^= h >> 33;
    h *= UINT64_C(0xc4ceb9fe1a85ec53);
    return h ^ (h >> 33);
}
