/* Requests through curl: setting a handle up, capping what comes back, naming what went wrong. Handles are kept and used
 * again; curl is only called from this thread and never from within its own callbacks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/httpc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "io/httpc_priv.h"

#define RESPONSE_KEPT 65536u
#define HEAD_MOST 65536u
/* A body beyond what is kept is read on for this much or this long, so that the connection may be used again. */
#define DRAIN_BYTES (1024u * 1024)
#define DRAIN_TIME (1 * NSEC_PER_SEC)

static size_t on_body(char *p, size_t size, size_t count, void *arg)
{
    struct transfer *t = arg;
    struct httpc_req *rq = t->rq;
    size_t n = size * count;
    size_t room = rq->body_out.max - rq->body_out.n;
    buf_add(&rq->body_out, p, MIN(n, room));
    t->body_seen += n;
    if (n <= room) {
        return n;
    }
    rq->truncated = true;
    nsec_t now = mono_now();
    if (!t->body_over_since) {
        t->body_over_since = now;
    }
    bool enough = t->body_seen > rq->body_out.max + DRAIN_BYTES || now - t->body_over_since > DRAIN_TIME;
    return enough ? CURL_WRITEFUNC_ERROR : n;
}

static size_t on_header(char *p, size_t size, size_t count, void *arg)
{
    struct transfer *t = arg;
    size_t n = size * count;
    struct str line = {p, n};
    if (str_starts(line, STR("HTTP/"))) {
        buf_reset(&t->rq->head_out); /* a 1xx answer came before */
    }
    buf_adds(&t->rq->head_out, line);
    if (t->rq->head_out.over) {
        t->over_head = true;
        return CURL_WRITEFUNC_ERROR;
    }
    return n;
}

static curl_socket_t on_open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *sa)
{
    (void)purpose;
    struct transfer *t = arg;
    bool checked = !t->rq->exempt && t->rq->proxy.n == 0;
    if (checked && egress_check(t->client->conf.egress, &sa->addr, &t->blocked)) {
        t->was_blocked = true;
        return CURL_SOCKET_BAD;
    }
    return socket(sa->family, sa->socktype | SOCK_CLOEXEC, sa->protocol);
}

/* Sees whether a TLS peer answers in the clear: that is another fault than a bad certificate. */
static int on_debug(CURL *easy, curl_infotype what, char *p, size_t n, void *arg)
{
    (void)easy;
    struct transfer *t = arg;
    if (what == CURLINFO_SSL_DATA_IN && n >= 5 && memcmp(p, "HTTP/", 5) == 0) {
        t->plain_http = true;
    }
    return 0;
}

static void set_common(struct transfer *t)
{
    CURL *e = t->easy;
    const struct httpc_conf *conf = &t->client->conf;
    curl_easy_setopt(e, CURLOPT_PRIVATE, t);
    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(e, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(e, CURLOPT_MAXAGE_CONN, 90L);
    curl_easy_setopt(e, CURLOPT_MAXLIFETIME_CONN, 300L);
    curl_easy_setopt(e, CURLOPT_CAPATH, NULL);
    if (conf->ca_file) {
        curl_easy_setopt(e, CURLOPT_CAINFO, conf->ca_file);
    }
    curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->error);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
    curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, t);
    curl_easy_setopt(e, CURLOPT_CLOSESOCKETFUNCTION, httpc_on_close_socket);
    curl_easy_setopt(e, CURLOPT_CLOSESOCKETDATA, t->client);
    curl_easy_setopt(e, CURLOPT_DEBUGFUNCTION, on_debug);
    curl_easy_setopt(e, CURLOPT_DEBUGDATA, t);
    curl_easy_setopt(e, CURLOPT_NOPROXY, "");
    curl_easy_setopt(e, CURLOPT_PROXY, "");
    curl_easy_setopt(e, CURLOPT_BUFFERSIZE, 16384L);
    if (t->client->share) {
        curl_easy_setopt(e, CURLOPT_SHARE, t->client->share);
    }
}

static struct transfer *transfer_take(struct httpc *c)
{
    struct list *l = list_pop(&c->spare);
    if (l) {
        c->spare_count--;
        return CONTAINER_OF(l, struct transfer, link);
    }
    struct transfer *t = xcalloc(1, sizeof(*t));
    t->client = c;
    t->easy = curl_easy_init();
    if (!t->easy) {
        UNREACHABLE("no memory for a curl handle");
    }
    set_common(t);
    return t;
}

