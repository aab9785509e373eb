/* The YAML file (JSON is YAML too): a walk through libyaml's document along the paths of the table.
 * Scalars are typed as Outpost's users know it (spec operations.md 2.3): a quoted number is no
 * number, a list setting needs a list. Unknown keys are noted, never descended into, so aliases
 * can't blow up. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <yaml.h>

#include "config/config_priv.h"
#include "util/map.h"

#define PATH_MOST 256
#define PAIRS_MOST 20000 /* keys looked at, merged ones again each time */
#define ERRORS_MOST 20

struct walk {
    struct config *c;
    yaml_document_t *doc;
    struct config_report *report;
    unsigned errors, pairs;
};

enum kind { K_NULL, K_BOOL, K_INT, K_FLOAT, K_STR };
struct scalar {
    enum kind kind;
    bool b;
    int64_t i;
    double f;
    struct str text;
};

static void complain(struct walk *w, size_t line, const char *fmt, ...) PRINTF(3, 4);
static void complain(struct walk *w, size_t line, const char *fmt, ...)
{
    if (w->errors++ >= ERRORS_MOST) {
        return;
    }
    char text[300];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (w->errors == 1) {
        buf_addz(&w->report->error, "error parsing yaml config: yaml: unmarshal errors:");
    }
    buf_addf(&w->report->error, "\n  line %zu: %s", line, text);
}

static size_t line_of(const yaml_node_t *n)
{
    return n->start_mark.line + 1;
}

static struct str text_of(const yaml_node_t *n)
{
    return (struct str){(const char *)n->data.scalar.value, n->data.scalar.length};
}

static bool one_of(struct str s, const char *const *words)
{
    while (*words && !str_eqz(s, *words)) {
        words++;
    }
    return *words != NULL;
}

/* Decimal, 0x, 0o, 0b and leading-zero octal, with _ between digits. */
static bool as_int(struct str s, int64_t *out)
{
    char z[72];
    size_t n = 0;
    bool minus = s.n && s.p[0] == '-';
    for (size_t i = s.n && (s.p[0] == '-' || s.p[0] == '+'); i < s.n; i++) {
        if (s.p[i] == '_') {
            continue;
        }
        if (n == sizeof(z) - 1) {
            return false;
        }
        z[n++] = s.p[i];
    }
    z[n] = '\0';
    if (!n || z[0] < '0' || z[0] > '9') {
        return false;
    }
    int base = 10;
    const char *digits = z;
    if (z[0] == '0' && n > 1) {
        char c = z[1] | 0x20;
        base = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 8;
        digits += c == 'x' || c == 'o' || c == 'b' ? 2 : 1;
    }
    for (const char *d = digits; *d; d++) {
        int v = str_hex_value(*d);
        if (v < 0 || v >= base) {
            return false;
        }
    }
    errno = 0;
    long long v = strtoll(digits, NULL, base);
    *out = minus ? -v : v;
    return *digits && errno == 0;
}

static bool as_float(struct str s, double *out)
{
    char z[72];
    bool digit = false;
    for (size_t i = 0; i < s.n; i++) {
        if (!strchr("+-.0123456789eE", s.p[i]) || !s.p[i]) {
            return false;
        }
        digit |= s.p[i] >= '0' && s.p[i] <= '9';
    }
    if (!digit || s.n >= sizeof(z)) {
        return false;
    }
    memcpy(z, s.p, s.n);
    z[s.n] = '\0';
    char *end;
    *out = strtod(z, &end);
    return *end == '\0' && isfinite(*out);
}

static struct scalar resolve(const yaml_node_t *n)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const yes[] = {"true", "True", "TRUE", NULL}, *const no[] = {"false",
                                                                                    "False",
                                                                                    "FALSE", NULL};
    struct scalar s = {.kind = K_STR, .text = text_of(n)};
    if (n->data.scalar.style != YAML_PLAIN_SCALAR_STYLE) {
        return s;
    }
    if (one_of(s.text, nulls)) {
        s.kind = K_NULL;
    } else if (one_of(s.text, yes) || one_of(s.text, no)) {
        s.kind = K_BOOL;
        s.b = one_of(s.text, yes);
    } else if (as_int(s.text, &s.i)) {
        s.kind = K_INT;
    } else if (as_float(s.text, &s.f)) {
        s.kind = K_FLOAT;
    }
    return s;
}

