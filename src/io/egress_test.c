/* Tests of the egress policy: each range by its first, last and neighbouring addresses, each form
 * that carries an IPv4 address, the allow list. SPDX-License-Identifier: Apache-2.0 */
#include "io/egress.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/un.h>

#include <cmocka.h>

#include "io/tests.h"

static struct egress *make(const char *policy, const char *allow)
{
    struct egress *e = NULL;
    struct err err = {0};
    if (egress_new(str_z(policy), str_z(allow), &e, &err)) {
        fail_msg("%s", err.text);
    }
    return e;
}

static enum ec check(const struct egress *e, const char *address, struct err *err)
{
    struct sockaddr_in a4 = {.sin_family = AF_INET};
    struct sockaddr_in6 a6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, address, &a4.sin_addr) == 1) {
        return egress_check(e, (struct sockaddr *)&a4, err);
    }
    assert_int_equal(inet_pton(AF_INET6, address, &a6.sin6_addr), 1);
    return egress_check(e, (struct sockaddr *)&a6, err);
}

static void expect(const struct egress *e, enum ec want, const char *const *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct err err = {0};
        enum ec got = check(e, v[i], &err);
        if (got != want) {
            fail_msg("%s: %d instead of %d (%s)", v[i], got, want, err.text);
        }
    }
}

#define EXPECT(e, want, ...)                                                                       \
    expect(e, want, (const char *const[]){__VA_ARGS__},                                            \
           ARRAY_LEN(((const char *const[]){__VA_ARGS__})))

static void test_public_four(void **state)
{
    (void)state;
    struct egress *e = make("public", "");
    EXPECT(e, EC_DENIED, "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0",
           "100.127.255.255", "127.0.0.1", "127.255.255.255", "169.254.0.0", "169.254.169.254",
           "169.254.255.255", "172.16.0.0", "172.31.255.255", "192.0.0.0", "192.0.0.255",
           "192.0.2.0", "192.0.2.255", "192.88.99.1", "192.168.0.0", "192.168.255.255",
           "198.18.0.0", "198.19.255.255", "198.51.100.0", "198.51.100.255", "203.0.113.0",
           "203.0.113.255", "224.0.0.0", "239.255.255.255", "240.0.0.0", "255.255.255.255");
    EXPECT(e, EC_OK, "1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
           "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255",
           "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0", "192.167.255.255",
           "192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0",
           "203.0.112.255", "203.0.114.0", "223.255.255.255", "8.8.8.8");
    egress_free(e);
}

