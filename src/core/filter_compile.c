/* From a filter's text to its nodes. Everything that can be decided without an event is decided
 * here: repeated keys, order of keys, escapes, which keys are operators. Judges nothing: any
 * object is a filter. SPDX-License-Identifier: Apache-2.0 */
#include "core/filter_priv.h"

#include <stdlib.h>

static const char *const words[] = {
    [WORD_NOT] = "$not",
    [WORD_OR] = "$or",
    [WORD_AND] = "$and",
    [WORD_EQ] = "$eq",
    [WORD_NEQ] = "$neq",
    [WORD_GT] = "$gt",
    [WORD_GTE] = "$gte",
    [WORD_LT] = "$lt",
    [WORD_LTE] = "$lte",
    [WORD_IN] = "$in",
    [WORD_NIN] = "$nin",
    [WORD_STARTS_WITH] = "$startsWith",
    [WORD_ENDS_WITH] = "$endsWith",
    [WORD_EXIST] = "$exist",
};

static enum filter_word word_of(struct str key)
{
    if (key.n && key.p[0] == '$') {
        for (size_t i = WORD_NOT; i < ARRAY_LEN(words); i++) {
            if (str_eqz(key, words[i])) {
                return (enum filter_word)i;
            }
        }
    }
    return WORD_NONE;
}

/* By key, then by place: of equal keys the last one in the text is the last one here. */
static int by_key(const void *a, const void *b)
{
    const struct node *x = a, *y = b;
    int c = str_cmp(x->key, y->key);
    return c ? c : (x->slot > y->slot) - (x->slot < y->slot);
}

static uint32_t keep_last_of_equal(struct node *kids, uint32_t n)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i + 1 == n || !str_eq(kids[i].key, kids[i + 1].key)) {
            kids[kept++] = kids[i];
        }
    }
    return kept;
}

/* The kids as spans: type and text as written, slot is their place. */
static void split(struct filter *f, struct node *node, struct json v)
{
    struct json_iter it = json_iter(v);
    struct json key, value;
    node->n = (uint32_t)json_count(v);
    node->kids = ARENA_ARRAY(&f->arena, struct node, node->n);
    for (uint32_t i = 0; json_next(&it, &key, &value); i++) {
        struct str text = json_text(key, &f->arena);
        node->kids[i] = (struct node){
            .key = text,
            .text = value.raw,
            .slot = i,
            .type = (uint8_t)value.type,
            .word = (uint8_t)word_of(text),
        };
    }
    if (v.type == JSON_OBJECT && node->n) {
        qsort(node->kids, node->n, sizeof(*node->kids), by_key);
        node->n = keep_last_of_equal(node->kids, node->n);
    }
}

/* node is a span still. As deep as FILTER_DEPTH_MAX. */
static void compile(struct filter *f, struct node *node)
{
    struct json v = {node->type, node->text};
    node->slot = 0;
    if (v.type == JSON_STRING) {
        node->text = json_text(v, &f->arena);
    }
    if (type_is_scalar(v.type)) {
        return;
    }
    split(f, node, v);
    if (v.type == JSON_OBJECT) {
        node->slot = f->slots;
        f->slots += node->n;
    }
    for (uint32_t i = 0; i < node->n; i++) {
        node->has_operators |= node->kids[i].word >= WORD_EQ;
        compile(f, &node->kids[i]);
    }
}

enum ec filter_new(struct str text, struct filter **out, struct err *err)
{
    struct json root;
    if (text.n > FILTER_TEXT_MAX) {
        return err_set(err, EC_LIMIT, "filter is larger than %u bytes", FILTER_TEXT_MAX);
    }
    enum ec ec = json_check(text, FILTER_DEPTH_MAX, &root, err);
    if (ec == EC_LIMIT) {
        return err_set(err, ec, "filter is nested deeper than %d levels", FILTER_DEPTH_MAX);
    }
    if (ec) {
        return ec;
    }
    if (root.type != JSON_OBJECT) {
        return err_set(err, EC_INVALID, "filter must be a JSON object");
    }
    struct filter *f = xcalloc(1, sizeof(*f));
    arena_init(&f->arena);
    f->root = (struct node){.text = arena_copy(&f->arena, root.raw), .type = JSON_OBJECT};
    compile(f, &f->root);
    *out = f;
    return EC_OK;
}

void filter_free(struct filter *f)
{
    if (f) {
        arena_fini(&f->arena);
        free(f);
    }
}

const struct node *node_member(const struct node *object, struct str key)
{
    size_t low = 0, high = object->type == JSON_OBJECT ? object->n : 0;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int c = str_cmp(key, object->kids[mid].key);
        if (c == 0) {
            return &object->kids[mid];
        }
        if (c < 0) {
            high = mid;
        } else {
            low = mid + 1;
        }
    }
    return NULL;
}
