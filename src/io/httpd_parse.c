/* From bytes to requests. A head is taken whole (it is bounded), looked over for what llhttp lets pass (obs-fold, bare
 * LF, codings other than chunked, Host), and then parsed in one go, so that header texts are spans of the request's own
 * memory. Bodies with a length are copied; chunked ones go through llhttp. Design.md 11.4. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "io/httpd_priv.h"

#define SPARE_MOST 256

struct spare_req {
    struct list link;
    struct http_req rq;
};

struct http_req *httpd_req_take(struct httpd *h)
{
    struct list *l = list_pop(&h->spare);
    struct spare_req *s;
    if (l) {
        h->spare_count--;
        s = CONTAINER_OF(l, struct spare_req, link);
    } else {
        s = xcalloc(1, sizeof(*s));
        list_init(&s->link);
        arena_init(&s->rq.arena);
    }
    return &s->rq;
}

void httpd_req_drop(struct http_req *rq)
{
    arena_fini(&rq->arena);
    free(CONTAINER_OF(rq, struct spare_req, rq));
}

void httpd_spare_fini(struct httpd *h)
{
    struct list *l;
    while ((l = list_pop(&h->spare))) {
        httpd_req_drop(&CONTAINER_OF(l, struct spare_req, link)->rq);
    }
}

void httpd_req_give(struct httpd *h, struct http_req *rq)
{
    struct spare_req *s = CONTAINER_OF(rq, struct spare_req, rq);
    if (h->spare_count >= SPARE_MOST || h->closing) {
        httpd_req_drop(rq);
        return;
    }
    struct arena kept = rq->arena;
    arena_reset(&kept);
    *rq = (struct http_req){.arena = kept};
    list_push(&h->spare, &s->link);
    h->spare_count++;
}

static int refuse(struct http_conn *c, int status)
{
    c->parse_status = status;
    return -1;
}

static int on_header_field(llhttp_t *p, const char *at, size_t n)
{
    struct http_conn *c = p->data;
    struct http_req *rq = c->rq;
    if (rq->header_count == HEADER_LINES_MOST) {
        return refuse(c, 431);
    }
    if (rq->header_count == c->header_room) {
        c->header_room = c->header_room ? c->header_room * 2 : 16;
        struct http_header *v = ARENA_ARRAY(&rq->arena, struct http_header, c->header_room);
        if (rq->header_count) {
            memcpy(v, rq->headers, rq->header_count * sizeof(*v));
        }
        rq->headers = v;
    }
    rq->headers[rq->header_count++] = (struct http_header){{at, n}, {at + n, 0}};
    return 0;
}

/* The whole head is one piece of memory, so parts of a value are neighbours. */
static int on_header_value(llhttp_t *p, const char *at, size_t n)
{
    struct http_req *rq = ((struct http_conn *)p->data)->rq;
    struct str *v = &rq->headers[rq->header_count - 1].value;
    if (v->n == 0) {
        *v = (struct str){at, n};
    } else {
        v->n = (size_t)(at + n - v->p);
    }
    return 0;
}

static int on_url(llhttp_t *p, const char *at, size_t n)
{
    struct http_req *rq = ((struct http_conn *)p->data)->rq;
    if (rq->target.n == 0) {
        rq->target = (struct str){at, n};
    } else {
        rq->target.n = (size_t)(at + n - rq->target.p);
    }
    return 0;
}

static int on_body(llhttp_t *p, const char *at, size_t n)
{
    struct http_conn *c = p->data;
    buf_add(&c->body, at, n);
    return c->body.over ? refuse(c, 413) : 0;
}

static int on_headers_complete(llhttp_t *p)
{
    (void)p;
    return HPE_PAUSED;
}

static int on_message_complete(llhttp_t *p)
{
    struct http_conn *c = p->data;
    c->body_done = true;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_url = on_url,
    .on_header_field = on_header_field,
    .on_header_value = on_header_value,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

/* Trailing blanks of values are no part of them. */
static struct str rtrim(struct str s)
{
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t')) {
        s.n--;
    }
    return s;
}