static void text_free(struct str *s)
{
    free((char *)(uintptr_t)s->p);
    *s = STR_NULL;
}

static void transfer_free(struct transfer *t)
{
    curl_slist_free_all(t->headers);
    curl_easy_cleanup(t->easy);
    text_free(&t->url);
    text_free(&t->method);
    text_free(&t->proxy);
    free(t);
}

static void transfer_give(struct transfer *t)
{
    struct httpc *c = t->client;
    t->rq = NULL;
    curl_slist_free_all(t->headers);
    t->headers = NULL;
    if (c->spare_count >= SPARE_MOST || c->closing) {
        transfer_free(t);
        return;
    }
    list_push(&c->spare, &t->link);
    c->spare_count++;
}

/* Remembers text on the transfer; true when it differs from what the handle has. */
static bool text_changes(struct str *kept, struct str now)
{
    if (kept->p && str_eq(*kept, now)) {
        return false;
    }
    text_free(kept);
    char *p = xmalloc(now.n + 1);
    if (now.n) {
        memcpy(p, now.p, now.n);
    }
    p[now.n] = '\0';
    *kept = (struct str){p, now.n};
    return true;
}

static void add_header(struct transfer *t, const struct http_header *h)
{
    char small[512];
    size_t need = h->name.n + h->value.n + 3;
    char *line = need <= sizeof(small) ? small : xmalloc(need);
    /* curl's form for an empty value is "Name;" */
    snprintf(line, need, h->value.n ? "%.*s: %.*s" : "%.*s;%.*s", STR_ARG(h->name), STR_ARG(h->value));
    t->headers = curl_slist_append(t->headers, line);
    if (line != small) {
        free(line);
    }
}

static void set_headers(struct transfer *t)
{
    struct httpc_req *rq = t->rq;
    bool type = false, agent = false;
    for (size_t i = 0; i < rq->header_count; i++) {
        add_header(t, &rq->headers[i]);
        type |= str_eq_ci(rq->headers[i].name, STR("content-type"));
        agent |= str_eq_ci(rq->headers[i].name, STR("user-agent"));
    }
    static const char *const silent[] = {"Expect:", "Accept:"};
    for (size_t i = 0; i < ARRAY_LEN(silent); i++) {
        t->headers = curl_slist_append(t->headers, silent[i]);
    }
    if (!type) {
        t->headers = curl_slist_append(t->headers, "Content-Type:");
    }
    if (!agent) {
        curl_easy_setopt(t->easy, CURLOPT_USERAGENT, t->client->conf.user_agent);
    } else {
        curl_easy_setopt(t->easy, CURLOPT_USERAGENT, NULL);
    }
    curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->headers);
}

/* With a proxy the peer is the proxy; a literal address in the URL is judged here, names are left to the proxy. */
static bool literal_blocked(struct transfer *t)
{
    CURLU *u = curl_url();
    char *host = NULL;
    bool blocked = false;
    if (curl_url_set(u, CURLUPART_URL, t->url.p, 0) == CURLUE_OK &&
        curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK) {
        struct sockaddr_in a4 = {.sin_family = AF_INET};
        struct sockaddr_in6 a6 = {.sin6_family = AF_INET6};
        size_t n = strlen(host);
        if (host[0] == '[' && n > 2) {
            host[n - 1] = '\0';
            memmove(host, host + 1, n - 1);
        }
        struct sockaddr *sa = NULL;
        if (inet_aton(host, &a4.sin_addr)) {
            sa = (struct sockaddr *)&a4;
        } else if (inet_pton(AF_INET6, host, &a6.sin6_addr) == 1) {
            sa = (struct sockaddr *)&a6;
        }
        blocked = sa && egress_check(t->client->conf.egress, sa, &t->blocked) != EC_OK;
    }
    curl_free(host);
    curl_url_cleanup(u);
    return blocked;
}

