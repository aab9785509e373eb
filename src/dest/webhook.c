/* Webhooks in default mode: HMAC over a templated content, one templated signature header. Spec:
 * destinations.md 4. SPDX-License-Identifier: Apache-2.0 */
#include "dest/dest.h"
#include "dest/shared/template.h"
#include "dest/shared/webhook.h"
#include "util/hash.h"
#include "util/id.h"

#define SIGNATURE_MOST 8192
#define ALNUM_LENGTH 32

struct conn {
    const struct dest_conf *conf;
    struct httpc *http;
    struct hmac *current, *previous; /* keyed once */
    usec_t previous_until;
    struct template *content, *header; /* NULL: the default form, written directly */
};

static bool is_default_content(struct str t)
{
    return str_eqz(t, "{{.Body}}");
}

static bool is_default_header(struct str t)
{
    return str_eqz(t, "v0={{.Signatures | join \",\"}}");
}

static void check(const struct dest_conf *conf, const struct destination *d,
                  struct dest_problems *p)
{
    (void)conf;
    webhook_check_custom_headers(d, p);
    if (p->n) {
        return;
    }
    const struct secret *s = credmap_get(&d->credentials, STR("secret"));
    const struct secret *pv = credmap_get(&d->credentials, STR("previous_secret"));
    const struct secret *t = credmap_get(&d->credentials, STR("previous_secret_invalid_at"));
    bool has_s = s && secret_is_set(s), has_p = pv && secret_is_set(pv),
         has_t = t && secret_is_set(t);
    if (!has_s && !has_p && !has_t) {
        return;
    }
    if (!has_s) {
        dest_problem(p, "credentials.secret is required");
    } else if (has_t && !webhook_time_is_valid(secret_reveal(t))) {
        dest_problem(p, "credentials.previous_secret_invalid_at failed pattern validation");
    } else if (has_p && !has_t) {
        dest_problem(p, "credentials.previous_secret_invalid_at is required");
    } else if (has_t && !has_p) {
        dest_problem(p, "credentials.previous_secret is required");
    }
}

static struct str render_secret(const struct dest_conf *conf, const struct template_input *in,
                                struct dest_problems *p)
{
    struct template *t = NULL;
    struct err err = {0};
    CLEANUP(buf_fini) struct buf out;
    buf_init(&out, SIGNATURE_MOST);
    if (template_new(conf->secret_template, TEMPLATE_SECRET, &t, &err) ||
        template_try(t, in, &out, &err)) {
        dest_problem(p, "failed to execute signing secret template: %s", err.text);
    }
    template_free(t);
    return arena_copy(p->arena, buf_str(&out));
}

static struct str generate(const struct dest_conf *conf, struct dest_problems *p)
{
    uint8_t bytes[32];
    char alnum[2 * ID_TEXT_MAX];
    random_bytes(bytes, sizeof(bytes));
    CLEANUP(buf_fini) struct buf hex, b64;
    buf_init(&hex, 128);
    buf_init(&b64, 128);
    hex_add(&hex, bytes, sizeof(bytes));
    b64_add(&b64, bytes, sizeof(bytes));
    id_text(ID_NANOID, alnum);
    id_text(ID_NANOID, alnum + 16);
    struct template_input in = {.random_hex = buf_str(&hex),
                                .random_base64 = buf_str(&b64),
                                .random_alphanumeric = {alnum, ALNUM_LENGTH}};
    struct str secret = render_secret(conf, &in, p);
    explicit_bzero(bytes, sizeof(bytes));
    explicit_bzero(alnum, sizeof(alnum));
    return secret;
}

static void prepare(const struct dest_conf *conf, struct destination *now,
                    const struct destination *before, enum dest_role role, struct dest_problems *p)
{
    webhook_prepare(conf, now, before, role, p, generate);
}

static enum ec open_conn(void *conn, const struct dest_conf *conf, struct destination *d,
                         struct httpc *http, struct err *err)
{
    struct conn *c = conn;
    *c = (struct conn){.conf = conf, .http = http};
    c->current = hmac_new(conf->algorithm, webhook_secret(d));
    struct str previous = webhook_previous_secret(d, wall_now());
    if (previous.n) {
        c->previous = hmac_new(conf->algorithm, previous);
        time_parse(secret_reveal(credmap_get(&d->credentials, STR("previous_secret_invalid_at"))),
                   &c->previous_until, NULL);
    }
    enum ec ec = EC_OK;
    if (!is_default_content(conf->content_template)) {
        ec = template_new(conf->content_template, TEMPLATE_CONTENT, &c->content, err);
    }
    if (!ec && !is_default_header(conf->header_template)) {
        ec = template_new(conf->header_template, TEMPLATE_HEADER, &c->header, err);
    }
    return ec;
}

