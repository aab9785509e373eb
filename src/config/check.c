/* Do the settings make sense together? In Outpost's order, with its texts, the first failure wins
 * (spec operations.md 4.1); then our own; on the way everything that follows from the settings is
 * filled in. Backends and webhook settings have files of their own.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "config/config_priv.h"

#define INVALID "config validation error: "

enum ec config_refuse(struct config_report *r, const char *hint, const char *fmt, ...)
{
    char text[600];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    buf_reset(&r->error);
    buf_reset(&r->hint);
    buf_addz(&r->error, text);
    buf_addz(&r->hint, hint);
    return EC_INVALID;
}

static bool service_of(struct str word, enum config_service *out)
{
    static const char *const words[] = {"all", "api", "delivery", "log"};
    *out = SERVICE_ALL;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (str_eqz(word, words[i])) {
            *out = (enum config_service)i;
            return true;
        }
    }
    return word.n == 0;
}

static enum ec check_service(struct config *c, const struct config_input *in,
                             struct config_report *r)
{
    struct str flag = str_z(in->service);
    enum config_service by_flag, by_config;
    bool flag_good = service_of(flag, &by_flag), config_good = service_of(c->service, &by_config);
    if (!flag_good || !config_good) {
        return config_refuse(r, "SERVICE", INVALID "invalid service type");
    }
    if (flag.n && c->service.n && by_flag != by_config) {
        return config_refuse(r, "SERVICE", INVALID "service type mismatch");
    }
    if (!c->service.n && flag.n) {
        c->service = arena_copy(&c->arena, flag);
    }
    c->derived.service = flag.n ? by_flag : by_config;
    return EC_OK;
}

/* Secrets that an embedded store's first start would make must be given where the store is shared.
 */
static enum ec check_secrets(struct config *c, struct config_report *r)
{
    enum config_service service = c->derived.service;
    bool api = service == SERVICE_ALL || service == SERVICE_API;
    if (!c->derived.store_embedded && !secret_is_set(&c->aes_secret)) {
        return config_refuse(r, "AES_ENCRYPTION_SECRET",
                             INVALID "AES encryption secret is required");
    }
    if (!str_eqz(c->api_auth, "key") && !str_eqz(c->api_auth, "none")) {
        return config_refuse(r, "API_AUTH", INVALID "API_AUTH must be key or none");
    }
    if (!c->derived.store_embedded && api && str_eqz(c->api_auth, "key") &&
        !secret_is_set(&c->api_key)) {
        return config_refuse(r, "API_KEY",
                             INVALID
                             "API key is required with Redis (API_AUTH=none lets everybody in)");
    }
    if (!c->derived.store_embedded && api && !secret_is_set(&c->api_jwt_secret)) {
        return config_refuse(r, "API_JWT_SECRET", INVALID "API JWT secret is required with Redis");
    }
    return EC_OK;
}

static enum ec check_deployment_id(struct config *c, struct config_report *r)
{
    struct str id = c->deployment_id;
    bool good = id.n <= 64;
    for (size_t i = 0; i < id.n; i++) {
        char ch = id.p[i];
        good &= (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
                ch == '_' || ch == '-';
    }
    return good ? EC_OK
                : config_refuse(
                      r, "DEPLOYMENT_ID",
                      INVALID
                      "deployment_id must contain only alphanumeric characters, hyphens, and "
                      "underscores (max 64 characters)");
}

static bool word_in(struct str v, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eqz(v, words[i])) {
            return true;
        }
    }
    return false;
}

static enum ec check_otel(struct config *c, struct config_report *r)
{
    static const char *const protocols[] = {"", "grpc", "http", "http/protobuf"};
    static const char *const exporters[] = {"", "otlp", "console", "stdout", "none"};
    const struct config_otel *o = &c->otel;
    if (!o->service_name.n) {
        return EC_OK;
    }
    if (!word_in(o->traces_protocol, protocols, ARRAY_LEN(protocols)) ||
        !word_in(o->metrics_protocol, protocols, ARRAY_LEN(protocols)) ||
        !word_in(o->logs_protocol, protocols, ARRAY_LEN(protocols))) {
        return config_refuse(
            r, "OTEL_PROTOCOL",
            INVALID "invalid OpenTelemetry protocol, must be 'grpc', 'http' or 'http/protobuf'");
    }
    if (!word_in(o->traces_exporter, exporters, ARRAY_LEN(exporters)) ||
        !word_in(o->metrics_exporter, exporters, ARRAY_LEN(exporters)) ||
        !word_in(o->logs_exporter, exporters, ARRAY_LEN(exporters))) {
        return config_refuse(
            r, "OTEL_EXPORTER",
            INVALID
            "invalid OpenTelemetry exporter, must be 'otlp', 'console', 'stdout' or 'none'");
    }
    return EC_OK;
}