static void wrong_type(struct walk *w, const yaml_node_t *n, const char *type)
{
    static const char *const tags[] = {"!!null", "!!bool", "!!int", "!!float", "!!str"};
    if (n->type != YAML_SCALAR_NODE) {
        complain(w, line_of(n), "cannot unmarshal %s into %s",
                 n->type == YAML_MAPPING_NODE ? "!!map" : "!!seq", type);
        return;
    }
    struct scalar s = resolve(n);
    bool cut = s.text.n > 10;
    complain(w, line_of(n), "cannot unmarshal %s `%.*s%s` into %s", tags[s.kind],
             STR_ARG(str_sub(s.text, 0, cut ? 7 : 10)), cut ? "..." : "", type);
}

static bool int_from(const struct scalar *s, int64_t *out)
{
    if (s->kind == K_FLOAT && fabs(s->f) < 9e18) {
        *out = (int64_t)s->f;
        return true;
    }
    *out = s->i;
    return s->kind == K_INT;
}

static bool bool_from(const struct scalar *s, bool *out)
{
    static const char *const yes[] = {"y", "Y", "yes", "on", NULL}, *const no[] = {"n", "N", "no",
                                                                                   "off", NULL};
    if (s->kind == K_STR && (one_of(s->text, yes) || one_of(s->text, no))) {
        *out = one_of(s->text, yes);
        return true;
    }
    *out = s->b;
    return s->kind == K_BOOL;
}

/* A value of one of our own types: its text, as in the environment. */
static void set_own(struct walk *w, const struct setting *s, const yaml_node_t *n, struct str text)
{
    CLEANUP(buf_fini) struct buf reason;
    buf_init(&reason, 400);
    if (value_parse(w->c, s, text, &reason)) {
        complain(w, line_of(n), "%s: %s", s->yaml, buf_z(&reason));
    }
}

static void set_scalar(struct walk *w, const struct setting *s, const yaml_node_t *n)
{
    struct scalar v = resolve(n);
    void *at = (char *)w->c + s->at;
    switch (s->type) {
    case SET_INT:
        if (!int_from(&v, at)) {
            wrong_type(w, n, "int");
        }
        break;
    case SET_BOOL:
        if (!bool_from(&v, at)) {
            wrong_type(w, n, "bool");
        }
        break;
    case SET_LIST:
    case SET_INTS:
        wrong_type(w, n, value_type_name(s));
        break;
    case SET_TEXT:
    case SET_SECRET:
    case SET_OPT:
    case SET_CSV:
    case SET_SIZE:
    case SET_SECONDS:
    case SET_SHARE:
        if (memchr(v.text.p, '\0', v.text.n)) {
            complain(w, line_of(n), "%s: a NUL byte in the value", s->yaml);
            return;
        }
        set_own(w, s, n, v.text);
        break;
    }
}

static yaml_node_t *item(struct walk *w, const yaml_node_t *seq, size_t i)
{
    return yaml_document_get_node(w->doc, seq->data.sequence.items.start[i]);
}

static void set_ints(struct walk *w, const struct setting *s, const yaml_node_t *n, size_t count)
{
    struct config_ints l = {ARENA_ARRAY(&w->c->arena, int64_t, count + 1), count};
    for (size_t i = 0; i < count; i++) {
        yaml_node_t *e = item(w, n, i);
        struct scalar v = {.kind = K_STR};
        if (e->type == YAML_SCALAR_NODE) {
            v = resolve(e);
        }
        if (v.kind != K_NULL && !int_from(&v, &l.v[i])) {
            wrong_type(w, e, "int");
        }
    }
    *(struct config_ints *)((char *)w->c + s->at) = l;
}

