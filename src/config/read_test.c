/* Environment, .env and YAML: values, sources and the exact words of refusals.
 * SPDX-License-Identifier: Apache-2.0 */
#include "config/tests.h"

#include <stdlib.h>
#include <sys/stat.h>

struct good {
    const char *name;
    struct trial trial;
    const char *yaml, *value, *source;
};

static void check_good(const struct good *g)
{
    struct outcome o;
    try_config(&g->trial, &o);
    if (o.read) {
        fail_msg("%s: %s", g->name, buf_z(&o.report.error));
    }
    if (strcmp(shown(o.c, g->yaml), g->value) != 0) {
        fail_msg("%s: %s is \"%s\", want \"%s\"", g->name, g->yaml, shown(o.c, g->yaml), g->value);
    }
    if (strcmp(source_of(o.c, g->yaml), g->source) != 0) {
        fail_msg("%s: from %s, want %s", g->name, source_of(o.c, g->yaml), g->source);
    }
    outcome_fini(&o);
}

static void values(void **state)
{
    (void)state;
#define ENV(...)                                                                                   \
    {                                                                                              \
        .env = { __VA_ARGS__ }                                                                     \
    }
#define YAML(text_)                                                                                \
    {                                                                                              \
        .file = ".outpost.yaml", .text = text_                                                     \
    }
#define DOTENV(text_)                                                                              \
    {                                                                                              \
        .file = ".env", .text = text_                                                              \
    }
    /* clang-format off */
    static const struct good all[] = {
        {"default", ENV(NULL), "api_port", "3333", "default"},
        {"default list", ENV(NULL), "topics", "[]", "default"},
        {"ours in place of Outpost's 1", ENV(NULL), "delivery_max_concurrency", "512", "default"},
        {"size default", ENV(NULL), "log_retention.bytes", "10737418240", "default"},
        {"template default", ENV(NULL), "destinations.webhook.signature_header_template", "v0={{.Signatures | join \",\"}}", "default"},
        {"int", ENV("API_PORT=4567"), "api_port", "4567", "environment"},
        {"plus", ENV("API_PORT=+4567"), "api_port", "4567", "environment"},
        {"minus", ENV("PUBLISH_IDEMPOTENCY_KEY_TTL=-1"), "publish_idempotency_key_ttl", "-1", "environment"},
        {"first of two", ENV("API_PORT=1", "API_PORT=2"), "api_port", "1", "environment"},
        {"empty is absent", ENV("API_PORT="), "api_port", "3333", "default"},
        {"empty key is absent", ENV("API_KEY="), "api_key", "", "default"},
        {"secret", ENV("API_KEY=k"), "api_key", "********", "environment"},
        {"blank is a value", ENV("DESTINATIONS_WEBHOOK_HEADER_PREFIX= "), "destinations.webhook.header_prefix", " ", "environment"},
        {"no expansion", ENV("HTTP_USER_AGENT=$HOME"), "http_user_agent", "$HOME", "environment"},
        {"list", ENV("TOPICS=user.created, user.updated,"), "topics", "[user.created user.updated]", "environment"},
        {"blank list", ENV("TOPICS= , ,"), "topics", "[]", "environment"},
        {"ints", ENV("RETRY_SCHEDULE=5,10,+15"), "retry_schedule", "[5 10 15]", "environment"},
        {"bool T", ENV("DEV_MODE=T"), "dev_mode", "true", "environment"},
        {"bool 0", ENV("LOG_UNMATCHED=0"), "log_unmatched", "false", "environment"},
        {"off", ENV("ALERT_CONSECUTIVE_FAILURE_COUNT="), "alert.consecutive_failure_count", "(off)", "environment"},
        {"header off", ENV("DESTINATIONS_WEBHOOK_TOPIC_HEADER_NAME="), "destinations.webhook.topic_header_name", "(off)", "environment"},
        {"size", ENV("API_MAX_BODY=1MiB"), "api_max_body", "1048576", "environment"},
        {"size in bytes", ENV("API_MAX_BODY=4096"), "api_max_body", "4096", "environment"},
        {"size, decimal", ENV("LOG_RETENTION_BYTES=2 gb"), "log_retention.bytes", "2000000000", "environment"},
        {"time", ENV("RETRY_AFTER_MAX=2h"), "retry_after_max", "7200", "environment"},
        {"seconds", ENV("RETRY_AFTER_MAX=7"), "retry_after_max", "7", "environment"},
        {"share", ENV("RETRY_JITTER=0.25"), "retry_jitter", "0.25", "environment"},
        {"one name, three rows", ENV("OTEL_PROTOCOL=http"), "otel.logs.protocol", "http", "environment"},
        {"one name, two rows", ENV("DISABLE_TELEMETRY=true"), "telemetry.disabled", "true", "environment"},
        {"alias", ENV("PORTAL_ACCENT_COLOR=#112233"), "portal.brand_color", "#112233", "environment"},
        {"alias has less weight", ENV("PORTAL_ACCENT_COLOR=#1", "PORTAL_BRAND_COLOR=#2"), "portal.brand_color", "#2", "environment"},
        {"documented prefix", ENV("OPERATION_EVENTS_TOPICS=*"), "operator_events.topics", "[*]", "environment"},
        {"masked address", ENV("DESTINATIONS_WEBHOOK_PROXY_URL=http://u:p@h:1"), "destinations.webhook.proxy_url", "http://***:***@h:1", "environment"},
        {"yaml int", YAML("api_port: 4567\n"), "api_port", "4567", "YAML file"},
        {"yaml json", YAML("{\"api_port\": 4567, \"topics\": [\"a\"]}"), "topics", "[a]", "YAML file"},
        {"yaml hex", YAML("api_port: 0x10\n"), "api_port", "16", "YAML file"},
        {"yaml octal", YAML("api_port: 010\n"), "api_port", "8", "YAML file"},
        {"yaml underscore", YAML("backlog_max: 1_000\n"), "backlog_max", "1000", "YAML file"},
        {"yaml float as int", YAML("api_port: 4567.0\n"), "api_port", "4567", "YAML file"},
        {"yaml section", YAML("redis:\n  host: r1\n"), "redis.host", "r1", "YAML file"},
        {"yaml deep section", YAML("mqs:\n  rabbitmq:\n    exchange: x\n"), "mqs.rabbitmq.exchange", "x", "YAML file"},
        {"yaml number as text", YAML("deployment_id: 12\n"), "deployment_id", "12", "YAML file"},
        {"yaml bool as text", YAML("deployment_id: true\n"), "deployment_id", "true", "YAML file"},
        {"yaml yes", YAML("dev_mode: yes\n"), "dev_mode", "true", "YAML file"},
        {"yaml list", YAML("topics:\n  - user.created\n  - \" b \"\n  -\n"), "topics", "[user.created b]", "YAML file"},
        {"yaml ints", YAML("retry_schedule: [1, 2]\n"), "retry_schedule", "[1 2]", "YAML file"},
        {"yaml empty text wins", YAML("redis: {host: ''}\n"), "redis.host", "", "YAML file"},
        {"yaml bare key", YAML("api_port:\n"), "api_port", "3333", "default"},
        {"yaml null section", YAML("mqs:\nredis: null\n"), "redis.host", "127.0.0.1", "default"},
        {"yaml off", YAML("alert:\n  consecutive_failure_count: ''\n"), "alert.consecutive_failure_count", "(off)", "YAML file"},
        {"yaml unset", YAML("alert:\n  consecutive_failure_count:\n"), "alert.consecutive_failure_count", "(unset)", "default"},
        {"yaml three states, number", YAML("alert:\n  consecutive_failure_count: 7\n"), "alert.consecutive_failure_count", "7", "YAML file"},
        {"yaml auto_provision", YAML("mqs: {auto_provision: false}\n"), "mqs.auto_provision", "false", "YAML file"},
        {"yaml size", YAML("api_max_body: 2KiB\n"), "api_max_body", "2048", "YAML file"},
        {"yaml csv list", YAML("egress: {allow: [10.0.0.0/8, 127.0.0.0/8]}\n"), "egress.allow", "10.0.0.0/8,127.0.0.0/8", "YAML file"},
        {"yaml merge", YAML("x: &x {host: r1, port: 1}\nredis: {<<: *x, port: 2}\n"), "redis.host", "r1", "YAML file"},
        {"yaml explicit over merged", YAML("x: &x {host: r1, port: 1}\nredis: {port: 2, <<: *x}\n"), "redis.port", "2", "YAML file"},
        {"yaml alias", YAML("portal: {organization_name: A}\n"), "portal.org_name", "A", "YAML file"},
        {"yaml alias has less weight", YAML("portal: {org_name: B, organization_name: A}\n"), "portal.org_name", "B", "YAML file"},
        {"yaml of nothing", YAML("# only a comment\n"), "api_port", "3333", "default"},
        {"no interpolation", YAML("http_user_agent: ${HOME}\n"), "http_user_agent", "${HOME}", "YAML file"},
        {"environment over yaml", {.env = {"API_PORT=1"}, .file = ".outpost.yaml", .text = "api_port: 2\n"}, "api_port", "1", "environment"},
        {"empty does not", {.env = {"API_PORT="}, .file = ".outpost.yaml", .text = "api_port: 2\n"}, "api_port", "2", "YAML file"},
        {"off over yaml", {.env = {"ALERT_CONSECUTIVE_FAILURE_COUNT="}, .file = ".outpost.yaml", .text = "alert: {consecutive_failure_count: 3}\n"},
         "alert.consecutive_failure_count", "(off)", "environment"},
        {"dotenv", DOTENV("API_PORT=4567\n"), "api_port", "4567", ".env file"},
        {"dotenv export, blanks, crlf", DOTENV("\r\n# c\r\n  export API_PORT = 4567 \r\n"), "api_port", "4567", ".env file"},
        {"dotenv colon", DOTENV("API_PORT: 4567"), "api_port", "4567", ".env file"},
        {"dotenv comment", DOTENV("HTTP_USER_AGENT=a#b # c\n"), "http_user_agent", "a#b", ".env file"},
        {"dotenv single", DOTENV("HTTP_USER_AGENT='a $X \\n # b'\n"), "http_user_agent", "a $X \\n # b", ".env file"},
        {"dotenv double", DOTENV("HTTP_USER_AGENT=\"a\\n\\\"b\\\" \\$X\"\n"), "http_user_agent", "a\n\"b\" $X", ".env file"},
        {"dotenv over lines", DOTENV("HTTP_USER_AGENT=\"a\nb\"\nAPI_PORT=1\n"), "http_user_agent", "a\nb", ".env file"},
        {"dotenv expands", DOTENV("A=x\nHTTP_USER_AGENT=$A-${A}-$B.\n"), "http_user_agent", "x-x-.", ".env file"},
        {"dotenv only from above", DOTENV("HTTP_USER_AGENT=<$A>\nA=x\n"), "http_user_agent", "<>", ".env file"},
        {"dotenv lone dollar", DOTENV("HTTP_USER_AGENT=a$ b${\n"), "http_user_agent", "a$ b${", ".env file"},
        {"dotenv last wins", DOTENV("API_PORT=1\nAPI_PORT=2\n"), "api_port", "2", ".env file"},
        {"dotenv empty is absent", DOTENV("ALERT_CONSECUTIVE_FAILURE_COUNT=\nAPI_PORT=\n"), "alert.consecutive_failure_count", "(unset)", "default"},
        {"environment over dotenv", {.env = {"API_PORT=1"}, .file = ".env", .text = "API_PORT=2\n"}, "api_port", "1", "environment"},
        {"dotenv by name, any case", {.flag = "x/MY.ENV", .file = "x/MY.ENV", .text = "API_PORT=2\n"}, "api_port", "2", ".env file"},
        {"else yaml", {.flag = ".env.prod", .file = ".env.prod", .text = "api_port: 2\n"}, "api_port", "2", "YAML file"},
        {"CONFIG", {.env = {"CONFIG=a.yaml"}, .file = "a.yaml", .text = "api_port: 2\n"}, "api_port", "2", "YAML file"},
        {"flag and CONFIG agree", {.env = {"CONFIG=a.yaml"}, .flag = "a.yaml", .file = "a.yaml", .text = "api_port: 2\n"}, "api_port", "2", "YAML file"},
        {"CONFIG is not read from a file", DOTENV("CONFIG=other.yaml\nAPI_PORT=2\n"), "api_port", "2", ".env file"},
        {"found in config/", {.file = "config/outpost/config.yaml", .text = "api_port: 2\n"}, "api_port", "2", "YAML file"},
        {"empty file", {.file = ".env", .text = ""}, "api_port", "3333", "default"},
    };
    /* clang-format on */
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        check_good(&all[i]);
    }
}

