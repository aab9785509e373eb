/* bench-load: one thread that publishes 1 KB events over N keep-alive connections, one request
 * under way on each. Closed loop (the next one follows the answer) or open loop (--rate): then an
 * event's sent_ns is the moment it was due, so that a server that falls behind is not flattered.
 * It never spins: epoll_pwait2 sleeps to the nanosecond. A 503 with Retry-After is waited out on
 * its connection and the same seq is offered again. Receiver: sink.c.
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

enum { BODY_SIZE = 1024, OUT_MAX = 2048, IN_MAX = 4096, CONNECTIONS_MAX = 1024 };
static const int64_t linger_ns = 10 * NSEC_PER_SEC; /* for the last answers */
static const int64_t pause_max_ns = 5 * NSEC_PER_SEC, pause_min_ns = NSEC_PER_SEC / 100;

enum conn_state { CONN_IDLE, CONN_BUSY, CONN_PAUSED };

struct conn {
    int fd; /* -1: to be connected before the next use */
    enum conn_state state;
    bool has_event; /* an event is waiting to be offered (again) */
    int64_t resume_at;
    uint64_t seq;
    int64_t due_ns;
    size_t out_n, out_at, in_n;
    char out[OUT_MAX], in[IN_MAX + 1];
};

struct answer {
    int status;
    int64_t retry_after_s; /* -1 without the header */
    bool closes;
    const char *id;
    size_t id_n;
};

static struct {
    int64_t port, connections, tenants, rate, events, seconds, first_seq, capacity;
    const char *key, *prefix, *topic, *ledger;
} opt = {.connections = 64,
         .tenants = 8,
         .seconds = 10,
         .prefix = "bench-",
         .topic = "order.created",
         .capacity = 1 << 24};

static struct {
    int epoll, idle_n, paused_n, busy_n, last_other;
    struct conn *conns, *idle[CONNECTIONS_MAX];
    struct load_head *head;
    struct load_row *rows;
    struct hist ack;
    int64_t began, ends;
    uint64_t next; /* events begun so far */
    char filler[BODY_SIZE];
} load;

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* -- requests */

/* Made once: what a payload looks like to a scanner, nested members, numbers and escapes. */
static void make_filler(void)
{
    size_t n = 0;
    for (int i = 1; n < 760; i++) {
        n += (size_t)snprintf(load.filler + n, sizeof(load.filler) - n,
                              "%s{\"sku\":\"AB-%d\",\"count\":%d,\"price\":%d.%d0,"
                              "\"note\":\"a \\\"quoted\\\" word\",\"gift\":%s}",
                              i > 1 ? "," : "", 1000 + i, i, 17 * i, i % 10,
                              i % 2 ? "true" : "null");
    }
}

static void write_request(struct conn *c)
{
    char body[BODY_SIZE + 1];
    int n = snprintf(body, sizeof(body),
                     "{\"tenant_id\":\"%s%llu\",\"topic\":\"%s\",\"data\":{\"seq\":%llu,"
                     "\"sent_ns\":%lld,\"items\":[%s],\"pad\":\"",
                     opt.prefix, (unsigned long long)(c->seq % (uint64_t)opt.tenants), opt.topic,
                     (unsigned long long)c->seq, (long long)c->due_ns, load.filler);
    if (n < 0 || n > BODY_SIZE - 3) {
        die("the names leave no room in a body of %d bytes", BODY_SIZE);
    }
    memset(body + n, 'x', BODY_SIZE - 3 - (size_t)n);
    memcpy(body + BODY_SIZE - 3, "\"}}", 3);
    int head = snprintf(c->out, sizeof(c->out),
                        "POST /api/v1/publish HTTP/1.1\r\nHost: 127.0.0.1:%lld\r\n"
                        "Authorization: Bearer %s\r\nContent-Type: application/json\r\n"
                        "Content-Length: %d\r\n\r\n",
                        (long long)opt.port, opt.key, BODY_SIZE);
    if (head < 0 || (size_t)head + BODY_SIZE > sizeof(c->out)) {
        die("the key is too long");
    }
    memcpy(c->out + head, body, BODY_SIZE);
    c->out_n = (size_t)head + BODY_SIZE;
}

/* -- connections */

static void watch(struct conn *c, int op, uint32_t what)
{
    struct epoll_event e = {.events = what, .data.ptr = c};
    if (epoll_ctl(load.epoll, op, c->fd, &e)) {
        die("epoll: %s", strerror(errno));
    }
}

