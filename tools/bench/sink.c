/* bench-sink: one thread that answers webhooks with 200 at once and writes down what arrived. It
 * finds "seq" and "sent_ns" in the body, marks the seq in the ledger and puts publish-to-receipt
 * into a histogram. Paths under --hang are read and never answered. Not an HTTP server for the
 * open: it trusts its peer to be a correct client on loopback. Sender: load.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REQUEST_MAX = 16384, CONNECTIONS_MAX = 16000 };

struct conn {
    int fd;
    bool is_listener, hung;
    size_t n;
    char *in; /* REQUEST_MAX + 1 bytes, none for listeners */
};

struct request {
    const char *path, *id, *body;
    size_t path_n, id_n, body_n;
};

static struct {
    int epoll;
    const char *hang;
    struct sink_head *head;
    struct sink_row *rows;
    struct hist latency;
    uint64_t requests, hung_now, hung_total, connections, too_large;
} sink;

static void watch(struct conn *c)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
    if (epoll_ctl(sink.epoll, EPOLL_CTL_ADD, c->fd, &e)) {
        die("epoll: %s", strerror(errno));
    }
}

static void conn_close(struct conn *c)
{
    sink.hung_now -= c->hung;
    sink.connections--;
    close(c->fd);
    free(c->in);
    free(c);
}

