/* Tests of what is checked: the settings of webhooks at start-up (destinations.md 4.2), URLs,
 * custom headers and credentials of a destination (4.5, 4.6, 5.2). Secrets that are made or
 * rotated: secrets_test.c. SPDX-License-Identifier: Apache-2.0 */
#include "dest/tests.h"

static void conf_refused(struct dest_conf conf, const char *why)
{
    struct err err = {0};
    size_t at;
    if (!dest_conf_check(&conf, &err)) {
        fail_msg("accepted; want: %s", why);
    }
    if (!str_find(str_z(err.text), str_z(why), &at)) {
        fail_msg("got \"%s\", want \"%s\"", err.text, why);
    }
}

static void conf_accepted(struct dest_conf conf)
{
    struct err err = {0};
    if (dest_conf_check(&conf, &err)) {
        fail_msg("refused: %s", err.text);
    }
}

/* E45 to E47, E52 (its start), E53. */
static void templates(void **state)
{
    (void)state;
    struct dest_conf c = conf_default();
    conf_accepted(c);
    c.header_template = STR("v0={{.Body}}");
    conf_refused(c, "invalid signature header template \"v0={{.Body}}\": signature header template "
                    "execution failed: "
                    "can't evaluate field Body");
    c.webhook_standard = true;
    conf_accepted(c);
    c = conf_default();
    c.content_template = STR("v1:{{.Timestamp.Unix}}:{{.Signatures | join \",\"}}");
    conf_refused(c, "can't evaluate field Signatures");
    c = conf_default();
    c.header_template = STR("v0={{index .Signatures 1}}");
    conf_accepted(c);
    c.header_template = STR("v0={{index .Signatures 2}}");
    conf_refused(c, "invalid signature header template");
    c = conf_default();
    c.secret_template = STR("{{.Foo}}");
    conf_accepted(c);
    c.secret_template = STR("{{.Foo");
    conf_refused(c, "invalid signing secret template \"{{.Foo\": unclosed action");
}

static void proxies(void **state)
{
    (void)state;
    struct dest_conf c = conf_default();
    c.proxy_url = STR("http://u:p%40ss@127.0.0.1:3128");
    conf_accepted(c);
    c.proxy_url = STR("http://u:secret@[::1");
    conf_refused(c, "invalid proxy URL: it does not parse");
    c.webhook_standard = true;
    conf_refused(c, "invalid proxy URL: it does not parse");
}

static void empty_templates(void **state)
{
    (void)state;
    struct dest_conf c = conf_default();
    c.content_template = STR("");
    conf_refused(c, "signature content template is required");
    c = conf_default();
    c.header_template = STR("");
    conf_refused(c, "signature header template is required");
    c = conf_default();
    c.secret_template = STR("");
    conf_refused(c, "signing secret template is required");
}

/* E48 to E50. */
static void header_names(void **state)
{
    (void)state;
    struct dest_conf c = conf_default();
    c.event_id_header = STR("X-Acme");
    c.topic_header = STR("x-acme");
    conf_refused(c, "event ID and topic headers resolve to the same name \"x-acme\"; pin distinct "
                    "names or disable one");
    c.event_id_header = STR("x-acme");
    c.topic_header = STR("X-ACME");
    conf_refused(c, "same name \"x-acme\";");
    c.topic_header = STR("");
    conf_accepted(c);
    c = conf_default();
    c.event_id_header = STR("x-outpost-topic");
    conf_refused(c, "event ID and topic headers");
    c = conf_default();
    c.signature_header = STR("Content-Type");
    conf_refused(c, "invalid signature header name \"Content-Type\": reserved header");
    c.signature_header = STR("a b");
    conf_refused(c,
                 "invalid signature header name \"a b\": must match ^[a-zA-Z0-9][a-zA-Z0-9_-]*$");
    c = conf_default();
    c.header_prefix = STR("a b "); /* not checked, nor what comes of it */
    c.topic_header = STR("a b topic");
    conf_accepted(c);
    c = conf_default();
    c.event_id_header = c.signature_header = c.timestamp_header = c.topic_header = STR("");
    conf_accepted(c);
}

