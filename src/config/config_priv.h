/* The table's shape, shared by settings.c and the readers. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_CONFIG_CONFIG_PRIV_H
#define OUTRIDER_CONFIG_CONFIG_PRIV_H

#include "config/config.h"
#include "util/buf.h"

enum setting_type { SET_TEXT, SET_INT, SET_SIZE, SET_BOOL, SET_SHARE, SET_LIST, SET_INTS, SET_SECRET, SET_OPT };

struct setting {
    const char *env, *yaml;
    enum setting_type type;
    size_t at;                 /* offset in struct config */
    const char *default_value; /* "" = empty */
    const char *help;
};
extern const struct setting settings[];
extern const size_t setting_count;

/* Parses text into the setting's field. EC_INVALID with words. */
enum ec setting_parse(struct config *c, const struct setting *s, struct str text, struct err *err);
void setting_format(const struct config *c, const struct setting *s, struct buf *out); /* secrets masked */
const struct setting *setting_by_yaml(struct str path);
const struct setting *setting_by_env(struct str name);
/* Readers of the one file: each value goes through setting_parse, source "file". */
enum ec config_read_yaml(struct config *c, struct str text, struct err *err);
enum ec config_read_dotenv(struct config *c, struct str text, struct err *err);

#endif
