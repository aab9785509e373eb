/* Tests of what a webhook request says: headers and signatures of both modes, at a fixed instant
 * and with fixed secrets, without a connection (destinations.md 4.4, 4.8, 5.3, 5.4).
 * SPDX-License-Identifier: Apache-2.0 */
#include "dest/shared/webhook.h"
#include "dest/tests.h"
#include "util/hash.h"

#define S1 "whsec_3f5a9c1e7b2d4f60a8c3e5d7f1b9a2c4e6d8f0b1a3c5e7d9f2b4a6c8e0d1f3a5"
#define S0 "whsec_0011223344556677889900aabbccddeeff112233445566778899aabbccddeeff"
#define STANDARD "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define BODY "{\"user_id\":\"usr_123\",\"email\":\"user@example.com\"}"
#define AT (1717230216 * USEC_PER_SEC) /* 2024-06-01T08:23:36Z */
#define LATER "|previous_secret_invalid_at=2199-01-01T00:00:00Z"
#define SIGNED_1 "ca9120b7516fdfeea7f371a5a33fe63c0caf6eb87f8b80819076dec4a53b2cc4"

struct rig {
    struct dest_conf conf;
    struct event event;
    struct destination *d;
    struct dest_send rq;
    struct headers h;
};

static void set_up(struct rig *r, struct dest_conf conf, const char *credentials)
{
    *r = (struct rig){.conf = conf};
    r->d = webhook_new("https://example.com/webhooks", credentials);
    r->event =
        (struct event){.id = STR("evt_abc123"), .topic = STR("user.created"), .data = STR(BODY)};
    r->rq = (struct dest_send){.event = &r->event, .destination = r->d, .now = AT};
    arena_init(&r->rq.arena);
}

static void tear_down(struct rig *r)
{
    destination_unref(r->d);
    arena_fini(&r->rq.arena);
}

/* Opens, makes the headers, closes. */
static bool make(struct rig *r)
{
    const struct dest_ops *t = r->conf.webhook_standard ? &dest_webhook_standard : &dest_webhook;
    void *conn = xcalloc(1, t->conn_size);
    struct err err = {0};
    bool ok = true;
    if (t->open(conn, &r->conf, r->d, NULL, &err)) {
        fail_msg("not opened: %s", err.text);
    }
    r->h = (struct headers){.a = &r->rq.arena};
    if (r->conf.webhook_standard) {
        webhook_standard_headers(conn, &r->rq, &r->h);
    } else {
        ok = webhook_default_headers(conn, &r->rq, &r->h);
    }
    t->close(conn);
    free(conn);
    return ok;
}

static void event_metadata(struct rig *r, const char *key, const char *value)
{
    strmap_set(&r->event.metadata, &r->rq.arena, str_z(key), str_z(value));
}

static void delivery_metadata(struct rig *r, const char *key, const char *value)
{
    strmap_set(&r->d->delivery_metadata, &r->d->arena, str_z(key), str_z(value));
}

static void custom_headers(struct rig *r, const char *json)
{
    strmap_set(&r->d->config, &r->d->arena, STR("custom_headers"), str_z(json));
}

static struct str header(const struct rig *r, const char *name)
{
    for (size_t i = 0; i < r->h.n; i++) {
        if (str_eqz(r->h.v[i].name, name)) {
            return r->h.v[i].value;
        }
    }
    return STR("(none)");
}

/* All headers as "Name: value" lines. */
static void has_exactly(const struct rig *r, const char *want)
{
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 10000);
    for (size_t i = 0; i < r->h.n; i++) {
        buf_addf(&b, "%.*s: %.*s\n", STR_ARG(r->h.v[i].name), STR_ARG(r->h.v[i].value));
    }
    assert_str(buf_str(&b), want);
    assert_false(r->h.bad);
}

/* E54. What the transport adds is not here. */
static void default_headers(void **state)
{
    (void)state;
    struct rig r;
    set_up(&r, conf_default(), "secret=" S1);
    event_metadata(&r, "source", "signup-service");
    custom_headers(&r, "{\"x-api-key\":\"k\"}");
    assert_true(make(&r));
    has_exactly(&r, "Content-Type: application/json\n"
                    "X-Api-Key: k\n"
                    "X-Outpost-Event-Id: evt_abc123\n"
                    "X-Outpost-Signature: v0=" SIGNED_1 "\n"
                    "X-Outpost-Source: signup-service\n"
                    "X-Outpost-Timestamp: 2024-06-01T08:23:36Z\n"
                    "X-Outpost-Topic: user.created\n");
    tear_down(&r);
}

