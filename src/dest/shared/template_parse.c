/* Text of a signing template to its tree: a lexer of actions and a parser by recursive descent,
 * nesting bounded. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "dest/shared/template_priv.h"

#define NESTING_MOST 32

enum token_kind {
    T_END,
    T_PIPE,
    T_OPEN,
    T_CLOSE,
    T_COMMA,
    T_DECLARE,
    T_ASSIGN,
    T_TEXT,
    T_INT,
    T_WORD,
    T_FIELD,
    T_DOT,
    T_VAR,
    T_BAD
};
struct token {
    enum token_kind kind;
    struct str text; /* without quotes, '.'; VAR: with its $ */
    int64_t number;
    bool spaced; /* white space stands before it */
};

struct parser {
    struct template *t;
    struct str src;
    size_t at;
    struct token tok;
    bool trim; /* "-}}": white space of the next text goes */
    unsigned depth;
    struct err *err;
    bool failed;
};

static void fail(struct parser *p, const char *what, struct str which)
{
    if (!p->failed) {
        p->failed = true;
        err_set(p->err, EC_INVALID, "%s%s%.*s%s", what, which.n ? " \"" : "", STR_ARG(which),
                which.n ? "\"" : "");
    }
}

/* ---- tokens ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static char peek(const struct parser *p, size_t ahead)
{
    return p->at + ahead < p->src.n ? p->src.p[p->at + ahead] : '\0';
}

static bool looking_at(const struct parser *p, const char *what)
{
    return str_starts(str_sub(p->src, p->at, p->src.n), str_z(what));
}

static struct str take_word(struct parser *p)
{
    size_t from = p->at;
    while (is_word(peek(p, 0))) {
        p->at++;
    }
    return str_sub(p->src, from, p->at - from);
}

static void take_raw(struct parser *p)
{
    size_t n;
    struct str rest = str_sub(p->src, p->at + 1, p->src.n);
    if (!str_find(rest, STR("`"), &n)) {
        fail(p, "unterminated raw quoted string", STR(""));
        return;
    }
    p->tok.kind = T_TEXT;
    p->tok.text = str_sub(rest, 0, n);
    p->at += n + 2;
}

static void take_quoted(struct parser *p)
{
    char *out = arena_alloc(&p->t->arena, p->src.n - p->at + 1);
    size_t n = 0;
    for (p->at++; peek(p, 0) != '"'; p->at++) {
        char c = peek(p, 0);
        if (c == '\0' || c == '\n') {
            fail(p, "unterminated quoted string", STR(""));
            return;
        }
        if (c == '\\') {
            static const char from[] = "nrt\\\"'", to[] = "\n\r\t\\\"'";
            char next = peek(p, 1);
            const char *known = next ? strchr(from, next) : NULL;
            if (!known) {
                fail(p, "escape not supported in", str_sub(p->src, p->at, 2));
                return;
            }
            c = to[known - from];
            p->at++;
        }
        out[n++] = c;
    }
    p->at++;
    p->tok.kind = T_TEXT;
    p->tok.text = (struct str){out, n};
}

static void take_number(struct parser *p)
{
    size_t from = p->at++;
    while (is_word(peek(p, 0)) || peek(p, 0) == '.') {
        p->at++;
    }
    p->tok.kind = T_INT;
    p->tok.text = str_sub(p->src, from, p->at - from);
    if (!str_to_i64(p->tok.text, &p->tok.number)) {
        fail(p, "number not supported:", p->tok.text);
    }
}

static bool take_end(struct parser *p)
{
    bool trims = p->tok.spaced && looking_at(p, "-}}");
    if (!trims && !looking_at(p, "}}")) {
        return false;
    }
    p->at += trims ? 3 : 2;
    p->trim = trims;
    p->tok.kind = T_END;
    return true;
}

static void take_sign(struct parser *p)
{
    static const struct {
        const char *text;
        enum token_kind kind;
    } signs[] = {{":=", T_DECLARE}, {"=", T_ASSIGN}, {"|", T_PIPE},
                 {"(", T_OPEN},     {")", T_CLOSE},  {",", T_COMMA}};
    for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
        if (looking_at(p, signs[i].text)) {
            p->tok.kind = signs[i].kind;
            p->at += strlen(signs[i].text);
            return;
        }
    }
    fail(p, "unexpected", str_sub(p->src, p->at, 1));
}

static void next(struct parser *p)
{
    p->tok = (struct token){.kind = T_BAD};
    while (is_space(peek(p, 0))) {
        p->at++;
        p->tok.spaced = true;
    }
    char c = peek(p, 0), after = peek(p, 1);
    if (p->failed || take_end(p)) {
        return;
    }
    if (p->at >= p->src.n) {
        fail(p, "unclosed action", STR(""));
    } else if (c == '"') {
        take_quoted(p);
    } else if (c == '`') {
        take_raw(p);
    } else if ((c >= '0' && c <= '9') || ((c == '-' || c == '+') && after >= '0' && after <= '9')) {
        take_number(p);
    } else if (c == '.' || c == '$') {
        size_t from = p->at++;
        struct str name = take_word(p);
        p->tok.kind = c == '$' ? T_VAR : name.n ? T_FIELD : T_DOT;
        p->tok.text = c == '$' ? str_sub(p->src, from, name.n + 1) : name;
    } else if (is_word(c)) {
        p->tok.kind = T_WORD;
        p->tok.text = take_word(p);
    } else {
        take_sign(p);
    }
}

/* ---- pipelines ---- */