static void set_up(struct transfer *t)
{
    struct httpc_req *rq = t->rq;
    CURL *e = t->easy;
    if (text_changes(&t->url, rq->url)) {
        curl_easy_setopt(e, CURLOPT_URL, t->url.p);
        curl_easy_setopt(e, CURLOPT_VERBOSE, str_starts(rq->url, STR("https:")) ? 1L : 0L);
    }
    curl_easy_setopt(e, CURLOPT_POST, 1L);
    curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)rq->body.n);
    curl_easy_setopt(e, CURLOPT_POSTFIELDS, rq->body.n ? rq->body.p : "");
    if (text_changes(&t->method, rq->method)) {
        curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, str_eqz(t->method, "POST") ? NULL : t->method.p);
    }
    if (str_eqz(t->method, "GET")) {
        curl_easy_setopt(e, CURLOPT_HTTPGET, 1L);
    }
    if (text_changes(&t->proxy, rq->proxy)) {
        curl_easy_setopt(e, CURLOPT_PROXY, t->proxy.p);
    }
    curl_easy_setopt(e, CURLOPT_SSL_VERIFYPEER, rq->tls_insecure ? 0L : 1L);
    curl_easy_setopt(e, CURLOPT_SSL_VERIFYHOST, rq->tls_insecure ? 0L : 2L);
    nsec_t left = rq->op.deadline - mono_now();
    long ms = left < NSEC_PER_MSEC ? 1 : (long)(left / NSEC_PER_MSEC);
    curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, ms);
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, ms);
    set_headers(t);
}

static enum httpc_fail fail_of(const struct transfer *t, CURLcode rc)
{
    long connect_errno = 0;
    switch (rc) {
    case CURLE_OK:
        return HTTPC_OK;
    case CURLE_COULDNT_RESOLVE_HOST:
        return HTTPC_DNS;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_PROXY:
        return HTTPC_PROXY;
    case CURLE_COULDNT_CONNECT:
        curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &connect_errno);
        return connect_errno == ECONNREFUSED                                   ? HTTPC_REFUSED
               : connect_errno == ENETUNREACH                                  ? HTTPC_UNREACHABLE
               : connect_errno == ETIMEDOUT                                    ? HTTPC_TIMEOUT
               : connect_errno == ECONNRESET                                   ? HTTPC_RESET
               : connect_errno == EHOSTUNREACH || connect_errno == EADDRNOTAVAIL ? HTTPC_OTHER
                                                                               : HTTPC_REFUSED;
    case CURLE_OPERATION_TIMEDOUT:
        return HTTPC_TIMEOUT;
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
        return HTTPC_RESET;
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
        return HTTPC_CLOSED;
    case CURLE_SSL_CONNECT_ERROR:
        return t->plain_http ? HTTPC_PLAIN_HTTP : HTTPC_TLS;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
        return HTTPC_TLS;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return HTTPC_URL;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_WRITE_ERROR:
        return HTTPC_PROTOCOL;
    default:
        return HTTPC_OTHER;
    }
}

/* An answer counts from its status line on: what happens to the body afterwards changes nothing. */
static void judge(struct transfer *t, CURLcode rc)
{
    struct httpc_req *rq = t->rq;
    long status = 0;
    curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    bool head_done = rq->head_out.n >= 4 && memcmp(rq->head_out.p + rq->head_out.n - 2, "\r\n", 2) == 0 &&
                     str_ends(buf_str(&rq->head_out), STR("\r\n\r\n"));
    rq->status = (int)status;
    rq->fail = fail_of(t, rc);
    if (t->was_blocked && rc != CURLE_OK && rc != CURLE_OPERATION_TIMEDOUT && status == 0) {
        rq->fail = HTTPC_BLOCKED;
        snprintf(rq->fail_text, sizeof(rq->fail_text), "%s", t->blocked.text);
        return;
    }
    if (status >= 200 && !t->over_head && (head_done || t->body_seen)) {
        rq->fail = HTTPC_OK;
        return;
    }
    if (rq->fail != HTTPC_OK) {
        snprintf(rq->fail_text, sizeof(rq->fail_text), "%s", curl_easy_strerror(rc));
    }
}

static void end(struct transfer *t, CURLcode rc)
{
    struct httpc_req *rq = t->rq;
    rq->ended = mono_now();
    judge(t, rc);
    bool canceled = t->canceled;
    list_del(&t->link);
    rq->impl = NULL;
    transfer_give(t);
    rq->op.err.code = canceled ? EC_CANCELED : EC_OK;
    op_complete(&rq->op);
}

