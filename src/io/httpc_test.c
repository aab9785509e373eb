/* Tests of the HTTP client against a server on loopback: what is sent, what is made of each kind of
 * answer, limits, deadlines, cancels, many at once. Addresses, names, proxies and TLS:
 * httpc_reach_test.c. SPDX-License-Identifier: Apache-2.0 */
#include "io/httpc_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "io/tests.h"

#define SECOND NSEC_PER_SEC

struct place {
    struct httpc_rig rig;
    struct sink *sink;
};

static int set_up(void **state)
{
    struct place *p = xcalloc(1, sizeof(*p));
    p->sink = sink_open();
    httpc_rig_open(&p->rig, &(struct httpc_conf){.user_agent = "agent/1"});
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    struct place *p = *state;
    httpc_rig_close(&p->rig);
    sink_close(p->sink);
    free(p);
    return 0;
}

static void ask_path(struct ask *a, struct place *p, nsec_t within, const char *path)
{
    ask_init(a, &p->rig, within, "http://127.0.0.1:%d%s", sink_port(p->sink), path);
}

static void run_path(struct ask *a, struct place *p, nsec_t within, const char *path)
{
    ask_path(a, p, within, path);
    ask_run(a);
}

static void assert_text(struct str got, const char *want)
{
    if (!str_eqz(got, want)) {
        fail_msg("\"%.*s\" is not \"%s\"", STR_ARG(got), want);
    }
}

static void expect(const struct ask *a, enum httpc_fail fail, int status)
{
    if (a->done != 1 || a->rq.op.err.code || a->rq.fail != fail || a->rq.status != status) {
        fail_msg("%s: done %u, err %d, fail %d, status %d: %s", a->url, a->done, a->rq.op.err.code,
                 a->rq.fail, a->rq.status, a->rq.fail_text);
    }
    assert_true((fail == HTTPC_OK) == (a->rq.fail_text[0] == '\0'));
    assert_true(a->rq.ended >= a->rq.started && a->rq.started > 0);
}

static void test_answers(void **state)
{
    static const struct {
        const char *path;
        int status;
        const char *body;
        nsec_t within;
    } v[] = {
        {"/ok", 200, "ok", 5 * SECOND},
        {"/500", 500, "bad", 5 * SECOND},
        {"/304", 304, "", 5 * SECOND},
        {"/302", 302, "", 5 * SECOND},
        {"/nowhere", 404, "", 5 * SECOND},
        {"/101", 101, "", 5 * SECOND},
        {"/100", 200, "", 5 * SECOND},
        {"/bare-lf", 200, "ok", 5 * SECOND},
        {"/gzip", 200, "\x1f\x8b\x08\1\2\3\4\5\6\7", 5 * SECOND},
        {"/trailer", 200, "ok", 5 * SECOND},
        {"/same-lengths", 200, "ok", 5 * SECOND},
        {"/long", 200, "ok", 5 * SECOND},
        {"/short", 200, "abc", 5 * SECOND},
        {"/body-reset", 200, "abc", 5 * SECOND},
        {"/body-hang", 200, "abc", SECOND / 5},
        {"/endless-trailer", 200, "ok", 5 * SECOND},
    };
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        struct ask a;
        run_path(&a, *state, v[i].within, v[i].path);
        expect(&a, HTTPC_OK, v[i].status);
        assert_text(buf_str(&a.rq.body_out), v[i].body);
        assert_false(a.rq.truncated);
        ask_fini(&a);
    }
}

