/* What the parts of signing templates share: the parsed tree, values, a run. template_parse.c makes
 * the tree, template.c walks it, template_values.c and template_funcs.c have the functions,
 * template_time.c spells times. Included by those alone. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_DEST_SHARED_TEMPLATE_PRIV_H
#define OUTRIDER_DEST_SHARED_TEMPLATE_PRIV_H

#include "dest/shared/template.h"

/* ---- values ---- */
enum value_type { V_NIL, V_STR, V_INT, V_BOOL, V_LIST, V_TIME, V_ROOT };
struct value {
    enum value_type type;
    struct str s;
    int64_t i;             /* INT; BOOL: 0 or 1; TIME: usec_t */
    bool utc;              /* TIME: else in the server's zone */
    const struct value *v; /* LIST */
    size_t n;
};
bool value_is_true(const struct value *v);
void value_add(struct buf *b, const struct value *v); /* as an action prints it */
static inline struct value value_str(struct str s)
{
    return (struct value){.type = V_STR, .s = s};
}
static inline struct value value_int(int64_t i)
{
    return (struct value){.type = V_INT, .i = i};
}
static inline struct value value_bool(bool yes)
{
    return (struct value){.type = V_BOOL, .i = yes};
}

/* ---- a run ---- */
#define VARS_MOST 32
#define ARGS_MOST 16
#define STEPS_MOST 100000
struct run {
    enum template_kind kind;
    const struct template_input *in;
    struct arena arena;
    struct buf *out;
    struct {
        struct str name;
        struct value value;
    } vars[VARS_MOST];
    size_t var_count;
    unsigned steps;
    bool failed;
    struct err why;
};
/* Remembers the first reason; gives the nil value. */
struct value run_fail(struct run *r, const char *fmt, ...) PRINTF(2, 3);

typedef struct value template_fn(struct run *r, const struct value *args, size_t n);
struct template_func {
    const char *name;
    size_t least, most;
    template_fn *fn;
};
const struct template_func *template_func(struct str name); /* NULL: not defined */
const struct template_func *template_library_func(struct str name);
/* For functions: an argument that must be text or a number (else the run fails), any value as text,
 * a text that was built (b is freed). */
#define TEXT_MOST ((size_t)64 * 1024 * 1024)
bool args_text(struct run *r, const struct value *v);
int64_t args_int(struct run *r, const struct value *v);
struct str args_shown(struct run *r, const struct value *v);
struct value args_made(struct run *r, struct buf *b);
/* layout in the reference time of the language: "2006-01-02T15:04:05Z07:00". */
void template_time_add(struct buf *b, const struct value *time, struct str layout);
int64_t template_time_part(const struct value *time, char part); /* Y D h m s */

/* ---- the tree; all of it in the template's arena ---- */
struct pipe;
enum operand_kind { O_VALUE, O_DOT, O_VAR, O_FUNC, O_PIPE };
struct field_name {
    struct str name;
    struct field_name *next;
};
struct operand {
    enum operand_kind kind;
    struct value value;               /* VALUE */
    struct str name;                  /* VAR: with its $ */
    const struct template_func *func; /* FUNC */
    struct pipe *pipe;                /* PIPE */
    struct field_name *fields;        /* .A.B behind it */
    struct operand *next;
};
struct command {
    struct operand *first;
    struct command *next;
};
struct pipe {
    struct str vars[2];
    unsigned var_count;
    bool declares; /* := rather than = */
    struct command *first;
};
enum node_kind { N_TEXT, N_PIPE, N_IF, N_RANGE, N_WITH };
struct node {
    enum node_kind kind;
    struct str text;
    struct pipe *pipe;
    struct node *body, *otherwise;
    struct node *next;
};
struct template
{
    struct arena arena;
    enum template_kind kind;
    struct node *first;
};
enum ec template_parse(struct template *t, struct str text, struct err *err) MUST_CHECK;

#endif
