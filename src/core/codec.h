/* Stored binary forms of core nouns: little-endian base-128 numbers and length-prefixed text behind a version byte.
 * To change a form: write a new version byte, keep reading the old ones. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_CORE_CODEC_H
#define OUTRIDER_CORE_CODEC_H

#include "core/strmap.h"

void enc_u64(struct buf *b, uint64_t v);
void enc_i64(struct buf *b, int64_t v); /* zigzag */
void enc_str(struct buf *b, struct str s);
void enc_list(struct buf *b, const struct strlist *l);
void enc_map(struct buf *b, const struct strmap *m);

/* Reading: `bad` is sticky, values are zero or empty from then on. Text borrows from the blob, vectors live in a. */
struct dec {
    struct str rest;
    bool bad;
    struct arena *a;
};
uint64_t dec_u64(struct dec *d);
int64_t dec_i64(struct dec *d);
struct str dec_str(struct dec *d);
struct strlist dec_list(struct dec *d);
struct strmap dec_map(struct dec *d);

/* Copies text to *at and moves *at on; for nouns that live in one block. */
struct str pack_str(char **at, struct str s);

#endif
