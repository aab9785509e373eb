/* Where settings come from: defaults, then one file, then the environment (spec operations.md 2.1).
 * The check is check.c's. SPDX-License-Identifier: Apache-2.0 */
#include "config/config.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/config_priv.h"
#include "util/map.h"

/* Looked for in this order when no path is given: Outpost's, and then our own name. */
static const char *const places[] = {
    ".env",
    ".outpost.yaml",
    "config/outpost.yaml",
    "config/outpost/config.yaml",
    "config/outpost/.env",
    "/config/outpost.yaml",
    "/config/outpost/config.yaml",
    "/config/outpost/.env",
    ".outrider.yaml",
};

void config_report_init(struct config_report *r)
{
    buf_init(&r->error, 16 * 1024);
    buf_init(&r->hint, 4 * 1024);
}

void config_report_fini(struct config_report *r)
{
    buf_fini(&r->error);
    buf_fini(&r->hint);
}

struct config *config_defaults(void)
{
    struct config *c = xcalloc(1, sizeof(*c));
    arena_init(&c->arena);
    c->sources = ARENA_ARRAY(&c->arena, const char *, setting_count);
    for (size_t i = 0; i < setting_count; i++) {
        CLEANUP(buf_fini) struct buf reason;
        buf_init(&reason, 256);
        c->sources[i] = "default";
        if (settings[i].type != SET_OPT &&
            value_parse(c, &settings[i], str_z(settings[i].default_value), &reason)) {
            UNREACHABLE("a default that does not parse");
        }
    }
    c->file = STR("");
    return c;
}

static const char *from_environ(void *ctx, const char *name)
{
    const char *entry = map_get(ctx, str_z(name));
    return entry ? strchr(entry, '=') + 1 : NULL;
}

/* name -> "NAME=value"; the first of two equal names counts, as with getenv. */
static void index_environ(char *const *envp, struct map *out)
{
    map_init(out);
    for (; envp && *envp; envp++) {
        const char *eq = strchr(*envp, '=');
        struct str name = {*envp, eq ? (size_t)(eq - *envp) : 0};
        if (name.n && !map_get(out, name)) {
            map_put(out, name, *envp);
        }
    }
}

static enum ec find_file(const char *flag, const char *env, const char **out,
                         struct config_report *report)
{
    bool has_flag = flag && *flag, has_env = env && *env;
    *out = has_flag ? flag : has_env ? env : NULL;
    if (has_flag && has_env && strcmp(env, flag) != 0) {
        buf_addf(&report->error, "conflicting config paths: flag=%s env=%s", flag, env);
        buf_addz(&report->hint, "CONFIG");
        return EC_INVALID;
    }
    for (size_t i = 0; i < ARRAY_LEN(places) && !*out; i++) {
        struct stat st;
        if (stat(places[i], &st) == 0) {
            *out = places[i];
        }
    }
    return EC_OK;
}

/* In the form of the messages that operators search for: lower case at the start. */
static enum ec cannot(struct config_report *report, const char *verb, const char *path, int e)
{
    const char *why = strerror(e);
    buf_addf(&report->error, "error reading config file: %s %s: %c%s", verb, path,
             tolower((unsigned char)why[0]), why + 1);
    return EC_INVALID;
}

static enum ec slurp(const char *path, struct buf *out, struct config_report *report)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return cannot(report, "open", path, errno);
    }
    enum ec ec = EC_OK;
    for (;;) {
        char *room = buf_space(out, 16 * 1024);
        if (!room) {
            buf_addf(&report->error, "error reading config file: %s is larger than %u bytes", path,
                     FILE_MOST);
            ec = EC_LIMIT;
            break;
        }
        ssize_t n = read(fd, room, 16 * 1024);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            ec = n ? cannot(report, "read", path, errno) : EC_OK;
            break;
        }
        out->n += (size_t)n;
    }
    close(fd);
    return ec;
}

static enum ec read_file(struct config *c, const char *path, struct config_report *report)
{
    struct buf text;
    buf_init(&text, FILE_MOST + 16 * 1024);
    enum ec ec = slurp(path, &text, report);
    if (!ec && text.n) {
        struct str name = str_z(path);
        bool dotenv = name.n >= 4 && str_eq_ci(str_sub(name, name.n - 4, 4), STR(".env"));
        c->file = arena_copy(&c->arena, name);
        ec = (dotenv ? dotenv_apply : yaml_apply)(c, buf_str(&text), report);
    }
    if (text.p) {
        explicit_bzero(text.p, text.n);
    }
    buf_fini(&text);
    return ec;
}

enum ec config_read(const struct config_input *in, struct config **out,
                    struct config_report *report)
{
    struct map names;
    index_environ(in->envp, &names);
    struct config *c = config_defaults();
    const char *file;
    enum ec ec = find_file(in->path, from_environ(&names, "CONFIG"), &file, report);
    if (!ec && file) {
        ec = read_file(c, file, report);
    }
    if (!ec) {
        struct env_source from = {from_environ, &names, "environment", "", true};
        ec = env_apply(c, &from, report);
    }
    map_fini(&names);
    if (ec) {
        config_free(c);
        return EC_INVALID;
    }
    config_resolve(c);
    *out = c;
    return EC_OK;
}

static void one_line(struct buf *b)
{
    for (size_t i = 0; i < b->n; i++) {
        b->p[i] = b->p[i] == '\n' ? ' ' : b->p[i];
    }
}

enum ec config_load(const char *path, char *const *envp, struct config **out, struct err *err)
{
    struct config_input in = {path, NULL, envp};
    CLEANUP(config_report_fini) struct config_report report;
    config_report_init(&report);
    struct config *c = NULL;
    enum ec ec = config_read(&in, &c, &report);
    ec = ec ? ec : config_check(c, &in, &report);
    if (ec) {
        config_free(c);
        one_line(&report.error);
        return report.hint.n
                   ? err_set(err, ec, "%s (%s)", buf_z(&report.error), buf_z(&report.hint))
                   : err_set(err, ec, "%s", buf_z(&report.error));
    }
    *out = c;
    return EC_OK;
}

void config_free(struct config *c)
{
    if (!c) {
        return;
    }
    for (size_t i = 0; i < setting_count; i++) {
        if (settings[i].type == SET_SECRET) {
            secret_fini((struct secret *)((char *)c + settings[i].at));
        }
    }
    arena_fini(&c->arena);
    free(c);
}
