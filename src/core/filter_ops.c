/* The operators: each a predicate on a value and its operand. An operator that can't be applied
 * makes its condition false, a negated one too. SPDX-License-Identifier: Apache-2.0 */
#include "core/filter_priv.h"

#include "util/decimal.h"

/* A value with its text at hand: of a string decoded, of a number as written. */
struct val {
    struct json j;
    struct str text;
};

static struct val val_of(struct eval *ev, struct json v, struct arena *a)
{
    struct val x = {v, STR_NULL};
    if (v.type == JSON_STRING && eval_charge(ev, v.raw.n)) {
        x.text = json_text(v, a);
    } else if (v.type == JSON_NUMBER) {
        x.text = v.raw;
    }
    return x;
}

static bool same(struct eval *ev, const struct val *x, const struct node *c)
{
    if (!eval_charge(ev, 1) || x->j.type != c->type) {
        return false;
    }
    if (c->type == JSON_NUMBER) {
        return eval_charge(ev, x->text.n + c->text.n) && decimal_cmp(x->text, c->text) == 0;
    }
    if (c->type == JSON_STRING) {
        return x->text.n == c->text.n && eval_charge(ev, c->text.n) && str_eq(x->text, c->text);
    }
    return type_is_scalar(c->type);
}

bool eval_same(struct eval *ev, struct json v, const struct node *f)
{
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    struct val x = v.type == f->type ? val_of(ev, v, &a) : (struct val){v, STR_NULL};
    return same(ev, &x, f);
}

static bool equal(struct eval *ev, struct json v, const struct node *c);

static bool equal_arrays(struct eval *ev, struct json v, const struct node *c)
{
    if (!eval_charge(ev, v.raw.n)) {
        return false;
    }
    struct json_iter it = json_iter(v);
    struct json e;
    uint32_t i = 0;
    while (json_next(&it, NULL, &e)) {
        if (i == c->n || !equal(ev, e, &c->kids[i++])) {
            return false;
        }
    }
    return i == c->n;
}

static bool equal_objects(struct eval *ev, struct json v, const struct node *c)
{
    if (eval_locate(ev, v, c) > 0) {
        return false;
    }
    for (uint32_t i = 0; i < c->n; i++) {
        if (!equal(ev, ev->slots[c->slot + i], &c->kids[i])) {
            return false;
        }
    }
    return true;
}

/* The same canonical JSON: keys in any order, arrays in order. */
static bool equal(struct eval *ev, struct json v, const struct node *c)
{
    if (v.type != c->type) {
        return false;
    }
    if (v.type == JSON_ARRAY) {
        return equal_arrays(ev, v, c);
    }
    return v.type == JSON_OBJECT ? equal_objects(ev, v, c) : eval_same(ev, v, c);
}

/* Order of two numbers or two strings; false: there is none. */
static bool order(struct eval *ev, const struct val *x, const struct node *c, int *out)
{
    bool strings = x->j.type == JSON_STRING && c->type == JSON_STRING;
    bool numbers = x->j.type == JSON_NUMBER && c->type == JSON_NUMBER;
    if ((!strings && !numbers) || !eval_charge(ev, x->text.n + c->text.n)) {
        return false;
    }
    *out = strings ? str_cmp(x->text, c->text) : decimal_cmp(x->text, c->text);
    return true;
}

static bool in_list(struct eval *ev, const struct val *x, const struct node *list)
{
    for (uint32_t i = 0; i < list->n && !ev->over; i++) {
        if (same(ev, x, &list->kids[i])) {
            return true;
        }
    }
    return false;
}

static bool has_element(struct eval *ev, struct json array, const struct node *c)
{
    struct json_iter it = json_iter(array);
    struct json e;
    if (!eval_charge(ev, array.raw.n)) {
        return false;
    }
    while (!ev->over && json_next(&it, NULL, &e)) {
        if (equal(ev, e, c)) {
            return true;
        }
    }
    return false;
}

/* false: can't be applied. */
static bool in(struct eval *ev, const struct val *x, const struct node *c, bool *out)
{
    if (c->type == JSON_ARRAY) {
        *out = in_list(ev, x, c);
        return type_is_scalar(x->j.type);
    }
    if (x->j.type == JSON_ARRAY) {
        *out = has_element(ev, x->j, c);
        return true;
    }
    if (x->j.type != JSON_STRING || c->type != JSON_STRING ||
        !eval_charge(ev, x->text.n + c->text.n)) {
        return false;
    }
    size_t at;
    *out = str_find(x->text, c->text, &at);
    return true;
}

typedef bool affix_fn(struct str s, struct str part);

/* In a list the first element that fits decides, or the first that is no string. */
static bool affix(struct eval *ev, const struct val *x, const struct node *c, affix_fn *fits)
{
    if (x->j.type != JSON_STRING || type_is_scalar(c->type) != (c->type == JSON_STRING)) {
        return false;
    }
    const struct node *parts = c->type == JSON_ARRAY ? c->kids : c;
    uint32_t n = c->type == JSON_ARRAY ? c->n : c->type == JSON_STRING;
    for (uint32_t i = 0; i < n; i++) {
        if (parts[i].type != JSON_STRING || !eval_charge(ev, 1 + parts[i].text.n)) {
            return false;
        }
        if (fits(x->text, parts[i].text)) {
            return true;
        }
    }
    return false;
}

static bool holds(struct eval *ev, const struct val *x, const struct node *c)
{
    int o;
    bool r;
    switch ((enum filter_word)c->word) {
    case WORD_EQ:
        return equal(ev, x->j, c);
    case WORD_NEQ:
        return !equal(ev, x->j, c);
    case WORD_GT:
        return order(ev, x, c, &o) && o > 0;
    case WORD_GTE:
        return order(ev, x, c, &o) && o >= 0;
    case WORD_LT:
        return order(ev, x, c, &o) && o < 0;
    case WORD_LTE:
        return order(ev, x, c, &o) && o <= 0;
    case WORD_IN:
        return in(ev, x, c, &r) && r;
    case WORD_NIN:
        return in(ev, x, c, &r) && !r;
    case WORD_STARTS_WITH:
        return affix(ev, x, c, str_starts);
    case WORD_ENDS_WITH:
        return affix(ev, x, c, str_ends);
    case WORD_EXIST: /* the value is there; a missing one never comes here */
        return c->type == JSON_TRUE;
    case WORD_NONE:
    case WORD_NOT:
    case WORD_OR:
    case WORD_AND:
        break;
    }
    return true; /* other keys beside operators don't count */
}

bool eval_operators(struct eval *ev, struct json v, const struct node *f)
{
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    struct val x = val_of(ev, v, &a);
    for (uint32_t i = 0; i < f->n; i++) {
        if (!eval_charge(ev, 1) || !holds(ev, &x, &f->kids[i])) {
            return false;
        }
    }
    return true;
}
