/* `config list`: Outpost's summary (spec operations.md 6.2) with our own settings, or every used
 * setting with its source. A secret is shown as a yes or no. SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdlib.h>

#include "config/config_priv.h"

#define PAIRS_MOST 200
struct pairs {
    struct arena arena;
    struct {
        const char *key;
        struct str value;
    } v[PAIRS_MOST];
    size_t n;
};

static void add(struct pairs *p, const char *key, struct str value)
{
    assert(p->n < PAIRS_MOST);
    p->v[p->n].key = key;
    p->v[p->n++].value = value;
}

static void add_bool(struct pairs *p, const char *key, bool v)
{
    add(p, key, v ? STR("true") : STR("false"));
}

static void add_set(struct pairs *p, const char *key, const struct secret *s)
{
    add_bool(p, key, secret_is_set(s));
}

static void add_int(struct pairs *p, const char *key, int64_t v)
{
    add(p, key, arena_printf(&p->arena, "%lld", (long long)v));
}

static void add_setting(struct pairs *p, const char *key, const struct config *c,
                        const struct setting *s)
{
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, FILE_MOST);
    value_format(c, s, &b);
    add(p, key, arena_copy(&p->arena, buf_str(&b)));
}

static void add_row(struct pairs *p, const char *key, const struct config *c, const char *yaml)
{
    bool alias;
    add_setting(p, key, c, setting_by_yaml(str_z(yaml), &alias));
}

static const char *lower(struct pairs *p, const char *name)
{
    char *z = arena_z(&p->arena, str_z(name));
    for (char *at = z; *at; at++) {
        *at = (char)tolower((unsigned char)*at);
    }
    return z;
}

static void add_rabbitmq(struct pairs *p, const struct config *c)
{
    struct str url = secret_reveal(&c->rabbitmq.server_url);
    size_t scheme, at;
    if (str_find(url, STR("://"), &scheme) &&
        str_find(str_sub(url, scheme, url.n), STR("@"), &at)) {
        struct str host = str_sub(url, scheme + at, url.n), start = str_sub(url, 0, scheme + 3);
        add(p, "rabbitmq_url",
            arena_printf(&p->arena, "%.*s***:***%.*s", STR_ARG(start), STR_ARG(host)));
    } else {
        add(p, "rabbitmq_url", arena_copy(&p->arena, url));
    }
    add(p, "rabbitmq_exchange", c->rabbitmq.exchange);
    add(p, "rabbitmq_delivery_queue", c->rabbitmq.delivery_queue);
    add(p, "rabbitmq_log_queue", c->rabbitmq.log_queue);
    add(p, "rabbitmq_delivery_dlq", c->rabbitmq.delivery_dlq);
    add(p, "rabbitmq_log_dlq", c->rabbitmq.log_dlq);
}

static void add_sqs(struct pairs *p, const struct config *c)
{
    add_bool(p, "aws_access_key_configured", c->sqs.access_key_id.n);
    add_set(p, "aws_secret_key_configured", &c->sqs.secret_access_key);
    add(p, "aws_region", c->sqs.region);
    add(p, "aws_delivery_queue", c->sqs.delivery_queue);
    add(p, "aws_log_queue", c->sqs.log_queue);
    add(p, "aws_delivery_dlq", c->sqs.delivery_dlq);
    add(p, "aws_log_dlq", c->sqs.log_dlq);
}

static void add_pubsub(struct pairs *p, const struct config *c)
{
    add_set(p, "gcp_credentials_configured", &c->pubsub.credentials);
    add(p, "gcp_project_id", c->pubsub.project);
    add(p, "gcp_delivery_topic", c->pubsub.delivery_topic);
    add(p, "gcp_delivery_subscription", c->pubsub.delivery_subscription);
    add(p, "gcp_log_topic", c->pubsub.log_topic);
    add(p, "gcp_log_subscription", c->pubsub.log_subscription);
    add(p, "gcp_delivery_dlq_topic", c->pubsub.delivery_dlq_topic);
    add(p, "gcp_delivery_dlq_subscription", c->pubsub.delivery_dlq_subscription);
    add(p, "gcp_log_dlq_topic", c->pubsub.log_dlq_topic);
    add(p, "gcp_log_dlq_subscription", c->pubsub.log_dlq_subscription);
}

static void add_servicebus(struct pairs *p, const struct config *c)
{
    add_set(p, "azure_connection_string_configured", &c->servicebus.connection_string);
    add(p, "azure_delivery_topic", c->servicebus.delivery_topic);
    add(p, "azure_delivery_subscription", c->servicebus.delivery_subscription);
    add(p, "azure_log_topic", c->servicebus.log_topic);
    add(p, "azure_log_subscription", c->servicebus.log_subscription);
}

static void add_queue(struct pairs *p, const struct config *c)
{
    static const char *const types[] = {
        [QUEUE_EMBEDDED] = "",
        [QUEUE_SQS] = "awssqs",
        [QUEUE_SERVICEBUS] = "azure_service_bus",
        [QUEUE_PUBSUB] = "gcppubsub",
        [QUEUE_RABBITMQ] = "rabbitmq",
    };
    add(p, "mq_type", str_z(types[c->derived.queue]));
    switch (c->derived.queue) {
    case QUEUE_SQS:
        add_sqs(p, c);
        break;
    case QUEUE_PUBSUB:
        add_pubsub(p, c);
        break;
    case QUEUE_RABBITMQ:
        add_rabbitmq(p, c);
        break;
    case QUEUE_SERVICEBUS:
        add_servicebus(p, c);
        break;
    case QUEUE_EMBEDDED:
        break;
    }
}

static void add_general(struct pairs *p, const struct config *c)
{
    static const char *const rows[] = {"service",         "log_level", "deployment_id", "topics",
                                       "http_user_agent", "api_port",  "gin_mode"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        add_row(p, rows[i], c, rows[i]);
    }
    add(p, "version", STR(OUTRIDER_VERSION));
    add(p, "config_file_path",
        c->file.n ? c->file : STR("none (using defaults and environment variables)"));
    add_set(p, "api_key_configured", &c->api_key);
    add_set(p, "api_jwt_secret_configured", &c->api_jwt_secret);
    add_set(p, "aes_encryption_secret_configured", &c->aes_secret);
    add_bool(p, "telemetry_disabled", c->disable_telemetry || c->telemetry_disabled);
    add(p, "idgen_type", c->idgen_type);
    add(p, "idgen_event_prefix", c->idgen_event);
}

static void add_stores(struct pairs *p, const struct config *c)
{
    struct str url = secret_reveal(&c->postgres_url), host = STR("not configured");
    size_t at;
    if (str_find(url, STR("@"), &at)) {
        host = str_sub(url, at + 1, url.n);
        size_t n = 0;
        while (n < host.n && host.p[n] != '/' && host.p[n] != '?') {
            n++;
        }
        host.n = n;
    }
    add_set(p, "postgres_configured", &c->postgres_url);
    add(p, "postgres_host", arena_copy(&p->arena, host));
    add_bool(p, "clickhouse_configured", c->clickhouse.addr.n);
    add(p, "clickhouse_addr", c->clickhouse.addr);
    add(p, "clickhouse_database", c->clickhouse.database);
    add_set(p, "clickhouse_password_configured", &c->clickhouse.password);
    add_bool(p, "clickhouse_tls_enabled", c->clickhouse.tls_enabled);
    add_int(p, "clickhouse_log_retention_ttl_days", c->clickhouse.retention_days);
    add(p, "redis_host", c->redis.host);
    add_int(p, "redis_port", c->redis.port);
    add_set(p, "redis_password_configured", &c->redis.password);
    add_int(p, "redis_database", c->redis.database);
    add_bool(p, "redis_tls_enabled", c->redis.tls_enabled);
    add_bool(p, "redis_cluster_enabled", c->redis.cluster_enabled);
}

static void add_flow(struct pairs *p, const struct config *c)
{
    static const char *const rows[] = {
        "publish_max_concurrency",     "delivery_max_concurrency",
        "log_max_concurrency",         "retry_schedule",
        "retry_interval_seconds",      "retry_max_limit",
        "delivery_timeout_seconds",    "max_destinations_per_tenant",
        "publish_idempotency_key_ttl", "delivery_idempotency_key_ttl",
        "log_batch_threshold_seconds", "log_batch_size",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        add_row(p, rows[i], c, rows[i]);
    }
    const struct config_derived *d = &c->derived;
    add_int(p, "retry_poll_backoff_ms", d->retry_poll_ms);
    add_int(p, "delivery_max_idle_conns", d->max_idle_connections);
    add_int(p, "delivery_max_idle_conns_per_host", d->max_idle_connections_per_host);
    add_bool(p, "alert_consecutive_failure_enabled", d->alert_consecutive);
    add_int(p, "alert_consecutive_failure_count", d->alert_consecutive_count);
    add_bool(p, "alert_auto_disable_destination", c->alert_auto_disable);
    add_bool(p, "alert_exhausted_retries_enabled", d->alert_exhausted);
    add_int(p, "alert_exhausted_retries_window_seconds", d->alert_exhausted_window_s);
}

static void add_headers(struct pairs *p, const struct config *c)
{
    const struct {
        const char *key;
        const struct config_opt *name;
    } rows[HEADER_COUNT] = {
        [HEADER_EVENT_ID] = {"destinations_webhook_event_id_header", &c->webhook_event_id_header},
        [HEADER_SIGNATURE] = {"destinations_webhook_signature_header",
                              &c->webhook_signature_header},
        [HEADER_TIMESTAMP] = {"destinations_webhook_timestamp_header",
                              &c->webhook_timestamp_header},
        [HEADER_TOPIC] = {"destinations_webhook_topic_header", &c->webhook_topic_header},
    };
    for (size_t i = 0; i < HEADER_COUNT; i++) {
        struct str name = c->derived.webhook_header[i];
        add(p, rows[i].key,
            !name.n                ? STR("disabled")
            : rows[i].name->is_set ? name
                                   : STR("<default>"));
    }
}

static void add_own(struct pairs *p, const struct config *c)
{
    const struct config_derived *d = &c->derived;
    for (size_t i = 0; i < setting_count; i++) {
        if (settings[i].flags & SET_OWN) {
            add_setting(p, lower(p, settings[i].env), c, &settings[i]);
        }
    }
    add(p, "embedded",
        arena_printf(&p->arena, "[%s%s%s%s%s]", d->store_embedded ? "store" : "",
                     d->store_embedded && d->log_embedded ? " " : "", d->log_embedded ? "log" : "",
                     (d->store_embedded || d->log_embedded) && d->queue_embedded ? " " : "",
                     d->queue_embedded ? "queue" : ""));
}

static int by_key(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a,
                  *(const char *const *)b); /* the key is the first member */
}