/* E55 to E57. */
static void prefixes_and_names(void **state)
{
    (void)state;
    struct rig r;
    struct dest_conf c = conf_default();
    c.header_prefix = STR("x-acme");
    c.event_id_header = STR("x-acmeevent-id");
    set_up(&r, c, "secret=" S1);
    event_metadata(&r, "source", "s");
    assert_true(make(&r));
    assert_str(header(&r, "X-Acmeevent-Id"), "evt_abc123");
    assert_str(header(&r, "X-Acmesource"), "s");
    tear_down(&r);
    c = conf_default();
    c.header_prefix = STR("");
    c.event_id_header = STR("x-acme-event");
    c.timestamp_header = c.topic_header = STR("");
    set_up(&r, c, "secret=" S1);
    event_metadata(&r, "content-type", "text/plain");
    assert_true(make(&r));
    has_exactly(
        &r, "Content-Type: text/plain\nX-Acme-Event: evt_abc123\nX-Outpost-Signature: v0=" SIGNED_1
            "\n");
    tear_down(&r);
    c.signature_header = STR("");
    set_up(&r, c, "secret=" S1);
    assert_true(make(&r));
    has_exactly(&r, "Content-Type: application/json\nX-Acme-Event: evt_abc123\n");
    tear_down(&r);
}

/* E58, E59, and the order of 4.4. */
static void precedence(void **state)
{
    (void)state;
    struct rig r;
    set_up(&r, conf_default(), "secret=" S1);
    custom_headers(&r, "{\"x-outpost-source\":\"custom-value\"}");
    delivery_metadata(&r, "source", "delivery-metadata-value");
    delivery_metadata(&r, "app-id", "my-app");
    delivery_metadata(&r, "x-api-key", "secret-api-key");
    delivery_metadata(&r, "timestamp", "999");
    event_metadata(&r, "signature", "overwritten");
    assert_true(make(&r));
    assert_str(header(&r, "X-Outpost-Source"), "delivery-metadata-value");
    assert_str(header(&r, "X-Outpost-App-Id"), "my-app");
    assert_str(header(&r, "X-Outpost-X-Api-Key"), "secret-api-key");
    assert_str(header(&r, "X-Outpost-Timestamp"), "999");
    assert_str(header(&r, "X-Outpost-Signature"), "v0=" SIGNED_1);
    event_metadata(&r, "source", "event-value");
    assert_true(make(&r));
    assert_str(header(&r, "X-Outpost-Source"), "event-value");
    tear_down(&r);
}

/* What cannot be a name is left out; a value with a line break spoils the attempt before it is
 * sent. */
static void names_and_values(void **state)
{
    (void)state;
    struct rig r;
    set_up(&r, conf_default(), "secret=" S1);
    event_metadata(&r, "with space", "x");
    event_metadata(&r, "", "x");
    event_metadata(&r, "padded", "  x\t");
    assert_true(make(&r));
    assert_int_equal(r.h.n, 7);
    assert_str(header(&r, "X-Outpost-Padded"), "x");
    assert_str(header(&r, "X-Outpost-"), "x");
    assert_false(r.h.bad);
    event_metadata(&r, "broken", "a\r\nInjected: b");
    assert_true(make(&r));
    assert_true(r.h.bad);
    tear_down(&r);
}

static void signs(struct dest_conf conf, const char *credentials, const char *body,
                  const char *want)
{
    struct rig r;
    set_up(&r, conf, credentials);
    r.event.data = str_z(body);
    assert_true(make(&r));
    assert_str(header(&r, conf.webhook_standard ? "Webhook-Signature" : "X-Outpost-Signature"),
               want);
    tear_down(&r);
}

