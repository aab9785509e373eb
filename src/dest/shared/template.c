/* Runs signing templates: walks the tree of template_parse.c over one delivery's values. Steps,
 * variables and output are bounded. SPDX-License-Identifier: Apache-2.0 */
#include "dest/shared/template_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct value run_fail(struct run *r, const char *fmt, ...)
{
    if (!r->failed) {
        va_list ap;
        va_start(ap, fmt);
        r->failed = true;
        r->why.code = EC_INVALID;
        vsnprintf(r->why.text, sizeof(r->why.text), fmt, ap);
        va_end(ap);
    }
    return (struct value){.type = V_NIL};
}

/* ---- fields ---- */

static struct value signatures(struct run *r)
{
    size_t n = r->in->signature_count;
    struct value *v = ARENA_ARRAY(&r->arena, struct value, n + 1);
    for (size_t i = 0; i < n; i++) {
        v[i] = value_str(r->in->signatures[i]);
    }
    return (struct value){.type = V_LIST, .v = v, .n = n};
}

static struct value root_field(struct run *r, struct str name)
{
    const struct template_input *in = r->in;
    const struct {
        const char *name;
        unsigned kinds; /* bits of template_kind */
        struct str text;
    } texts[] = {
        {"EventID", 3, in->event_id},
        {"Topic", 3, in->topic},
        {"Body", 1, in->body},
        {"RandomHex", 4, in->random_hex},
        {"RandomBase64", 4, in->random_base64},
        {"RandomAlphanumeric", 4, in->random_alphanumeric},
    };
    unsigned bit = 1u << r->kind;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if ((texts[i].kinds & bit) && str_eqz(name, texts[i].name)) {
            return value_str(texts[i].text);
        }
    }
    if (str_eqz(name, "Timestamp") && r->kind != TEMPLATE_SECRET) {
        return (struct value){.type = V_TIME, .i = in->now};
    }
    if (str_eqz(name, "Signatures") && r->kind == TEMPLATE_HEADER) {
        return signatures(r);
    }
    return run_fail(r, "can't evaluate field %.*s", STR_ARG(name));
}

static struct value time_format(struct run *r, struct value t, const struct value *args, size_t n)
{
    if (n != 1 || args[0].type != V_STR) {
        return run_fail(r, "Format wants one text");
    }
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 4096);
    template_time_add(&b, &t, args[0].s);
    return value_str(arena_copy(&r->arena, buf_str(&b)));
}

static struct value time_field(struct run *r, struct value t, struct str name,
                               const struct value *args, size_t n)
{
    static const struct {
        const char *name;
        int64_t divide, multiply;
    } counts[] = {{"Unix", USEC_PER_SEC, 1},
                  {"UnixMilli", USEC_PER_MSEC, 1},
                  {"UnixMicro", 1, 1},
                  {"UnixNano", 1, 1000}};
    static const struct {
        const char *name;
        char part;
    } parts[] = {{"Year", 'Y'}, {"Day", 'D'}, {"Hour", 'h'}, {"Minute", 'm'}, {"Second", 's'}};
    if (str_eqz(name, "Format")) {
        return time_format(r, t, args, n);
    }
    if (n) {
        return run_fail(r, "too many arguments for %.*s", STR_ARG(name));
    }
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        if (str_eqz(name, counts[i].name)) {
            int64_t rest = t.i % counts[i].divide;
            return value_int((t.i / counts[i].divide - (rest < 0)) * counts[i].multiply);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (str_eqz(name, parts[i].name)) {
            return value_int(template_time_part(&t, parts[i].part));
        }
    }
    if (str_eqz(name, "UTC") || str_eqz(name, "Local")) {
        t.utc = str_eqz(name, "UTC");
        return t;
    }
    return run_fail(r, "can't evaluate field %.*s", STR_ARG(name));
}

