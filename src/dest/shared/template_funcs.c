/* Functions of signing templates: of the language itself (and, eq, index, len, printf ...) and of the library that comes with
 * it (join, trunc, sha256sum ...). A piped value is the last argument. A new function is one line in the table.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "dest/shared/template_priv.h"
#include "util/hash.h"

#define TEXT_MOST ((size_t)64 * 1024 * 1024)

/* ---- values ---- */

bool value_is_true(const struct value *v)
{
    switch (v->type) {
    case V_NIL:
        return false;
    case V_STR:
        return v->s.n > 0;
    case V_INT:
    case V_BOOL:
        return v->i != 0;
    case V_LIST:
        return v->n > 0;
    case V_TIME:
    case V_ROOT:
        break;
    }
    return true;
}

void value_add(struct buf *b, const struct value *v)
{
    switch (v->type) {
    case V_NIL:
        buf_addz(b, "<no value>");
        break;
    case V_STR:
        buf_adds(b, v->s);
        break;
    case V_INT:
        buf_addi(b, v->i);
        break;
    case V_BOOL:
        buf_addz(b, v->i ? "true" : "false");
        break;
    case V_LIST:
        for (size_t i = 0; i < v->n; i++) {
            buf_addc(b, i ? ' ' : '[');
            value_add(b, &v->v[i]);
        }
        buf_addz(b, v->n ? "]" : "[]");
        break;
    case V_TIME:
        template_time_add(b, v, STR("2006-01-02 15:04:05.999999999 -0700 MST"));
        break;
    case V_ROOT:
        buf_addz(b, "{}");
        break;
    }
}

/* Any value as text, as the library's functions take it. */
static struct str text_of(struct run *r, const struct value *v)
{
    if (v->type == V_STR) {
        return v->s;
    }
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, TEXT_MOST);
    value_add(&b, v);
    return arena_copy(&r->arena, buf_str(&b));
}

static bool is_text(struct run *r, const struct value *v)
{
    if (v->type != V_STR) {
        run_fail(r, "wrong type of argument: expected string");
    }
    return v->type == V_STR;
}

static int64_t int_of(struct run *r, const struct value *v)
{
    int64_t i = v->i;
    if (v->type != V_INT && !(v->type == V_STR && str_to_i64(v->s, &i))) {
        run_fail(r, "wrong type of argument: expected int");
    }
    return i;
}

static struct value made(struct run *r, struct buf *b)
{
    if (b->over) {
        buf_fini(b);
        return run_fail(r, "the text is too long");
    }
    struct str s = arena_copy(&r->arena, buf_str(b));
    buf_fini(b);
    return value_str(s);
}

/* ---- of the language ---- */

static struct value fn_and(struct run *r, const struct value *a, size_t n)
{
    (void)r;
    size_t i = 0;
    while (i + 1 < n && value_is_true(&a[i])) {
        i++;
    }
    return a[i];
}

static struct value fn_or(struct run *r, const struct value *a, size_t n)
{
    (void)r;
    size_t i = 0;
    while (i + 1 < n && !value_is_true(&a[i])) {
        i++;
    }
    return a[i];
}

static struct value fn_not(struct run *r, const struct value *a, size_t n)
{
    (void)r, (void)n;
    return value_bool(!value_is_true(&a[0]));
}

static struct value fn_len(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    if (a[0].type != V_STR && a[0].type != V_LIST) {
        return run_fail(r, "error calling len: no text and not a list");
    }
    return value_int((int64_t)(a[0].type == V_STR ? a[0].s.n : a[0].n));
}

static struct value fn_index(struct run *r, const struct value *a, size_t n)
{
    struct value v = a[0];
    for (size_t i = 1; i < n; i++) {
        if (v.type != V_LIST) {
            return run_fail(r, "error calling index: not a list");
        }
        if (a[i].type != V_INT || a[i].i < 0 || (uint64_t)a[i].i >= v.n) {
            return run_fail(r, "error calling index: index out of range");
        }
        v = v.v[a[i].i];
    }
    return v;
}

/* -1, 0, 1; other: the two cannot be compared. */
static int compare(struct run *r, const struct value *x, const struct value *y)
{
    if (x->type != y->type || (x->type != V_STR && x->type != V_INT && x->type != V_BOOL)) {
        run_fail(r, "incompatible types for comparison");
        return 0;
    }
    int c = x->type == V_STR ? str_cmp(x->s, y->s) : (x->i > y->i) - (x->i < y->i);
    return (c > 0) - (c < 0);
}

static struct value fn_eq(struct run *r, const struct value *a, size_t n)
{
    bool equal = false;
    for (size_t i = 1; i < n; i++) {
        equal |= compare(r, &a[0], &a[i]) == 0;
    }
    return value_bool(equal);
}

static struct value fn_ne(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    return value_bool(compare(r, &a[0], &a[1]) != 0);
}