static void test_failures(void **state)
{
    static const struct {
        const char *path;
        enum httpc_fail fail;
        nsec_t within;
    } v[] = {
        {"/hang", HTTPC_TIMEOUT, SECOND / 5},
        {"/half", HTTPC_TIMEOUT, SECOND / 5},
        {"/only-100", HTTPC_TIMEOUT, SECOND / 5},
        {"/close", HTTPC_CLOSED, 5 * SECOND},
        {"/half-close", HTTPC_CLOSED, 5 * SECOND},
        {"/reset", HTTPC_RESET, 5 * SECOND},
        {"/half-reset", HTTPC_RESET, 5 * SECOND},
        {"/bad-length", HTTPC_PROTOCOL, 5 * SECOND},
        {"/minus-length", HTTPC_PROTOCOL, 5 * SECOND},
        {"/two-lengths", HTTPC_PROTOCOL, 5 * SECOND},
        {"/garbage", HTTPC_PROTOCOL, 5 * SECOND},
        {"/099", HTTPC_PROTOCOL, 5 * SECOND},
        {"/version", HTTPC_PROTOCOL, 5 * SECOND},
        {"/endless-head", HTTPC_PROTOCOL, 5 * SECOND},
        {"/endless-line", HTTPC_PROTOCOL, 5 * SECOND},
        {"/endless-100", HTTPC_PROTOCOL, 5 * SECOND},
    };
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        struct ask a;
        run_path(&a, *state, v[i].within, v[i].path);
        expect(&a, v[i].fail, 0);
        assert_true(a.rq.head_out.n <= 65536 && a.rq.body_out.n == 0);
        if (v[i].fail == HTTPC_TIMEOUT) {
            nsec_t took = a.rq.ended - a.rq.started;
            assert_true(took > SECOND / 10 && took < 2 * SECOND);
        }
        ask_fini(&a);
    }
}

static void test_refused(void **state)
{
    struct place *p = *state;
    struct ask a;
    ask_init(&a, &p->rig, 5 * SECOND, "http://user:pass%%21word@127.0.0.1:%d/x", closed_port());
    ask_run(&a);
    expect(&a, HTTPC_REFUSED, 0);
    assert_null(strstr(a.rq.fail_text, "word"));
    ask_fini(&a);
    ask_init(&a, &p->rig, 5 * SECOND, "http://127.0.0.1:0/");
    ask_run(&a);
    expect(&a, HTTPC_REFUSED, 0);
    ask_fini(&a);
}

static void test_unusable(void **state)
{
    static const char *const urls[] = {"",
                                       "127.0.0.1",
                                       "ftp://u:secret@127.0.0.1/",
                                       "file:///etc/hostname",
                                       "http://",
                                       "http://u:secret@[::1",
                                       "http://u:secret@127.0.0.1:99999/",
                                       "http://u:secret@127.0.0.1:x/",
                                       "http://127.0.0.1/a b",
                                       "http://127.0.0.1/a\nb"};
    struct place *p = *state;
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        struct ask a;
        ask_init(&a, &p->rig, 5 * SECOND, "%s", urls[i]);
        ask_run(&a);
        expect(&a, HTTPC_URL, 0);
        assert_null(strstr(a.rq.fail_text, "secret"));
        ask_fini(&a);
    }
    struct ask a;
    ask_path(&a, p, SECOND, "/ok");
    a.rq.url.n++; /* the terminator */
    ask_run(&a);
    expect(&a, HTTPC_URL, 0);
    ask_fini(&a);
    ask_path(&a, p, SECOND, "/ok");
    a.rq.method = STR("GET / HTTP/1.1\r\nX:");
    ask_run(&a);
    expect(&a, HTTPC_URL, 0);
    ask_fini(&a);
}

