/* Two mutually recursive predicates, as the specification has them: on objects (M) and on values (V). An operator that
 * cannot be applied makes its condition false, negated ones too. SPDX-License-Identifier: Apache-2.0 */
#include "core/filter.h"

#include <stdlib.h>

#include "util/decimal.h"
#include "util/json.h"

struct filter {
    struct json root;
    char text[];
};

enum ec filter_new(struct str text, struct filter **out, struct err *err)
{
    struct filter *f = xcalloc(1, sizeof(*f) + text.n + 1);
    memcpy(f->text, text.p, text.n);
    enum ec ec = json_check((struct str){f->text, text.n}, JSON_DEPTH_MAX, &f->root, err);
    if (!ec && f->root.type != JSON_OBJECT) {
        ec = err_set(err, EC_INVALID, "filter must be a JSON object");
    }
    if (ec) {
        free(f);
        return ec;
    }
    *out = f;
    return EC_OK;
}

void filter_free(struct filter *f)
{
    free(f);
}

static bool match_object(struct json v, struct json f);
static bool match_value(struct json v, struct json f);

static bool scalar(struct json v)
{
    return v.type != JSON_ARRAY && v.type != JSON_OBJECT;
}

/* Decoded text of two strings compared; the arena is only touched when escapes are in it. */
static int cmp_strings(struct json a, struct json b)
{
    CLEANUP(arena_fini) struct arena m;
    arena_init(&m);
    return str_cmp(json_text(a, &m), json_text(b, &m));
}

static bool equal_scalars(struct json a, struct json b)
{
    if (a.type != b.type) {
        return false;
    }
    if (a.type == JSON_NUMBER) {
        return decimal_cmp(a.raw, b.raw) == 0;
    }
    return a.type != JSON_STRING || cmp_strings(a, b) == 0;
}

/* A repeated key counts once, with its last value. */
static bool is_last(struct json object, struct json key, struct json value)
{
    CLEANUP(arena_fini) struct arena m;
    arena_init(&m);
    return json_get(object, json_text(key, &m)).raw.p == value.raw.p;
}

static struct json get(struct json object, struct json key)
{
    CLEANUP(arena_fini) struct arena m;
    arena_init(&m);
    return json_get(object, json_text(key, &m));
}

static size_t keys_of(struct json object)
{
    struct json_iter it = json_iter(object);
    struct json key, value;
    size_t n = 0;
    while (json_next(&it, &key, &value)) {
        n += is_last(object, key, value);
    }
    return n;
}

/* Same canonical JSON: keys in any order, arrays in order. */
static bool equal_deep(struct json a, struct json b)
{
    if (scalar(a) || scalar(b) || a.type != b.type) {
        return scalar(a) && scalar(b) && equal_scalars(a, b);
    }
    struct json_iter ia = json_iter(a), ib = json_iter(b);
    struct json key, va, vb;
    if (a.type == JSON_ARRAY) {
        for (;;) {
            bool more_a = json_next(&ia, NULL, &va), more_b = json_next(&ib, NULL, &vb);
            if (more_a != more_b || (more_a && !equal_deep(va, vb))) {
                return false;
            }
            if (!more_a) {
                return true;
            }
        }
    }
    if (keys_of(a) != keys_of(b)) {
        return false;
    }
    while (json_next(&ia, &key, &va)) {
        if (!is_last(a, key, va)) {
            continue;
        }
        vb = get(b, key);
        if (vb.type == JSON_NONE || !equal_deep(va, vb)) {
            return false;
        }
    }
    return true;
}

typedef bool operator_fn(struct json x, struct json c);

static bool op_eq(struct json x, struct json c)
{
    return equal_deep(x, c);
}

static bool op_neq(struct json x, struct json c)
{
    return !equal_deep(x, c);
}

/* Order of two numbers or two strings; false: not comparable. */
static bool order(struct json x, struct json c, int *out)
{
    if (x.type == JSON_NUMBER && c.type == JSON_NUMBER) {
        *out = decimal_cmp(x.raw, c.raw);
        return true;
    }
    if (x.type == JSON_STRING && c.type == JSON_STRING) {
        *out = cmp_strings(x, c);
        return true;
    }
    return false;
}

static bool op_gt(struct json x, struct json c)
{
    int o;
    return order(x, c, &o) && o > 0;
}

