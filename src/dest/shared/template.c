/* Signing templates. SPDX-License-Identifier: Apache-2.0 */
#include "dest/shared/template.h"

#include <stdlib.h>

#include "util/hash.h"

enum field { F_EVENT_ID, F_TOPIC, F_BODY, F_UNIX, F_UNIX_MILLI, F_SIGNATURES, F_HEX, F_BASE64, F_ALNUM };
enum func { FN_JOIN, FN_UPPER, FN_LOWER, FN_B64ENC, FN_SHA256SUM };

static const struct {
    const char *name;
    enum field field;
    unsigned kinds; /* bits of template_kind */
} fields[] = {
    {".EventID", F_EVENT_ID, 3},         {".Topic", F_TOPIC, 3},
    {".Body", F_BODY, 1},                {".Timestamp.Unix", F_UNIX, 3},
    {".Timestamp.UnixMilli", F_UNIX_MILLI, 3}, {".Signatures", F_SIGNATURES, 2},
    {".RandomHex", F_HEX, 4},            {".RandomBase64", F_BASE64, 4},
    {".RandomAlphanumeric", F_ALNUM, 4},
};
static const struct {
    const char *name;
    enum func func;
} funcs[] = {{"join", FN_JOIN}, {"upper", FN_UPPER}, {"lower", FN_LOWER}, {"b64enc", FN_B64ENC}, {"sha256sum", FN_SHA256SUM}};

#define FUNCS_MOST 4
#define SIGNATURES_MOST 2 /* the current secret's and the previous one's */
struct piece {
    bool action;
    struct str text; /* literal */
    enum field field;
    int index; /* of .Signatures; -1 = the whole */
    size_t func_count;
    struct {
        enum func func;
        struct str arg;
    } funcs[FUNCS_MOST];
};

struct template {
    struct arena arena;
    struct piece *v;
    size_t n;
};

static enum ec bad(struct err *err, const char *what, struct str s)
{
    return err_set(err, EC_INVALID, "%s \"%.*s\"", what, STR_ARG(s));
}

static enum ec parse_field(struct piece *p, struct str word, enum template_kind kind, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (str_eqz(word, fields[i].name)) {
            if (!(fields[i].kinds & (1u << kind))) {
                return bad(err, "can't evaluate field", str_sub(word, 1, word.n));
            }
            p->field = fields[i].field;
            return EC_OK;
        }
    }
    return bad(err, word.n && word.p[0] == '.' ? "can't evaluate field" : "not supported here:", word.n && word.p[0] == '.' ? str_sub(word, 1, word.n) : word);
}

/* "text" without escapes, or `text`. */
static bool unquote(struct str s, struct str *out)
{
    if (s.n < 2 || (s.p[0] != '"' && s.p[0] != '`') || s.p[s.n - 1] != s.p[0]) {
        return false;
    }
    struct str in = str_sub(s, 1, s.n - 2);
    *out = in;
    return !in.n || (!memchr(in.p, s.p[0], in.n) && (s.p[0] == '`' || !memchr(in.p, '\\', in.n)));
}

static enum ec parse_func(struct piece *p, struct str text, struct err *err)
{
    struct str rest = text, name = STR(""), arg = STR("");
    str_split(&rest, ' ', &name);
    rest = str_trim(rest);
    for (size_t i = 0; i < ARRAY_LEN(funcs); i++) {
        if (!str_eqz(name, funcs[i].name) || p->func_count == FUNCS_MOST) {
            continue;
        }
        if (funcs[i].func == FN_JOIN ? !unquote(rest, &arg) : rest.n > 0) {
            return bad(err, "wrong arguments for", name);
        }
        bool list = p->field == F_SIGNATURES && p->index < 0 && p->func_count == 0;
        if (list && funcs[i].func != FN_JOIN) {
            return bad(err, "not for a list:", name);
        }
        p->funcs[p->func_count].func = funcs[i].func;
        p->funcs[p->func_count++].arg = arg;
        return EC_OK;
    }
    return bad(err, "function not supported:", name);
}

