/* Evaluation: two mutually recursive predicates, as the specification has them, on objects
 * (match_object, its M) and on values (match_value, its V). Every call goes down in the filter,
 * so the filter's depth bounds the stack; nested arrays of the event are walked flat. Work is
 * counted in bytes read. SPDX-License-Identifier: Apache-2.0 */
#include "core/filter_priv.h"

#include <stdlib.h>

/* ---- the event as a JSON value ---- */

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
        int minutes = abs(offset_s) / 60;
        buf_adds(b, str_sub(s, 0, s.n - 1));
        buf_addf(b, "%c%02d:%02d", offset_s < 0 ? '-' : '+', minutes / 60, minutes % 60);
    }
    buf_addc(b, '"');
}

static struct json written(struct eval *ev, int which)
{
    const struct filter_input *in = ev->in;
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, SIZE_MAX / 2);
    if (which == DOC_ID) {
        json_add_string(&b, in->id, false);
    } else if (which == DOC_TOPIC) {
        json_add_string(&b, in->topic, false);
    } else if (which == DOC_TIME) {
        add_time(&b, in->time, in->time_offset_s);
    } else if (in->metadata) {
        strmap_add_json(&b, in->metadata, false);
    } else {
        buf_addz(&b, "{}");
    }
    struct str text = arena_copy(&ev->arena, buf_str(&b));
    return (struct json){which == DOC_METADATA ? JSON_OBJECT : JSON_STRING, text};
}

static struct json data_of(const struct filter_input *in)
{
    struct str text = str_trim(in->data);
    return (struct json){JSON_OBJECT, text.n && text.p[0] == '{' ? text : STR("{}")};
}

/* A property of the event; written out the first time somebody asks. */
static struct json document_member(struct eval *ev, struct str key)
{
    static const char *const names[DOC_COUNT] = {"id", "topic", "time", "metadata", "data"};
    for (int i = 0; i < DOC_COUNT; i++) {
        if (!str_eqz(key, names[i])) {
            continue;
        }
        if (ev->doc[i].type == JSON_NONE) {
            ev->doc[i] = i == DOC_DATA ? data_of(ev->in) : written(ev, i);
            ev->left += (uint64_t)ev->doc[i].raw.n * FILTER_WORK_PER_BYTE;
        }
        return ev->doc[i];
    }
    return (struct json){JSON_NONE, STR_NULL};
}

size_t eval_locate(struct eval *ev, struct json v, const struct node *f)
{
    struct json *slots = ev->slots + f->slot;
    bool document = v.raw.p == NULL;
    for (uint32_t i = 0; i < f->n; i++) {
        slots[i] =
            document ? document_member(ev, f->kids[i].key) : (struct json){JSON_NONE, STR_NULL};
    }
    if (!eval_charge(ev, v.raw.n + f->n)) {
        return 0;
    }
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    struct json_iter it = json_iter(document ? (struct json){JSON_NONE, STR_NULL} : v);
    struct json key, value;
    size_t strangers = 0;
    while (json_next(&it, &key, &value)) {
        const struct node *k = node_member(f, json_text(key, &a));
        if (k) {
            slots[k - f->kids] = value;
        } else {
            strangers++;
        }
        if (a.used) {
            arena_reset(&a);
        }
    }
    return strangers;
}

/* ---- values ---- */

static bool match_object(struct eval *ev, struct json v, const struct node *f);
static bool match_value(struct eval *ev, struct json v, const struct node *f);

static bool some_object_matches(struct eval *ev, struct json v, const struct node *alternatives)
{
    for (uint32_t i = 0; i < alternatives->n && !ev->over; i++) {
        if (match_object(ev, v, &alternatives->kids[i])) {
            return true;
        }
    }
    return false;
}

static bool every_object_matches(struct eval *ev, struct json v, const struct node *all)
{
    for (uint32_t i = 0; i < all->n; i++) {
        if (!match_object(ev, v, &all->kids[i])) {
            return false;
        }
    }
    return true;
}

