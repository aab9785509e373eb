/* Shared by the webhook modes. SPDX-License-Identifier: Apache-2.0 */
#include "dest/shared/webhook.h"

#define ROTATION (24 * 3600 * USEC_PER_SEC)

const char webhook_icon[] = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"16\" height=\"16\" "
                            "viewBox=\"0 0 16 16\" fill=\"none\" stroke=\"currentColor\""
                            " stroke-width=\"1.5\"><circle cx=\"8\" cy=\"4\" r=\"2\"/><circle "
                            "cx=\"3.5\" cy=\"12\" r=\"2\"/><circle cx=\"12.5\" cy=\"12\" r=\"2\"/>"
                            "<path d=\"M7 5.8 4.5 10.2M9 5.8l2.5 4.4M5.5 12h5\"/></svg>";

const struct dest_field webhook_fields[] = {
    {.key = "url",
     .type = "text",
     .label = "Endpoint URL",
     .description = "Where events are sent to by HTTP POST",
     .required = true,
     .pattern = "^https?:\\/\\/[^\\s]+$",
     .min_length = -1,
     .max_length = -1},
    {.key = "custom_headers",
     .type = "key_value_map",
     .label = "Custom headers",
     .description = "Headers added to every request",
     .min_length = -1,
     .max_length = -1},
    {.key = NULL},
};

/* ---- headers ---- */

static bool token_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* First letter and each letter behind '-' in upper case, the others in lower case. */
static struct str canonical(struct arena *a, struct str prefix, struct str name)
{
    char *p = arena_alloc(a, prefix.n + name.n + 1);
    if (prefix.n) {
        memcpy(p, prefix.p, prefix.n);
    }
    if (name.n) {
        memcpy(p + prefix.n, name.p, name.n);
    }
    size_t n = prefix.n + name.n;
    bool up = true;
    for (size_t i = 0; i < n; i++) {
        if (!token_char(p[i])) {
            return STR("");
        }
        if (up && p[i] >= 'a' && p[i] <= 'z') {
            p[i] = (char)(p[i] - 32);
        } else if (!up && p[i] >= 'A' && p[i] <= 'Z') {
            p[i] = (char)(p[i] + 32);
        }
        up = p[i] == '-';
    }
    p[n] = '\0';
    return (struct str){p, n};
}

static bool never_sent(struct str name)
{
    static const char *const names[] = {"Host", "Content-Length", "Transfer-Encoding", "Trailer"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eqz(name, names[i])) {
            return true;
        }
    }
    return false;
}

static bool has_control(struct str v)
{
    for (size_t i = 0; i < v.n; i++) {
        unsigned char c = (unsigned char)v.p[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f) {
            return true;
        }
    }
    return false;
}

void headers_set(struct headers *h, struct str prefix, struct str name, struct str value)
{
    struct str full = canonical(h->a, prefix, name);
    if (full.n == 0 || never_sent(full)) {
        return;
    }
    h->bad |= has_control(value);
    value = str_trim(value);
    size_t at = 0;
    while (at < h->n && str_cmp(h->v[at].name, full) < 0) {
        at++;
    }
    if (at < h->n && str_eq(h->v[at].name, full)) {
        h->v[at].value = value;
        return;
    }
    if (h->n == h->cap) {
        h->cap = h->cap ? h->cap * 2 : 16;
        struct http_header *v = ARENA_ARRAY(h->a, struct http_header, h->cap);
        if (h->n) {
            memcpy(v, h->v, h->n * sizeof(*v));
        }
        h->v = v;
    }
    memmove(h->v + at + 1, h->v + at, (h->n - at) * sizeof(*h->v));
    h->v[at] = (struct http_header){full, value};
    h->n++;
}