static enum ec parse_action(struct piece *p, struct str text, enum template_kind kind, struct err *err)
{
    struct str rest = str_trim(text), part = STR("");
    p->action = true;
    p->index = -1;
    str_split(&rest, '|', &part);
    part = str_trim(part);
    if (str_starts(part, STR("index "))) {
        struct str words = str_trim(str_sub(part, 6, part.n)), list;
        int64_t at;
        str_split(&words, ' ', &list);
        if (!str_to_i64(str_trim(words), &at)) {
            return bad(err, "not supported here:", part);
        }
        if (at < 0 || at >= SIGNATURES_MOST) {
            return bad(err, "index out of range:", part);
        }
        p->index = (int)at;
        part = list;
    }
    enum ec ec = parse_field(p, part, kind, err);
    if (!ec && p->index >= 0 && p->field != F_SIGNATURES) {
        ec = bad(err, "not a list:", part);
    }
    while (!ec && rest.p && str_split(&rest, '|', &part)) {
        ec = parse_func(p, str_trim(part), err);
    }
    return ec;
}

enum ec template_new(struct str text, enum template_kind kind, struct template **out, struct err *err)
{
    struct template *t = xcalloc(1, sizeof(*t));
    arena_init(&t->arena);
    text = arena_copy(&t->arena, text);
    t->v = ARENA_ARRAY(&t->arena, struct piece, text.n / 2 + 2);
    enum ec ec = EC_OK;
    while (!ec && text.n) {
        size_t open, close;
        if (!str_find(text, STR("{{"), &open)) {
            open = text.n;
        }
        if (open) {
            t->v[t->n++].text = str_sub(text, 0, open);
        }
        text = str_sub(text, open, text.n);
        if (!text.n) {
            break;
        }
        if (!str_find(text, STR("}}"), &close)) {
            ec = bad(err, "unclosed action in", text);
            break;
        }
        ec = parse_action(&t->v[t->n++], str_sub(text, 2, close - 2), kind, err);
        text = str_sub(text, close + 2, text.n);
    }
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

static void add_signatures(const struct template_input *in, struct str separator, struct buf *b)
{
    for (size_t i = 0; i < in->signature_count; i++) {
        buf_adds(b, i ? separator : STR(""));
        buf_adds(b, in->signatures[i]);
    }
}

static void add_field(const struct piece *p, const struct template_input *in, struct buf *b)
{
    switch (p->field) {
    case F_EVENT_ID:
        buf_adds(b, in->event_id);
        break;
    case F_TOPIC:
        buf_adds(b, in->topic);
        break;
    case F_BODY:
        buf_adds(b, in->body);
        break;
    case F_UNIX:
        buf_addi(b, in->now / USEC_PER_SEC);
        break;
    case F_UNIX_MILLI:
        buf_addi(b, in->now / USEC_PER_MSEC);
        break;
    case F_SIGNATURES:
        if (p->index >= 0) {
            buf_adds(b, in->signatures[p->index]);
        } else if (p->func_count && p->funcs[0].func == FN_JOIN) {
            add_signatures(in, p->funcs[0].arg, b);
        } else {
            buf_addc(b, '[');
            add_signatures(in, STR(" "), b);
            buf_addc(b, ']');
        }
        break;
    case F_HEX:
        buf_adds(b, in->random_hex);
        break;
    case F_BASE64:
        buf_adds(b, in->random_base64);
        break;
    case F_ALNUM:
        buf_adds(b, in->random_alphanumeric);
        break;
    }
}

static void apply(enum func func, struct buf *b)
{
    uint8_t digest[32];
    struct buf old = *b;
    switch (func) {
    case FN_JOIN:
        return;
    case FN_UPPER:
    case FN_LOWER:
        for (size_t i = 0; i < b->n; i++) {
            char c = b->p[i];
            bool up = func == FN_UPPER && c >= 'a' && c <= 'z', down = func == FN_LOWER && c >= 'A' && c <= 'Z';
            b->p[i] = up || down ? (char)(c ^ 0x20) : c;
        }
        return;
    case FN_B64ENC:
        buf_init(b, old.max);
        b64_add(b, (const uint8_t *)old.p, old.n);
        break;
    case FN_SHA256SUM:
        sha256(buf_str(&old), digest);
        buf_init(b, old.max);
        hex_add(b, digest, 32);
        break;
    }
    buf_fini(&old);
}

bool template_render(const struct template *t, const struct template_input *in, struct buf *out)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct piece *p = &t->v[i];
        if (!p->action) {
            buf_adds(out, p->text);
            continue;
        }
        if (p->index >= 0 && (size_t)p->index >= in->signature_count) {
            return false;
        }
        CLEANUP(buf_fini) struct buf b;
        buf_init(&b, out->max);
        add_field(p, in, &b);
        for (size_t k = 0; k < p->func_count; k++) {
            apply(p->funcs[k].func, &b);
        }
        buf_adds(out, buf_str(&b));
    }
    return !out->over;
}
