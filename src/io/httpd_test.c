/* What the HTTP server sends, in which order, and how long it waits. What it makes of single
 * requests: httpd_probe_test.c; of clients that misbehave: httpd_clients_test.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/httpd_rig.h"
#include "io/tests.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define IN_MAX (64u << 20)
#define MS NSEC_PER_MSEC

/* ---- replies ---- */

static void test_head_of_a_reply(void **state)
{
    (void)state;
    struct httpd_rig r;
    struct wire_reply reply;
    CLEANUP(buf_fini) struct buf in;
    buf_init(&in, IN_MAX);
    httpd_rig_open(&r, NULL);
    int fd = wire_ask(&r, GET("/x"));
    assert_true(wire_read_reply(fd, &in, &reply));
    size_t at;
    usec_t date, now = wall_now();
    assert_true(str_starts(reply.head, STR("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n")));
    assert_true(wire_has(reply.head, "\r\nContent-Length: 10\r\n"));
    assert_false(wire_has(reply.head, "Connection:"));
    assert_true(str_find(reply.head, STR("\r\nDate: "), &at));
    assert_true(time_parse_http(str_sub(reply.head, at + 8, 29), &date));
    assert_true(date <= now && now - date < 5 * USEC_PER_SEC);
    buf_reset(&in);
    wire_send(fd, STR(GET("/inject")));
    assert_true(wire_read_reply(fd, &in, &reply));
    assert_false(wire_has(reply.head, "Evil") || wire_has(reply.head, "X-Bad") ||
                 wire_has(reply.head, "X-Worse"));
    assert_true(wire_has(reply.head, "\r\nX-Good: c\r\n"));
    close(fd);
    fd = wire_ask(&r, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n");
    buf_reset(&in);
    assert_true(wire_read_all(fd, &in));
    struct str rest = buf_str(&in);
    assert_true(wire_reply(&rest, false, &reply));
    assert_true(wire_has(reply.head, "\r\nConnection: keep-alive\r\n"));
    assert_true(wire_reply(&rest, false, &reply));
    assert_true(wire_has(reply.head, "\r\nConnection: close\r\n"));
    close(fd);
    httpd_rig_close(&r);
}

static void test_head_method(void **state)
{
    (void)state;
    struct httpd_rig r;
    struct wire_reply reply;
    CLEANUP(buf_fini) struct buf in;
    buf_init(&in, IN_MAX);
    httpd_rig_open(&r, NULL);
    int fd = wire_ask(&r, "HEAD /x HTTP/1.1\r\nHost: a\r\n\r\nHEAD /big HTTP/1.1\r\nHost: a\r\n"
                          "Connection: close\r\n\r\n");
    assert_true(wire_read_all(fd, &in));
    struct str rest = buf_str(&in);
    assert_true(wire_reply(&rest, true, &reply));
    assert_true(wire_has(reply.head, "\r\nContent-Length: 11\r\n"));
    assert_true(wire_reply(&rest, true, &reply));
    assert_true(wire_has(reply.head, "\r\nContent-Length: 33554432\r\n"));
    assert_int_equal(rest.n, 0);
    close(fd);
    httpd_rig_close(&r);
}

static void test_continue(void **state)
{
    (void)state;
    struct httpd_rig r;
    struct wire_reply reply;
    CLEANUP(buf_fini) struct buf in;
    buf_init(&in, IN_MAX);
    httpd_rig_open(&r, NULL);
    int fd = wire_ask(&r, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\n"
                          "Content-Length: 2\r\n\r\n");
    assert_true(wire_read_reply(fd, &in, &reply));
    assert_int_equal(reply.status, 100);
    buf_reset(&in);
    wire_send(fd, STR("ab"));
    assert_true(wire_read_reply(fd, &in, &reply));
    assert_true(reply.status == 200 && str_eq(reply.body, STR("POST /? [ab]")));
    buf_reset(&in); /* the body is here: nobody waits for a 100 */
    wire_send(fd, STR("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                      "Content-Length: 1\r\n\r\na"));
    assert_true(wire_read_reply(fd, &in, &reply));
    assert_int_equal(reply.status, 200);
    close(fd);
    httpd_rig_close(&r);
}

static void test_large_reply_whole(void **state)
{
    (void)state;
    static const size_t lengths[] = {10, HTTPD_RIG_BIG, 0};
    struct httpd_rig r;
    struct wire_reply reply;
    CLEANUP(buf_fini) struct buf in;
    buf_init(&in, IN_MAX);
    httpd_rig_open(&r, NULL);
    int fd = wire_ask(&r, GET("/1") GET("/big") GET("/close"));
    assert_true(httpd_rig_reaches(&r.requests, 2));
    assert_true(httpd_rig_busy(&r) > 0); /* not written yet: the third has to wait */
    shutdown(fd, SHUT_WR);               /* and is answered all the same */
    assert_true(wire_read_all(fd, &in));
    struct str rest = buf_str(&in);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(wire_reply(&rest, false, &reply));
        assert_int_equal(reply.status, 200);
        assert_int_equal(reply.body.n, lengths[i]);
    }
    assert_int_equal(rest.n, 0);
    assert_int_equal(httpd_rig_busy(&r), 0);
    close(fd);
    httpd_rig_close(&r);
}

/* ---- order ---- */

static void in_order(const char *path, unsigned count)
{
    struct httpd_rig r;
    struct wire_reply reply;
    CLEANUP(buf_fini) struct buf in, all;
    buf_init(&in, IN_MAX);
    buf_init(&all, IN_MAX);
    httpd_rig_open(&r, NULL);
    for (unsigned i = 0; i < count; i++) {
        buf_addf(&all, "GET %s?%u HTTP/1.1\r\nHost: a\r\n\r\n", path, i);
    }
    int fd = wire_dial(&r);
    wire_send(fd, buf_str(&all));
    shutdown(fd, SHUT_WR);
    assert_true(wire_read_all(fd, &in));
    close(fd);
    httpd_rig_close(&r);
    struct str rest = buf_str(&in);
    for (unsigned i = 0; i < count; i++) {
        char expected[64];
        snprintf(expected, sizeof(expected), "GET %s?%u []", path, i);
        assert_true(wire_reply(&rest, false, &reply));
        assert_true(str_eqz(reply.body, expected));
    }
    assert_int_equal(rest.n, 0);
}

static void test_pipelines(void **state)
{
    (void)state;
    in_order("/now", 20000); /* far deeper than a stack */
    in_order("/later", 300);
}

static void test_one_at_a_time(void **state)
{
    (void)state;
    struct httpd_rig r;
    struct wire_reply reply;
    CLEANUP(buf_fini) struct buf in;
    buf_init(&in, IN_MAX);
    httpd_rig_open(&r, NULL);
    int fd = wire_ask(&r, GET("/hold") GET("/second"));
    assert_true(httpd_rig_reaches(&r.requests, 1));
    int other = wire_dial(&r);
    assert_true(wire_serves(other)); /* several turns later the second is still not asked */
    assert_int_equal(atomic_load(&r.requests), 2);
    httpd_rig_release(&r);
    assert_true(wire_read_reply(fd, &in, &reply));
    assert_true(str_eq(reply.body, STR("GET /hold? []")));
    assert_true(httpd_rig_reaches(&r.requests, 3));
    close(fd);
    close(other);
    httpd_rig_close(&r);
}

/* A handler answers for another connection while its own has gathered output. */
static void test_replies_find_their_connection(void **state)
{
    (void)state;
    struct httpd_rig r;
    struct wire_reply reply;
    CLEANUP(buf_fini) struct buf in;
    buf_init(&in, IN_MAX);
    httpd_rig_open(&r, NULL);
    int held = wire_ask(&r, GET("/hold") GET("/after"));
    assert_true(httpd_rig_reaches(&r.requests, 1));
    int other = wire_ask(&r, GET("/1") GET("/free") GET("/peer"));
    shutdown(other, SHUT_WR);
    assert_true(wire_read_all(other, &in));
    struct str rest = buf_str(&in);
    assert_true(wire_reply(&rest, false, &reply) && str_eq(reply.body, STR("GET /1? []")));
    assert_true(wire_reply(&rest, false, &reply) && str_eq(reply.body, STR("GET /free? []")));
    assert_true(wire_reply(&rest, false, &reply) && str_eq(reply.body, STR("127.0.0.1")));
    assert_int_equal(rest.n, 0);
    close(other);
    buf_reset(&in);
    shutdown(held, SHUT_WR);
    assert_true(wire_read_all(held, &in));
    rest = buf_str(&in);
    assert_true(wire_reply(&rest, false, &reply) && str_eq(reply.body, STR("GET /hold? []")));
    assert_true(wire_reply(&rest, false, &reply) && str_eq(reply.body, STR("GET /after? []")));
    assert_int_equal(rest.n, 0);
    close(held);
    httpd_rig_close(&r);
}

/* ---- clocks ---- */

/* Sends first, then a byte each 20 ms until the server closes; returns how long that took. */
static nsec_t trickle(struct httpd_rig *r, const char *first, char byte, struct buf *in)
{
    nsec_t begin = mono_now();
    int fd = wire_ask(r, first);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    while (poll(&p, 1, 20) == 0 && mono_now() - begin < 4 * NSEC_PER_SEC) {
        wire_send(fd, (struct str){&byte, 1});
    }
    nsec_t took = mono_now() - begin;
    shutdown(fd, SHUT_WR);
    assert_true(wire_read_all(fd, in));
    close(fd);
    return took;
}

static void test_slow_heads_and_bodies(void **state)
{
    (void)state;
    struct httpd_rig r;
    struct httpd_conf conf = {.head_timeout = 200 * MS, .body_timeout = 400 * MS};
    static const struct {
        const char *first;
        char byte;
        nsec_t limit;
    } cases[] = {
        {"G", 'E', 200 * MS},
        {"GET / HTTP/1.1\r\nHost: a\r\nX: ", 'x', 200 * MS},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999\r\n\r\n", 'b', 400 * MS},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n270F\r\n", 'b', 400 * MS},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ", 'b', 400 * MS},
    };
    CLEANUP(buf_fini) struct buf in;
    buf_init(&in, IN_MAX);
    httpd_rig_open(&r, &conf);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        buf_reset(&in);
        nsec_t took = trickle(&r, cases[i].first, cases[i].byte, &in);
        assert_true(took >= cases[i].limit && took < cases[i].limit + 1500 * MS);
        assert_true(str_starts(buf_str(&in), STR("HTTP/1.1 408 Request Timeout\r\n")));
        assert_true(str_ends(buf_str(&in), STR("\r\n\r\nrefused 408")));
    }
    httpd_rig_close(&r);
}

