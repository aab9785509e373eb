/* The registry, and what every type's field table decides: validation, masking, descriptions. Spec:
 * destinations.md 1, 2. SPDX-License-Identifier: Apache-2.0 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "dest/dest.h"

#include <pcre2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/utf8.h"

struct dest_registry {
    const struct dest_ops *const *types;
    size_t count, listed;
    const struct dest_conf *conf;
};

struct dest_registry *dest_registry_new(const struct dest_ops *const *types, size_t count,
                                        size_t listed, const struct dest_conf *conf)
{
    struct dest_registry *r = xcalloc(1, sizeof(*r));
    *r = (struct dest_registry){types, count, listed, conf};
    return r;
}

void dest_registry_free(struct dest_registry *r)
{
    free(r);
}

const struct dest_ops *dest_type(const struct dest_registry *r, struct str type)
{
    for (size_t i = 0; i < r->count; i++) {
        if (str_eqz(type, r->types[i]->type)) {
            return r->types[i];
        }
    }
    return NULL;
}

const struct dest_ops *dest_type_at(const struct dest_registry *r, size_t i)
{
    return i < r->listed ? r->types[i] : NULL;
}

const struct dest_conf *dest_registry_conf(const struct dest_registry *r)
{
    return r->conf;
}

void dest_problem(struct dest_problems *p, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    size_t size = n < 0 ? 1 : (size_t)n + 1;
    char *text = arena_zalloc(p->arena, size);
    vsnprintf(text, size, fmt, again);
    va_end(again);
    va_end(ap);
    if (p->n == p->cap) {
        p->cap = p->cap ? p->cap * 2 : 8;
        struct str *v = ARENA_ARRAY(p->arena, struct str, p->cap);
        if (p->n) {
            memcpy(v, p->v, p->n * sizeof(*v));
        }
        p->v = v;
    }
    p->v[p->n++] = (struct str){text, size - 1};
}

static bool pattern_matches(const char *pattern, struct str s)
{
    int code;
    PCRE2_SIZE at;
    pcre2_code *re =
        pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                      PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C, &code, &at, NULL);
    if (!re) {
        return false;
    }
    pcre2_match_data *m = pcre2_match_data_create(1, NULL);
    int rc = pcre2_match(re, (PCRE2_SPTR)(s.n ? s.p : ""), s.n, 0, 0, m, NULL);
    pcre2_match_data_free(m);
    pcre2_code_free(re);
    return rc >= 0;
}

static struct str field_value(const struct destination *d, const struct dest_field *f)
{
    struct str v = STR("");
    if (f->credential) {
        const struct secret *s = credmap_get(&d->credentials, str_z(f->key));
        return s ? secret_reveal(s) : v;
    }
    strmap_get(&d->config, str_z(f->key), &v);
    return v;
}

static void check_field(const struct destination *d, const struct dest_field *f,
                        struct dest_problems *p)
{
    struct str v = field_value(d, f);
    const char *part = f->credential ? "credentials" : "config";
    if (v.n == 0) {
        if (f->required) {
            dest_problem(p, "%s.%s is required", part, f->key);
        }
    } else if (f->min_length > 0 && v.n < (size_t)f->min_length) {
        dest_problem(p, "%s.%s failed minlength validation", part, f->key);
    } else if (f->max_length > 0 && v.n > (size_t)f->max_length) {
        dest_problem(p, "%s.%s failed maxlength validation", part, f->key);
    } else if (f->pattern && !pattern_matches(f->pattern, v)) {
        dest_problem(p, "%s.%s failed pattern validation", part, f->key);
    }
}

static void check_all(const struct dest_registry *r, const struct dest_ops *t,
                      const struct destination *d, struct dest_problems *p)
{
    for (int credentials = 0; credentials < 2; credentials++) {
        for (const struct dest_field *f = t->fields; f->key; f++) {
            if (f->credential == (credentials == 1)) {
                check_field(d, f, p);
            }
        }
    }
    if (p->n == 0 && t->check) {
        t->check(r->conf, d, p);
    }
}

/* A create is checked, then prepared; an edit is prepared, then checked when config or credentials
 * changed. */
