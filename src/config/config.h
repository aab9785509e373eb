/* Settings: one table (settings.c) of names, types, defaults and bounds; filled from defaults, one
 * file (YAML or .env) and the environment, checked once, then immutable and shared by all threads.
 * No other room calls getenv. Names, defaults and texts are Outpost's (spec operations.md 2 to 6),
 * with settings of our own (design.md 10). Main thread only until it is shared.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_CONFIG_CONFIG_H
#define OUTRIDER_CONFIG_CONFIG_H

#include <stdio.h>

#include "util/arena.h"
#include "util/buf.h"
#include "util/id.h"
#include "util/log.h"
#include "util/secret.h"

struct config_ints {
    int64_t *v;
    size_t n;
};
struct config_list {
    struct str *v;
    size_t n;
};
/* A three-state text: not set, set to "" (off), set. */
struct config_opt {
    bool is_set;
    struct str text;
};

enum config_service { SERVICE_ALL, SERVICE_API, SERVICE_DELIVERY, SERVICE_LOG };
enum config_queue { QUEUE_EMBEDDED, QUEUE_SQS, QUEUE_SERVICEBUS, QUEUE_PUBSUB, QUEUE_RABBITMQ };
enum config_header {
    HEADER_EVENT_ID,
    HEADER_SIGNATURE,
    HEADER_TIMESTAMP,
    HEADER_TOPIC,
    HEADER_COUNT
};

/* -- settings of parts that this version does not have yet; texts named dlq: "" = derived from the
 * queue's name */
struct config_redis {
    struct str host, username;
    int64_t port, database;
    struct secret password;
    bool tls_enabled, cluster_enabled, dev_cluster_host_override;
};
struct config_clickhouse {
    struct str addr, username, database;
    struct secret password;
    bool tls_enabled;
    int64_t retention_days;
};
struct config_sqs {
    struct str region, access_key_id, endpoint, delivery_queue, log_queue, delivery_dlq, log_dlq;
    struct secret secret_access_key;
};
struct config_servicebus {
    struct secret connection_string, client_secret;
    struct str tenant_id, client_id, subscription_id, resource_group, namespace;
    struct str delivery_topic, delivery_subscription, log_topic, log_subscription;
};
struct config_pubsub {
    struct str project;
    struct secret credentials; /* key JSON text */
    struct str delivery_topic, delivery_subscription, log_topic, log_subscription;
    struct str delivery_dlq_topic, delivery_dlq_subscription, log_dlq_topic, log_dlq_subscription;
};
struct config_rabbitmq {
    struct secret server_url;
    struct str exchange, delivery_queue, log_queue, delivery_dlq, log_dlq;
};
struct config_publishmq { /* a customer's queue that events come from */
    struct str sqs_region, sqs_access_key_id, sqs_endpoint, sqs_queue;
    struct secret sqs_secret_access_key;
    struct secret servicebus_connection_string;
    struct str servicebus_topic, servicebus_subscription;
    struct str pubsub_project, pubsub_topic, pubsub_subscription;
    struct secret pubsub_credentials;
    struct secret rabbitmq_server_url;
    struct str rabbitmq_exchange, rabbitmq_queue;
};
struct config_opevents {
    struct config_list topics;
    struct str http_url;
    struct secret http_signing_secret;
    struct str sqs_queue_url, sqs_access_key_id, sqs_region, sqs_endpoint;
    struct secret sqs_secret_access_key;
    struct str pubsub_project_id, pubsub_topic_id;
    struct secret pubsub_credentials;
    struct secret rabbitmq_server_url;
    struct str rabbitmq_exchange;
};
struct config_portal {
    struct str proxy_url, referer_url, refresh_url, favicon_url, brand_color, logo, logo_dark,
        org_name, force_theme;
    bool disable_branding, destination_filter, webhook_custom_headers;
};
struct config_otel {
    struct str service_name;
    struct str traces_exporter, metrics_exporter, logs_exporter;
    struct str traces_protocol, metrics_protocol, logs_protocol;
};

/* What follows from the settings; filled by config_check. */
struct config_derived {
    enum config_service service;
    enum log_level log_level;
    enum id_type id_type;
    bool store_embedded, log_embedded, queue_embedded; /* nothing else is set by name */
    enum config_queue queue;
    int64_t retry_poll_ms; /* longest idle sleep of the retry scheduler */
    int64_t max_idle_connections, max_idle_connections_per_host;
    bool alert_consecutive, alert_exhausted; /* dimension on? */
    int64_t alert_consecutive_count, alert_exhausted_window_s;
    bool webhook_standard;
    struct str webhook_prefix;               /* "x-outpost-", "webhook-", as set, or "" */
    struct str webhook_header[HEADER_COUNT]; /* the name in default mode; "" = switched off */
};