/* Line by line: no bare LF or CR, no NUL, no continuation line. Returns a status, 0 = fine. */
static int look_over(struct str head)
{
    size_t lines = 0;
    const char *p = head.p, *end = head.p + head.n;
    while (p < end) {
        const char *lf = memchr(p, '\n', (size_t)(end - p));
        if (!lf || lf == p || lf[-1] != '\r') {
            return 400;
        }
        size_t n = (size_t)(lf - 1 - p);
        if (memchr(p, '\r', n) || memchr(p, '\0', n)) {
            return 400;
        }
        if (lines > 0 && n && (*p == ' ' || *p == '\t')) {
            return 400;
        }
        if (++lines > HEADER_LINES_MOST + 2) {
            return 431;
        }
        p = lf + 1;
    }
    return 0;
}

/* Host, lengths and codings beyond what llhttp refuses. Returns a status, 0 = fine. */
static int check_headers(struct http_conn *c)
{
    struct http_req *rq = c->rq;
    unsigned hosts = 0, lengths = 0, codings = 0;
    uint64_t length = 0;
    for (size_t i = 0; i < rq->header_count; i++) {
        struct http_header *h = &rq->headers[i];
        h->value = rtrim(h->value);
        if (str_eq_ci(h->name, STR("host"))) {
            hosts++;
        } else if (str_eq_ci(h->name, STR("content-length"))) {
            lengths++;
            if (!str_to_u64(h->value, &length)) {
                return 400;
            }
        } else if (str_eq_ci(h->name, STR("transfer-encoding"))) {
            codings++;
            if (!str_eq_ci(h->value, STR("chunked"))) {
                return 400;
            }
        } else if (str_eq_ci(h->name, STR("expect"))) {
            c->expect_continue = str_eq_ci(h->value, STR("100-continue"));
        }
    }
    bool old = c->parser.http_major == 1 && c->parser.http_minor == 0;
    if (hosts > 1 || (hosts == 0 && !old) || lengths > 1 || codings > 1 || (lengths && codings) || (codings && old)) {
        return 400;
    }
    if (length > c->server->conf.max_body) {
        return 413;
    }
    c->body_left = length;
    c->chunked = codings != 0;
    rq->has_length = lengths || codings;
    return 0;
}

static void split_target(struct http_req *rq)
{
    const char *q = rq->target.n ? memchr(rq->target.p, '?', rq->target.n) : NULL;
    size_t n = q ? (size_t)(q - rq->target.p) : rq->target.n;
    rq->path = str_sub(rq->target, 0, n);
    rq->query = q ? str_sub(rq->target, n + 1, rq->target.n) : STR("");
}

/* Upper-case letters, 3 to 32 of them, and not HTTP/2's preface; 0 = no method. */
static size_t method_length(struct str head)
{
    size_t n = 0;
    while (n < head.n && n <= 32 && head.p[n] >= 'A' && head.p[n] <= 'Z') {
        n++;
    }
    bool good = n >= 3 && n <= 32 && n < head.n && head.p[n] == ' ' && !str_starts(head, STR("PRI "));
    return good ? n : 0;
}

/* The head is complete: head.p..head.n ends with the empty line. Returns a status, 0 = fine. */
static int parse_head(struct http_conn *c, struct str head)
{
    struct http_req *rq = c->rq = httpd_req_take(c->server);
    rq->conn = c;
    rq->peer = str_z(c->peer);
    c->parse_status = 0;
    c->chunked = c->body_done = c->expect_continue = false;
    c->header_room = 0;
    int status = look_over(head);
    if (status) {
        return status;
    }
    head = arena_copy(&rq->arena, head);
    size_t method = method_length(head);
    if (method == 0) {
        return 400;
    }
    rq->method = str_sub(arena_copy(&rq->arena, str_sub(head, 0, method)), 0, method);
    /* llhttp knows a list of methods; which ones there are is the handler's business. */
    char *from = (char *)(uintptr_t)head.p + method - 3;
    memcpy(from, "GET", 3);
    llhttp_init(&c->parser, HTTP_REQUEST, &settings);
    c->parser.data = c;
    enum llhttp_errno e = llhttp_execute(&c->parser, from, head.n - (method - 3));
    if (c->parse_status) {
        return c->parse_status;
    }
    if (e != HPE_PAUSED || llhttp_get_upgrade(&c->parser)) {
        return e == HPE_INVALID_VERSION ? 505 : 400;
    }
    if (c->parser.http_major != 1 || c->parser.http_minor > 1) {
        return 505;
    }
    c->keep_alive = llhttp_should_keep_alive(&c->parser);
    status = check_headers(c);
    if (status) {
        return status;
    }
    split_target(rq);
    rq->received = io_now(c->server->io);
    return 0;
}