enum ec dest_validate(const struct dest_registry *r, struct destination *d,
                      const struct destination *before, enum dest_role role,
                      struct dest_problems *p)
{
    const struct dest_ops *t = dest_type(r, d->type);
    if (!t) {
        dest_problem(p, "type failed invalid_type validation");
        return EC_INVALID;
    }
    if (!before) {
        check_all(r, t, d, p);
    }
    if (p->n == 0 && t->prepare) {
        t->prepare(r->conf, d, before, role, p);
    }
    bool changed = before && (!strmap_equal(&d->config, &before->config) ||
                              !credmap_equal(&d->credentials, &before->credentials));
    if (p->n == 0 && changed) {
        check_all(r, t, d, p);
    }
    return p->n ? EC_INVALID : EC_OK;
}

/* ---- masking ---- */

static const struct dest_field *field_of(const struct dest_ops *t, struct str key, bool credential)
{
    for (const struct dest_field *f = t ? t->fields : NULL; f && f->key; f++) {
        if (f->credential == credential && str_eqz(key, f->key)) {
            return f;
        }
    }
    return NULL;
}

/* Fewer than 10 bytes: all stars; else the first four stay, even if they cut a character. */
static void mask(struct buf *out, struct str v)
{
    size_t clear = v.n < 10 ? 0 : 4;
    buf_init(out, v.n + 1);
    buf_add(out, v.p, clear);
    for (size_t i = clear; i < v.n; i++) {
        buf_addc(out, '*');
    }
}

static void add_masked(struct buf *b, struct str v)
{
    CLEANUP(buf_fini) struct buf text;
    mask(&text, v);
    json_add_string(b, buf_str(&text), true);
}

void dest_add_config_json(const struct dest_registry *r, const struct destination *d, struct buf *b)
{
    const struct dest_ops *t = dest_type(r, d->type);
    buf_addc(b, '{');
    for (size_t i = 0; i < d->config.n; i++) {
        const struct dest_field *f = field_of(t, d->config.v[i].key, false);
        buf_addz(b, i ? "," : "");
        json_add_string(b, d->config.v[i].key, true);
        buf_addc(b, ':');
        if (f && f->sensitive) {
            add_masked(b, d->config.v[i].value);
        } else {
            json_add_string(b, d->config.v[i].value, true);
        }
    }
    buf_addc(b, '}');
}

/* Once its time has passed the previous secret is no longer shown. */
static bool hidden_previous(const struct destination *d, struct str key)
{
    if (!str_starts(key, STR("previous_secret"))) {
        return false;
    }
    const struct secret *until = credmap_get(&d->credentials, STR("previous_secret_invalid_at"));
    usec_t at;
    return until && time_parse(secret_reveal(until), &at, NULL) && wall_now() > at;
}

void dest_add_credentials_json(const struct dest_registry *r, const struct destination *d,
                               struct buf *b)
{
    const struct dest_ops *t = dest_type(r, d->type);
    bool first = true;
    buf_addc(b, '{');
    for (size_t i = 0; i < d->credentials.n; i++) {
        struct str key = d->credentials.v[i].key, value = secret_reveal(&d->credentials.v[i].value);
        const struct dest_field *f = field_of(t, key, true);
        if (t && t->keeps_unknown_clear && hidden_previous(d, key)) {
            continue;
        }
        buf_addz(b, first ? "" : ",");
        first = false;
        json_add_string(b, key, true);
        buf_addc(b, ':');
        if (f ? f->sensitive : !(t && t->keeps_unknown_clear)) {
            add_masked(b, value);
        } else {
            json_add_string(b, value, true);
        }
    }
    buf_addc(b, '}');
}

