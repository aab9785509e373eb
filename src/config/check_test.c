/* The check: texts of refusals, their order, and what follows from the settings.
 * SPDX-License-Identifier: Apache-2.0 */
#include "config/tests.h"

struct refusal {
    struct trial trial;
    const char *error, *hint;
};
#define V "config validation error: "
#define ENV(...)                                                                                   \
    {                                                                                              \
        .env = { __VA_ARGS__ }                                                                     \
    }
#define SHARED "REDIS_HOST=r", "POSTGRES_URL=postgres://u:p@h/d", "RABBITMQ_SERVER_URL=amqp://u:p@h"
#define PAIR                                                                                       \
    "AWS SQS: both access_key_id and secret_access_key must be set together, or both omitted to "  \
    "use the default credential chain"

static void refusals(void **state)
{
    (void)state;
    /* clang-format off */
    static const struct refusal all[] = {
        {{.service = "api", .env = {"SERVICE=log", "DEPLOYMENT_ID=a b"}}, V "service type mismatch", "SERVICE"},
        {ENV("SERVICE=everything"), V "invalid service type", "SERVICE"},
        {{.service = "API"}, V "invalid service type", "SERVICE"},
        {ENV("SERVICE=api"),
         V "service api needs what several processes can share, and these are embedded: store (set REDIS_HOST) log (set POSTGRES_URL or "
           "CLICKHOUSE_ADDR) queue (set RABBITMQ_SERVER_URL or another broker)", "SERVICE"},
        {ENV("SERVICE=delivery", "REDIS_HOST=r", "POSTGRES_URL=x"),
         V "service delivery needs what several processes can share, and these are embedded: queue (set RABBITMQ_SERVER_URL or another broker)", "SERVICE"},
        {{.file = ".outpost.yaml", .text = "redis: {host: ''}\n"}, V "redis configuration is required", "REDIS_HOST"},
        {ENV("AWS_SQS_REGION=eu", "AWS_SQS_ACCESS_KEY_ID=a"), "failed to validate delivery queue config: " PAIR, "AWS_SQS_ACCESS_KEY_ID"},
        {ENV("PUBLISH_AWS_SQS_REGION=eu", "PUBLISH_AWS_SQS_SECRET_ACCESS_KEY=a"), "failed to validate publish queue config: " PAIR,
         "PUBLISH_AWS_SQS_ACCESS_KEY_ID"},
        {ENV("REDIS_HOST=r"), V "AES encryption secret is required", "AES_ENCRYPTION_SECRET"},
        {ENV("REDIS_PORT=6379"), V "AES encryption secret is required", "AES_ENCRYPTION_SECRET"},
        {ENV("REDIS_HOST=r", "AES_ENCRYPTION_SECRET=s"), V "API key is required with Redis (API_AUTH=none lets everybody in)", "API_KEY"},
        {ENV("REDIS_HOST=r", "AES_ENCRYPTION_SECRET=s", "API_AUTH=none"), V "API JWT secret is required with Redis", "API_JWT_SECRET"},
        {ENV("API_AUTH=open"), V "API_AUTH must be key or none", "API_AUTH"},
        {ENV("PORTAL_PROXY_URL=:nope"), V "invalid portal proxy url", "PORTAL_PROXY_URL"},
        {ENV("PORTAL_PROXY_URL=http://h:port"), V "invalid portal proxy url", "PORTAL_PROXY_URL"},
        {ENV("DEPLOYMENT_ID=a b"), V "deployment_id must contain only alphanumeric characters, hyphens, and underscores (max 64 characters)", "DEPLOYMENT_ID"},
        {ENV("DEPLOYMENT_ID=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
         V "deployment_id must contain only alphanumeric characters, hyphens, and underscores (max 64 characters)", "DEPLOYMENT_ID"},
        {ENV("OTEL_SERVICE_NAME=o", "OTEL_PROTOCOL=udp", "OTEL_EXPORTER=x"), V "invalid OpenTelemetry protocol, must be 'grpc', 'http' or 'http/protobuf'", "OTEL_PROTOCOL"},
        {ENV("OTEL_SERVICE_NAME=o", "OTEL_EXPORTER=x"), V "invalid OpenTelemetry exporter, must be 'otlp', 'console', 'stdout' or 'none'", "OTEL_EXPORTER"},
        {ENV("RETRY_SCHEDULE=5,0"), V "retry_schedule entries must be at least 1 second, got 0 at index 1", "RETRY_SCHEDULE"},
        {ENV("RETRY_INTERVAL_SECONDS=0"), V "retry_interval_seconds must be at least 1, got 0", "RETRY_INTERVAL_SECONDS"},
        {ENV("RETRY_POLL_BACKOFF_MS=-1"), V "retry_poll_backoff_ms must not be negative, got -1", "RETRY_POLL_BACKOFF_MS"},
        {ENV("ALERT_CONSECUTIVE_FAILURE_COUNT=some"),
         "alert.consecutive_failure_count: must be an integer, an empty string to disable, or unset for the default: \"some\"", "ALERT_CONSECUTIVE_FAILURE_COUNT"},
        {ENV("ALERT_EXHAUSTED_RETRIES_WINDOW_SECONDS=1.5"),
         "alert.exhausted_retries_window_seconds: must be an integer, an empty string to disable, or unset for the default: \"1.5\"",
         "ALERT_EXHAUSTED_RETRIES_WINDOW_SECONDS"},
        {ENV("ALERT_CONSECUTIVE_FAILURE_COUNT=0"), "alert.consecutive_failure_count: must be >= 1, got 0", "ALERT_CONSECUTIVE_FAILURE_COUNT"},
        {ENV("ALERT_EXHAUSTED_RETRIES_WINDOW_SECONDS=-1"), "alert.exhausted_retries_window_seconds: must be >= 0, got -1",
         "ALERT_EXHAUSTED_RETRIES_WINDOW_SECONDS"},
        {ENV("LOG_LEVEL=loud"), "unrecognized level: \"loud\"", "LOG_LEVEL"},
        {ENV("GIN_MODE=x"), "panic during PreRun: gin mode unknown: x (available mode: debug release test)", "GIN_MODE"},
        {ENV("IDGEN_TYPE=UUIDV4"), "failed to configure ID generator: invalid id type: UUIDV4 (must be one of: uuidv4, uuidv7, nanoid)", "IDGEN_TYPE"},
        {{.file = ".outpost.yaml", .text = "destinations: {webhook: {signature_encoding: ''}}\n"}, "signature encoding is required",
         "DESTINATIONS_WEBHOOK_SIGNATURE_ENCODING"},
        {{.file = ".outpost.yaml", .text = "destinations: {webhook: {signing_secret_template: ''}}\n"}, "signing secret template is required",
         "DESTINATIONS_WEBHOOK_SIGNING_SECRET_TEMPLATE"},
        {ENV("DESTINATIONS_WEBHOOK_EVENT_ID_HEADER_NAME=a b"), "invalid event ID header name \"a b\": must match ^[a-zA-Z0-9][a-zA-Z0-9_-]*$",
         "DESTINATIONS_WEBHOOK_EVENT_ID_HEADER_NAME"},
        {ENV("DESTINATIONS_WEBHOOK_SIGNATURE_HEADER_NAME=Content-Type"), "invalid signature header name \"Content-Type\": reserved header",
         "DESTINATIONS_WEBHOOK_SIGNATURE_HEADER_NAME"},
        {ENV("DESTINATIONS_WEBHOOK_EVENT_ID_HEADER_NAME=X-Acme", "DESTINATIONS_WEBHOOK_TOPIC_HEADER_NAME=x-acme"),
         "event ID and topic headers resolve to the same name \"x-acme\"; pin distinct names or disable one", "DESTINATIONS_WEBHOOK_TOPIC_HEADER_NAME"},
        {ENV("DESTINATIONS_WEBHOOK_EVENT_ID_HEADER_NAME=x-outpost-topic"),
         "event ID and topic headers resolve to the same name \"x-outpost-topic\"; pin distinct names or disable one",
         "DESTINATIONS_WEBHOOK_TOPIC_HEADER_NAME"},
        {ENV("DESTINATIONS_WEBHOOK_PROXY_URL=http://user:hush@h:port"), "invalid proxy URL: the port is no number", "DESTINATIONS_WEBHOOK_PROXY_URL"},
        {ENV("EGRESS_POLICY=maybe"), V "EGRESS_POLICY must be public or any", "EGRESS_POLICY"},
        {ENV("RETRY_JITTER=-1"), V "RETRY_JITTER must be between 0 and 1, got -1", "RETRY_JITTER"},
        {ENV("API_PORT=65536"), V "api_port must be between 0 and 65535, got 65536", "API_PORT"},
        {ENV("BACKLOG_MAX=0"), V "BACKLOG_MAX must be between 1 and 1000000000, got 0", "BACKLOG_MAX"},
        {ENV("API_MAX_BODY=2GiB"), V "API_MAX_BODY must be between 1 and 1073741824, got 2147483648", "API_MAX_BODY"},
    };
    /* clang-format on */
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct outcome o;
        try_config(&all[i].trial, &o);
        if (o.read || !o.check) {
            fail_msg("case %zu passes, want: %s", i, all[i].error);
        }
        assert_str(buf_str(&o.report.error), all[i].error);
        assert_str(buf_str(&o.report.hint), all[i].hint);
        outcome_fini(&o);
    }
}