static void close_conn(void *conn)
{
    struct conn *c = conn;
    hmac_free(c->current);
    hmac_free(c->previous);
    template_free(c->content);
    template_free(c->header);
}

static struct str sign_one(struct conn *c, struct hmac *key, struct str content, struct arena *a)
{
    uint8_t mac[HMAC_MAX];
    size_t n = hmac_sign(key, &content, 1, mac);
    char space[160];
    struct buf b = {.p = space, .cap = sizeof(space) - 1, .max = sizeof(space) - 1};
    if (c->conf->base64) {
        b64_add(&b, mac, n);
    } else {
        hex_add(&b, mac, n);
    }
    return arena_copy(a, buf_str(&b));
}

/* "" when the template gives nothing; false: it cannot be rendered. */
static bool signature(struct conn *c, const struct dest_send *rq, struct arena *a, struct str *out)
{
    struct str list[2];
    struct template_input in = {.event_id = rq->event->id,
                                .topic = rq->event->topic,
                                .body = rq->event->data,
                                .now = rq->now,
                                .signatures = list};
    struct buf content, header;
    buf_init(&content, rq->event->data.n * 8 + SIGNATURE_MOST);
    buf_init(&header, SIGNATURE_MOST);
    bool ok = !c->content || template_render(c->content, &in, &content);
    struct str what = c->content ? buf_str(&content) : rq->event->data;
    list[in.signature_count++] = sign_one(c, c->current, what, a);
    if (c->previous && rq->now <= c->previous_until) {
        list[in.signature_count++] = sign_one(c, c->previous, what, a);
    }
    if (c->header) {
        ok = ok && template_render(c->header, &in, &header);
    } else {
        buf_addz(&header, "v0=");
        for (size_t i = 0; i < in.signature_count; i++) {
            buf_addz(&header, i ? "," : "");
            buf_adds(&header, list[i]);
        }
    }
    *out = arena_copy(a, buf_str(&header));
    buf_fini(&content);
    buf_fini(&header);
    return ok;
}

static void add_metadata(const struct dest_conf *conf, const struct dest_send *rq,
                         struct headers *h)
{
    struct strmap m = webhook_metadata(rq, h->a);
    for (size_t i = 0; i < m.n; i++) {
        struct str key = m.v[i].key;
        const struct str *fixed = str_eqz(key, "event-id")    ? &conf->event_id_header
                                  : str_eqz(key, "timestamp") ? &conf->timestamp_header
                                  : str_eqz(key, "topic")     ? &conf->topic_header
                                                              : NULL;
        if (!fixed) {
            headers_set(h, conf->header_prefix, key, m.v[i].value);
        } else if (fixed->n) {
            headers_set(h, STR(""), *fixed, m.v[i].value);
        }
    }
}

bool webhook_default_headers(void *conn, const struct dest_send *rq, struct headers *h)
{
    struct conn *c = conn;
    struct str value = STR("");
    headers_set(h, STR(""), STR("content-type"), STR("application/json"));
    headers_custom(h, rq->destination);
    add_metadata(c->conf, rq, h);
    if (c->conf->signature_header.n && !signature(c, rq, h->a, &value)) {
        return false;
    }
    if (value.n) {
        headers_set(h, STR(""), c->conf->signature_header, value);
    }
    return true;
}

static void send_event(void *conn, struct dest_send *rq)
{
    struct conn *c = conn;
    struct headers h = {.a = &rq->arena};
    if (webhook_default_headers(c, rq, &h)) {
        webhook_post(c->http, c->conf, rq, &h);
    } else {
        webhook_fail(rq, "ERR", "could not format event for delivery");
    }
}

const struct dest_ops dest_webhook = {
    .type = "webhook",
    .label = "Webhook",
    .description = "Send events by HTTP POST to a URL",
    .icon_svg = webhook_icon,
    .instructions = "Give the URL that receives your events. Each request carries a signature made "
                    "with the destination's secret;"
                    " verify it before you trust the body.",
    .fields = webhook_fields,
    .conn_size = sizeof(struct conn),
    .keeps_unknown_clear = true,
    .check = check,
    .prepare = prepare,
    .target = webhook_target,
    .open = open_conn,
    .send = send_event,
    .close = close_conn,
};