struct bad {
    struct trial trial;
    const char *error, *hint;
};

static void refusals(void **state)
{
    (void)state;
    /* clang-format off */
    static const struct bad all[] = {
        {ENV("API_PORT=abc"), "env: parse error on field \"APIPort\" of type \"int\": strconv.ParseInt: parsing \"abc\": invalid syntax", "API_PORT"},
        {ENV("API_PORT= 1"), "env: parse error on field \"APIPort\" of type \"int\": strconv.ParseInt: parsing \" 1\": invalid syntax", "API_PORT"},
        {ENV("API_PORT=1_0"), "env: parse error on field \"APIPort\" of type \"int\": strconv.ParseInt: parsing \"1_0\": invalid syntax", "API_PORT"},
        {ENV("API_PORT=99999999999"),
         "env: parse error on field \"APIPort\" of type \"int\": strconv.ParseInt: parsing \"99999999999\": value out of range", "API_PORT"},
        {ENV("RETRY_SCHEDULE=5, 10"),
         "env: parse error on field \"RetrySchedule\" of type \"[]int\": strconv.ParseInt: parsing \" 10\": invalid syntax", "RETRY_SCHEDULE"},
        {ENV("RETRY_SCHEDULE=5,"),
         "env: parse error on field \"RetrySchedule\" of type \"[]int\": strconv.ParseInt: parsing \"\": invalid syntax", "RETRY_SCHEDULE"},
        {ENV("TOPICS_ALLOW_WILDCARDS=yes"),
         "env: parse error on field \"TopicsAllowWildcards\" of type \"bool\": strconv.ParseBool: parsing \"yes\": invalid syntax",
         "TOPICS_ALLOW_WILDCARDS"},
        {ENV("LOG_BATCH_SIZE=x", "API_PORT=y"),
         "env: parse error on field \"APIPort\" of type \"int\": strconv.ParseInt: parsing \"y\": invalid syntax; parse error on field "
         "\"LogBatchSize\" of type \"int\": strconv.ParseInt: parsing \"x\": invalid syntax",
         "API_PORT, LOG_BATCH_SIZE"},
        {ENV("API_MAX_BODY=16 parsecs"),
         "env: parse error on field \"API_MAX_BODY\" of type \"size\": a number of bytes such as 4096, 16MiB or 10GiB is expected, not \"16 parsecs\"",
         "API_MAX_BODY"},
        {ENV("API_MAX_BODY=9999999999TiB"),
         "env: parse error on field \"API_MAX_BODY\" of type \"size\": a number of bytes such as 4096, 16MiB or 10GiB is expected, not \"9999999999TiB\"",
         "API_MAX_BODY"},
        {ENV("RETRY_JITTER=nan"),
         "env: parse error on field \"RETRY_JITTER\" of type \"number\": a number such as 0.1 is expected, not \"nan\"", "RETRY_JITTER"},
        {DOTENV("API_PORT=abc\n"),
         "error parsing .env file: env: parse error on field \"APIPort\" of type \"int\": strconv.ParseInt: parsing \"abc\": invalid syntax", "API_PORT"},
        {DOTENV("A 1\nB=2\n"), "error loading .env file: unexpected character \"\\n\" in variable name near \"A 1\\n\"", ""},
        {DOTENV("API-KEY=hush\n"), "error loading .env file: unexpected character \"-\" in variable name near \"API-KEY=\"", ""},
        {DOTENV("API_KEY=\"hush\n"), "error loading .env file: unterminated quoted value of \"API_KEY\"", ""},
        {DOTENV("API_KEY"), "error loading .env file: no value for variable name near \"API_KEY\"", ""},
        {YAML("topics: a,b\n"), "error parsing yaml config: yaml: unmarshal errors:\n  line 1: cannot unmarshal !!str `a,b` into []string", ""},
        {YAML("\napi_port: '3333'\ntopics: [[a]]\n"),
         "error parsing yaml config: yaml: unmarshal errors:\n  line 2: cannot unmarshal !!str `3333` into int\n  line 3: cannot unmarshal !!seq into string", ""},
        {YAML("api_port: a long text it is\n"), "error parsing yaml config: yaml: unmarshal errors:\n  line 1: cannot unmarshal !!str `a long ...` into int", ""},
        {YAML("api_key: [hush]\n"), "error parsing yaml config: yaml: unmarshal errors:\n  line 1: cannot unmarshal !!seq into string", ""},
        {YAML("dev_mode: 2\n"), "error parsing yaml config: yaml: unmarshal errors:\n  line 1: cannot unmarshal !!int `2` into bool", ""},
        {YAML("redis: here\n"), "error parsing yaml config: yaml: unmarshal errors:\n  line 1: cannot unmarshal !!str `here` into a section", ""},
        {YAML("just text\n"), "error parsing yaml config: yaml: unmarshal errors:\n  line 1: cannot unmarshal !!str `just text` into settings", ""},
        {YAML("api_port: 1\n\napi_port: 2\n"), "error parsing yaml config: yaml: unmarshal errors:\n  line 3: mapping key \"api_port\" already defined at line 1", ""},
        {YAML("a: [\n"), "error parsing yaml config: yaml: line 1: did not find expected node content", ""},
        {YAML("a: b: c\n"), "error parsing yaml config: yaml: mapping values are not allowed in this context", ""},
        {YAML("a: *nowhere\n"), "error parsing yaml config: yaml: found undefined alias", ""},
        {YAML("redis: &r\n  <<: *r\n"), "error parsing yaml config: yaml: unmarshal errors:\n  line 1: nested too deep", ""},
        {{.flag = "nope.yaml"}, "error reading config file: open nope.yaml: no such file or directory", ""},
        {{.flag = "a", .env = {"CONFIG=b"}}, "conflicting config paths: flag=a env=b", "CONFIG"},
        {{.flag = "x", .file = "x/y", .text = ""}, "error reading config file: read x: is a directory", ""},
    };
    /* clang-format on */
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct outcome o;
        try_config(&all[i].trial, &o);
        if (!o.read) {
            fail_msg("case %zu is read, want: %s", i, all[i].error);
        }
        assert_str(buf_str(&o.report.error), all[i].error);
        assert_str(buf_str(&o.report.hint), all[i].hint);
        assert_null(o.c);
        outcome_fini(&o);
    }
}

