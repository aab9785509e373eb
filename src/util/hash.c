/* Our face on OpenSSL's digests, and the encodings and random bytes beside them. Fetching an
 * algorithm costs more than hashing a kilobyte, so what is fetched is kept for the life of the
 * process. TLS and ciphers are not here but in io. SPDX-License-Identifier: Apache-2.0 */
#include "util/hash.h"

#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>

struct hmac {
    EVP_MAC_CTX *ctx;
};

static pthread_once_t fetch_once = PTHREAD_ONCE_INIT;
static EVP_MAC *fetched_hmac;
static EVP_MD *fetched_sha256;

static void fetch(void)
{
    fetched_hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    fetched_sha256 = EVP_MD_fetch(NULL, "SHA2-256", NULL);
    if (!fetched_hmac || !fetched_sha256) {
        UNREACHABLE("OpenSSL without HMAC or SHA-256");
    }
}

struct hmac *hmac_new(const char *algorithm, struct str key)
{
    static char names[][8] = {"sha256", "sha1", "sha384", "sha512", "md5"};
    char *name = NULL;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        name = strcmp(algorithm, names[i]) == 0 ? names[i] : name;
    }
    if (!name) {
        return NULL;
    }
    pthread_once(&fetch_once, fetch);
    EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(fetched_hmac);
    OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0),
                           OSSL_PARAM_END};
    /* An empty key is a key; OpenSSL takes a NULL one for "keep the old". */
    static const unsigned char none[1] = {0};
    const unsigned char *k = key.n ? (const unsigned char *)key.p : none;
    if (!ctx || !EVP_MAC_init(ctx, k, key.n, params)) {
        EVP_MAC_CTX_free(ctx); /* md5 where policy forbids it */
        return NULL;
    }
    struct hmac *h = xmalloc(sizeof(*h));
    h->ctx = ctx;
    return h;
}

void hmac_free(struct hmac *h)
{
    if (h) {
        EVP_MAC_CTX_free(h->ctx);
        free(h);
    }
}

size_t hmac_sign(struct hmac *h, const struct str *parts, size_t count, uint8_t out[HMAC_MAX])
{
    size_t n = 0;
    int ok = EVP_MAC_init(h->ctx, NULL, 0, NULL); /* the key stays */
    for (size_t i = 0; i < count; i++) {
        ok = ok && EVP_MAC_update(h->ctx, (const unsigned char *)parts[i].p, parts[i].n);
    }
    if (!ok || !EVP_MAC_final(h->ctx, out, &n, HMAC_MAX)) {
        UNREACHABLE("OpenSSL does not sign");
    }
    return n;
}

void sha256(struct str s, uint8_t out[32])
{
    unsigned n = 32;
    pthread_once(&fetch_once, fetch);
    if (!EVP_Digest(s.p ? s.p : "", s.n, out, &n, fetched_sha256, NULL)) {
        UNREACHABLE("OpenSSL does not hash");
    }
}

void hex_add(struct buf *b, const uint8_t *p, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    char *at = buf_space(b, n * 2);
    if (!at) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        *at++ = hex[p[i] >> 4];
        *at++ = hex[p[i] & 15];
    }
    b->n += n * 2;
}

static const char b64_std[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char b64_url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void b64_any(struct buf *b, const uint8_t *p, size_t n, const char *alphabet, bool pad)
{
    for (size_t i = 0; i < n; i += 3) {
        size_t have = MIN(n - i, (size_t)3);
        unsigned v = (unsigned)p[i] << 16 | (have > 1 ? (unsigned)p[i + 1] << 8 : 0) |
                     (have > 2 ? (unsigned)p[i + 2] : 0);
        char t[4] = {alphabet[v >> 18], alphabet[v >> 12 & 63], alphabet[v >> 6 & 63],
                     alphabet[v & 63]};
        for (size_t k = have + 1; k < 4; k++) {
            t[k] = '=';
        }
        buf_add(b, t, pad ? 4 : have + 1);
    }
}

void b64_add(struct buf *b, const uint8_t *p, size_t n)
{
    b64_any(b, p, n, b64_std, true);
}

void b64url_add(struct buf *b, const uint8_t *p, size_t n)
{
    b64_any(b, p, n, b64_url, false);
}

static bool b64_undo(struct buf *b, struct str s, const char *alphabet)
{
    unsigned v = 0, bits = 0;
    if (s.n % 4 == 1) {
        return false;
    }
    for (size_t i = 0; i < s.n; i++) {
        const char *at = s.p[i] ? strchr(alphabet, s.p[i]) : NULL;
        if (!at) {
            return false;
        }
        v = (v << 6 | (unsigned)(at - alphabet)) & 0xffffff;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            buf_addc(b, (char)(v >> bits & 0xff));
        }
    }
    return !b->over;
}

