/* What a request's head may say, beyond what llhttp refuses: one form of line end, one form of
 * request line, one Host, one way to tell the body's length. Whatever two servers could read in two
 * ways is refused (design 11.4). Bytes and bodies: httpd_parse.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/httpd_priv.h"

#define METHOD_MOST 32

/* What a byte may be part of: a token (RFC 9110 5.6.2), a host with its port. */
enum { TOKEN = 1, HOST = 2, BOTH = 3 };
static const unsigned char parts[256] = {
    ['0' ... '9'] = BOTH, ['A' ... 'Z'] = BOTH, ['a' ... 'z'] = BOTH, ['!'] = BOTH, ['$'] = BOTH,
    ['%'] = BOTH,         ['&'] = BOTH,         ['\''] = BOTH,        ['*'] = BOTH, ['+'] = BOTH,
    ['-'] = BOTH,         ['.'] = BOTH,         ['_'] = BOTH,         ['~'] = BOTH, ['#'] = TOKEN,
    ['^'] = TOKEN,        ['`'] = TOKEN,        ['|'] = TOKEN,        ['('] = HOST, [')'] = HOST,
    [','] = HOST,         [':'] = HOST,         [';'] = HOST,         ['='] = HOST, ['['] = HOST,
    [']'] = HOST,
};

static bool all_are(struct str s, int part)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!(parts[(unsigned char)s.p[i]] & part)) {
            return false;
        }
    }
    return true;
}

int http_check_line(struct str line, bool first)
{
    if (line.n < 2 || line.p[line.n - 2] != '\r' || memchr(line.p, '\r', line.n - 2) ||
        memchr(line.p, '\0', line.n)) {
        return 400;
    }
    bool folded = !first && (line.p[0] == ' ' || line.p[0] == '\t');
    return folded ? 400 : 0;
}

/* "HTTP/" digit "." digit */
static int check_version(struct http_parse *p, struct str v)
{
    if (v.n != 8 || !str_starts(v, STR("HTTP/")) || v.p[6] != '.' || v.p[5] < '0' || v.p[5] > '9' ||
        v.p[7] < '0' || v.p[7] > '9') {
        return 400;
    }
    p->old = v.p[7] == '0';
    return v.p[5] == '1' && v.p[7] <= '1' ? 0 : 505;
}

/* Drops "http://host" of the absolute form; what is left begins with '/' or '?', or is empty. */
static struct str without_origin(struct str target)
{
    size_t at;
    if (!str_find(target, STR("://"), &at) || (!str_eq_ci(str_sub(target, 0, at), STR("http")) &&
                                               !str_eq_ci(str_sub(target, 0, at), STR("https")))) {
        return STR_NULL;
    }
    for (at += 3; at < target.n && target.p[at] != '/' && target.p[at] != '?'; at++) {
    }
    return (struct str){target.p + at, target.n - at};
}

static int split_target(struct http_req *rq)
{
    for (size_t i = 0; i < rq->target.n; i++) {
        unsigned char ch = (unsigned char)rq->target.p[i];
        if (ch <= ' ' || ch == 0x7f) {
            return 400;
        }
    }
    struct str t = rq->target;
    if (t.p[0] != '/' && !str_eq(t, STR("*"))) {
        t = without_origin(t);
        if (!t.p) {
            return 400;
        }
    }
    const char *q = t.n ? memchr(t.p, '?', t.n) : NULL;
    size_t n = q ? (size_t)(q - t.p) : t.n;
    rq->path = n ? str_sub(t, 0, n) : STR("/");
    rq->query = q ? str_sub(t, n + 1, t.n) : STR("");
    return 0;
}

/* Single blanks only. Which methods there are is the handler's business. */
int http_request_line(struct http_parse *p, struct str line)
{
    struct http_req *rq = p->rq;
    struct str rest = str_sub(line, 0, line.n - 2);
    if (!str_split(&rest, ' ', &rq->method) || !str_split(&rest, ' ', &rq->target) ||
        rq->method.n < 1 || rq->method.n > METHOD_MOST || !all_are(rq->method, TOKEN) ||
        rq->target.n < 1) {
        return 400;
    }
    int status = check_version(p, rest);
    return status ? status : split_target(rq);
}

/* How often the headers came that tell a request's ends. */
struct seen {
    unsigned hosts, lengths, codings;
    int coding_status;
    bool odd_expect;
};

static struct str trim_blanks(struct str s)
{
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t')) {
        s.n--;
    }
    while (s.n && (s.p[0] == ' ' || s.p[0] == '\t')) {
        s = str_sub(s, 1, s.n);
    }
    return s;
}

/* Plain "chunked" alone. RFC 9112 6.3: where chunked is not the last coding, nobody knows the end.
 */
static int check_coding(struct str value)
{
    struct str last = STR(""), rest = value;
    while (str_split(&rest, ',', &last)) {
    }
    if (!str_eq_ci(trim_blanks(last), STR("chunked"))) {
        return 400;
    }
    return last.n == value.n ? 0 : 501;
}

static int note_header(struct http_parse *p, struct http_header *h, struct seen *seen)
{
    switch (h->name.n) {
    case 4:
        if (str_eq_ci(h->name, STR("host"))) {
            seen->hosts++;
            return all_are(h->value, HOST) ? 0 : 400;
        }
        break;
    case 6:
        if (str_eq_ci(h->name, STR("expect"))) {
            p->expect_continue = str_eq_ci(h->value, STR("100-continue"));
            seen->odd_expect = !p->expect_continue;
        }
        break;
    case 14:
        if (str_eq_ci(h->name, STR("content-length"))) {
            seen->lengths++;
            return str_to_u64(h->value, &p->body_left) ? 0 : 400;
        }
        break;
    case 17:
        if (str_eq_ci(h->name, STR("transfer-encoding"))) {
            seen->codings++;
            seen->coding_status = check_coding(h->value);
        }
        break;
    default:
        break;
    }
    return 0;
}

int http_check_headers(struct http_parse *p)
{
    struct http_req *rq = p->rq;
    struct seen seen = {0};
    for (size_t i = 0; i < rq->header_count; i++) {
        struct http_header *h = &rq->headers[i];
        h->value = trim_blanks(h->value);
        int status = h->name.n && all_are(h->name, TOKEN) ? note_header(p, h, &seen) : 400;
        if (status) {
            return status;
        }
    }
    if (seen.hosts > 1 || (seen.hosts == 0 && !p->old) || seen.lengths > 1 || seen.codings > 1 ||
        (seen.lengths && seen.codings) || (seen.codings && p->old)) {
        return 400;
    }
    if (seen.coding_status || seen.odd_expect) {
        return seen.coding_status ? seen.coding_status : 417;
    }
    p->expect_continue = p->expect_continue && !p->old;
    p->chunked = seen.codings != 0;
    rq->has_length = seen.lengths || seen.codings;
    return p->body_left > p->max_body ? 413 : 0;
}
