/* What is sent and whereto: options of a handle, headers, the URL, and the egress policy's word on
 * each address. The policy is asked when a socket is opened (after name resolution), again before a
 * request goes out on a kept connection (an exempt request may have opened it), and for literal
 * addresses that a proxy would dial. SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "io/httpc_priv.h"

#define LINE_BYTES_MOST ((size_t)1024 * 1024)
#define LINE_EXTRA 3 /* ": " and a NUL */
#define SILENCES_MOST 4
#define EXPECT_FROM ((size_t)1024 * 1024) /* curl asks for 100-continue for bodies beyond this */

static bool checked(const struct transfer *t)
{
    return t->client->egress && !t->rq->exempt && t->rq->proxy.n == 0;
}

static curl_socket_t on_open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *sa)
{
    (void)purpose;
    struct transfer *t = arg;
    if (checked(t) && egress_check(t->client->egress, &sa->addr, &t->blocked)) {
        t->was_blocked = true;
        return CURL_SOCKET_BAD;
    }
    int fd = socket(sa->family, sa->socktype | SOCK_CLOEXEC, sa->protocol);
    if (fd < 0) {
        t->no_socket |= errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        return CURL_SOCKET_BAD;
    }
    t->dialled++;
    httpc_fd_opened(t->client, fd);
    return fd;
}

static bool literal(const char *host, struct sockaddr_storage *out)
{
    struct sockaddr_in a4 = {.sin_family = AF_INET};
    struct sockaddr_in6 a6 = {.sin6_family = AF_INET6};
    memset(out, 0, sizeof(*out));
    if (inet_aton(host, &a4.sin_addr)) {
        memcpy(out, &a4, sizeof(a4));
        return true;
    }
    if (inet_pton(AF_INET6, host, &a6.sin6_addr) == 1) {
        memcpy(out, &a6, sizeof(a6));
        return true;
    }
    return false;
}

static bool address_blocked(struct transfer *t, const char *host)
{
    struct sockaddr_storage sa;
    const void *p = &sa;
    if (literal(host, &sa) && egress_check(t->client->egress, p, &t->blocked)) {
        t->was_blocked = true;
    }
    return t->was_blocked;
}

/* The connection stands; the request has not gone out. */
static int on_request(void *arg, char *peer, char *local, int peer_port, int local_port)
{
    (void)local, (void)peer_port, (void)local_port;
    struct transfer *t = arg;
    t->on_wire = true;
    t->rq->reused = t->dialled == 0;
    if (t->tls) {
        curl_easy_setopt(t->easy, CURLOPT_VERBOSE, 0L); /* was for the handshake only */
    }
    bool refused = t->dialled == 0 && checked(t) && address_blocked(t, peer);
    return refused ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
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

static void set_callbacks(struct transfer *t)
{
    CURL *e = t->easy;
    curl_easy_setopt(e, CURLOPT_PRIVATE, t);
    curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->error);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, httpc_on_body);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, t);
    curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, httpc_on_header);
    curl_easy_setopt(e, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
    curl_easy_setopt(e, CURLOPT_OPENSOCKETDATA, t);
    curl_easy_setopt(e, CURLOPT_CLOSESOCKETFUNCTION, httpc_on_close_socket);
    curl_easy_setopt(e, CURLOPT_CLOSESOCKETDATA, t->client);
    curl_easy_setopt(e, CURLOPT_PREREQFUNCTION, on_request);
    curl_easy_setopt(e, CURLOPT_PREREQDATA, t);
    curl_easy_setopt(e, CURLOPT_DEBUGFUNCTION, on_debug);
    curl_easy_setopt(e, CURLOPT_DEBUGDATA, t);
}

