/* `outrider listen`: a receiver for developers. Prints what arrives, verifies both signature modes when it knows the secret, and
 * answers as asked: any status, after a delay, or not at all. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "io/httpd.h"
#include "util/hash.h"

struct listen {
    struct io *io;
    struct str secret;
    int status;
    nsec_t delay;
    bool drop;
};

struct waiting {
    struct io_timer timer;
    struct http_req *rq;
    struct listen *l;
};

static void reply(struct listen *l, struct http_req *rq)
{
    struct http_header type = {STR("Content-Type"), STR("application/json")};
    struct http_reply r = {.status = l->status, .headers = &type, .header_count = 1, .body = STR("{\"received\":true}")};
    http_reply(rq, &r);
}

static void on_time(struct io_timer *t)
{
    struct waiting *w = CONTAINER_OF(t, struct waiting, timer);
    reply(w->l, w->rq);
}

static bool has_part(struct str header, char separator, struct str prefix, struct str mac)
{
    struct str part;
    while (header.n && str_split(&header, separator, &part)) {
        part = str_trim(part);
        if (str_starts(part, prefix)) {
            part = str_sub(part, prefix.n, part.n);
        }
        if (equal_ct(part, mac)) {
            return true;
        }
    }
    return false;
}

static bool verify_default(const struct listen *l, const struct http_req *rq, struct str header)
{
    uint8_t mac[HMAC_MAX];
    struct hmac *h = hmac_new("sha256", l->secret);
    size_t n = hmac_sign(h, &rq->body, 1, mac);
    hmac_free(h);
    CLEANUP(buf_fini) struct buf hex;
    buf_init(&hex, 256);
    hex_add(&hex, mac, n);
    return has_part(header, ',', STR("v0="), buf_str(&hex));
}

static bool verify_standard(const struct listen *l, const struct http_req *rq, struct str header)
{
    CLEANUP(buf_fini) struct buf key;
    CLEANUP(buf_fini) struct buf b64;
    buf_init(&key, 8192);
    buf_init(&b64, 256);
    if (!str_starts(l->secret, STR("whsec_")) || !b64_decode(&key, str_sub(l->secret, 6, l->secret.n))) {
        return false;
    }
    const struct str parts[] = {http_req_header(rq, "webhook-id"), STR("."), http_req_header(rq, "webhook-timestamp"), STR("."), rq->body};
    uint8_t mac[HMAC_MAX];
    struct hmac *h = hmac_new("sha256", buf_str(&key));
    size_t n = hmac_sign(h, parts, ARRAY_LEN(parts), mac);
    hmac_free(h);
    b64_add(&b64, mac, n);
    return has_part(header, ' ', STR("v1,"), buf_str(&b64));
}

static const char *verdict(const struct listen *l, const struct http_req *rq)
{
    struct str standard = http_req_header(rq, "webhook-signature"), plain = http_req_header(rq, "x-outpost-signature");
    if (!standard.n && !plain.n) {
        return "unsigned";
    }
    if (!l->secret.n) {
        return "signed (give --secret to verify)";
    }
    bool good = standard.n ? verify_standard(l, rq, standard) : verify_default(l, rq, plain);
    return good ? "signature verified" : "SIGNATURE WRONG";
}

static void on_request(void *arg, struct http_req *rq)
{
    struct listen *l = arg;
    printf("\n%.*s %.*s  [%s]\n", STR_ARG(rq->method), STR_ARG(rq->target), verdict(l, rq));
    for (size_t i = 0; i < rq->header_count; i++) {
        printf("  %.*s: %.*s\n", STR_ARG(rq->headers[i].name), STR_ARG(rq->headers[i].value));
    }
    printf("\n%.*s\n", STR_ARG(rq->body));
    fflush(stdout);
    if (l->drop) {
        return; /* never answered */
    }
    if (!l->delay) {
        reply(l, rq);
        return;
    }
    struct waiting *w = ARENA_NEW(&rq->arena, struct waiting);
    w->rq = rq;
    w->l = l;
    io_timer_set(l->io, &w->timer, io_now(l->io) + l->delay, on_time);
}

static int64_t number(const char *text, int64_t fallback)
{
    int64_t v;
    return text && str_to_i64(str_z(text), &v) ? v : fallback;
}

/* Ends the loop on SIGINT or SIGTERM. */
static void *wait_for_signal(void *arg)
{
    sigset_t *set = ((void **)arg)[0];
    int number;
    sigwait(set, &number);
    io_stop(((void **)arg)[1]);
    return NULL;
}

int cli_listen(int argc, char **argv)
{
    int used = 0;
    const char *port = cli_option(argc, argv, "port", &used), *secret = cli_option(argc, argv, "secret", &used);
    const char *status = cli_option(argc, argv, "status", &used), *delay = cli_option(argc, argv, "delay-ms", &used);
    struct listen l = {.secret = str_z(secret ? secret : ""), .status = (int)number(status, 200), .delay = number(delay, 0) * NSEC_PER_MSEC};
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--drop") == 0) {
            l.drop = true;
            used++;
        }
    }
    if (used != argc || l.status < 100 || l.status > 599) {
        fprintf(stderr, "usage: outrider listen [--port 8080] [--secret whsec_...] [--status 200] [--delay-ms N] [--drop]\n");
        return 2;
    }
    struct httpd_conf conf = {.host = "127.0.0.1", .port = (int)number(port, 8080), .max_body = 64 << 20, .on_request = on_request, .arg = &l};
    struct httpd *h;
    struct err err = {0};
    l.io = io_new("listen");
    signal(SIGPIPE, SIG_IGN);
    if (httpd_open(l.io, &conf, &h, &err)) {
        fprintf(stderr, "outrider: %s\n", err.text);
        return 1;
    }
    printf("listening on http://127.0.0.1:%d/\n", httpd_port(h));
    fflush(stdout);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    void *arg[] = {&set, l.io};
    pthread_t waiter;
    if (pthread_create(&waiter, NULL, wait_for_signal, arg) == 0) {
        io_run(l.io);
        pthread_join(waiter, NULL);
    }
    return 0;
}