static void unknown_keys_are_told(void **state)
{
    (void)state;
    struct trial t =
        YAML("api_prot: 1\nredis: {hots: x}\nalerts: {a: {b: 1}}\nmqs: {awssqs: {region: x}}\n");
    struct outcome o;
    try_config(&t, &o);
    assert_int_equal(o.check, EC_OK);
    assert_int_equal(o.c->unknown.n, 4);
    assert_str(o.c->unknown.v[0], "api_prot");
    assert_str(o.c->unknown.v[1], "redis.hots");
    assert_str(o.c->unknown.v[2], "alerts");
    assert_str(o.c->unknown.v[3], "mqs.awssqs");
    assert_true(o.c->derived.store_embedded);
    outcome_fini(&o);
}

static void big_files_are_refused(void **state)
{
    (void)state;
    char *text = xmalloc(FILE_MOST + 20 * 1024);
    memset(text, '#', FILE_MOST + 20 * 1024 - 1);
    text[FILE_MOST + 20 * 1024 - 1] = '\0';
    struct trial t = {.file = ".env", .text = text};
    struct outcome o;
    try_config(&t, &o);
    assert_int_equal(o.read, EC_INVALID);
    assert_non_null(strstr(buf_z(&o.report.error), "is larger than"));
    outcome_fini(&o);
    free(text);
}

