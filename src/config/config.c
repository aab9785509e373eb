/* Where settings come from: defaults, one file, the environment; then the checks of the whole.
 * SPDX-License-Identifier: Apache-2.0 */
#include "config/config.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "config/config_priv.h"
#include "util/buf.h"

#define FILE_MOST (4u * 1024 * 1024)

static const char *const places[] = {
    ".env",          ".outrider.yaml",           ".outpost.yaml",         "config/outpost.yaml",          "config/outpost/config.yaml",
    "config/outpost/.env", "/config/outpost.yaml", "/config/outpost/config.yaml", "/config/outpost/.env",
};

static const char *env_get(char *const *environ, const char *name)
{
    size_t n = strlen(name);
    for (; environ && *environ; environ++) {
        if (strncmp(*environ, name, n) == 0 && (*environ)[n] == '=') {
            return *environ + n + 1;
        }
    }
    return NULL;
}

/* KEY=value lines: comments, `export`, quotes; $NAME from keys defined earlier in the file is left as written. */
enum ec config_read_dotenv(struct config *c, struct str text, struct err *err)
{
    struct str line;
    while (text.n && str_split(&text, '\n', &line)) {
        line = str_trim(line);
        if (line.n == 0 || line.p[0] == '#') {
            continue;
        }
        if (str_starts(line, STR("export "))) {
            line = str_trim(str_sub(line, 7, line.n));
        }
        size_t eq = 0;
        while (eq < line.n && line.p[eq] != '=' && line.p[eq] != ':') {
            eq++;
        }
        if (eq == line.n) {
            return err_set(err, EC_INVALID, "error loading .env file: unexpected character \"\\n\" in variable name near \"%.*s\"",
                           STR_ARG(str_sub(line, 0, 20)));
        }
        struct str name = str_trim(str_sub(line, 0, eq)), value = str_trim(str_sub(line, eq + 1, line.n));
        if (value.n >= 2 && (value.p[0] == '"' || value.p[0] == '\'') && value.p[value.n - 1] == value.p[0]) {
            value = str_sub(value, 1, value.n - 2);
        } else {
            size_t hash;
            if (str_find(value, STR(" #"), &hash)) {
                value = str_trim(str_sub(value, 0, hash));
            }
        }
        const struct setting *s = setting_by_env(name);
        if (s && value.n) {
            enum ec ec = setting_parse(c, s, value, err);
            if (ec) {
                return ec;
            }
            c->sources[s - settings] = "file";
        }
    }
    return EC_OK;
}

static enum ec read_file(struct config *c, const char *path, struct err *err)
{
    FILE *f = fopen(path, "re");
    if (!f) {
        return err_set(err, EC_INVALID, "error reading config file: open %s: %s", path, errno == ENOENT ? "no such file or directory" : strerror(errno));
    }
    char *text = arena_alloc(&c->arena, FILE_MOST);
    size_t n = fread(text, 1, FILE_MOST, f);
    bool failed = ferror(f);
    fclose(f);
    if (failed) {
        return err_set(err, EC_INVALID, "error reading config file: read %s: %s", path, strerror(EISDIR));
    }
    if (n == FILE_MOST) {
        return err_set(err, EC_INVALID, "error reading config file: %s is larger than 4 MiB", path);
    }
    if (n == 0) {
        return EC_OK;
    }
    c->file = arena_copy(&c->arena, str_z(path));
    struct str name = str_z(path);
    bool dotenv = name.n >= 4 && str_eq_ci(str_sub(name, name.n - 4, 4), STR(".env"));
    return (dotenv ? config_read_dotenv : config_read_yaml)(c, (struct str){text, n}, err);
}

static enum ec find_file(const char *flag, char *const *environ, const char **out, struct err *err)
{
    const char *env = env_get(environ, "CONFIG");
    *out = NULL;
    if (env && *env && flag && *flag && strcmp(env, flag)) {
        return err_set(err, EC_INVALID, "conflicting config paths: flag=%s env=%s", flag, env);
    }
    if ((flag && *flag) || (env && *env)) {
        *out = flag && *flag ? flag : env;
        return EC_OK;
    }
    for (size_t i = 0; i < ARRAY_LEN(places) && !*out; i++) {
        struct stat st;
        if (stat(places[i], &st) == 0) {
            *out = places[i];
        }
    }
    return EC_OK;
}

static enum ec read_environment(struct config *c, char *const *environ, struct err *err)
{
    for (size_t i = 0; i < setting_count; i++) {
        const char *v = env_get(environ, settings[i].env);
        if (!v || (!*v && settings[i].type != SET_OPT)) {
            continue;
        }
        enum ec ec = setting_parse(c, &settings[i], str_z(v), err);
        if (ec) {
            return ec;
        }
        c->sources[i] = "environment";
    }
    return EC_OK;
}

static bool one_of(struct str v, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq_ci(v, str_z(words[i]))) {
            return true;
        }
    }
    return false;
}

