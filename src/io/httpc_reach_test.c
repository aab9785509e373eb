/* Tests of where the HTTP client goes and where not: the egress policy in every spelling of an
 * address, names (the resolver is replaced: nothing is asked outside), TLS, proxies.
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/httpc_rig.h"

#include <dlfcn.h>
#include <locale.h>
#include <netdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/httpc_peer_rig.h"
#include "io/tests.h"

#define SECOND NSEC_PER_SEC

/* ---- names ---- */

typedef int resolve_fn(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static const struct {
    const char *name, *addresses[2];
} names[] = {
    {"localhost", {"127.0.0.1"}},
    {"loop.test", {"127.0.0.1", "::1"}},
    {"mapped.test", {"::ffff:127.0.0.1"}},
    {"mixed.test", {"10.1.2.3", "127.0.0.1"}},
    {"refused.test", {"10.1.2.3", "127.0.0.9"}},
    {"meta.test", {"169.254.169.254", "fe80::1"}},
};

static int resolve_one(const char *address, const char *service, const struct addrinfo *hints,
                       struct addrinfo **out)
{
    void *found = dlsym(RTLD_NEXT, "getaddrinfo");
    resolve_fn *real;
    memcpy(&real, &found, sizeof(real));
    struct addrinfo h = hints ? *hints : (struct addrinfo){0};
    h.ai_flags |= AI_NUMERICHOST;
    return real(address, service, &h, out);
}

/* In place of the C library's for the whole program. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **out)
{
    size_t i = 0;
    while (node && i < ARRAY_LEN(names) && strcmp(names[i].name, node)) {
        i++;
    }
    if (node && strcmp(node, "slow.test") == 0) {
        usleep(1200000);
    }
    if (!node || i == ARRAY_LEN(names)) {
        return resolve_one(node, service, hints, out);
    }
    struct addrinfo **end = out;
    *out = NULL;
    for (size_t k = 0; k < ARRAY_LEN(names[i].addresses) && names[i].addresses[k]; k++) {
        if (resolve_one(names[i].addresses[k], service, hints, end) == 0) {
            while (*end) {
                end = &(*end)->ai_next;
            }
        }
    }
    return *out ? 0 : EAI_NONAME;
}

/* ---- the policy ---- */

struct place {
    struct httpc_rig rig;
    struct egress *egress;
    struct sink *sink;
};

static void place_open(struct place *p, const char *allow, const char *ca_file)
{
    struct err err = {0};
    if (egress_new(STR("public"), str_z(allow), &p->egress, &err)) {
        fail_msg("%s", err.text);
    }
    p->sink = sink_open();
    httpc_rig_open(&p->rig, &(struct httpc_conf){.egress = p->egress, .ca_file = ca_file});
}

static void place_close(struct place *p)
{
    httpc_rig_close(&p->rig);
    sink_close(p->sink);
    egress_free(p->egress);
}

static void expect(struct ask *a, enum httpc_fail fail, int status)
{
    ask_run(a);
    if (a->rq.op.err.code || a->rq.fail != fail || a->rq.status != status) {
        fail_msg("%s: err %d, fail %d, status %d: %s", a->url, a->rq.op.err.code, a->rq.fail,
                 a->rq.status, a->rq.fail_text);
    }
    if (fail == HTTPC_BLOCKED) {
        assert_non_null(strstr(a->rq.fail_text, "EGRESS_ALLOW"));
    }
}

static void test_blocked(void **state)
{
    (void)state;
    static const char *const hosts[] = {"127.0.0.1",
                                        "[::1]",
                                        "[::ffff:127.0.0.1]",
                                        "0x7f.1",
                                        "localhost",
                                        "2130706433",
                                        "017700000001",
                                        "127.1",
                                        "0x7F000001",
                                        "127.0.1",
                                        "0",
                                        "[::]",
                                        "[::ffff:7f00:1]",
                                        "[0:0:0:0:0:ffff:127.0.0.1]",
                                        "[64:ff9b::7f00:1]",
                                        "[2002:7f00:1::]",
                                        "[::127.0.0.1]",
                                        "169.254.169.254",
                                        "10.0.0.1",
                                        "[fe80::1]",
                                        "[fd00::1]",
                                        "user:pw@127.0.0.1",
                                        "%31%32%37.0.0.1",
                                        "\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1",
                                        "loop.test",
                                        "mapped.test",
                                        "mixed.test",
                                        "meta.test"};
    struct place p;
    place_open(&p, "", NULL);
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        struct ask a;
        ask_init(&a, &p.rig, 5 * SECOND, "http://%s:%d/ok", hosts[i], sink_port(p.sink));
        expect(&a, HTTPC_BLOCKED, 0);
        ask_fini(&a);
    }
    assert_int_equal(sink_accepts(p.sink), 0);
    place_close(&p);
}