static void test_head_out(void **state)
{
    struct ask a;
    run_path(&a, *state, 5 * SECOND, "/ok");
    assert_text(buf_str(&a.rq.head_out),
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: 1\r\nx-a:  two \r\n\r\n");
    assert_text(httpc_header(&a.rq, "X-a"), "two");
    assert_null(httpc_header(&a.rq, "X").p);
    ask_fini(&a);
    run_path(&a, *state, 5 * SECOND, "/100");
    assert_null(httpc_header(&a.rq, "X-First").p);
    assert_text(httpc_header(&a.rq, "X-Last"), "1");
    ask_fini(&a);
    run_path(&a, *state, 5 * SECOND, "/trailer");
    assert_text(httpc_header(&a.rq, "X-A"), "head");
    ask_fini(&a);
    run_path(&a, *state, 5 * SECOND, "/nul");
    assert_true(str_eq(buf_str(&a.rq.body_out), (struct str){"a\0b\xff", 4}));
    ask_fini(&a);
}

static void expect_echo(struct ask *a, const char *want)
{
    ask_run(a);
    expect(a, HTTPC_OK, 200);
    assert_text(buf_str(&a->rq.body_out), want);
    ask_fini(a);
}

static void test_request(void **state)
{
    struct place *p = *state;
    static const struct http_header headers[] = {{STR("X-Empty"), STR("")},
                                                 {STR("x-Blank"), STR(" \t ")},
                                                 {STR("Content-Type"), STR("a/b")},
                                                 {STR("X-Twice"), STR("1")},
                                                 {STR("X-Twice"), STR(" 2 ")},
                                                 {STR("X-Last"), STR("")},
                                                 {STR("X-Utf8"), STR("\xc3\xa4\tb: c; d")},
                                                 {STR("Content-length"), STR("99")},
                                                 {STR("Host"), STR("elsewhere")},
                                                 {STR("Trailer"), STR("x")},
                                                 {STR("transfer-encoding"), STR("chunked")},
                                                 {STR("Expect"), STR("100-continue")}};
    char want[512];
    struct ask a;
    ask_path(&a, p, 5 * SECOND, "/echo");
    a.rq.headers = headers;
    a.rq.header_count = ARRAY_LEN(headers);
    snprintf(want, sizeof(want),
             "POST /echo HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUser-Agent: agent/1\r\nX-Empty:\r\n"
             "x-Blank:\r\nContent-Type: a/b\r\nX-Twice: 1\r\nX-Twice: 2\r\nX-Last:\r\n"
             "X-Utf8: \xc3\xa4\tb: c; d\r\nContent-Length: 5\r\n\r\nhello",
             sink_port(p->sink));
    expect_echo(&a, want);

    /* The handle is used again: nothing of the last request stays. */
    ask_path(&a, p, 5 * SECOND, "/echo");
    a.rq.method = STR("DELETE");
    a.rq.body = STR("");
    snprintf(want, sizeof(want),
             "DELETE /echo HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUser-Agent: agent/1\r\n"
             "Content-Length: 0\r\n\r\n",
             sink_port(p->sink));
    expect_echo(&a, want);

    static const struct http_header agent[] = {{STR("User-agent"), STR("other")}};
    ask_path(&a, p, 5 * SECOND, "/echo");
    a.rq.headers = agent;
    a.rq.header_count = 1;
    a.rq.method = STR("GET");
    snprintf(want, sizeof(want),
             "GET /echo HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUser-agent: other\r\n\r\n",
             sink_port(p->sink));
    expect_echo(&a, want);

    ask_path(&a, p, 5 * SECOND, "/ok");
    a.rq.method = STR("HEAD");
    ask_run(&a);
    expect(&a, HTTPC_OK, 200);
    ask_fini(&a);
}

static void test_userinfo(void **state)
{
    struct place *p = *state;
    static const struct http_header own[] = {{STR("Authorization"), STR("Bearer x")}};
    struct ask a;
    ask_init(&a, &p->rig, 5 * SECOND, "http://sam:123444@127.0.0.1:%d/echo", sink_port(p->sink));
    ask_run(&a);
    assert_non_null(strstr(buf_z(&a.rq.body_out), "Authorization: Basic c2FtOjEyMzQ0NA==\r\n"));
    ask_fini(&a);
    ask_init(&a, &p->rig, 5 * SECOND, "http://sam:123444@127.0.0.1:%d/echo", sink_port(p->sink));
    a.rq.headers = own;
    a.rq.header_count = 1;
    ask_run(&a);
    assert_null(strstr(buf_z(&a.rq.body_out), "Basic"));
    assert_non_null(strstr(buf_z(&a.rq.body_out), "Authorization: Bearer x\r\n"));
    ask_fini(&a);
    ask_path(&a, p, 5 * SECOND, "/echo"); /* nor does the handle remember it */
    ask_run(&a);
    assert_null(strstr(buf_z(&a.rq.body_out), "Authorization"));
    ask_fini(&a);
}

static void test_bad_headers(void **state)
{
    struct place *p = *state;
    static const struct http_header bad[] = {
        {STR("a b"), STR("v")},      {STR(""), STR("v")},       {STR("x:y"), STR("v")},
        {STR("x\r\ny"), STR("v")},   {STR("x"), STR("1\n2")},   {STR("x"), STR("1\r\nY: 2")},
        {STR("x"), STR("tail\r\n")}, {STR("x"), STR("nul\0x")}, {STR("x;"), STR("")},
        {STR("\xc3\xa4"), STR("v")}, {STR("x"), STR("\x7f")}};
    unsigned before = sink_requests(p->sink);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct ask a;
        ask_path(&a, p, 5 * SECOND, "/ok");
        a.rq.headers = &bad[i];
        a.rq.header_count = 1;
        ask_run(&a);
        expect(&a, HTTPC_HEADER, 0);
        ask_fini(&a);
    }
    assert_int_equal(sink_requests(p->sink), before);
}

