/* Tests of the spelling of webhook URLs. SPDX-License-Identifier: Apache-2.0 */
#include "dest/shared/url.h"
#include "dest/tests.h"

static void parsed(void **state)
{
    (void)state;
    static const struct {
        const char *text, *url, *user; /* url NULL: does not parse; user NULL: none */
    } v[] = {
        {"http://sam:123444@host/api?q=%2F#frag", "http://host/api?q=%2F", "sam:123444"},
        {"http://s%40m:p%3Aw%2F@host/x", "http://host/x", "s@m:p:w/"},
        {"http://sam@host/x", "http://host/x", "sam:"},
        {"http://@host/x", "http://host/x", ":"},
        {"http://host", "http://host/", NULL},
        {"http://host?a=b&c=%20d", "http://host/?a=b&c=%20d", NULL},
        {"http://host/a/../x/./y//z", "http://host/a/../x/./y//z", NULL},
        {"http://host/a%2fb/x;y=1", "http://host/a%2fb/x;y=1", NULL},
        {"http://host/a%2fb/%7euser/\xc3\xa9/x;y=1/a+b/\"q\"/{x}|^`?q=\xc3\xa9&\"z\"={1}",
         "http://host/a/b/~user/%C3%A9/x;y=1/a+b/%22q%22/%7Bx%7D%7C%5E%60?q=\xc3\xa9&\"z\"={1}",
         NULL},
        {"http://[::1]:80/x", "http://[::1]:80/x", NULL},
        {"http://127.0.0.1:99999/x", "http://127.0.0.1:99999/x", NULL},
        {"http://host:/x", "http://host:/x", NULL},
        {"http://h%C3%A9/x", "http://h%C3%A9/x", NULL},
        {"https://%zz", NULL, NULL},
        {"https://[::1", NULL, NULL},
        {"https://[::1]x/", NULL, NULL},
        {"http://host:8o/x", NULL, NULL},
        {"http://host/%zz", NULL, NULL},
        {"http://host/%2", NULL, NULL},
        {"http://host/x#%", NULL, NULL},
        {"http://ho%41st/x", NULL, NULL},
        {"http://ho|st/x", NULL, NULL},
        {"http://u{:p@host/x", NULL, NULL},
        {"http://host/\x01", NULL, NULL},
        {"http:/host", NULL, NULL},
        {"", NULL, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        CLEANUP(arena_fini) struct arena a;
        struct target_url out;
        arena_init(&a);
        if (target_url_parse(str_z(v[i].text), &a, &out) != (v[i].url != NULL)) {
            fail_msg("%s: %s", v[i].text, v[i].url ? "refused" : "taken");
        }
        if (v[i].url) {
            assert_str(out.url, v[i].url);
            assert_true((out.user.p != NULL) == (v[i].user != NULL));
            assert_str(out.user, v[i].user ? v[i].user : "");
        }
    }
}

int url_tests(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(parsed)};
    return cmocka_run_group_tests_name("dest/url", tests, NULL, NULL);
}