static void check_passes(const struct trial *t, struct outcome *o)
{
    try_config(t, o);
    if (o->read || o->check) {
        fail_msg("refused: %s", buf_z(&o->report.error));
    }
}

static void nothing_set_is_embedded(void **state)
{
    (void)state;
    struct outcome o;
    check_passes(&(struct trial){0}, &o);
    const struct config_derived *d = &o.c->derived;
    assert_true(d->store_embedded && d->log_embedded && d->queue_embedded);
    assert_int_equal(d->queue, QUEUE_EMBEDDED);
    assert_int_equal(d->service, SERVICE_ALL);
    assert_int_equal(d->log_level, LOG_INFO);
    assert_int_equal(d->retry_poll_ms, 30000);
    assert_true(d->alert_consecutive && d->alert_exhausted);
    assert_int_equal(d->alert_consecutive_count, 100);
    assert_int_equal(d->alert_exhausted_window_s, 3600);
    assert_int_equal(d->max_idle_connections, 4096);
    assert_str(d->webhook_prefix, "x-outpost-");
    assert_str(d->webhook_header[HEADER_EVENT_ID], "x-outpost-event-id");
    assert_int_equal(o.c->retry_limit, 10);
    assert_str(o.c->egress_allow, "");
    assert_int_equal(o.c->warnings.n, 0);
    assert_int_equal(o.c->unknown.n, 0);
    outcome_fini(&o);
}

