/* Tests of open destinations and of whole attempts: the loop runs on the test's thread, a receiver
 * on loopback answers by path. Addresses that are refused, TLS and proxies: io's own tests and
 * tests/stories. SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dest/tests.h"

#define SECOND NSEC_PER_SEC

/* ---- the receiver: one connection after another, one request each ---- */

static const struct answer {
    const char *path, *text;
    size_t n; /* 0: strlen */
} answers[] = {
    {"/ok", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 0},
    {"/204", "HTTP/1.1 204 No Content\r\n\r\n", 0},
    {"/500", "HTTP/1.1 500 X\r\nContent-Length: 18\r\n\r\n{\"error\": \"<test>\"", 0},
    {"/302", "HTTP/1.1 302 X\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n", 0},
    {"/302-nowhere", "HTTP/1.1 302 X\r\nContent-Length: 5\r\n\r\nmoved", 0},
    {"/410", "HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n", 0},
    {"/429", "HTTP/1.1 429 X\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", 0},
    {"/503", "HTTP/1.1 503 X\r\nRetry-After: soon\r\nContent-Length: 0\r\n\r\n", 0},
    {"/500-after", "HTTP/1.1 500 X\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", 0},
    {"/long", "HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n123456789012345678901", 0},
    {"/just", "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n12345678901234567890", 0},
    {"/gzip",
     "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 30\r\n\r\n"
     "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x48\xcd\xc9\xc9\x57\x48\xaf\xca\x2c\x00\x00\x19"
     "\x6a\xd2\xdf\x0a\x00\x00\x00",
     91},
    {"/gzip-bad", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nplain", 0},
    {"/cut", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", 0},
    {"/close", "", 0},
    {"/garbage", "garbage\r\n\r\n", 0},
};

struct receiver {
    int fd, port;
    pthread_t thread;
};

static void answer_one(int fd)
{
    char in[8192];
    size_t n = 0;
    ssize_t got;
    while (n < sizeof(in) - 1 && (got = recv(fd, in + n, sizeof(in) - 1 - n, 0)) > 0) {
        n += (size_t)got;
        in[n] = '\0';
        if (strstr(in, "\r\n\r\n{}")) { /* the payload of every event here */
            break;
        }
    }
    for (size_t i = 0; n && i < ARRAY_LEN(answers); i++) {
        size_t at = strlen("POST "), len = strlen(answers[i].path);
        if (strncmp(in + at, answers[i].path, len) == 0 && in[at + len] == ' ') {
            const char *text = answers[i].text;
            assert_true(send(fd, text, answers[i].n ? answers[i].n : strlen(text), MSG_NOSIGNAL) >=
                        0);
        }
    }
}

static void *receive(void *arg)
{
    struct receiver *r = arg;
    for (int fd; (fd = accept(r->fd, NULL, NULL)) >= 0; close(fd)) {
        answer_one(fd);
    }
    return NULL;
}

static void receiver_open(struct receiver *r)
{
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(sa);
    r->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(r->fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    assert_int_equal(listen(r->fd, 64), 0);
    assert_int_equal(getsockname(r->fd, (struct sockaddr *)&sa, &len), 0);
    r->port = ntohs(sa.sin_port);
    pthread_create(&r->thread, NULL, receive, r);
}

static void receiver_close(struct receiver *r)
{
    shutdown(r->fd, SHUT_RDWR);
    pthread_join(r->thread, NULL);
    close(r->fd);
}

/* ---- types that do not open ---- */

static unsigned opened, closed;
static const struct dest_field no_fields[] = {{.key = NULL}};

static enum ec open_invalid(void *conn, const struct dest_conf *conf, struct destination *d,
                            struct httpc *http, struct err *err)
{
    (void)conn, (void)conf, (void)d, (void)http;
    opened++;
    return err_set(err, EC_INVALID, "validation failed");
}

static enum ec open_unavailable(void *conn, const struct dest_conf *conf, struct destination *d,
                                struct httpc *http, struct err *err)
{
    (void)conn, (void)conf, (void)d, (void)http;
    opened++;
    return err_set(err, EC_UNAVAILABLE, "no descriptors");
}

static enum ec open_well(void *conn, const struct dest_conf *conf, struct destination *d,
                         struct httpc *http, struct err *err)
{
    (void)conn, (void)conf, (void)d, (void)http, (void)err;
    opened++;
    return EC_OK;
}

static void send_well(void *conn, struct dest_send *rq)
{
    (void)conn;
    rq->outcome = (struct outcome){.delivered = true, .code = STR("OK"), .retry_after_s = -1};
    op_finish(&rq->op, EC_OK, NULL);
}

static void count_close(void *conn)
{
    (void)conn;
    closed++;
}

static const struct dest_ops type_invalid = {.type = "invalid",
                                             .fields = no_fields,
                                             .open = open_invalid,
                                             .send = send_well,
                                             .close = count_close};
static const struct dest_ops type_unavailable = {.type = "unavailable",
                                                 .fields = no_fields,
                                                 .open = open_unavailable,
                                                 .send = send_well,
                                                 .close = count_close};
static const struct dest_ops type_counted = {.type = "counted",
                                             .fields = no_fields,
                                             .conn_size = 8,
                                             .open = open_well,
                                             .send = send_well,
                                             .close = count_close};
static const struct dest_ops *const types[] = {&dest_webhook, &dest_null,        &dest_flaky,
                                               &type_invalid, &type_unavailable, &type_counted};

/* ---- a bench: sends one after another on the loop ---- */

struct bench {
    struct io_msg msg;
    struct io *io;
    struct httpc *http;
    struct dest_pool *pool;
    struct dest_registry *registry;
    struct dest_conf conf;
    struct receiver receiver;
    struct dest_send *sends;
    size_t count, at;
};

static void send_next(struct bench *b);
static struct bench *bench; /* the running one: done() has only the op */

static void on_sent(struct op *op)
{
    (void)op;
    bench->at++;
    send_next(bench);
}

static void send_next(struct bench *b)
{
    if (b->at == b->count) {
        httpc_close(b->http);
        dest_pool_free(b->pool);
        io_stop(b->io);
        return;
    }
    struct dest_send *s = &b->sends[b->at];
    s->op = (struct op){.done = on_sent,
                        .io = b->io,
                        .deadline = s->op.deadline ? mono_now() + s->op.deadline
                                                   : mono_now() + 10 * SECOND};
    dest_send(b->pool, s);
}

static void on_start(struct io_msg *m)
{
    struct bench *b = CONTAINER_OF(m, struct bench, msg);
    struct err err = {0};
    if (httpc_open(b->io, &(struct httpc_conf){0}, &b->http, &err)) {
        UNREACHABLE(err.text);
    }
    b->pool = dest_pool_new(b->registry, b->io, b->http);
    send_next(b);
}

static void bench_open(struct bench *b)
{
    *b = (struct bench){.msg.run = on_start, .io = io_new("dest-test"), .conf = conf_default()};
    b->conf.user_agent = STR("agent/1");
    b->conf.response_max = 20;
    b->registry = dest_registry_new(types, ARRAY_LEN(types), 1, &b->conf);
    receiver_open(&b->receiver);
}

static void bench_run(struct bench *b, struct dest_send *sends, size_t count)
{
    b->sends = sends;
    b->count = count;
    bench = b;
    io_post(b->io, &b->msg);
    io_run(b->io);
    io_free(b->io);
    receiver_close(&b->receiver);
    dest_registry_free(b->registry);
}

static struct dest_send send_new(const char *type, const char *url, struct strmap metadata)
{
    struct dest_send s = {
        .destination = webhook_new(url, "secret=s"), .number = 1, .now = wall_now()};
    s.destination->type = str_z(type);
    s.event = event_new(&(struct event){.env = STR(""),
                                        .id = STR("evt_1"),
                                        .tenant_id = STR("t1"),
                                        .topic = STR("user.created"),
                                        .metadata = metadata,
                                        .data = STR("{}")});
    arena_init(&s.arena);
    return s;
}

static void send_fini(struct dest_send *s)
{
    arena_fini(&s->arena);
    event_unref(s->event);
    destination_unref(s->destination);
}

/* ---- whole attempts ---- */

static const struct attempt_row {
    const char *path; /* at the receiver; a whole URL otherwise */
    bool delivered;
    const char *code, *response;
    int64_t retry_after_s;
    bool gone;
} rows[] = {
    {"/ok", true, "200", "{\"status\":200,\"body\":\"ok\"}", -1, false},
    {"/204", true, "204", "{\"status\":204,\"body\":\"\"}", -1, false},
    {"/500", false, "500", "{\"status\":500,\"body\":\"{\\\"error\\\": \\\"<test>\\\"\"}", -1,
     false},
    {"/302", false, "redirect_error", "", -1, false},
    {"/302-nowhere", false, "302", "{\"status\":302,\"body\":\"moved\"}", -1, false},
    {"/410", false, "410", "{\"status\":410,\"body\":\"\"}", -1, true},
    {"/429", false, "429", "{\"status\":429,\"body\":\"\"}", 7, false},
    {"/503", false, "503", "{\"status\":503,\"body\":\"\"}", -1, false},
    {"/500-after", false, "500", "{\"status\":500,\"body\":\"\"}", -1, false},
    {"/long", true, "200",
     "{\"status\":200,\"body\":\"Response body exceeded 20 bytes and was not stored\"}", -1, false},
    {"/just", true, "200", "{\"status\":200,\"body\":\"12345678901234567890\"}", -1, false},
    {"/gzip", true, "200", "{\"status\":200,\"body\":\"hello gzip\"}", -1, false},
    {"/gzip-bad", true, "200", "{\"status\":200,\"body\":\"\"}", -1, false},
    {"/cut", true, "200", "{\"status\":200,\"body\":\"abc\"}", -1, false},
    {"/close", false, "network_error", "", -1, false},
    {"/garbage", false, "network_error", "", -1, false},
    {"https://%zz", false, "ERR", "{\"error\":\"could not format event for delivery\"}", -1, false},
    {"http://127.0.0.1:99999/x", false, "network_error", "", -1, false},
    {"http://127.0.0.1:1/x", false, "connection_refused", "", -1, false},
};

static void attempts(void **state)
{
    (void)state;
    struct bench b;
    struct dest_send sends[ARRAY_LEN(rows)];
    char urls[ARRAY_LEN(rows)][128];
    bench_open(&b);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool ours = rows[i].path[0] == '/';
        if (ours) {
            snprintf(urls[i], sizeof(urls[i]), "http://127.0.0.1:%d%s", b.receiver.port,
                     rows[i].path);
        } else {
            snprintf(urls[i], sizeof(urls[i]), "%s", rows[i].path);
        }
        sends[i] = send_new("webhook", urls[i], (struct strmap){NULL, 0});
    }
    bench_run(&b, sends, ARRAY_LEN(rows));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct outcome *o = &sends[i].outcome;
        if (sends[i].op.err.code || o->no_attempt || o->delivered != rows[i].delivered ||
            !str_eqz(o->code, rows[i].code) || !str_eqz(o->response, rows[i].response) ||
            o->gone != rows[i].gone || o->retry_after_s != rows[i].retry_after_s) {
            fail_msg("%s: code %.*s, response %.*s, retry after %lld", rows[i].path,
                     STR_ARG(o->code), STR_ARG(o->response), (long long)o->retry_after_s);
        }
        send_fini(&sends[i]);
    }
}

/* A value that no header can carry fails before anything is sent; a name that is none is left out
 * (design: metadata). */
static void metadata(void **state)
{
    (void)state;
    struct bench b;
    struct dest_send sends[2];
    char url[64];
    struct strpair line = {STR("note"), STR("a\nb")}, name = {STR("a b"), STR("v")};
    bench_open(&b);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/ok", b.receiver.port);
    sends[0] = send_new("webhook", url, (struct strmap){&line, 1});
    sends[1] = send_new("webhook", url, (struct strmap){&name, 1});
    bench_run(&b, sends, 2);
    assert_str(sends[0].outcome.code, "network_error");
    assert_str(sends[0].outcome.response, "");
    assert_str(sends[1].outcome.code, "200");
    send_fini(&sends[0]);
    send_fini(&sends[1]);
}

/* ---- types for tests ---- */

static void config(struct dest_send *s, const char *key, const char *value)
{
    strmap_set(&s->destination->config, &s->destination->arena, str_z(key), str_z(value));
}

static void null_and_flaky(void **state)
{
    (void)state;
    struct bench b;
    struct dest_send v[5];
    bench_open(&b);
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        v[i] = send_new(i ? "flaky" : "null", "http://x", (struct strmap){NULL, 0});
        config(&v[i], "fail_first", "2");
        config(&v[i], "code", "boom");
        config(&v[i], "retry_after_s", "9");
    }
    v[2].number = 2;
    v[3].number = 3;
    config(&v[3], "delay_ms", "20");
    config(&v[4], "delay_ms", "60000");
    v[4].op.deadline = SECOND / 20;
    bench_run(&b, v, ARRAY_LEN(v));
    static const char *const codes[] = {"OK", "boom", "boom", "OK", "timeout"};
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        assert_str(v[i].outcome.code, codes[i]);
        assert_true(v[i].outcome.delivered == (i == 0 || i == 3));
        assert_true(v[i].ended >= v[i].started && v[i].started > 0);
        assert_int_equal(v[i].outcome.retry_after_s, i == 1 || i == 2 ? 9 : -1);
    }
    assert_true(v[3].ended - v[3].started >= 20 * NSEC_PER_MSEC);
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        send_fini(&v[i]);
    }
}