static struct value fn_lt(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    return value_bool(compare(r, &a[0], &a[1]) < 0);
}

static struct value fn_le(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    return value_bool(compare(r, &a[0], &a[1]) <= 0);
}

static struct value fn_gt(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    return value_bool(compare(r, &a[0], &a[1]) > 0);
}

static struct value fn_ge(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    return value_bool(compare(r, &a[0], &a[1]) >= 0);
}

/* Blanks between two neighbours of which neither is text. */
static struct value fn_print(struct run *r, const struct value *a, size_t n)
{
    struct buf b;
    buf_init(&b, TEXT_MOST);
    for (size_t i = 0; i < n; i++) {
        if (i && a[i].type != V_STR && a[i - 1].type != V_STR) {
            buf_addc(&b, ' ');
        }
        value_add(&b, &a[i]);
    }
    return made(r, &b);
}

static struct value fn_println(struct run *r, const struct value *a, size_t n)
{
    struct buf b;
    buf_init(&b, TEXT_MOST);
    for (size_t i = 0; i < n; i++) {
        buf_addz(&b, i ? " " : "");
        value_add(&b, &a[i]);
    }
    buf_addc(&b, '\n');
    return made(r, &b);
}

struct verb {
    bool left, zeros;
    size_t width;
    char letter;
};

static void add_padded(struct buf *b, const struct verb *v, struct str s)
{
    size_t pad = v->width > s.n ? v->width - s.n : 0;
    bool sign = v->zeros && s.n && s.p[0] == '-';
    if (sign) {
        buf_addc(b, '-');
        s = str_sub(s, 1, s.n);
    }
    for (size_t i = 0; !v->left && i < pad; i++) {
        buf_addc(b, v->zeros ? '0' : ' ');
    }
    buf_adds(b, s);
    for (size_t i = 0; v->left && i < pad; i++) {
        buf_addc(b, ' ');
    }
}

static void add_verb(struct run *r, struct buf *b, const struct verb *v, const struct value *a)
{
    CLEANUP(buf_fini) struct buf text;
    buf_init(&text, TEXT_MOST);
    bool fits = v->letter == 'v' || (v->letter == 'd' && a->type == V_INT) || (v->letter == 's' && a->type != V_INT && a->type != V_BOOL) ||
                (v->letter == 't' && a->type == V_BOOL) || (v->letter == 'q' && a->type == V_STR) || (v->letter == 'x' && a->type == V_STR);
    if (!fits) {
        run_fail(r, "error calling printf: %%%c does not fit its argument or is not supported", v->letter);
    } else if (v->letter == 'q') {
        json_add_string(&text, a->s, false);
    } else if (v->letter == 'x') {
        hex_add(&text, (const uint8_t *)a->s.p, a->s.n);
    } else {
        value_add(&text, a);
    }
    add_padded(b, v, buf_str(&text));
}

/* Reads flags, width and letter behind a '%'. */
static struct verb take_verb(struct str *f)
{
    struct verb v = {0};
    while (f->n && (f->p[0] == '-' || f->p[0] == '0')) {
        v.left |= f->p[0] == '-';
        v.zeros |= f->p[0] == '0';
        *f = str_sub(*f, 1, f->n);
    }
    while (f->n && f->p[0] >= '0' && f->p[0] <= '9') {
        v.width = MIN(v.width * 10 + (size_t)(f->p[0] - '0'), (size_t)1000);
        *f = str_sub(*f, 1, f->n);
    }
    v.letter = f->n ? f->p[0] : '?';
    *f = str_sub(*f, 1, f->n);
    return v;
}

static struct value fn_printf(struct run *r, const struct value *a, size_t n)
{
    size_t used = 1;
    struct buf b;
    if (!is_text(r, &a[0])) {
        return a[0];
    }
    buf_init(&b, TEXT_MOST);
    for (struct str f = a[0].s; f.n && !r->failed;) {
        char c = f.p[0];
        f = str_sub(f, 1, f.n);
        if (c != '%') {
            buf_addc(&b, c);
            continue;
        }
        struct verb v = take_verb(&f);
        if (v.letter == '%') {
            buf_addc(&b, '%');
        } else if (used < n) {
            add_verb(r, &b, &v, &a[used++]);
        } else {
            run_fail(r, "error calling printf: an argument is missing");
        }
    }
    if (used < n) {
        run_fail(r, "error calling printf: too many arguments");
    }
    return made(r, &b);
}

/* ---- of the library: text ---- */