void httpc_reap(struct httpc *c)
{
    CURLMsg *m;
    int left;
    while ((m = curl_multi_info_read(c->multi, &left))) {
        struct transfer *t;
        CURLcode rc = m->data.result;
        CURL *e = m->easy_handle;
        curl_easy_getinfo(e, CURLINFO_PRIVATE, &t);
        curl_multi_remove_handle(c->multi, e);
        end(t, rc);
    }
}

static void on_kick(struct io_defer *d)
{
    struct httpc *c = CONTAINER_OF(d, struct httpc, kick);
    struct list *l;
    while ((l = list_pop(&c->queued))) {
        struct transfer *t = CONTAINER_OF(l, struct transfer, link);
        list_push(&c->active, &t->link);
        if (t->canceled) {
            end(t, CURLE_ABORTED_BY_CALLBACK);
            continue;
        }
        t->rq->started = mono_now();
        set_up(t);
        if (t->rq->proxy.n && !t->rq->exempt && literal_blocked(t)) {
            t->was_blocked = true;
            end(t, CURLE_COULDNT_CONNECT);
            continue;
        }
        curl_multi_add_handle(c->multi, t->easy);
    }
    /* Adding set curl's timer to 0: run it now rather than a turn later. */
    int running;
    curl_multi_socket_action(c->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    httpc_reap(c);
}

static void on_cancel(struct op *op)
{
    struct httpc_req *rq = CONTAINER_OF(op, struct httpc_req, op);
    struct transfer *t = rq->impl;
    if (!t || t->canceled) {
        return;
    }
    t->canceled = true;
    bool queued = false;
    LIST_EACH(l, &t->client->queued)
    {
        queued |= l == &t->link;
    }
    if (!queued) {
        curl_multi_remove_handle(t->client->multi, t->easy);
        end(t, CURLE_ABORTED_BY_CALLBACK);
    }
}

void httpc_send(struct httpc *c, struct httpc_req *rq)
{
    struct transfer *t = transfer_take(c);
    t->rq = rq;
    t->was_blocked = t->canceled = t->plain_http = t->over_head = false;
    t->body_seen = 0;
    t->body_over_since = 0;
    rq->impl = t;
    rq->op.cancel = on_cancel;
    rq->fail = HTTPC_OK;
    rq->fail_text[0] = '\0';
    rq->status = 0;
    rq->truncated = false;
    buf_init(&rq->body_out, rq->max_response ? rq->max_response : RESPONSE_KEPT);
    buf_init(&rq->head_out, HEAD_MOST);
    list_init(&t->link);
    list_push(&c->queued, &t->link);
    io_defer(c->io, &c->kick);
}

void httpc_req_fini(struct httpc_req *rq)
{
    buf_fini(&rq->body_out);
    buf_fini(&rq->head_out);
}

static void global_init(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

enum ec httpc_open(struct io *io, const struct httpc_conf *conf, struct httpc **out, struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, global_init);
    struct httpc *c = xcalloc(1, sizeof(*c));
    c->io = io;
    c->conf = *conf;
    list_init(&c->queued);
    list_init(&c->active);
    list_init(&c->spare);
    io_defer_init(&c->kick, on_kick);
    c->multi = curl_multi_init();
    if (!c->multi || !httpc_glue_open(c)) {
        return err_set(err, EC_UNAVAILABLE, "no descriptors for the HTTP client");
    }
    c->share = curl_share_init();
    curl_share_setopt(c->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, (long)(conf->max_cached_conns ? conf->max_cached_conns : 4096));
    curl_multi_setopt(c->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    *out = c;
    return EC_OK;
}

void httpc_close(struct httpc *c)
{
    c->closing = true;
    list_splice(&c->active, &c->queued);
    while (!list_empty(&c->active)) {
        struct transfer *t = CONTAINER_OF(c->active.next, struct transfer, link);
        t->canceled = true;
        curl_multi_remove_handle(c->multi, t->easy);
        end(t, CURLE_ABORTED_BY_CALLBACK);
    }
    struct list *l;
    while ((l = list_pop(&c->spare))) {
        transfer_free(CONTAINER_OF(l, struct transfer, link));
    }
    curl_multi_cleanup(c->multi);
    curl_share_cleanup(c->share);
    list_del(&c->kick.link);
    httpc_glue_close(c);
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