static void test_allowed(void **state)
{
    (void)state;
    static const char *const hosts[] = {"127.0.0.1", "0x7f.1",    "2130706433", "017700000001",
                                        "localhost", "loop.test", "mixed.test"};
    struct place p;
    place_open(&p, "127.0.0.0/8", NULL);
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        struct ask a;
        ask_init(&a, &p.rig, 5 * SECOND, "http://%s:%d/ok", hosts[i], sink_port(p.sink));
        expect(&a, HTTPC_OK, 200);
        ask_fini(&a);
    }
    /* The allowed address was tried: its failure is the one that counts. */
    struct ask a;
    ask_init(&a, &p.rig, 5 * SECOND, "http://refused.test:%d/", closed_port());
    expect(&a, HTTPC_REFUSED, 0);
    ask_fini(&a);
    ask_init(&a, &p.rig, 5 * SECOND, "http://[::1]:%d/", sink_port(p.sink));
    expect(&a, HTTPC_BLOCKED, 0);
    ask_fini(&a);
    place_close(&p);
}

/* A connection that an exempt request left behind does not carry a tenant's. */
static void test_exempt(void **state)
{
    (void)state;
    struct place p;
    place_open(&p, "", NULL);
    for (int i = 0; i < 6; i++) {
        struct ask a;
        ask_init(&a, &p.rig, 5 * SECOND, "http://127.0.0.1:%d/ok", sink_port(p.sink));
        a.rq.exempt = i % 2 == 0;
        expect(&a, a.rq.exempt ? HTTPC_OK : HTTPC_BLOCKED, a.rq.exempt ? 200 : 0);
        ask_fini(&a);
    }
    assert_int_equal(sink_requests(p.sink), 3);
    place_close(&p);
}

static void test_names(void **state)
{
    (void)state;
    struct place p;
    place_open(&p, "127.0.0.0/8", NULL);
    struct ask a, slow;
    ask_init(&a, &p.rig, 5 * SECOND, "http://sam:secret@nowhere.test/");
    expect(&a, HTTPC_DNS, 0);
    assert_null(strstr(a.rq.fail_text, "secret"));
    ask_fini(&a);
    /* A name server that takes its time holds up neither the deadline nor anybody else. */
    ask_init(&slow, &p.rig, SECOND / 5, "http://slow.test/");
    nsec_t before = mono_now();
    ask_send(&slow);
    ask_init(&a, &p.rig, 5 * SECOND, "http://127.0.0.1:%d/ok", sink_port(p.sink));
    expect(&a, HTTPC_OK, 200);
    ask_fini(&a);
    ask_wait(&slow);
    ask_init(&a, &p.rig, 5 * SECOND, "http://127.0.0.1:%d/ok", sink_port(p.sink));
    expect(&a, HTTPC_OK, 200);
    ask_fini(&a);
    assert_true(mono_now() - before < SECOND);
    assert_int_equal(slow.rq.fail, HTTPC_TIMEOUT);
    ask_fini(&slow);
    place_close(&p);
}