static struct value change_case(struct run *r, const struct value *v, bool up)
{
    if (!is_text(r, v)) {
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
    return is_text(r, &a[0]) ? value_str(str_trim(a[0].s)) : a[0];
}

static struct value fn_trim_prefix(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    if (!is_text(r, &a[0]) || !is_text(r, &a[1])) {
        return a[1];
    }
    return value_str(str_starts(a[1].s, a[0].s) ? str_sub(a[1].s, a[0].s.n, a[1].s.n) : a[1].s);
}

static struct value fn_trim_suffix(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    if (!is_text(r, &a[0]) || !is_text(r, &a[1])) {
        return a[1];
    }
    return value_str(str_ends(a[1].s, a[0].s) ? str_sub(a[1].s, 0, a[1].s.n - a[0].s.n) : a[1].s);
}

static struct value fn_has_prefix(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    return value_bool(is_text(r, &a[0]) && is_text(r, &a[1]) && str_starts(a[1].s, a[0].s));
}

static struct value fn_has_suffix(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    return value_bool(is_text(r, &a[0]) && is_text(r, &a[1]) && str_ends(a[1].s, a[0].s));
}

static struct value fn_contains(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    size_t at;
    return value_bool(is_text(r, &a[0]) && is_text(r, &a[1]) && str_find(a[1].s, a[0].s, &at));
}

/* First bytes; with a negative number the last. */
static struct value fn_trunc(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    int64_t k = int_of(r, &a[0]);
    if (!is_text(r, &a[1])) {
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
    int64_t from = int_of(r, &a[0]), to = int_of(r, &a[1]);
    if (!is_text(r, &a[2])) {
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
    if (!is_text(r, &a[0]) || !is_text(r, &a[1]) || !is_text(r, &a[2])) {
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
    return made(r, &b);
}

static struct value fn_cat(struct run *r, const struct value *a, size_t n)
{
    struct buf b;
    buf_init(&b, TEXT_MOST);
    for (size_t i = 0; i < n; i++) {
        buf_addz(&b, i ? " " : "");
        value_add(&b, &a[i]);
    }
    return made(r, &b);
}

static struct value fn_quote(struct run *r, const struct value *a, size_t n)
{
    struct buf b;
    buf_init(&b, TEXT_MOST);
    for (size_t i = 0; i < n; i++) {
        buf_addz(&b, i ? " " : "");
        json_add_string(&b, text_of(r, &a[i]), false);
    }
    return made(r, &b);
}

static struct value fn_to_string(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    return value_str(text_of(r, &a[0]));
}

static struct value fn_b64enc(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    struct buf b;
    buf_init(&b, TEXT_MOST);
    if (is_text(r, &a[0])) {
        b64_add(&b, (const uint8_t *)a[0].s.p, a[0].s.n);
    }
    return made(r, &b);
}

static struct value fn_sha256sum(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    uint8_t digest[32];
    struct buf b;
    buf_init(&b, 128);
    if (is_text(r, &a[0])) {
        sha256(a[0].s, digest);
        hex_add(&b, digest, sizeof(digest));
    }
    return made(r, &b);
}

/* ---- of the library: lists ---- */

static struct value fn_join(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    struct buf b;
    if (!is_text(r, &a[0])) {
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
    return made(r, &b);
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
    if (!is_text(r, &a[0]) || !is_text(r, &a[1]) || a[0].s.n == 0) {
        return run_fail(r, "error calling splitList: two texts are wanted");
    }
    for (struct str rest = a[1].s; str_find(rest, a[0].s, &at); rest = str_sub(rest, at + a[0].s.n, rest.n)) {
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
    return run_fail(r, "error calling fail: %.*s", STR_ARG(text_of(r, &a[0])));
}

static struct value fn_int(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    return value_int(int_of(r, &a[0]));
}

static struct value fn_add(struct run *r, const struct value *a, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (__builtin_add_overflow(sum, int_of(r, &a[i]), &sum)) {
            return run_fail(r, "error calling add: the number is too large");
        }
    }
    return value_int(sum);
}

static struct value fn_sub(struct run *r, const struct value *a, size_t n)
{
    (void)n;
    int64_t d;
    if (__builtin_sub_overflow(int_of(r, &a[0]), int_of(r, &a[1]), &d)) {
        return run_fail(r, "error calling sub: the number is too large");
    }
    return value_int(d);
}

static const struct template_func funcs[] = {
    {"and", 1, ARGS_MOST, fn_and},
    {"or", 1, ARGS_MOST, fn_or},
    {"not", 1, 1, fn_not},
    {"len", 1, 1, fn_len},
    {"index", 1, ARGS_MOST, fn_index},
    {"eq", 2, ARGS_MOST, fn_eq},
    {"ne", 2, 2, fn_ne},
    {"lt", 2, 2, fn_lt},
    {"le", 2, 2, fn_le},
    {"gt", 2, 2, fn_gt},
    {"ge", 2, 2, fn_ge},
    {"print", 0, ARGS_MOST, fn_print},
    {"printf", 1, ARGS_MOST, fn_printf},
    {"println", 0, ARGS_MOST, fn_println},
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

const struct template_func *template_func(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(funcs); i++) {
        if (str_eqz(name, funcs[i].name)) {
            return &funcs[i];
        }
    }
    return NULL;
}