static bool op_gte(struct json x, struct json c)
{
    int o;
    return order(x, c, &o) && o >= 0;
}

static bool op_lt(struct json x, struct json c)
{
    int o;
    return order(x, c, &o) && o < 0;
}

static bool op_lte(struct json x, struct json c)
{
    int o;
    return order(x, c, &o) && o <= 0;
}

static bool any_equal(struct json array, struct json wanted)
{
    struct json_iter it = json_iter(array);
    struct json e;
    while (json_next(&it, NULL, &e)) {
        if (equal_deep(e, wanted)) {
            return true;
        }
    }
    return false;
}

/* false: cannot be applied. */
static bool in(struct json x, struct json c, bool *out)
{
    if (c.type == JSON_ARRAY) {
        *out = scalar(x) && any_equal(c, x);
        return scalar(x);
    }
    if (x.type == JSON_ARRAY) {
        *out = any_equal(x, c);
        return true;
    }
    if (x.type == JSON_STRING && c.type == JSON_STRING) {
        CLEANUP(arena_fini) struct arena m;
        arena_init(&m);
        size_t at;
        *out = str_find(json_text(x, &m), json_text(c, &m), &at);
        return true;
    }
    return false;
}

static bool op_in(struct json x, struct json c)
{
    bool r;
    return in(x, c, &r) && r;
}

static bool op_nin(struct json x, struct json c)
{
    bool r;
    return in(x, c, &r) && !r;
}

static bool affix(struct json x, struct json c, bool (*test)(struct str s, struct str part))
{
    if (x.type != JSON_STRING) {
        return false;
    }
    CLEANUP(arena_fini) struct arena m;
    arena_init(&m);
    struct str text = json_text(x, &m);
    if (c.type == JSON_STRING) {
        return test(text, json_text(c, &m));
    }
    if (c.type != JSON_ARRAY) {
        return false;
    }
    struct json_iter it = json_iter(c);
    struct json e;
    while (json_next(&it, NULL, &e)) {
        if (e.type != JSON_STRING) {
            return false;
        }
        if (test(text, json_text(e, &m))) {
            return true;
        }
    }
    return false;
}

static bool op_starts(struct json x, struct json c)
{
    return affix(x, c, str_starts);
}

static bool op_ends(struct json x, struct json c)
{
    return affix(x, c, str_ends);
}

/* The value is there; a missing one is decided by match_object. */
static bool op_exist(struct json x, struct json c)
{
    (void)x;
    return c.type == JSON_TRUE;
}

static const struct {
    const char *name;
    operator_fn *holds;
} operators[] = {
    {"$eq", op_eq},   {"$neq", op_neq}, {"$gt", op_gt},   {"$gte", op_gte},          {"$lt", op_lt},       {"$lte", op_lte},
    {"$in", op_in},   {"$nin", op_nin}, {"$startsWith", op_starts}, {"$endsWith", op_ends}, {"$exist", op_exist},
};

static operator_fn *operator_of(struct json key)
{
    if (key.raw.n < 4 || (key.raw.p[1] != '$' && key.raw.p[1] != '\\')) {
        return NULL;
    }
    for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
        if (json_is_text(key, str_z(operators[i].name))) {
            return operators[i].holds;
        }
    }
    return NULL;
}

/* Whether f has operator keys, and whether all of them hold. */
static bool has_operators(struct json v, struct json f, bool *out_hold)
{
    struct json_iter it = json_iter(f);
    struct json key, c;
    bool any = false;
    *out_hold = true;
    while (json_next(&it, &key, &c)) {
        operator_fn *holds = operator_of(key);
        if (!holds || !is_last(f, key, c)) {
            continue;
        }
        any = true;
        if (!holds(v, c)) {
            *out_hold = false;
        }
    }
    return any;
}

static bool some_object_match(struct json v, struct json alternatives)
{
    struct json_iter it = json_iter(alternatives);
    struct json e;
    while (json_next(&it, NULL, &e)) {
        if (match_object(v, e)) {
            return true;
        }
    }
    return false;
}

static bool every_object_match(struct json v, struct json all)
{
    struct json_iter it = json_iter(all);
    struct json e;
    while (json_next(&it, NULL, &e)) {
        if (!match_object(v, e)) {
            return false;
        }
    }
    return true;
}