static void test_idle_ends(void **state)
{
    (void)state;
    struct httpd_rig r;
    struct httpd_conf conf = {.idle_timeout = 200 * MS};
    httpd_rig_open(&r, &conf);
    nsec_t begin = mono_now();
    int fresh = wire_dial(&r), used = wire_dial(&r);
    assert_true(wire_serves(used));
    assert_true(wire_is_closed(fresh, 3 * NSEC_PER_SEC));
    assert_true(wire_is_closed(used, 3 * NSEC_PER_SEC));
    assert_true(mono_now() - begin >= 200 * MS);
    close(fresh);
    close(used);
    httpd_rig_close(&r);
}

static void test_handlers_have_no_clock(void **state)
{
    (void)state;
    struct httpd_rig r;
    struct wire_reply reply;
    CLEANUP(buf_fini) struct buf in;
    buf_init(&in, IN_MAX);
    struct httpd_conf conf = {
        .idle_timeout = 50 * MS, .head_timeout = 50 * MS, .body_timeout = 50 * MS};
    httpd_rig_open(&r, &conf);
    int fd = wire_ask(&r, GET("/hold") "GET");
    assert_false(wire_is_closed(fd, 300 * MS));
    httpd_rig_release(&r);
    assert_true(wire_read_reply(fd, &in, &reply));
    assert_int_equal(reply.status, 200);
    close(fd);
    httpd_rig_close(&r);
}

