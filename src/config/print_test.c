/* `config list`: form, values, and that no secret gets out. SPDX-License-Identifier: Apache-2.0 */
#include "config/tests.h"

#include <stdlib.h>

typedef void print_fn(const struct config *c, FILE *to);

static char *printed(const struct config *c, print_fn *print)
{
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    assert_non_null(f);
    print(c, f);
    assert_int_equal(fclose(f), 0);
    return text;
}

static void has_line(const char *text, const char *key, const char *value)
{
    char line[300];
    snprintf(line, sizeof(line), "\n%-38s  %s\n", key, value);
    if (!strstr(text, line)) {
        fail_msg("no line%sin%s", line, text);
    }
}

static void summary(void **state)
{
    (void)state;
    struct outcome o;
    try_config(&(struct trial){.env = {"TOPICS=user.created,user.updated", "API_PORT=4567",
                                       "AES_ENCRYPTION_SECRET=x", "RETRY_SCHEDULE=1,2",
                                       "RABBITMQ_SERVER_URL=amqp://user:pass@host:1/v",
                                       "POSTGRES_URL=postgres://u:p@db:5432/o?x=1",
                                       "DESTINATIONS_WEBHOOK_TOPIC_HEADER_NAME=",
                                       "DESTINATIONS_WEBHOOK_SIGNATURE_HEADER_NAME=X-S",
                                       "EGRESS_ALLOW=10.0.0.0/8"}},
               &o);
    assert_int_equal(o.read, EC_OK);
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 64 * 1024);
    char *text = printed(o.c, config_print);
    buf_addf(&b, "\n%s", text);
    const char *all = buf_z(&b);
    has_line(all, "aes_encryption_secret_configured", "true");
    has_line(all, "api_key_configured", "false");
    has_line(all, "api_port", "4567");
    has_line(all, "topics", "[user.created user.updated]");
    has_line(all, "retry_schedule", "[1 2]");
    has_line(all, "deployment_id", "");
    has_line(all, "version", OUTRIDER_VERSION);
    has_line(all, "config_file_path", "none (using defaults and environment variables)");
    has_line(all, "mq_type", "rabbitmq");
    has_line(all, "rabbitmq_url", "amqp://***:***@host:1/v");
    has_line(all, "postgres_host", "db:5432");
    has_line(all, "destinations_webhook_topic_header", "disabled");
    has_line(all, "destinations_webhook_signature_header", "X-S");
    has_line(all, "destinations_webhook_event_id_header", "<default>");
    has_line(all, "egress_allow", "10.0.0.0/8");
    has_line(all, "retry_poll_backoff_ms", "1000");
    has_line(all, "embedded", "[store]");
    assert_true(strncmp(text, "aes_encryption_secret_configured", 32) == 0);
    free(text);
    outcome_fini(&o);
}

#define KEY_MOST 100
static void check_order(void *user, const char *key, struct str value)
{
    (void)value;
    char *last = user;
    assert_true(strcmp(last, key) < 0);
    snprintf(last, KEY_MOST, "%s", key);
}

static void sorted(void **state)
{
    (void)state;
    char last[KEY_MOST] = "";
    struct outcome o;
    try_config(&(struct trial){0}, &o);
    config_summary(o.c, check_order, last);
    assert_string_equal(last, "version");
    outcome_fini(&o);
}

static void invalid_settings_are_shown_too(void **state)
{
    (void)state;
    struct outcome o;
    try_config(&(struct trial){.env = {"ALERT_CONSECUTIVE_FAILURE_COUNT=x"}}, &o);
    assert_int_equal(o.read, EC_OK);
    assert_int_equal(o.check, EC_INVALID);
    char *text = printed(o.c, config_print);
    has_line(text, "alert_consecutive_failure_count", "0");
    has_line(text, "alert_consecutive_failure_enabled", "false");
    has_line(text, "alert_exhausted_retries_window_seconds", "3600");
    free(text);
    outcome_fini(&o);
}

/* Every secret of the table is set to a word that must not be seen in either form. */
static void secrets_stay_inside(void **state)
{
    (void)state;
    struct config *c = config_defaults();
    CLEANUP(buf_fini) struct buf reason;
    buf_init(&reason, 100);
    for (size_t i = 0; i < setting_count; i++) {
        if (settings[i].type == SET_SECRET || settings[i].flags & SET_MASKED) {
            assert_int_equal(
                value_parse(c, &settings[i], STR("scheme://user:hush@host/x"), &reason), EC_OK);
        }
    }
    config_resolve(c);
    for (size_t i = 0; i < setting_count; i++) {
        assert_null(strstr(shown(c, settings[i].yaml), "hush"));
    }
    char *text = printed(c, config_print), *all = printed(c, config_print_all);
    assert_null(strstr(text, "hush"));
    assert_null(strstr(all, "hush"));
    free(text);
    free(all);
    config_free(c);
}

static void sources(void **state)
{
    (void)state;
    struct outcome o;
    try_config(&(struct trial){.env = {"API_PORT=4567"}, .file = ".env", .text = "API_KEY=k\n"},
               &o);
    char *text = printed(o.c, config_print_all);
    assert_non_null(strstr(text, "  4567  (environment)\n"));
    assert_non_null(strstr(text, "  ********  (.env file)\n"));
    assert_non_null(strstr(text, "  ./outrider-data  (default)\n"));
    free(text);
    outcome_fini(&o);
}

int print_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(summary),
        cmocka_unit_test(sorted),
        cmocka_unit_test(invalid_settings_are_shown_too),
        cmocka_unit_test(secrets_stay_inside),
        cmocka_unit_test(sources),
    };
    return cmocka_run_group_tests_name("config print", tests, NULL, NULL);
}