/* Where the head ends (behind the empty line); 0 = not yet. Leading CRLFs are passed by the caller. */
static size_t head_end(const char *p, size_t n)
{
    const char *at = memmem(p, n, "\r\n\r\n", 4);
    return at ? (size_t)(at - p) + 4 : 0;
}

static bool bare_lf(const char *p, size_t n)
{
    for (const char *lf = p; (lf = memchr(lf, '\n', n - (size_t)(lf - p))); lf++) {
        if (lf == p || lf[-1] != '\r') {
            return true;
        }
    }
    return false;
}

static void complete(struct http_conn *c, struct str body)
{
    c->rq->body = body;
    c->state = CONN_BUSY;
}

static size_t take_chunked(struct http_conn *c, const char *p, size_t n)
{
    llhttp_resume(&c->parser);
    enum llhttp_errno e = llhttp_execute(&c->parser, p, n);
    if (c->parse_status) {
        return n;
    }
    if (e == HPE_OK) {
        return n;
    }
    if (e == HPE_PAUSED && c->body_done) {
        complete(c, arena_copy(&c->rq->arena, buf_str(&c->body)));
        buf_fini(&c->body);
        return (size_t)(llhttp_get_error_pos(&c->parser) - p);
    }
    c->parse_status = 400;
    return n;
}

static size_t take_length(struct http_conn *c, const char *p, size_t n)
{
    size_t take = MIN(n, (size_t)c->body_left);
    if (take == c->body_left && c->body.n == 0) {
        complete(c, arena_copy(&c->rq->arena, (struct str){p, take}));
        return take;
    }
    buf_add(&c->body, p, take);
    c->body_left -= take;
    if (c->body_left == 0) {
        complete(c, arena_copy(&c->rq->arena, buf_str(&c->body)));
        buf_fini(&c->body);
    }
    return take;
}

static size_t take_head(struct http_conn *c, const char *p, size_t n)
{
    size_t skipped = 0;
    while (skipped + 1 < n && p[skipped] == '\r' && p[skipped + 1] == '\n' && skipped < 8) {
        skipped += 2; /* RFC 9112 2.2: empty lines before a request */
    }
    size_t end = head_end(p + skipped, n - skipped);
    if (!end) {
        if (n > HEAD_MOST) {
            c->parse_status = 431;
        } else if (bare_lf(p, n)) {
            c->parse_status = 400; /* nobody needs to wait for the end of such a head */
        }
        return 0;
    }
    if (end > HEAD_MOST) {
        c->parse_status = 431;
        return 0;
    }
    c->parse_status = parse_head(c, (struct str){p + skipped, end});
    if (!c->parse_status) {
        c->state = CONN_BODY;
        buf_init(&c->body, c->server->conf.max_body);
        if (!c->chunked && c->body_left == 0) {
            complete(c, STR(""));
        }
    }
    return skipped + end;
}

size_t httpd_parse(struct http_conn *c, const char *p, size_t n)
{
    size_t used = 0;
    if (c->state == CONN_IDLE || c->state == CONN_HEAD) {
        used = take_head(c, p, n);
        if (c->parse_status || used == 0) {
            return used;
        }
    }
    if (c->state == CONN_BODY && used < n) {
        size_t more = c->chunked ? take_chunked(c, p + used, n - used) : take_length(c, p + used, n - used);
        used += more;
    }
    return used;
}
