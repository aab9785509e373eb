/* From configuration to each room's own settings. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "app/app_priv.h"
#include "app/backends.h"

static struct str header_name(const struct config_opt *pinned, bool off, struct str prefix, const char *name, struct arena *a)
{
    if (pinned->is_set) {
        return str_trim(pinned->text);
    }
    return off ? STR("") : arena_printf(a, "%.*s%s", STR_ARG(prefix), name);
}

static void set_dest_conf(struct app *a)
{
    struct config *c = a->config;
    struct arena *m = &c->arena;
    bool standard = str_eqz(c->webhook_mode, "standard");
    struct str prefix = c->webhook_prefix.n ? str_trim(c->webhook_prefix) : standard ? STR("webhook-") : STR("x-outpost-");
    a->dest_conf = (struct dest_conf){
        .webhook_standard = standard,
        .header_prefix = prefix,
        .event_id_header = header_name(&c->webhook_event_id_header, c->webhook_no_event_id, prefix, "event-id", m),
        .timestamp_header = header_name(&c->webhook_timestamp_header, c->webhook_no_timestamp, prefix, "timestamp", m),
        .topic_header = header_name(&c->webhook_topic_header, c->webhook_no_topic, prefix, "topic", m),
        .signature_header = header_name(&c->webhook_signature_header, c->webhook_no_signature, prefix, "signature", m),
        .content_template = c->webhook_content_template,
        .header_template = c->webhook_header_template,
        .secret_template = c->webhook_secret_template,
        .base64 = str_eqz(c->webhook_encoding, "base64"),
        .algorithm = str_eqz(c->webhook_algorithm, "hmac-sha1") ? "sha1" : "sha256",
        .proxy_url = c->webhook_proxy,
        .user_agent = c->http_user_agent.n ? c->http_user_agent : STR("Outrider/" OUTRIDER_VERSION),
        .response_max = c->webhook_response_max > 0 ? (size_t)c->webhook_response_max : 0,
    };
    const struct dest_ops *const *types = standard ? backends_dest_standard : backends_dest_default;
    size_t n = 0;
    while (types[n]) {
        n++;
    }
    a->registry = dest_registry_new(types, n, n, &a->dest_conf);
}

static enum id_type id_type_of(struct str name)
{
    return str_eqz(name, "uuidv7") ? ID_UUIDV7 : str_eqz(name, "nanoid") ? ID_NANOID : ID_UUIDV4;
}

static void set_deliver_conf(struct app *a)
{
    struct config *c = a->config;
    int64_t streak = 100;
    if (c->alert_count.is_set) {
        streak = 0;
        (void)str_to_i64(str_trim(c->alert_count.text), &streak);
    }
    a->deliver_conf = (struct deliver_conf){
        .backoff = {c->retry_interval_s, c->retry_schedule.v, c->retry_schedule.n, c->retry_jitter},
        .retry_limit = (int)c->retry_limit,
        .retry_after_max_s = c->retry_after_max_s,
        .timeout = c->delivery_timeout_s * NSEC_PER_SEC,
        .concurrency = (unsigned)c->delivery_concurrency,
        .slow_max = (unsigned)c->delivery_slow_max,
        .per_destination = (unsigned)c->delivery_per_destination,
        .disable_on_gone = c->disable_on_gone,
        .streak_limit = c->alert_auto_disable ? streak : 0,
        .id_type = id_type_of(c->idgen_type),
        .attempt_prefix = c->idgen_attempt,
    };
}

static const char *const worker_names[] = {"deliverymq-consumer", "http-server", "logmq-consumer", "retrymq-consumer", NULL};

static void set_api(struct app *a)
{
    struct config *c = a->config;
    a->publisher = (struct publisher){
        .topics = {c->topics.v, c->topics.n},
        .claim_ttl = c->publish_ttl_s * USEC_PER_SEC,
        .log_unmatched = c->log_unmatched,
    };
    a->api.conf = (struct api_conf){
        .no_auth = str_eqz(c->api_auth, "none"),
        .api_key = &c->api_key,
        .jwt_secret = &c->api_jwt_secret,
        .deployment_id = c->deployment_id,
        .topics = {c->topics.v, c->topics.n},
        .topics_set = c->topics_given,
        .allow_wildcards = c->topics_allow_wildcards,
        .max_destinations = (unsigned)c->max_destinations,
        .id_type = id_type_of(c->idgen_type),
        .event_prefix = c->idgen_event,
        .destination_prefix = c->idgen_destination,
        .workers = worker_names,
    };
    a->api.publisher = &a->publisher;
    a->api.dests = a->registry;
    a->httpd_conf = (struct httpd_conf){
        .port = (int)c->api_port,
        .max_body = (size_t)c->api_max_body,
        .on_request = api_on_request,
        .on_error = api_on_error,
        .arg = &a->api,
    };
}

enum ec app_settings(struct app *a, struct err *err)
{
    set_dest_conf(a);
    set_deliver_conf(a);
    set_api(a);
    enum ec ec = dest_conf_check(&a->dest_conf, err);
    return ec ? ec : egress_new(a->config->egress_policy, a->config->egress_allow, &a->egress, err);
}