/* No descriptor left is not the receiver's fault. */
static void fill_descriptors(void *arg)
{
    int *fds = arg;
    for (int i = 0; i < 4096; i++) {
        fds[i] = dup(STDERR_FILENO);
        if (fds[i] < 0) {
            return;
        }
    }
}

static void test_no_descriptors(void **state)
{
    (void)state;
    struct place p;
    place_open(&p, "127.0.0.0/8", NULL);
    struct rlimit was, few;
    getrlimit(RLIMIT_NOFILE, &was);
    few = was;
    few.rlim_cur = MIN(was.rlim_max, 512);
    setrlimit(RLIMIT_NOFILE, &few);
    int fds[4096];
    fill_descriptors(fds);
    struct ask a;
    ask_init(&a, &p.rig, 5 * SECOND, "http://127.0.0.1:%d/ok", sink_port(p.sink));
    ask_run(&a);
    for (int i = 0; i < 4096 && fds[i] >= 0; i++) {
        close(fds[i]);
    }
    setrlimit(RLIMIT_NOFILE, &was);
    assert_int_equal(a.rq.op.err.code, EC_UNAVAILABLE);
    ask_fini(&a);
    ask_init(&a, &p.rig, 5 * SECOND, "http://127.0.0.1:%d/ok", sink_port(p.sink));
    expect(&a, HTTPC_OK, 200);
    ask_fini(&a);
    place_close(&p);
}

/* ---- TLS ---- */

static void test_tls(void **state)
{
    (void)state;
    struct peer *peer = peer_open(PEER_TLS);
    struct place known, unknown;
    place_open(&known, "127.0.0.0/8", peer_ca_file());
    place_open(&unknown, "127.0.0.0/8", NULL);
    struct ask a;
    for (int i = 0; i < 3; i++) {
        ask_init(&a, &known.rig, 5 * SECOND, "https://127.0.0.1:%d/", peer_port(peer));
        expect(&a, HTTPC_OK, 200);
        assert_true(str_eqz(buf_str(&a.rq.body_out), "tls"));
        assert_int_equal(a.rq.reused, i > 0);
        ask_fini(&a);
    }
    assert_int_equal(peer_accepts(peer), 1);
    ask_init(&a, &known.rig, 5 * SECOND, "https://loop.test:%d/", peer_port(peer));
    expect(&a, HTTPC_TLS, 0); /* not the certificate's name */
    ask_fini(&a);
    /* What an unchecked request opened serves no checked one. */
    for (int i = 0; i < 4; i++) {
        ask_init(&a, &unknown.rig, 5 * SECOND, "https://127.0.0.1:%d/", peer_port(peer));
        a.rq.tls_insecure = i % 2;
        expect(&a, i % 2 ? HTTPC_OK : HTTPC_TLS, i % 2 ? 200 : 0);
        ask_fini(&a);
    }
    ask_init(&a, &unknown.rig, 5 * SECOND, "http://127.0.0.1:%d/", peer_port(peer));
    ask_run(&a);
    assert_true(a.rq.fail == HTTPC_CLOSED || a.rq.fail == HTTPC_RESET ||
                a.rq.fail == HTTPC_PROTOCOL);
    ask_fini(&a);
    place_close(&known);
    place_close(&unknown);
    peer_close(peer);
}

static void test_handshakes(void **state)
{
    (void)state;
    static const struct {
        enum peer_mode mode;
        enum httpc_fail fail;
    } v[] = {
        {PEER_TLS_ALERT, HTTPC_TLS},     {PEER_CLEAR, HTTPC_PLAIN_HTTP},
        {PEER_GARBAGE, HTTPC_TLS},       {PEER_HELLO_CLOSE, HTTPC_CLOSED},
        {PEER_HELLO_RESET, HTTPC_RESET},
    };
    struct place p;
    place_open(&p, "127.0.0.0/8", peer_ca_file());
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        struct peer *peer = peer_open(v[i].mode);
        struct ask a;
        ask_init(&a, &p.rig, 5 * SECOND, "https://127.0.0.1:%d/", peer_port(peer));
        expect(&a, v[i].fail, 0);
        ask_fini(&a);
        peer_close(peer);
    }
    place_close(&p);
}