static void test_public_six(void **state)
{
    (void)state;
    struct egress *e = make("public", "");
    EXPECT(e, EC_DENIED, "::", "::1", "::2", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1",
           "::ffff:8.8.8.8", "::ffff:0:8.8.8.8", "64:ff9b::127.0.0.1", "64:ff9b::8.8.8.8",
           "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "100::", "100::ffff:ffff:ffff:ffff",
           "2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "2001:2::1", "2001:10::1",
           "2001:2f::1", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
           "2002::", "2002:808:808::1", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff::1",
           "5f00::1", "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fe80::", "fe80::1",
           "febf::1", "fec0::1", "ff00::", "ff02::1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
    EXPECT(e, EC_OK, "64:ff9a::1", "64:ff9b:2::1", "100:0:0:1::", "2000::1", "2001:1::1",
           "2001:30::1", "2001:db7::1", "2001:db9::1", "2003::1", "2606:4700::1111", "fbff::1",
           "fe00::1");
    egress_free(e);
}

static void test_words(void **state)
{
    (void)state;
    struct egress *e = make("public", "");
    struct err err = {0};
    assert_int_equal(check(e, "127.0.0.1", &err), EC_DENIED);
    assert_int_equal(err.code, EC_DENIED);
    assert_string_equal(err.text, "address 127.0.0.1 is in the blocked range 127.0.0.0/8 "
                                  "(loopback); EGRESS_ALLOW can open it");
    assert_int_equal(check(e, "64:ff9b::a00:1", &err), EC_DENIED);
    assert_string_equal(err.text, "address 64:ff9b::a00:1 is in the blocked range 64:ff9b::/96 "
                                  "(NAT64); EGRESS_ALLOW can open it");
    egress_free(e);
}

static void test_allow_four(void **state)
{
    (void)state;
    struct egress *e = make("public", " 127.0.0.0/8, ,10.1.2.3 ,192.168.7.9/25");
    EXPECT(e, EC_OK, "127.0.0.1", "127.1.2.3", "10.1.2.3", "192.168.7.0", "192.168.7.127",
           "8.8.8.8", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::127.0.0.1", "2002:7f00:1::5",
           "::ffff:0:127.0.0.1");
    EXPECT(e, EC_DENIED, "10.1.2.4", "192.168.7.128", "::1", "::ffff:10.0.0.1", "::ffff:8.8.8.8",
           "64:ff9b::10.1.2.4", "2002:a01:204::5", "64:ff9b:1::127.0.0.1",
           "2001::80ff:fffe"); /* Teredo of 127.0.0.1 */
    egress_free(e);
}

static void test_allow_six(void **state)
{
    (void)state;
    struct egress *e = make("public", "::1,64:ff9b::/96,64:ff9b:1::/48,fd00:1::/32");
    EXPECT(e, EC_OK, "::1", "fd00:1::5", "64:ff9b::8.8.8.8", "64:ff9b:1::8.8.8.8");
    EXPECT(e, EC_DENIED, "127.0.0.1", "::", "fd00:2::5", "64:ff9b::127.0.0.1",
           "64:ff9b::169.254.169.254", "64:ff9b:1::10.0.0.1", "::ffff:8.8.8.8");
    struct err err = {0};
    assert_int_equal(check(e, "64:ff9b::10.0.0.1", &err), EC_DENIED);
    assert_non_null(strstr(err.text, "10.0.0.0/8"));
    egress_free(e);

    e = make("public", "::/0");
    EXPECT(e, EC_OK, "::1", "fe80::1", "ff02::1", "2001:db8::1", "::ffff:8.8.8.8");
    EXPECT(e, EC_DENIED, "::ffff:127.0.0.1", "2002:a00:1::", "64:ff9b::192.168.0.1", "127.0.0.1");
    egress_free(e);

    e = make("public", "::ffff:127.0.0.1/128,64:ff9b::10.0.0.0/104");
    EXPECT(e, EC_OK, "::ffff:127.0.0.1", "64:ff9b::10.9.9.9");
    EXPECT(e, EC_DENIED, "::ffff:127.0.0.2", "127.0.0.1", "64:ff9b::11.0.0.1");
    egress_free(e);

    e = make("public", "0.0.0.0/0");
    EXPECT(e, EC_OK, "127.0.0.1", "255.255.255.255", "::ffff:10.0.0.1", "2002:a00:1::");
    EXPECT(e, EC_DENIED, "::1", "fe80::1");
    egress_free(e);
}

static void test_any(void **state)
{
    (void)state;
    struct egress *e = make("any", "");
    EXPECT(e, EC_OK, "127.0.0.1", "::1", "169.254.169.254", "::ffff:10.0.0.1");
    egress_free(e);
    EXPECT(NULL, EC_OK, "127.0.0.1", "::1");
    egress_free(NULL);
}

static void test_other_family(void **state)
{
    (void)state;
    struct egress *e = make("public", "0.0.0.0/0,::/0");
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    struct err err = {0};
    assert_int_equal(egress_check(e, (struct sockaddr *)&un, &err), EC_DENIED);
    egress_free(e);
}

static void test_bad_settings(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "10.0.0.0/33",   "10.0.0/8", "::/129",         "host",        "10.0.0.0/",   "10.0.0.0/-1",
        "10.0.0.0/8/8",  "/8",       "127.0.0.1 /8",   "10.0.0.0/ 8", "10.0.0.0/+8", "fe80::1%lo",
        "10.0.0.0/0008", "0x7f.1/8", "1.2.3.4;5.6.7.8"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct egress *e = NULL;
        struct err err = {0};
        char list[80];
        snprintf(list, sizeof(list), "10.0.0.0/8,%s,::1", bad[i]);
        if (egress_new(STR("public"), str_z(list), &e, &err) != EC_INVALID) {
            fail_msg("\"%s\" was taken", bad[i]);
        }
        assert_null(e);
        assert_non_null(strstr(err.text, bad[i]));
        assert_non_null(strstr(err.text, "EGRESS_ALLOW"));
    }
    struct egress *e = NULL;
    struct err err = {0};
    struct str nul = {"1.2.3.4\0/8", 10};
    assert_int_equal(egress_new(STR("public"), nul, &e, &err), EC_INVALID);
    char zeros[4096];
    memset(zeros, '0', sizeof(zeros));
    memcpy(zeros, "1.2.3.4/", 8);
    struct str endless = {zeros, sizeof(zeros)};
    assert_int_equal(egress_new(STR("public"), endless, &e, &err), EC_INVALID);
    assert_int_equal(egress_new(STR("none"), STR(""), &e, &err), EC_INVALID);
    assert_non_null(strstr(err.text, "EGRESS_POLICY"));
    assert_int_equal(egress_new(STR_NULL, STR_NULL, &e, &err), EC_INVALID);
    assert_null(e);
}

int egress_tests(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_public_four),  cmocka_unit_test(test_public_six),
        cmocka_unit_test(test_words),        cmocka_unit_test(test_allow_four),
        cmocka_unit_test(test_allow_six),    cmocka_unit_test(test_any),
        cmocka_unit_test(test_other_family), cmocka_unit_test(test_bad_settings),
    };
    return cmocka_run_group_tests_name("io/egress", tests, NULL, NULL);
}
