/* The HTTP server and its clients: those that leave, do not read or send too much, too many of
 * them, and those that are there when it stops. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/httpd_rig.h"
#include "io/tests.h"

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define IN_MAX (64u << 20)

/* ---- clients that leave or send too much ---- */

static void reset(int fd)
{
    struct linger hard = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    close(fd);
}

static void test_client_gone(void **state)
{
    (void)state;
    struct httpd_rig r;
    httpd_rig_open(&r, NULL);
    int fd = wire_ask(&r, GET("/hold"));
    assert_true(httpd_rig_reaches(&r.requests, 1));
    assert_int_equal(httpd_rig_busy(&r), 1);
    reset(fd);
    assert_true(httpd_rig_reaches(&r.gone, 1));
    assert_int_equal(httpd_rig_busy(&r), 0);
    static const char *const parts[] = {
        "G", "GET / HTTP/1.1\r\nHost", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        reset(wire_ask(&r, parts[i]));
        fd = wire_ask(&r, parts[i]);
        shutdown(fd, SHUT_WR); /* no request will come of it */
        assert_true(wire_is_closed(fd, 3 * NSEC_PER_SEC));
        close(fd);
    }
    fd = wire_dial(&r);
    assert_true(wire_serves(fd));
    close(fd);
    fd = wire_ask(&r, GET("/hold")); /* still held when the server closes */
    assert_true(httpd_rig_reaches(&r.requests, 3));
    httpd_rig_close(&r);
    close(fd);
    assert_int_equal(atomic_load(&r.gone), 2);
}

static void test_half_closed_client_gets_its_answer(void **state)
{
    (void)state;
    struct httpd_rig r;
    CLEANUP(buf_fini) struct buf in;
    buf_init(&in, IN_MAX);
    httpd_rig_open(&r, NULL);
    int fd = wire_ask(&r, GET("/hold") GET("/later"));
    shutdown(fd, SHUT_WR);
    assert_true(httpd_rig_reaches(&r.requests, 1));
    httpd_rig_release(&r);
    assert_true(wire_read_all(fd, &in));
    assert_true(wire_has(buf_str(&in), "GET /hold? []") &&
                wire_has(buf_str(&in), "GET /later? []"));
    close(fd);
    httpd_rig_close(&r);
}

/* While a request is held, what the client sends ahead is not taken in without end. */
static void test_client_far_ahead(void **state)
{
    (void)state;
    struct httpd_rig r;
    char *zeros = xcalloc(1, 65536);
    httpd_rig_open(&r, NULL);
    int fd = wire_ask(&r, GET("/hold"));
    assert_true(httpd_rig_reaches(&r.requests, 1));
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    size_t sent = 0;
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    while (sent < (256u << 20) && poll(&p, 1, 300) == 1) {
        ssize_t n = send(fd, zeros, 65536, MSG_NOSIGNAL);
        assert_true(n > 0 || errno == EAGAIN);
        sent += n > 0 ? (size_t)n : 0;
    }
    assert_true(sent < (128u << 20)); /* what kernels buffer, and 128 KiB */
    httpd_rig_release(&r);
    free(zeros);
    close(fd);
    httpd_rig_close(&r);
}