void config_summary(const struct config *c, config_pair_fn *each, void *user)
{
    struct pairs *p = xcalloc(1, sizeof(*p));
    arena_init(&p->arena);
    add_general(p, c);
    add_stores(p, c);
    add_queue(p, c);
    add_flow(p, c);
    add_headers(p, c);
    add_own(p, c);
    qsort(p->v, p->n, sizeof(p->v[0]), by_key);
    for (size_t i = 0; i < p->n; i++) {
        each(user, p->v[i].key, p->v[i].value);
    }
    arena_fini(&p->arena);
    free(p);
}

static void widest(void *user, const char *key, struct str value)
{
    (void)value;
    *(size_t *)user = MAX(*(size_t *)user, strlen(key));
}

struct lines {
    FILE *to;
    int width;
};

static void print_line(void *user, const char *key, struct str value)
{
    const struct lines *l = user;
    fprintf(l->to, "%-*s  %.*s\n", l->width, key, STR_ARG(value));
}

void config_print(const struct config *c, FILE *to)
{
    size_t width = 0;
    config_summary(c, widest, &width);
    struct lines l = {to, (int)width};
    config_summary(c, print_line, &l);
}

void config_print_all(const struct config *c, FILE *to)
{
    int width = 0;
    for (size_t i = 0; i < setting_count; i++) {
        width = settings[i].flags & SET_USED ? MAX(width, (int)strlen(settings[i].env)) : width;
    }
    for (size_t i = 0; i < setting_count; i++) {
        if (settings[i].flags & SET_USED) {
            CLEANUP(buf_fini) struct buf b;
            buf_init(&b, FILE_MOST);
            value_format(c, &settings[i], &b);
            fprintf(to, "%-*s  %s  (%s)\n", width, settings[i].env, buf_z(&b), c->sources[i]);
        }
    }
}
