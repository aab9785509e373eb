/* The .env file: KEY=value, quotes, comments, $NAME from keys further up (spec operations.md 2.4).
 * Only splits and decodes; what the names mean is env.c's. Texts of errors never hold a value: it
 * may be a secret. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "config/config_priv.h"

struct scan {
    struct str rest;
    struct dotenv *out;
    struct buf *reason;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

static char peek(const struct scan *s)
{
    return s->rest.n ? s->rest.p[0] : '\0';
}

static void skip(struct scan *s, size_t n)
{
    s->rest = str_sub(s->rest, n, s->rest.n);
}

static void skip_blanks(struct scan *s)
{
    while (s->rest.n && is_blank(s->rest.p[0])) {
        skip(s, 1);
    }
}

static size_t line_length(struct str s)
{
    const char *end = s.n ? memchr(s.p, '\n', s.n) : NULL;
    return end ? (size_t)(end - s.p) : s.n;
}

/* To the next statement; false at the end of the file. */
static bool to_statement(struct scan *s)
{
    for (;;) {
        while (s->rest.n && (is_blank(s->rest.p[0]) || s->rest.p[0] == '\n')) {
            skip(s, 1);
        }
        if (!s->rest.n) {
            return false;
        }
        if (s->rest.p[0] != '#') {
            return true;
        }
        skip(s, line_length(s->rest));
    }
}

static enum ec bad_name(struct scan *s, struct str line, size_t at)
{
    size_t shown = 0;
    while (shown < line.n && line.p[shown] != '=' && line.p[shown] != ':' && shown < 60) {
        shown++; /* what follows may be a secret */
    }
    buf_addz(s->reason, "unexpected character ");
    quote_add(s->reason, str_sub(line, at, 1));
    buf_addz(s->reason, " in variable name near ");
    quote_add(s->reason, str_sub(line, 0, MIN(line.n, shown + 1)));
    return EC_INVALID;
}

static enum ec name_of(struct scan *s, struct str *out)
{
    if (str_starts(s->rest, STR("export")) && s->rest.n > 6 && is_blank(s->rest.p[6])) {
        skip(s, 6);
        skip_blanks(s);
    }
    struct str line = str_sub(s->rest, 0, line_length(s->rest) + 1); /* with its end */
    for (size_t i = 0; i < line.n; i++) {
        char c = line.p[i];
        if (c == '=' || c == ':') {
            *out = str_trim(str_sub(line, 0, i));
            skip(s, i + 1);
            skip_blanks(s);
            return EC_OK;
        }
        if (!is_word(c) && !is_blank(c)) {
            return bad_name(s, line, i);
        }
    }
    buf_addz(s->reason, "no value for variable name near ");
    quote_add(s->reason, str_sub(line, 0, 60));
    return EC_INVALID;
}

/* $NAME or ${NAME} at text[*at]: adds the value of a key above; a lone $ stays. */
static void expand(const struct scan *s, struct str text, size_t *at, struct buf *b)
{
    size_t i = *at + 1;
    bool brace = i < text.n && text.p[i] == '{';
    size_t from = i + brace, to = from;
    while (to < text.n && is_word(text.p[to]) && text.p[to] != '.') {
        to++;
    }
    if (to == from || (brace && (to == text.n || text.p[to] != '}'))) {
        buf_addc(b, '$');
        *at += 1;
        return;
    }
    char name[128];
    if (to - from < sizeof(name)) {
        memcpy(name, text.p + from, to - from);
        name[to - from] = '\0';
        const char *value = dotenv_get(s->out, name);
        buf_addz(b, value ? value : "");
    }
    *at = to + brace;
}

static void add_expanded(const struct scan *s, struct str text, bool escapes, struct buf *b)
{
    for (size_t i = 0; i < text.n;) {
        char c = text.p[i];
        if (c == '\\' && i + 1 < text.n && (escapes || text.p[i + 1] == '$')) {
            char e = text.p[i + 1];
            buf_addc(b, e == 'n' && escapes ? '\n' : e == 'r' && escapes ? '\r' : e);
            i += 2;
        } else if (c == '$') {
            expand(s, text, &i, b);
        } else {
            buf_addc(b, c);
            i++;
        }
    }
}