static void backends_are_chosen_by_name(void **state)
{
    (void)state;
    static const struct {
        struct trial trial;
        bool store, log;
        enum config_queue queue;
    } all[] = {
        {ENV("POSTGRES_URL=p"), true, false, QUEUE_EMBEDDED},
        {ENV("CLICKHOUSE_ADDR=h:9"), true, false, QUEUE_EMBEDDED},
        {ENV("CLICKHOUSE_DATABASE=d"), true, true, QUEUE_EMBEDDED},
        {ENV("RABBITMQ_SERVER_URL=a"), true, true, QUEUE_RABBITMQ},
        {ENV("RABBITMQ_EXCHANGE=a"), true, true, QUEUE_EMBEDDED},
        {ENV("AWS_SQS_REGION=eu", "RABBITMQ_SERVER_URL=a"), true, true, QUEUE_SQS},
        {ENV("GCP_PUBSUB_PROJECT=p", "RABBITMQ_SERVER_URL=a"), true, true, QUEUE_PUBSUB},
        {ENV("AZURE_SERVICEBUS_CONNECTION_STRING=c", "GCP_PUBSUB_PROJECT=p"), true, true,
         QUEUE_SERVICEBUS},
        {ENV("AZURE_SERVICEBUS_TENANT_ID=t", "GCP_PUBSUB_PROJECT=p"), true, true, QUEUE_PUBSUB},
        {ENV("REDIS_TLS_ENABLED=false", "AES_ENCRYPTION_SECRET=s", "API_KEY=k", "API_JWT_SECRET=j"),
         false, true, QUEUE_EMBEDDED},
        {ENV(SHARED, "AES_ENCRYPTION_SECRET=s", "API_KEY=k", "API_JWT_SECRET=j", "SERVICE=api"),
         false, false, QUEUE_RABBITMQ},
        {ENV(SHARED, "AES_ENCRYPTION_SECRET=s", "SERVICE=delivery"), false, false, QUEUE_RABBITMQ},
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct outcome o;
        check_passes(&all[i].trial, &o);
        assert_int_equal(o.c->derived.store_embedded, all[i].store);
        assert_int_equal(o.c->derived.log_embedded, all[i].log);
        assert_int_equal(o.c->derived.queue, all[i].queue);
        assert_int_equal(o.c->derived.queue_embedded, all[i].queue == QUEUE_EMBEDDED);
        outcome_fini(&o);
    }
}