/* The problems of a create or an edit, "; " between them. */
static void check(struct dest_conf conf, struct destination *d, const struct destination *before,
                  enum dest_role role, const char *want)
{
    const struct dest_ops *const types[] = {conf.webhook_standard ? &dest_webhook_standard
                                                                  : &dest_webhook};
    struct dest_registry *r = dest_registry_new(types, 1, 1, &conf);
    CLEANUP(arena_fini) struct arena a;
    CLEANUP(buf_fini) struct buf b;
    arena_init(&a);
    buf_init(&b, 10000);
    struct dest_problems p = {.arena = &a};
    enum ec ec = dest_validate(r, d, before, role, &p);
    for (size_t i = 0; i < p.n; i++) {
        buf_addz(&b, i ? "; " : "");
        buf_adds(&b, p.v[i]);
    }
    dest_registry_free(r);
    destination_unref(d);
    assert_str(buf_str(&b), want);
    assert_int_equal(ec, want[0] ? EC_INVALID : EC_OK);
}

/* E66, E67. */
static void urls(void **state)
{
    (void)state;
    static const char *const good[] = {"https://user:pass@example.com:8080/path?x=%2Fy#f",
                                       "http://127.0.0.1/webhook", "http://192.168.1.1:8080/w",
                                       "http://x"};
    static const char *const bad[] = {
        "https://",   "example.com", "://x",     "ftp://example.com", "HTTPS://example.com",
        "http://a b", "http://x\n",  " http://x"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        check(conf_default(), webhook_new(good[i], ""), NULL, DEST_ROLE_ADMIN, "");
        check(conf_standard(), webhook_new(good[i], ""), NULL, DEST_ROLE_ADMIN, "");
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        check(conf_default(), webhook_new(bad[i], ""), NULL, DEST_ROLE_ADMIN,
              "config.url failed pattern validation");
    }
    check(conf_default(), webhook_new("", ""), NULL, DEST_ROLE_ADMIN, "config.url is required");
}

static void unknown_type(void **state)
{
    (void)state;
    struct destination *d = webhook_new("http://x", "");
    d->type = STR("carrier_pigeon");
    check(conf_default(), d, NULL, DEST_ROLE_ADMIN, "type failed invalid_type validation");
}

static void custom(const char *text, const char *want)
{
    struct destination *d = webhook_new("http://x/", "");
    strmap_set(&d->config, &d->arena, STR("custom_headers"), str_z(text));
    check(conf_default(), d, NULL, DEST_ROLE_ADMIN, want);
}

/* E60 to E65. */
static void custom_headers(void **state)
{
    (void)state;
    custom("{\"Authorization\":\"Bearer t\",\"X_Custom\":\"1\",\"x123-h\":\"2\"}", "");
    custom("", "");
    custom("{}", "");
    custom("null", "");
    custom("{invalid json}", "config.custom_headers failed invalid validation");
    custom("[]", "config.custom_headers failed invalid validation");
    custom("\"x\"", "config.custom_headers failed invalid validation");
    custom("{\"x-n\":1}", "config.custom_headers failed invalid validation");
    custom(
        "{\"Content-Type\":\"application/xml\",\"x-valid\":\"ok\",\"Host\":\"h\"}",
        "config.custom_headers.content-type is forbidden; config.custom_headers.host is forbidden");
    custom("{\"-starts-with-dash\":\"v\"}",
           "config.custom_headers.-starts-with-dash failed pattern validation");
    custom("{\"x y\":\"v\"}", "config.custom_headers.x y failed pattern validation");
    custom("{\"\":\"v\"}", "config.custom_headers. failed pattern validation");
    custom("{\"x-api-key\":\"\"}", "config.custom_headers.x-api-key is required");
    custom("{\"x-a\":\"two\\r\\nlines\"}", "config.custom_headers.x-a failed pattern validation");
}

static void created(const char *credentials, const char *want)
{
    check(conf_default(), webhook_new("http://x/", credentials), NULL, DEST_ROLE_ADMIN, want);
}