/* The longest idle sleep: as set, or the shortest delay that can occur, at most 30 s. */
static int64_t poll_ms(const struct config *c)
{
    int64_t shortest = c->retry_interval_s;
    for (size_t i = 0; i < c->retry_schedule.n; i++) {
        shortest = i ? MIN(shortest, c->retry_schedule.v[i]) : c->retry_schedule.v[i];
    }
    return c->retry_poll_backoff_ms > 0 ? c->retry_poll_backoff_ms
                                        : MIN(shortest, INT64_C(30)) * 1000;
}

static enum ec check_retry(struct config *c, struct config_report *r)
{
    for (size_t i = 0; i < c->retry_schedule.n; i++) {
        if (c->retry_schedule.v[i] < 1) {
            return config_refuse(
                r, "RETRY_SCHEDULE",
                INVALID "retry_schedule entries must be at least 1 second, got %lld at index %zu",
                (long long)c->retry_schedule.v[i], i);
        }
    }
    if (c->retry_schedule.n) {
        c->retry_limit = (int64_t)c->retry_schedule.n;
    } else if (c->retry_interval_s < 1) {
        return config_refuse(r, "RETRY_INTERVAL_SECONDS",
                             INVALID "retry_interval_seconds must be at least 1, got %lld",
                             (long long)c->retry_interval_s);
    }
    if (c->retry_poll_backoff_ms < 0) {
        return config_refuse(r, "RETRY_POLL_BACKOFF_MS",
                             INVALID "retry_poll_backoff_ms must not be negative, got %lld",
                             (long long)c->retry_poll_backoff_ms);
    }
    return EC_OK;
}

struct alert {
    const char *yaml, *env;
    int64_t least, unset;
};

static enum ec check_alert(const struct config_opt *set, const struct alert *a, bool *out_on,
                           int64_t *out, struct config_report *r)
{
    struct str text = str_trim(set->text);
    *out_on = !set->is_set || text.n;
    *out = set->is_set ? 0 : a->unset;
    if (!set->is_set || !text.n) {
        return EC_OK;
    }
    int64_t v;
    if (!str_to_i64(text.p[0] == '+' ? str_sub(text, 1, text.n) : text, &v)) {
        CLEANUP(buf_fini) struct buf quoted;
        buf_init(&quoted, 600);
        quote_add(&quoted, set->text);
        *out_on = false;
        return config_refuse(
            r, a->env,
            "%s: must be an integer, an empty string to disable, or unset for the default: %s",
            a->yaml, buf_z(&quoted));
    }
    if (v < a->least) {
        *out_on = false;
        return config_refuse(r, a->env, "%s: must be >= %lld, got %lld", a->yaml,
                             (long long)a->least, (long long)v);
    }
    *out = v;
    return EC_OK;
}

static enum ec check_alerts(struct config *c, struct config_report *r)
{ /* fills in both, also when one is refused */
    static const struct alert count = {"alert.consecutive_failure_count",
                                       "ALERT_CONSECUTIVE_FAILURE_COUNT", 1, 100};
    static const struct alert window = {"alert.exhausted_retries_window_seconds",
                                        "ALERT_EXHAUSTED_RETRIES_WINDOW_SECONDS", 0, 3600};
    struct config_derived *d = &c->derived;
    enum ec second = check_alert(&c->alert_window, &window, &d->alert_exhausted,
                                 &d->alert_exhausted_window_s, r);
    enum ec first =
        check_alert(&c->alert_count, &count, &d->alert_consecutive, &d->alert_consecutive_count, r);
    return first ? first : second;
}

/* Text settings of a few words, whose texts come after those of 4.1. */
static enum ec check_words(struct config *c, struct config_report *r)
{
    static const struct {
        const char *word;
        enum log_level level;
    } levels[] = {{"", LOG_INFO},       {"trace", LOG_DEBUG},  {"debug", LOG_DEBUG},
                  {"info", LOG_INFO},   {"warn", LOG_WARN},    {"warning", LOG_WARN},
                  {"error", LOG_ERROR}, {"dpanic", LOG_ERROR}, {"panic", LOG_ERROR},
                  {"fatal", LOG_ERROR}};
    static const char *const modes[] = {"", "debug", "release", "test"}, *const ids[] = {"uuidv4",
                                                                                         "uuidv7",
                                                                                         "nanoid"};
    size_t level = 0, id = 0;
    while (level < ARRAY_LEN(levels) && !str_eq_ci(c->log_level, str_z(levels[level].word))) {
        level++;
    }
    if (level == ARRAY_LEN(levels)) {
        return config_refuse(r, "LOG_LEVEL", "unrecognized level: \"%.*s\"",
                             STR_ARG(str_sub(c->log_level, 0, 100)));
    }
    if (!word_in(c->gin_mode, modes, ARRAY_LEN(modes))) {
        return config_refuse(
            r, "GIN_MODE",
            "panic during PreRun: gin mode unknown: %.*s (available mode: debug release test)",
            STR_ARG(str_sub(c->gin_mode, 0, 100)));
    }
    while (id < ARRAY_LEN(ids) && !str_eqz(c->idgen_type, ids[id])) {
        id++;
    }
    if (id == ARRAY_LEN(ids) && c->idgen_type.n) {
        return config_refuse(r, "IDGEN_TYPE",
                             "failed to configure ID generator: invalid id type: %.*s (must be one "
                             "of: uuidv4, uuidv7, nanoid)",
                             STR_ARG(str_sub(c->idgen_type, 0, 100)));
    }
    c->derived.log_level = levels[level].level;
    c->derived.id_type = id < ARRAY_LEN(ids) ? (enum id_type)id : ID_UUIDV4;
    return EC_OK;
}

