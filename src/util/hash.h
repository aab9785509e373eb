/* HMAC-SHA256, SHA-256, base64, hex, random bytes, constant-time compare: our face on OpenSSL's
 * digests. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_UTIL_HASH_H
#define OUTRIDER_UTIL_HASH_H

#include "util/buf.h"
#include "util/secret.h"

/* A keyed context made once per secret and used again: 0.8 µs per KB. Algorithms: "sha256", "sha1",
 * "sha512", "md5" . One thread. */
struct hmac;
#define HMAC_MAX 64
struct hmac *hmac_new(const char *algorithm, struct str key); /* NULL: unknown algorithm */
void hmac_free(struct hmac *h);
/* Signs the concatenation of parts; returns the number of bytes in out. */
size_t hmac_sign(struct hmac *h, const struct str *parts, size_t count, uint8_t out[HMAC_MAX]);

void sha256(struct str s, uint8_t out[32]);
void hex_add(struct buf *b, const uint8_t *p, size_t n);    /* lower case */
void b64_add(struct buf *b, const uint8_t *p, size_t n);    /* standard alphabet, padded */
void b64url_add(struct buf *b, const uint8_t *p, size_t n); /* URL alphabet, no padding */
/* Decode into b; false on a wrong character, length or padding. std: padding required; url: padding
 * refused. */
bool b64_decode(struct buf *b, struct str s);
bool b64url_decode(struct buf *b, struct str s);
bool hex_decode(struct buf *b, struct str s);

void random_bytes(void *p, size_t n);      /* CSPRNG, buffered per thread */
uint64_t random_u64(void);                 /* the same source */
double random_unit(void);                  /* [0, 1), not for secrets */
bool equal_ct(struct str a, struct str b); /* constant time for equal lengths */

/* AES-256-GCM: out = nonce (12) + cipher text + tag (16). The key is SHA-256 of `secret` unless it
 * has 32 bytes itself. */
void seal(struct buf *out, const struct secret *secret, struct str plain);
bool unseal(struct buf *out, const struct secret *secret,
            struct str sealed); /* false: damaged, or another key */

#endif