static void consequences(void **state)
{
    (void)state;
    struct outcome o;
    check_passes(&(struct trial)ENV("RETRY_SCHEDULE=7,3", "MAX_RETRY_LIMIT=50", "DEV_MODE=1",
                                    "EGRESS_ALLOW=10.0.0.0/8", "LOG_LEVEL=WARNING",
                                    "ALERT_CONSECUTIVE_FAILURE_COUNT= 5 ",
                                    "ALERT_EXHAUSTED_RETRIES_WINDOW_SECONDS=", "IDGEN_TYPE=nanoid",
                                    "RETRY_INTERVAL_SECONDS=0", "DELIVERY_MAX_CONCURRENCY=1"),
                 &o);
    assert_int_equal(o.c->retry_limit, 2);
    assert_int_equal(o.c->derived.retry_poll_ms, 3000);
    assert_str(o.c->egress_allow, "10.0.0.0/8,127.0.0.0/8,::1/128");
    assert_int_equal(o.c->derived.log_level, LOG_WARN);
    assert_int_equal(o.c->derived.id_type, ID_NANOID);
    assert_int_equal(o.c->derived.alert_consecutive_count, 5);
    assert_false(o.c->derived.alert_exhausted);
    assert_int_equal(o.c->delivery_concurrency, 1);
    assert_int_equal(o.c->derived.max_idle_connections, 512);
    assert_int_equal(o.c->derived.max_idle_connections_per_host, 2);
    outcome_fini(&o);
}