static enum ec check(struct config *c, struct err *err)
{
    static const char *const levels[] = {"", "debug", "info", "warn", "warning", "error", "dpanic", "panic", "fatal"};
    static const char *const ids[] = {"", "uuidv4", "uuidv7", "nanoid"};
    if (c->service.n && !str_eqz(c->service, "all")) {
        return err_set(err, EC_INVALID, "SERVICE=%.*s needs a broker and a database; with the embedded stores one process does everything (SERVICE=all)", STR_ARG(c->service));
    }
    if (!one_of(c->log_level, levels, ARRAY_LEN(levels))) {
        return err_set(err, EC_INVALID, "unrecognized level: \"%.*s\"", STR_ARG(c->log_level));
    }
    if (!one_of(c->idgen_type, ids, ARRAY_LEN(ids))) {
        return err_set(err, EC_INVALID, "failed to configure ID generator: invalid id type: %.*s (must be one of: uuidv4, uuidv7, nanoid)", STR_ARG(c->idgen_type));
    }
    if (!str_eqz(c->api_auth, "key") && !str_eqz(c->api_auth, "none")) {
        return err_set(err, EC_INVALID, "API_AUTH must be key or none");
    }
    if (c->deployment_id.n > 64) {
        return err_set(err, EC_INVALID, "DEPLOYMENT_ID must have at most 64 characters");
    }
    for (size_t i = 0; i < c->retry_schedule.n; i++) {
        if (c->retry_schedule.v[i] < 1) {
            return err_set(err, EC_INVALID, "config validation error: every entry of RETRY_SCHEDULE must be at least 1");
        }
    }
    if (c->retry_schedule.n == 0 && c->retry_interval_s < 1) {
        return err_set(err, EC_INVALID, "config validation error: RETRY_INTERVAL_SECONDS must be at least 1");
    }
    int64_t count;
    if (c->alert_count.is_set && c->alert_count.text.n && (!str_to_i64(str_trim(c->alert_count.text), &count) || count < 1)) {
        return err_set(err, EC_INVALID, "config validation error: ALERT_CONSECUTIVE_FAILURE_COUNT must be an integer of at least 1, or empty");
    }
    if (c->delivery_concurrency < 1 || c->delivery_slow_max < 1 || c->delivery_per_destination < 1 || c->backlog_max < 1) {
        return err_set(err, EC_INVALID, "DELIVERY_MAX_CONCURRENCY, DELIVERY_SLOW_MAX, DELIVERY_PER_DESTINATION and BACKLOG_MAX must be at least 1");
    }
    if (c->api_port < 0 || c->api_port > 65535) {
        return err_set(err, EC_INVALID, "API_PORT must be a port number");
    }
    return EC_OK;
}

static void derive(struct config *c)
{
    c->topics_given = strcmp(c->sources[setting_by_env(STR("TOPICS")) - settings], "default") != 0;
    if (c->retry_schedule.n) {
        c->retry_limit = (int64_t)c->retry_schedule.n;
    }
    c->delivery_timeout_s = c->delivery_timeout_s > 0 ? c->delivery_timeout_s : 5;
    c->max_destinations = c->max_destinations > 0 ? c->max_destinations : 20;
    c->log_batch_size = c->log_batch_size > 0 ? MIN(c->log_batch_size, (int64_t)10000) : 1000;
    if (c->dev_mode && !c->egress_allow.n) {
        c->egress_allow = STR("127.0.0.0/8,::1/128");
    }
}

enum ec config_load(const char *path, char *const *environ, struct config **out, struct err *err)
{
    struct config *c = xcalloc(1, sizeof(*c));
    arena_init(&c->arena);
    c->sources = ARENA_ARRAY(&c->arena, const char *, setting_count);
    enum ec ec = EC_OK;
    for (size_t i = 0; i < setting_count; i++) {
        c->sources[i] = "default";
        if (settings[i].type != SET_OPT && settings[i].type != SET_SECRET && setting_parse(c, &settings[i], str_z(settings[i].default_value), err)) {
            UNREACHABLE("a default that does not parse");
        }
    }
    const char *file;
    ec = find_file(path, environ, &file, err);
    if (!ec && file) {
        ec = read_file(c, file, err);
    }
    ec = ec ? ec : read_environment(c, environ, err);
    ec = ec ? ec : check(c, err);
    if (ec) {
        config_free(c);
        return ec;
    }
    derive(c);
    *out = c;
    return EC_OK;
}

void config_free(struct config *c)
{
    if (c) {
        secret_fini(&c->api_key);
        secret_fini(&c->api_jwt_secret);
        secret_fini(&c->aes_secret);
        arena_fini(&c->arena);
        free(c);
    }
}

void config_print(const struct config *c, FILE *to)
{
    fprintf(to, "# config file: %.*s\n", STR_ARG(c->file.n ? c->file : STR("none (using defaults and environment variables)")));
    for (size_t i = 0; i < setting_count; i++) {
        CLEANUP(buf_fini) struct buf b;
        buf_init(&b, FILE_MOST);
        setting_format(c, &settings[i], &b);
        fprintf(to, "%-54s %-28s # %s\n", settings[i].env, buf_z(&b), c->sources[i]);
    }
    for (size_t i = 0; i < c->unknown.n; i++) {
        fprintf(to, "# unknown key in the file: %.*s\n", STR_ARG(c->unknown.v[i]));
    }
}
