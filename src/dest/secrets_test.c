/* Tests of secrets as a create or an edit leaves them: given, made, rotated, kept
 * (destinations.md 4.7, E68 to E83). SPDX-License-Identifier: Apache-2.0 */
#include "dest/tests.h"

#define DAY (24 * 3600 * USEC_PER_SEC)
#define STORED                                                                                     \
    "secret=current-secret|previous_secret=old|previous_secret_invalid_at=2030-01-01T00:00:00Z"

struct rig {
    struct dest_conf conf;
    struct dest_registry *registry;
    struct destination *before, *now;
    struct arena a;
    struct dest_problems p;
};

/* stored: the credentials in the store, NULL on create; merged: as they are after the request. */
static void apply(struct rig *r, enum dest_role role, const char *stored, const char *merged)
{
    static const struct dest_ops *const types[][1] = {{&dest_webhook}, {&dest_webhook_standard}};
    if (!r->conf.algorithm) {
        r->conf = conf_default();
    }
    r->registry = dest_registry_new(types[r->conf.webhook_standard], 1, 1, &r->conf);
    arena_init(&r->a);
    r->p = (struct dest_problems){.arena = &r->a};
    r->before = stored ? webhook_new("http://x/", stored) : NULL;
    r->now = webhook_new("http://x/", merged);
    enum ec ec = dest_validate(r->registry, r->now, r->before, role, &r->p);
    assert_int_equal(ec, r->p.n ? EC_INVALID : EC_OK);
}

static void end(struct rig *r)
{
    destination_unref(r->before);
    destination_unref(r->now);
    dest_registry_free(r->registry);
    arena_fini(&r->a);
    *r = (struct rig){.conf = r->conf};
}

static void refused(enum dest_role role, const char *stored, const char *merged, const char *want)
{
    struct rig r = {0};
    apply(&r, role, stored, merged);
    assert_int_equal(r.p.n, 1);
    assert_str(r.p.v[0], want);
    end(&r);
}

static void leaves(enum dest_role role, const char *stored, const char *merged, const char *secret,
                   const char *previous, const char *until)
{
    struct rig r = {0};
    apply(&r, role, stored, merged);
    if (r.p.n) {
        fail_msg("%s: %.*s", merged, STR_ARG(r.p.v[0]));
    }
    assert_str(cred_of(r.now, "secret"), secret);
    assert_str(cred_of(r.now, "previous_secret"), previous);
    assert_str(cred_of(r.now, "previous_secret_invalid_at"), until);
    assert_int_equal(r.now->credentials.n, (secret[0] != 0) + (previous[0] != 0) + (until[0] != 0));
    end(&r);
}

static void in_a_day(struct str text)
{
    usec_t at;
    assert_true(time_parse(text, &at, NULL));
    assert_int_equal(at % USEC_PER_SEC, 0);
    usec_t off = at - wall_now() - DAY;
    assert_in_range(off + 10 * USEC_PER_SEC, 0, 11 * USEC_PER_SEC);
}

static bool is_hex(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!strchr("0123456789abcdef", s.p[i])) {
            return false;
        }
    }
    return s.n > 0;
}

/* E68: each time another one. */
static void made(void **state)
{
    (void)state;
    struct rig r = {0}, s = {0};
    apply(&r, DEST_ROLE_TENANT, NULL, "");
    apply(&s, DEST_ROLE_ADMIN, NULL, "else=dropped");
    struct str secret = cred_of(r.now, "secret");
    assert_int_equal(secret.n, 6 + 64);
    assert_true(str_starts(secret, STR("whsec_")) && is_hex(str_sub(secret, 6, 64)));
    assert_false(str_eq(secret, cred_of(s.now, "secret")));
    assert_int_equal(r.now->credentials.n, 1);
    assert_int_equal(s.now->credentials.n, 1);
    end(&r);
    end(&s);
}