struct config {
    /* process and API */
    struct str service, log_level, gin_mode, deployment_id, http_user_agent;
    int64_t api_port;
    struct secret api_key, api_jwt_secret, aes_secret;
    struct str api_auth;
    int64_t api_max_body, api_threads, delivery_threads;
    struct config_list topics;
    bool topics_given; /* TOPICS was set to something, perhaps blank */
    bool topics_allow_wildcards, disable_telemetry;
    struct str data_dir, egress_policy,
        egress_allow; /* allow holds loopback too in developer mode */
    bool dev_mode;
    /* retry and delivery; counts and seconds are in their bounds after config_check */
    double retry_jitter;
    struct config_ints retry_schedule; /* seconds */
    int64_t retry_interval_s, retry_limit /* the schedule's length when there is one */,
        retry_after_max_s;
    int64_t retry_poll_backoff_ms, retry_visibility_timeout_s;
    int64_t publish_concurrency, delivery_concurrency, log_concurrency;
    int64_t delivery_slow_max, delivery_per_destination, delivery_timeout_s;
    bool disable_on_gone, log_unmatched;
    int64_t max_destinations, publish_ttl_s, delivery_ttl_s; /* ttl: 0 and less = never expires */
    int64_t log_batch_size, log_batch_threshold_s, log_retention_days, log_retention_bytes,
        backlog_max;
    struct str idgen_type, idgen_event, idgen_destination, idgen_attempt;
    struct config_opt alert_count, alert_window; /* as set: use derived */
    bool alert_auto_disable;
    /* destinations */
    struct str metadata_path;
    bool timestamp_ms, kinesis_metadata_in_payload;
    struct str webhook_mode, webhook_proxy /* may hold a password */, webhook_prefix;
    struct config_opt webhook_event_id_header, webhook_signature_header, webhook_timestamp_header,
        webhook_topic_header;
    bool webhook_no_event_id, webhook_no_signature, webhook_no_timestamp, webhook_no_topic;
    struct str webhook_content_template, webhook_header_template, webhook_encoding,
        webhook_algorithm, webhook_secret_template;
    int64_t webhook_response_max;
    /* other parts */
    struct config_portal portal;
    struct config_opevents opevents;
    struct config_redis redis;
    struct secret postgres_url;
    struct config_clickhouse clickhouse;
    bool mqs_auto_provision;
    struct config_sqs sqs;
    struct config_servicebus servicebus;
    struct config_pubsub pubsub;
    struct config_rabbitmq rabbitmq;
    struct config_publishmq publishmq;
    bool telemetry_disabled;
    int64_t telemetry_batch_size, telemetry_batch_interval_s;
    struct str telemetry_url, telemetry_sentry_dsn;
    struct config_otel otel;

    struct config_derived derived;
    /* how it came about */
    struct str file;             /* "" = none */
    struct config_list unknown;  /* YAML keys that no setting has */
    struct config_list warnings; /* sentences for the log: deprecated names, settings without
                                    effect, values moved to a bound */
    const char **sources;        /* by row of the table: "default", ".env file", "YAML file",
                                    "environment", "first start" */
    struct arena arena;          /* all texts, NUL-terminated */
};

/* Reads, checks and derives. path: --config or NULL; envp: the environment, NULL-terminated. Errors
 * carry the specification's texts and the setting's name. */
enum ec config_load(const char *path, char *const *envp, struct config **out,
                    struct err *err) MUST_CHECK;
void config_free(struct config *c); /* clears secrets */

/* -- the same in two steps, for whoever shows settings that do not pass the check (spec 6.1) */

struct config_input {
    const char *path;    /* --config; NULL or "" = the usual places */
    const char *service; /* --service; NULL or "" = not given */
    char *const *envp;
};
struct config_report {
    struct buf error; /* Outpost's text exactly where it has one; "" = no error */
    struct buf hint;  /* the settings at fault: "API_PORT, RETRY_SCHEDULE" */
};
void config_report_init(struct config_report *r);
void config_report_fini(struct config_report *r);
/* EC_INVALID: the report says why and *out is not written. */
enum ec config_read(const struct config_input *in, struct config **out,
                    struct config_report *report) MUST_CHECK;
/* In the order of spec 4.1, first failure wins; fills in derived and warnings. Once, before the
 * config is shared. */
enum ec config_check(struct config *c, const struct config_input *in,
                     struct config_report *report) MUST_CHECK;

/* -- showing; a secret is never passed on */

/* `outrider config list`: the summary of spec 6.2 with our own settings, keys sorted and padded. */
void config_print(const struct config *c, FILE *to);
/* Every setting that this version uses: name, value, source. */
void config_print_all(const struct config *c, FILE *to);
/* The pairs of config_print, for the log line at the start. */
typedef void config_pair_fn(void *user, const char *key, struct str value);
void config_summary(const struct config *c, config_pair_fn *each, void *user);

/* Embedded mode: makes the data folder (0700) and, where they are not configured, the admin key
 * (not under API_AUTH=none), the encryption secret and the token secret as 0600 files in it; later
 * starts read them. Does nothing for what is not embedded. *out_new_key: the admin key was made
 * just now. After config_check. */
enum ec config_first_start(struct config *c, bool *out_new_key, struct err *err) MUST_CHECK;

#endif
