/* Sending a webhook and judging the answer: codes of attempts, what is kept of a body, whose fault
 * it is when a proxy stands between. Not for headers and signatures: webhook.c. Spec:
 * destinations.md 3.4 to 3.7; only 2xx succeeds, redirects are not followed.
 * SPDX-License-Identifier: Apache-2.0 */
#include <zlib.h>

#include "core/backoff.h"
#include "dest/shared/url.h"
#include "dest/shared/webhook.h"
#include "util/hash.h"

#define STORED_MOST ((size_t)16 * 1024 * 1024)
#define ERROR_MOST 4096
#define USER_MOST 65536
#define UNPARSABLE "could not format event for delivery"

struct post {
    struct dest_send *rq;
    const struct dest_conf *conf;
    bool asked_gzip; /* by us: so it is undone by us */
    struct httpc_req http;
};

static size_t stored_most(const struct dest_conf *conf)
{
    return conf->response_max && conf->response_max < STORED_MOST ? conf->response_max
                                                                  : STORED_MOST;
}

void webhook_fail(struct dest_send *rq, const char *code, const char *error)
{
    rq->outcome = (struct outcome){.code = str_z(code), .retry_after_s = -1};
    if (error) {
        CLEANUP(buf_fini) struct buf b;
        buf_init(&b, ERROR_MOST);
        buf_addz(&b, "{\"error\":");
        json_add_string(&b, str_z(error), false);
        buf_addc(&b, '}');
        rq->outcome.response = arena_copy(&rq->arena, buf_str(&b));
    }
    op_finish(&rq->op, EC_OK, NULL);
}

/* ---- proxies ---- */

/* Why the proxy's Envoy could not reach the destination; NULL: it does not say. */
static const char *envoy_code(const struct httpc_req *h)
{
    static const struct {
        const char *flag, *code;
    } flags[] = {
        {"UF", "connection_refused"},
        {"UH", "connection_refused"},
        {"LH", "connection_refused"},
        {"UC", "connection_reset"},
        {"UR", "connection_reset"},
        {"LR", "connection_reset"},
        {"UT", "timeout"},
        {"SI", "timeout"},
        {"DT", "timeout"},
        {"UMSDR", "timeout"},
        {"DF", "dns_error"},
        {"NR", "network_unreachable"},
        {"NC", "network_unreachable"},
        {"UPE", "protocol_error"},
        {"DPE", "protocol_error"},
    };
    struct str said = httpc_header(h, "x-envoy-response-flags");
    if (said.n == 0 || str_eqz(said, "-")) {
        return NULL;
    }
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        if (str_eqz(said, flags[i].flag)) {
            return flags[i].code;
        }
    }
    return "network_error";
}

/* The proxy itself is at fault when it is away or refuses us; otherwise it speaks of the
 * destination. */
static void judge_proxy(struct dest_send *rq, const struct httpc_req *h)
{
    int status = h->proxy_status;
    const char *code = envoy_code(h);
    if (status == 0) {
        webhook_fail(rq, "network_error", "the webhook proxy could not be reached");
    } else if (status == 401 || status == 403 || status == 407) {
        webhook_fail(rq, "network_error", "the webhook proxy refused the connection");
    } else {
        webhook_fail(rq, code ? code : "connection_refused", NULL);
    }
}

/* ---- codes ---- */

static const char *code_of(enum httpc_fail fail)
{
    switch (fail) {
    case HTTPC_DNS:
        return "dns_error";
    case HTTPC_REFUSED:
        return "connection_refused";
    case HTTPC_RESET:
        return "connection_reset";
    case HTTPC_UNREACHABLE:
        return "network_unreachable";
    case HTTPC_TIMEOUT:
        return "timeout";
    case HTTPC_TLS:
    case HTTPC_PLAIN_HTTP:
        return "tls_error";
    case HTTPC_BLOCKED:
        return "address_blocked";
    case HTTPC_OK:
    case HTTPC_CLOSED:
    case HTTPC_PROXY:
    case HTTPC_PROTOCOL:
    case HTTPC_HEADER:
    case HTTPC_URL:
    case HTTPC_OTHER:
        return "network_error";
    }
    return "network_error";
}

/* ---- bodies ---- */

/* As much as can be decompressed, up to the bound; bad input ends it, as a cut connection ends a
 * plain body. */
static void gunzip(struct str in, struct buf *out)
{
    z_stream z = {0};
    if (inflateInit2(&z, 16 + MAX_WBITS) != Z_OK) {
        return;
    }
    z.next_in = (Bytef *)(uintptr_t)in.p;
    z.avail_in = (uInt)in.n;
    char chunk[16384];
    int rc = Z_OK;
    while (rc == Z_OK && !out->over) {
        z.next_out = (Bytef *)chunk;
        z.avail_out = sizeof(chunk);
        rc = inflate(&z, Z_NO_FLUSH);
        buf_add(out, chunk, sizeof(chunk) - z.avail_out);
        if (rc == Z_STREAM_END && z.avail_in) {
            rc = inflateReset(&z); /* another member follows */
        }
    }
    inflateEnd(&z);
}

