/* Texts to typed fields and back. The words of a refusal are those that Outpost's users know (spec
 * operations.md 2.2); for our own types they say what is expected. Not for YAML's typing of scalars
 * (yaml.c). SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "config/config_priv.h"

#define QUOTE_MOST 100

void quote_add(struct buf *b, struct str s)
{
    buf_addc(b, '"');
    for (size_t i = 0; i < MIN(s.n, (size_t)QUOTE_MOST); i++) {
        unsigned char c = (unsigned char)s.p[i];
        switch (c) {
        case '"':
        case '\\':
            buf_addc(b, '\\');
            buf_addc(b, (char)c);
            break;
        case '\n':
            buf_addz(b, "\\n");
            break;
        case '\r':
            buf_addz(b, "\\r");
            break;
        case '\t':
            buf_addz(b, "\\t");
            break;
        default:
            if (c < 0x20 || c == 0x7f) {
                buf_addf(b, "\\x%02x", c);
            } else {
                buf_addc(b, (char)c);
            }
        }
    }
    buf_addz(b, s.n > QUOTE_MOST ? "...\"" : "\"");
}

static enum ec number_refused(struct buf *reason, struct str text, const char *why)
{
    buf_addz(reason, "strconv.ParseInt: parsing ");
    quote_add(reason, text);
    buf_addz(reason, why);
    return EC_INVALID;
}

/* Base 10, an optional sign, nothing else; as wide as Outpost's numbers unless the setting is our
 * own. */
static enum ec parse_int(struct str text, bool wide, int64_t *out, struct buf *reason)
{
    struct str digits =
        text.n && (text.p[0] == '+' || text.p[0] == '-') ? str_sub(text, 1, text.n) : text;
    bool good = digits.n > 0;
    for (size_t i = 0; i < digits.n; i++) {
        good &= digits.p[i] >= '0' && digits.p[i] <= '9';
    }
    if (!good) {
        return number_refused(reason, text, ": invalid syntax");
    }
    int64_t v;
    if (!str_to_i64(text.p[0] == '+' ? digits : text, &v) ||
        (!wide && (v < INT32_MIN || v > INT32_MAX))) {
        return number_refused(reason, text, ": value out of range");
    }
    *out = v;
    return EC_OK;
}

static enum ec parse_bool(struct str text, bool *out, struct buf *reason)
{
    static const char *const yes[] = {"1", "t", "T", "TRUE", "true", "True"};
    static const char *const no[] = {"0", "f", "F", "FALSE", "false", "False"};
    for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
        if (str_eqz(text, yes[i]) || str_eqz(text, no[i])) {
            *out = str_eqz(text, yes[i]);
            return EC_OK;
        }
    }
    buf_addz(reason, "strconv.ParseBool: parsing ");
    quote_add(reason, text);
    buf_addz(reason, ": invalid syntax");
    return EC_INVALID;
}

struct unit {
    const char *name;
    int64_t factor;
};

static enum ec parse_units(struct str text, const struct unit *units, size_t count,
                           const char *wanted, int64_t *out, struct buf *reason)
{
    size_t n = 0;
    while (n < text.n && text.p[n] >= '0' && text.p[n] <= '9') {
        n++;
    }
    struct str unit = str_trim(str_sub(text, n, text.n));
    int64_t v;
    bool good = str_to_i64(str_sub(text, 0, n), &v), known = unit.n == 0;
    for (size_t i = 0; good && i < count; i++) {
        if (str_eq_ci(unit, str_z(units[i].name))) {
            good = !__builtin_mul_overflow(v, units[i].factor, &v);
            known = true;
            break;
        }
    }
    if (!good || !known) {
        buf_addz(reason, wanted);
        quote_add(reason, text);
        return EC_INVALID;
    }
    *out = v;
    return EC_OK;
}

static enum ec parse_size(struct str text, int64_t *out, struct buf *reason)
{
    static const struct unit units[] = {
        {"B", 1},         {"KiB", 1 << 10},   {"MiB", 1 << 20},
        {"GiB", 1 << 30}, {"TiB", 1LL << 40}, {"KB", 1000},
        {"MB", 1000000},  {"GB", 1000000000}, {"TB", 1000000000000},
    };
    return parse_units(text, units, ARRAY_LEN(units),
                       "a number of bytes such as 4096, 16MiB or 10GiB is expected, not ", out,
                       reason);
}

static enum ec parse_seconds(struct str text, int64_t *out, struct buf *reason)
{
    static const struct unit units[] = {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}};
    return parse_units(text, units, ARRAY_LEN(units),
                       "seconds, or a time such as 90s, 15m, 1h or 30d is expected, not ", out,
                       reason);
}

static enum ec parse_share(struct str text, double *out, struct buf *reason)
{
    char z[40];
    bool good = text.n > 0 && text.n < sizeof(z);
    for (size_t i = 0; good && i < text.n; i++) {
        good = strchr("+-.0123456789eE", text.p[i]) && text.p[i];
    }
    double v = 0;
    if (good) {
        char *end;
        memcpy(z, text.p, text.n);
        z[text.n] = '\0';
        v = strtod(z, &end);
        good = *end == '\0' && isfinite(v);
    }
    if (!good) {
        buf_addz(reason, "a number such as 0.1 is expected, not ");
        quote_add(reason, text);
        return EC_INVALID;
    }
    *out = v;
    return EC_OK;
}

static size_t parts_of(struct str text)
{
    size_t n = 1;
    for (size_t i = 0; i < text.n; i++) {
        n += text.p[i] == ',';
    }
    return n;
}

