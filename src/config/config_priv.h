/* The table's shape, shared by settings.c, the readers, the check and the printer. Other rooms see
 * config.h only. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_CONFIG_CONFIG_PRIV_H
#define OUTRIDER_CONFIG_CONFIG_PRIV_H

#include "config/config.h"

enum setting_type {
    SET_TEXT,
    SET_SECRET, /* struct secret */
    SET_OPT,    /* three states */
    SET_CSV,    /* one comma-separated text; YAML may give a list */
    SET_INT,    /* from here on a text can be wrong */
    SET_BOOL,
    SET_LIST, /* texts: never wrong in the environment, must be a list in YAML */
    SET_INTS,
    SET_SIZE,    /* bytes: 4096, 16MiB */
    SET_SECONDS, /* 90, 90s, 15m, 1h, 30d */
    SET_SHARE,   /* decimal */
};
enum {
    SET_USED = 1,   /* a part of this version reads it */
    SET_OWN = 2,    /* not one of Outpost's */
    SET_EMPTY = 4,  /* present and empty in the environment switches it off */
    SET_MASKED = 8, /* a text that may hold a password */
};

struct setting {
    const char *yaml; /* dotted path; unique */
    const char *env;  /* rows may share a name: one text then sets them all */
    enum setting_type type;
    unsigned flags;
    size_t at;                 /* offset in struct config */
    const char *default_value; /* as the environment would give it; "" = empty */
    const char *help;
    const char *word;    /* the name in Outpost's parse errors; NULL: env */
    int64_t least, most; /* beyond: our own are refused, Outpost's moved to the bound with a
                            warning; both 0: unbounded */
    int64_t instead;     /* not 0: stands for a value below 1 */
    const char *yaml_alias, *env_alias; /* also accepted, with less weight; NULL: none */
};
extern const struct setting settings[];
extern const size_t setting_count;

/* Row whose path or (alias) second path it is; NULL: none. */
const struct setting *setting_by_yaml(struct str path, bool *out_alias);
const struct setting *setting_by_env(struct str name);
bool setting_is_section(struct str path);                             /* some row lies below */
bool setting_is_set(const struct config *c, const struct setting *s); /* by name, not by default */
bool setting_named(const struct config *c,
                   const char *yaml); /* the same by path; the row must exist */

/* -- value.c: texts to fields and back */
/* Parses a text of the environment's form. EC_INVALID: reason holds words without the value of a
 * secret. */
enum ec value_parse(struct config *c, const struct setting *s, struct str text,
                    struct buf *reason) MUST_CHECK;
const char *value_type_name(const struct setting *s); /* "int", "[]string", ... */
/* Into b as `config list` shows it: lists as [a b], secrets masked. */
void value_format(const struct config *c, const struct setting *s, struct buf *b);
void quote_add(struct buf *b, struct str s); /* as Go's %q, cut at 100 bytes */
void list_push_text(struct config *c, struct config_list *l, struct str text); /* text is copied */
void config_warn(struct config *c, const char *fmt, ...) PRINTF(2, 3);

/* -- the readers; report as in config.h */
struct env_source {
    const char *(*get)(void *ctx, const char *name); /* NULL: absent */
    void *ctx;
    const char *name;   /* for config->sources */
    const char *prefix; /* in front of parse errors */
    bool process; /* the process environment: present-and-empty counts where the table says so */
};
enum ec env_apply(struct config *c, const struct env_source *from,
                  struct config_report *report) MUST_CHECK;
enum ec yaml_apply(struct config *c, struct str text, struct config_report *report) MUST_CHECK;
enum ec dotenv_apply(struct config *c, struct str text, struct config_report *report) MUST_CHECK;
struct config *config_defaults(void);
#define FILE_MOST (1024u * 1024)

/* -- dotenv.c: KEY=value lines, the later of two equal keys wins */
#define DOTENV_MOST (1024u * 1024) /* bytes of all values together */
#define DOTENV_KEYS_MOST 1000
struct dotenv {
    struct dotenv_var {
        char *key, *value;
        size_t value_n;
    } * v;
    size_t n, cap, bytes;
};
enum ec dotenv_parse(struct str text, struct dotenv *out, struct buf *reason) MUST_CHECK;
void dotenv_fini(struct dotenv *d);
const char *dotenv_get(const struct dotenv *d, const char *key);

/* -- check.c and its parts */
enum ec config_refuse(struct config_report *r, const char *hint, const char *fmt, ...) PRINTF(3, 4);
void config_resolve(
    struct config *c); /* derived, as far as it can be told before the check; changes no setting */
void resolve_backends(struct config *c);
void resolve_webhook(struct config *c);
enum ec check_backends(struct config *c, struct config_report *r)
    MUST_CHECK; /* store, log, queue: chosen, complete */
enum ec check_webhook(struct config *c, struct config_report *r)
    MUST_CHECK;                        /* header names, signature settings, proxy */
const char *url_fault(struct str url); /* why it can't be a URL, or NULL */

#endif
