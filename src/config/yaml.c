/* The YAML file: a walk over libyaml's events with the path of keys; aliases and tags are not used.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <yaml.h>

#include "config/config_priv.h"
#include "util/buf.h"

#define DEPTH_MOST 8

struct walk {
    struct config *c;
    yaml_parser_t parser;
    struct err *err;
    struct str path[DEPTH_MOST]; /* keys so far */
    unsigned depth;
};

static struct str joined(struct walk *w)
{
    struct str all = STR("");
    for (unsigned i = 0; i < w->depth; i++) {
        all = i ? arena_printf(&w->c->arena, "%.*s.%.*s", STR_ARG(all), STR_ARG(w->path[i])) : w->path[i];
    }
    return all;
}

static enum ec syntax(struct walk *w)
{
    return err_set(w->err, EC_INVALID, "error parsing yaml config: yaml: line %zu: %s", w->parser.problem_mark.line + 1,
                   w->parser.problem ? w->parser.problem : "not understood");
}

static bool next(struct walk *w, yaml_event_t *e)
{
    return yaml_parser_parse(&w->parser, e) == 1;
}

static struct str scalar(const yaml_event_t *e)
{
    return (struct str){(const char *)e->data.scalar.value, e->data.scalar.length};
}

static bool is_null(const yaml_event_t *e)
{
    struct str s = scalar(e);
    return e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && (s.n == 0 || str_eqz(s, "~") || str_eqz(s, "null"));
}

static void note_unknown(struct walk *w)
{
    struct config_list *l = &w->c->unknown;
    struct str *v = ARENA_ARRAY(&w->c->arena, struct str, l->n + 1);
    if (l->n) {
        memcpy(v, l->v, l->n * sizeof(*v));
    }
    v[l->n++] = joined(w);
    l->v = v;
}

static enum ec set(struct walk *w, struct str text)
{
    const struct setting *s = setting_by_yaml(joined(w));
    if (!s) {
        note_unknown(w);
        return EC_OK;
    }
    struct err why = {0};
    if (setting_parse(w->c, s, text, &why)) {
        return err_set(w->err, EC_INVALID, "error parsing yaml config: %s: %s", s->yaml, why.text);
    }
    w->c->sources[s - settings] = "file";
    return EC_OK;
}

static enum ec value(struct walk *w, yaml_event_t *e);

static enum ec mapping(struct walk *w)
{
    yaml_event_t key, val;
    for (;;) {
        if (!next(w, &key)) {
            return syntax(w);
        }
        if (key.type == YAML_MAPPING_END_EVENT) {
            yaml_event_delete(&key);
            return EC_OK;
        }
        if (key.type != YAML_SCALAR_EVENT || w->depth == DEPTH_MOST) {
            yaml_event_delete(&key);
            return err_set(w->err, EC_INVALID, "error parsing yaml config: keys must be plain names");
        }
        w->path[w->depth++] = arena_copy(&w->c->arena, scalar(&key));
        yaml_event_delete(&key);
        if (!next(w, &val)) {
            return syntax(w);
        }
        enum ec ec = value(w, &val);
        yaml_event_delete(&val);
        w->depth--;
        if (ec) {
            return ec;
        }
    }
}

static enum ec sequence(struct walk *w)
{
    CLEANUP(buf_fini) struct buf text;
    buf_init(&text, 1024 * 1024);
    yaml_event_t e;
    for (bool first = true;; first = false) {
        if (!next(w, &e)) {
            return syntax(w);
        }
        bool end = e.type == YAML_SEQUENCE_END_EVENT, good = end || e.type == YAML_SCALAR_EVENT;
        if (good && !end) {
            buf_addz(&text, first ? "" : ",");
            buf_adds(&text, scalar(&e));
        }
        yaml_event_delete(&e);
        if (!good) {
            return err_set(w->err, EC_INVALID, "error parsing yaml config: %.*s must be a list of plain values", STR_ARG(joined(w)));
        }
        if (end) {
            return set(w, buf_str(&text));
        }
    }
}

static enum ec value(struct walk *w, yaml_event_t *e)
{
    switch (e->type) {
    case YAML_SCALAR_EVENT: {
        const struct setting *s = setting_by_yaml(joined(w));
        if (is_null(e)) {
            return EC_OK; /* a bare key leaves the default */
        }
        if (s && (s->type == SET_LIST || s->type == SET_INTS)) {
            return err_set(w->err, EC_INVALID, "error parsing yaml config: yaml: unmarshal errors:   line %zu: cannot unmarshal !!str `%.*s` into %s",
                           e->start_mark.line + 1, STR_ARG(str_sub(scalar(e), 0, 60)), s->type == SET_LIST ? "[]string" : "[]int");
        }
        return set(w, scalar(e));
    }
    case YAML_MAPPING_START_EVENT:
        return mapping(w);
    case YAML_SEQUENCE_START_EVENT:
        return sequence(w);
    default:
        return err_set(w->err, EC_INVALID, "error parsing yaml config: aliases are not used here");
    }
}

static enum ec document(struct walk *w)
{
    for (;;) {
        yaml_event_t e;
        if (!next(w, &e)) {
            return syntax(w);
        }
        yaml_event_type_t type = e.type;
        yaml_event_delete(&e);
        if (type == YAML_MAPPING_START_EVENT) {
            enum ec ec = mapping(w);
            if (ec) {
                return ec;
            }
        } else if (type == YAML_STREAM_END_EVENT) {
            return EC_OK;
        } else if (type == YAML_SCALAR_EVENT || type == YAML_SEQUENCE_START_EVENT || type == YAML_ALIAS_EVENT) {
            return err_set(w->err, EC_INVALID, "error parsing yaml config: the file must be a mapping of settings");
        }
    }
}

enum ec config_read_yaml(struct config *c, struct str text, struct err *err)
{
    struct walk w = {.c = c, .err = err};
    if (!yaml_parser_initialize(&w.parser)) {
        return err_set(err, EC_INTERNAL, "no memory for the YAML reader");
    }
    yaml_parser_set_input_string(&w.parser, (const unsigned char *)text.p, text.n);
    enum ec ec = document(&w);
    yaml_parser_delete(&w.parser);
    return ec;
}
