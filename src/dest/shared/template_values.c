/* Values of signing templates: truth, printing, and what functions share in taking arguments; and
 * the functions of the language itself (and, eq, index, len, printf ...). A piped value is the last
 * argument. SPDX-License-Identifier: Apache-2.0 */
#include "dest/shared/template_priv.h"
#include "util/hash.h"

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
struct str args_shown(struct run *r, const struct value *v)
{
    if (v->type == V_STR) {
        return v->s;
    }
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, TEXT_MOST);
    value_add(&b, v);
    return arena_copy(&r->arena, buf_str(&b));
}

bool args_text(struct run *r, const struct value *v)
{
    if (v->type != V_STR) {
        run_fail(r, "wrong type of argument: expected string");
    }
    return v->type == V_STR;
}

int64_t args_int(struct run *r, const struct value *v)
{
    int64_t i = v->i;
    if (v->type != V_INT && !(v->type == V_STR && str_to_i64(v->s, &i))) {
        run_fail(r, "wrong type of argument: expected int");
    }
    return i;
}

struct value args_made(struct run *r, struct buf *b)
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
    return args_made(r, &b);
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
    return args_made(r, &b);
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
    bool fits = v->letter == 'v' || (v->letter == 'd' && a->type == V_INT) ||
                (v->letter == 's' && a->type != V_INT && a->type != V_BOOL) ||
                (v->letter == 't' && a->type == V_BOOL) || (v->letter == 'q' && a->type == V_STR) ||
                (v->letter == 'x' && a->type == V_STR);
    if (!fits) {
        run_fail(r, "error calling printf: %%%c does not fit its argument or is not supported",
                 v->letter);
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
    if (!args_text(r, &a[0])) {
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
    return args_made(r, &b);
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
};

const struct template_func *template_func(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(funcs); i++) {
        if (str_eqz(name, funcs[i].name)) {
            return &funcs[i];
        }
    }
    return template_library_func(name);
}