/* ---- the pool ---- */

static void not_opened(void **state)
{
    (void)state;
    struct bench b;
    struct dest_send v[5];
    const char *const names[] = {"nothing", "invalid", "invalid", "unavailable", "unavailable"};
    opened = closed = 0;
    bench_open(&b);
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        v[i] = send_new(names[i], "http://x", (struct strmap){NULL, 0});
    }
    for (size_t i = 2; i < 5; i += 2) { /* the same version again */
        destination_unref(v[i].destination);
        v[i].destination = destination_ref(v[i - 1].destination);
    }
    bench_run(&b, v, ARRAY_LEN(v));
    assert_str(v[0].outcome.code, "ERR");
    for (size_t i = 1; i < 3; i++) {
        assert_int_equal(v[i].op.err.code, EC_OK);
        assert_str(v[i].outcome.code, "ERR");
        assert_str(v[i].outcome.response,
                   "{\"error\":\"failed to create publisher: validation failed\"}");
    }
    for (size_t i = 3; i < 5; i++) {
        assert_int_equal(v[i].op.err.code, EC_UNAVAILABLE);
        assert_true(v[i].outcome.no_attempt);
    }
    assert_int_equal(opened, 3); /* what can never open is asked once, the other each time */
    assert_int_equal(closed, 3);
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        send_fini(&v[i]);
    }
}

