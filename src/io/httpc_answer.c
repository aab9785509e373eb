/* What comes back: the head kept whole within its limit, the body up to what is asked for, and the
 * name of what went wrong. An answer counts from the end of its head on: what happens to the body
 * afterwards changes nothing. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>

#include "io/httpc_priv.h"

#define HEAD_MOST 65536u
/* A body beyond what is kept is read on for this much and this long, so that the connection may be
 * used again. */
#define DRAIN_BYTES ((size_t)1024 * 1024)
#define DRAIN_TIME (1 * NSEC_PER_SEC)
#define DETAIL_MOST 160

static bool is_blank(struct str line)
{
    return str_eq(line, STR("\r\n")) || str_eq(line, STR("\n"));
}

/* The number in "HTTP/1.1 200 OK"; 100 (not final) when there is none. */
static int status_of(struct str head)
{
    size_t at;
    uint64_t status;
    if (!str_find(head, STR(" "), &at) || !str_to_u64(str_sub(head, at + 1, 3), &status)) {
        return 100;
    }
    return (int)status;
}

/* Two lengths that differ, or one that is no number: where the body ends is anybody's guess. */
static bool bad_length(struct transfer *t, struct str line)
{
    const struct str name = STR("content-length:");
    if ((line.p[0] | 0x20) != 'c' || !str_eq_ci(str_sub(line, 0, name.n), name)) {
        return false;
    }
    uint64_t n;
    if (!str_to_u64(str_trim(str_sub(line, name.n, line.n)), &n) ||
        (t->has_length && n != t->length)) {
        return true;
    }
    t->has_length = true;
    t->length = n;
    return false;
}

static void head_ends(struct transfer *t)
{
    int status = status_of(buf_str(&t->rq->head_out));
    t->in_head = false;
    /* 101 is final, since nobody here asks to switch; a proxy's answer to CONNECT is not. */
    t->final_head = t->on_wire && (status < 100 || status == 101 || status >= 200);
}

size_t httpc_on_header(char *p, size_t size, size_t count, void *arg)
{
    struct transfer *t = arg;
    struct str line = {p, size * count};
    if (t->final_head) {
        t->trailer_seen += line.n;
        return t->trailer_seen > HEAD_MOST ? CURL_WRITEFUNC_ERROR : line.n;
    }
    if (!t->in_head) {
        buf_reset(&t->rq->head_out); /* after a 1xx answer or a tunnel's */
        t->in_head = true;
        t->has_length = false;
    }
    t->head_seen += line.n;
    if (t->head_seen > HEAD_MOST || (t->on_wire && bad_length(t, line))) {
        t->bad_head = true;
        return CURL_WRITEFUNC_ERROR;
    }
    buf_adds(&t->rq->head_out, line);
    if (is_blank(line)) {
        head_ends(t);
    }
    return line.n;
}

size_t httpc_on_body(char *p, size_t size, size_t count, void *arg)
{
    struct transfer *t = arg;
    struct httpc_req *rq = t->rq;
    size_t n = size * count;
    size_t room = rq->body_out.max - rq->body_out.n;
    buf_add(&rq->body_out, p, MIN(n, room));
    t->body_seen += n;
    if (n > room && !rq->truncated) {
        rq->truncated = true;
        nsec_t end = MIN(t->deadline, mono_now() + DRAIN_TIME);
        io_timer_set(t->client->io, &t->guard, end, httpc_on_guard);
    }
    return t->body_seen > rq->body_out.max + DRAIN_BYTES ? CURL_WRITEFUNC_ERROR : n;
}

static bool says(const struct transfer *t, const char *words)
{
    return strstr(t->error, words) != NULL;
}

