/* Settings: one table, filled from built-in defaults, one file (YAML or .env) and the environment,
 * checked once, then immutable and shared by all threads. Not for reading settings anywhere else:
 * no other room calls getenv. Names, defaults and texts are Outpost's (spec operations.md 2 to 6),
 * with settings of our own. Neighbour: firststart.h makes the secrets that nobody set. Main thread
 * only until published; afterwards const. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_CONFIG_CONFIG_H
#define OUTRIDER_CONFIG_CONFIG_H

#include <stdio.h>

#include "util/arena.h"
#include "util/buf.h"
#include "util/id.h"
#include "util/log.h"
#include "util/secret.h"

/* Texts live as long as the config and are NUL-terminated. */
struct config_strs {
    struct str *v;
    size_t n;
};
struct config_ints {
    int64_t *v;
    size_t n;
};
/* Three states: !set = the default; set and empty = switched off; set = that value. */
struct config_optional {
    bool set;
    struct str text;
};

enum config_service { SERVICE_ALL, SERVICE_API, SERVICE_DELIVERY, SERVICE_LOG };
enum config_queue { QUEUE_EMBEDDED, QUEUE_SQS, QUEUE_SERVICEBUS, QUEUE_PUBSUB, QUEUE_RABBITMQ };
enum config_webhook_header {
    HEADER_EVENT_ID,
    HEADER_SIGNATURE,
    HEADER_TIMESTAMP,
    HEADER_TOPIC,
    HEADER_COUNT
};

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
    int64_t log_retention_ttl_days;
};
struct config_sqs { /* dlq texts: "" = derived from the queue's name */
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
    struct secret service_account_credentials;
    struct str delivery_topic, delivery_subscription, log_topic, log_subscription;
    struct str delivery_dlq_topic, delivery_dlq_subscription, log_dlq_topic, log_dlq_subscription;
};
struct config_rabbitmq {
    struct secret server_url; /* may hold a password */
    struct str exchange, delivery_queue, log_queue, delivery_dlq, log_dlq;
};
struct config_publishmq { /* a customer's queue to take events from */
    struct {
        struct str region, access_key_id, endpoint, queue;
        struct secret secret_access_key;
    } sqs;
    struct {
        struct secret connection_string;
        struct str topic, subscription;
    } servicebus;
    struct {
        struct str project, topic, subscription;
        struct secret service_account_credentials;
    } pubsub;
    struct {
        struct secret server_url;
        struct str exchange, queue;
    } rabbitmq;
};
struct config_webhook {
    struct str mode; /* "standard", anything else is the default mode */
    struct secret proxy_url;
    struct str header_prefix; /* as set; see config_derived for what holds */
    struct config_optional header_name[HEADER_COUNT];
    bool disable_default[HEADER_COUNT]; /* deprecated names */
    struct str signature_content_template, signature_header_template;
    struct str signature_encoding, signature_algorithm, signing_secret_template;
    int64_t max_response_body_bytes; /* 0 = no cap */
};
struct config_destinations {
    struct str metadata_path;
    bool include_millisecond_timestamp;
    bool kinesis_metadata_in_payload;
    struct config_webhook webhook;
};
struct config_opevents {
    struct config_strs topics;
    struct {
        struct str url;
        struct secret signing_secret;
    } http;
    struct {
        struct str queue_url, access_key_id, region, endpoint;
        struct secret secret_access_key;
    } sqs;
    struct {
        struct str project_id, topic_id;
        struct secret credentials;
    } pubsub;
    struct {
        struct secret server_url;
        struct str exchange;
    } rabbitmq;
};
struct config_portal {
    struct str proxy_url, referer_url, refresh_url, favicon_url, brand_color, logo, logo_dark,
        org_name, force_theme;
    bool disable_outpost_branding, enable_destination_filter, enable_webhook_custom_headers;
};
struct config_telemetry {
    bool disabled;
    int64_t batch_size, batch_interval;
    struct str hookdeck_source_url, sentry_dsn;
};
struct config_otel_signal {
    struct str exporter, protocol;
};

/* What follows from the settings; set by config_check. */
struct config_derived {
    enum config_service service;
    enum log_level log_level;
    enum id_type id_type;
    bool store_embedded, log_embedded, queue_embedded; /* nothing else is set by name */
    enum config_queue queue;
    int64_t retry_max_limit; /* the schedule's length when there is one */
    int64_t retry_poll_ms;   /* longest idle sleep of the retry scheduler */
    int64_t max_idle_connections, max_idle_connections_per_host;
    bool alert_consecutive_enabled, alert_exhausted_enabled;
    int64_t alert_consecutive_count, alert_exhausted_window_s; /* 0 when not enabled */
    bool webhook_standard;
    struct str webhook_prefix;               /* "x-outpost-", "webhook-", as set, or "" */
    struct str webhook_header[HEADER_COUNT]; /* name in default mode; "" = switched off */
    struct str http_user_agent;              /* as set, or Outrider/<version> */
    struct str egress_allow; /* the allowed ranges, with loopback in developer mode */
    double retry_jitter;
};

