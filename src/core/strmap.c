/* Sorted pairs of text, and the same with secret values. Small vectors: binary search, insertion by copying.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/strmap.h"

#include <stdlib.h>

/* Index of the first key not below `key`. */
static size_t pair_at(const struct strmap *m, struct str key)
{
    size_t lo = 0, hi = m->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (str_cmp(m->v[mid].key, key) < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

bool strmap_get(const struct strmap *m, struct str key, struct str *out)
{
    size_t at = pair_at(m, key);
    if (at == m->n || !str_eq(m->v[at].key, key)) {
        return false;
    }
    *out = m->v[at].value;
    return true;
}

void strmap_set(struct strmap *m, struct arena *a, struct str key, struct str value)
{
    size_t at = pair_at(m, key);
    if (at < m->n && str_eq(m->v[at].key, key)) {
        m->v[at].value = value;
        return;
    }
    /* Room grows at powers of two, so n alone tells whether the vector is full. */
    if (m->n == 0 || (m->n & (m->n - 1)) == 0) {
        struct strpair *v = ARENA_ARRAY(a, struct strpair, m->n ? m->n * 2 : 1);
        if (m->n) {
            memcpy(v, m->v, m->n * sizeof(*v));
        }
        m->v = v;
    }
    memmove(m->v + at + 1, m->v + at, (m->n - at) * sizeof(*m->v));
    m->v[at] = (struct strpair){key, value};
    m->n++;
}

void strmap_del(struct strmap *m, struct str key)
{
    size_t at = pair_at(m, key);
    if (at == m->n || !str_eq(m->v[at].key, key)) {
        return;
    }
    /* The full-at-powers-of-two rule of strmap_set allows for a smaller n: it copies early, never late. */
    memmove(m->v + at, m->v + at + 1, (m->n - at - 1) * sizeof(*m->v));
    m->n--;
}

struct strmap strmap_copy(const struct strmap *m, struct arena *a)
{
    struct strmap out = {NULL, 0};
    for (size_t i = 0; i < m->n; i++) {
        strmap_set(&out, a, arena_copy(a, m->v[i].key), arena_copy(a, m->v[i].value));
    }
    return out;
}

bool strmap_equal(const struct strmap *x, const struct strmap *y)
{
    if (x->n != y->n) {
        return false;
    }
    for (size_t i = 0; i < x->n; i++) {
        if (!str_eq(x->v[i].key, y->v[i].key) || !str_eq(x->v[i].value, y->v[i].value)) {
            return false;
        }
    }
    return true;
}

void strmap_add_json(struct buf *b, const struct strmap *m, bool html)
{
    buf_addc(b, '{');
    for (size_t i = 0; i < m->n; i++) {
        if (i) {
            buf_addc(b, ',');
        }
        json_add_string(b, m->v[i].key, html);
        buf_addc(b, ':');
        json_add_string(b, m->v[i].value, html);
    }
    buf_addc(b, '}');
}

enum ec strmap_from_json(struct strmap *out, struct arena *a, struct json object)
{
    if (object.type != JSON_OBJECT) {
        return EC_INVALID;
    }
    struct strmap m = {NULL, 0};
    struct json_iter it = json_iter(object);
    struct json key, value;
    while (json_next(&it, &key, &value)) {
        if (value.type != JSON_STRING && value.type != JSON_NULL) {
            return EC_INVALID;
        }
        strmap_set(&m, a, json_text(key, a), value.type == JSON_STRING ? json_text(value, a) : STR(""));
    }
    *out = m;
    return EC_OK;
}

static size_t cred_at(const struct credmap *m, struct str key)
{
    size_t at = 0;
    while (at < m->n && str_cmp(m->v[at].key, key) < 0) {
        at++;
    }
    return at;
}

const struct secret *credmap_get(const struct credmap *m, struct str key)
{
    size_t at = cred_at(m, key);
    return at < m->n && str_eq(m->v[at].key, key) ? &m->v[at].value : NULL;
}

void credmap_set(struct credmap *m, struct arena *a, struct str key, struct str value)
{
    size_t at = cred_at(m, key);
    if (at == m->n || !str_eq(m->v[at].key, key)) {
        struct cred *v = ARENA_ARRAY(a, struct cred, m->n + 1);
        if (m->n) {
            memcpy(v, m->v, at * sizeof(*v));
            memcpy(v + at + 1, m->v + at, (m->n - at) * sizeof(*v));
        }
        v[at].key = key;
        m->v = v;
        m->n++;
    }
    secret_set(&m->v[at].value, value);
}

void credmap_del(struct credmap *m, struct str key)
{
    size_t at = cred_at(m, key);
    if (at == m->n || !str_eq(m->v[at].key, key)) {
        return;
    }
    secret_fini(&m->v[at].value);
    memmove(m->v + at, m->v + at + 1, (m->n - at - 1) * sizeof(*m->v));
    m->n--;
}

struct credmap credmap_copy(const struct credmap *m, struct arena *a)
{
    struct credmap out = {NULL, 0};
    for (size_t i = 0; i < m->n; i++) {
        credmap_set(&out, a, arena_copy(a, m->v[i].key), secret_reveal(&m->v[i].value));
    }
    return out;
}

bool credmap_equal(const struct credmap *x, const struct credmap *y)
{
    if (x->n != y->n) {
        return false;
    }
    for (size_t i = 0; i < x->n; i++) {
        if (!str_eq(x->v[i].key, y->v[i].key) ||
            !secret_equal(&x->v[i].value, secret_reveal(&y->v[i].value))) {
            return false;
        }
    }
    return true;
}

void credmap_fini(struct credmap *m)
{
    for (size_t i = 0; i < m->n; i++) {
        secret_fini(&m->v[i].value);
    }
    m->n = 0;
}

struct strlist strlist_copy(const struct strlist *l, struct arena *a)
{
    struct strlist out = {l->n ? ARENA_ARRAY(a, struct str, l->n) : NULL, l->n};
    for (size_t i = 0; i < l->n; i++) {
        out.v[i] = arena_copy(a, l->v[i]);
    }
    return out;
}

bool strlist_has(const struct strlist *l, struct str s)
{
    for (size_t i = 0; i < l->n; i++) {
        if (str_eq(l->v[i], s)) {
            return true;
        }
    }
    return false;
}

bool strlist_equal(const struct strlist *x, const struct strlist *y)
{
    if (x->n != y->n) {
        return false;
    }
    for (size_t i = 0; i < x->n; i++) {
        if (!str_eq(x->v[i], y->v[i])) {
            return false;
        }
    }
    return true;
}

static int by_bytes(const void *x, const void *y)
{
    return str_cmp(*(const struct str *)x, *(const struct str *)y);
}

void strlist_sort(struct strlist *l)
{
    if (l->n > 1) {
        qsort(l->v, l->n, sizeof(*l->v), by_bytes);
    }
}

void strlist_add_json(struct buf *b, const struct strlist *l, bool html)
{
    buf_addc(b, '[');
    for (size_t i = 0; i < l->n; i++) {
        if (i) {
            buf_addc(b, ',');
        }
        json_add_string(b, l->v[i], html);
    }
    buf_addc(b, ']');
}