/* E84 to E90. */
static void signatures(void **state)
{
    (void)state;
    struct dest_conf c = conf_default();
    signs(c, "secret=" S1, BODY, "v0=" SIGNED_1);
    signs(c, "secret=" S1 "|previous_secret=" S0 LATER, BODY,
          "v0=" SIGNED_1 ",edd63138a4ec048c2652898eefeb44dad3b576b747095f83a73235973cdaff2b");
    c.base64 = true;
    signs(c, "secret=" S1, BODY, "v0=ypEgt1Fv3+6n83Gloz/mPAyvbrh/i4CBkHbexKU7LMQ=");
    c.algorithm = "sha1";
    signs(c, "secret=" S1, BODY, "v0=uXMd2jtAJFEQ1HWV6BB2DAlMOCE=");
    c.base64 = false;
    signs(c, "secret=" S1, BODY, "v0=b9731dda3b40245110d47595e810760c094c3821");
    c = conf_default();
    c.content_template = STR("{{.Timestamp.Unix}}.{{.Body}}");
    c.header_template = STR("t={{.Timestamp.Unix}},v0={{.Signatures | join \",\"}}");
    signs(c, "secret=" S1, BODY,
          "t=1717230216,v0=29b32b0c03489e46d26bcc09287d3f0d82d2103e44c0fb9d8b4ee6350faca3e7");
    signs(c, "secret=" S1 "|previous_secret=" S0 LATER, BODY,
          "t=1717230216,v0=29b32b0c03489e46d26bcc09287d3f0d82d2103e44c0fb9d8b4ee6350faca3e7,"
          "b74532d30b1b61266005d7039b30b7c884686f4027fff6c2f5a9fc1ecc64556a");
}

/* E91 to E97. */
static void more_vectors(void **state)
{
    (void)state;
    struct dest_conf c = conf_default();
    signs(c, "", BODY, "v0=6cb43a298ca83a5b48121d46b9455c2bf8a630055ded082e8f224db83ba2677a");
    signs(c, "secret=" S1, "{}",
          "v0=89031bdc829bb254d81b21e412d7819ce1f4fb2ce5f5fe7067267764073f0716");
    signs(c, "secret=" S1, "{\"html\":\"\\u003cb\\u003e\\u0026\\u003c/b\\u003e\"}",
          "v0=f8965ab9e9d94fab4a6e17dd99d2129f85ce67d842cd53220149759a20984cee");
    signs(c, "secret=test-secret", "{\"z\":1,\"a\":2,\"m\":3}",
          "v0=1c70bd47106e7b91ac96b1bf4cb162b668d396b27f5a42afbdc15cd516a7028c");
    c.content_template = STR("1234567890.{{.Body}}");
    signs(c, "secret=test-secret", "{\"hello\":\"world\"}",
          "v0=7054f74dae9f73e82b56ca73e8f81450097c698eeda0b00bb8728e89796baf2d");
    c.algorithm = "sha1";
    signs(c, "secret=test-secret", "{\"hello\":\"world\"}",
          "v0=e2f4423c54f5385099d8e3fbb01237d415ee8fdf");
    c = conf_default();
    c.content_template =
        STR("ts={{.Timestamp.Unix}};id={{.EventID}};topic={{.Topic}};data={{.Body}}");
    signs(c, "secret=" S1, BODY,
          "v0=fa46ba67b83fe60ef94b8296b43f6501d29730cb32618361891f278b318afaf6");
}

/* E98, and a connection that was opened before the time had passed. */
static void previous_runs_out(void **state)
{
    (void)state;
    struct rig r;
    signs(conf_default(),
          "secret=" S1 "|previous_secret=" S0 "|previous_secret_invalid_at=2024-06-01T07:23:36Z",
          BODY, "v0=" SIGNED_1);
    set_up(&r, conf_default(), "secret=" S1 "|previous_secret=" S0 LATER);
    assert_true(time_parse(STR("2199-01-01T00:00:00Z"), &r.rq.now, NULL));
    assert_true(make(&r));
    assert_int_equal(header(&r, "X-Outpost-Signature").n, 3 + 64 + 1 + 64);
    r.rq.now++;
    assert_true(make(&r));
    assert_str(header(&r, "X-Outpost-Signature"), "v0=" SIGNED_1);
    tear_down(&r);
}

/* E47, and a header template that gives nothing. */
static void templates_by_data(void **state)
{
    (void)state;
    struct rig r;
    struct dest_conf c = conf_default();
    c.header_template = STR("v0={{index .Signatures 1}}");
    set_up(&r, c, "secret=" S1);
    assert_false(make(&r));
    tear_down(&r);
    set_up(&r, c, "secret=" S0 "|previous_secret=" S1 LATER);
    assert_true(make(&r));
    assert_str(header(&r, "X-Outpost-Signature"), "v0=" SIGNED_1);
    r.conf.header_template = STR("{{.Topic}}");
    r.event.topic = STR("");
    assert_true(make(&r));
    assert_str(header(&r, "X-Outpost-Signature"), "(none)");
    tear_down(&r);
}

