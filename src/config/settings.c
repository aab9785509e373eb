/* The one table of settings, and the types' parsers. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "config/config_priv.h"
#include "util/buf.h"

#define AT(field) offsetof(struct config, field)

const struct setting settings[] = {
    {"SERVICE", "service", SET_TEXT, AT(service), "", "which services run: all"},
    {"LOG_LEVEL", "log_level", SET_TEXT, AT(log_level), "info", "debug, info, warn or error"},
    {"API_PORT", "api_port", SET_INT, AT(api_port), "3333", "port of the HTTP API, all addresses"},
    {"API_KEY", "api_key", SET_SECRET, AT(api_key), "", "admin key; embedded: made at the first start when not set"},
    {"API_JWT_SECRET", "api_jwt_secret", SET_SECRET, AT(api_jwt_secret), "", "signs tenant tokens; embedded: made at the first start"},
    {"AES_ENCRYPTION_SECRET", "aes_encryption_secret", SET_SECRET, AT(aes_secret), "", "encrypts credentials at rest; embedded: made at the first start"},
    {"API_AUTH", "api_auth", SET_TEXT, AT(api_auth), "key", "key, or none: everybody is admin"},
    {"API_MAX_BODY", "api_max_body", SET_SIZE, AT(api_max_body), "16MiB", "largest request body"},
    {"API_THREADS", "api_threads", SET_INT, AT(api_threads), "0", "API loops, 0 = by cores"},
    {"DELIVERY_THREADS", "delivery_threads", SET_INT, AT(delivery_threads), "0", "delivery loops, 0 = by cores"},
    {"DEPLOYMENT_ID", "deployment_id", SET_TEXT, AT(deployment_id), "", "put into tenant tokens"},
    {"HTTP_USER_AGENT", "http_user_agent", SET_TEXT, AT(http_user_agent), "", "User-Agent of deliveries"},
    {"TOPICS", "topics", SET_LIST, AT(topics), "", "topics that may be published; empty = any"},
    {"TOPICS_ALLOW_WILDCARDS", "topics_allow_wildcards", SET_BOOL, AT(topics_allow_wildcards), "false", "allow * inside destination topics"},
    {"DATA_DIR", "data_dir", SET_TEXT, AT(data_dir), "./outrider-data", "folder of the embedded stores; one process only"},
    {"EGRESS_POLICY", "egress.policy", SET_TEXT, AT(egress_policy), "public", "public: refuse private, loopback and other special addresses; any: allow all"},
    {"EGRESS_ALLOW", "egress.allow", SET_TEXT, AT(egress_allow), "", "ranges allowed in spite of the policy (CIDR, comma-separated)"},
    {"RETRY_JITTER", "retry_jitter", SET_SHARE, AT(retry_jitter), "0.1", "share of each retry delay, both ways; 0 = the exact schedule"},
    {"RETRY_SCHEDULE", "retry_schedule", SET_INTS, AT(retry_schedule), "", "delays in seconds; sets the retry limit"},
    {"RETRY_INTERVAL_SECONDS", "retry_interval_seconds", SET_INT, AT(retry_interval_s), "30", "first delay; doubles with each attempt"},
    {"MAX_RETRY_LIMIT", "max_retry_limit", SET_INT, AT(retry_limit), "10", "automatic retries after the first attempt"},
    {"RETRY_AFTER_MAX", "retry_after_max", SET_INT, AT(retry_after_max_s), "3600", "longest Retry-After that is honoured, seconds; 0 ignores it"},
    {"DELIVERY_MAX_CONCURRENCY", "delivery_max_concurrency", SET_INT, AT(delivery_concurrency), "512", "attempts under way, those older than a second aside"},
    {"DELIVERY_SLOW_MAX", "delivery_slow_max", SET_INT, AT(delivery_slow_max), "8192", "attempts older than a second, all destinations together"},
    {"DELIVERY_PER_DESTINATION", "delivery_per_destination", SET_INT, AT(delivery_per_destination), "32", "attempts under way to one destination"},
    {"DELIVERY_TIMEOUT_SECONDS", "delivery_timeout_seconds", SET_INT, AT(delivery_timeout_s), "5", "deadline of one attempt"},
    {"DISABLE_ON_GONE", "disable_on_gone", SET_BOOL, AT(disable_on_gone), "false", "a 410 disables the destination"},
    {"LOG_UNMATCHED", "log_unmatched", SET_BOOL, AT(log_unmatched), "true", "record events that match no destination"},
    {"DEV_MODE", "dev_mode", SET_BOOL, AT(dev_mode), "false", "for a developer's machine: loopback receivers, pretty log, first-start help"},
    {"MAX_DESTINATIONS_PER_TENANT", "max_destinations_per_tenant", SET_INT, AT(max_destinations), "20", "destinations a tenant may have"},
    {"PUBLISH_IDEMPOTENCY_KEY_TTL", "publish_idempotency_key_ttl", SET_INT, AT(publish_ttl_s), "3600", "seconds an event id is remembered; 0 = for ever"},
    {"LOG_BATCH_SIZE", "log_batch_size", SET_INT, AT(log_batch_size), "1000", "rows written to the log at once, at most"},
    {"LOG_RETENTION_DAYS", "log_retention_days", SET_INT, AT(log_retention_days), "30", "days the embedded log is kept; 0 = for ever"},
    {"LOG_RETENTION_BYTES", "log_retention_bytes", SET_SIZE, AT(log_retention_bytes), "10GiB", "size the embedded log is kept within; 0 = no limit"},
    {"BACKLOG_MAX", "backlog_max", SET_INT, AT(backlog_max), "100000", "accepted work not yet attempted and recorded, at most"},
    {"IDGEN_TYPE", "idgen.type", SET_TEXT, AT(idgen_type), "uuidv4", "uuidv4, uuidv7 or nanoid"},
    {"IDGEN_EVENT_PREFIX", "idgen.event_prefix", SET_TEXT, AT(idgen_event), "", "in front of event ids"},
    {"IDGEN_DESTINATION_PREFIX", "idgen.destination_prefix", SET_TEXT, AT(idgen_destination), "", "in front of destination ids"},
    {"IDGEN_ATTEMPT_PREFIX", "idgen.attempt_prefix", SET_TEXT, AT(idgen_attempt), "", "in front of attempt ids"},
    {"ALERT_CONSECUTIVE_FAILURE_COUNT", "alert.consecutive_failure_count", SET_OPT, AT(alert_count), "", "failures in a row that count as broken (100); empty = off"},
    {"ALERT_AUTO_DISABLE_DESTINATION", "alert.auto_disable_destination", SET_BOOL, AT(alert_auto_disable), "false", "disable a destination at that count"},
    {"DESTINATIONS_WEBHOOK_MODE", "destinations.webhook.mode", SET_TEXT, AT(webhook_mode), "default", "default, or standard (Standard Webhooks)"},
    {"DESTINATIONS_WEBHOOK_PROXY_URL", "destinations.webhook.proxy_url", SET_TEXT, AT(webhook_proxy), "", "forward proxy for webhooks"},
    {"DESTINATIONS_WEBHOOK_HEADER_PREFIX", "destinations.webhook.header_prefix", SET_TEXT, AT(webhook_prefix), "", "prefix of our headers (x-outpost-, webhook-)"},
    {"DESTINATIONS_WEBHOOK_EVENT_ID_HEADER_NAME", "destinations.webhook.event_id_header_name", SET_OPT, AT(webhook_event_id_header), "", "header of the event id; empty = off"},
    {"DESTINATIONS_WEBHOOK_SIGNATURE_HEADER_NAME", "destinations.webhook.signature_header_name", SET_OPT, AT(webhook_signature_header), "", "header of the signature; empty = off"},
    {"DESTINATIONS_WEBHOOK_TIMESTAMP_HEADER_NAME", "destinations.webhook.timestamp_header_name", SET_OPT, AT(webhook_timestamp_header), "", "header of the time; empty = off"},
    {"DESTINATIONS_WEBHOOK_TOPIC_HEADER_NAME", "destinations.webhook.topic_header_name", SET_OPT, AT(webhook_topic_header), "", "header of the topic; empty = off"},
    {"DESTINATIONS_WEBHOOK_DISABLE_DEFAULT_EVENT_ID_HEADER", "destinations.webhook.disable_default_event_id_header", SET_BOOL, AT(webhook_no_event_id), "false", "deprecated: leave the header out"},
    {"DESTINATIONS_WEBHOOK_DISABLE_DEFAULT_SIGNATURE_HEADER", "destinations.webhook.disable_default_signature_header", SET_BOOL, AT(webhook_no_signature), "false", "deprecated: leave the header out"},
    {"DESTINATIONS_WEBHOOK_DISABLE_DEFAULT_TIMESTAMP_HEADER", "destinations.webhook.disable_default_timestamp_header", SET_BOOL, AT(webhook_no_timestamp), "false", "deprecated: leave the header out"},
    {"DESTINATIONS_WEBHOOK_DISABLE_DEFAULT_TOPIC_HEADER", "destinations.webhook.disable_default_topic_header", SET_BOOL, AT(webhook_no_topic), "false", "deprecated: leave the header out"},
    {"DESTINATIONS_WEBHOOK_SIGNATURE_CONTENT_TEMPLATE", "destinations.webhook.signature_content_template", SET_TEXT, AT(webhook_content_template), "{{.Body}}", "what is signed"},
    {"DESTINATIONS_WEBHOOK_SIGNATURE_HEADER_TEMPLATE", "destinations.webhook.signature_header_template", SET_TEXT, AT(webhook_header_template), "v0={{.Signatures | join \",\"}}", "how signatures are written"},
    {"DESTINATIONS_WEBHOOK_SIGNATURE_ENCODING", "destinations.webhook.signature_encoding", SET_TEXT, AT(webhook_encoding), "hex", "hex or base64"},
    {"DESTINATIONS_WEBHOOK_SIGNATURE_ALGORITHM", "destinations.webhook.signature_algorithm", SET_TEXT, AT(webhook_algorithm), "hmac-sha256", "hmac-sha256 or hmac-sha1"},
    {"DESTINATIONS_WEBHOOK_SIGNING_SECRET_TEMPLATE", "destinations.webhook.signing_secret_template", SET_TEXT, AT(webhook_secret_template), "whsec_{{.RandomHex}}", "form of generated secrets"},
    {"DESTINATIONS_WEBHOOK_MAX_RESPONSE_BODY_BYTES", "destinations.webhook.max_response_body_bytes", SET_INT, AT(webhook_response_max), "131072", "bytes of a response that are stored; 0 = all"},
};
const size_t setting_count = ARRAY_LEN(settings);

const struct setting *setting_by_yaml(struct str path)
{
    for (size_t i = 0; i < setting_count; i++) {
        if (str_eqz(path, settings[i].yaml)) {
            return &settings[i];
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

static bool parse_int(struct str text, int64_t *out)
{
    if (text.n && text.p[0] == '+') {
        text = str_sub(text, 1, text.n);
    }
    return str_to_i64(text, out);
}

static bool parse_size(struct str text, int64_t *out)
{
    static const struct {
        const char *unit;
        int64_t factor;
    } units[] = {{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1000}, {"MB", 1000000}, {"GB", 1000000000}, {"B", 1}};
    int64_t factor = 1;
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (str_ends(text, str_z(units[i].unit))) {
            text = str_trim(str_sub(text, 0, text.n - strlen(units[i].unit)));
            factor = units[i].factor;
            break;
        }
    }
    return str_to_i64(text, out) && *out >= 0 && !__builtin_mul_overflow(*out, factor, out);
}

static bool parse_bool(struct str text, bool *out)
{
    static const char *const yes[] = {"1", "t", "T", "TRUE", "true", "True"}, *const no[] = {"0", "f", "F", "FALSE", "false", "False"};
    for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
        if (str_eqz(text, yes[i]) || str_eqz(text, no[i])) {
            *out = str_eqz(text, yes[i]);
            return true;
        }
    }
    return false;
}

static bool parse_share(struct config *c, struct str text, double *out)
{
    char *end, *z = arena_z(&c->arena, text);
    *out = strtod(z, &end);
    return text.n && *end == '\0' && *out >= 0 && *out <= 1;
}

static size_t parts_of(struct str text)
{
    size_t n = text.n ? 1 : 0;
    for (size_t i = 0; i < text.n; i++) {
        n += text.p[i] == ',';
    }
    return n;
}

static struct config_list parse_list(struct config *c, struct str text)
{
    struct config_list l = {ARENA_ARRAY(&c->arena, struct str, parts_of(text) + 1), 0};
    struct str part;
    while (text.n && str_split(&text, ',', &part)) {
        l.v[l.n++] = part;
    }
    bool blank = true;
    for (size_t i = 0; i < l.n; i++) {
        blank &= str_trim(l.v[i]).n == 0;
    }
    if (blank) {
        l.n = 0;
    }
    return l;
}

static bool parse_ints(struct config *c, struct str text, struct config_ints *out)
{
    out->v = ARENA_ARRAY(&c->arena, int64_t, parts_of(text) + 1);
    out->n = 0;
    struct str part;
    while (text.n && str_split(&text, ',', &part)) {
        if (!parse_int(part, &out->v[out->n++])) {
            return false;
        }
    }
    return true;
}

static enum ec bad(const struct setting *s, const char *type, const char *reason, struct str text, struct err *err)
{
    return err_set(err, EC_INVALID, "env: parse error on %s of type \"%s\": %s: parsing \"%.*s\": invalid syntax", s->env, type,
                   reason, s->type == SET_SECRET ? 0 : (int)MIN(text.n, (size_t)80), text.p ? text.p : "");
}

enum ec setting_parse(struct config *c, const struct setting *s, struct str text, struct err *err)
{
    void *at = (char *)c + s->at;
    text = arena_copy(&c->arena, text);
    switch (s->type) {
    case SET_TEXT:
        *(struct str *)at = text;
        return EC_OK;
    case SET_OPT:
        *(struct config_opt *)at = (struct config_opt){true, text};
        return EC_OK;
    case SET_SECRET:
        secret_set(at, text);
        return EC_OK;
    case SET_LIST:
        *(struct config_list *)at = parse_list(c, text);
        return EC_OK;
    case SET_INT:
        return parse_int(text, at) ? EC_OK : bad(s, "int", "strconv.ParseInt", text, err);
    case SET_SIZE:
        return parse_size(text, at) ? EC_OK : bad(s, "size", "a number with B, KiB, MiB or GiB", text, err);
    case SET_BOOL:
        return parse_bool(text, at) ? EC_OK : bad(s, "bool", "strconv.ParseBool", text, err);
    case SET_SHARE:
        return parse_share(c, text, at) ? EC_OK : bad(s, "share", "a number from 0 to 1", text, err);
    case SET_INTS:
        return parse_ints(c, text, at) ? EC_OK : bad(s, "[]int", "strconv.ParseInt", text, err);
    }
    UNREACHABLE("a type of setting");
}

void setting_format(const struct config *c, const struct setting *s, struct buf *out)
{
    const void *at = (const char *)c + s->at;
    switch (s->type) {
    case SET_TEXT: {
        struct str t = *(const struct str *)at;
        size_t userinfo;
        buf_adds(out, str_find(t, STR("@"), &userinfo) ? STR("(masked)") : t);
        break;
    }
    case SET_OPT: {
        const struct config_opt *o = at;
        buf_adds(out, o->is_set ? (o->text.n ? o->text : STR("(off)")) : STR("(default)"));
        break;
    }
    case SET_SECRET:
        buf_addz(out, secret_is_set(at) ? "********" : "");
        break;
    case SET_LIST: {
        const struct config_list *l = at;
        for (size_t i = 0; i < l->n; i++) {
            buf_addz(out, i ? "," : "");
            buf_adds(out, l->v[i]);
        }
        break;
    }
    case SET_INTS: {
        const struct config_ints *l = at;
        for (size_t i = 0; i < l->n; i++) {
            buf_addz(out, i ? "," : "");
            buf_addi(out, l->v[i]);
        }
        break;
    }
    case SET_INT:
    case SET_SIZE:
        buf_addi(out, *(const int64_t *)at);
        break;
    case SET_BOOL:
        buf_addz(out, *(const bool *)at ? "true" : "false");
        break;
    case SET_SHARE:
        buf_addf(out, "%g", *(const double *)at);
        break;
    }
}
