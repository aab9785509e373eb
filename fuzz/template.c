/* Fuzz target: signing templates. The first byte chooses which of the three; the rest is the
 * template. One that is taken must render within its bound, the same each time, and fail for one
 * signature only if it asks for the second; one that is refused must say why.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "dest/shared/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST 65536

static const struct str signatures[] = {STR("sig_current"), STR("sig_previous")};

static struct template_input input(size_t signature_count)
{
    return (struct template_input){
        .event_id = STR("evt_1"),
        .topic = STR("user.created"),
        .body = STR("{\"a\":\"\\u00e9 {{.Body}}\"}"),
        .now = 1717230216123456,
        .signatures = signatures,
        .signature_count = signature_count,
        .random_hex = STR("00ff"),
        .random_base64 = STR("AP8="),
        .random_alphanumeric = STR("aZ9"),
    };
}

static void render(const struct template *t, struct str text)
{
    struct template_input two = input(2), one = input(1);
    CLEANUP(buf_fini) struct buf first;
    CLEANUP(buf_fini) struct buf second;
    CLEANUP(buf_fini) struct buf third;
    CLEANUP(buf_fini) struct buf tight;
    size_t at;
    buf_init(&first, MOST);
    buf_init(&second, MOST);
    buf_init(&third, MOST);
    buf_init(&tight, 8);
    bool ok = template_render(t, &two, &first);
    assert(ok == template_render(t, &two, &second) && str_eq(buf_str(&first), buf_str(&second)));
    assert(ok != first.over && first.n <= MOST);
    bool asks = str_find(text, STR("index"), &at);
    assert(!ok || asks || template_render(t, &one, &third));
    assert(!template_render(t, &two, &tight) || tight.n <= 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct template *t;
    struct err err = {0};
    if (size < 1) {
        return 0;
    }
    struct str text = {(const char *)data + 1, size - 1};
    if (template_new(text, (enum template_kind)(data[0] % 3), &t, &err)) {
        assert(err.code == EC_INVALID && err.text[0]);
        return 0;
    }
    render(t, text);
    template_free(t);
    return 0;
}