static struct pipe *parse_pipe(struct parser *p, enum token_kind until);

static void word_operand(struct parser *p, struct operand *o, struct str word)
{
    if (str_eqz(word, "true") || str_eqz(word, "false")) {
        o->value = value_bool(str_eqz(word, "true"));
    } else if (!str_eqz(word, "nil")) {
        o->kind = O_FUNC;
        o->func = template_func(word);
        if (!o->func) {
            char text[80];
            snprintf(text, sizeof(text), "function \"%.*s\" not defined",
                     (int)MIN(word.n, (size_t)40), word.p);
            fail(p, text, STR(""));
        }
    }
}

static void take_fields(struct parser *p, struct operand *o)
{
    struct field_name **end = &o->fields;
    while (*end) {
        end = &(*end)->next;
    }
    while (!p->failed && p->tok.kind == T_FIELD && !p->tok.spaced) {
        *end = ARENA_NEW(&p->t->arena, struct field_name);
        (*end)->name = p->tok.text;
        end = &(*end)->next;
        next(p);
    }
}

static struct operand *parse_operand(struct parser *p)
{
    struct operand *o = ARENA_NEW(&p->t->arena, struct operand);
    struct token tok = p->tok;
    switch (tok.kind) {
    case T_TEXT:
        o->value = value_str(tok.text);
        break;
    case T_INT:
        o->value = value_int(tok.number);
        break;
    case T_WORD:
        word_operand(p, o, tok.text);
        break;
    case T_VAR:
        o->kind = O_VAR;
        o->name = tok.text;
        break;
    case T_DOT:
        o->kind = O_DOT;
        break;
    case T_FIELD:
        o->kind = O_DOT;
        o->fields = ARENA_NEW(&p->t->arena, struct field_name);
        o->fields->name = tok.text;
        break;
    case T_OPEN:
        o->kind = O_PIPE;
        next(p);
        o->pipe = parse_pipe(p, T_CLOSE);
        break;
    default:
        fail(p, "unexpected token in an action", tok.text);
    }
    next(p);
    take_fields(p, o);
    return o;
}

static struct command *parse_command(struct parser *p)
{
    struct command *c = ARENA_NEW(&p->t->arena, struct command);
    struct operand **end = &c->first;
    size_t n = 0;
    while (!p->failed && p->tok.kind != T_PIPE && p->tok.kind != T_CLOSE && p->tok.kind != T_END) {
        if (++n > ARGS_MOST) {
            fail(p, "too many arguments", STR(""));
            break;
        }
        *end = parse_operand(p);
        end = &(*end)->next;
    }
    if (!c->first) {
        fail(p, "missing value for command", STR(""));
    }
    return c;
}

/* "$x :=", "$i, $x :=", "$x =" at the start, else nothing is taken. */
static void parse_declaration(struct parser *p, struct pipe *pipe)
{
    size_t at = p->at;
    struct token first = p->tok;
    while (!p->failed && p->tok.kind == T_VAR && pipe->var_count < 2) {
        pipe->vars[pipe->var_count++] = p->tok.text;
        next(p);
        if (p->tok.kind == T_DECLARE || p->tok.kind == T_ASSIGN) {
            pipe->declares = p->tok.kind == T_DECLARE;
            next(p);
            return;
        }
        if (p->tok.kind != T_COMMA) {
            break;
        }
        next(p);
    }
    pipe->var_count = 0;
    p->at = at;
    p->tok = first;
}

static struct pipe *parse_pipe(struct parser *p, enum token_kind until)
{
    struct pipe *pipe = ARENA_NEW(&p->t->arena, struct pipe);
    if (++p->depth > NESTING_MOST) {
        fail(p, "nested too deep", STR(""));
    }
    parse_declaration(p, pipe);
    struct command **end = &pipe->first;
    while (!p->failed) {
        *end = parse_command(p);
        end = &(*end)->next;
        if (p->tok.kind != T_PIPE) {
            break;
        }
        next(p);
    }
    if (!p->failed && p->tok.kind != until) {
        fail(p, "unclosed parenthesis or unexpected \")\"", STR(""));
    }
    p->depth--;
    return pipe;
}

/* ---- nodes ---- */

enum stop { STOP_TEXT_END, STOP_END, STOP_ELSE };

static struct node *parse_nodes(struct parser *p, enum stop *out_stop);

