/* Runs the unit tests of src/dest, one cmocka group per file, and holds what they share. A new
 * x_test.c needs a line here, in tests.h and in meson.build. SPDX-License-Identifier: Apache-2.0 */
#include "dest/tests.h"

struct dest_conf conf_default(void)
{
    return (struct dest_conf){
        .header_prefix = STR("x-outpost-"),
        .event_id_header = STR("x-outpost-event-id"),
        .timestamp_header = STR("x-outpost-timestamp"),
        .topic_header = STR("x-outpost-topic"),
        .signature_header = STR("x-outpost-signature"),
        .content_template = STR("{{.Body}}"),
        .header_template = STR("v0={{.Signatures | join \",\"}}"),
        .secret_template = STR("whsec_{{.RandomHex}}"),
        .algorithm = "sha256",
    };
}

struct dest_conf conf_standard(void)
{
    struct dest_conf c = conf_default();
    c.webhook_standard = true;
    c.header_prefix = STR("webhook-");
    return c;
}

struct destination *webhook_new(const char *url, const char *credentials)
{
    struct destination *d = destination_new();
    struct str rest = str_z(credentials), pair, key;
    d->id = STR("des_1");
    d->tenant_id = STR("t1");
    d->type = STR("webhook");
    strmap_set(&d->config, &d->arena, STR("url"), str_z(url));
    while (rest.n && str_split(&rest, '|', &pair)) {
        assert_true(str_split(&pair, '=', &key));
        credmap_set(&d->credentials, &d->arena, key, pair);
    }
    return d;
}

struct str cred_of(const struct destination *d, const char *key)
{
    const struct secret *s = credmap_get(&d->credentials, str_z(key));
    return s ? secret_reveal(s) : STR("");
}

int main(void)
{
    int (*const groups[])(void) = {dest_check_tests, pool_tests, secrets_tests,
                                   template_tests,   url_tests,  webhook_tests};
    int failed = 0;
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        failed += groups[i]();
    }
    return failed != 0;
}