bool b64_decode(struct buf *b, struct str s)
{
    if (s.n % 4) {
        return false;
    }
    for (int i = 0; i < 2 && s.n && s.p[s.n - 1] == '='; i++) {
        s.n--;
    }
    return b64_undo(b, s, b64_std);
}

bool b64url_decode(struct buf *b, struct str s)
{
    return b64_undo(b, s, b64_url);
}

bool hex_decode(struct buf *b, struct str s)
{
    if (s.n % 2) {
        return false;
    }
    for (size_t i = 0; i < s.n; i += 2) {
        unsigned v = 0;
        for (size_t k = 0; k < 2; k++) {
            int x = str_hex_value(s.p[i + k]);
            if (x < 0) {
                return false;
            }
            v = v << 4 | (unsigned)x;
        }
        buf_addc(b, (char)v);
    }
    return !b->over;
}

void random_bytes(void *p, size_t n)
{
    static _Thread_local uint8_t pool[4096];
    static _Thread_local size_t left;
    uint8_t *out = p;
    while (n) {
        if (!left) {
            for (size_t got = 0; got < sizeof(pool);) {
                ssize_t r = getrandom(pool + got, sizeof(pool) - got, 0);
                if (r < 0 && errno != EINTR) {
                    UNREACHABLE("no random bytes from the kernel");
                }
                got += r > 0 ? (size_t)r : 0;
            }
            left = sizeof(pool);
        }
        size_t take = MIN(n, left);
        uint8_t *from = pool + sizeof(pool) - left;
        memcpy(out, from, take);
        explicit_bzero(from, take); /* what was handed out is not kept */
        out += take, n -= take, left -= take;
    }
}

uint64_t random_u64(void)
{
    uint64_t v;
    random_bytes(&v, sizeof(v));
    return v;
}

double random_unit(void)
{
    return (double)(random_u64() >> 11) * 0x1.0p-53;
}

bool equal_ct(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || CRYPTO_memcmp(a.p, b.p, a.n) == 0);
}

#define NONCE 12
#define TAG 16

static void seal_key(const struct secret *secret, uint8_t key[32])
{
    struct str s = secret_reveal(secret);
    if (s.n == 32) {
        memcpy(key, s.p, 32);
    } else {
        sha256(s, key);
    }
}

void seal(struct buf *out, const struct secret *secret, struct str plain)
{
    uint8_t key[32];
    seal_key(secret, key);
    char *at = buf_space(out, NONCE + plain.n + TAG);
    if (!at) {
        return;
    }
    unsigned char *nonce = (unsigned char *)at, *text = nonce + NONCE;
    random_bytes(nonce, NONCE);
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    int n = 0, last = 0;
    if (!EVP_EncryptInit_ex(c, EVP_aes_256_gcm(), NULL, key, nonce) ||
        !EVP_EncryptUpdate(c, text, &n, (const unsigned char *)plain.p, (int)plain.n) ||
        !EVP_EncryptFinal_ex(c, text + n, &last) ||
        !EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, TAG, text + plain.n)) {
        UNREACHABLE("AES-GCM");
    }
    EVP_CIPHER_CTX_free(c);
    explicit_bzero(key, sizeof(key));
    out->n += NONCE + plain.n + TAG;
}

bool unseal(struct buf *out, const struct secret *secret, struct str sealed)
{
    if (sealed.n < NONCE + TAG) {
        return false;
    }
    size_t text = sealed.n - NONCE - TAG;
    char *at = buf_space(out, text + 1);
    if (!at) {
        return false;
    }
    uint8_t key[32], tag[TAG];
    seal_key(secret, key);
    memcpy(tag, sealed.p + NONCE + text, TAG);
    EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
    int n = 0, last = 0;
    bool ok =
        EVP_DecryptInit_ex(c, EVP_aes_256_gcm(), NULL, key, (const unsigned char *)sealed.p) &&
        EVP_DecryptUpdate(c, (unsigned char *)at, &n, (const unsigned char *)sealed.p + NONCE,
                          (int)text) &&
        EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, TAG, tag) &&
        EVP_DecryptFinal_ex(c, (unsigned char *)at + n, &last) > 0;
    EVP_CIPHER_CTX_free(c);
    explicit_bzero(key, sizeof(key));
    out->n += ok ? text : 0;
    return ok;
}
