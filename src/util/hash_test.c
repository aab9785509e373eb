/* Tests of hash.c: published vectors (RFC 4231, RFC 2202, FIPS 180, RFC 4648), a context used
 * again, strict decoding. SPDX-License-Identifier: Apache-2.0 */
#include "util/tests.h"

#include "util/hash.h"

static void check_hmac(const char *algorithm, struct str key, struct str text, const char *hex)
{
    struct hmac *h = hmac_new(algorithm, key);
    assert_non_null(h);
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 200);
    uint8_t out[HMAC_MAX];
    for (int round = 0; round < 3; round++) {
        /* In one part and in two, with the same context. */
        size_t cut = round * text.n / 3;
        const struct str parts[] = {str_sub(text, 0, cut), str_sub(text, cut, text.n)};
        size_t n = hmac_sign(h, parts, 2, out);
        buf_reset(&b);
        hex_add(&b, out, n);
        assert_str(buf_str(&b), hex);
    }
    hmac_free(h);
}

static void hmac_vectors(void **state)
{
    (void)state;
    const struct str jefe = STR("Jefe"), what = STR("what do ya want for nothing?");
    check_hmac("sha256", jefe, what,
               "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    check_hmac("sha512", jefe, what,
               "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
               "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737");
    check_hmac("sha1", jefe, what, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
    check_hmac("md5", jefe, what, "750c783e6ab0b503eaa86e310a5db738");
    static char long_key[131];
    memset(long_key, 0xaa, sizeof(long_key));
    check_hmac("sha256", (struct str){long_key, 131},
               STR("Test Using Larger Than Block-Size Key - Hash Key First"),
               "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static void hmac_with_nothing(void **state)
{
    (void)state;
    check_hmac("sha256", STR_NULL, STR_NULL,
               "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
    check_hmac("sha256", STR(""), STR("a"),
               "9615a95d4a336118c435b9cd54c5e8644ab956b573aa2926274a1280b6674713");
}

static void unknown_algorithms(void **state)
{
    (void)state;
    const char *const names[] = {"", "SHA256", "sha", "sha3-256", "none", "sha256,fips=yes"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_null(hmac_new(names[i], STR("k")));
    }
    hmac_free(NULL);
}

static void sha256_vectors(void **state)
{
    (void)state;
    const struct {
        struct str text;
        const char *hex;
    } cases[] = {
        {STR_NULL, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {STR("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf_fini) struct buf b;
        buf_init(&b, 64);
        uint8_t out[32];
        sha256(cases[i].text, out);
        hex_add(&b, out, 32);
        assert_str(buf_str(&b), cases[i].hex);
    }
}

static void base64_both_ways(void **state)
{
    (void)state;
    const char *const cases[][3] = {
        {"", "", ""},
        {"f", "Zg==", "Zg"},
        {"fo", "Zm8=", "Zm8"},
        {"foo", "Zm9v", "Zm9v"},
        {"foob", "Zm9vYg==", "Zm9vYg"},
        {"fooba", "Zm9vYmE=", "Zm9vYmE"},
        {"foobar", "Zm9vYmFy", "Zm9vYmFy"},
        {"\xfb\xff\xfe", "+//+", "-__-"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf_fini) struct buf b;
        buf_init(&b, 100);
        struct str plain = str_z(cases[i][0]);
        b64_add(&b, (const uint8_t *)plain.p, plain.n);
        assert_str(buf_str(&b), cases[i][1]);
        buf_reset(&b);
        b64url_add(&b, (const uint8_t *)plain.p, plain.n);
        assert_str(buf_str(&b), cases[i][2]);
        buf_reset(&b);
        assert_true(b64_decode(&b, str_z(cases[i][1])));
        assert_str(buf_str(&b), cases[i][0]);
        buf_reset(&b);
        assert_true(b64url_decode(&b, str_z(cases[i][2])));
        assert_str(buf_str(&b), cases[i][0]);
    }
}

static void base64_refuses(void **state)
{
    (void)state;
    const char *const std[] = {"Zg",    "Zg=",  "Zg===",  "=",    "====", "Z===",
                               "Zm9v=", "Zm 9", "Zm9v\n", "Zm9-", "Zg=v", "Z\xc3\xa9v"};
    const char *const url[] = {"Z", "Zm9vY", "Zg==", "Zm8=", "Zm9+", "Zm9/", "Zm 9"};
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 100);
    for (size_t i = 0; i < ARRAY_LEN(std); i++) {
        if (b64_decode(&b, str_z(std[i]))) {
            fail_msg("%s was decoded", std[i]);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(url); i++) {
        if (b64url_decode(&b, str_z(url[i]))) {
            fail_msg("%s was decoded", url[i]);
        }
    }
    assert_false(b64_decode(&b, (struct str){"Zm\0v", 4}));
    CLEANUP(buf_fini) struct buf small;
    buf_init(&small, 2);
    assert_false(b64_decode(&small, STR("Zm9v")));
}

static void hex_both_ways(void **state)
{
    (void)state;
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, 100);
    hex_add(&b, (const uint8_t *)"\x00\x7f\xff", 3);
    hex_add(&b, NULL, 0);
    assert_str(buf_str(&b), "007fff");
    buf_reset(&b);
    assert_true(hex_decode(&b, STR("007fFF")));
    assert_int_equal(b.n, 3);
    assert_memory_equal(b.p, "\x00\x7f\xff", 3);
    const char *const bad[] = {"0", "0g", "g0", " 0", "0x", "0:", "0@", "0`"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_false(hex_decode(&b, str_z(bad[i])));
    }
}

static void random_is_not_repeated(void **state)
{
    (void)state;
    /* Several times the thread's buffer, in pieces that do not divide it. */
    static uint64_t seen[3000];
    uint64_t any = 0, all = UINT64_MAX;
    for (size_t i = 0; i < ARRAY_LEN(seen); i++) {
        uint8_t piece[9];
        random_bytes(piece, sizeof(piece));
        memcpy(&seen[i], piece, 8);
        any |= seen[i];
        all &= seen[i];
        for (size_t k = 0; k < i; k++) {
            assert_true(seen[k] != seen[i]);
        }
    }
    assert_true(any == UINT64_MAX && all == 0);
    static uint8_t much[20000];
    random_bytes(much, sizeof(much));
    assert_memory_not_equal(much, much + 4096, 4096);
    assert_true(random_u64() != random_u64());
    double least = 1, most = 0;
    for (int i = 0; i < 10000; i++) {
        double v = random_unit();
        least = MIN(least, v);
        most = MAX(most, v);
    }
    assert_true(least >= 0 && least < 0.01 && most > 0.99 && most < 1);
}

static void constant_time_equality(void **state)
{
    (void)state;
    assert_true(equal_ct(STR_NULL, STR("")));
    assert_true(equal_ct(STR("abc"), STR("abc")));
    assert_false(equal_ct(STR("abc"), STR("abd")));
    assert_false(equal_ct(STR("abc"), STR("ab")));
    assert_false(equal_ct(STR("abc"), STR("")));
}

int hash_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hmac_vectors),           cmocka_unit_test(hmac_with_nothing),
        cmocka_unit_test(unknown_algorithms),     cmocka_unit_test(sha256_vectors),
        cmocka_unit_test(base64_both_ways),       cmocka_unit_test(base64_refuses),
        cmocka_unit_test(hex_both_ways),          cmocka_unit_test(random_is_not_repeated),
        cmocka_unit_test(constant_time_equality),
    };
    return cmocka_run_group_tests_name("util/hash", tests, NULL, NULL);
}
