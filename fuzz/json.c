/* Fuzz target: the JSON checker, readers and writers, held against jansson on the same bytes. Where
 * both accept, both must see the same values; where only jansson refuses, the reason must be one of
 * the differences named here. What is written again must read as the same. SPDX-License-Identifier:
 * Apache-2.0 */
#include <stdlib.h>

#include "json_peer.h"
#include "util/decimal.h"
#include "util/json.h"
#include "util/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void same_value(struct json ours, const struct peer *theirs, struct arena *a);

/* We take strings that are no Unicode (the bytes are kept), numbers of any size, and nest deeper.
 */
static bool known_refusal(enum peer_why why, struct str text)
{
    size_t at;
    switch (why) {
    case PEER_RANGE:
    case PEER_DEPTH:
        return true;
    case PEER_UNICODE:
        return !utf8_valid(text);
    case PEER_SYNTAX:
        return str_find(text, STR("\\ud"), &at) || str_find(text, STR("\\uD"), &at);
    }
    UNREACHABLE("a reason of no kind");
}

static void same_members(struct json ours, const struct peer *theirs, struct arena *a)
{
    struct json key, value;
    struct json_iter it = json_iter(ours);
    size_t count = json_count(ours), size = peer_count(theirs);
    assert(count >= size);
    while (json_next(&it, &key, &value)) {
        struct str name = json_text(key, a);
        assert(json_is_text(key, name));
        /* Of equal names the last counts. Looking each up is quadratic: only in small objects. */
        if (count == size) {
            same_value(value, peer_member(theirs, name), a);
        } else if (count < 16) {
            same_value(json_get(ours, name), peer_member(theirs, name), a);
        }
    }
}

static void same_elements(struct json ours, const struct peer *theirs, struct arena *a)
{
    struct json key, value;
    struct json_iter it = json_iter(ours);
    size_t i = 0;
    while (json_next(&it, &key, &value)) {
        assert(key.type == JSON_NONE);
        same_value(value, peer_at(theirs, i++), a);
    }
    assert(i == peer_count(theirs) && i == json_count(ours));
}

/* Exact order never contradicts the order of the nearest doubles. */
static void ordered(struct str x, double fx, struct str y, double fy)
{
    int order = decimal_cmp(x, y), back = decimal_cmp(y, x);
    assert((order < 0) == (back > 0) && (order > 0) == (back < 0));
    assert(order < 0 ? fx <= fy : order > 0 ? fx >= fy : fx == fy);
}

static struct {
    struct str text;
    double value;
} last_number;

static void same_number(struct str ours, double theirs, struct arena *a)
{
    assert(strtod(arena_z(a, ours), NULL) == theirs);
    if (last_number.text.n) {
        ordered(ours, theirs, last_number.text, last_number.value);
    }
    last_number.text = ours;
    last_number.value = theirs;
}

static void same_value(struct json ours, const struct peer *theirs, struct arena *a)
{
    static const char kinds[] = {
        [JSON_NULL] = 'n',   [JSON_FALSE] = 'f', [JSON_TRUE] = 't',  [JSON_NUMBER] = '0',
        [JSON_STRING] = '"', [JSON_ARRAY] = '[', [JSON_OBJECT] = '{'};
    assert(theirs && ours.type != JSON_NONE && peer_kind(theirs) == kinds[ours.type]);
    if (ours.type == JSON_NUMBER) {
        same_number(ours.raw, peer_number(theirs), a);
    } else if (ours.type == JSON_STRING) {
        assert(str_eq(json_text(ours, a), peer_text(theirs)));
    } else if (ours.type == JSON_ARRAY) {
        same_elements(ours, theirs, a);
    } else if (ours.type == JSON_OBJECT) {
        same_members(ours, theirs, a);
    }
}

/* A decoded text, written and decoded again, is the same. */
static void text_survives(struct json v, struct arena *a, struct buf *b)
{
    struct str text = json_text(v, a);
    assert(utf8_valid(text) && json_is_text(v, text));
    for (int html = 0; html < 2; html++) {
        struct json again;
        buf_reset(b);
        json_add_string(b, text, html);
        assert(!b->over && json_check(buf_str(b), 0, &again, NULL) == EC_OK);
        assert(str_eq(json_text(again, a), text));
    }
}

/* What is written again is JSON, reads as the same values, and writing it once more changes
 * nothing. */
static void rewritten(struct json v, const struct peer *theirs,
                      void (*write)(struct buf *b, struct str raw))
{
    CLEANUP(buf_fini) struct buf once, twice;
    buf_init(&once, v.raw.n * 6 + 16);
    buf_init(&twice, v.raw.n * 6 + 16);
    struct json again;
    write(&once, v.raw);
    assert(!once.over && json_check(buf_str(&once), JSON_DEPTH_MAX, &again, NULL) == EC_OK);
    assert(again.type == v.type && str_eq(again.raw, buf_str(&once)));
    write(&twice, buf_str(&once));
    assert(str_eq(buf_str(&once), buf_str(&twice)));
    if (theirs) {
        enum peer_why why;
        struct peer *peer = peer_parse(buf_str(&once), &why);
        assert(peer && peer_equal(peer, theirs));
        peer_free(peer);
    }
}

static void as_answer(struct buf *b, struct str raw)
{
    json_add_raw(b, raw, true);
    size_t at;
    assert(utf8_valid(buf_str(b)));
    assert(!str_find(buf_str(b), STR("<"), &at) && !str_find(buf_str(b), STR("\xe2\x80\xa8"), &at));
}

static void as_text(struct buf *b, struct str raw)
{
    json_add_raw(b, raw, false);
}

static void accepted(struct json v, struct str text, struct arena *a)
{
    enum peer_why why = PEER_SYNTAX;
    struct peer *theirs = peer_parse(text, &why);
    assert(theirs || known_refusal(why, text));
    last_number.text = STR_NULL;
    if (theirs) {
        same_value(v, theirs, a);
    }
    rewritten(v, theirs, json_compact);
    rewritten(v, theirs, as_answer);
    rewritten(v, theirs, as_text);
    if (v.type == JSON_STRING) {
        CLEANUP(buf_fini) struct buf b;
        buf_init(&b, text.n * 18 + 16);
        text_survives(v, a, &b);
    }
    if (theirs) {
        peer_free(theirs);
    }
}

/* A NUL byte is refused everywhere; jansson passes over one behind a token. */
static void refused(enum ec ec, struct str text)
{
    assert(ec == EC_INVALID || ec == EC_LIMIT);
    enum peer_why why;
    assert((text.n && memchr(text.p, '\0', text.n)) || !peer_parse(text, &why));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    struct json v, first;
    struct err err;
    size_t end;
    enum ec ec = json_check(text, JSON_DEPTH_MAX, &v, &err);
    enum ec ec_first = json_first(text, JSON_DEPTH_MAX, &first, &end, NULL);
    if (ec_first == EC_OK) {
        assert(end <= size &&
               json_check(str_sub(text, 0, end), JSON_DEPTH_MAX, &first, NULL) == EC_OK);
    }
    if (ec == EC_OK) {
        assert(!memchr(text.p, '\0', size));
        assert(ec_first == EC_OK && str_eq(first.raw, v.raw));
        accepted(v, text, &a);
    } else {
        assert(err.code == ec && err.text[0]);
        refused(ec, text);
    }
    return 0;
}
