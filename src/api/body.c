/* Request bodies: names in any case, repeated members, string maps with coerced values; and JSON as Go prints it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/call.h"
#include "util/utf8.h"

#define CONTROL_BODY 10241u /* of bodies that are not a publish, only so much is read (api.md 2.5) */

bool body_object(struct call *c, struct json *out)
{
    struct str body = c->rq->body;
    size_t at;
    if (!str_find(c->path, STR("/publish"), &at)) {
        body = str_sub(body, 0, CONTROL_BODY);
    }
    if (json_first(body, JSON_DEPTH_MAX, out, NULL, NULL) || (out->type != JSON_OBJECT && out->type != JSON_NULL)) {
        reply_error(c, 422, "invalid JSON");
        return false;
    }
    return true;
}

static bool key_is(struct json key, struct str name)
{
    if (!memchr(key.raw.p, '\\', key.raw.n)) {
        return str_eq_ci(str_sub(key.raw, 1, key.raw.n - 2), name);
    }
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    return str_eq_ci(json_text(key, &a), name);
}

struct json body_get(struct json object, const char *name)
{
    struct json found = {JSON_NONE, STR_NULL}, key, value;
    struct str want = str_z(name);
    struct json_iter it = json_iter(object);
    while (json_next(&it, &key, &value)) {
        if (key_is(key, want) && (value.type != JSON_NULL || found.type == JSON_NONE)) {
            found = value;
        }
    }
    return found;
}

bool body_text(struct call *c, struct json object, const char *name, struct str *out)
{
    struct json v = body_get(object, name);
    *out = STR("");
    if (v.type == JSON_STRING) {
        *out = json_text(v, c->a);
        return true;
    }
    if (v.type != JSON_NONE && v.type != JSON_NULL) {
        reply_error(c, 422, "invalid JSON");
        return false;
    }
    return true;
}

/* The shortest digits that read back as the same double: d.ddd and the decimal exponent. */
static void shortest(double v, char digits[32], int *out_exp)
{
    char text[64];
    for (int prec = 0; prec < 18; prec++) {
        snprintf(text, sizeof(text), "%.*e", prec, v);
        if (strtod(text, NULL) == v) {
            break;
        }
    }
    char *e = strchr(text, 'e');
    *out_exp = atoi(e + 1);
    size_t n = 0;
    for (char *p = text; p < e && n < 31; p++) {
        if (*p >= '0' && *p <= '9') {
            digits[n++] = *p;
        }
    }
    digits[n] = '\0';
}

static void add_plain(struct buf *b, const char *digits, int exp)
{
    int n = (int)strlen(digits);
    if (exp < 0) {
        buf_addz(b, "0.");
        for (int i = -1; i > exp; i--) {
            buf_addc(b, '0');
        }
        buf_addz(b, digits);
        return;
    }
    for (int i = 0; i < MAX(n, exp + 1); i++) {
        if (i == exp + 1) {
            buf_addc(b, '.');
        }
        buf_addc(b, i < n ? digits[i] : '0');
    }
}

void add_go_number(struct buf *b, struct str number, bool json_style)
{
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    double v = strtod(arena_z(&a, number), NULL);
    if (signbit(v)) {
        buf_addc(b, '-');
        v = -v;
    }
    if (v == 0) {
        buf_addc(b, '0');
        return;
    }
    char digits[32];
    int exp;
    shortest(v, digits, &exp);
    bool plain = json_style ? v >= 1e-6 && v < 1e21 : exp >= -4 && exp <= 5;
    if (plain) {
        add_plain(b, digits, exp);
        return;
    }
    buf_addc(b, digits[0]);
    if (digits[1]) {
        buf_addc(b, '.');
        buf_addz(b, digits + 1);
    }
    buf_addf(b, json_style ? "e%c%d" : "e%c%02d", exp < 0 ? '-' : '+', abs(exp));
}

bool json_numbers_fit(struct json v)
{
    if (v.type == JSON_NUMBER) {
        CLEANUP(arena_fini) struct arena a;
        arena_init(&a);
        return isfinite(strtod(arena_z(&a, v.raw), NULL));
    }
    struct json_iter it = json_iter(v);
    struct json e;
    while (json_next(&it, NULL, &e)) {
        if (!json_numbers_fit(e)) {
            return false;
        }
    }
    return true;
}