static void add_response(struct post *p, struct buf *b)
{
    const struct httpc_req *h = &p->http;
    size_t most = stored_most(p->conf);
    struct str body = buf_str(&h->body_out);
    bool over = h->truncated || body.n > most;
    CLEANUP(buf_fini) struct buf plain;
    buf_init(&plain, most);
    if (p->asked_gzip && body.n && str_eq_ci(httpc_header(h, "content-encoding"), STR("gzip"))) {
        gunzip(body, &plain);
        body = buf_str(&plain);
        over = plain.over || h->truncated;
    }
    buf_addf(b, "{\"status\":%d,\"body\":", h->status);
    if (over) {
        buf_addf(b, "\"Response body exceeded %zu bytes and was not stored\"", most);
    } else {
        json_add_string(b, body, false);
    }
    buf_addc(b, '}');
}

/* ---- answers ---- */

static void judge_answer(struct post *p)
{
    struct dest_send *rq = p->rq;
    struct httpc_req *h = &p->http;
    struct outcome *o = &rq->outcome;
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, STORED_MOST * 6);
    add_response(p, &b);
    *o = (struct outcome){
        .response = arena_copy(&rq->arena, buf_str(&b)),
        .code = arena_printf(&rq->arena, "%d", h->status),
        .delivered = h->status >= 200 && h->status < 300,
        .gone = h->status == 410,
        .retry_after_s = -1,
    };
    if (h->status == 429 || h->status == 503) {
        struct str after = httpc_header(h, "retry-after");
        if (!after.p || !retry_after_parse(after, wall_now(), &o->retry_after_s)) {
            o->retry_after_s = -1;
        }
    }
    op_finish(&rq->op, EC_OK, NULL);
}

static void judge(struct post *p)
{
    struct httpc_req *h = &p->http;
    bool by_proxy = h->proxy.n && str_starts(h->url, STR("http://"));
    const char *flagged = h->fail == HTTPC_OK && by_proxy ? envoy_code(h) : NULL;
    if (h->fail == HTTPC_PROXY) {
        judge_proxy(p->rq, h);
    } else if (h->fail != HTTPC_OK) {
        webhook_fail(p->rq, code_of(h->fail), h->fail == HTTPC_BLOCKED ? h->fail_text : NULL);
    } else if (flagged) {
        webhook_fail(p->rq, flagged, NULL);
    } else if (h->status >= 300 && h->status < 400 && httpc_header(h, "location").n) {
        webhook_fail(p->rq, "redirect_error", NULL);
    } else {
        judge_answer(p);
    }
}

static void posted(struct op *op)
{
    struct post *p = CONTAINER_OF(op, struct post, http.op);
    p->rq->ended = p->http.ended;
    p->rq->op.cancel = NULL;
    if (op->err.code) {
        p->rq->outcome.no_attempt = true;
        op_finish(&p->rq->op, op->err.code, op->err.text);
    } else {
        judge(p);
    }
    httpc_req_fini(&p->http);
}

/* ---- sending ---- */

static bool has_header(const struct headers *h, const char *name)
{
    for (size_t i = 0; i < h->n; i++) {
        if (str_eqz(h->v[i].name, name)) {
            return true;
        }
    }
    return false;
}

static void set_authorization(struct headers *h, struct str user)
{
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, USER_MOST);
    buf_addz(&b, "Basic ");
    b64_add(&b, (const uint8_t *)user.p, user.n);
    headers_set(h, STR(""), STR("authorization"), arena_copy(h->a, buf_str(&b)));
}

static void on_cancel(struct op *op)
{
    struct dest_send *rq = CONTAINER_OF(op, struct dest_send, op);
    struct post *p = rq->impl;
    op_cancel(&p->http.op);
}

static void send_post(struct httpc *http, struct post *p, struct str url, struct headers *h)
{
    struct dest_send *rq = p->rq;
    size_t most = stored_most(p->conf);
    p->http = (struct httpc_req){
        .op = {.done = posted, .io = rq->op.io, .deadline = rq->op.deadline},
        .method = STR("POST"),
        .url = url,
        .headers = h->v,
        .header_count = h->n,
        .body = rq->event->data,
        .proxy = p->conf->proxy_url,
        .max_response =
            most + most / 64 + 64, /* gzip makes what it cannot compress a little longer */
    };
    rq->impl = p;
    rq->op.cancel = on_cancel;
    httpc_send(http, &p->http);
}

void webhook_post(struct httpc *http, const struct dest_conf *conf, struct dest_send *rq,
                  struct headers *h)
{
    struct str text = STR("");
    struct target_url target;
    strmap_get(&rq->destination->config, STR("url"), &text);
    if (!target_url_parse(text, &rq->arena, &target)) {
        webhook_fail(rq, "ERR", UNPARSABLE);
        return;
    }
    if (target.user.p && !has_header(h, "Authorization")) {
        set_authorization(h, target.user);
    }
    struct post *p = ARENA_NEW(&rq->arena, struct post);
    *p = (struct post){.rq = rq, .conf = conf, .asked_gzip = !has_header(h, "Accept-Encoding")};
    headers_set(h, STR(""), STR("user-agent"), conf->user_agent);
    if (p->asked_gzip) {
        headers_set(h, STR(""), STR("accept-encoding"), STR("gzip"));
    }
    if (h->bad) {
        webhook_fail(rq, "network_error", NULL);
        return;
    }
    send_post(http, p, target.url, h);
}