/* ---- proxies ---- */

struct errand {
    enum peer_mode mode;
    const char *url;
    enum httpc_fail fail;
    int status, proxy_status;
    const char *proxy; /* printf form with the port; NULL: http://127.0.0.1 */
};

static void run_errand(struct place *p, const struct errand *e)
{
    struct peer *peer = peer_open(e->mode);
    char proxy[128];
    snprintf(proxy, sizeof(proxy), "%s127.0.0.1:%d", e->proxy ? e->proxy : "http://u:secret@",
             peer_port(peer));
    struct ask a;
    ask_init(&a, &p->rig, 5 * SECOND, "%s", e->url);
    a.rq.proxy = str_z(proxy);
    expect(&a, e->fail, e->status);
    assert_int_equal(a.rq.proxy_status, e->proxy_status);
    assert_null(strstr(a.rq.fail_text, "secret"));
    if (e->mode == PEER_PROXY_503 && e->proxy_status) {
        assert_true(str_eqz(httpc_header(&a.rq, "X-Envoy-Response-Flags"), "UF"));
    }
    if (e->fail == HTTPC_BLOCKED) {
        assert_int_equal(peer_accepts(peer), 0);
    }
    ask_fini(&a);
    peer_close(peer);
}

static void test_proxy(void **state)
{
    (void)state;
    static const struct errand v[] = {
        {PEER_PROXY, "http://far.test/x", HTTPC_OK, 200, 0, NULL},
        {PEER_PROXY, "https://localhost/x", HTTPC_OK, 200, 0, NULL},
        {PEER_PROXY, "https://far.test/x", HTTPC_TLS, 0, 0, NULL},
        {PEER_PROXY_407, "http://far.test/", HTTPC_OK, 407, 0, NULL},
        {PEER_PROXY_407, "https://far.test/", HTTPC_PROXY, 0, 407, NULL},
        {PEER_PROXY_503, "http://far.test/", HTTPC_OK, 503, 0, NULL},
        {PEER_PROXY_503, "https://far.test/", HTTPC_PROXY, 0, 503, NULL},
        {PEER_PROXY_CLOSE, "http://far.test/", HTTPC_CLOSED, 0, 0, NULL},
        {PEER_PROXY_CLOSE, "https://far.test/", HTTPC_CLOSED, 0, 0, NULL},
        {PEER_SOCKS_REFUSED, "http://far.test/", HTTPC_REFUSED, 0, 0, "socks5://"},
        {PEER_SOCKS_GENERAL, "http://far.test/", HTTPC_PROXY, 0, 0, "socks5://"},
        {PEER_CLEAR, "http://far.test/", HTTPC_PROXY, 0, 0, "https://"},
        {PEER_PROXY, "http://127.0.0.1/", HTTPC_BLOCKED, 0, 0, NULL},
        {PEER_PROXY, "https://[::1]/", HTTPC_BLOCKED, 0, 0, NULL},
        {PEER_PROXY, "http://0x7f.1/", HTTPC_BLOCKED, 0, 0, NULL},
        {PEER_PROXY, "http://2130706433/", HTTPC_BLOCKED, 0, 0, NULL},
        {PEER_PROXY, "http://127.0.0.1./", HTTPC_BLOCKED, 0, 0, NULL},
        {PEER_PROXY, "http://%31%32%37.0.0.1/", HTTPC_BLOCKED, 0, 0, NULL},
        {PEER_PROXY, "http://\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1/", HTTPC_BLOCKED, 0, 0,
         NULL},
        {PEER_PROXY, "http://[::ffff:127.0.0.1]/", HTTPC_BLOCKED, 0, 0, NULL},
        {PEER_PROXY, "http://[fe80::1%25lo]/", HTTPC_BLOCKED, 0, 0, NULL},
        {PEER_PROXY, "HTTP://127.1/", HTTPC_BLOCKED, 0, 0, NULL},
        {PEER_PROXY, "http:////127.0.0.1/", HTTPC_URL, 0, 0, NULL},
        {PEER_PROXY, "http://far.test/", HTTPC_PROXY, 0, 0, "ftp://"},
    };
    struct place p;
    place_open(&p, "", peer_ca_file());
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        run_errand(&p, &v[i]);
    }
    place_close(&p);
}