static enum httpc_fail of_connect(const struct transfer *t)
{
    long e = 0;
    if (t->dialled == 0) {
        return HTTPC_OTHER;
    }
    curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &e);
    switch (e) {
    case ECONNREFUSED:
        return HTTPC_REFUSED;
    case ENETUNREACH:
        return HTTPC_UNREACHABLE;
    case ETIMEDOUT:
        return HTTPC_TIMEOUT;
    case ECONNRESET:
        return HTTPC_RESET;
    default:
        return HTTPC_OTHER;
    }
}

/* A connection that broke, in the handshake or later: curl keeps the system's reason only in words,
 * and the words of strerror are those of the C locale, which this program does not leave. */
static enum httpc_fail of_break(const struct transfer *t, bool handshake)
{
    if (says(t, "reset by peer") || says(t, "Broken pipe")) {
        return HTTPC_RESET;
    }
    if (says(t, "unexpected eof") || says(t, "SSL_ERROR_SYSCALL") ||
        says(t, "SSL_ERROR_ZERO_RETURN")) {
        return HTTPC_CLOSED;
    }
    if (says(t, "SSL routines") || handshake) {
        return t->plain_http ? HTTPC_PLAIN_HTTP : HTTPC_TLS;
    }
    return HTTPC_CLOSED;
}

static enum httpc_fail of_socks(const struct transfer *t)
{
    long reply = CURLPX_OK;
    curl_easy_getinfo(t->easy, CURLINFO_PROXY_ERROR, &reply);
    return reply == CURLPX_REPLY_CONNECTION_REFUSED    ? HTTPC_REFUSED
           : reply == CURLPX_REPLY_NETWORK_UNREACHABLE ? HTTPC_UNREACHABLE
           : reply == CURLPX_REPLY_HOST_UNREACHABLE    ? HTTPC_OTHER
                                                       : HTTPC_PROXY;
}

static enum httpc_fail of_code(const struct transfer *t, CURLcode rc)
{
    switch ((int)rc) {
    case CURLE_COULDNT_RESOLVE_HOST:
        return HTTPC_DNS;
    case CURLE_COULDNT_RESOLVE_PROXY:
        return HTTPC_PROXY;
    case CURLE_PROXY:
        return of_socks(t);
    case CURLE_COULDNT_CONNECT:
        return of_connect(t);
    case CURLE_OPERATION_TIMEDOUT:
        return HTTPC_TIMEOUT;
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
        return of_break(t, false);
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
        return HTTPC_CLOSED;
    case CURLE_SSL_CONNECT_ERROR:
        return of_break(t, true);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
        return HTTPC_TLS;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return t->on_wire ? HTTPC_PROTOCOL : HTTPC_URL;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_WRITE_ERROR:
    case CURLE_OUT_OF_MEMORY: /* also a header line beyond curl's own limit */
        return t->on_wire ? HTTPC_PROTOCOL : HTTPC_OTHER;
    default:
        return HTTPC_OTHER;
    }
}

/* The proxy's own faults: no way to it, or an answer to CONNECT that is no tunnel. Faults within a
 * tunnel are the peer's. */
static enum httpc_fail of_proxy(struct transfer *t, enum httpc_fail fail)
{
    long answer = 0;
    curl_easy_getinfo(t->easy, CURLINFO_HTTP_CONNECTCODE, &answer);
    if (answer >= 200 && answer < 300) {
        return fail;
    }
    if (answer) {
        t->rq->proxy_status = (int)answer;
        return HTTPC_PROXY;
    }
    bool away = fail == HTTPC_REFUSED || fail == HTTPC_UNREACHABLE || fail == HTTPC_OTHER;
    bool socks = str_starts(t->proxy, STR("socks"));
    bool tls = !socks && (fail == HTTPC_TLS || fail == HTTPC_PLAIN_HTTP);
    return (away && !socks) || tls ? HTTPC_PROXY : fail;
}