/* a=$b$b, b=$c$c: what it grows to is bounded. */
static void expansion_is_bounded(void **state)
{
    (void)state;
    CLEANUP(buf_fini) struct buf text;
    buf_init(&text, 64 * 1024);
    buf_addz(&text, "A0=xxxxxxxxxxxxxxxx\n");
    for (int i = 1; i < 60; i++) {
        buf_addf(&text, "A%d=$A%d$A%d\n", i, i - 1, i - 1);
    }
    struct trial t = {.file = ".env", .text = buf_z(&text)};
    struct outcome o;
    try_config(&t, &o);
    assert_int_equal(o.read, EC_INVALID);
    assert_non_null(strstr(buf_z(&o.report.error), "bytes of values"));
    outcome_fini(&o);
}

static void merges_are_bounded(void **state)
{
    (void)state;
    CLEANUP(buf_fini) struct buf text;
    buf_init(&text, 64 * 1024);
    buf_addz(&text, "x0: &a0 {host: r}\n");
    for (int i = 1; i < 10; i++) {
        buf_addf(&text, "x%d: &a%d\n  <<: [", i, i);
        for (int k = 0; k < 20; k++) {
            buf_addf(&text, "%s*a%d", k ? "," : "", i - 1);
        }
        buf_addz(&text, "]\n");
    }
    buf_addz(&text, "redis: *a9\n");
    struct trial t = {.file = ".outpost.yaml", .text = buf_z(&text)};
    struct outcome o;
    try_config(&t, &o);
    assert_int_equal(o.read, EC_INVALID);
    assert_non_null(strstr(buf_z(&o.report.error), "more than 20000 keys"));
    outcome_fini(&o);
}