static bool custom_headers(const struct destination *d, struct arena *a, struct strmap *out)
{
    struct str text = STR("");
    struct json v;
    *out = (struct strmap){NULL, 0};
    strmap_get(&d->config, STR("custom_headers"), &text);
    if (text.n == 0) {
        return true;
    }
    if (json_check(text, 16, &v, NULL)) {
        return false;
    }
    if (v.type == JSON_NULL) {
        return true;
    }
    struct json_iter it = json_iter(v);
    struct json e;
    while (json_next(&it, NULL, &e)) {
        if (e.type != JSON_STRING && e.type != JSON_NULL) {
            return false;
        }
    }
    return v.type == JSON_OBJECT && strmap_from_json(out, a, v) == EC_OK;
}

void headers_custom(struct headers *h, const struct destination *d)
{
    struct strmap m;
    if (custom_headers(d, h->a, &m)) {
        for (size_t i = 0; i < m.n; i++) {
            headers_set(h, STR(""), m.v[i].key, m.v[i].value);
        }
    }
}

struct str webhook_lower(struct arena *a, struct str s)
{
    char *p = arena_z(a, s);
    for (size_t i = 0; i < s.n; i++) {
        p[i] = p[i] >= 'A' && p[i] <= 'Z' ? (char)(p[i] + 32) : p[i];
    }
    return (struct str){p, s.n};
}

bool webhook_name_is_plain(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!alnum && (i == 0 || (c != '_' && c != '-'))) {
            return false;
        }
    }
    return s.n > 0;
}

bool webhook_name_is_reserved(struct str name)
{
    static const char *const names[] = {"content-type", "content-length", "host", "connection",
                                        "user-agent"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq_ci(name, str_z(names[i]))) {
            return true;
        }
    }
    return false;
}

void webhook_check_custom_headers(const struct destination *d, struct dest_problems *p)
{
    struct strmap m;
    if (!custom_headers(d, p->arena, &m)) {
        dest_problem(p, "config.custom_headers failed invalid validation");
        return;
    }
    for (size_t i = 0; i < m.n; i++) {
        struct str name = webhook_lower(p->arena, m.v[i].key), value = m.v[i].value;
        if (!webhook_name_is_plain(name)) {
            dest_problem(p, "config.custom_headers.%.*s failed pattern validation", STR_ARG(name));
        } else if (webhook_name_is_reserved(name)) {
            dest_problem(p, "config.custom_headers.%.*s is forbidden", STR_ARG(name));
        } else if (value.n == 0) {
            dest_problem(p, "config.custom_headers.%.*s is required", STR_ARG(name));
        } else if (has_control(value)) {
            dest_problem(p, "config.custom_headers.%.*s failed pattern validation", STR_ARG(name));
        }
    }
}

struct strmap webhook_metadata(const struct dest_send *rq, struct arena *a)
{
    struct strmap m = {NULL, 0};
    char text[TIME_TEXT_MAX];
    strmap_set(&m, a, STR("timestamp"),
               arena_copy(a, time_text(text, rq->now / USEC_PER_SEC * USEC_PER_SEC)));
    strmap_set(&m, a, STR("event-id"), rq->event->id);
    strmap_set(&m, a, STR("topic"), rq->event->topic);
    if (rq->conf && rq->conf->timestamp_ms) {
        strmap_set(&m, a, STR("timestamp-ms"), arena_copy(a, time_text(text, rq->now)));
    }
    const struct strmap *layers[] = {&rq->destination->delivery_metadata, &rq->event->metadata};
    for (size_t l = 0; l < ARRAY_LEN(layers); l++) {
        for (size_t i = 0; i < layers[l]->n; i++) {
            strmap_set(&m, a, layers[l]->v[i].key, layers[l]->v[i].value);
        }
    }
    return m;
}

/* ---- secrets ---- */

static struct str cred(const struct destination *d, const char *key)
{
    const struct secret *s = d ? credmap_get(&d->credentials, str_z(key)) : NULL;
    return s ? secret_reveal(s) : STR("");
}

