/* Functions of signing templates that come from the library known with the language: join, trunc,
 * sha256sum ... A new one is one line in the table. SPDX-License-Identifier: Apache-2.0 */
#include "dest/shared/template_priv.h"
#include "util/hash.h"

/* ---- of the library: text ---- */

static struct value change_case(struct run *r, const struct value *v, bool up)
{
    if (!args_text(r, v)) {
        return *v;
    }
    char *p = arena_z(&r->arena, v->s);
    for (size_t i = 0; i < v->s.n; i++) {
        bool letter = up ? p[i] >= 'a' && p[i] <= 'z' : p[i] >= 'A' && p[i] <= 'Z';
        p[i] = letter ? (char)(p[i] ^ 0x20) : p[i];
    }
    return value_str((struct str){p, v->s.n});
}

static struct value fn_upper(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    return change_case(r, &a[0], true);
}

static struct value fn_lower(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    return change_case(r, &a[0], false);
}

static struct value fn_trim(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    return args_text(r, &a[0]) ? value_str(str_trim(a[0].s)) : a[0];
}

static struct value fn_trim_prefix(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    if (!args_text(r, &a[0]) || !args_text(r, &a[1])) {
        return a[1];
    }
    return value_str(str_starts(a[1].s, a[0].s) ? str_sub(a[1].s, a[0].s.n, a[1].s.n) : a[1].s);
}

static struct value fn_trim_suffix(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    if (!args_text(r, &a[0]) || !args_text(r, &a[1])) {
        return a[1];
    }
    return value_str(str_ends(a[1].s, a[0].s) ? str_sub(a[1].s, 0, a[1].s.n - a[0].s.n) : a[1].s);
}

static struct value fn_has_prefix(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    return value_bool(args_text(r, &a[0]) && args_text(r, &a[1]) && str_starts(a[1].s, a[0].s));
}

static struct value fn_has_suffix(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    return value_bool(args_text(r, &a[0]) && args_text(r, &a[1]) && str_ends(a[1].s, a[0].s));
}

static struct value fn_contains(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    size_t at;
    return value_bool(args_text(r, &a[0]) && args_text(r, &a[1]) && str_find(a[1].s, a[0].s, &at));
}

/* First bytes; with a negative number the last. */
static struct value fn_trunc(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    int64_t k = args_int(r, &a[0]);
    if (!args_text(r, &a[1])) {
        return a[1];
    }
    struct str s = a[1].s;
    if (k >= 0) {
        return value_str(str_sub(s, 0, (size_t)k));
    }
    return value_str(k > -(int64_t)s.n ? str_sub(s, s.n - (size_t)-k, s.n) : s);
}

static struct value fn_substr(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    int64_t from = args_int(r, &a[0]), to = args_int(r, &a[1]);
    if (!args_text(r, &a[2])) {
        return a[2];
    }
    struct str s = a[2].s;
    from = from < 0 ? 0 : MIN(from, (int64_t)s.n);
    to = to < 0 ? (int64_t)s.n : MIN(to, (int64_t)s.n);
    return value_str(to > from ? str_sub(s, (size_t)from, (size_t)(to - from)) : STR(""));
}

static struct value fn_replace(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    if (!args_text(r, &a[0]) || !args_text(r, &a[1]) || !args_text(r, &a[2])) {
        return a[2];
    }
    struct str rest = a[2].s;
    size_t at;
    if (a[0].s.n == 0) {
        return run_fail(r, "error calling replace: nothing to look for");
    }
    struct buf b;
    buf_init(&b, TEXT_MOST);
    while (str_find(rest, a[0].s, &at)) {
        buf_adds(&b, str_sub(rest, 0, at));
        buf_adds(&b, a[1].s);
        rest = str_sub(rest, at + a[0].s.n, rest.n);
    }
    buf_adds(&b, rest);
    return args_made(r, &b);
}

static struct value fn_cat(struct run *r, const struct value *a, size_t n)
{
    struct buf b;
    buf_init(&b, TEXT_MOST);
    for (size_t i = 0; i < n; i++) {
        buf_addz(&b, i ? " " : "");
        value_add(&b, &a[i]);
    }
    return args_made(r, &b);
}

static struct value fn_quote(struct run *r, const struct value *a, size_t n)
{
    struct buf b;
    buf_init(&b, TEXT_MOST);
    for (size_t i = 0; i < n; i++) {
        buf_addz(&b, i ? " " : "");
        json_add_string(&b, args_shown(r, &a[i]), false);
    }
    return args_made(r, &b);
}

static struct value fn_to_string(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    return value_str(args_shown(r, &a[0]));
}

static struct value fn_b64enc(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    struct buf b;
    buf_init(&b, TEXT_MOST);
    if (args_text(r, &a[0])) {
        b64_add(&b, (const uint8_t *)a[0].s.p, a[0].s.n);
    }
    return args_made(r, &b);
}

static struct value fn_sha256sum(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    uint8_t digest[32];
    struct buf b;
    buf_init(&b, 128);
    if (args_text(r, &a[0])) {
        sha256(a[0].s, digest);
        hex_add(&b, digest, sizeof(digest));
    }
    return args_made(r, &b);
}

/* ---- of the library: lists ---- */

