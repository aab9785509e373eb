/* Fuzz target: URL queries and percent-encoding. How many pairs stay is counted a second way; what
 * was decoded, encoded again and decoded again, must be the same. SPDX-License-Identifier:
 * Apache-2.0 */
#include <stdlib.h>

#include "util/query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool escapes_are_good(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '%' &&
            (i + 2 >= s.n || str_hex_value(s.p[i + 1]) < 0 || str_hex_value(s.p[i + 2]) < 0)) {
            return false;
        }
    }
    return true;
}

/* A '%' may not reach over the first '='. */
static bool pair_is_good(struct str pair)
{
    struct str name = pair, value = STR_NULL;
    const char *eq = pair.n ? memchr(pair.p, '=', pair.n) : NULL;
    if (eq) {
        name = str_sub(pair, 0, (size_t)(eq - pair.p));
        value = str_sub(pair, name.n + 1, pair.n);
    }
    return pair.n && !memchr(pair.p, ';', pair.n) && escapes_are_good(name) &&
           escapes_are_good(value);
}

static size_t good_pairs(struct str raw)
{
    struct str pair;
    size_t n = 0;
    while (raw.n && str_split(&raw, '&', &pair)) {
        n += pair_is_good(pair);
    }
    return MIN(n, (size_t)QUERY_MOST);
}

static void reads_the_same(const struct query *q, struct arena *a, size_t size)
{
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, size * 3 + q->n * 2 + 1);
    for (size_t i = 0; i < q->n; i++) {
        buf_addz(&b, i ? "&" : "");
        percent_add(&b, q->v[i].name, "");
        buf_addc(&b, '=');
        percent_add(&b, q->v[i].value, "/");
    }
    assert(!b.over);
    struct query again = query_parse(buf_str(&b), a);
    assert(again.n == q->n);
    for (size_t i = 0; i < q->n; i++) {
        assert(str_eq(again.v[i].name, q->v[i].name) && str_eq(again.v[i].value, q->v[i].value));
    }
}

static void lookups_agree(const struct query *q, struct arena *a)
{
    struct str *all, name = q->v[q->n - 1].name;
    size_t n = query_all(q, name, a, &all);
    struct str first = query_get(q, name);
    assert(n >= 1 && n <= q->n && first.p && str_eq(all[0], first) &&
           str_eq(all[n - 1], q->v[q->n - 1].value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str raw = {(const char *)data, size}, path;
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    struct query q = query_parse(raw, &a);
    assert(q.n == good_pairs(raw));
    reads_the_same(&q, &a, size);
    if (q.n) {
        lookups_agree(&q, &a);
    }
    assert(percent_decode(raw, &a, &path) == escapes_are_good(raw));
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, size * 3);
    percent_add(&b, raw, "");
    assert(percent_decode(buf_str(&b), &a, &path) && str_eq(path, raw));
    return 0;
}