/* Whether sent is what the API shows in place of stored: a cut character is shown as U+FFFD. */
static bool is_mask_of(struct str sent, struct str stored)
{
    CLEANUP(buf_fini) struct buf raw, shown;
    mask(&raw, stored);
    buf_init(&shown, stored.n * 3 + 4);
    for (struct str rest = buf_str(&raw); rest.n;) {
        unsigned c;
        char bytes[4];
        size_t used = utf8_get(rest, &c);
        buf_add(&shown, bytes, utf8_put(bytes, c));
        rest = str_sub(rest, used, rest.n);
    }
    return stored.n && str_eq(sent, buf_str(&shown)) && !str_eq(sent, stored);
}

void dest_unmask(const struct dest_registry *r, struct destination *now,
                 const struct destination *before)
{
    const struct dest_ops *t = dest_type(r, now->type);
    for (size_t i = 0; i < now->credentials.n; i++) {
        struct cred *c = &now->credentials.v[i];
        const struct dest_field *f = field_of(t, c->key, true);
        const struct secret *old = credmap_get(&before->credentials, c->key);
        bool masked = f ? f->sensitive : !(t && t->keeps_unknown_clear);
        if (masked && old && is_mask_of(secret_reveal(&c->value), secret_reveal(old))) {
            secret_set(&c->value, secret_reveal(old));
        }
    }
    for (size_t i = 0; i < now->config.n; i++) {
        struct strpair *c = &now->config.v[i];
        const struct dest_field *f = field_of(t, c->key, false);
        struct str old;
        if (f && f->sensitive && strmap_get(&before->config, c->key, &old) &&
            is_mask_of(c->value, old)) {
            c->value = arena_copy(&now->arena, old);
        }
    }
}

/* ---- descriptions ---- */

static void add_field(struct jsonw *w, const struct dest_field *f)
{
    jw_obj(w);
    jw_kstr(w, "type", str_z(f->type));
    jw_kstr(w, "label", str_z(f->label));
    jw_kstr(w, "description", str_z(f->description));
    jw_kstr(w, "key", str_z(f->key));
    jw_kbool(w, "required", f->required);
    if (f->default_value) {
        jw_kstr(w, "default", str_z(f->default_value));
    }
    if (f->disabled) {
        jw_kbool(w, "disabled", true);
    }
    if (f->sensitive) {
        jw_kbool(w, "sensitive", true);
    }
    if (f->min_length > 0) {
        jw_kint(w, "minlength", f->min_length);
    }
    if (f->max_length > 0) {
        jw_kint(w, "maxlength", f->max_length);
    }
    if (f->pattern) {
        jw_kstr(w, "pattern", str_z(f->pattern));
    }
    if (f->options_json) {
        jw_key(w, STR("options"));
        jw_raw(w, str_z(f->options_json));
    }
    if (f->extra_json) {
        buf_addz(w->b, f->extra_json);
    }
    jw_obj_end(w);
}

void dest_add_type_json(const struct dest_ops *t, struct buf *b)
{
    struct jsonw w;
    jw_init(&w, b, true);
    jw_obj(&w);
    jw_kstr(&w, "type", str_z(t->type));
    for (int credentials = 0; credentials < 2; credentials++) {
        jw_key(&w, credentials ? STR("credential_fields") : STR("config_fields"));
        jw_arr(&w);
        for (const struct dest_field *f = t->fields; f->key; f++) {
            if (f->credential == (credentials == 1)) {
                add_field(&w, f);
            }
        }
        jw_arr_end(&w);
    }
    jw_kstr(&w, "label", str_z(t->label));
    jw_kstr(&w, "description", str_z(t->description));
    jw_kstr(&w, "icon", str_z(t->icon_svg));
    if (t->setup_href) {
        jw_key(&w, STR("setup_link"));
        jw_obj(&w);
        jw_kstr(&w, "href", str_z(t->setup_href));
        jw_kstr(&w, "cta", str_z(t->setup_text));
        jw_obj_end(&w);
    }
    jw_kstr(&w, "instructions", str_z(t->instructions));
    jw_obj_end(&w);
}