static void test_proxy_away(void **state)
{
    (void)state;
    struct place p;
    place_open(&p, "", NULL);
    char proxy[64];
    static const char *const urls[] = {"http://far.test/", "https://far.test/"};
    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        snprintf(proxy, sizeof(proxy), "http://127.0.0.1:%d", closed_port());
        struct ask a;
        ask_init(&a, &p.rig, 5 * SECOND, "%s", urls[i]);
        a.rq.proxy = str_z(proxy);
        expect(&a, HTTPC_PROXY, 0);
        ask_fini(&a);
    }
    place_close(&p);
}

static void test_proxy_request(void **state)
{
    (void)state;
    struct place p;
    place_open(&p, "", NULL);
    struct peer *peer = peer_open(PEER_PROXY);
    char proxy[64];
    snprintf(proxy, sizeof(proxy), "http://u:pw@127.0.0.1:%d", peer_port(peer));
    struct ask a;
    ask_init(&a, &p.rig, 5 * SECOND, "http://far.test/x?y=1");
    a.rq.proxy = str_z(proxy);
    a.rq.method = STR("GET");
    expect(&a, HTTPC_OK, 200);
    assert_string_equal(buf_z(&a.rq.body_out),
                        "GET http://far.test/x?y=1 HTTP/1.1\r\nHost: far.test\r\n"
                        "Proxy-Authorization: Basic dTpwdw==\r\n\r\n");
    ask_fini(&a);
    peer_close(peer);
    place_close(&p);
}

/* The environment's proxies are not ours. */
static void test_environment(void **state)
{
    (void)state;
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    setenv("all_proxy", "http://127.0.0.1:1", 1);
    setenv("NO_PROXY", "*", 1);
    struct place p;
    place_open(&p, "127.0.0.0/8", NULL);
    struct ask a;
    ask_init(&a, &p.rig, 5 * SECOND, "http://127.0.0.1:%d/ok", sink_port(p.sink));
    expect(&a, HTTPC_OK, 200);
    ask_fini(&a);
    unsetenv("NO_PROXY");
    ask_init(&a, &p.rig, 5 * SECOND, "http://localhost:%d/ok", sink_port(p.sink));
    expect(&a, HTTPC_OK, 200);
    ask_fini(&a);
    setenv("NO_PROXY", "*", 1);
    struct errand e = {PEER_PROXY, "http://far.test/x", HTTPC_OK, 200, 0, NULL};
    run_errand(&p, &e);
    unsetenv("http_proxy");
    unsetenv("all_proxy");
    unsetenv("NO_PROXY");
    place_close(&p);
}

/* curl takes names as the locale spells them; the server's main does the same. */
static int set_locale(void **state)
{
    (void)state;
    return setlocale(LC_CTYPE, "C.UTF-8") ? 0 : -1;
}

static int remove_ca(void **state)
{
    (void)state;
    peer_ca_remove();
    return 0;
}

int httpc_reach_tests(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocked),        cmocka_unit_test(test_allowed),
        cmocka_unit_test(test_exempt),         cmocka_unit_test(test_names),
        cmocka_unit_test(test_no_descriptors), cmocka_unit_test(test_tls),
        cmocka_unit_test(test_handshakes),     cmocka_unit_test(test_proxy),
        cmocka_unit_test(test_proxy_away),     cmocka_unit_test(test_proxy_request),
        cmocka_unit_test(test_environment),
    };
    return cmocka_run_group_tests_name("io/httpc reach", tests, set_locale, remove_ca);
}
