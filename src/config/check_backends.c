/* Which store, log store and queue the settings choose: what is not set by name is embedded
 * (design.md 11, 7). Then what is missing or does not go together. Not whether this build has them:
 * the app knows. SPDX-License-Identifier: Apache-2.0 */
#include "config/config_priv.h"

#define INVALID "config validation error: "
#define KEY_PAIR                                                                                   \
    "AWS SQS: both access_key_id and secret_access_key must be set together, or both omitted to "  \
    "use the default credential chain"

/* Something below the section is set by name. */
static bool section_named(const struct config *c, const char *section)
{
    size_t n = strlen(section);
    for (size_t i = 0; i < setting_count; i++) {
        if (strncmp(settings[i].yaml, section, n) == 0 && settings[i].yaml[n] == '.' &&
            setting_is_set(c, &settings[i])) {
            return true;
        }
    }
    return false;
}

static bool servicebus_complete(const struct config_servicebus *s)
{
    return secret_is_set(&s->connection_string) ||
           (s->tenant_id.n && s->client_id.n && secret_is_set(&s->client_secret) &&
            s->subscription_id.n && s->resource_group.n && s->namespace.n);
}

static enum config_queue queue_of(const struct config *c)
{
    return c->sqs.region.n                          ? QUEUE_SQS
           : servicebus_complete(&c->servicebus)    ? QUEUE_SERVICEBUS
           : c->pubsub.project.n                    ? QUEUE_PUBSUB
           : secret_is_set(&c->rabbitmq.server_url) ? QUEUE_RABBITMQ
                                                    : QUEUE_EMBEDDED;
}

/* Half a backend chooses nothing; that is easy to overlook. */
static void warn_incomplete(struct config *c)
{
    static const struct {
        const char *section, *needs;
    } parts[] = {
        {"clickhouse", "CLICKHOUSE_ADDR"},
        {"mqs.aws_sqs", "AWS_SQS_REGION"},
        {"mqs.azure_servicebus", "AZURE_SERVICEBUS_CONNECTION_STRING or all six of the principal"},
        {"mqs.gcp_pubsub", "GCP_PUBSUB_PROJECT"},
        {"mqs.rabbitmq", "RABBITMQ_SERVER_URL"},
    };
    const bool complete[] = {c->clickhouse.addr.n > 0, c->sqs.region.n > 0,
                             servicebus_complete(&c->servicebus), c->pubsub.project.n > 0,
                             secret_is_set(&c->rabbitmq.server_url)};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (!complete[i] && section_named(c, parts[i].section)) {
            config_warn(c, "%s is set in part and not used: it needs %s", parts[i].section,
                        parts[i].needs);
        }
    }
}

static enum ec check_embedded(struct config *c, struct config_report *r)
{
    const struct config_derived *d = &c->derived;
    if (d->service == SERVICE_ALL || !(d->store_embedded || d->log_embedded || d->queue_embedded)) {
        return EC_OK;
    }
    return config_refuse(
        r, "SERVICE",
        INVALID
        "service %.*s needs what several processes can share, and these are embedded:%s%s%s",
        STR_ARG(c->service), d->store_embedded ? " store (set REDIS_HOST)" : "",
        d->log_embedded ? " log (set POSTGRES_URL or CLICKHOUSE_ADDR)" : "",
        d->queue_embedded ? " queue (set RABBITMQ_SERVER_URL or another broker)" : "");
}

void resolve_backends(struct config *c)
{
    struct config_derived *d = &c->derived;
    d->store_embedded = !section_named(c, "redis");
    d->log_embedded = !secret_is_set(&c->postgres_url) && !c->clickhouse.addr.n;
    d->queue = queue_of(c);
    d->queue_embedded = d->queue == QUEUE_EMBEDDED;
}

enum ec check_backends(struct config *c, struct config_report *r)
{
    if (!c->derived.store_embedded && !c->redis.host.n) {
        return config_refuse(r, "REDIS_HOST", INVALID "redis configuration is required");
    }
    if (c->sqs.region.n &&
        (c->sqs.access_key_id.n > 0) != secret_is_set(&c->sqs.secret_access_key)) {
        return config_refuse(r, "AWS_SQS_ACCESS_KEY_ID",
                             "failed to validate delivery queue config: " KEY_PAIR);
    }
    if (c->publishmq.sqs_region.n && (c->publishmq.sqs_access_key_id.n > 0) !=
                                         secret_is_set(&c->publishmq.sqs_secret_access_key)) {
        return config_refuse(r, "PUBLISH_AWS_SQS_ACCESS_KEY_ID",
                             "failed to validate publish queue config: " KEY_PAIR);
    }
    if (c->clickhouse.addr.n && c->clickhouse.retention_days < 0) {
        return config_refuse(r, "CLICKHOUSE_LOG_RETENTION_TTL_DAYS",
                             "log retention TTL days must be >= 0");
    }
    warn_incomplete(c);
    if (secret_is_set(&c->postgres_url) && c->clickhouse.addr.n) {
        config_warn(c, "POSTGRES_URL and CLICKHOUSE_ADDR are both set: the log goes to ClickHouse");
    }
    return check_embedded(c, r);
}