static void set_texts(struct walk *w, const struct setting *s, const yaml_node_t *n, size_t count)
{
    struct config_list l = {ARENA_ARRAY(&w->c->arena, struct str, count + 1), 0};
    for (size_t i = 0; i < count; i++) {
        yaml_node_t *e = item(w, n, i);
        if (e->type != YAML_SCALAR_NODE) {
            wrong_type(w, e, "string");
        } else if (resolve(e).kind != K_NULL && str_trim(text_of(e)).n) {
            l.v[l.n++] = arena_copy(&w->c->arena, str_trim(text_of(e)));
        }
    }
    *(struct config_list *)((char *)w->c + s->at) = l;
}

static void set_joined(struct walk *w, const struct setting *s, const yaml_node_t *n, size_t count)
{
    CLEANUP(buf_fini) struct buf all;
    buf_init(&all, FILE_MOST);
    for (size_t i = 0; i < count; i++) {
        yaml_node_t *e = item(w, n, i);
        if (e->type != YAML_SCALAR_NODE) {
            wrong_type(w, e, "string");
            return;
        }
        buf_addz(&all, all.n ? "," : "");
        buf_adds(&all, text_of(e));
    }
    if (all.over) {
        complain(w, line_of(n), "%s: the list is too long", s->yaml);
        return;
    }
    set_own(w, s, n, buf_str(&all));
}

static void set(struct walk *w, const struct setting *s, const yaml_node_t *n)
{
    if (n->type == YAML_SCALAR_NODE) {
        if (resolve(n).kind == K_NULL) {
            return; /* a bare key leaves the default */
        }
        set_scalar(w, s, n);
    } else if (n->type == YAML_SEQUENCE_NODE &&
               (s->type == SET_INTS || s->type == SET_LIST || s->type == SET_CSV)) {
        size_t count = (size_t)(n->data.sequence.items.top - n->data.sequence.items.start);
        if (count > PAIRS_MOST) {
            complain(w, line_of(n), "%s: more than %d elements", s->yaml, PAIRS_MOST);
            return;
        }
        (s->type == SET_INTS   ? set_ints
         : s->type == SET_LIST ? set_texts
                               : set_joined)(w, s, n, count);
    } else {
        wrong_type(w, n, value_type_name(s));
    }
    w->c->sources[s - settings] = "YAML file";
}

static void mapping(struct walk *w, const yaml_node_t *n, struct str path, unsigned depth);

static void pair(struct walk *w, struct str path, const yaml_node_t *value, unsigned depth)
{
    bool alias;
    const struct setting *s = setting_by_yaml(path, &alias);
    if (s) {
        if (!alias || !setting_is_set(w->c, s)) {
            set(w, s, value);
        }
    } else if (!setting_is_section(path)) {
        list_push_text(w->c, &w->c->unknown, path);
    } else if (value->type == YAML_MAPPING_NODE) {
        mapping(w, value, path, depth);
    } else if (value->type != YAML_SCALAR_NODE || resolve(value).kind != K_NULL) {
        wrong_type(w, value, "a section");
    }
}

/* `<<`: one mapping, or a list of them of which the first has most weight; explicit keys come later
 * and win. */
static void merge(struct walk *w, const yaml_node_t *from, struct str path, unsigned depth)
{
    if (from->type == YAML_MAPPING_NODE) {
        mapping(w, from, path, depth);
        return;
    }
    if (from->type != YAML_SEQUENCE_NODE) {
        complain(w, line_of(from), "map merge requires map or sequence of maps as the value");
        return;
    }
    size_t count = (size_t)(from->data.sequence.items.top - from->data.sequence.items.start);
    for (size_t i = count; i > 0 && w->pairs < PAIRS_MOST; i--) {
        yaml_node_t *e = item(w, from, i - 1);
        w->pairs++;
        if (e->type == YAML_MAPPING_NODE) {
            mapping(w, e, path, depth);
        }
    }
}

static bool is_merge(const yaml_node_t *key)
{
    return key->type == YAML_SCALAR_NODE && key->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           str_eqz(text_of(key), "<<");
}

