/* Settings out of name-value pairs: the process environment, or what a .env file held. All wrong
 * values are collected into one message (spec operations.md 2.2).
 * SPDX-License-Identifier: Apache-2.0 */
#include "config/config_priv.h"

/* The text that counts for a row, or NULL: absent, or empty where empty means absent. */
static const char *text_for(const struct env_source *from, const struct setting *s)
{
    const char *v = from->get(from->ctx, s->env);
    if ((!v || !*v) && s->env_alias) {
        const char *alias = from->get(from->ctx, s->env_alias);
        v = alias && *alias ? alias : v;
    }
    if (v && !*v && !(from->process && (s->flags & SET_EMPTY))) {
        return NULL;
    }
    return v;
}

static void add_hint(struct config_report *report, const char *env)
{
    buf_addz(&report->hint, report->hint.n ? ", " : "");
    buf_addz(&report->hint, env);
}

enum ec env_apply(struct config *c, const struct env_source *from, struct config_report *report)
{
    bool failed = false;
    for (size_t i = 0; i < setting_count; i++) {
        const struct setting *s = &settings[i];
        const char *text = text_for(from, s);
        if (!text) {
            continue;
        }
        CLEANUP(buf_fini) struct buf reason;
        buf_init(&reason, 1024);
        if (!value_parse(c, s, str_z(text), &reason)) {
            c->sources[i] = from->name;
            continue;
        }
        if (!failed) {
            buf_addz(&report->error, from->prefix);
            buf_addz(&report->error, "env:");
        }
        buf_addf(&report->error, "%s parse error on field \"%s\" of type \"%s\": %s",
                 failed ? ";" : "", s->word ? s->word : s->env, value_type_name(s), buf_z(&reason));
        add_hint(report, s->env);
        failed = true;
    }
    return failed ? EC_INVALID : EC_OK;
}

static const char *dotenv_source(void *ctx, const char *name)
{
    return dotenv_get(ctx, name);
}

enum ec dotenv_apply(struct config *c, struct str text, struct config_report *report)
{
    struct dotenv vars;
    CLEANUP(buf_fini) struct buf reason;
    buf_init(&reason, 1024);
    enum ec ec = dotenv_parse(text, &vars, &reason);
    if (ec) {
        buf_addf(&report->error, "error loading .env file: %s", buf_z(&reason));
    } else {
        struct env_source from = {dotenv_source, &vars, ".env file",
                                  "error parsing .env file: ", false};
        ec = env_apply(c, &from, report);
    }
    dotenv_fini(&vars);
    return ec;
}
