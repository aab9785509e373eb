/* The one table of settings: all of Outpost's and our own, in the order they are explained. A
 * setting that no part reads yet lacks SET_USED: it is accepted, and said to have no effect. Texts
 * become values in value.c. SPDX-License-Identifier: Apache-2.0 */
#include "config/config_priv.h"

/* One row a line. */
/* clang-format off */
#define U SET_USED
#define OWN (SET_USED | SET_OWN)
#define AT(field) offsetof(struct config, field)
#define TEXT(y, e, f, d, fl, h)         {y, e, SET_TEXT, fl, AT(f), d, h}
#define MASKED(y, e, f, fl, h)          {y, e, SET_TEXT, (fl) | SET_MASKED, AT(f), "", h}
#define SECRET(y, e, f, fl, h)          {y, e, SET_SECRET, fl, AT(f), "", h}
#define OPT(y, e, f, h)                 {y, e, SET_OPT, SET_USED | SET_EMPTY, AT(f), "", h}
#define LIST(y, e, f, fl, h)            {y, e, SET_LIST, fl, AT(f), "", h}
#define BOOL(y, e, w, f, d, fl, h)      {y, e, SET_BOOL, fl, AT(f), d, h, .word = w}
#define INT(y, e, w, f, d, fl, lo, hi, h)        {y, e, SET_INT, fl, AT(f), d, h, .word = w, .least = lo, .most = hi}
#define COUNT(y, e, w, f, d, fl, hi, zero, h)    {y, e, SET_INT, fl, AT(f), d, h, .word = w, .least = 1, .most = hi, .instead = zero}
#define DAY_S 86400