/* Remembers the key's line; true when the key stood there before. */
static bool repeated(struct walk *w, struct map *seen, const yaml_node_t *key)
{
    void *before = map_put(seen, text_of(key), (void *)(uintptr_t)line_of(key));
    if (before) {
        complain(w, line_of(key), "mapping key %c%.*s%c already defined at line %zu", '"',
                 STR_ARG(str_sub(text_of(key), 0, 100)), '"', (size_t)(uintptr_t)before);
    }
    return before != NULL;
}

static void one_pair(struct walk *w, const yaml_node_pair_t *p, struct str path, struct map *seen,
                     unsigned depth)
{
    char joined[PATH_MOST];
    yaml_node_t *key = yaml_document_get_node(w->doc, p->key),
                *value = yaml_document_get_node(w->doc, p->value);
    if (key->type != YAML_SCALAR_NODE) {
        wrong_type(w, key, "string");
        return;
    }
    if (repeated(w, seen, key) || is_merge(key)) {
        return;
    }
    int n = snprintf(joined, sizeof(joined), "%.*s%s%.*s", STR_ARG(path), path.n ? "." : "",
                     STR_ARG(str_sub(text_of(key), 0, 100)));
    pair(w, (struct str){joined, MIN((size_t)n, sizeof(joined) - 1)}, value, depth + 1);
}

static void mapping(struct walk *w, const yaml_node_t *n, struct str path, unsigned depth)
{
    struct map seen;
    if (depth > 12) {
        complain(w, line_of(n), "nested too deep");
        return;
    }
    const yaml_node_pair_t *start = n->data.mapping.pairs.start, *top = n->data.mapping.pairs.top;
    for (const yaml_node_pair_t *p = start; p < top && w->pairs < PAIRS_MOST; p++) {
        if (is_merge(yaml_document_get_node(w->doc, p->key))) {
            merge(w, yaml_document_get_node(w->doc, p->value), path, depth + 1);
        }
    }
    map_init(&seen);
    for (const yaml_node_pair_t *p = start; p < top && w->pairs < PAIRS_MOST; p++) {
        w->pairs++;
        one_pair(w, p, path, &seen, depth);
    }
    map_fini(&seen);
}

/* libyaml counts lines from 0 and a scanner stops before it counts the line it fails in. */
static enum ec syntax(const yaml_parser_t *p, struct config_report *report)
{
    size_t line = p->context_mark.line ? p->context_mark.line : p->problem_mark.line;
    line += line && p->error == YAML_SCANNER_ERROR;
    buf_addz(&report->error, "error parsing yaml config: yaml: ");
    if (line) {
        buf_addf(&report->error, "line %zu: ", line);
    }
    buf_addz(&report->error, p->problem ? p->problem : "unknown problem parsing YAML content");
    return EC_INVALID;
}

static enum ec walk_document(struct config *c, yaml_document_t *doc, struct config_report *report)
{
    yaml_node_t *root = yaml_document_get_root_node(doc);
    struct walk w = {c, doc, report, 0, 0};
    if (!root || (root->type == YAML_SCALAR_NODE && resolve(root).kind == K_NULL)) {
        return EC_OK;
    }
    if (root->type == YAML_MAPPING_NODE) {
        mapping(&w, root, STR_NULL, 0);
    } else {
        wrong_type(&w, root, "settings");
    }
    if (w.pairs >= PAIRS_MOST) {
        complain(&w, line_of(root), "more than %d keys", PAIRS_MOST);
    }
    return w.errors ? EC_INVALID : EC_OK;
}

enum ec yaml_apply(struct config *c, struct str text, struct config_report *report)
{
    yaml_parser_t parser;
    yaml_document_t doc;
    if (!yaml_parser_initialize(&parser)) {
        buf_addz(&report->error, "error parsing yaml config: no memory");
        return EC_INTERNAL;
    }
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.p, text.n);
    enum ec ec;
    if (yaml_parser_load(&parser, &doc)) {
        ec = walk_document(c, &doc, report);
        yaml_document_delete(&doc);
    } else {
        ec = syntax(&parser, report);
    }
    yaml_parser_delete(&parser);
    return ec;
}