/* Arguments belong to the last field, a method. */
static struct value follow(struct run *r, struct value v, const struct field_name *f,
                           const struct value *args, size_t n)
{
    bool method = v.type == V_TIME && f;
    for (; f && !r->failed; f = f->next) {
        bool last = !f->next;
        if (v.type == V_ROOT) {
            v = root_field(r, f->name);
            method = false;
        } else if (v.type == V_TIME) {
            v = time_field(r, v, f->name, last ? args : NULL, last ? n : 0);
            method = last;
        } else {
            return run_fail(r, "can't evaluate field %.*s", STR_ARG(f->name));
        }
    }
    return n && !method ? run_fail(r, "can't give argument to non-function") : v;
}

/* ---- pipelines ---- */

static struct value eval_pipe(struct run *r, const struct pipe *p, struct value dot);

static struct value call(struct run *r, const struct template_func *f, const struct value *args,
                         size_t n)
{
    if (n < f->least || n > f->most) {
        return run_fail(r, "wrong number of args for %s: got %zu", f->name, n);
    }
    return f->fn(r, args, n);
}

static struct value variable(struct run *r, struct str name)
{
    for (size_t i = r->var_count; i-- > 0;) {
        if (str_eq(r->vars[i].name, name)) {
            return r->vars[i].value;
        }
    }
    return run_fail(r, "undefined variable \"%.*s\"", STR_ARG(name));
}

static struct value eval_operand(struct run *r, const struct operand *o, struct value dot,
                                 const struct value *args, size_t n)
{
    struct value v = o->value;
    switch (o->kind) {
    case O_FUNC:
        v = call(r, o->func, args, n);
        n = 0;
        break;
    case O_DOT:
        v = dot;
        break;
    case O_VAR:
        v = variable(r, o->name);
        break;
    case O_PIPE:
        v = eval_pipe(r, o->pipe, dot);
        break;
    case O_VALUE:
        break;
    }
    return r->failed ? v : follow(r, v, o->fields, args, n);
}

static struct value eval_command(struct run *r, const struct command *c, struct value dot,
                                 const struct value *piped)
{
    struct value args[ARGS_MOST + 1];
    size_t n = 0;
    if (++r->steps > STEPS_MOST) {
        return run_fail(r, "too many steps");
    }
    for (const struct operand *o = c->first->next; o && !r->failed; o = o->next) {
        args[n++] = eval_operand(r, o, dot, NULL, 0);
    }
    if (piped) {
        args[n++] = *piped;
    }
    return r->failed ? (struct value){.type = V_NIL} : eval_operand(r, c->first, dot, args, n);
}

static void set_variable(struct run *r, struct str name, bool declares, struct value v)
{
    for (size_t i = r->var_count; !declares && i-- > 0;) {
        if (str_eq(r->vars[i].name, name)) {
            r->vars[i].value = v;
            return;
        }
    }
    if (!declares || r->var_count == VARS_MOST) {
        run_fail(r, "undefined variable \"%.*s\"", STR_ARG(name));
        return;
    }
    r->vars[r->var_count].name = name;
    r->vars[r->var_count++].value = v;
}

static struct value eval_pipe(struct run *r, const struct pipe *p, struct value dot)
{
    struct value v = {.type = V_NIL};
    for (const struct command *c = p->first; c && !r->failed; c = c->next) {
        struct value before = v;
        v = eval_command(r, c, dot, c == p->first ? NULL : &before);
    }
    if (p->var_count == 1 && !r->failed) {
        set_variable(r, p->vars[0], p->declares, v);
    }
    return v;
}

/* ---- nodes ---- */

static void run_nodes(struct run *r, const struct node *n, struct value dot);