/* Blanks around elements and empty elements are dropped: they never match anything (spec 20, line
 * 6). */
static void parse_list(struct config *c, struct str text, struct config_list *out)
{
    *out = (struct config_list){ARENA_ARRAY(&c->arena, struct str, parts_of(text)), 0};
    struct str part;
    while (str_split(&text, ',', &part)) {
        part = str_trim(part);
        if (part.n) {
            out->v[out->n++] = arena_copy(&c->arena, part);
        }
    }
}

static enum ec parse_ints(struct config *c, struct str text, struct config_ints *out,
                          struct buf *reason)
{
    struct config_ints l = {ARENA_ARRAY(&c->arena, int64_t, parts_of(text)), 0};
    struct str part, rest = text;
    while (text.n && str_split(&rest, ',', &part)) {
        enum ec ec = parse_int(part, false, &l.v[l.n++], reason);
        if (ec) {
            return ec;
        }
    }
    *out = l;
    return EC_OK;
}

enum ec value_parse(struct config *c, const struct setting *s, struct str text, struct buf *reason)
{
    void *at = (char *)c + s->at;
    switch (s->type) {
    case SET_TEXT:
    case SET_CSV:
        *(struct str *)at = arena_copy(&c->arena, text);
        return EC_OK;
    case SET_OPT:
        *(struct config_opt *)at = (struct config_opt){true, arena_copy(&c->arena, text)};
        return EC_OK;
    case SET_SECRET:
        secret_set(at, text);
        return EC_OK;
    case SET_LIST:
        parse_list(c, text, at);
        return EC_OK;
    case SET_INTS:
        return parse_ints(c, text, at, reason);
    case SET_INT:
        return parse_int(text, s->flags & SET_OWN, at, reason);
    case SET_BOOL:
        return parse_bool(text, at, reason);
    case SET_SIZE:
        return parse_size(text, at, reason);
    case SET_SECONDS:
        return parse_seconds(text, at, reason);
    case SET_SHARE:
        return parse_share(text, at, reason);
    }
    UNREACHABLE("a type of setting");
}

const char *value_type_name(const struct setting *s)
{
    static const char *const names[] = {
        [SET_TEXT] = "string",   [SET_SECRET] = "string", [SET_OPT] = "string",
        [SET_CSV] = "string",    [SET_INT] = "int",       [SET_BOOL] = "bool",
        [SET_LIST] = "[]string", [SET_INTS] = "[]int",    [SET_SIZE] = "size",
        [SET_SECONDS] = "time",  [SET_SHARE] = "number",
    };
    return names[s->type];
}

static void format_texts(const struct config_list *l, struct buf *b)
{
    buf_addc(b, '[');
    for (size_t i = 0; i < l->n; i++) {
        buf_addz(b, i ? " " : "");
        buf_adds(b, l->v[i]);
    }
    buf_addc(b, ']');
}

static void format_ints(const struct config_ints *l, struct buf *b)
{
    buf_addc(b, '[');
    for (size_t i = 0; i < l->n; i++) {
        buf_addz(b, i ? " " : "");
        buf_addi(b, l->v[i]);
    }
    buf_addc(b, ']');
}

/* A text that may be an address with a password: what stands before the last @ is hidden. */
static void format_masked(struct str text, struct buf *b)
{
    size_t at = text.n;
    while (at > 0 && text.p[at - 1] != '@') {
        at--;
    }
    size_t scheme;
    if (at == 0) {
        buf_adds(b, text);
    } else {
        buf_adds(b, str_find(text, STR("://"), &scheme) && scheme < at
                        ? str_sub(text, 0, scheme + 3)
                        : STR(""));
        buf_addz(b, "***:***@");
        buf_adds(b, str_sub(text, at, text.n));
    }
}

void value_format(const struct config *c, const struct setting *s, struct buf *b)
{
    const void *at = (const char *)c + s->at;
    switch (s->type) {
    case SET_TEXT:
    case SET_CSV:
        if (s->flags & SET_MASKED) {
            format_masked(*(const struct str *)at, b);
        } else {
            buf_adds(b, *(const struct str *)at);
        }
        break;
    case SET_OPT: {
        const struct config_opt *o = at;
        buf_adds(b, !o->is_set ? STR("(unset)") : o->text.n ? o->text : STR("(off)"));
        break;
    }
    case SET_SECRET:
        buf_addz(b, secret_is_set(at) ? "********" : "");
        break;
    case SET_LIST:
        format_texts(at, b);
        break;
    case SET_INTS:
        format_ints(at, b);
        break;
    case SET_INT:
    case SET_SIZE:
    case SET_SECONDS:
        buf_addi(b, *(const int64_t *)at);
        break;
    case SET_BOOL:
        buf_addz(b, *(const bool *)at ? "true" : "false");
        break;
    case SET_SHARE:
        buf_addf(b, "%g", *(const double *)at);
        break;
    }
}

void list_push_text(struct config *c, struct config_list *l, struct str text)
{
    struct str *v = l->v;
    if ((l->n & (l->n - 1)) == 0) { /* full at each power of two */
        v = ARENA_ARRAY(&c->arena, struct str, l->n ? l->n * 2 : 1);
        if (l->n) {
            memcpy(v, l->v, l->n * sizeof(*v));
        }
        l->v = v;
    }
    v[l->n++] = arena_copy(&c->arena, text);
}

void config_warn(struct config *c, const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    list_push_text(c, &c->warnings, str_z(text));
}