static void headers(void **state)
{
    (void)state;
    struct outcome o;
    check_passes(&(struct trial)ENV("DESTINATIONS_WEBHOOK_HEADER_PREFIX= ",
                                    "DESTINATIONS_WEBHOOK_TOPIC_HEADER_NAME= X-T ",
                                    "DESTINATIONS_WEBHOOK_EVENT_ID_HEADER_NAME=",
                                    "DESTINATIONS_WEBHOOK_DISABLE_DEFAULT_SIGNATURE_HEADER=true",
                                    "DESTINATIONS_WEBHOOK_DISABLE_DEFAULT_TOPIC_HEADER=true"),
                 &o);
    assert_str(o.c->derived.webhook_prefix, "");
    assert_str(o.c->derived.webhook_header[HEADER_TOPIC], "X-T");
    assert_str(o.c->derived.webhook_header[HEADER_EVENT_ID], "");
    assert_str(o.c->derived.webhook_header[HEADER_SIGNATURE], "");
    assert_str(o.c->derived.webhook_header[HEADER_TIMESTAMP], "timestamp");
    assert_int_equal(o.c->warnings.n, 2);
    assert_str(o.c->warnings.v[0], "DESTINATIONS_WEBHOOK_DISABLE_DEFAULT_SIGNATURE_HEADER is "
                                   "deprecated and will be removed in a future version. Set "
                                   "DESTINATIONS_WEBHOOK_SIGNATURE_HEADER_NAME to an empty string "
                                   "to disable the header instead.");
    outcome_fini(&o);
    check_passes(&(struct trial)ENV("DESTINATIONS_WEBHOOK_MODE=standard",
                                    "DESTINATIONS_WEBHOOK_SIGNATURE_HEADER_NAME=Host"),
                 &o);
    assert_true(o.c->derived.webhook_standard);
    assert_str(o.c->derived.webhook_prefix, "webhook-");
    outcome_fini(&o);
    check_passes(&(struct trial)ENV("DESTINATIONS_WEBHOOK_EVENT_ID_HEADER_NAME=x-acme",
                                    "DESTINATIONS_WEBHOOK_TOPIC_HEADER_NAME= "),
                 &o);
    outcome_fini(&o);
}

/* What starts on Outpost starts here, with a value that works. */
static void odd_numbers_start(void **state)
{
    (void)state;
    struct outcome o;
    check_passes(&(struct trial)ENV("DELIVERY_MAX_CONCURRENCY=-4", "DELIVERY_TIMEOUT_SECONDS=0",
                                    "MAX_DESTINATIONS_PER_TENANT=-1", "MAX_RETRY_LIMIT=-3",
                                    "LOG_BATCH_SIZE=50000", "PUBLISH_IDEMPOTENCY_KEY_TTL=-9"),
                 &o);
    assert_int_equal(o.c->delivery_concurrency, 512);
    assert_int_equal(o.c->delivery_timeout_s, 5);
    assert_int_equal(o.c->max_destinations, 20);
    assert_int_equal(o.c->retry_limit, 0);
    assert_int_equal(o.c->log_batch_size, 10000);
    assert_int_equal(o.c->publish_ttl_s, -9);
    assert_true(
        has_text(&o.c->warnings, "DELIVERY_MAX_CONCURRENCY: -4 is out of bounds, 512 is used"));
    assert_false(has_text(&o.c->warnings, "DELIVERY_TIMEOUT_SECONDS"));
    outcome_fini(&o);
}

static void settings_without_effect_are_told(void **state)
{
    (void)state;
    struct outcome o;
    check_passes(&(struct trial)ENV("OTEL_EXPORTER=console", "CLICKHOUSE_USERNAME=u"), &o);
    assert_true(has_text(&o.c->warnings, "OTEL_EXPORTER is set, and this version does not use it"));
    assert_true(has_text(&o.c->warnings,
                         "clickhouse is set in part and not used: it needs CLICKHOUSE_ADDR"));
    assert_int_equal(o.c->warnings.n, 3);
    outcome_fini(&o);
}

static void addresses(void **state)
{
    (void)state;
    static const char *const good[] = {
        "",   "http://h", "http://u:p@h:1/x?y=%zz", "http://[::1]:80", "localhost:3128", "//h:1",
        "/a", "http://h:"};
    static const char *const bad[] = {":x",           "127.0.0.1:3128", "http://h:x", "http://[::1",
                                      "http://h/%zz", "http://a b",     "http://a\n"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_null(url_fault(str_z(good[i])));
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_non_null(url_fault(str_z(bad[i])));
    }
}

int check_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals),
        cmocka_unit_test(nothing_set_is_embedded),
        cmocka_unit_test(backends_are_chosen_by_name),
        cmocka_unit_test(consequences),
        cmocka_unit_test(headers),
        cmocka_unit_test(odd_numbers_start),
        cmocka_unit_test(settings_without_effect_are_told),
        cmocka_unit_test(addresses),
    };
    return cmocka_run_group_tests_name("config check", tests, NULL, NULL);
}