/* A body above the limit is refused from its head, and the answer survives what is still sent. */
static void test_refusal_reaches_a_sending_client(void **state)
{
    (void)state;
    struct httpd_rig r;
    CLEANUP(buf_fini) struct buf in;
    char *zeros = xcalloc(1, 1 << 20);
    buf_init(&in, IN_MAX);
    httpd_rig_open(&r, NULL);
    int fd = wire_ask(&r, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8388608\r\n\r\n");
    for (int i = 0; i < 8; i++) {
        wire_send(fd, (struct str){zeros, 1 << 20});
    }
    assert_true(wire_read_all(fd, &in));
    assert_true(str_starts(buf_str(&in), STR("HTTP/1.1 413 ")));
    assert_int_equal(atomic_load(&r.requests), 0);
    free(zeros);
    close(fd);
    httpd_rig_close(&r);
}

/* ---- the server as a whole ---- */

static void test_most_connections(void **state)
{
    (void)state;
    struct httpd_rig r;
    struct httpd_conf conf = {.max_conns = 2};
    httpd_rig_open(&r, &conf);
    int a = wire_dial(&r), b = wire_dial(&r);
    assert_true(wire_serves(a) && wire_serves(b));
    int c = wire_dial(&r);
    assert_true(wire_is_closed(c, 3 * NSEC_PER_SEC));
    close(c);
    shutdown(a, SHUT_WR);
    assert_true(wire_is_closed(a, 3 * NSEC_PER_SEC));
    close(a);
    c = wire_dial(&r);
    assert_true(wire_serves(c));
    close(b);
    close(c);
    httpd_rig_close(&r);
}

static void test_stop_finishes_what_is_begun(void **state)
{
    (void)state;
    struct httpd_rig r;
    struct wire_reply reply;
    CLEANUP(buf_fini) struct buf in;
    buf_init(&in, IN_MAX);
    httpd_rig_open(&r, NULL);
    int idle = wire_dial(&r);
    assert_true(wire_serves(idle));
    int held = wire_ask(&r, GET("/hold"));
    int half = wire_ask(&r, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na");
    assert_true(httpd_rig_reaches(&r.requests, 2));
    usleep(20000); /* the half one's bytes arrive beside the held one's */
    httpd_rig_stop(&r);
    assert_true(wire_is_closed(idle, 3 * NSEC_PER_SEC));
    assert_int_equal(httpd_rig_busy(&r), 2); /* the held one and the half-read one */
    httpd_rig_release(&r);
    assert_true(wire_read_reply(held, &in, &reply));
    assert_true(wire_has(reply.head, "\r\nConnection: close\r\n"));
    assert_true(wire_is_closed(held, 3 * NSEC_PER_SEC));
    wire_send(half, STR("b"));
    buf_reset(&in);
    assert_true(wire_read_reply(half, &in, &reply));
    assert_true(wire_has(reply.head, "\r\nConnection: close\r\n"));
    assert_int_equal(httpd_rig_busy(&r), 0);
    close(idle);
    close(held);
    close(half);
    httpd_rig_close(&r);
}

static void test_idle_connections_are_small(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    struct httpd_rig r;
    int fds[COUNT];
    char filler[3000];
    CLEANUP(buf_fini) struct buf in, rq;
    struct wire_reply reply;
    buf_init(&in, IN_MAX);
    buf_init(&rq, IN_MAX);
    memset(filler, 'x', sizeof(filler));
    buf_addz(&rq, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000\r\nX: ");
    buf_add(&rq, filler, sizeof(filler));
    buf_addz(&rq, "\r\n\r\n");
    buf_add(&rq, filler, sizeof(filler));
    httpd_rig_open(&r, NULL);
    size_t before = 0;
    for (int i = 0; i < COUNT; i++) {
        if (i == 20) { /* what the server keeps for all of them is there */
            before = mallinfo2().uordblks;
        }
        fds[i] = wire_dial(&r);
        for (size_t at = 0; at < rq.n; at += 2500) { /* in pieces: buffers are needed */
            wire_send(fds[i], str_sub(buf_str(&rq), at, 2500));
            usleep(200);
        }
        buf_reset(&in);
        assert_true(wire_read_reply(fds[i], &in, &reply));
    }
    assert_true(mallinfo2().uordblks - before < (COUNT - 20) * 2048u);
    for (int i = 0; i < COUNT; i++) {
        close(fds[i]);
    }
    httpd_rig_close(&r);
}

static void test_addresses(void **state)
{
    (void)state;
    struct io *io = io_new("addresses");
    struct httpd *h = NULL, *twin = NULL;
    struct err err;
    struct httpd_conf conf = {.host = "localhost"};
    assert_int_equal(httpd_open(io, &conf, &h, &err), EC_UNAVAILABLE); /* names are not resolved */
    assert_non_null(strstr(err.text, "localhost"));
    conf.host = "192.0.2.1";
    assert_int_equal(httpd_open(io, &conf, &h, &err), EC_UNAVAILABLE);
    conf.host = "127.0.0.1";
    assert_int_equal(httpd_open(io, &conf, &h, &err), EC_OK);
    conf.port = httpd_port(h);
    assert_int_equal(httpd_open(io, &conf, &twin, &err), EC_OK); /* one listener per thread */
    assert_int_equal(httpd_port(twin), conf.port);
    httpd_close(h);
    httpd_close(twin);
    io_free(io);
}

int httpd_clients_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_client_gone),
        cmocka_unit_test(test_half_closed_client_gets_its_answer),
        cmocka_unit_test(test_client_far_ahead),
        cmocka_unit_test(test_refusal_reaches_a_sending_client),
        cmocka_unit_test(test_most_connections),
        cmocka_unit_test(test_stop_finishes_what_is_begun),
        cmocka_unit_test(test_idle_connections_are_small),
        cmocka_unit_test(test_addresses),
    };
    return cmocka_run_group_tests_name("httpd clients", tests, NULL, NULL);
}