static void blank_topics_are_given(void **state)
{
    (void)state;
    struct outcome o;
    try_config(&(struct trial){.env = {"TOPICS= "}}, &o);
    assert_true(o.c->topics_given);
    assert_int_equal(o.c->topics.n, 0);
    outcome_fini(&o);
    try_config(&(struct trial){.env = {"TOPICS="}}, &o);
    assert_false(o.c->topics_given);
    outcome_fini(&o);
}

static void load_names_the_setting(void **state)
{
    (void)state;
    char first[] = "API_PORT=many";
    char *envp[] = {first, NULL};
    struct config *c = NULL;
    struct err err = {0};
    enter_folder();
    assert_int_equal(config_load(NULL, envp, &c, &err), EC_INVALID);
    leave_folder();
    assert_string_equal(err.text, "env: parse error on field \"APIPort\" of type \"int\": "
                                  "strconv.ParseInt: parsing \"many\": invalid syntax (API_PORT)");
    assert_null(c);
}

static void table_is_sound(void **state)
{
    (void)state;
    for (size_t i = 0; i < setting_count; i++) {
        bool alias;
        const struct setting *s = &settings[i];
        assert_ptr_equal(setting_by_yaml(str_z(s->yaml), &alias), s);
        assert_false(alias);
        assert_false(setting_is_section(str_z(s->yaml)));
        assert_true(s->at < sizeof(struct config));
        assert_true(!(s->flags & SET_USED) || s->help[0]);
        assert_true(!(s->flags & SET_OWN) || (s->flags & SET_USED));
        for (size_t k = 0; k < i; k++) {
            assert_true(settings[k].at != s->at);
        }
    }
}

int read_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_sound),
        cmocka_unit_test(values),
        cmocka_unit_test(refusals),
        cmocka_unit_test(unknown_keys_are_told),
        cmocka_unit_test(big_files_are_refused),
        cmocka_unit_test(expansion_is_bounded),
        cmocka_unit_test(merges_are_bounded),
        cmocka_unit_test(load_names_the_setting),
        cmocka_unit_test(blank_topics_are_given),
    };
    return cmocka_run_group_tests_name("config read", tests, NULL, NULL);
}
