/* From bytes to requests, without sockets or clocks. A head is looked at line by line as it comes,
 * taken whole into the request's own memory, and given to llhttp in one go, so that header texts
 * are spans of that memory. Bodies with a length are copied; chunks go through llhttp. What a head
 * may say: httpd_head.c. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "io/httpd_priv.h"

#define SPARE_MOST 64
#define BLANK_LINES_MOST 4

/* ---- requests to use again ---- */

struct http_pooled {
    struct list link;
    struct http_req rq;
    struct buf body;
};

void http_pool_init(struct http_pool *pool)
{
    list_init(&pool->spare);
    pool->count = 0;
}

void http_pool_fini(struct http_pool *pool)
{
    struct list *l;
    while ((l = list_pop(&pool->spare))) {
        http_pool_give(NULL, &CONTAINER_OF(l, struct http_pooled, link)->rq);
    }
    pool->count = 0;
}

struct http_req *http_pool_take(struct http_pool *pool)
{
    struct list *l = list_pop(&pool->spare);
    if (l) {
        pool->count--;
        return &CONTAINER_OF(l, struct http_pooled, link)->rq;
    }
    struct http_pooled *p = xcalloc(1, sizeof(*p));
    arena_init(&p->rq.arena);
    return &p->rq;
}

void http_pool_give(struct http_pool *pool, struct http_req *rq)
{
    struct http_pooled *p = CONTAINER_OF(rq, struct http_pooled, rq);
    buf_fini(&p->body);
    if (!pool || pool->count >= SPARE_MOST) {
        arena_fini(&rq->arena);
        free(p);
        return;
    }
    arena_reset(&rq->arena);
    *rq = (struct http_req){.arena = rq->arena};
    list_push_front(&pool->spare, &p->link);
    pool->count++;
}

struct buf *http_req_body(struct http_req *rq)
{
    return &CONTAINER_OF(rq, struct http_pooled, rq)->body;
}

/* ---- llhttp's callbacks ---- */

static int on_header_field(llhttp_t *l, const char *at, size_t n)
{
    struct http_parse *p = l->data;
    struct http_req *rq = p->rq;
    if (rq->header_count == p->header_room) {
        p->header_room = p->header_room ? p->header_room * 2 : 16;
        struct http_header *v =
            arena_alloc(&rq->arena, p->header_room * sizeof(struct http_header));
        if (rq->header_count) {
            memcpy(v, rq->headers, rq->header_count * sizeof(*v));
        }
        rq->headers = v;
    }
    rq->headers[rq->header_count++] = (struct http_header){{at, n}, {at + n, 0}};
    return 0;
}

/* The whole head is one piece of memory, so parts of a value are neighbours. */
static int on_header_value(llhttp_t *l, const char *at, size_t n)
{
    struct http_parse *p = l->data;
    struct str *v = &p->rq->headers[p->rq->header_count - 1].value;
    v->p = v->n ? v->p : at;
    v->n = (size_t)(at + n - v->p);
    return 0;
}

static int on_headers_complete(llhttp_t *l)
{
    (void)l;
    return HPE_PAUSED;
}

static int on_body(llhttp_t *l, const char *at, size_t n)
{
    struct http_parse *p = l->data;
    struct buf *body = http_req_body(p->rq);
    buf_add(body, at, n);
    if (body->over) {
        p->status = 413;
    }
    return body->over ? HPE_USER : 0;
}

/* llhttp is lax about the lines behind the last chunk: they are ours. */
static int on_chunk_header(llhttp_t *l)
{
    struct http_parse *p = l->data;
    p->in_trailer = l->content_length == 0;
    return p->in_trailer ? HPE_PAUSED : 0;
}

static const llhttp_settings_t settings = {
    .on_header_field = on_header_field,
    .on_header_value = on_header_value,
    .on_headers_complete = on_headers_complete,
    .on_chunk_header = on_chunk_header,
    .on_body = on_body,
};

/* ---- heads ---- */

static void drop(struct str *bytes, size_t n)
{
    *bytes = (struct str){bytes->p + n, bytes->n - n};
}

/* RFC 9112 2.2: an empty line or two may come before a request. Then a letter, or it is not HTTP.
 */
static void begin_head(struct http_parse *p, struct str *bytes)
{
    while (str_starts(*bytes, STR("\r\n"))) {
        drop(bytes, 2);
        p->scanned = 0;
        if (++p->blank > BLANK_LINES_MOST) {
            p->status = 400;
            return;
        }
    }
    bool partial = bytes->n == 1 && bytes->p[0] == '\r';
    if (bytes->n && !partial && (bytes->p[0] <= ' ' || bytes->p[0] > '~')) {
        p->status = 400;
    }
}

/* Looks at the lines that are new. Returns the head's length once its empty line is here, else 0.
 */
static size_t scan_head(struct http_parse *p, struct str bytes)
{
    while (p->scanned < bytes.n && p->scanned < HEAD_MOST) {
        size_t span = MIN(bytes.n, HEAD_MOST) - p->scanned;
        const char *lf = memchr(bytes.p + p->scanned, '\n', span);
        if (!lf) {
            p->scanned += span;
            break;
        }
        size_t end = (size_t)(lf - bytes.p) + 1;
        struct str line = {bytes.p + p->line, end - p->line};
        p->status = http_check_line(line, p->lines == 0);
        if (p->status || line.n == 2) {
            return p->status ? 0 : end;
        }
        p->line = p->scanned = end;
        if (++p->lines > HEADER_LINES_MOST + 1) {
            break;
        }
    }
    if (p->scanned >= HEAD_MOST || p->lines > HEADER_LINES_MOST + 1) {
        p->status = 431;
    }
    return 0;
}