static bool some_element_matches(struct json array, struct json f)
{
    struct json_iter it = json_iter(array);
    struct json e;
    while (json_next(&it, NULL, &e)) {
        if (match_value(e, f)) {
            return true;
        }
    }
    return false;
}

static bool match_array(struct json v, struct json f)
{
    if (f.type == JSON_ARRAY) {
        struct json_iter it = json_iter(f);
        struct json e;
        while (json_next(&it, NULL, &e)) {
            if (!some_element_matches(v, e)) {
                return false;
            }
        }
        return true;
    }
    bool hold;
    if (f.type == JSON_OBJECT && has_operators(v, f, &hold)) {
        return hold;
    }
    return some_element_matches(v, f);
}

static bool match_value(struct json v, struct json f)
{
    if (scalar(f)) {
        if (v.type == JSON_ARRAY) {
            return some_element_matches(v, f);
        }
        return scalar(v) && equal_scalars(v, f);
    }
    if (v.type == JSON_ARRAY) {
        return match_array(v, f);
    }
    if (f.type != JSON_OBJECT) {
        return false;
    }
    struct json alternatives = json_get(f, STR("$or"));
    if (alternatives.type == JSON_ARRAY) {
        return some_object_match(v, alternatives);
    }
    bool hold;
    if (has_operators(v, f, &hold)) {
        return hold;
    }
    return !scalar(v) && match_object(v, f);
}

static bool wants_absence(struct json f)
{
    return f.type == JSON_OBJECT && json_get(f, STR("$exist")).type == JSON_FALSE;
}

static bool match_key(struct json v, struct json key, struct json f)
{
    if (f.type == JSON_ARRAY && json_is_text(key, STR("$or"))) {
        return some_object_match(v, f);
    }
    if (f.type == JSON_ARRAY && json_is_text(key, STR("$and"))) {
        return every_object_match(v, f);
    }
    struct json there = get(v, key);
    return there.type == JSON_NONE ? wants_absence(f) : match_value(there, f);
}

static bool match_object(struct json v, struct json f)
{
    struct json negated = json_get(f, STR("$not"));
    if (negated.type != JSON_NONE) {
        bool r = match_object(v, negated);
        if (keys_of(f) == 1) {
            return !r;
        }
        if (r) {
            return false;
        }
    }
    if (v.type != JSON_OBJECT || f.type != JSON_OBJECT) {
        return match_value(v, f);
    }
    struct json_iter it = json_iter(f);
    struct json key, value;
    while (json_next(&it, &key, &value)) {
        if (json_is_text(key, STR("$not")) || !is_last(f, key, value)) {
            continue;
        }
        if (!match_key(v, key, value)) {
            return false;
        }
    }
    return true;
}

/* Whole seconds, with the event's own offset. */
static void add_time(struct buf *b, usec_t t, int32_t offset_s)
{
    char text[TIME_TEXT_MAX];
    usec_t seconds = t / USEC_PER_SEC - (t % USEC_PER_SEC < 0);
    struct str s = time_text(text, (seconds + offset_s) * USEC_PER_SEC);
    buf_addc(b, '"');
    if (offset_s == 0) {
        buf_adds(b, s);
    } else {
        int minutes = (offset_s < 0 ? -offset_s : offset_s) / 60;
        buf_adds(b, str_sub(s, 0, s.n - 1));
        buf_addf(b, "%c%02d:%02d", offset_s < 0 ? '-' : '+', minutes / 60, minutes % 60);
    }
    buf_addc(b, '"');
}

/* The document that filters see; the payload is embedded as it is. */
static void add_document(struct buf *b, const struct filter_input *in)
{
    buf_addz(b, "{\"id\":");
    json_add_string(b, in->id, false);
    buf_addz(b, ",\"topic\":");
    json_add_string(b, in->topic, false);
    buf_addz(b, ",\"time\":");
    add_time(b, in->time, in->time_offset_s);
    buf_addz(b, ",\"metadata\":");
    strmap_add_json(b, in->metadata, false);
    buf_addz(b, ",\"data\":");
    buf_adds(b, in->data);
    buf_addc(b, '}');
}

bool filter_match(const struct filter *f, const struct filter_input *in)
{
    if (!f || json_count(f->root) == 0) {
        return true;
    }
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, SIZE_MAX / 2);
    add_document(&b, in);
    return match_object((struct json){JSON_OBJECT, buf_str(&b)}, f->root);
}