static void test_client_that_does_not_read(void **state)
{
    (void)state;
    struct httpd_rig r;
    CLEANUP(buf_fini) struct buf in;
    struct httpd_conf conf = {.write_timeout = 300 * MS};
    buf_init(&in, IN_MAX);
    httpd_rig_open(&r, &conf);
    int fd = wire_ask(&r, GET("/big"));
    assert_true(httpd_rig_reaches(&r.requests, 1));
    nsec_t begin = mono_now();
    while (httpd_rig_busy(&r) && mono_now() - begin < 4 * NSEC_PER_SEC) {
        usleep(5000);
    }
    nsec_t took = mono_now() - begin;
    assert_true(took > 200 * MS && took < 3 * NSEC_PER_SEC);
    assert_true(wire_read_all(fd, &in));
    assert_true(in.n < HTTPD_RIG_BIG);
    close(fd);
    httpd_rig_close(&r);
}

int httpd_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_head_of_a_reply),
        cmocka_unit_test(test_head_method),
        cmocka_unit_test(test_continue),
        cmocka_unit_test(test_large_reply_whole),
        cmocka_unit_test(test_pipelines),
        cmocka_unit_test(test_one_at_a_time),
        cmocka_unit_test(test_replies_find_their_connection),
        cmocka_unit_test(test_slow_heads_and_bodies),
        cmocka_unit_test(test_idle_ends),
        cmocka_unit_test(test_handlers_have_no_clock),
        cmocka_unit_test(test_client_that_does_not_read),
    };
    return cmocka_run_group_tests_name("httpd", tests, NULL, NULL);
}