#define CONFIG_SETTINGS_MAX 256
struct config {
    /* process and API */
    struct str service, log_level, gin_mode, deployment_id, http_user_agent;
    int64_t api_port;
    struct secret api_key, api_jwt_secret, aes_encryption_secret;
    struct config_strs topics;
    bool topics_allow_wildcards, disable_telemetry;
    /* infrastructure */
    struct config_redis redis;
    struct secret postgres_url;
    struct config_clickhouse clickhouse;
    struct {
        bool auto_provision;
        struct config_sqs sqs;
        struct config_servicebus servicebus;
        struct config_pubsub pubsub;
        struct config_rabbitmq rabbitmq;
    } mqs;
    struct config_publishmq publishmq;
    /* flow */
    int64_t publish_max_concurrency, delivery_max_concurrency, log_max_concurrency;
    struct config_ints retry_schedule; /* seconds */
    int64_t retry_interval_seconds, retry_max_limit /* raw: use derived */, retry_poll_backoff_ms;
    int64_t retry_visibility_timeout_seconds;
    int64_t max_destinations_per_tenant, delivery_timeout_seconds;
    int64_t publish_idempotency_key_ttl,
        delivery_idempotency_key_ttl; /* seconds; 0 and less: never expires */
    int64_t log_batch_threshold_seconds, log_batch_size;
    struct config_destinations destinations;
    struct {
        struct config_optional consecutive_failure_count,
            exhausted_retries_window_seconds; /* raw: use derived */
        bool auto_disable_destination;
    } alert;
    struct config_opevents operator_events;
    struct config_portal portal;
    struct {
        struct str type, event_prefix, destination_prefix, attempt_prefix;
    } idgen;
    struct config_telemetry telemetry;
    struct {
        struct str service_name;
        struct config_otel_signal traces, metrics, logs;
    } otel;
    /* our own */
    struct str data_dir, egress_policy, egress_allow, retry_jitter, api_auth;
    int64_t delivery_slow_max, delivery_per_destination, retry_after_max_s, api_max_body;
    int64_t log_retention_days, log_retention_bytes, backlog_max, api_threads, delivery_threads;
    bool disable_on_gone, log_unmatched, dev_mode;

    struct config_derived derived;
    struct str file;                     /* the file that was read; "" = none */
    uint8_t source[CONFIG_SETTINGS_MAX]; /* enum config_source by row of the table */
    struct arena arena;
};

/* -- the table */

enum setting_type {
    SETTING_TEXT,
    SETTING_SECRET,
    SETTING_INT,
    SETTING_BOOL,
    SETTING_TEXTS,    /* environment: comma-separated; YAML: a list */
    SETTING_INTS,     /* the same */
    SETTING_OPTIONAL, /* three states */
    SETTING_SIZE,     /* bytes: 4096, 16MiB, 10GiB */
    SETTING_SECONDS,  /* 3600, 90s, 15m, 1h, 30d */
    SETTING_CSV,      /* one text; YAML may give a list */
};
enum {
    SETTING_USED = 1,        /* something in this version reads it */
    SETTING_OWN = 2,         /* not one of Outpost's */
    SETTING_EMPTY_COUNTS = 4 /* present and empty in the environment means "off" */
};
struct setting {
    const char *yaml;                   /* dotted path; unique */
    const char *env;                    /* rows may share a name; one text then sets them all */
    const char *yaml_alias, *env_alias; /* also accepted, at lower priority; NULL: none */
    const char *word;                   /* the name that Outpost's messages use */
    enum setting_type type;
    unsigned flags;
    size_t offset;        /* in struct config */
    const char *fallback; /* the default, as the environment would give it; "" = none */
    int64_t least,
        most; /* numbers beyond are refused (our own) or moved to the bound with a warning */
    const char *group, *help;
};
extern const struct setting config_settings[];
extern const size_t config_settings_count;
const struct setting *config_setting(const char *yaml); /* NULL: no such row */

enum config_source {
    SOURCE_DEFAULT,
    SOURCE_DOTENV,
    SOURCE_YAML,
    SOURCE_ENVIRONMENT,
    SOURCE_FIRST_START
};
const char *config_source_name(enum config_source source); /* "default", ".env file", ... */
/* Where a row's value comes from. */
enum config_source config_source_of(const struct config *c, const struct setting *s);

/* -- reading */

/* What went wrong, for people. Never holds a secret. */
struct config_report {
    struct buf error; /* Outpost's text where it has one; "" = no error */
    struct buf hint;  /* which setting, set where; one line each, may be empty */
    struct buf
        warnings; /* one line each: unknown keys, deprecated names, settings without effect */
};
void config_report_init(struct config_report *r);
void config_report_fini(struct config_report *r);

struct config_input {
    const char *path;    /* --config; NULL or "" = look in the usual places */
    const char *service; /* --service; NULL or "" = not given */
    char *const *environ;
};

/* Reads defaults, file and environment; does not check (spec 6.1). EC_INVALID: report->error says
 * why and *out is not written. report is initialised by the caller and must outlive nothing. */
enum ec config_load(const struct config_input *in, struct config **out,
                    struct config_report *report) MUST_CHECK;
/* Checks in the order of spec 4.1, first failure wins, and fills in c->derived; derived is usable
 * only after EC_OK, except for printing. Adds warnings. Call once, before the config is shared. */
enum ec config_check(struct config *c, const struct config_input *in,
                     struct config_report *report) MUST_CHECK;
void config_free(struct config *c); /* clears secrets */

/* -- showing: no secret is ever passed on */

/* The summary of spec 6.2 and our own settings, sorted by key; also for the log line at start. */
typedef void config_pair_fn(void *user, const char *key, struct str value);
void config_summary(const struct config *c, config_pair_fn *each, void *user);
/* `config list`: the summary as padded lines, or (all) every used setting with its value and
 * source. */
void config_print(const struct config *c, FILE *to, bool all);
/* One setting's value as text into b; secrets as "(set)" or "". */
void config_value_add(const struct config *c, const struct setting *s, struct buf *b);

#endif