static void run_range(struct run *r, const struct node *n, struct value dot)
{
    struct value list = eval_pipe(r, n->pipe, dot);
    if (!r->failed && list.type != V_LIST) {
        run_fail(r, "range can't iterate over it: not a list");
        return;
    }
    for (size_t i = 0; i < list.n && !r->failed; i++) {
        size_t kept = r->var_count;
        if (n->pipe->var_count == 1) {
            set_variable(r, n->pipe->vars[0], true, list.v[i]);
        } else if (n->pipe->var_count == 2) {
            set_variable(r, n->pipe->vars[0], true, value_int((int64_t)i));
            set_variable(r, n->pipe->vars[1], true, list.v[i]);
        }
        run_nodes(r, n->body, list.v[i]);
        r->var_count = kept;
    }
    if (!r->failed && list.n == 0) {
        run_nodes(r, n->otherwise, dot);
    }
}

static void run_node(struct run *r, const struct node *n, struct value dot)
{
    if (n->kind == N_TEXT) {
        buf_adds(r->out, n->text);
        return;
    }
    size_t kept = r->var_count;
    if (n->kind == N_RANGE) {
        run_range(r, n, dot);
        r->var_count = kept;
        return;
    }
    struct value v = eval_pipe(r, n->pipe, dot);
    if (r->failed) {
        return;
    }
    if (n->kind == N_PIPE) {
        if (n->pipe->var_count == 0) {
            value_add(r->out, &v);
        }
        return; /* a variable lives until its block ends */
    }
    bool yes = value_is_true(&v);
    run_nodes(r, yes ? n->body : n->otherwise, yes && n->kind == N_WITH ? v : dot);
    r->var_count = kept;
}

static void run_nodes(struct run *r, const struct node *n, struct value dot)
{
    for (; n && !r->failed; n = n->next) {
        if (++r->steps > STEPS_MOST || r->out->over) {
            run_fail(r, "too many steps or too long");
            return;
        }
        run_node(r, n, dot);
    }
}

enum ec template_try(const struct template *t, const struct template_input *in, struct buf *out,
                     struct err *err)
{
    struct run r = {.kind = t->kind, .in = in, .out = out};
    struct value root = {.type = V_ROOT};
    arena_init(&r.arena);
    set_variable(&r, STR("$"), true, root);
    run_nodes(&r, t->first, root);
    if (!r.failed && out->over) {
        run_fail(&r, "the result is too long");
    }
    arena_fini(&r.arena);
    if (r.failed && err) {
        *err = r.why;
    }
    return r.failed ? EC_INVALID : EC_OK;
}

bool template_render(const struct template *t, const struct template_input *in, struct buf *out)
{
    return template_try(t, in, out, NULL) == EC_OK;
}

/* ---- making one ---- */

/* A run over made-up values finds fields and functions that do not fit; not what depends on the
 * data. Secrets are left to their first use. */
static enum ec dry_run(const struct template *t, struct err *err)
{
    static const char *const what[] = {"content", "header"};
    const struct str two[] = {STR("sig_current"), STR("sig_previous")};
    const struct template_input in = {
        .event_id = STR("evt_validation"),
        .topic = STR("validation.topic"),
        .body = STR("{\"validation\":true}"),
        .now = wall_now(),
        .signatures = two,
        .signature_count = 2,
    };
    struct err why = {0};
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 1024 * 1024);
    if (t->kind == TEMPLATE_SECRET || !template_try(t, &in, &b, &why)) {
        return EC_OK;
    }
    return err_set(err, EC_INVALID, "signature %s template execution failed: %s", what[t->kind],
                   why.text);
}

enum ec template_new(struct str text, enum template_kind kind, struct template **out,
                     struct err *err)
{
    struct template *t = xcalloc(1, sizeof(*t));
    arena_init(&t->arena);
    t->kind = kind;
    enum ec ec = template_parse(t, text, err);
    ec = ec ? ec : dry_run(t, err);
    if (ec) {
        template_free(t);
        return ec;
    }
    *out = t;
    return EC_OK;
}

void template_free(struct template *t)
{
    if (t) {
        arena_fini(&t->arena);
        free(t);
    }
}