static enum ec quoted(struct scan *s, struct str name, struct buf *b)
{
    char quote = s->rest.p[0];
    size_t end = 1;
    while (end < s->rest.n && s->rest.p[end] != quote) {
        end += s->rest.p[end] == '\\' && quote == '"' && end + 1 < s->rest.n ? 2 : 1;
    }
    if (end >= s->rest.n) {
        buf_addz(s->reason, "unterminated quoted value of ");
        quote_add(s->reason, name);
        return EC_INVALID;
    }
    struct str inner = str_sub(s->rest, 1, end - 1);
    if (quote == '"') {
        add_expanded(s, inner, true, b);
    } else {
        buf_adds(b, inner);
    }
    skip(s, end + 1);
    return EC_OK;
}

static void unquoted(struct scan *s, struct buf *b)
{
    struct str line = str_sub(s->rest, 0, line_length(s->rest));
    size_t end = line.n;
    for (size_t i = 1; i < line.n; i++) {
        if (line.p[i] == '#' && is_blank(line.p[i - 1])) {
            end = i;
            break;
        }
    }
    add_expanded(s, str_trim(str_sub(line, 0, end)), false, b);
    skip(s, line.n);
}

static enum ec keep(struct scan *s, struct str name, struct buf *value)
{
    struct dotenv *d = s->out;
    d->bytes += name.n + value->n;
    if (value->over || d->bytes > DOTENV_MOST || d->n == DOTENV_KEYS_MOST) {
        buf_addf(s->reason, "more than %u bytes of values or %d names", DOTENV_MOST,
                 DOTENV_KEYS_MOST);
        return EC_LIMIT;
    }
    if (d->n == d->cap) {
        d->cap = d->cap ? d->cap * 2 : 32;
        d->v = xrealloc(d->v, d->cap * sizeof(*d->v));
    }
    struct dotenv_var *v = &d->v[d->n++];
    v->key = xmalloc(name.n + 1);
    memcpy(v->key, name.p, name.n);
    v->key[name.n] = '\0';
    v->value_n = value->n;
    v->value = xstrdup(buf_z(value));
    return EC_OK;
}

static enum ec statement(struct scan *s)
{
    struct str name;
    enum ec ec = name_of(s, &name);
    if (ec) {
        return ec;
    }
    struct buf value;
    buf_init(&value, DOTENV_MOST);
    if (peek(s) == '"' || peek(s) == '\'') {
        ec = quoted(s, name, &value);
    } else {
        unquoted(s, &value);
    }
    ec = ec ? ec : keep(s, name, &value);
    if (value.p) {
        explicit_bzero(value.p, value.n);
    }
    buf_fini(&value);
    return ec;
}

enum ec dotenv_parse(struct str text, struct dotenv *out, struct buf *reason)
{
    *out = (struct dotenv){0};
    struct scan s = {text, out, reason};
    if (text.n && memchr(text.p, '\0', text.n)) {
        buf_addz(reason, "the file holds a NUL byte");
        return EC_INVALID;
    }
    while (to_statement(&s)) {
        enum ec ec = statement(&s);
        if (ec) {
            return ec;
        }
    }
    return EC_OK;
}

void dotenv_fini(struct dotenv *d)
{
    for (size_t i = 0; i < d->n; i++) {
        explicit_bzero(d->v[i].value, d->v[i].value_n);
        free(d->v[i].value);
        free(d->v[i].key);
    }
    free(d->v);
    *d = (struct dotenv){0};
}

const char *dotenv_get(const struct dotenv *d, const char *key)
{
    for (size_t i = d->n; i > 0; i--) {
        if (strcmp(d->v[i - 1].key, key) == 0) {
            return d->v[i - 1].value;
        }
    }
    return NULL;
}