static bool conn_connect(struct conn *c)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)opt.port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int one = 1;
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd < 0) {
        die("socket: %s", strerror(errno));
    }
    if (connect(c->fd, (struct sockaddr *)&a, sizeof(a)) && errno != EINPROGRESS) {
        return false;
    }
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    watch(c, EPOLL_CTL_ADD, EPOLLIN);
    return true;
}

static void conn_drop(struct conn *c)
{
    close(c->fd);
    c->fd = -1;
}

static void conn_idle(struct conn *c)
{
    c->state = CONN_IDLE;
    load.idle[load.idle_n++] = c;
}

static void conn_pause(struct conn *c, int64_t ns)
{
    c->state = CONN_PAUSED;
    c->resume_at = now_ns() + ns;
    load.paused_n++;
}

/* The event of a broken connection may or may not be accepted: it is not offered again. */
static void conn_broke(struct conn *c)
{
    conn_drop(c);
    if (c->state == CONN_BUSY) {
        load.head->broken++;
        load.busy_n--;
        c->has_event = false;
        conn_pause(c, NSEC_PER_SEC / 10);
    }
}

static void conn_write(struct conn *c)
{
    ssize_t n = send(c->fd, c->out + c->out_at, c->out_n - c->out_at, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        conn_broke(c);
        return;
    }
    bool waited = c->out_at > 0 || n < 0;
    c->out_at += n > 0 ? (size_t)n : 0;
    bool waits = c->out_at < c->out_n;
    if (waits || waited) {
        watch(c, EPOLL_CTL_MOD, waits ? EPOLLIN | EPOLLOUT : EPOLLIN);
    }
}

static void offer(struct conn *c)
{
    c->state = CONN_BUSY;
    c->out_at = c->in_n = 0;
    load.busy_n++;
    load.rows[c->seq].status = 1;
    if (c->fd < 0 && !conn_connect(c)) {
        conn_broke(c);
        return;
    }
    write_request(c);
    conn_write(c);
}

/* -- answers */

static const char *header(const char *head, const char *end, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = head; (p = memmem(p, (size_t)(end - p), "\r\n", 2)) != NULL;) {
        p += 2;
        if ((size_t)(end - p) > n && strncasecmp(p, name, n) == 0 && p[n] == ':') {
            return p + n + 1 + (p[n + 1] == ' ');
        }
    }
    return NULL;
}

/* 1: complete; 0: more is to come; -1: not what this client understands. */
static int parse(const struct conn *c, struct answer *a)
{
    const char *end = memmem(c->in, c->in_n, "\r\n\r\n", 4);
    if (!end) {
        return c->in_n == IN_MAX ? -1 : 0;
    }
    const char *length = header(c->in, end, "content-length");
    const char *retry = header(c->in, end, "retry-after");
    const char *closing = header(c->in, end, "connection");
    size_t body_n = length ? strtoul(length, NULL, 10) : 0;
    size_t all = (size_t)(end + 4 - c->in) + body_n;
    if (!length || all > IN_MAX || memcmp(c->in, "HTTP/1.1 ", 9) != 0) {
        return -1;
    }
    if (c->in_n < all) {
        return 0;
    }
    *a = (struct answer){.status = atoi(c->in + 9)};
    a->retry_after_s = retry ? atoll(retry) : -1;
    a->closes = closing && strncasecmp(closing, "close", 5) == 0;
    const char *id = memmem(end + 4, body_n, "\"id\":\"", 6);
    if (id) {
        a->id = id + 6;
        const char *quote = memchr(a->id, '"', (size_t)(c->in + all - a->id));
        a->id_n = quote ? (size_t)(quote - a->id) : 0;
    }
    return 1;
}

static void accepted(struct conn *c, const struct answer *a)
{
    struct load_row *row = &load.rows[c->seq];
    row->id_hash = a->id ? id_hash(a->id, a->id_n) : 0;
    memcpy(row->id, a->id ? a->id : "", a->id_n < sizeof(row->id) ? a->id_n : sizeof(row->id));
    load.head->accepted++;
    hist_add(&load.ack, now_ns() - c->due_ns);
    c->has_event = false;
    conn_idle(c);
}