/* Numbers beyond their bounds: Outpost starts with them, so ours does, with a value that works; our
 * own settings are refused. */
static enum ec check_bounds(struct config *c, struct config_report *r)
{
    for (size_t i = 0; i < setting_count; i++) {
        const struct setting *s = &settings[i];
        bool number = s->type == SET_INT || s->type == SET_SIZE || s->type == SET_SECONDS;
        int64_t *v = (int64_t *)((char *)c + s->at);
        if (!number || (s->least == 0 && s->most == 0) || (*v >= s->least && *v <= s->most)) {
            continue;
        }
        if (s->flags & SET_OWN) {
            return config_refuse(r, s->env, INVALID "%s must be between %lld and %lld, got %lld",
                                 s->env, (long long)s->least, (long long)s->most, (long long)*v);
        }
        int64_t taken = *v > s->most ? s->most : s->instead ? s->instead : s->least;
        if (!(s->instead && *v == 0)) { /* 0 is a way to say "the default" */
            config_warn(c, "%s: %lld is out of bounds, %lld is used", s->env, (long long)*v,
                        (long long)taken);
        }
        *v = taken;
    }
    return EC_OK;
}

static enum ec check_own(struct config *c, struct config_report *r)
{
    if (!str_eqz(c->egress_policy, "public") && !str_eqz(c->egress_policy, "any")) {
        return config_refuse(r, "EGRESS_POLICY", INVALID "EGRESS_POLICY must be public or any");
    }
    if (!(c->retry_jitter >= 0 && c->retry_jitter <= 1)) {
        return config_refuse(r, "RETRY_JITTER",
                             INVALID "RETRY_JITTER must be between 0 and 1, got %g",
                             c->retry_jitter);
    }
    if (c->api_port < 0 || c->api_port > 65535) {
        return config_refuse(r, "API_PORT",
                             INVALID "api_port must be between 0 and 65535, got %lld",
                             (long long)c->api_port);
    }
    if (!c->data_dir.n) {
        return config_refuse(r, "DATA_DIR", INVALID "DATA_DIR must name a folder");
    }
    return EC_OK;
}

void config_resolve(struct config *c)
{
    CLEANUP(config_report_fini) struct config_report unheard;
    config_report_init(&unheard);
    struct config_derived *d = &c->derived;
    c->topics_given = setting_named(c, "topics");
    resolve_backends(c);
    resolve_webhook(c);
    d->retry_poll_ms = poll_ms(c);
    if (check_alerts(c, &unheard)) {
        assert(unheard.error.n); /* the check says it aloud */
    }
    int64_t n = c->delivery_concurrency, most = MAX(INT64_C(4096), n);
    d->max_idle_connections = MIN(MAX(32 * n, INT64_C(512)), most);
    d->max_idle_connections_per_host = MIN(MAX(n, INT64_C(2)), d->max_idle_connections);
}

static void allow_loopback(struct config *c)
{
    c->egress_allow = arena_printf(&c->arena, "%.*s%s127.0.0.0/8,::1/128", STR_ARG(c->egress_allow),
                                   c->egress_allow.n ? "," : "");
}

/* A setting that nothing reads yet is said aloud once, so that nobody waits for its effect. The
 * addresses of backends are judged by the app, which knows what is built in. */
static void warn_unused(struct config *c)
{
    for (size_t i = 0; i < setting_count; i++) {
        bool again = i > 0 && strcmp(settings[i].env, settings[i - 1].env) == 0;
        if (!(settings[i].flags & SET_USED) && setting_is_set(c, &settings[i]) && !again) {
            config_warn(c, "%s is set, and this version does not use it", settings[i].env);
        }
    }
}

enum ec config_check(struct config *c, const struct config_input *in, struct config_report *r)
{
    enum ec ec = check_service(c, in, r);
    ec = ec ? ec : check_backends(c, r);
    ec = ec ? ec : check_secrets(c, r);
    if (!ec && url_fault(c->portal.proxy_url)) {
        ec = config_refuse(r, "PORTAL_PROXY_URL", INVALID "invalid portal proxy url");
    }
    ec = ec ? ec : check_deployment_id(c, r);
    ec = ec ? ec : check_otel(c, r);
    ec = ec ? ec : check_retry(c, r);
    ec = ec ? ec : check_alerts(c, r);
    ec = ec ? ec : check_words(c, r);
    ec = ec ? ec : check_webhook(c, r);
    ec = ec ? ec : check_own(c, r);
    ec = ec ? ec : check_bounds(c, r);
    if (!ec) {
        config_resolve(c); /* again, with numbers in their bounds */
        warn_unused(c);
    }
    if (!ec && c->dev_mode) {
        allow_loopback(c);
    }
    return ec;
}
