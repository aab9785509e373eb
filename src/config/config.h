/* Settings: one table (settings.c) of names, types, defaults and checks; read from one file (YAML or dotenv) and the
 * environment, in this order of growing weight. Made on the main thread before anything starts, immutable afterwards.
 * Spec: operations.md 2 to 6; own settings: design.md 10. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_CONFIG_CONFIG_H
#define OUTRIDER_CONFIG_CONFIG_H

#include <stdio.h>

#include "util/arena.h"
#include "util/err.h"
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

struct config {
    struct str service, log_level, deployment_id, http_user_agent;
    int64_t api_port;
    struct secret api_key, api_jwt_secret, aes_secret;
    struct str api_auth;
    int64_t api_max_body, api_threads, delivery_threads;
    struct config_list topics;
    bool topics_given; /* TOPICS was set to something, perhaps blank */
    bool topics_allow_wildcards;
    struct str data_dir, egress_policy, egress_allow;
    double retry_jitter;
    struct config_ints retry_schedule;
    int64_t retry_interval_s, retry_limit, retry_after_max_s;
    int64_t delivery_concurrency, delivery_slow_max, delivery_per_destination, delivery_timeout_s;
    bool disable_on_gone, log_unmatched, dev_mode;
    int64_t max_destinations, publish_ttl_s;
    int64_t log_batch_size, log_retention_days, log_retention_bytes, backlog_max;
    struct str idgen_type, idgen_event, idgen_destination, idgen_attempt;
    struct config_opt alert_count;
    bool alert_auto_disable;
    struct str webhook_mode, webhook_proxy, webhook_prefix;
    struct config_opt webhook_event_id_header, webhook_signature_header, webhook_timestamp_header, webhook_topic_header;
    bool webhook_no_event_id, webhook_no_signature, webhook_no_timestamp, webhook_no_topic;
    struct str webhook_content_template, webhook_header_template, webhook_encoding, webhook_algorithm, webhook_secret_template;
    int64_t webhook_response_max;
    /* how it came about */
    struct str file;               /* "" = none */
    struct config_list unknown;    /* YAML keys that no setting has */
    const char **sources;          /* by setting: "default", "file", "environment", "first start" */
    struct arena arena;
};

/* path: --config or NULL; environ in the usual form. Errors carry the specification's texts. */
enum ec config_load(const char *path, char *const *environ, struct config **out, struct err *err) MUST_CHECK;
void config_free(struct config *c);
/* `outrider config list`: every setting with value and source, secrets masked. */
void config_print(const struct config *c, FILE *to);

/* Embedded mode: makes the data folder (0700) and, where they are not configured, the admin key, the encryption secret and
 * the token secret as 0600 files in it; later starts read them. *out_new_key: the admin key was made just now. */
enum ec config_first_start(struct config *c, bool *out_new_key, struct err *err) MUST_CHECK;

#endif
