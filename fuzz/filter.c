/* Fuzz target: a filter on the first line, the event's data behind it. Whatever compiles is held
 * against whatever is JSON; negating a filter twice must keep its answer, and small inputs are
 * always decided: then exactly one of a filter and its negation matches.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Below this the work can't run out: each byte of one side meets each byte of the other, and that
 * not more often than the sides are deep. */
#define SURELY_DECIDED 256

static struct filter *negated(struct str text, unsigned times)
{
    CLEANUP(buf_fini) struct buf b;
    struct filter *f = NULL;
    buf_init(&b, text.n + 32);
    for (unsigned i = 0; i < times; i++) {
        buf_addz(&b, "{\"$not\":");
    }
    buf_adds(&b, text);
    for (unsigned i = 0; i < times; i++) {
        buf_addc(&b, '}');
    }
    assert(!b.over);
    return filter_new(buf_str(&b), &f, NULL) ? NULL : f; /* just too deep or large, perhaps */
}

static void evaluate(const struct filter *f, struct str text, const struct filter_input *in)
{
    bool decided = text.n + in->data.n < SURELY_DECIDED;
    bool plain = filter_match(f, in);
    assert(filter_match(f, in) == plain);
    for (unsigned times = 1; times <= 2; times++) {
        struct filter *n = negated(text, times);
        if (n) {
            bool r = filter_match(n, in);
            assert(!decided || r == (times == 1 ? !plain : plain));
            assert(!(r && plain && times == 1));
            filter_free(n);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {(const char *)data, size}, text = STR_NULL;
    struct strpair pairs[] = {{STR("a"), STR("1")}, {STR("b"), STR("\xff\"")}};
    struct strmap metadata = {pairs, ARRAY_LEN(pairs)};
    struct json checked;
    struct err err = {0};
    struct filter *f = NULL;
    (void)str_split(&rest, '\n', &text);
    if (filter_new(text, &f, &err)) {
        assert(!f && err.code && err.text[0]);
        return 0;
    }
    struct filter_input in = {.id = STR("e1"), .topic = STR("x"), .metadata = &metadata};
    if (json_check(rest, JSON_DEPTH_MAX, &checked, NULL) == EC_OK) {
        in.data = rest;
    }
    evaluate(f, text, &in);
    filter_free(f);
    return 0;
}
