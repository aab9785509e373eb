/* Who asks: the admin key, or a tenant's token (JWT, RFC 7519, HMAC algorithms only). Spec: api.md 5.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "api/call.h"
#include "util/hash.h"

#define TOKEN_LIFE 86400

static bool decode_part(struct call *c, struct str part, struct json *out)
{
    struct buf b;
    buf_init(&b, 64 * 1024);
    bool ok = b64url_decode(&b, part);
    struct str text = arena_copy(c->a, buf_str(&b));
    buf_fini(&b);
    return ok && json_check(text, 64, out, NULL) == EC_OK && out->type == JSON_OBJECT;
}

static bool signature_holds(struct call *c, struct str alg, struct str signed_part, struct str signature)
{
    const char *digest = str_eqz(alg, "HS256")   ? "sha256"
                         : str_eqz(alg, "HS384") ? "sha384"
                         : str_eqz(alg, "HS512") ? "sha512"
                                                 : NULL;
    if (!digest) {
        return false;
    }
    struct hmac *h = hmac_new(digest, secret_reveal(c->api->conf.jwt_secret));
    if (!h) {
        return false;
    }
    uint8_t mac[HMAC_MAX];
    size_t n = hmac_sign(h, &signed_part, 1, mac);
    hmac_free(h);
    CLEANUP(buf_fini) struct buf given;
    buf_init(&given, 256);
    return b64url_decode(&given, signature) && equal_ct(buf_str(&given), (struct str){(char *)mac, n});
}

/* A numeric date claim against now; true when it does not stand in the way. */
static bool date_holds(struct json v, bool expires)
{
    if (v.type == JSON_NONE) {
        return true;
    }
    if (v.type != JSON_NUMBER) {
        return false;
    }
    char text[64];
    struct str s = str_sub(v.raw, 0, sizeof(text) - 1);
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    double at = strtod(text, NULL);
    double now = (double)(wall_now() / USEC_PER_SEC);
    if (expires) {
        return at == 0 || now < (double)(int64_t)at;
    }
    return at <= now;
}

static bool jwt_verify(struct call *c, struct str token, struct str *out_subject)
{
    struct str rest = token, head, body, signature;
    struct json h, p;
    if (!str_split(&rest, '.', &head) || !str_split(&rest, '.', &body) || !rest.p) {
        return false;
    }
    signature = rest;
    if (memchr(signature.p, '.', signature.n) || !decode_part(c, head, &h) || !decode_part(c, body, &p)) {
        return false;
    }
    struct str alg = json_text(json_get(h, STR("alg")), c->a);
    struct str signed_part = {token.p, head.n + 1 + body.n};
    if (!signature_holds(c, alg, signed_part, signature)) {
        return false;
    }
    struct json sub = json_get(p, STR("sub"));
    if (!json_is_text(json_get(p, STR("iss")), STR("outpost")) || !date_holds(json_get(p, STR("exp")), true) ||
        !date_holds(json_get(p, STR("nbf")), false) || (sub.type != JSON_NONE && sub.type != JSON_STRING)) {
        return false;
    }
    *out_subject = json_text(sub, c->a);
    return true;
}

struct str jwt_issue(struct call *c, struct str tenant_id)
{
    struct buf b;
    buf_init(&b, 1024 * 1024);
    int64_t now = wall_now() / USEC_PER_SEC;
    struct jsonw w;
    jw_init(&w, &b, true);
    jw_obj(&w);
    if (c->api->conf.deployment_id.n) {
        jw_kstr(&w, "deployment_id", c->api->conf.deployment_id);
    }
    jw_kint(&w, "exp", now + TOKEN_LIFE);
    jw_kint(&w, "iat", now);
    jw_kstr(&w, "iss", STR("outpost"));
    jw_kstr(&w, "sub", tenant_id);
    jw_obj_end(&w);
    struct str payload = arena_copy(c->a, buf_str(&b));
    buf_reset(&b);
    static const char head[] = "{\"alg\":\"HS256\",\"typ\":\"JWT\"}";
    b64url_add(&b, (const uint8_t *)head, sizeof(head) - 1);
    buf_addc(&b, '.');
    b64url_add(&b, (const uint8_t *)payload.p, payload.n);
    struct hmac *h = hmac_new("sha256", secret_reveal(c->api->conf.jwt_secret));
    uint8_t mac[HMAC_MAX];
    struct str part = buf_str(&b);
    size_t n = hmac_sign(h, &part, 1, mac);
    hmac_free(h);
    buf_addc(&b, '.');
    b64url_add(&b, mac, n);
    struct str out = arena_copy(c->a, buf_str(&b));
    buf_fini(&b);
    return out;
}

static void on_tenant(struct op *op)
{
    struct call *c = CONTAINER_OF(op, struct call, tenant_get.op);
    if (op->err.code == EC_NOT_FOUND) {
        if (c->role == ROLE_ADMIN) {
            reply_error(c, 404, "tenant not found");
        } else {
            reply_bare(c, 401);
        }
        return;
    }
    if (op->err.code) {
        reply_internal(c, &op->err);
        return;
    }
    c->tenant = c->tenant_get.out;
    c->route->handle(c);
}

static void resolve(struct call *c, struct str id)
{
    if (id.n == 0) {
        if (c->role == ROLE_ADMIN) {
            reply_error(c, 404, "tenant not found");
        } else {
            reply_bare(c, 401);
        }
        return;
    }
    c->tenant_get = (struct tenant_get){
        .op = {.done = on_tenant, .io = io_self(), .deadline = mono_now() + 10 * NSEC_PER_SEC},
        .id = id,
        .with_destinations = true,
    };
    store_tenant_get(c->api->store, &c->tenant_get);
}

static bool names_tenant(const struct route *r)
{
    return strstr(r->path, ":tenant_id") != NULL;
}

void api_authenticate(struct call *c)
{
    struct str path_tenant = names_tenant(c->route) ? c->params[0] : STR("");
    struct str given = http_req_header(c->rq, "authorization");
    struct str token = str_sub(given, 7, given.n);
    c->role = ROLE_ADMIN;
    if (!c->api->conf.no_auth) {
        if (!str_starts(given, STR("Bearer ")) || token.n == 0) {
            reply_bare(c, 401);
            return;
        }
        if (!secret_equal(c->api->conf.api_key, token)) {
            c->role = ROLE_TENANT;
        }
    }
    if (c->role == ROLE_ADMIN) {
        if (c->route->tenant_needed) {
            resolve(c, path_tenant);
        } else {
            c->route->handle(c);
        }
        return;
    }
    if (!jwt_verify(c, token, &c->token_tenant)) {
        reply_bare(c, 401);
    } else if (c->route->admin_only || (path_tenant.n && !str_eq(path_tenant, c->token_tenant))) {
        reply_bare(c, 403);
    } else {
        resolve(c, c->token_tenant);
    }
}