static void answered(struct conn *c, const struct answer *a)
{
    load.busy_n--;
    load.rows[c->seq].status = (uint32_t)a->status;
    if (a->closes) {
        conn_drop(c);
    }
    if (a->status == 202) {
        accepted(c, a);
    } else if (a->status == 503 && a->retry_after_s >= 0) {
        int64_t ns = earlier(a->retry_after_s, 3600) * NSEC_PER_SEC;
        load.head->refused++;
        conn_pause(c, earlier(ns > pause_min_ns ? ns : pause_min_ns, pause_max_ns));
    } else {
        load.head->other++;
        load.last_other = a->status;
        c->has_event = false;
        conn_pause(c, pause_min_ns);
    }
}

static void conn_read(struct conn *c)
{
    ssize_t got = recv(c->fd, c->in + c->in_n, IN_MAX - c->in_n, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    struct answer a;
    if (got <= 0 || c->state != CONN_BUSY) {
        conn_broke(c); /* idle and paused ones come back when they are used next */
        return;
    }
    c->in_n += (size_t)got;
    c->in[c->in_n] = '\0';
    int r = parse(c, &a);
    if (r < 0) {
        conn_broke(c);
    } else if (r > 0) {
        answered(c, &a);
    }
}

/* -- the loop */

static int64_t due_at(uint64_t nth)
{
    return load.began + (int64_t)((__int128)nth * NSEC_PER_SEC / opt.rate);
}

static bool may_begin(int64_t now)
{
    bool over = stop_asked || now >= load.ends ||
                (opt.events && load.next >= (uint64_t)opt.events) ||
                load.next + (uint64_t)opt.first_seq >= load.head->capacity;
    return !over;
}

/* Everything that is due goes to idle connections. */
static void begin_due(int64_t now)
{
    while (load.idle_n && may_begin(now) && (!opt.rate || due_at(load.next) <= now)) {
        struct conn *c = load.idle[--load.idle_n];
        c->seq = (uint64_t)opt.first_seq + load.next;
        c->due_ns = opt.rate ? due_at(load.next) : now_ns();
        c->has_event = true;
        load.next++;
        load.head->issued = c->seq + 1;
        offer(c);
    }
    if (opt.rate) {
        int64_t passed = earlier(now, load.ends - 1) - load.began;
        uint64_t due = (uint64_t)((__int128)passed * opt.rate / NSEC_PER_SEC) + 1;
        load.head->late = due > load.next ? due - load.next : 0;
    }
}

/* Ends pauses; returns when the next one ends. */
static int64_t resume_paused(int64_t now, bool over)
{
    int64_t next = INT64_MAX;
    for (int i = 0; load.paused_n && i < opt.connections; i++) {
        struct conn *c = &load.conns[i];
        if (c->state != CONN_PAUSED) {
            continue;
        }
        if (c->resume_at > now) {
            next = c->resume_at < next ? c->resume_at : next;
            continue;
        }
        load.paused_n--;
        if (c->has_event && !over) {
            offer(c);
        } else {
            conn_idle(c);
        }
    }
    return next;
}

static void wait_until(int64_t until, const sigset_t *waiting_mask)
{
    struct epoll_event events[128];
    int64_t ns = until - now_ns();
    ns = ns < 0 ? 0 : ns;
    struct timespec t = {ns / NSEC_PER_SEC, ns % NSEC_PER_SEC};
    int n = epoll_pwait2(load.epoll, events, 128, &t, waiting_mask);
    for (int i = 0; i < n; i++) {
        struct conn *c = events[i].data.ptr;
        if (events[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP)) {
            conn_read(c);
        }
        if (c->fd >= 0 && c->state == CONN_BUSY && (events[i].events & EPOLLOUT)) {
            conn_write(c);
        }
    }
}

/* Returns when the last answer is in, or linger_ns after the end. */
static void run(const sigset_t *waiting_mask)
{
    int64_t over_since = 0;
    load.began = now_ns();
    load.ends = opt.seconds ? load.began + opt.seconds * NSEC_PER_SEC : INT64_MAX;
    for (;;) {
        int64_t now = now_ns(), until = load.ends;
        begin_due(now);
        bool over = !may_begin(now);
        /* after --events the refused are still owed; after the time nothing is */
        bool stopping = stop_asked || now >= load.ends;
        until = earlier(until, resume_paused(now, stopping));
        if (over && !load.busy_n && (stopping || !load.paused_n)) {
            return;
        }
        if (stopping) {
            over_since = over_since ? over_since : now;
            until = over_since + linger_ns;
            if (now >= until) {
                return;
            }
        } else if (opt.rate && load.idle_n && !over) {
            until = earlier(until, due_at(load.next));
        }
        wait_until(earlier(until, now + NSEC_PER_SEC), waiting_mask);
    }
}

static void report(void)
{
    const struct load_head *h = load.head;
    double took = (double)(earlier(now_ns(), load.ends) - load.began) / 1e9;
    printf("{\"issued\":%llu,\"accepted\":%llu,\"refused\":%llu,\"other\":%llu,\"last_other\":%d,"
           "\"broken\":%llu,\"unanswered\":%d,\"late\":%llu,\"seconds\":%.3f,\"rate\":%.1f,"
           "\"ack_p50_ms\":%.3f,\"ack_p99_ms\":%.3f,\"ack_max_ms\":%.3f}\n",
           (unsigned long long)load.next, (unsigned long long)h->accepted,
           (unsigned long long)h->refused, (unsigned long long)h->other, load.last_other,
           (unsigned long long)h->broken, load.busy_n, (unsigned long long)h->late, took,
           (double)h->accepted / took, hist_ms(&load.ack, 0.5), hist_ms(&load.ack, 0.99),
           (double)load.ack.max / 1e6);
}

static const char help[] =
    "bench-load --port P --key KEY [options]: publishes events, prints a report as JSON\n"
    "  --connections N  keep-alive connections (64)\n"
    "  --tenants N      spread over PREFIX0 to PREFIX(N-1) (8)\n"
    "  --prefix TEXT    of tenant ids (bench-)\n"
    "  --topic TEXT     (order.created)\n"
    "  --seconds N      then stop; 0 = until SIGTERM (10)\n"
    "  --events N       at most so many; 0 = no limit (0)\n"
    "  --rate N         so many a second, open loop; 0 = closed loop (0)\n"
    "  --first-seq N    (0)\n"
    "  --ledger FILE    what was answered for each seq (memory)\n"
    "  --capacity N     highest seq + 1 (16777216)\n";

static const struct {
    const char *name;
    int64_t *number, low, high; /* number NULL: a text */
    const char **text;
} settings[] = {
    {"port", &opt.port, 1, 65535, NULL},
    {"connections", &opt.connections, 1, CONNECTIONS_MAX, NULL},
    {"tenants", &opt.tenants, 1, 1000000, NULL},
    {"seconds", &opt.seconds, 0, 1000000, NULL},
    {"events", &opt.events, 0, INT64_C(1) << 32, NULL},
    {"rate", &opt.rate, 0, 10000000, NULL},
    {"first-seq", &opt.first_seq, 0, INT64_C(1) << 32, NULL},
    {"capacity", &opt.capacity, 1, INT64_C(1) << 32, NULL},
    {"key", NULL, 0, 0, &opt.key},
    {"prefix", NULL, 0, 0, &opt.prefix},
    {"topic", NULL, 0, 0, &opt.topic},
    {"ledger", NULL, 0, 0, &opt.ledger},
};
enum { SETTINGS = sizeof(settings) / sizeof(settings[0]) };

static void read_options(int argc, char **argv)
{
    struct option options[SETTINGS + 1] = {0};
    for (int i = 0; i < SETTINGS; i++) {
        options[i] = (struct option){settings[i].name, required_argument, NULL, 0};
    }
    int at = 0, got;
    while ((got = getopt_long(argc, argv, "", options, &at)) == 0) {
        if (settings[at].number) {
            *settings[at].number =
                number_arg(settings[at].name, optarg, settings[at].low, settings[at].high);
        } else {
            *settings[at].text = optarg;
        }
    }
    if (got != -1 || !opt.port || !opt.key) {
        fputs(help, stderr);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    sigset_t mask;
    read_options(argc, argv);
    signals_init(&mask);
    descriptors_init((uint64_t)opt.connections + 64);
    load.head = ledger_map(opt.ledger, sizeof(struct load_head) +
                                           (size_t)opt.capacity * sizeof(struct load_row));
    load.head->magic = LOAD_MAGIC;
    load.head->capacity = (uint64_t)opt.capacity;
    load.rows = (struct load_row *)(load.head + 1);
    load.epoll = epoll_create1(EPOLL_CLOEXEC);
    load.conns = calloc((size_t)opt.connections, sizeof(*load.conns));
    if (!load.conns) {
        die("no memory");
    }
    make_filler();
    for (int64_t i = opt.connections - 1; i >= 0; i--) {
        load.conns[i].fd = -1;
        conn_idle(&load.conns[i]);
    }
    run(&mask);
    report();
    return 0;
}
