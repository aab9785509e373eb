/* What the HTTP server makes of hand-made requests: every probe is followed by one more request on
 * the same connection, so that a wrong end of a message shows. SPDX-License-Identifier: Apache-2.0
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/httpd_rig.h"
#include "io/tests.h"

#define H "Host: a\r\n"
#define POST "POST /p HTTP/1.1\r\n" H
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"
#define END "GET /end HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
#define BYTES(lit)                                                                                 \
    {                                                                                              \
        (lit), sizeof(lit) - 1                                                                     \
    }

struct probe {
    const char *name;
    struct str bytes;
    const char *statuses; /* of all replies; the last 200 is END's */
    const char *body;     /* of the first reply, NULL: not looked at */
};

static const struct probe fine[] = {
    {"get", BYTES("GET /x?a=b HTTP/1.1\r\n" H "\r\n"), "200 200", "GET /x?a=b []"},
    {"post", BYTES(POST "Content-Length: 3\r\n\r\nabc"), "200 200", "POST /p? [abc]"},
    {"length 0", BYTES(POST "Content-Length: 0\r\n\r\n"), "200 200", "POST /p? []"},
    {"length, blanks", BYTES(POST "Content-Length:   3  \r\n\r\nabc"), "200 200", "POST /p? [abc]"},
    {"three at once", BYTES("GET /1 HTTP/1.1\r\n" H "\r\nGET /2 HTTP/1.1\r\n" H "\r\n"),
     "200 200 200", "GET /1? []"},
    {"chunks", BYTES(CHUNKED "4\r\nwiki\r\n5\r\npedia\r\n0\r\n\r\n"), "200 200",
     "POST /p? [wikipedia]"},
    {"chunk extensions", BYTES(CHUNKED "4;x=y\r\nwiki\r\n5;q=\"a;b\"\r\npedia\r\n0;z\r\n\r\n"),
     "200 200", "POST /p? [wikipedia]"},
    {"chunk trailers", BYTES(CHUNKED "A\r\n0123456789\r\n0\r\nX-T: 1\r\nHost: b\r\n\r\n"),
     "200 200", "POST /p? [0123456789]"},
    {"no chunks", BYTES(CHUNKED "0\r\n\r\n"), "200 200", "POST /p? []"},
    {"chunk zeros", BYTES(CHUNKED "0003\r\nabc\r\n000\r\n\r\n"), "200 200", "POST /p? [abc]"},
    {"coding, case", BYTES(POST "transfer-ENCODING: Chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"), "200 200",
     "POST /p? [a]"},
    {"1.0", BYTES("GET /old HTTP/1.0\r\n\r\n"), "200", "GET /old? []"},
    {"1.0 kept", BYTES("GET /old HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"), "200 200", NULL},
    {"close", BYTES("GET / HTTP/1.1\r\n" H "Connection: x, Close\r\n\r\n"), "200", NULL},
    {"handler closes", BYTES("GET /close HTTP/1.1\r\n" H "\r\n"), "200", NULL},
    {"blank lines before", BYTES("\r\n\r\nGET / HTTP/1.1\r\n" H "\r\n"), "200 200", NULL},
    {"absolute form", BYTES("GET http://a:1/x?y HTTP/1.1\r\n" H "\r\n"), "200 200", "GET /x?y []"},
    {"absolute, no path", BYTES("GET HTTPS://a?y HTTP/1.1\r\n" H "\r\n"), "200 200", "GET /?y []"},
    {"star", BYTES("OPTIONS * HTTP/1.1\r\n" H "\r\n"), "200 200", "OPTIONS *? []"},
    {"any method", BYTES("Brew~1 / HTTP/1.1\r\n" H "\r\n"), "200 200", "Brew~1 /? []"},
    {"raw UTF-8 in the path", BYTES("GET /\xc3\xa9 HTTP/1.1\r\n" H "\r\n"), "200 200",
     "GET /\xc3\xa9? []"},
    {"offer of HTTP/2",
     BYTES(POST "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n"
                "Content-Length: 1\r\n\r\na"),
     "200 200", "POST /p? [a]"},
    {"offer, chunked",
     BYTES(POST "Connection: Upgrade\r\nUpgrade: h2c\r\nTransfer-Encoding: chunked\r\n\r\n"
                "1\r\na\r\n0\r\n\r\n"),
     "200 200", "POST /p? [a]"},
    {"offer without a body",
     BYTES("GET / HTTP/1.1\r\n" H "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"), "200 200",
     "GET /? []"},
    {"empty value, high bytes", BYTES("GET / HTTP/1.1\r\n" H "X:\r\nY: \xff\t.\r\n\r\n"), "200 200",
     NULL},
    {"empty host", BYTES("GET / HTTP/1.1\r\nHost:\r\n\r\n"), "200 200", NULL},
    {"IPv6 host", BYTES("GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"), "200 200", NULL},
    {"204 has no body", BYTES("GET /204 HTTP/1.1\r\n" H "\r\n"), "204 200", ""},
};