static const char *words(enum httpc_fail fail)
{
    switch (fail) {
    case HTTPC_OK:
        return "";
    case HTTPC_DNS:
        return "the name does not resolve";
    case HTTPC_REFUSED:
        return "connection refused";
    case HTTPC_UNREACHABLE:
        return "network is unreachable";
    case HTTPC_RESET:
        return "connection reset before a complete answer";
    case HTTPC_CLOSED:
        return "connection closed before a complete answer";
    case HTTPC_TIMEOUT:
        return "no complete answer before the deadline";
    case HTTPC_TLS:
        return "TLS failed";
    case HTTPC_PLAIN_HTTP:
        return "the peer answers https with clear HTTP";
    case HTTPC_BLOCKED:
        return "the address is refused by the egress policy";
    case HTTPC_PROXY:
        return "the proxy cannot be reached or refused the tunnel";
    case HTTPC_PROTOCOL:
        return "the answer is not valid HTTP or its head is too large";
    case HTTPC_URL:
        return "the URL or the method cannot be used";
    case HTTPC_HEADER:
        return "a header name or value cannot be sent";
    case HTTPC_OTHER:
        return "the connection failed";
    }
    UNREACHABLE("an unknown failure");
}

/* curl's own sentence is added where it says more than the class; it names hosts at most. */
static void describe(struct transfer *t, enum httpc_fail fail)
{
    struct httpc_req *rq = t->rq;
    bool detail = t->error[0] && (fail == HTTPC_TLS || fail == HTTPC_PROTOCOL);
    rq->fail = fail;
    if (fail == HTTPC_BLOCKED && t->blocked.text[0]) {
        snprintf(rq->fail_text, sizeof(rq->fail_text), "%s", t->blocked.text);
        return;
    }
    snprintf(rq->fail_text, sizeof(rq->fail_text), "%s%s%.*s", words(fail), detail ? ": " : "",
             DETAIL_MOST, detail ? t->error : "");
    for (char *p = rq->fail_text; *p; p++) {
        if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f) {
            *p = ' ';
        }
    }
}

void httpc_refuse(struct transfer *t, enum httpc_fail fail)
{
    t->error[0] = '\0';
    describe(t, fail);
}

/* True when this process lacked a descriptor or a thread. */
static bool our_fault(struct transfer *t, CURLcode rc)
{
    if (rc == CURLE_COULDNT_CONNECT && t->no_socket && t->dialled == 0) {
        err_set(&t->rq->op.err, EC_UNAVAILABLE, "no descriptor left for a connection");
        return true;
    }
    if (rc == CURLE_COULDNT_RESOLVE_HOST && says(t, "thread failed")) {
        err_set(&t->rq->op.err, EC_UNAVAILABLE, "no thread left to resolve a name");
        return true;
    }
    return false;
}

void httpc_judge(struct transfer *t, CURLcode rc)
{
    struct httpc_req *rq = t->rq;
    if (t->final_head && !t->bad_head) {
        long status = 0;
        curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
        rq->status = (int)status;
        return;
    }
    if (our_fault(t, rc)) {
        return;
    }
    if (t->was_blocked && (t->dialled == 0 || rc == CURLE_ABORTED_BY_CALLBACK)) {
        describe(t, HTTPC_BLOCKED);
        return;
    }
    /* A close within the head is fine with curl. */
    enum httpc_fail fail = rc == CURLE_OK ? HTTPC_CLOSED : of_code(t, rc);
    if (t->proxy.n && !t->on_wire) {
        fail = of_proxy(t, fail);
    }
    describe(t, t->bad_head ? HTTPC_PROTOCOL : fail);
}

struct str httpc_header(const struct httpc_req *rq, const char *name)
{
    struct str rest = buf_str(&rq->head_out), line, found = STR_NULL;
    struct str want = str_z(name);
    while (rest.n && str_split(&rest, '\n', &line)) {
        if (line.n > want.n && line.p[want.n] == ':' && str_eq_ci(str_sub(line, 0, want.n), want)) {
            found = str_trim(str_sub(line, want.n + 1, line.n));
        }
    }
    return found;
}