/* 4.6: the first failing rule alone; E71. */
static void credentials(void **state)
{
    (void)state;
    created("secret=s", "");
    created("secret=s|previous_secret=p|previous_secret_invalid_at=2001-01-02T00:00:00Z", "");
    created("previous_secret=p", "credentials.secret is required");
    created("previous_secret_invalid_at=x", "credentials.secret is required");
    created("secret=s|previous_secret=p", "credentials.previous_secret_invalid_at is required");
    created("secret=s|previous_secret_invalid_at=2024-01-02T00:00:00Z",
            "credentials.previous_secret is required");
    created("secret=s|previous_secret_invalid_at=x",
            "credentials.previous_secret_invalid_at failed pattern validation");
}

/* The table behind 4.6. */
static void times(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool good;
    } t[] = {{"2024-01-02T00:00:00Z", true},      {"2024-01-02T00:00:00.123Z", true},
             {"2024-01-02T00:00:00+07:00", true}, {"2024-01-02T00:00:00,5Z", true},
             {"2024-02-29T00:00:00Z", true},      {"2024-01-02", false},
             {"2024-01-02T00:00:00", false},      {"2024-01-02 00:00:00Z", false},
             {"2024-01-02t00:00:00z", false},     {"2024-01-02T24:00:00Z", false},
             {"2023-02-29T00:00:00Z", false},     {"tomorrow", false}};
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        char line[100];
        snprintf(line, sizeof(line), "secret=s|previous_secret=p|previous_secret_invalid_at=%s",
                 t[i].text);
        created(line, t[i].good
                          ? ""
                          : "credentials.previous_secret_invalid_at failed pattern validation");
    }
}

static void standard(const char *credentials, enum dest_role role, const char *want)
{
    check(conf_standard(), webhook_new("http://x/", credentials), NULL, role, want);
}

/* E99 to E103 and 5.2. */
static void standard_secrets(void **state)
{
    (void)state;
    static const char *const bad[] = {"MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                                      "whsk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_",
                                      "whsec_not-valid-base64!!!", "whsec_YQ"};
    const enum dest_role admin = DEST_ROLE_ADMIN;
    standard("secret=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", admin, "");
    standard("secret=whsec_YQ==", admin, "");
    standard("secret=whsec_YR==", admin, "");
    standard("secret=whsec_Y\r\nQ==", admin, "");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char line[100];
        snprintf(line, sizeof(line), "secret=%s", bad[i]);
        standard(line, admin, "credentials.secret failed pattern validation");
        snprintf(line, sizeof(line), "secret=whsec_YQ==|previous_secret=%s", bad[i]);
        standard(line, admin, "credentials.previous_secret failed pattern validation");
    }
    standard("secret=any-secret", DEST_ROLE_TENANT, "credentials.secret failed pattern validation");
    standard("secret=whsec_YQ==", DEST_ROLE_TENANT, "credentials.secret is forbidden");
    standard("previous_secret=whsec_YQ==", admin, "credentials.secret is required");
    standard("secret=whsec_YQ==|previous_secret=x|previous_secret_invalid_at=x", admin,
             "credentials.previous_secret_invalid_at failed pattern validation");
    standard("secret=whsec_YQ==|previous_secret=whsec_YQ==", admin,
             "credentials.previous_secret_invalid_at is required");
    standard("secret=whsec_YQ==|previous_secret_invalid_at=2024-01-02T00:00:00Z", admin,
             "credentials.previous_secret is required");
}

int dest_check_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(templates),        cmocka_unit_test(empty_templates),
        cmocka_unit_test(header_names),     cmocka_unit_test(urls),
        cmocka_unit_test(unknown_type),     cmocka_unit_test(custom_headers),
        cmocka_unit_test(credentials),      cmocka_unit_test(times),
        cmocka_unit_test(standard_secrets), cmocka_unit_test(proxies),
    };
    return cmocka_run_group_tests_name("dest/checks", tests, NULL, NULL);
}