/* One connection per version; beyond 10,000 the least recently used is closed. */
static void least_recent_closes(void **state)
{
    (void)state;
    enum { VERSIONS = 10003 };
    struct bench b;
    struct dest_send *v = xcalloc(VERSIONS + 2, sizeof(*v));
    opened = closed = 0;
    bench_open(&b);
    for (size_t i = 0; i < VERSIONS + 2; i++) {
        v[i] = send_new("counted", "http://x", (struct strmap){NULL, 0});
    }
    destination_unref(v[1].destination);
    v[1].destination = destination_ref(v[0].destination); /* open */
    destination_unref(v[VERSIONS + 1].destination);
    v[VERSIONS + 1].destination = destination_ref(v[0].destination); /* closed by now */
    bench_run(&b, v, VERSIONS + 2);
    assert_int_equal(opened, VERSIONS + 1);
    assert_int_equal(closed, opened);
    for (size_t i = 0; i < VERSIONS + 2; i++) {
        assert_true(v[i].outcome.delivered);
        send_fini(&v[i]);
    }
    free(v);
}

int pool_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attempts),
        cmocka_unit_test(metadata),
        cmocka_unit_test(null_and_flaky),
        cmocka_unit_test(not_opened),
        cmocka_unit_test(least_recent_closes),
    };
    return cmocka_run_group_tests_name("dest/pool", tests, NULL, NULL);
}
