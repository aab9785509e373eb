/* Identifiers from the buffered random source of hash.c; RFC 9562 for the UUIDs. Which type and
 * prefix an installation uses is configuration and comes from the caller. Contract: id.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "util/id.h"

#include "util/hash.h"
#include "util/time.h"

static size_t uuid_text(const uint8_t u[16], char out[ID_TEXT_MAX])
{
    static const char hex[] = "0123456789abcdef";
    char *p = out;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            *p++ = '-';
        }
        *p++ = hex[u[i] >> 4];
        *p++ = hex[u[i] & 15];
    }
    *p = '\0';
    return (size_t)(p - out);
}

static size_t nanoid_text(char out[ID_TEXT_MAX])
{
    static const char alphabet[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    size_t n = 0;
    while (n < 26) {
        uint64_t bits = random_u64();
        for (int i = 0; i < 10 && n < 26; i++, bits >>= 6) {
            unsigned v = bits & 63;
            if (v < 62) { /* the other two are thrown away: uniform */
                out[n++] = alphabet[v];
            }
        }
    }
    out[n] = '\0';
    return n;
}

size_t id_text(enum id_type type, char out[ID_TEXT_MAX])
{
    if (type == ID_NANOID) {
        return nanoid_text(out);
    }
    uint8_t u[16];
    random_bytes(u, sizeof(u));
    if (type == ID_UUIDV7) {
        uint64_t ms = (uint64_t)(wall_now() / USEC_PER_MSEC);
        for (int i = 0; i < 6; i++) {
            u[i] = (uint8_t)(ms >> (40 - 8 * i));
        }
    }
    u[6] = (uint8_t)((u[6] & 0x0f) | (type == ID_UUIDV7 ? 0x70 : 0x40));
    u[8] = (uint8_t)((u[8] & 0x3f) | 0x80);
    return uuid_text(u, out);
}

struct str id_new(struct arena *a, enum id_type type, struct str prefix)
{
    char text[ID_TEXT_MAX];
    size_t n = id_text(type, text);
    char *p = arena_alloc(a, prefix.n + n + 1);
    if (prefix.n) {
        memcpy(p, prefix.p, prefix.n);
    }
    memcpy(p + prefix.n, text, n + 1);
    return (struct str){p, prefix.n + n};
}