static void test_reuse(void **state)
{
    struct place *p = *state;
    unsigned before = sink_accepts(p->sink);
    for (int i = 0; i < 20; i++) {
        struct ask a;
        run_path(&a, p, 5 * SECOND, i % 2 ? "/ok" : "/500");
        assert_int_equal(a.rq.fail, HTTPC_OK);
        assert_int_equal(a.rq.reused, i > 0);
        ask_fini(&a);
    }
    assert_int_equal(sink_accepts(p->sink) - before, 1);
}

static void test_body_cap(void **state)
{
    struct place *p = *state;
    static const struct {
        const char *path;
        size_t most, kept;
        bool truncated;
        unsigned accepts; /* of two requests in a row */
    } v[] = {
        {"/size/1024", 1024, 1024, false, 1},   {"/size/1025", 1024, 1024, true, 1},
        {"/size/65537", 0, 65536, true, 1},     {"/size/1000000", 1024, 1024, true, 1},
        {"/size/4000000", 1024, 1024, true, 2}, {"/endless-body", 1000, 1000, true, 2},
    };
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        struct httpc_rig own;
        httpc_rig_open(&own, &(struct httpc_conf){0});
        unsigned before = sink_accepts(p->sink);
        for (int k = 0; k < 2; k++) {
            struct ask a;
            ask_init(&a, &own, 10 * SECOND, "http://127.0.0.1:%d%s", sink_port(p->sink), v[i].path);
            a.rq.max_response = v[i].most;
            ask_run(&a);
            expect(&a, HTTPC_OK, 200);
            assert_int_equal(a.rq.body_out.n, v[i].kept);
            assert_int_equal(a.rq.truncated, v[i].truncated);
            ask_fini(&a);
        }
        assert_int_equal(sink_accepts(p->sink) - before, v[i].accepts);
        httpc_rig_close(&own);
    }
}

/* A body that stops beyond what is kept holds nobody up until the deadline. */
static void test_body_stall(void **state)
{
    struct ask a;
    ask_path(&a, *state, 15 * SECOND, "/stall/2000");
    a.rq.max_response = 1000;
    ask_run(&a);
    expect(&a, HTTPC_OK, 200);
    assert_true(a.rq.truncated && a.rq.body_out.n == 1000);
    nsec_t took = a.rq.ended - a.rq.started;
    assert_true(took > SECOND * 9 / 10 && took < 5 * SECOND);
    ask_fini(&a);
}

static void on_cancel(void *arg)
{
    struct ask *a = arg;
    op_cancel(&a->rq.op);
    op_cancel(&a->rq.op);
}

static void on_send_and_cancel(void *arg)
{
    struct ask *a = arg;
    httpc_send(a->rig->client, &a->rq);
    on_cancel(a);
}