void httpc_options(struct transfer *t)
{
    CURL *e = t->easy;
    set_callbacks(t);
    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(e, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(e, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(e, CURLOPT_MAXAGE_CONN, 90L);
    curl_easy_setopt(e, CURLOPT_MAXLIFETIME_CONN, 300L);
    curl_easy_setopt(e, CURLOPT_BUFFERSIZE, 16384L);
    /* The resolver's thread is left behind rather than waited for: a slow name server must not stop
     * the loop when a request ends. The thread frees what it holds. */
    curl_easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(e, CURLOPT_NOPROXY, "");
    curl_easy_setopt(e, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    /* With a folder of certificates set, as distributions do, curl parses the bundle again for
     * every connection (25 ms); without one it keeps the parsed store. */
    curl_easy_setopt(e, CURLOPT_CAPATH, NULL);
    curl_easy_setopt(e, CURLOPT_PROXY_CAPATH, NULL);
    if (t->client->ca_file) {
        curl_easy_setopt(e, CURLOPT_CAINFO, t->client->ca_file);
        curl_easy_setopt(e, CURLOPT_PROXY_CAINFO, t->client->ca_file);
    }
    if (t->client->user_agent) {
        curl_easy_setopt(e, CURLOPT_USERAGENT, t->client->user_agent);
    }
    if (t->client->share) {
        curl_easy_setopt(e, CURLOPT_SHARE, t->client->share);
    }
}

static void text_free(struct str *s)
{
    free((char *)(uintptr_t)s->p);
    *s = STR_NULL;
}

void httpc_set_up_free(struct transfer *t)
{
    text_free(&t->url);
    text_free(&t->method);
    text_free(&t->proxy);
    free(t->lines);
    free(t->line_text);
}

/* Remembers prefix + text; true when it differs from what the handle has. */
static bool text_changes(struct str *kept, struct str prefix, struct str text)
{
    if (kept->p && kept->n == prefix.n + text.n && str_starts(*kept, prefix) &&
        str_ends(*kept, text)) {
        return false;
    }
    text_free(kept);
    struct buf b;
    buf_init(&b, prefix.n + text.n + 1);
    buf_adds(&b, prefix);
    buf_adds(&b, text);
    buf_addc(&b, '\0');
    *kept = (struct str){b.p, b.n - 1};
    return true;
}

static bool is_token(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool alnum = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
        if (!alnum && (c == '\0' || !strchr("!#$%&'*+-.^_`|~", c))) {
            return false;
        }
    }
    return s.n > 0;
}

static bool is_field_value(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f) {
            return false;
        }
    }
    return true;
}

/* Those that frame the message are ours alone. */
static bool left_out(struct str name)
{
    static const char *const names[] = {"host", "content-length", "transfer-encoding", "trailer",
                                        "expect"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq_ci(name, str_z(names[i]))) {
            return true;
        }
    }
    return false;
}

/* Checks the headers and makes room for their lines. */
static bool lines_fit(struct transfer *t)
{
    const struct httpc_req *rq = t->rq;
    size_t bytes = 0;
    for (size_t i = 0; i < rq->header_count; i++) {
        const struct http_header *h = &rq->headers[i];
        bytes += h->name.n + h->value.n + LINE_EXTRA;
        if (!is_token(h->name) || !is_field_value(h->value) || bytes > LINE_BYTES_MOST) {
            return false;
        }
    }
    if (rq->header_count + SILENCES_MOST > t->line_cap) {
        t->line_cap = rq->header_count + SILENCES_MOST + 8;
        t->lines = xrealloc(t->lines, t->line_cap * sizeof(*t->lines));
    }
    if (bytes > t->text_cap) {
        t->text_cap = bytes + 256;
        t->line_text = xrealloc(t->line_text, t->text_cap);
    }
    return true;
}

static char *put(char *p, struct str s)
{
    return s.n ? (char *)memcpy(p, s.p, s.n) + s.n : p;
}

struct line_writer {
    struct transfer *t;
    size_t n; /* lines so far */
    char *p;  /* behind the last one's NUL */
};

static void add_line(struct line_writer *w, const struct http_header *h)
{
    struct str value = str_trim(h->value);
    w->t->lines[w->n++].data = w->p;
    w->p = put(w->p, h->name);
    w->p = put(w->p, value.n ? STR(": ") : STR(";")); /* "Name;" is curl's form for no value */
    w->p = put(w->p, value);
    *w->p++ = '\0';
}

/* "Name:" leaves out what curl adds by itself. */
static void silence(struct line_writer *w, bool type)
{
    static char accept[] = "Accept:", content[] = "Content-Type:", expect[] = "Expect:",
                proxy[] = "Proxy-Connection:";
    struct curl_slist *lines = w->t->lines;
    lines[w->n++].data = accept;
    if (!type) {
        lines[w->n++].data = content;
    }
    if (w->t->rq->body.n >= EXPECT_FROM) {
        lines[w->n++].data = expect;
    }
    if (w->t->rq->proxy.n) {
        lines[w->n++].data = proxy;
    }
}

static bool set_headers(struct transfer *t)
{
    const struct httpc_req *rq = t->rq;
    if (!lines_fit(t)) {
        return false;
    }
    struct line_writer w = {.t = t, .p = t->line_text};
    bool type = false;
    for (size_t i = 0; i < rq->header_count; i++) {
        if (!left_out(rq->headers[i].name)) {
            add_line(&w, &rq->headers[i]);
            type |= str_eq_ci(rq->headers[i].name, STR("content-type"));
        }
    }
    silence(&w, type);
    for (size_t i = 0; i < w.n; i++) {
        t->lines[i].next = i + 1 < w.n ? &t->lines[i + 1] : NULL;
    }
    curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, t->lines);
    return true;
}