/* The next element that is no array itself, arrays within it walked too. *depth starts at 0. */
static bool next_leaf(struct json_iter *it, size_t *depth, struct json *out)
{
    for (;;) {
        char c = *it->p;
        if (c == '[') {
            ++*depth;
        } else if (c == ']') {
            if ((*depth)-- == 0) {
                return false;
            }
        } else if (c != ',' && c != ' ' && c != '\t' && c != '\n' && c != '\r') {
            return json_next(it, NULL, out);
        }
        it->p++;
    }
}

static bool some_leaf_matches(struct eval *ev, struct json array, const struct node *f)
{
    struct json_iter it = json_iter(array);
    struct json e;
    size_t depth = 0;
    if (!eval_charge(ev, array.raw.n)) {
        return false;
    }
    while (!ev->over && next_leaf(&it, &depth, &e)) {
        if (match_value(ev, e, f)) {
            return true;
        }
    }
    return false;
}

static bool some_element_matches(struct eval *ev, struct json array, const struct node *f)
{
    struct json_iter it = json_iter(array);
    struct json e;
    if (!eval_charge(ev, array.raw.n)) {
        return false;
    }
    while (!ev->over && json_next(&it, NULL, &e)) {
        if (match_value(ev, e, f)) {
            return true;
        }
    }
    return false;
}

static bool match_array(struct eval *ev, struct json v, const struct node *f)
{
    if (f->type != JSON_ARRAY) {
        return f->has_operators ? eval_operators(ev, v, f) : some_leaf_matches(ev, v, f);
    }
    for (uint32_t i = 0; i < f->n; i++) {
        if (!some_element_matches(ev, v, &f->kids[i])) {
            return false;
        }
    }
    return true;
}

static bool match_value(struct eval *ev, struct json v, const struct node *f)
{
    if (!eval_charge(ev, 1)) {
        return false;
    }
    if (v.type == JSON_ARRAY) {
        return match_array(ev, v, f);
    }
    if (f->type != JSON_OBJECT) {
        return type_is_scalar(f->type) && eval_same(ev, v, f);
    }
    const struct node *alternatives = node_member(f, STR("$or"));
    if (alternatives && alternatives->type == JSON_ARRAY) {
        return some_object_matches(ev, v, alternatives);
    }
    if (f->has_operators) {
        return eval_operators(ev, v, f);
    }
    return v.type == JSON_OBJECT && match_object(ev, v, f);
}

/* ---- objects ---- */

static bool wants_absence(const struct node *f)
{
    const struct node *exist = node_member(f, STR("$exist"));
    return exist && exist->type == JSON_FALSE;
}

static bool match_member(struct eval *ev, struct json v, struct json there, const struct node *k)
{
    if (k->type == JSON_ARRAY && k->word == WORD_OR) {
        return some_object_matches(ev, v, k);
    }
    if (k->type == JSON_ARRAY && k->word == WORD_AND) {
        return every_object_matches(ev, v, k);
    }
    return there.type == JSON_NONE ? wants_absence(k) : match_value(ev, there, k);
}

static bool match_object(struct eval *ev, struct json v, const struct node *f)
{
    if (!eval_charge(ev, 1)) {
        return false;
    }
    const struct node *negated = node_member(f, STR("$not"));
    if (negated) {
        bool r = match_object(ev, v, negated);
        if (r || f->n == 1) {
            return !r;
        }
    }
    if (v.type != JSON_OBJECT || f->type != JSON_OBJECT) {
        return match_value(ev, v, f);
    }
    eval_locate(ev, v, f);
    for (uint32_t i = 0; i < f->n; i++) {
        const struct node *k = &f->kids[i];
        if (k != negated && !match_member(ev, v, ev->slots[f->slot + i], k)) {
            return false;
        }
    }
    return true;
}

#define SLOTS_ON_STACK 64

bool filter_match(const struct filter *f, const struct filter_input *in)
{
    if (!f) {
        return true;
    }
    struct json few[SLOTS_ON_STACK];
    struct eval ev = {
        .in = in,
        .slots = f->slots <= SLOTS_ON_STACK ? few : xmalloc(f->slots * sizeof(struct json)),
        .left = FILTER_WORK_MIN,
    };
    arena_init(&ev.arena);
    bool matches = match_object(&ev, DOCUMENT, &f->root) && !ev.over;
    arena_fini(&ev.arena);
    if (ev.slots != few) {
        free(ev.slots);
    }
    return matches;
}