static void test_cancel(void **state)
{
    struct place *p = *state;
    struct ask a;
    ask_path(&a, p, 15 * SECOND, "/hang");
    ask_send(&a);
    struct ask other; /* by its end the first is well under way */
    run_path(&other, p, 5 * SECOND, "/ok");
    ask_fini(&other);
    assert_int_equal(a.done, 0);
    httpc_rig_call(&p->rig, on_cancel, &a);
    ask_wait(&a);
    assert_int_equal(a.rq.op.err.code, EC_CANCELED);
    httpc_rig_call(&p->rig, on_cancel, &a); /* too late: harmless */
    run_path(&other, p, SECOND, "/ok");
    expect(&other, HTTPC_OK, 200);
    ask_fini(&other);
    assert_int_equal(a.done, 1);
    ask_fini(&a);

    unsigned before = sink_requests(p->sink);
    ask_path(&a, p, 15 * SECOND, "/hang");
    httpc_rig_call(&p->rig, on_send_and_cancel, &a);
    ask_wait(&a);
    httpc_rig_call(&p->rig, on_cancel, &a);
    assert_int_equal(a.rq.op.err.code, EC_CANCELED);
    assert_int_equal(a.done, 1);
    assert_int_equal(sink_requests(p->sink), before);
    ask_fini(&a);
}

static void test_close_cancels(void **state)
{
    struct place *p = *state;
    struct httpc_rig own;
    httpc_rig_open(&own, &(struct httpc_conf){0});
    struct ask a[8];
    for (size_t i = 0; i < ARRAY_LEN(a); i++) {
        ask_init(&a[i], &own, 15 * SECOND, "http://127.0.0.1:%d/hang", sink_port(p->sink));
        ask_send(&a[i]);
    }
    httpc_rig_close(&own);
    for (size_t i = 0; i < ARRAY_LEN(a); i++) {
        assert_int_equal(a[i].done, 1);
        assert_int_equal(a[i].rq.op.err.code, EC_CANCELED);
        ask_fini(&a[i]);
    }
}

static void test_deadline_passed(void **state)
{
    struct ask a;
    run_path(&a, *state, -SECOND, "/hang");
    expect(&a, HTTPC_TIMEOUT, 0);
    ask_fini(&a);
}

#define HUNG 1000
#define ACTIVE 64
#define ROUNDS 20

static void test_many_hung(void **state)
{
    struct place *p = *state;
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    assert_true(files.rlim_cur >= 2 * HUNG + 500);
    struct ask *hung = xcalloc(HUNG, sizeof(*hung)), *active = xcalloc(ACTIVE, sizeof(*active));
    for (size_t i = 0; i < HUNG; i++) {
        ask_path(&hung[i], p, 60 * SECOND, "/hang");
        ask_send(&hung[i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < ACTIVE; i++) {
            ask_path(&active[i], p, 15 * SECOND, "/ok");
            ask_send(&active[i]);
        }
        for (size_t i = 0; i < ACTIVE; i++) {
            ask_wait(&active[i]);
            expect(&active[i], HTTPC_OK, 200);
            ask_fini(&active[i]);
        }
    }
    for (size_t i = 0; i < HUNG; i++) {
        assert_int_equal(hung[i].done, 0);
        httpc_rig_call(&p->rig, on_cancel, &hung[i]);
        ask_wait(&hung[i]);
        assert_int_equal(hung[i].done, 1);
        ask_fini(&hung[i]);
    }
    /* Active ones held to their kept connections. */
    assert_true(sink_accepts(p->sink) <= HUNG + ACTIVE);
    free(hung);
    free(active);
}

int httpc_tests(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(test_answers),       TEST(test_failures),        TEST(test_refused),
        TEST(test_unusable),      TEST(test_head_out),        TEST(test_request),
        TEST(test_userinfo),      TEST(test_bad_headers),     TEST(test_reuse),
        TEST(test_body_cap),      TEST(test_body_stall),      TEST(test_cancel),
        TEST(test_close_cancels), TEST(test_deadline_passed), TEST(test_many_hung),
    };
#undef TEST
    return cmocka_run_group_tests_name("io/httpc", tests, NULL, NULL);
}