static bool has_scheme(struct str url, bool *out_tls)
{
    bool tls = str_eq_ci(str_sub(url, 0, 8), STR("https://"));
    *out_tls = tls;
    return (tls || str_eq_ci(str_sub(url, 0, 7), STR("http://"))) && !memchr(url.p, '\0', url.n);
}

static void set_method(struct transfer *t)
{
    CURL *e = t->easy;
    struct str body = t->rq->body, method = t->rq->method;
    bool get = str_eqz(method, "GET"), head = str_eqz(method, "HEAD");
    /* Each of these also sets curl's idea of the method: POST first, then what differs. */
    curl_easy_setopt(e, CURLOPT_POST, 1L);
    curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.n);
    curl_easy_setopt(e, CURLOPT_POSTFIELDS, body.n ? body.p : "");
    if (get) {
        curl_easy_setopt(e, CURLOPT_HTTPGET, 1L);
    } else if (head) {
        curl_easy_setopt(e, CURLOPT_NOBODY, 1L);
    }
    if (text_changes(&t->method, STR(""), method)) {
        bool plain = get || head || str_eqz(method, "POST");
        curl_easy_setopt(e, CURLOPT_CUSTOMREQUEST, plain ? NULL : t->method.p);
    }
}

/* None is "", never NULL, which lets the environment's in. Names are the proxy's to resolve: socks5
 * leaves that to the client, socks5h does not. */
static bool set_proxy(struct transfer *t)
{
    struct str proxy = t->rq->proxy, prefix = STR("");
    if (proxy.n && memchr(proxy.p, '\0', proxy.n)) {
        return false;
    }
    if (str_eq_ci(str_sub(proxy, 0, 9), STR("socks5://"))) {
        prefix = STR("socks5h://");
        proxy = str_sub(proxy, 9, proxy.n);
    }
    if (text_changes(&t->proxy, prefix, proxy)) {
        curl_easy_setopt(t->easy, CURLOPT_PROXY, t->proxy.p);
    }
    return true;
}

/* Behind a proxy only addresses written in the URL can be judged, in the spelling that curl makes
 * of them. */
static enum httpc_fail check_literal(struct transfer *t)
{
    CURLU *u = curl_url();
    char *host = NULL;
    enum httpc_fail fail = HTTPC_OK;
    if (!u || curl_url_set(u, CURLUPART_URL, t->url.p, CURLU_PATH_AS_IS) ||
        curl_url_get(u, CURLUPART_HOST, &host, CURLU_PUNYCODE)) {
        fail = HTTPC_URL;
    } else {
        size_t n = strlen(host);
        char *bare = host;
        if (host[0] == '[' && n > 2) {
            host[n - 1] = '\0';
            bare = host + 1;
        } else if (n > 1 && host[n - 1] == '.') {
            host[n - 1] = '\0';
        }
        fail = address_blocked(t, bare) ? HTTPC_BLOCKED : HTTPC_OK;
    }
    curl_free(host);
    curl_url_cleanup(u);
    return fail;
}

static void set_tls(struct transfer *t)
{
    bool sure = !t->rq->tls_insecure;
    curl_easy_setopt(t->easy, CURLOPT_SSL_VERIFYPEER, sure ? 1L : 0L);
    curl_easy_setopt(t->easy, CURLOPT_SSL_VERIFYHOST, sure ? 2L : 0L);
}

enum httpc_fail httpc_set_up(struct transfer *t)
{
    struct httpc_req *rq = t->rq;
    if (!has_scheme(rq->url, &t->tls) || !is_token(rq->method) || !set_proxy(t)) {
        return HTTPC_URL;
    }
    if (!set_headers(t)) {
        return HTTPC_HEADER;
    }
    if (text_changes(&t->url, STR(""), rq->url)) {
        curl_easy_setopt(t->easy, CURLOPT_URL, t->url.p);
    }
    set_method(t);
    curl_easy_setopt(t->easy, CURLOPT_VERBOSE, t->tls ? 1L : 0L); /* on_debug, until on_request */
    if (t->tls) {
        set_tls(t);
    }
    nsec_t left = t->deadline - mono_now();
    long ms = left < NSEC_PER_MSEC ? 1 : (long)MIN(left / NSEC_PER_MSEC, INT32_MAX);
    curl_easy_setopt(t->easy, CURLOPT_TIMEOUT_MS, ms);
    curl_easy_setopt(t->easy, CURLOPT_CONNECTTIMEOUT_MS, ms);
    return rq->proxy.n && t->client->egress && !rq->exempt ? check_literal(t) : HTTPC_OK;
}