static struct node *new_node(struct parser *p, enum node_kind kind)
{
    struct node *n = ARENA_NEW(&p->t->arena, struct node);
    n->kind = kind;
    return n;
}

static bool block_kind(struct str word, enum node_kind *out)
{
    static const char *const words[] = {"if", "range", "with"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (str_eqz(word, words[i])) {
            *out = (enum node_kind)(N_IF + i);
            return true;
        }
    }
    return false;
}

/* The word of the block has been taken. An "else if" is a block of its own inside the other branch.
 */
static struct node *parse_block(struct parser *p, enum node_kind kind)
{
    struct node *n = new_node(p, kind);
    enum stop stop = STOP_END;
    if (++p->depth > NESTING_MOST) {
        fail(p, "nested too deep", STR(""));
        return n;
    }
    n->pipe = parse_pipe(p, T_END);
    n->body = parse_nodes(p, &stop);
    if (!p->failed && stop == STOP_ELSE) {
        enum node_kind again;
        next(p);
        if (p->tok.kind == T_WORD && block_kind(p->tok.text, &again) && again != N_RANGE) {
            next(p);
            n->otherwise = parse_block(p, again);
            p->depth--;
            return n; /* its end is ours */
        }
        if (p->tok.kind != T_END) {
            fail(p, "unexpected token behind else", p->tok.text);
        }
        n->otherwise = parse_nodes(p, &stop);
    }
    if (!p->failed && stop != STOP_END) {
        fail(p,
             stop == STOP_ELSE ? "unexpected {{else}}" : "unexpected EOF: a block has no {{end}}",
             STR(""));
    }
    p->depth--;
    return n;
}

static struct node *parse_text(struct parser *p)
{
    size_t open;
    struct str rest = str_sub(p->src, p->at, p->src.n);
    if (!str_find(rest, STR("{{"), &open)) {
        open = rest.n;
    }
    struct str text = str_sub(rest, 0, open);
    p->at += open;
    while (p->trim && text.n && is_space(text.p[0])) {
        text = str_sub(text, 1, text.n);
    }
    p->trim = false;
    if (looking_at(p, "{{-") && is_space(peek(p, 3))) {
        while (text.n && is_space(text.p[text.n - 1])) {
            text.n--;
        }
    }
    struct node *n = new_node(p, N_TEXT);
    n->text = text;
    return n;
}

/* A comment and the end of its action. */
static void skip_comment(struct parser *p)
{
    size_t n;
    if (!str_find(str_sub(p->src, p->at, p->src.n), STR("*/"), &n)) {
        fail(p, "unclosed comment", STR(""));
        return;
    }
    p->at += n + 2;
    next(p);
    if (p->tok.kind != T_END) {
        fail(p, "comment ends before closing delimiter", STR(""));
    }
}

/* One action behind its "{{"; NULL for a comment and for what ends a block. */
static struct node *parse_action(struct parser *p, enum stop *out_stop)
{
    enum node_kind kind;
    p->at += 2;
    if (peek(p, 0) == '-' && is_space(peek(p, 1))) {
        p->at += 2;
    }
    while (is_space(peek(p, 0))) {
        p->at++;
    }
    if (looking_at(p, "/*")) {
        skip_comment(p);
        return NULL;
    }
    next(p);
    if (p->tok.kind == T_WORD && str_eqz(p->tok.text, "end")) {
        *out_stop = STOP_END;
        next(p);
        if (p->tok.kind != T_END) {
            fail(p, "unexpected token behind end", p->tok.text);
        }
        return NULL;
    }
    if (p->tok.kind == T_WORD && str_eqz(p->tok.text, "else")) {
        *out_stop = STOP_ELSE; /* what follows is the block's to read */
        return NULL;
    }
    if (p->tok.kind == T_WORD && block_kind(p->tok.text, &kind)) {
        next(p);
        return parse_block(p, kind);
    }
    struct node *n = new_node(p, N_PIPE);
    n->pipe = parse_pipe(p, T_END);
    return n;
}

static struct node *parse_nodes(struct parser *p, enum stop *out_stop)
{
    struct node *first = NULL, **end = &first;
    *out_stop = STOP_TEXT_END;
    while (!p->failed) {
        *end = parse_text(p);
        end = &(*end)->next;
        if (p->at >= p->src.n) {
            break;
        }
        *end = parse_action(p, out_stop);
        if (*end) {
            end = &(*end)->next;
        } else if (*out_stop != STOP_TEXT_END) {
            break;
        }
    }
    return first;
}

enum ec template_parse(struct template *t, struct str text, struct err *err)
{
    struct err unused;
    struct parser p = {.t = t, .src = arena_copy(&t->arena, text), .err = err ? err : &unused};
    enum stop stop;
    t->first = parse_nodes(&p, &stop);
    if (!p.failed && stop != STOP_TEXT_END) {
        fail(&p, stop == STOP_END ? "unexpected {{end}}" : "unexpected {{else}}", STR(""));
    }
    return p.failed ? EC_INVALID : EC_OK;
}