/* llhttp sees the request line in one form only; ours has been judged already. */
static int parse_fields(struct http_parse *p, struct str fields)
{
    struct str line = p->old ? STR("GET / HTTP/1.0\r\n") : STR("GET / HTTP/1.1\r\n");
    llhttp_init(&p->llhttp, HTTP_REQUEST, &settings);
    p->llhttp.data = p;
    if (llhttp_execute(&p->llhttp, line.p, line.n) != HPE_OK ||
        llhttp_execute(&p->llhttp, fields.p, fields.n) != HPE_PAUSED) {
        return 400;
    }
    p->keep_alive = llhttp_should_keep_alive(&p->llhttp);
    p->llhttp.upgrade = 0; /* offers to speak something else are not taken up */
    return 0;
}

static int parse_head(struct http_parse *p, struct str head)
{
    p->rq = http_pool_take(p->pool);
    head = arena_copy(&p->rq->arena, head);
    size_t first = (size_t)((const char *)memchr(head.p, '\n', head.n) - head.p) + 1;
    int status = http_request_line(p, str_sub(head, 0, first));
    status = status ? status : parse_fields(p, str_sub(head, first, head.n));
    return status ? status : http_check_headers(p);
}

static enum parsed take_head(struct http_parse *p, struct str *bytes)
{
    if (p->lines == 0) {
        begin_head(p, bytes);
    }
    size_t n = p->status ? 0 : scan_head(p, *bytes);
    if (n) {
        p->status = parse_head(p, str_sub(*bytes, 0, n));
        drop(bytes, n);
    }
    if (p->status) {
        return PARSED_REFUSED;
    }
    if (!n) {
        return PARSED_PART;
    }
    p->in_body = p->chunked || p->body_left;
    buf_init(http_req_body(p->rq), p->chunked ? p->max_body : (size_t)p->body_left);
    p->rq->body = STR("");
    p->scanned = 0;
    return p->in_body ? PARSED_HEAD : PARSED_WHOLE;
}

/* ---- bodies ---- */

static enum parsed take_length(struct http_parse *p, struct str *bytes)
{
    struct http_req *rq = p->rq;
    struct buf *body = http_req_body(rq);
    size_t n = MIN(bytes->n, (size_t)p->body_left);
    struct str piece = str_sub(*bytes, 0, n);
    drop(bytes, n);
    p->body_left -= n;
    if (p->body_left == 0 && body->n == 0) {
        rq->body = arena_copy(&rq->arena, piece); /* came at once, as nearly all do */
        return PARSED_WHOLE;
    }
    buf_adds(body, piece);
    rq->body = (struct str){buf_z(body), body->n};
    return p->body_left ? PARSED_PART : PARSED_WHOLE;
}

/* The smallest chunk has six bytes, one of them content; extensions and trailers may have what a
 * head may have. */
static bool too_much_framing(struct http_parse *p, size_t more)
{
    return p->framing + more > HEAD_MOST + 8 * (uint64_t)http_req_body(p->rq)->n;
}

/* Reads over the lines behind the last chunk, one at a time: nothing needs them. */
static enum parsed take_trailer(struct http_parse *p, struct str *bytes)
{
    const char *lf;
    while ((lf = memchr(bytes->p + p->scanned, '\n', bytes->n - p->scanned))) {
        struct str line = {bytes->p, (size_t)(lf - bytes->p) + 1};
        p->status = http_check_line(line, false);
        p->framing += line.n;
        p->scanned = 0;
        drop(bytes, line.n);
        if (p->status || line.n == 2) {
            return p->status ? PARSED_REFUSED : PARSED_WHOLE;
        }
    }
    p->scanned = bytes->n;
    if (too_much_framing(p, bytes->n)) {
        p->status = 400;
        return PARSED_REFUSED;
    }
    return PARSED_PART;
}

static enum parsed take_chunks(struct http_parse *p, struct str *bytes)
{
    struct buf *body = http_req_body(p->rq);
    size_t before = body->n, used = bytes->n;
    llhttp_resume(&p->llhttp);
    enum llhttp_errno e = llhttp_execute(&p->llhttp, bytes->p, bytes->n);
    if (e == HPE_PAUSED && p->in_trailer) {
        used = (size_t)(llhttp_get_error_pos(&p->llhttp) - bytes->p);
    } else if (e != HPE_OK) {
        p->status = p->status ? p->status : 400;
        return PARSED_REFUSED;
    }
    drop(bytes, used);
    p->framing += used - (body->n - before);
    if (too_much_framing(p, 0)) {
        p->status = 400;
        return PARSED_REFUSED;
    }
    p->rq->body = (struct str){buf_z(body), body->n};
    return p->in_trailer ? take_trailer(p, bytes) : PARSED_PART;
}

/* ---- the whole ---- */

void http_parse_init(struct http_parse *p, struct http_pool *pool, size_t max_body)
{
    *p = (struct http_parse){.pool = pool, .max_body = max_body};
}

void http_parse_fini(struct http_parse *p)
{
    if (p->rq) {
        http_pool_give(p->pool, p->rq);
    }
    http_parse_init(p, p->pool, p->max_body);
}

enum parsed http_parse(struct http_parse *p, struct str *bytes)
{
    if (!p->in_body) {
        return take_head(p, bytes);
    }
    if (!p->chunked) {
        return take_length(p, bytes);
    }
    return p->in_trailer ? take_trailer(p, bytes) : take_chunks(p, bytes);
}