struct str webhook_secret(const struct destination *d)
{
    return cred(d, "secret");
}

struct str webhook_previous_secret(const struct destination *d, usec_t now)
{
    struct str until = cred(d, "previous_secret_invalid_at");
    usec_t at;
    if (until.n && time_parse(until, &at, NULL) && now > at) {
        return STR("");
    }
    return cred(d, "previous_secret");
}

bool webhook_time_is_valid(struct str t)
{
    usec_t at;
    return t.n > 18 && t.p[13] == ':' && time_parse(t, &at, NULL);
}

static bool truthy(struct str v)
{
    static const char *const words[] = {"true", "1", "on", "yes"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (str_eq_ci(v, str_z(words[i]))) {
            return true;
        }
    }
    return false;
}

static struct str in_a_day(struct arena *a)
{
    char text[TIME_TEXT_MAX];
    return arena_copy(a, time_text(text, (wall_now() + ROTATION) / USEC_PER_SEC * USEC_PER_SEC));
}

static const char *const keys[] = {"secret", "previous_secret", "previous_secret_invalid_at"};

/* The three survive when they are not empty; everything else goes. */
static void keep_three(struct destination *d, struct str v[3])
{
    struct str copy[3];
    for (size_t i = 0; i < 3; i++) {
        copy[i] = arena_copy(&d->arena, v[i]);
    }
    credmap_fini(&d->credentials);
    d->credentials = (struct credmap){NULL, 0};
    for (size_t i = 0; i < 3; i++) {
        if (copy[i].n) {
            credmap_set(&d->credentials, &d->arena, str_z(keys[i]), copy[i]);
        }
        explicit_bzero((char *)(uintptr_t)copy[i].p, copy[i].n);
    }
}

static void rotate(struct destination *now, const struct destination *before,
                   struct dest_problems *p, struct str fresh)
{
    struct str old = cred(before, "secret");
    if (!before) {
        dest_problem(p, "credentials.rotate_secret failed invalid validation");
    } else if (old.n == 0) {
        dest_problem(p, "credentials.secret is required");
    } else {
        struct str until = cred(now, "previous_secret_invalid_at");
        bool carried = str_eq(until, cred(before, "previous_secret_invalid_at"));
        struct str v[3] = {fresh, old, until.n && !carried ? until : in_a_day(&now->arena)};
        keep_three(now, v);
    }
}

static bool tenant_may(const struct destination *now, const struct destination *before,
                       struct dest_problems *p)
{
    for (size_t i = 0; i < 3; i++) {
        struct str v = cred(now, keys[i]);
        if (v.n && !str_eq(v, cred(before, keys[i]))) {
            dest_problem(p, "credentials.%s is forbidden", keys[i]);
            return false;
        }
    }
    return true;
}

void webhook_prepare(const struct dest_conf *conf, struct destination *now,
                     const struct destination *before, enum dest_role role, struct dest_problems *p,
                     struct str (*generate)(const struct dest_conf *conf, struct dest_problems *p))
{
    if (truthy(cred(now, "rotate_secret"))) {
        rotate(now, before, p, generate(conf, p));
        return;
    }
    const struct destination *from = now;
    if (role == DEST_ROLE_TENANT) {
        if (!tenant_may(now, before, p)) {
            return;
        }
        from = before ? before : now;
    }
    struct str v[3];
    for (size_t i = 0; i < 3; i++) {
        v[i] = arena_copy(p->arena, cred(from, keys[i]));
    }
    if (!before && v[0].n == 0 && v[1].n == 0 && v[2].n == 0) {
        v[0] = generate(conf, p);
    }
    if (v[1].n && v[2].n == 0) {
        v[2] = in_a_day(p->arena);
    }
    keep_three(now, v);
}

void webhook_target(const struct destination *d, struct arena *a, struct dest_target *out)
{
    (void)a;
    strmap_get(&d->config, STR("url"), &out->text);
}