static const struct probe refused[] = {
    {"length and coding",
     BYTES(POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), "400", NULL},
    {"coding and length",
     BYTES(POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"), "400", NULL},
    {"two lengths", BYTES(POST "Content-Length: 1\r\nContent-Length: 2\r\n\r\na"), "400", NULL},
    {"one length twice", BYTES(POST "Content-Length: 1\r\ncontent-length: 1\r\n\r\na"), "400",
     NULL},
    {"list of lengths", BYTES(POST "Content-Length: 1, 1\r\n\r\na"), "400", NULL},
    {"+7", BYTES(POST "Content-Length: +7\r\n\r\n1234567"), "400", NULL},
    {"-1", BYTES(POST "Content-Length: -1\r\n\r\n"), "400", NULL},
    {"0x1", BYTES(POST "Content-Length: 0x1\r\n\r\na"), "400", NULL},
    {"1 1", BYTES(POST "Content-Length: 1 1\r\n\r\na"), "400", NULL},
    {"no digits", BYTES(POST "Content-Length:\r\n\r\n"), "400", NULL},
    {"2^64 + 1", BYTES(POST "Content-Length: 18446744073709551617\r\n\r\na"), "400", NULL},
    {"xchunked", BYTES(POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"), "400", NULL},
    {"gzip", BYTES(POST "Transfer-Encoding: gzip\r\n\r\n0\r\n\r\n"), "400", NULL},
    {"gzip, chunked", BYTES(POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"), "501", NULL},
    {"chunked, identity", BYTES(POST "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"),
     "400", NULL},
    {"chunked twice",
     BYTES(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), "400",
     NULL},
    {"chunked in 1.0", BYTES("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
     "400", NULL},
    {"no host", BYTES("GET / HTTP/1.1\r\n\r\n"), "400", NULL},
    {"two hosts", BYTES("GET / HTTP/1.1\r\n" H "host: b\r\n\r\n"), "400", NULL},
    {"two hosts, 1.0", BYTES("GET / HTTP/1.0\r\n" H H "\r\n"), "400", NULL},
    {"odd host", BYTES("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"), "400", NULL},
    {"folded line", BYTES("GET / HTTP/1.1\r\n" H "X: a\r\n b\r\n\r\n"), "400", NULL},
    {"blank before the first header", BYTES("GET / HTTP/1.1\r\n X: a\r\n" H "\r\n"), "400", NULL},
    {"bare LF, one line", BYTES("GET / HTTP/1.1\r\n" H "X: a\nY: b\r\n\r\n"), "400", NULL},
    {"bare LF, all", BYTES("GET / HTTP/1.1\nHost: a\n\n"), "400", NULL},
    {"bare LF at the end", BYTES("GET / HTTP/1.1\r\n" H "\n"), "400", NULL},
    {"bare CR", BYTES("GET / HTTP/1.1\r\n" H "X: a\rY: b\r\n\r\n"), "400", NULL},
    {"CR CR LF", BYTES("GET / HTTP/1.1\r\n" H "X: a\r\r\n\r\n"), "400", NULL},
    {"NUL in a value", BYTES("GET / HTTP/1.1\r\n" H "X: a\0b\r\n\r\n"), "400", NULL},
    {"NUL in a name", BYTES("GET / HTTP/1.1\r\n" H "X\0: a\r\n\r\n"), "400", NULL},
    {"NUL in the path", BYTES("GET /\0 HTTP/1.1\r\n" H "\r\n"), "400", NULL},
    {"blank before the colon", BYTES(POST "Content-Length : 1\r\n\r\na"), "400", NULL},
    {"tab before the colon", BYTES("GET / HTTP/1.1\r\n" H "X\t: 1\r\n\r\n"), "400", NULL},
    {"no colon", BYTES("GET / HTTP/1.1\r\n" H "X\r\n\r\n"), "400", NULL},
    {"no name", BYTES("GET / HTTP/1.1\r\n" H ": x\r\n\r\n"), "400", NULL},
    {"control byte in a value", BYTES("GET / HTTP/1.1\r\n" H "X: \x01\r\n\r\n"), "400", NULL},
    {"blank in a name", BYTES("GET / HTTP/1.1\r\n" H "X Y: a\r\n\r\n"), "400", NULL},
    {"odd byte in a name", BYTES("GET / HTTP/1.1\r\n" H "X(: a\r\n\r\n"), "400", NULL},
    {"two blanks", BYTES("GET  / HTTP/1.1\r\n" H "\r\n"), "400", NULL},
    {"two blanks behind", BYTES("GET /  HTTP/1.1\r\n" H "\r\n"), "400", NULL},
    {"blank at the end", BYTES("GET / HTTP/1.1 \r\n" H "\r\n"), "400", NULL},
    {"tab between", BYTES("GET\t/ HTTP/1.1\r\n" H "\r\n"), "400", NULL},
    {"no version", BYTES("GET /\r\n" H "\r\n"), "400", NULL},
    {"http/1.1", BYTES("GET / http/1.1\r\n" H "\r\n"), "400", NULL},
    {"HTTP/1.10", BYTES("GET / HTTP/1.10\r\n" H "\r\n"), "400", NULL},
    {"HTTP/1.2", BYTES("GET / HTTP/1.2\r\n" H "\r\n"), "505", NULL},
    {"HTTP/2.0", BYTES("GET / HTTP/2.0\r\n" H "\r\n"), "505", NULL},
    {"HTTP/0.9", BYTES("GET / HTTP/0.9\r\n" H "\r\n"), "505", NULL},
    {"preface of HTTP/2", BYTES("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "505", NULL},
    {"not a token", BYTES("G(T / HTTP/1.1\r\n" H "\r\n"), "400", NULL},
    {"33 letters", BYTES("ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG / HTTP/1.1\r\n" H "\r\n"), "400", NULL},
    {"relative path", BYTES("GET x HTTP/1.1\r\n" H "\r\n"), "400", NULL},
    {"connect", BYTES("CONNECT a:1 HTTP/1.1\r\n" H "\r\n"), "400", NULL},
    {"other scheme", BYTES("GET ftp://a/ HTTP/1.1\r\n" H "\r\n"), "400", NULL},
    {"DEL in the path", BYTES("GET /\x7f HTTP/1.1\r\n" H "\r\n"), "400", NULL},
    {"five blank lines", BYTES("\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\n" H "\r\n"), "400", NULL},
    {"TLS", BYTES("\x16\x03\x01\x02\x00\x01"), "400", NULL},
    {"other expectation", BYTES(POST "Expect: tea\r\nContent-Length: 1\r\n\r\na"), "417", NULL},
    {"length above the limit", BYTES(POST "Content-Length: 1001\r\n\r\n"), "413", NULL},
    {"expect above the limit", BYTES(POST "Content-Length: 1001\r\nExpect: 100-continue\r\n\r\n"),
     "413", NULL},
    {"chunk size of letters", BYTES(CHUNKED "zz\r\nabc\r\n0\r\n\r\n"), "400", NULL},
    {"chunk size -1", BYTES(CHUNKED "-1\r\nabc\r\n0\r\n\r\n"), "400", NULL},
    {"chunk size 0x1", BYTES(CHUNKED "0x1\r\na\r\n0\r\n\r\n"), "400", NULL},
    {"chunk size, blank before", BYTES(CHUNKED " 1\r\na\r\n0\r\n\r\n"), "400", NULL},
    {"chunk size missing", BYTES(CHUNKED "\r\na\r\n0\r\n\r\n"), "400", NULL},
    {"chunk size 2^64 + 1", BYTES(CHUNKED "10000000000000001\r\na\r\n0\r\n\r\n"), "400", NULL},
    {"chunk size, bare LF", BYTES(CHUNKED "1\na\r\n0\r\n\r\n"), "400", NULL},
    {"chunk size, bare CR", BYTES(CHUNKED "1\ra\r\n0\r\n\r\n"), "400", NULL},
    {"chunk extension, bare LF", BYTES(CHUNKED "1;x\na\r\n0\r\n\r\n"), "400", NULL},
    {"chunk extension, bare CR", BYTES(CHUNKED "1;x\rb\r\na\r\n0\r\n\r\n"), "400", NULL},
    {"chunk extension, NUL", BYTES(CHUNKED "1;x\0\r\na\r\n0\r\n\r\n"), "400", NULL},
    {"chunk too long", BYTES(CHUNKED "1\r\nab\r\n0\r\n\r\n"), "400", NULL},
    {"chunk ends with LF", BYTES(CHUNKED "1\r\na\n0\r\n\r\n"), "400", NULL},
    {"chunk ends with nothing", BYTES(CHUNKED "1\r\na0\r\n\r\n"), "400", NULL},
    {"trailer folded", BYTES(CHUNKED "0\r\nX: a\r\n b\r\n\r\n"), "400", NULL},
    {"trailer, bare LF", BYTES(CHUNKED "0\r\nX: a\n\r\n"), "400", NULL},
    {"trailer, bare CR", BYTES(CHUNKED "0\r\nX: a\rb\r\n\r\n"), "400", NULL},
    {"last line, bare LF", BYTES(CHUNKED "0\r\n\n"), "400", NULL},
};

static void statuses_of(struct str rest, struct buf *out, struct wire_reply *first)
{
    struct wire_reply r;
    for (unsigned i = 0; wire_reply(&rest, false, &r); i++) {
        buf_addf(out, "%s%d", i ? " " : "", r.status);
        *first = i ? *first : r;
    }
    if (rest.n) {
        buf_addz(out, " and more bytes");
    }
}

/* Sends in one piece or byte by byte; returns whether all was as expected. */
static bool run_probe(struct httpd_rig *r, const struct probe *p, bool slowly)
{
    CLEANUP(buf_fini) struct buf in, statuses, all;
    struct wire_reply first = {0};
    buf_init(&in, 1 << 20);
    buf_init(&statuses, 4096);
    buf_init(&all, 1 << 20);
    buf_adds(&all, p->bytes);
    buf_adds(&all, STR(END));
    int fd = wire_dial(r);
    for (size_t i = 0; slowly && i < all.n; i++) {
        wire_send(fd, (struct str){all.p + i, 1});
    }
    if (!slowly) {
        wire_send(fd, buf_str(&all));
    }
    bool closed = wire_read_all(fd, &in);
    close(fd);
    statuses_of(buf_str(&in), &statuses, &first);
    bool good = closed && !strcmp(buf_z(&statuses), p->statuses) &&
                (!p->body || str_eqz(first.body, p->body));
    if (!good) {
        print_error("%s%s: %s, %s [%.*s]\n", p->name, slowly ? ", slowly" : "",
                    closed ? "closed" : "left open", buf_z(&statuses), STR_ARG(first.body));
    }
    return good;
}

static void run_probes(const struct probe *v, size_t n)
{
    struct httpd_rig r;
    struct httpd_conf conf = {.max_body = 1000};
    httpd_rig_open(&r, &conf);
    unsigned bad = 0;
    for (size_t i = 0; i < n; i++) {
        bad += !run_probe(&r, &v[i], false);
        bad += !run_probe(&r, &v[i], true);
    }
    httpd_rig_close(&r);
    assert_int_equal(bad, 0);
}

static void test_fine(void **state)
{
    (void)state;
    run_probes(fine, ARRAY_LEN(fine));
}

static void test_refused(void **state)
{
    (void)state;
    run_probes(refused, ARRAY_LEN(refused));
}

/* ---- sizes ---- */

static bool sized(struct httpd_rig *r, const char *name, const struct buf *b, const char *statuses)
{
    struct probe p = {name, buf_str(b), statuses, NULL};
    assert_false(b->over);
    return run_probe(r, &p, false);
}

static void head_of(struct buf *b, unsigned headers, size_t bytes)
{
    buf_reset(b);
    buf_addz(b, "GET / HTTP/1.1\r\nHost: a\r\n");
    for (unsigned i = 1; i < headers; i++) {
        buf_addf(b, "X-%u: %u\r\n", i, i);
    }
    if (bytes) {
        buf_addz(b, "Y: ");
        while (b->n < bytes - 4) {
            buf_addc(b, 'y');
        }
        buf_addz(b, "\r\n");
    }
    buf_addz(b, "\r\n");
}

static void test_sizes_of_heads(void **state)
{
    (void)state;
    struct httpd_rig r;
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 1 << 20);
    httpd_rig_open(&r, NULL);
    head_of(&b, 200, 0);
    assert_true(sized(&r, "200 headers", &b, "200 200"));
    head_of(&b, 201, 0);
    assert_true(sized(&r, "201 headers", &b, "431"));
    head_of(&b, 300, 0);
    assert_true(sized(&r, "300 headers", &b, "431"));
    head_of(&b, 1, 65536);
    assert_int_equal(b.n, 65536);
    assert_true(sized(&r, "64 KiB", &b, "200 200"));
    head_of(&b, 1, 65537);
    assert_true(sized(&r, "64 KiB and a byte", &b, "431"));
    head_of(&b, 1, 400000);
    assert_true(sized(&r, "400 KB", &b, "431"));
    buf_reset(&b);
    buf_addz(&b, "GET /");
    while (b.n < 70000) {
        buf_addc(&b, 'x');
    }
    assert_true(sized(&r, "a line without an end", &b, "431"));
    httpd_rig_close(&r);
}

static void chunks_of(struct buf *b, unsigned count, const char *chunk)
{
    buf_reset(b);
    buf_addz(b, CHUNKED);
    for (unsigned i = 0; i < count; i++) {
        buf_addz(b, chunk);
    }
    buf_addz(b, "0\r\n\r\n");
}

static void test_sizes_of_bodies(void **state)
{
    (void)state;
    struct httpd_rig r;
    struct httpd_conf conf = {.max_body = 100000};
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 1 << 20);
    httpd_rig_open(&r, &conf);
    chunks_of(&b, 100000, "1\r\na\r\n");
    assert_true(sized(&r, "smallest chunks", &b, "200 200"));
    chunks_of(&b, 100001, "1\r\na\r\n");
    assert_true(sized(&r, "a byte too much", &b, "413"));
    chunks_of(&b, 4000, "1;an=extension,twenty=bytes,long=er\r\na\r\n");
    assert_true(sized(&r, "far more framing than body", &b, "400"));
    buf_reset(&b);
    buf_addz(&b, POST "Content-Length: 100000\r\n\r\n");
    for (unsigned i = 0; i < 100000; i++) {
        buf_addc(&b, 'b');
    }
    assert_true(sized(&r, "largest body", &b, "200 200"));
    httpd_rig_close(&r);
}

int httpd_probe_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fine),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_sizes_of_heads),
        cmocka_unit_test(test_sizes_of_bodies),
    };
    return cmocka_run_group_tests_name("httpd probes", tests, NULL, NULL);
}
