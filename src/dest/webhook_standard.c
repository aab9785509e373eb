/* Webhooks in Standard Webhooks mode (standardwebhooks.com, spec destinations.md 5): key = decoded
 * secret, content id.timestamp.body, signatures "v1,<base64>". SPDX-License-Identifier: Apache-2.0
 */
#include "dest/dest.h"
#include "dest/shared/webhook.h"
#include "util/hash.h"

struct conn {
    const struct dest_conf *conf;
    struct httpc *http;
    struct hmac *current, *previous;
    usec_t previous_until;
};

#define SECRET_MOST 8192

/* The key inside "whsec_<base64>"; false when it has another form. */
static bool decode_secret(struct str secret, struct buf *out)
{
    if (!str_starts(secret, STR("whsec_")) || secret.n == 6) {
        return false;
    }
    struct buf clean;
    buf_init(&clean, SECRET_MOST);
    for (size_t i = 6; i < secret.n; i++) {
        if (secret.p[i] != '\r' && secret.p[i] != '\n') {
            buf_addc(&clean, secret.p[i]);
        }
    }
    bool ok = !clean.over && b64_decode(out, buf_str(&clean));
    if (clean.p) {
        explicit_bzero(clean.p, clean.n);
    }
    buf_fini(&clean);
    return ok;
}

static bool well_formed(struct str secret)
{
    struct buf b;
    buf_init(&b, SECRET_MOST);
    bool ok = decode_secret(secret, &b);
    buf_fini(&b);
    return ok;
}

static struct str cred(const struct destination *d, const char *key)
{
    const struct secret *s = credmap_get(&d->credentials, str_z(key));
    return s ? secret_reveal(s) : STR("");
}

static void check(const struct dest_conf *conf, const struct destination *d,
                  struct dest_problems *p)
{
    (void)conf;
    webhook_check_custom_headers(d, p);
    struct str s = cred(d, "secret"), pv = cred(d, "previous_secret"),
               t = cred(d, "previous_secret_invalid_at");
    if (p->n || (s.n == 0 && pv.n == 0 && t.n == 0)) {
        return;
    }
    if (s.n == 0) {
        dest_problem(p, "credentials.secret is required");
    } else if (!well_formed(s)) {
        dest_problem(p, "credentials.secret failed pattern validation");
    } else if (t.n && !webhook_time_is_valid(t)) {
        dest_problem(p, "credentials.previous_secret_invalid_at failed pattern validation");
    } else if (pv.n && !well_formed(pv)) {
        dest_problem(p, "credentials.previous_secret failed pattern validation");
    } else if (pv.n && t.n == 0) {
        dest_problem(p, "credentials.previous_secret_invalid_at is required");
    } else if (t.n && pv.n == 0) {
        dest_problem(p, "credentials.previous_secret is required");
    }
}

static struct str generate(const struct dest_conf *conf, struct dest_problems *p)
{
    (void)conf;
    uint8_t bytes[32];
    random_bytes(bytes, sizeof(bytes));
    struct buf b;
    buf_init(&b, 256);
    buf_addz(&b, "whsec_");
    b64_add(&b, bytes, sizeof(bytes));
    struct str out = arena_copy(p->arena, buf_str(&b));
    explicit_bzero(bytes, sizeof(bytes));
    buf_fini(&b);
    return out;
}

static void prepare(const struct dest_conf *conf, struct destination *now,
                    const struct destination *before, enum dest_role role, struct dest_problems *p)
{
    webhook_prepare(conf, now, before, role, p, generate);
}

static struct hmac *keyed(struct str secret)
{
    struct buf b;
    buf_init(&b, SECRET_MOST);
    struct hmac *h = decode_secret(secret, &b) ? hmac_new("sha256", buf_str(&b)) : NULL;
    if (b.p) {
        explicit_bzero(b.p, b.n);
    }
    buf_fini(&b);
    return h;
}

static enum ec open_conn(void *conn, const struct dest_conf *conf, struct destination *d,
                         struct httpc *http, struct err *err)
{
    struct conn *c = conn;
    *c = (struct conn){.conf = conf, .http = http, .current = keyed(webhook_secret(d))};
    if (!c->current) {
        return err_set(err, EC_INVALID, "the destination has no usable signing secret");
    }
    struct str previous = webhook_previous_secret(d, wall_now());
    if (previous.n) {
        c->previous = keyed(previous);
        time_parse(cred(d, "previous_secret_invalid_at"), &c->previous_until, NULL);
    }
    return EC_OK;
}

static void close_conn(void *conn)
{
    struct conn *c = conn;
    hmac_free(c->current);
    hmac_free(c->previous);
}

static void add_signature(struct hmac *key, struct str id, struct str seconds, struct str body,
                          struct buf *b)
{
    const struct str parts[] = {id, STR("."), seconds, STR("."), body};
    uint8_t mac[HMAC_MAX];
    size_t n = hmac_sign(key, parts, ARRAY_LEN(parts), mac);
    buf_addz(b, b->n ? " v1," : "v1,");
    b64_add(b, mac, n);
}

void webhook_standard_headers(void *conn, const struct dest_send *rq, struct headers *h)
{
    struct conn *c = conn;
    struct str prefix = c->conf->header_prefix;
    struct arena *a = h->a;
    struct str seconds = arena_printf(a, "%lld", (long long)(rq->now / USEC_PER_SEC));
    headers_set(h, STR(""), STR("content-type"), STR("application/json"));
    headers_custom(h, rq->destination);
    headers_set(h, prefix, STR("id"), rq->event->id);
    headers_set(h, prefix, STR("timestamp"), seconds);
    char space[512];
    struct buf value = {.p = space, .cap = sizeof(space) - 1, .max = sizeof(space) - 1};
    add_signature(c->current, rq->event->id, seconds, rq->event->data, &value);
    if (c->previous && rq->now <= c->previous_until) {
        add_signature(c->previous, rq->event->id, seconds, rq->event->data, &value);
    }
    headers_set(h, prefix, STR("signature"), arena_copy(a, buf_str(&value)));
    struct strmap m = webhook_metadata(rq, a);
    for (size_t i = 0; i < m.n; i++) {
        if (!str_eqz(m.v[i].key, "event-id") && !str_eqz(m.v[i].key, "timestamp")) {
            headers_set(h, prefix, m.v[i].key, m.v[i].value);
        }
    }
    for (size_t i = 0; i < rq->event->metadata.n; i++) {
        headers_set(h, STR(""), rq->event->metadata.v[i].key, rq->event->metadata.v[i].value);
    }
}

static void send_event(void *conn, struct dest_send *rq)
{
    struct conn *c = conn;
    struct headers h = {.a = &rq->arena};
    webhook_standard_headers(c, rq, &h);
    webhook_post(c->http, c->conf, rq, &h);
}

const struct dest_ops dest_webhook_standard = {
    .type = "webhook",
    .label = "Webhook",
    .description = "Send events by HTTP POST to a URL",
    .icon_svg = webhook_icon,
    .instructions = "Give the URL that receives your events. Requests follow the Standard Webhooks "
                    "specification: verify them with any"
                    " of its libraries and the destination's secret.",
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