static struct value fn_join(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    struct buf b;
    if (!args_text(r, &a[0])) {
        return a[0];
    }
    buf_init(&b, TEXT_MOST);
    if (a[1].type != V_LIST) {
        value_add(&b, &a[1]);
    }
    for (size_t i = 0; a[1].type == V_LIST && i < a[1].n; i++) {
        buf_adds(&b, i ? a[0].s : STR(""));
        value_add(&b, &a[1].v[i]);
    }
    return args_made(r, &b);
}

static struct value fn_list(struct run *r, const struct value *a, size_t n)
{
    struct value *v = ARENA_ARRAY(&r->arena, struct value, n + 1);
    for (size_t i = 0; i < n; i++) {
        v[i] = a[i];
    }
    return (struct value){.type = V_LIST, .v = v, .n = n};
}

static struct value fn_split_list(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    size_t parts = 1, at;
    if (!args_text(r, &a[0]) || !args_text(r, &a[1]) || a[0].s.n == 0) {
        return run_fail(r, "error calling splitList: two texts are wanted");
    }
    for (struct str rest = a[1].s; str_find(rest, a[0].s, &at);
         rest = str_sub(rest, at + a[0].s.n, rest.n)) {
        parts++;
    }
    struct value *v = ARENA_ARRAY(&r->arena, struct value, parts);
    struct str rest = a[1].s;
    for (size_t i = 0; i < parts; i++) {
        size_t end = str_find(rest, a[0].s, &at) ? at : rest.n;
        v[i] = value_str(str_sub(rest, 0, end));
        rest = str_sub(rest, end + a[0].s.n, rest.n);
    }
    return (struct value){.type = V_LIST, .v = v, .n = parts};
}

static struct value fn_first(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    if (a[0].type != V_LIST) {
        return run_fail(r, "error calling first: not a list");
    }
    return a[0].n ? a[0].v[0] : (struct value){.type = V_NIL};
}

static struct value fn_last(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    if (a[0].type != V_LIST) {
        return run_fail(r, "error calling last: not a list");
    }
    return a[0].n ? a[0].v[a[0].n - 1] : (struct value){.type = V_NIL};
}

/* ---- of the library: choices, numbers ---- */

static struct value fn_default(struct run *r, const struct value *a, size_t n)
{
    (void)r;
    return n == 2 && value_is_true(&a[1]) ? a[1] : a[0];
}

static struct value fn_empty(struct run *r, const struct value *a, size_t n)
{
    (void)r, (void)n;
    return value_bool(!value_is_true(&a[0]));
}

static struct value fn_ternary(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    if (a[2].type != V_BOOL) {
        return run_fail(r, "wrong type of argument: expected bool");
    }
    return a[2].i ? a[0] : a[1];
}

static struct value fn_fail(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    return run_fail(r, "error calling fail: %.*s", STR_ARG(args_shown(r, &a[0])));
}

static struct value fn_int(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    return value_int(args_int(r, &a[0]));
}

static struct value fn_add(struct run *r, const struct value *a, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (__builtin_add_overflow(sum, args_int(r, &a[i]), &sum)) {
            return run_fail(r, "error calling add: the number is too large");
        }
    }
    return value_int(sum);
}

static struct value fn_sub(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    int64_t d;
    if (__builtin_sub_overflow(args_int(r, &a[0]), args_int(r, &a[1]), &d)) {
        return run_fail(r, "error calling sub: the number is too large");
    }
    return value_int(d);
}

static const struct template_func funcs[] = {
    {"upper", 1, 1, fn_upper},
    {"lower", 1, 1, fn_lower},
    {"trim", 1, 1, fn_trim},
    {"trimPrefix", 2, 2, fn_trim_prefix},
    {"trimSuffix", 2, 2, fn_trim_suffix},
    {"hasPrefix", 2, 2, fn_has_prefix},
    {"hasSuffix", 2, 2, fn_has_suffix},
    {"contains", 2, 2, fn_contains},
    {"trunc", 2, 2, fn_trunc},
    {"substr", 3, 3, fn_substr},
    {"replace", 3, 3, fn_replace},
    {"cat", 1, ARGS_MOST, fn_cat},
    {"quote", 1, ARGS_MOST, fn_quote},
    {"toString", 1, 1, fn_to_string},
    {"b64enc", 1, 1, fn_b64enc},
    {"sha256sum", 1, 1, fn_sha256sum},
    {"join", 2, 2, fn_join},
    {"list", 0, ARGS_MOST, fn_list},
    {"splitList", 2, 2, fn_split_list},
    {"first", 1, 1, fn_first},
    {"last", 1, 1, fn_last},
    {"default", 1, 2, fn_default},
    {"empty", 1, 1, fn_empty},
    {"ternary", 3, 3, fn_ternary},
    {"fail", 1, 1, fn_fail},
    {"int", 1, 1, fn_int},
    {"int64", 1, 1, fn_int},
    {"add", 1, ARGS_MOST, fn_add},
    {"sub", 2, 2, fn_sub},
};

const struct template_func *template_library_func(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(funcs); i++) {
        if (str_eqz(name, funcs[i].name)) {
            return &funcs[i];
        }
    }
    return NULL;
}