static void accept_all(const struct conn *listener)
{
    int fd;
    while ((fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        int one = 1;
        struct conn *c = calloc(1, sizeof(*c));
        char *in = malloc(REQUEST_MAX + 1);
        if (!c || !in || sink.connections >= CONNECTIONS_MAX) {
            die("more than %d connections", CONNECTIONS_MAX);
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        *c = (struct conn){.fd = fd, .in = in};
        sink.connections++;
        watch(c);
    }
}

/* -- one request */

/* The value after `"name":`, or -1. */
static int64_t member(const struct request *rq, const char *quoted)
{
    const char *end = rq->body + rq->body_n;
    const char *p = memmem(rq->body, rq->body_n, quoted, strlen(quoted));
    if (!p) {
        return -1;
    }
    p += strlen(quoted);
    p += p < end && *p == ' ';
    int64_t v = -1;
    for (int digits = 0; p < end && *p >= '0' && *p <= '9' && digits < 18; p++, digits++) {
        v = (v < 0 ? 0 : v) * 10 + (*p - '0');
    }
    return v;
}

static void record(const struct request *rq)
{
    int64_t seq = member(rq, "\"seq\":"), sent = member(rq, "\"sent_ns\":");
    if (seq < 0 || sent < 0 || (uint64_t)seq >= sink.head->capacity) {
        sink.head->strange++;
        return;
    }
    struct sink_row *row = &sink.rows[seq];
    if (row->times++) {
        sink.head->duplicates++;
        return;
    }
    row->id_hash = rq->id ? id_hash(rq->id, rq->id_n) : 0;
    sink.head->received++;
    hist_add(&sink.latency, now_ns() - sent);
}

static size_t stats(char *out, size_t size)
{
    const struct hist *h = &sink.latency;
    int n = snprintf(
        out, size,
        "{\"received\":%llu,\"duplicates\":%llu,\"strange\":%llu,\"requests\":%llu,"
        "\"hung_now\":%llu,\"hung_total\":%llu,\"connections\":%llu,\"too_large\":%llu,"
        "\"measured\":%llu,\"p50_ms\":%.3f,\"p90_ms\":%.3f,\"p99_ms\":%.3f,\"p999_ms\":%.3f,"
        "\"max_ms\":%.3f,\"now_ns\":%lld}\n",
        (unsigned long long)sink.head->received, (unsigned long long)sink.head->duplicates,
        (unsigned long long)sink.head->strange, (unsigned long long)sink.requests,
        (unsigned long long)sink.hung_now, (unsigned long long)sink.hung_total,
        (unsigned long long)sink.connections, (unsigned long long)sink.too_large,
        (unsigned long long)h->n, hist_ms(h, 0.5), hist_ms(h, 0.9), hist_ms(h, 0.99),
        hist_ms(h, 0.999), (double)h->max / 1e6, (long long)now_ns());
    return n < 0 || (size_t)n >= size ? 0 : (size_t)n;
}

static bool path_under(const struct request *rq, const char *prefix)
{
    size_t n = strlen(prefix);
    return rq->path_n >= n && memcmp(rq->path, prefix, n) == 0;
}

/* GET /bench/stats; /bench/reset forgets the latencies seen so far (the ledger stays). */
static bool control(const struct conn *c, const struct request *rq)
{
    char body[1024], out[1200];
    if (path_under(rq, "/bench/reset")) {
        memset(&sink.latency, 0, sizeof(sink.latency));
    } else if (!path_under(rq, "/bench/stats")) {
        return false;
    }
    size_t body_n = stats(body, sizeof(body));
    int n = snprintf(out, sizeof(out),
                     "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\n\r\n%.*s",
                     body_n, (int)body_n, body);
    send(c->fd, out, (size_t)n, MSG_NOSIGNAL);
    return true;
}

static void serve(struct conn *c, const struct request *rq)
{
    static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    if (control(c, rq)) {
        return;
    }
    sink.requests++;
    if (sink.hang && path_under(rq, sink.hang)) {
        c->hung = true;
        sink.hung_now++;
        sink.hung_total++;
        return;
    }
    /* The answer goes first: its receiver works on it while the receipt is written down. */
    send(c->fd, ok, sizeof(ok) - 1, MSG_NOSIGNAL);
    record(rq);
}

/* Bytes of the first request in `in`, 0 while it is not complete. */
static size_t parse(const char *in, size_t n, struct request *rq)
{
    const char *head_end = memmem(in, n, "\r\n\r\n", 4);
    if (!head_end) {
        return 0;
    }
    *rq = (struct request){.body = head_end + 4};
    rq->path = memchr(in, ' ', (size_t)(head_end - in));
    const char *line = memmem(in, n, "\r\n", 2);
    if (rq->path && rq->path < line) {
        rq->path++;
        const char *end = memchr(rq->path, ' ', (size_t)(line - rq->path));
        rq->path_n = (size_t)((end ? end : line) - rq->path);
    }
    while (line < head_end) {
        line += 2;
        const char *end = memmem(line, n - (size_t)(line - in), "\r\n", 2);
        const char *colon = memchr(line, ':', (size_t)(end - line));
        size_t name_n = colon ? (size_t)(colon - line) : 0;
        if (name_n == 14 && strncasecmp(line, "content-length", 14) == 0) {
            rq->body_n = strtoul(colon + 1, NULL, 10);
        } else if (name_n > 8 && strncasecmp(colon - 8, "event-id", 8) == 0) {
            rq->id = colon + 1 + (colon[1] == ' ');
            rq->id_n = (size_t)(end - rq->id);
        }
        line = end;
    }
    size_t head_n = (size_t)(rq->body - in);
    return rq->body_n <= n - head_n ? head_n + rq->body_n : 0;
}

static void readable(struct conn *c)
{
    ssize_t got = recv(c->fd, c->in + c->n, REQUEST_MAX - c->n, 0);
    if (got <= 0) {
        if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
            conn_close(c);
        }
        return;
    }
    c->n = c->hung ? 0 : c->n + (size_t)got;
    c->in[c->n] = '\0';
    struct request rq;
    size_t at = 0, used;
    while (!c->hung && (used = parse(c->in + at, c->n - at, &rq)) > 0) {
        serve(c, &rq);
        at += used;
    }
    c->n = c->hung ? 0 : c->n - at;
    memmove(c->in, c->in + at, c->n);
    if (c->n == REQUEST_MAX) {
        sink.too_large++;
        conn_close(c);
    }
}

/* -- start and end */

static int listen_on(uint32_t address, uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    a.sin_addr.s_addr = htonl(address);
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 1024)) {
        die("listen: %s", strerror(errno));
    }
    return fd;
}