const struct setting settings[] = {
    /* process and API */
    TEXT("service", "SERVICE", service, "", U, "which services run: all, api, delivery or log; embedded stores need all"),
    TEXT("log_level", "LOG_LEVEL", log_level, "info", U, "debug, info, warn or error"),
    INT("api_port", "API_PORT", "APIPort", api_port, "3333", U, 0, 0, "port of the HTTP API, on all addresses"),
    SECRET("api_key", "API_KEY", api_key, U, "admin key; embedded: made at the first start"),
    TEXT("api_auth", "API_AUTH", api_auth, "key", OWN, "`key`, or `none`: every caller is admin"),
    SECRET("api_jwt_secret", "API_JWT_SECRET", api_jwt_secret, U, "signs tenant tokens; embedded: made at the first start"),
    SECRET("aes_encryption_secret", "AES_ENCRYPTION_SECRET", aes_secret, U, "encrypts stored credentials; embedded: made at the first start"),
    {"api_max_body", "API_MAX_BODY", SET_SIZE, OWN, AT(api_max_body), "16MiB", "largest request body", .least = 1, .most = INT64_C(1) << 30},
    INT("api_threads", "API_THREADS", NULL, api_threads, "0", OWN, 0, 256, "API threads; 0 = by cores"),
    INT("delivery_threads", "DELIVERY_THREADS", NULL, delivery_threads, "0", OWN, 0, 256, "delivery threads; 0 = by cores"),
    TEXT("deployment_id", "DEPLOYMENT_ID", deployment_id, "", U, "goes into tenant tokens; letters, digits, `-` and `_`"),
    TEXT("http_user_agent", "HTTP_USER_AGENT", http_user_agent, "", U, "User-Agent of deliveries"),
    LIST("topics", "TOPICS", topics, U, "topics that may be published; empty = any"),
    BOOL("topics_allow_wildcards", "TOPICS_ALLOW_WILDCARDS", "TopicsAllowWildcards", topics_allow_wildcards, "false", U, "allow `*` inside destination topics (`user.*`)"),
    TEXT("gin_mode", "GIN_MODE", gin_mode, "release", 0, "accepted for compatibility"),
    BOOL("dev_mode", "DEV_MODE", NULL, dev_mode, "false", OWN, "for a developer's machine: loopback receivers, pretty log, first-start help"),
    TEXT("data_dir", "DATA_DIR", data_dir, "./outrider-data", OWN, "folder of the embedded stores; one process only"),
    INT("backlog_max", "BACKLOG_MAX", NULL, backlog_max, "100000", OWN, 1, 1000000000, "accepted work not yet attempted and recorded, at most"),
    /* where deliveries may go */
    TEXT("egress.policy", "EGRESS_POLICY", egress_policy, "public", OWN, "`public`: refuse private, loopback and other special addresses; `any`: allow all"),
    {"egress.allow", "EGRESS_ALLOW", SET_CSV, OWN, AT(egress_allow), "", "ranges allowed in spite of the policy (CIDR)"},
    /* delivery and retry */
    COUNT("delivery_max_concurrency", "DELIVERY_MAX_CONCURRENCY", "DeliveryMaxConcurrency", delivery_concurrency, "512", U, 1000000, 512, "attempts under way, those older than a second aside"),
    INT("delivery_slow_max", "DELIVERY_SLOW_MAX", NULL, delivery_slow_max, "8192", OWN, 1, 1000000, "attempts older than a second, all destinations together"),
    INT("delivery_per_destination", "DELIVERY_PER_DESTINATION", NULL, delivery_per_destination, "32", OWN, 1, 100000, "attempts under way to one destination"),
    COUNT("delivery_timeout_seconds", "DELIVERY_TIMEOUT_SECONDS", "DeliveryTimeoutSeconds", delivery_timeout_s, "5", U, DAY_S, 5, "deadline of one attempt"),
    {"retry_schedule", "RETRY_SCHEDULE", SET_INTS, U, AT(retry_schedule), "", "delays in seconds, one a retry; replaces the next two", .word = "RetrySchedule"},
    INT("retry_interval_seconds", "RETRY_INTERVAL_SECONDS", "RetryIntervalSeconds", retry_interval_s, "30", U, 0, 0, "first delay; doubles with each retry"),
    INT("retry_max_limit", "MAX_RETRY_LIMIT", "RetryMaxLimit", retry_limit, "10", U, 0, INT32_MAX, "automatic retries after the first attempt"),
    {"retry_jitter", "RETRY_JITTER", SET_SHARE, OWN, AT(retry_jitter), "0.1", "share of each delay, both ways; 0 = the exact schedule"},
    {"retry_after_max", "RETRY_AFTER_MAX", SET_SECONDS, OWN, AT(retry_after_max_s), "3600", "longest `Retry-After` that is honoured; 0 ignores it", .least = 0, .most = 9999999},
    INT("retry_poll_backoff_ms", "RETRY_POLL_BACKOFF_MS", "RetryPollBackoffMs", retry_poll_backoff_ms, "0", 0, 0, 0, "longest idle sleep of the retry scheduler on Redis; 0 = by the shortest delay"),
    COUNT("retry_visibility_timeout_seconds", "RETRY_VISIBILITY_TIMEOUT_SECONDS", "RetryVisibilityTimeoutSeconds", retry_visibility_timeout_s, "30", 0, 10 * DAY_S, 30, "how long a taken retry is hidden on Redis"),
    BOOL("disable_on_gone", "DISABLE_ON_GONE", NULL, disable_on_gone, "false", OWN, "a 410 disables the destination"),
    COUNT("max_destinations_per_tenant", "MAX_DESTINATIONS_PER_TENANT", "MaxDestinationsPerTenant", max_destinations, "20", U, INT32_MAX, 20, "destinations a tenant may have"),
    INT("publish_idempotency_key_ttl", "PUBLISH_IDEMPOTENCY_KEY_TTL", "PublishIdempotencyKeyTTL", publish_ttl_s, "3600", U, INT32_MIN, INT32_MAX, "seconds an event id is remembered; 0 = for ever"),
    INT("delivery_idempotency_key_ttl", "DELIVERY_IDEMPOTENCY_KEY_TTL", "DeliveryIdempotencyKeyTTL", delivery_ttl_s, "3600", U, INT32_MIN, INT32_MAX, "seconds a finished delivery is remembered; 0 = for ever"),
    COUNT("publish_max_concurrency", "PUBLISH_MAX_CONCURRENCY", "PublishMaxConcurrency", publish_concurrency, "1", 0, 1000000, 1, "messages of the publish queue under way"),
    /* the log */
    {"log_retention.days", "LOG_RETENTION_DAYS", SET_INT, OWN, AT(log_retention_days), "30", "days the embedded log is kept; 0 = for ever", .least = 0, .most = 36500},
    {"log_retention.bytes", "LOG_RETENTION_BYTES", SET_SIZE, OWN, AT(log_retention_bytes), "10GiB", "size the embedded log is kept within; 0 = no limit", .least = 0, .most = INT64_C(1) << 60},
    BOOL("log_unmatched", "LOG_UNMATCHED", NULL, log_unmatched, "true", OWN, "record events that match no destination"),
    COUNT("log_batch_size", "LOG_BATCH_SIZE", "LogBatchSize", log_batch_size, "1000", U, 10000, 1000, "rows written to the log at once, at most"),
    INT("log_batch_threshold_seconds", "LOG_BATCH_THRESHOLD_SECONDS", "LogBatchThresholdSeconds", log_batch_threshold_s, "10", 0, 0, DAY_S, "longest wait for a full batch from a broker"),
    COUNT("log_max_concurrency", "LOG_MAX_CONCURRENCY", "LogMaxConcurrency", log_concurrency, "1", 0, 1000000, 1, "messages of the log queue under way"),
    /* ids */
    TEXT("idgen.type", "IDGEN_TYPE", idgen_type, "uuidv4", U, "`uuidv4`, `uuidv7` or `nanoid`"),
    TEXT("idgen.event_prefix", "IDGEN_EVENT_PREFIX", idgen_event, "", U, "in front of event ids"),
    TEXT("idgen.destination_prefix", "IDGEN_DESTINATION_PREFIX", idgen_destination, "", U, "in front of destination ids"),
    TEXT("idgen.attempt_prefix", "IDGEN_ATTEMPT_PREFIX", idgen_attempt, "", U, "in front of attempt ids"),
    /* alerts */
    OPT("alert.consecutive_failure_count", "ALERT_CONSECUTIVE_FAILURE_COUNT", alert_count, "failures in a row that raise an alert (unset: 100); empty = off"),
    BOOL("alert.auto_disable_destination", "ALERT_AUTO_DISABLE_DESTINATION", "AutoDisableDestination", alert_auto_disable, "false", U, "disable a destination at that count"),
    OPT("alert.exhausted_retries_window_seconds", "ALERT_EXHAUSTED_RETRIES_WINDOW_SECONDS", alert_window, "one alert of used-up retries in this time (unset: 3600); empty = off"),
    /* destinations */
    TEXT("destinations.metadata_path", "DESTINATIONS_METADATA_PATH", metadata_path, "config/outpost/destinations", 0, "folder of texts that replace the types' own"),
    BOOL("destinations.include_millisecond_timestamp", "DESTINATIONS_INCLUDE_MILLISECOND_TIMESTAMP", "IncludeMillisecondTimestamp", timestamp_ms, "false", U, "add `timestamp-ms` to delivery metadata"),
    BOOL("destinations.aws_kinesis.metadata_in_payload", "DESTINATIONS_AWS_KINESIS_METADATA_IN_PAYLOAD", "MetadataInPayload", kinesis_metadata_in_payload, "true", 0, "metadata beside the data in Kinesis records"),
    TEXT("destinations.webhook.mode", "DESTINATIONS_WEBHOOK_MODE", webhook_mode, "default", U, "`standard`: Standard Webhooks; anything else: default mode"),
    MASKED("destinations.webhook.proxy_url", "DESTINATIONS_WEBHOOK_PROXY_URL", webhook_proxy, U, "forward proxy for webhooks"),
    TEXT("destinations.webhook.header_prefix", "DESTINATIONS_WEBHOOK_HEADER_PREFIX", webhook_prefix, "", U, "prefix of our headers (`x-outpost-`, `webhook-`); blank = none"),
    OPT("destinations.webhook.event_id_header_name", "DESTINATIONS_WEBHOOK_EVENT_ID_HEADER_NAME", webhook_event_id_header, "header of the event id; empty = off"),
    OPT("destinations.webhook.signature_header_name", "DESTINATIONS_WEBHOOK_SIGNATURE_HEADER_NAME", webhook_signature_header, "header of the signature; empty = off"),
    OPT("destinations.webhook.timestamp_header_name", "DESTINATIONS_WEBHOOK_TIMESTAMP_HEADER_NAME", webhook_timestamp_header, "header of the time; empty = off"),
    OPT("destinations.webhook.topic_header_name", "DESTINATIONS_WEBHOOK_TOPIC_HEADER_NAME", webhook_topic_header, "header of the topic; empty = off"),
    BOOL("destinations.webhook.disable_default_event_id_header", "DESTINATIONS_WEBHOOK_DISABLE_DEFAULT_EVENT_ID_HEADER", "DisableDefaultEventIDHeader", webhook_no_event_id, "false", U, "deprecated: leave the header out"),
    BOOL("destinations.webhook.disable_default_signature_header", "DESTINATIONS_WEBHOOK_DISABLE_DEFAULT_SIGNATURE_HEADER", "DisableDefaultSignatureHeader", webhook_no_signature, "false", U, "deprecated: leave the header out"),
    BOOL("destinations.webhook.disable_default_timestamp_header", "DESTINATIONS_WEBHOOK_DISABLE_DEFAULT_TIMESTAMP_HEADER", "DisableDefaultTimestampHeader", webhook_no_timestamp, "false", U, "deprecated: leave the header out"),
    BOOL("destinations.webhook.disable_default_topic_header", "DESTINATIONS_WEBHOOK_DISABLE_DEFAULT_TOPIC_HEADER", "DisableDefaultTopicHeader", webhook_no_topic, "false", U, "deprecated: leave the header out"),
    TEXT("destinations.webhook.signature_content_template", "DESTINATIONS_WEBHOOK_SIGNATURE_CONTENT_TEMPLATE", webhook_content_template, "{{.Body}}", U, "what is signed"),
    TEXT("destinations.webhook.signature_header_template", "DESTINATIONS_WEBHOOK_SIGNATURE_HEADER_TEMPLATE", webhook_header_template, "v0={{.Signatures | join \",\"}}", U, "how signatures are written"),
    TEXT("destinations.webhook.signature_encoding", "DESTINATIONS_WEBHOOK_SIGNATURE_ENCODING", webhook_encoding, "hex", U, "`hex` or `base64`"),
    TEXT("destinations.webhook.signature_algorithm", "DESTINATIONS_WEBHOOK_SIGNATURE_ALGORITHM", webhook_algorithm, "hmac-sha256", U, "`hmac-sha256` or `hmac-sha1`"),
    TEXT("destinations.webhook.signing_secret_template", "DESTINATIONS_WEBHOOK_SIGNING_SECRET_TEMPLATE", webhook_secret_template, "whsec_{{.RandomHex}}", U, "form of generated secrets"),
    INT("destinations.webhook.max_response_body_bytes", "DESTINATIONS_WEBHOOK_MAX_RESPONSE_BODY_BYTES", "MaxResponseBodyBytes", webhook_response_max, "131072", U, 0, INT32_MAX, "bytes of a response that are stored; 0 = all"),
    /* portal */
    MASKED("portal.proxy_url", "PORTAL_PROXY_URL", portal.proxy_url, 0, "where the portal's files are fetched instead"),
    TEXT("portal.referer_url", "PORTAL_REFERER_URL", portal.referer_url, "", 0, "where Back leads"),
    TEXT("portal.refresh_url", "PORTAL_REFRESH_URL", portal.refresh_url, "", 0, "where an ended session leads"),
    TEXT("portal.favicon_url", "PORTAL_FAVICON_URL", portal.favicon_url, "", 0, "icon"),
    {"portal.brand_color", "PORTAL_BRAND_COLOR", SET_TEXT, 0, AT(portal.brand_color), "", "`#rrggbb`", .yaml_alias = "portal.accent_color", .env_alias = "PORTAL_ACCENT_COLOR"},
    TEXT("portal.logo", "PORTAL_LOGO", portal.logo, "", 0, "address or markup"),
    TEXT("portal.logo_dark", "PORTAL_LOGO_DARK", portal.logo_dark, "", 0, "the same on dark ground"),
    {"portal.org_name", "PORTAL_ORGANIZATION_NAME", SET_TEXT, 0, AT(portal.org_name), "", "name shown", .yaml_alias = "portal.organization_name"},
    TEXT("portal.force_theme", "PORTAL_FORCE_THEME", portal.force_theme, "", 0, "`light` or `dark`"),
    BOOL("portal.disable_outpost_branding", "PORTAL_DISABLE_OUTPOST_BRANDING", "DisableOutpostBranding", portal.disable_branding, "false", 0, "no footer"),
    BOOL("portal.enable_destination_filter", "PORTAL_ENABLE_DESTINATION_FILTER", "EnableDestinationFilter", portal.destination_filter, "false", 0, "filter editor"),
    BOOL("portal.enable_webhook_custom_headers", "PORTAL_ENABLE_WEBHOOK_CUSTOM_HEADERS", "EnableWebhookCustomHeaders", portal.webhook_custom_headers, "false", 0, "custom header editor"),
    /* operator events */
    {"operator_events.topics", "OPERATOR_EVENTS_TOPICS", SET_LIST, 0, AT(opevents.topics), "", "which; `*` = all", .env_alias = "OPERATION_EVENTS_TOPICS"},
    {"operator_events.http.url", "OPERATOR_EVENTS_HTTP_URL", SET_TEXT, SET_MASKED, AT(opevents.http_url), "", "receiver", .env_alias = "OPERATION_EVENTS_HTTP_URL"},
    {"operator_events.http.signing_secret", "OPERATOR_EVENTS_HTTP_SIGNING_SECRET", SET_SECRET, 0, AT(opevents.http_signing_secret), "", "signs them", .env_alias = "OPERATION_EVENTS_HTTP_SIGNING_SECRET"},
    {"operator_events.aws_sqs.queue_url", "OPERATOR_EVENTS_AWS_SQS_QUEUE_URL", SET_TEXT, 0, AT(opevents.sqs_queue_url), "", "queue", .env_alias = "OPERATION_EVENTS_AWS_SQS_QUEUE_URL"},
    {"operator_events.aws_sqs.access_key_id", "OPERATOR_EVENTS_AWS_SQS_ACCESS_KEY_ID", SET_TEXT, 0, AT(opevents.sqs_access_key_id), "", "", .env_alias = "OPERATION_EVENTS_AWS_SQS_ACCESS_KEY_ID"},
    {"operator_events.aws_sqs.secret_access_key", "OPERATOR_EVENTS_AWS_SQS_SECRET_ACCESS_KEY", SET_SECRET, 0, AT(opevents.sqs_secret_access_key), "", "", .env_alias = "OPERATION_EVENTS_AWS_SQS_SECRET_ACCESS_KEY"},
    {"operator_events.aws_sqs.region", "OPERATOR_EVENTS_AWS_SQS_REGION", SET_TEXT, 0, AT(opevents.sqs_region), "", "", .env_alias = "OPERATION_EVENTS_AWS_SQS_REGION"},
    {"operator_events.aws_sqs.endpoint", "OPERATOR_EVENTS_AWS_SQS_ENDPOINT", SET_TEXT, 0, AT(opevents.sqs_endpoint), "", "", .env_alias = "OPERATION_EVENTS_AWS_SQS_ENDPOINT"},
    {"operator_events.gcp_pubsub.project_id", "OPERATOR_EVENTS_GCP_PUBSUB_PROJECT_ID", SET_TEXT, 0, AT(opevents.pubsub_project_id), "", "", .env_alias = "OPERATION_EVENTS_GCP_PUBSUB_PROJECT_ID"},
    {"operator_events.gcp_pubsub.topic_id", "OPERATOR_EVENTS_GCP_PUBSUB_TOPIC_ID", SET_TEXT, 0, AT(opevents.pubsub_topic_id), "", "", .env_alias = "OPERATION_EVENTS_GCP_PUBSUB_TOPIC_ID"},
    {"operator_events.gcp_pubsub.credentials", "OPERATOR_EVENTS_GCP_PUBSUB_CREDENTIALS", SET_SECRET, 0, AT(opevents.pubsub_credentials), "", "", .env_alias = "OPERATION_EVENTS_GCP_PUBSUB_CREDENTIALS"},
    {"operator_events.rabbitmq.server_url", "OPERATOR_EVENTS_RABBITMQ_SERVER_URL", SET_SECRET, 0, AT(opevents.rabbitmq_server_url), "", "", .env_alias = "OPERATION_EVENTS_RABBITMQ_SERVER_URL"},
    {"operator_events.rabbitmq.exchange", "OPERATOR_EVENTS_RABBITMQ_EXCHANGE", SET_TEXT, 0, AT(opevents.rabbitmq_exchange), "", "", .env_alias = "OPERATION_EVENTS_RABBITMQ_EXCHANGE"},
    /* Redis */
    TEXT("redis.host", "REDIS_HOST", redis.host, "127.0.0.1", 0, ""),
    INT("redis.port", "REDIS_PORT", "Port", redis.port, "6379", 0, 0, 0, ""),
    TEXT("redis.username", "REDIS_USERNAME", redis.username, "", 0, ""),
    SECRET("redis.password", "REDIS_PASSWORD", redis.password, 0, ""),
    INT("redis.database", "REDIS_DATABASE", "Database", redis.database, "0", 0, 0, 0, ""),
    BOOL("redis.tls_enabled", "REDIS_TLS_ENABLED", "TLSEnabled", redis.tls_enabled, "false", 0, ""),
    BOOL("redis.cluster_enabled", "REDIS_CLUSTER_ENABLED", "ClusterEnabled", redis.cluster_enabled, "false", 0, ""),
    BOOL("redis.dev_cluster_host_override", "REDIS_DEV_CLUSTER_HOST_OVERRIDE", "DevClusterHostOverride", redis.dev_cluster_host_override, "false", 0, ""),
    /* log stores */
    SECRET("postgres", "POSTGRES_URL", postgres_url, 0, ""),
    TEXT("clickhouse.addr", "CLICKHOUSE_ADDR", clickhouse.addr, "", 0, ""),
    TEXT("clickhouse.username", "CLICKHOUSE_USERNAME", clickhouse.username, "", 0, ""),
    SECRET("clickhouse.password", "CLICKHOUSE_PASSWORD", clickhouse.password, 0, ""),
    TEXT("clickhouse.database", "CLICKHOUSE_DATABASE", clickhouse.database, "outpost", 0, ""),
    BOOL("clickhouse.tls_enabled", "CLICKHOUSE_TLS_ENABLED", "TLSEnabled", clickhouse.tls_enabled, "false", 0, ""),
    INT("clickhouse_log_retention_ttl_days", "CLICKHOUSE_LOG_RETENTION_TTL_DAYS", "ClickHouseLogRetentionTTLDays", clickhouse.retention_days, "0", 0, 0, 0, ""),
    /* brokers */
    BOOL("mqs.auto_provision", "MQS_AUTO_PROVISION", "AutoProvision", mqs_auto_provision, "true", 0, ""),
    TEXT("mqs.aws_sqs.region", "AWS_SQS_REGION", sqs.region, "", 0, ""),
    TEXT("mqs.aws_sqs.access_key_id", "AWS_SQS_ACCESS_KEY_ID", sqs.access_key_id, "", 0, ""),
    SECRET("mqs.aws_sqs.secret_access_key", "AWS_SQS_SECRET_ACCESS_KEY", sqs.secret_access_key, 0, ""),
    TEXT("mqs.aws_sqs.endpoint", "AWS_SQS_ENDPOINT", sqs.endpoint, "", 0, ""),
    TEXT("mqs.aws_sqs.delivery_queue", "AWS_SQS_DELIVERY_QUEUE", sqs.delivery_queue, "outpost-delivery", 0, ""),
    TEXT("mqs.aws_sqs.log_queue", "AWS_SQS_LOG_QUEUE", sqs.log_queue, "outpost-log", 0, ""),
    TEXT("mqs.aws_sqs.delivery_dlq", "AWS_SQS_DELIVERY_DLQ", sqs.delivery_dlq, "", 0, ""),
    TEXT("mqs.aws_sqs.log_dlq", "AWS_SQS_LOG_DLQ", sqs.log_dlq, "", 0, ""),
    SECRET("mqs.azure_servicebus.connection_string", "AZURE_SERVICEBUS_CONNECTION_STRING", servicebus.connection_string, 0, ""),
    TEXT("mqs.azure_servicebus.tenant_id", "AZURE_SERVICEBUS_TENANT_ID", servicebus.tenant_id, "", 0, ""),
    TEXT("mqs.azure_servicebus.client_id", "AZURE_SERVICEBUS_CLIENT_ID", servicebus.client_id, "", 0, ""),
    SECRET("mqs.azure_servicebus.client_secret", "AZURE_SERVICEBUS_CLIENT_SECRET", servicebus.client_secret, 0, ""),
    TEXT("mqs.azure_servicebus.subscription_id", "AZURE_SERVICEBUS_SUBSCRIPTION_ID", servicebus.subscription_id, "", 0, ""),
    TEXT("mqs.azure_servicebus.resource_group", "AZURE_SERVICEBUS_RESOURCE_GROUP", servicebus.resource_group, "", 0, ""),
    TEXT("mqs.azure_servicebus.namespace", "AZURE_SERVICEBUS_NAMESPACE", servicebus.namespace, "", 0, ""),
    TEXT("mqs.azure_servicebus.delivery_topic", "AZURE_SERVICEBUS_DELIVERY_TOPIC", servicebus.delivery_topic, "outpost-delivery", 0, ""),
    TEXT("mqs.azure_servicebus.delivery_subscription", "AZURE_SERVICEBUS_DELIVERY_SUBSCRIPTION", servicebus.delivery_subscription, "outpost-delivery-sub", 0, ""),
    TEXT("mqs.azure_servicebus.log_topic", "AZURE_SERVICEBUS_LOG_TOPIC", servicebus.log_topic, "outpost-log", 0, ""),
    TEXT("mqs.azure_servicebus.log_subscription", "AZURE_SERVICEBUS_LOG_SUBSCRIPTION", servicebus.log_subscription, "outpost-log-sub", 0, ""),
    TEXT("mqs.gcp_pubsub.project", "GCP_PUBSUB_PROJECT", pubsub.project, "", 0, ""),
    SECRET("mqs.gcp_pubsub.service_account_credentials", "GCP_PUBSUB_SERVICE_ACCOUNT_CREDENTIALS", pubsub.credentials, 0, ""),
    TEXT("mqs.gcp_pubsub.delivery_topic", "GCP_PUBSUB_DELIVERY_TOPIC", pubsub.delivery_topic, "outpost-delivery", 0, ""),
    TEXT("mqs.gcp_pubsub.delivery_subscription", "GCP_PUBSUB_DELIVERY_SUBSCRIPTION", pubsub.delivery_subscription, "outpost-delivery-sub", 0, ""),
    TEXT("mqs.gcp_pubsub.log_topic", "GCP_PUBSUB_LOG_TOPIC", pubsub.log_topic, "outpost-log", 0, ""),
    TEXT("mqs.gcp_pubsub.log_subscription", "GCP_PUBSUB_LOG_SUBSCRIPTION", pubsub.log_subscription, "outpost-log-sub", 0, ""),
    TEXT("mqs.gcp_pubsub.delivery_dlq_topic", "GCP_PUBSUB_DELIVERY_DLQ_TOPIC", pubsub.delivery_dlq_topic, "", 0, ""),
    TEXT("mqs.gcp_pubsub.delivery_dlq_subscription", "GCP_PUBSUB_DELIVERY_DLQ_SUBSCRIPTION", pubsub.delivery_dlq_subscription, "", 0, ""),
    TEXT("mqs.gcp_pubsub.log_dlq_topic", "GCP_PUBSUB_LOG_DLQ_TOPIC", pubsub.log_dlq_topic, "", 0, ""),
    TEXT("mqs.gcp_pubsub.log_dlq_subscription", "GCP_PUBSUB_LOG_DLQ_SUBSCRIPTION", pubsub.log_dlq_subscription, "", 0, ""),
    SECRET("mqs.rabbitmq.server_url", "RABBITMQ_SERVER_URL", rabbitmq.server_url, 0, ""),
    TEXT("mqs.rabbitmq.exchange", "RABBITMQ_EXCHANGE", rabbitmq.exchange, "outpost", 0, ""),
    TEXT("mqs.rabbitmq.delivery_queue", "RABBITMQ_DELIVERY_QUEUE", rabbitmq.delivery_queue, "outpost-delivery", 0, ""),
    TEXT("mqs.rabbitmq.log_queue", "RABBITMQ_LOG_QUEUE", rabbitmq.log_queue, "outpost-log", 0, ""),
    TEXT("mqs.rabbitmq.delivery_dlq", "RABBITMQ_DELIVERY_DLQ", rabbitmq.delivery_dlq, "", 0, ""),
    TEXT("mqs.rabbitmq.log_dlq", "RABBITMQ_LOG_DLQ", rabbitmq.log_dlq, "", 0, ""),
    /* a customer's queue that events come from */
    TEXT("publishmq.aws_sqs.region", "PUBLISH_AWS_SQS_REGION", publishmq.sqs_region, "", 0, ""),
    TEXT("publishmq.aws_sqs.access_key_id", "PUBLISH_AWS_SQS_ACCESS_KEY_ID", publishmq.sqs_access_key_id, "", 0, ""),
    SECRET("publishmq.aws_sqs.secret_access_key", "PUBLISH_AWS_SQS_SECRET_ACCESS_KEY", publishmq.sqs_secret_access_key, 0, ""),
    TEXT("publishmq.aws_sqs.endpoint", "PUBLISH_AWS_SQS_ENDPOINT", publishmq.sqs_endpoint, "", 0, ""),
    TEXT("publishmq.aws_sqs.queue", "PUBLISH_AWS_SQS_QUEUE", publishmq.sqs_queue, "", 0, ""),
    SECRET("publishmq.azure_servicebus.connection_string", "PUBLISH_AZURE_SERVICEBUS_CONNECTION_STRING", publishmq.servicebus_connection_string, 0, ""),
    TEXT("publishmq.azure_servicebus.topic", "PUBLISH_AZURE_SERVICEBUS_TOPIC", publishmq.servicebus_topic, "", 0, ""),
    TEXT("publishmq.azure_servicebus.subscription", "PUBLISH_AZURE_SERVICEBUS_SUBSCRIPTION", publishmq.servicebus_subscription, "", 0, ""),
    TEXT("publishmq.gcp_pubsub.project", "PUBLISH_GCP_PUBSUB_PROJECT", publishmq.pubsub_project, "", 0, ""),
    TEXT("publishmq.gcp_pubsub.topic", "PUBLISH_GCP_PUBSUB_TOPIC", publishmq.pubsub_topic, "", 0, ""),
    TEXT("publishmq.gcp_pubsub.subscription", "PUBLISH_GCP_PUBSUB_SUBSCRIPTION", publishmq.pubsub_subscription, "", 0, ""),
    SECRET("publishmq.gcp_pubsub.service_account_credentials", "PUBLISH_GCP_PUBSUB_SERVICE_ACCOUNT_CREDENTIALS", publishmq.pubsub_credentials, 0, ""),
    SECRET("publishmq.rabbitmq.server_url", "PUBLISH_RABBITMQ_SERVER_URL", publishmq.rabbitmq_server_url, 0, ""),
    TEXT("publishmq.rabbitmq.exchange", "PUBLISH_RABBITMQ_EXCHANGE", publishmq.rabbitmq_exchange, "", 0, ""),
    TEXT("publishmq.rabbitmq.queue", "PUBLISH_RABBITMQ_QUEUE", publishmq.rabbitmq_queue, "", 0, ""),
    /* telemetry: nothing is ever sent; kept so that files and environments stay valid */
    BOOL("disable_telemetry", "DISABLE_TELEMETRY", "DisableTelemetry", disable_telemetry, "false", 0, ""),
    BOOL("telemetry.disabled", "DISABLE_TELEMETRY", "Disabled", telemetry_disabled, "false", 0, ""),
    INT("telemetry.batch_size", "TELEMETRY_BATCH_SIZE", "BatchSize", telemetry_batch_size, "100", 0, 0, 0, ""),
    INT("telemetry.batch_interval", "TELEMETRY_BATCH_INTERVAL", "BatchInterval", telemetry_batch_interval_s, "5", 0, 0, 0, ""),
    TEXT("telemetry.hookdeck_source_url", "TELEMETRY_HOOKDECK_SOURCE_URL", telemetry_url, "", 0, ""),
    MASKED("telemetry.sentry_dsn", "TELEMETRY_SENTRY_DSN", telemetry_sentry_dsn, 0, ""),
    /* OpenTelemetry */
    TEXT("otel.service_name", "OTEL_SERVICE_NAME", otel.service_name, "", 0, ""),
    TEXT("otel.traces.exporter", "OTEL_EXPORTER", otel.traces_exporter, "", 0, ""),
    TEXT("otel.metrics.exporter", "OTEL_EXPORTER", otel.metrics_exporter, "", 0, ""),
    TEXT("otel.logs.exporter", "OTEL_EXPORTER", otel.logs_exporter, "", 0, ""),
    TEXT("otel.traces.protocol", "OTEL_PROTOCOL", otel.traces_protocol, "", 0, ""),
    TEXT("otel.metrics.protocol", "OTEL_PROTOCOL", otel.metrics_protocol, "", 0, ""),
    TEXT("otel.logs.protocol", "OTEL_PROTOCOL", otel.logs_protocol, "", 0, ""),
};
/* clang-format on */
const size_t setting_count = ARRAY_LEN(settings);

const struct setting *setting_by_yaml(struct str path, bool *out_alias)
{
    for (size_t i = 0; i < setting_count; i++) {
        const struct setting *s = &settings[i];
        bool alias = s->yaml_alias && str_eqz(path, s->yaml_alias);
        if (alias || str_eqz(path, s->yaml)) {
            *out_alias = alias;
            return s;
        }
    }
    return NULL;
}

const struct setting *setting_by_env(struct str name)
{
    for (size_t i = 0; i < setting_count; i++) {
        if (str_eqz(name, settings[i].env)) {
            return &settings[i];
        }
    }
    return NULL;
}

bool setting_is_section(struct str path)
{
    for (size_t i = 0; i < setting_count; i++) {
        struct str row = str_z(settings[i].yaml);
        if (row.n > path.n && row.p[path.n] == '.' && str_starts(row, path)) {
            return true;
        }
    }
    return false;
}

bool setting_is_set(const struct config *c, const struct setting *s)
{
    return strcmp(c->sources[s - settings], "default") != 0;
}

bool setting_named(const struct config *c, const char *yaml)
{
    bool alias;
    const struct setting *s = setting_by_yaml(str_z(yaml), &alias);
    assert(s);
    return setting_is_set(c, s);
}