struct member {
    struct str key;
    struct json value;
    size_t order;
};

static int by_key(const void *x, const void *y)
{
    const struct member *a = x, *b = y;
    int c = str_cmp(a->key, b->key);
    return c ? c : (a->order < b->order ? -1 : 1);
}

static void add_canonical_object(struct buf *b, struct json v, bool html)
{
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    size_t n = 0;
    struct member *m = ARENA_ARRAY(&a, struct member, json_count(v) + 1);
    struct json_iter it = json_iter(v);
    struct json key;
    while (json_next(&it, &key, &m[n].value)) {
        m[n].key = json_text(key, &a);
        m[n].order = n;
        n++;
    }
    qsort(m, n, sizeof(*m), by_key);
    buf_addc(b, '{');
    bool first = true;
    for (size_t i = 0; i < n; i++) {
        if (i + 1 < n && str_eq(m[i].key, m[i + 1].key)) {
            continue; /* repeated: the last counts */
        }
        buf_addz(b, first ? "" : ",");
        first = false;
        json_add_string(b, m[i].key, html);
        buf_addc(b, ':');
        json_add_canonical(b, m[i].value, html);
    }
    buf_addc(b, '}');
}

void json_add_canonical(struct buf *b, struct json v, bool html)
{
    struct json e;
    struct json_iter it = json_iter(v);
    switch (v.type) {
    case JSON_OBJECT:
        add_canonical_object(b, v, html);
        break;
    case JSON_ARRAY:
        buf_addc(b, '[');
        for (bool first = true; json_next(&it, NULL, &e); first = false) {
            buf_addz(b, first ? "" : ",");
            json_add_canonical(b, e, html);
        }
        buf_addc(b, ']');
        break;
    case JSON_NUMBER:
        add_go_number(b, v.raw, true);
        break;
    case JSON_STRING: {
        CLEANUP(arena_fini) struct arena a;
        arena_init(&a);
        json_add_string(b, json_text(v, &a), html);
        break;
    }
    case JSON_NULL:
    case JSON_TRUE:
    case JSON_FALSE:
    case JSON_NONE:
        buf_adds(b, v.raw);
        break;
    }
}

static struct str coerce(struct call *c, struct json v)
{
    if (v.type == JSON_STRING) {
        return json_text(v, c->a);
    }
    if (v.type == JSON_NULL) {
        return STR("");
    }
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 1024 * 1024);
    if (v.type == JSON_NUMBER) {
        add_go_number(&b, v.raw, false);
    } else {
        json_add_canonical(&b, v, true);
    }
    return arena_copy(c->a, buf_str(&b));
}

bool body_map(struct call *c, struct json object, const char *name, enum map_rule rule, struct strmap *map, bool *out_present)
{
    struct json v = {JSON_NONE, STR_NULL}, key, value;
    struct json_iter it = json_iter(object);
    while (json_next(&it, &key, &value)) {
        if (key_is(key, str_z(name))) {
            v = value; /* the last one, null included */
        }
    }
    *out_present = v.type != JSON_NONE;
    if (v.type == JSON_NONE) {
        return true;
    }
    if (v.type == JSON_NULL) {
        map->n = 0;
        return true;
    }
    if (v.type != JSON_OBJECT || !json_numbers_fit(v)) {
        reply_error(c, 422, "invalid JSON");
        return false;
    }
    it = json_iter(v);
    while (json_next(&it, &key, &value)) {
        struct str k = json_text(key, c->a);
        if (rule == MAP_MERGE && value.type == JSON_NULL) {
            strmap_del(map, k);
        } else {
            strmap_set(map, c->a, k, coerce(c, value));
        }
    }
    return true;
}

size_t api_add_utf8(struct buf *b, struct str s)
{
    unsigned cp;
    char t[4];
    size_t used = utf8_get(s, &cp);
    buf_add(b, t, utf8_put(t, cp));
    return used;
}