/* `count` addresses from `first` on, a free port each (or `port`); prints them as a JSON array. */
static void listen_all(const char *first, uint16_t port, int64_t count)
{
    struct in_addr base;
    if (inet_pton(AF_INET, first, &base) != 1 || ntohl(base.s_addr) >> 24 != 127) {
        die("--address takes a loopback address");
    }
    for (int64_t i = 0; i < count; i++) {
        struct conn *c = calloc(1, sizeof(*c));
        struct sockaddr_in a;
        socklen_t size = sizeof(a);
        char text[INET_ADDRSTRLEN];
        if (!c) {
            die("no memory");
        }
        *c = (struct conn){.fd = listen_on(ntohl(base.s_addr) + (uint32_t)i, port)};
        c->is_listener = true;
        getsockname(c->fd, (struct sockaddr *)&a, &size);
        inet_ntop(AF_INET, &a.sin_addr, text, sizeof(text));
        printf("%s\"%s:%u\"", i ? "," : "[", text, ntohs(a.sin_port));
        watch(c);
    }
    puts("]");
    fflush(stdout);
}

static void run(const sigset_t *waiting_mask)
{
    struct epoll_event events[256];
    while (!stop_asked) {
        int n = epoll_pwait(sink.epoll, events, 256, -1, waiting_mask);
        for (int i = 0; i < n; i++) {
            struct conn *c = events[i].data.ptr;
            if (c->is_listener) {
                accept_all(c);
            } else {
                readable(c);
            }
        }
    }
}

static const char help[] =
    "bench-sink [options]: answers webhooks, counts them, prints statistics as JSON at SIGTERM\n"
    "  --address A    first loopback address (127.0.1.1)\n"
    "  --count N      so many addresses from there on (1)\n"
    "  --port P       port on each, 0 = a free one (0)\n"
    "  --ledger FILE  where the receipts of each seq go (memory)\n"
    "  --capacity N   highest seq + 1 (16777216)\n"
    "  --hang PATH    requests whose path begins so are never answered\n"
    "The first line of output is a JSON array of \"address:port\".\n";

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"address", 1, 0, 'a'},  {"count", 1, 0, 'n'}, {"port", 1, 0, 'p'}, {"ledger", 1, 0, 'l'},
        {"capacity", 1, 0, 'c'}, {"hang", 1, 0, 'h'},  {"help", 0, 0, '?'}, {0}};
    const char *address = "127.0.1.1", *ledger = NULL;
    int64_t count = 1, port = 0, capacity = 1 << 24;
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (o) {
        case 'a':
            address = optarg;
            break;
        case 'n':
            count = number_arg("count", optarg, 1, 4000);
            break;
        case 'p':
            port = number_arg("port", optarg, 0, 65535);
            break;
        case 'l':
            ledger = optarg;
            break;
        case 'c':
            capacity = number_arg("capacity", optarg, 1, INT64_C(1) << 32);
            break;
        case 'h':
            sink.hang = optarg;
            break;
        default:
            fputs(help, stderr);
            return 2;
        }
    }
    sigset_t mask;
    signals_init(&mask);
    descriptors_init((uint64_t)count + 512);
    sink.head =
        ledger_map(ledger, sizeof(struct sink_head) + (size_t)capacity * sizeof(struct sink_row));
    sink.head->magic = SINK_MAGIC;
    sink.head->capacity = (uint64_t)capacity;
    sink.rows = (struct sink_row *)(sink.head + 1);
    sink.epoll = epoll_create1(EPOLL_CLOEXEC);
    listen_all(address, (uint16_t)port, count);
    run(&mask);
    char out[1024];
    size_t n = stats(out, sizeof(out));
    fwrite(out, 1, n, stdout);
    return 0;
}
