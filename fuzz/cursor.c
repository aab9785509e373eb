/* Fuzz target: cursor text of lists, and the array parameters that come beside it. A cursor that
 * reads must be the one that its plain text makes; one made from any bytes must read as them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "api/call.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Digits that mean nothing: zeros at the front. */
static struct str without_zeros(struct str s)
{
    while (s.n && s.p[0] == '0') {
        s = str_sub(s, 1, s.n);
    }
    return s;
}

static void read_any(struct str text, struct arena *a)
{
    struct str position, id;
    size_t at;
    int64_t ms;
    if (cursor_read(a, text, "evt", &position) != CURSOR_OK ||
        !str_find(position, STR("::"), &at)) {
        return;
    }
    id = str_sub(position, at + 2, position.n);
    struct str number = str_sub(position, 0, at);
    if (!str_to_i64(number, &ms) || !str_eq(arena_printf(a, "%lld", (long long)ms), number)) {
        return;
    }
    assert(str_eq(cursor_make(a, "evt", ms, (struct str){id.p ? id.p : "", id.n}),
                  without_zeros(text)));
}

static void make_any(struct str id, struct arena *a)
{
    struct str position, want = arena_printf(a, "77::%.*s", STR_ARG(id));
    struct str text = cursor_make(a, "att", 77, id);
    enum cursor_state state = cursor_read(a, text, "att", &position);
    assert(state == CURSOR_OK || text.n > 2048);
    assert(state != CURSOR_OK || str_eq(position, want));
    assert(cursor_read(a, text, "evt", &position) == CURSOR_INVALID);
}

static void read_arrays(struct str text, struct arena *a)
{
    struct call c = {.a = a, .query = query_parse(text, a)};
    struct strlist l = query_array(&c, "x");
    assert(l.n <= c.query.n);
    for (size_t i = 0; i < c.query.n; i++) {
        bool plain = str_eqz(c.query.v[i].name, "x") || str_eqz(c.query.v[i].name, "x[]");
        assert(!plain || l.n > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_fini) struct arena a;
    struct str text = {(const char *)data, size};
    arena_init(&a);
    read_any(text, &a);
    read_arrays(text, &a);
    if (size && !memchr(data, '\0', size)) {
        make_any(text, &a);
    }
    return 0;
}
