/* Fuzz target: requests as an HTTP client sends them. The first byte says in pieces of which size
 * they arrive; the rest is the wire. What it looks for, beside crashes: anything read differently
 * when it comes in one piece, and a request that breaks what handlers rely on.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "io/httpd_priv.h"

#define BODY_MOST 4096
#define OUT_MOST (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool one_line(struct str s)
{
    return !s.n || (!memchr(s.p, '\r', s.n) && !memchr(s.p, '\n', s.n) && !memchr(s.p, '\0', s.n));
}

static void check(const struct http_parse *p)
{
    const struct http_req *rq = p->rq;
    unsigned hosts = 0;
    for (size_t i = 0; i < rq->header_count; i++) {
        assert(rq->headers[i].name.n && one_line(rq->headers[i].name));
        assert(one_line(rq->headers[i].value));
        hosts += str_eq_ci(rq->headers[i].name, STR("host"));
    }
    assert(hosts == 1 || (hosts == 0 && p->old));
    assert(rq->header_count <= HEADER_LINES_MOST);
    assert(rq->method.n && rq->path.n && rq->body.n <= BODY_MOST);
    assert(one_line(rq->target) && !memchr(rq->target.p, ' ', rq->target.n));
    assert(rq->has_length || rq->body.n == 0);
}

static void note(struct buf *out, const struct http_parse *p)
{
    const struct http_req *rq = p->rq;
    buf_addf(out, "%d %.*s|%.*s|%.*s|%.*s\n", p->keep_alive, STR_ARG(rq->method), STR_ARG(rq->path),
             STR_ARG(rq->query), STR_ARG(rq->body));
    for (size_t i = 0; i < rq->header_count; i++) {
        buf_addf(out, "%.*s=%.*s\n", STR_ARG(rq->headers[i].name), STR_ARG(rq->headers[i].value));
    }
}

/* Feeds as a connection does: what is left over is given again with more behind it. */
static void run(struct http_pool *pool, struct str wire, size_t piece, struct buf *out)
{
    struct http_parse p;
    http_parse_init(&p, pool, BODY_MOST);
    size_t at = 0, here = 0;
    bool refused = false;
    while (!refused && here < wire.n) {
        here = MIN(wire.n, here + piece);
        struct str bytes = str_sub(wire, at, here - at);
        size_t before = SIZE_MAX;
        while (!refused && bytes.n && bytes.n < before) {
            before = bytes.n;
            /* a copy of its own, so that reading beyond it shows */
            char *copy = xmalloc(bytes.n);
            struct str view = {memcpy(copy, bytes.p, bytes.n), bytes.n};
            enum parsed parsed = http_parse(&p, &view);
            free(copy);
            at += bytes.n - view.n;
            bytes = str_sub(wire, at, here - at);
            if (parsed == PARSED_WHOLE) {
                check(&p);
                note(out, &p);
                http_parse_fini(&p);
            }
            refused = parsed == PARSED_REFUSED;
        }
    }
    if (refused) {
        assert(p.status >= 400 && p.status <= 505);
        buf_addz(out, "refused\n");
    }
    http_parse_fini(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > HEAD_MOST) {
        return 0;
    }
    CLEANUP(buf_fini) struct buf whole, pieces;
    struct http_pool pool;
    struct str wire = {(const char *)data + 1, size - 1};
    http_pool_init(&pool);
    buf_init(&whole, OUT_MOST);
    buf_init(&pieces, OUT_MOST);
    run(&pool, wire, wire.n, &whole);
    run(&pool, wire, 1 + (size_t)data[0] % 64, &pieces);
    assert(str_eq(buf_str(&whole), buf_str(&pieces)));
    http_pool_fini(&pool);
    return 0;
}