/* E104: the vector that the Standard Webhooks specification publishes. */
static void published_vector(void **state)
{
    (void)state;
    struct rig r;
    set_up(&r, conf_standard(), "secret=" STANDARD);
    r.event.id = STR("msg_p5jXN8AQM9LWM0D4loKWxJek");
    r.event.data = STR("{\"test\": 2432232314}");
    r.rq.now = 1614265330 * USEC_PER_SEC;
    assert_true(make(&r));
    assert_str(header(&r, "Webhook-Signature"), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    tear_down(&r);
}

/* E105, E106. */
static void standard_signatures(void **state)
{
    (void)state;
    const char *new_one =
        "secret=whsec_TmV3U2VjcmV0QmFzZTY0RW5jb2RlZFN0cmluZzEyMw=="
        "|previous_secret=whsec_T2xkU2VjcmV0QmFzZTY0RW5jb2RlZFN0cmluZzEyMw==" LATER;
    struct dest_conf c = conf_standard();
    c.base64 = false;
    c.algorithm = "sha1"; /* not looked at in this mode */
    signs(c, "secret=" STANDARD, BODY, "v1,Lr6j4nLQKLQLtMWxWns8wwUNKXr9CXAN2lWVaeCHIo8=");
    signs(c, new_one, BODY,
          "v1,B7u6kzwz3vidh+D+9NLnJYRJeH9nFMoUBGWCCFY7W3Y= "
          "v1,1TcM3Qa1wt/LnZjCRfa2aV3lP9qlxFvlD34dkj0bE8E=");
}

/* E107. */
static void standard_headers(void **state)
{
    (void)state;
    struct rig r;
    set_up(&r, conf_standard(), "secret=" STANDARD);
    event_metadata(&r, "source", "crm");
    delivery_metadata(&r, "app-id", "a1");
    assert_true(make(&r));
    has_exactly(&r, "Content-Type: application/json\n"
                    "Source: crm\n"
                    "Webhook-App-Id: a1\n"
                    "Webhook-Id: evt_abc123\n"
                    "Webhook-Signature: v1,Lr6j4nLQKLQLtMWxWns8wwUNKXr9CXAN2lWVaeCHIo8=\n"
                    "Webhook-Source: crm\n"
                    "Webhook-Timestamp: 1717230216\n"
                    "Webhook-Topic: user.created\n");
    tear_down(&r);
}

/* E108, E109 and the notes of 5.3. */
static void standard_corners(void **state)
{
    (void)state;
    struct rig r;
    struct dest_conf c = conf_standard();
    c.header_prefix = STR("x-custom-");
    set_up(&r, c, "secret=" STANDARD);
    delivery_metadata(&r, "timestamp", "1");
    delivery_metadata(&r, "event-id", "1");
    assert_true(make(&r));
    assert_int_equal(r.h.n, 5);
    assert_str(header(&r, "X-Custom-Id"), "evt_abc123");
    assert_str(header(&r, "X-Custom-Timestamp"), "1717230216");
    assert_str(header(&r, "X-Custom-Topic"), "user.created");
    assert_true(str_starts(header(&r, "X-Custom-Signature"), STR("v1,")));
    tear_down(&r);
    set_up(&r, conf_standard(), "secret=" STANDARD);
    event_metadata(&r, "signature", "x");
    event_metadata(&r, "timestamp", "t");
    assert_true(make(&r));
    assert_str(header(&r, "Webhook-Signature"), "x");
    assert_str(header(&r, "Signature"), "x");
    assert_str(header(&r, "Timestamp"), "t");
    assert_str(header(&r, "Webhook-Timestamp"), "1717230216");
    tear_down(&r);
}

static void standard_needs_a_secret(void **state)
{
    (void)state;
    struct rig r;
    struct err err = {0};
    set_up(&r, conf_standard(), "");
    void *conn = xcalloc(1, dest_webhook_standard.conn_size);
    assert_int_equal(dest_webhook_standard.open(conn, &r.conf, r.d, NULL, &err), EC_INVALID);
    assert_true(err.text[0]);
    dest_webhook_standard.close(conn);
    free(conn);
    tear_down(&r);
}

int webhook_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_headers),
        cmocka_unit_test(prefixes_and_names),
        cmocka_unit_test(precedence),
        cmocka_unit_test(names_and_values),
        cmocka_unit_test(signatures),
        cmocka_unit_test(more_vectors),
        cmocka_unit_test(previous_runs_out),
        cmocka_unit_test(templates_by_data),
        cmocka_unit_test(published_vector),
        cmocka_unit_test(standard_signatures),
        cmocka_unit_test(standard_headers),
        cmocka_unit_test(standard_corners),
        cmocka_unit_test(standard_needs_a_secret),
    };
    return cmocka_run_group_tests_name("dest/webhook", tests, NULL, NULL);
}