/* E83, and the other two random fields. */
static void made_by_template(void **state)
{
    (void)state;
    struct rig r = {.conf = conf_default()};
    r.conf.secret_template = STR("my-static-secret");
    apply(&r, DEST_ROLE_TENANT, NULL, "");
    assert_str(cred_of(r.now, "secret"), "my-static-secret");
    end(&r);
    r.conf.secret_template = STR("{{.RandomBase64}}");
    apply(&r, DEST_ROLE_TENANT, NULL, "");
    assert_int_equal(cred_of(r.now, "secret").n, 44);
    end(&r);
    r.conf.secret_template = STR("{{.RandomAlphanumeric}}");
    apply(&r, DEST_ROLE_TENANT, NULL, "");
    struct str s = cred_of(r.now, "secret");
    assert_int_equal(s.n, 32);
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        assert_true((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
    }
    end(&r);
}

static void made_in_standard_mode(void **state)
{
    (void)state;
    struct rig r = {.conf = conf_standard()};
    apply(&r, DEST_ROLE_TENANT, NULL, "");
    struct str s = cred_of(r.now, "secret");
    assert_int_equal(s.n, 6 + 44);
    assert_true(str_starts(s, STR("whsec_")));
    end(&r);
}

/* E69 to E73. */
static void creates(void **state)
{
    (void)state;
    refused(DEST_ROLE_TENANT, NULL, "secret=x", "credentials.secret is forbidden");
    refused(DEST_ROLE_TENANT, NULL,
            "secret=x|previous_secret=p|previous_secret_invalid_at=2030-01-01T00:00:00Z",
            "credentials.secret is forbidden");
    refused(DEST_ROLE_TENANT, NULL, "previous_secret=p", "credentials.secret is required");
    leaves(DEST_ROLE_ADMIN, NULL, "secret=custom-secret", "custom-secret", "", "");
    refused(DEST_ROLE_ADMIN, NULL, "secret=s|previous_secret=p",
            "credentials.previous_secret_invalid_at is required");
    refused(DEST_ROLE_ADMIN, NULL, "rotate_secret=true",
            "credentials.rotate_secret failed invalid validation");
    refused(DEST_ROLE_TENANT, NULL, "rotate_secret=On",
            "credentials.rotate_secret failed invalid validation");
}

static void rotates(enum dest_role role, const char *stored, const char *merged, const char *until)
{
    struct rig r = {0};
    apply(&r, role, stored, merged);
    if (r.p.n) {
        fail_msg("%s: %.*s", merged, STR_ARG(r.p.v[0]));
    }
    struct str secret = cred_of(r.now, "secret");
    assert_true(str_starts(secret, STR("whsec_")) && secret.n == 70);
    assert_str(cred_of(r.now, "previous_secret"), "current-secret");
    assert_int_equal(r.now->credentials.n, 3);
    if (until) {
        assert_str(cred_of(r.now, "previous_secret_invalid_at"), until);
    } else {
        in_a_day(cred_of(r.now, "previous_secret_invalid_at"));
    }
    end(&r);
}

/* E74 to E77. */
static void rotation(void **state)
{
    (void)state;
    rotates(DEST_ROLE_TENANT, "secret=current-secret", "secret=current-secret|rotate_secret=YES",
            NULL);
    rotates(DEST_ROLE_ADMIN, "secret=current-secret",
            "secret=ignored|previous_secret=ignored|rotate_secret=1", NULL);
    rotates(
        DEST_ROLE_ADMIN, "secret=current-secret",
        "secret=current-secret|rotate_secret=true|previous_secret_invalid_at=2030-01-01T00:00:00Z",
        "2030-01-01T00:00:00Z");
    rotates(DEST_ROLE_TENANT, STORED, STORED "|rotate_secret=yes", NULL);
    refused(DEST_ROLE_ADMIN, "secret=current-secret",
            "secret=current-secret|rotate_secret=true|previous_secret_invalid_at=tomorrow",
            "credentials.previous_secret_invalid_at failed pattern validation");
    refused(DEST_ROLE_ADMIN, "", "rotate_secret=true", "credentials.secret is required");
    leaves(DEST_ROLE_ADMIN, "secret=current-secret", "secret=current-secret|rotate_secret=no",
           "current-secret", "", "");
}

/* E72, E78 to E82. */
static void edits(void **state)
{
    (void)state;
    leaves(DEST_ROLE_TENANT, "secret=s", "secret=s", "s", "", "");
    leaves(DEST_ROLE_TENANT, STORED, "", "current-secret", "old", "2030-01-01T00:00:00Z");
    leaves(DEST_ROLE_TENANT, STORED, "secret=current-secret|extra=x", "current-secret", "old",
           "2030-01-01T00:00:00Z");
    refused(DEST_ROLE_TENANT, "secret=s",
            "secret=s|previous_secret_invalid_at=2030-01-01T00:00:00Z",
            "credentials.previous_secret_invalid_at is forbidden");
    refused(DEST_ROLE_TENANT, "secret=s", "secret=other", "credentials.secret is forbidden");
    refused(DEST_ROLE_ADMIN, STORED,
            "secret=|previous_secret=old|previous_secret_invalid_at=2030-01-01T00:00:00Z",
            "credentials.secret is required");
    leaves(DEST_ROLE_ADMIN, STORED,
           "secret=current-secret|previous_secret=|previous_secret_invalid_at=", "current-secret",
           "", "");
    leaves(DEST_ROLE_ADMIN, STORED, "", "", "", "");
    leaves(DEST_ROLE_ADMIN, "secret=s", "secret=new", "new", "", "");
    struct rig r = {0};
    apply(&r, DEST_ROLE_ADMIN, "secret=s", "secret=s|previous_secret=old");
    assert_int_equal(r.p.n, 0);
    in_a_day(cred_of(r.now, "previous_secret_invalid_at"));
    end(&r);
}

int secrets_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made),
        cmocka_unit_test(made_by_template),
        cmocka_unit_test(made_in_standard_mode),
        cmocka_unit_test(creates),
        cmocka_unit_test(rotation),
        cmocka_unit_test(edits),
    };
    return cmocka_run_group_tests_name("dest/secrets", tests, NULL, NULL);
}
