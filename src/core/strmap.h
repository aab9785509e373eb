/* Pairs of text, kept sorted by key bytes: metadata, config, delivery metadata; and the same with secret values:
 * credentials. Plain data; whoever makes one owns the memory (usually an arena). SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_CORE_STRMAP_H
#define OUTRIDER_CORE_STRMAP_H

#include "util/arena.h"
#include "util/json.h"
#include "util/secret.h"

struct strpair {
    struct str key, value;
};
struct strmap {
    struct strpair *v; /* sorted by key, no key twice */
    size_t n;
};

bool strmap_get(const struct strmap *m, struct str key, struct str *out);
/* Sets or replaces in an arena-owned map (copies the vector when it must grow; key and value are borrowed). */
void strmap_set(struct strmap *m, struct arena *a, struct str key, struct str value);
void strmap_del(struct strmap *m, struct str key);
struct strmap strmap_copy(const struct strmap *m, struct arena *a); /* deep */
bool strmap_equal(const struct strmap *x, const struct strmap *y);
/* {"k":"v",...} sorted, Go escapes (html) when asked. */
void strmap_add_json(struct buf *b, const struct strmap *m, bool html);
/* From a checked JSON object whose values are all strings (null counts as ""); EC_INVALID otherwise. Last of a repeated key wins. */
enum ec strmap_from_json(struct strmap *out, struct arena *a, struct json object) MUST_CHECK;

struct cred {
    struct str key;
    struct secret value;
};
struct credmap {
    struct cred *v; /* sorted by key */
    size_t n;
};
/* Values are revealed by secret_reveal alone; the secrets are heap-owned: credmap_fini clears them. */
const struct secret *credmap_get(const struct credmap *m, struct str key); /* NULL when absent */
void credmap_set(struct credmap *m, struct arena *a, struct str key, struct str value);
void credmap_del(struct credmap *m, struct str key);
struct credmap credmap_copy(const struct credmap *m, struct arena *a);
bool credmap_equal(const struct credmap *x, const struct credmap *y);
void credmap_fini(struct credmap *m);

struct strlist {
    struct str *v;
    size_t n;
};
struct strlist strlist_copy(const struct strlist *l, struct arena *a);
bool strlist_has(const struct strlist *l, struct str s);
bool strlist_equal(const struct strlist *x, const struct strlist *y);
void strlist_sort(struct strlist *l); /* by bytes */
void strlist_add_json(struct buf *b, const struct strlist *l, bool html);

#endif
