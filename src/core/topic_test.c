/* Tests of topic.c: the table of the specification (pipeline.md 6), globs, patterns made to be
 * slow. SPDX-License-Identifier: Apache-2.0 */
#include "core/tests.h"

#include "core/topic.h"

struct row {
    const char *list[4], *topic; /* list ends with NULL */
    bool matches;
};

static const struct row rows[] = {
    {{"user.created"}, "", true},
    {{"user.created"}, "*", true},
    {{"user.created"}, "user.created", true},
    {{"user.created"}, "User.created", false},
    {{"user.created"}, "user.created ", false},
    {{NULL}, "user.created", false},
    {{NULL}, "", true},
    {{NULL}, "*", true},
    {{"*"}, "user.created", true},
    {{"*"}, "a", true},
    {{"*"}, "", true},
    {{"user.*"}, "user.created", true},
    {{"user.*"}, "user.profile.updated", true},
    {{"user.*"}, "user.", true},
    {{"user.*"}, "user", false},
    {{"user.*"}, "order.created", false},
    {{"user.*"}, "user.*", true},
    {{"*.created"}, "order.created", true},
    {{"*.created"}, ".created", true},
    {{"*.created"}, "user.deleted", false},
    {{"*.created"}, "order.created.twice", false},
    {{"order.*.completed"}, "order.payment.completed", true},
    {{"order.*.completed"}, "order..completed", true},
    {{"order.*.completed"}, "order.a.b.completed", true},
    {{"order.*.completed"}, "order.completed", false},
    {{"order.*.completed"}, "order.payment.failed", false},
    {{"user.deleted*"}, "user.created", false},
    {{"user.deleted*"}, "user.deleted", true},
    {{"user.created", "user.updated"}, "user.deleted", false},
    {{"user.created", "user.updated"}, "user.updated", true},
    {{"user.created", "*"}, "order.created", true},
    {{""}, "user.created", false},
};

static void lists(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct str v[4];
        struct strlist list = {v, 0};
        while (rows[i].list[list.n]) {
            v[list.n] = str_z(rows[i].list[list.n]);
            list.n++;
        }
        if (topic_match(&list, str_z(rows[i].topic)) != rows[i].matches) {
            fail_msg("row %zu: topic \"%s\"", i, rows[i].topic);
        }
    }
}

static const struct {
    const char *pattern, *topic;
    bool matches;
} globs[] = {
    {"", "", true},           {"", "a", false},
    {"*", "", true},          {"**", "", true},
    {"**", "a", true},        {"a", "a", true},
    {"a", "ab", false},       {"a*", "a", true},
    {"*a", "a", true},        {"*a", "ba", true},
    {"*a", "ab", false},      {"a*b*c", "abc", true},
    {"a*b*c", "a.b.c", true}, {"a*b*c", "acb", false},
    {"*aab", "aaab", true},   {"*ab*ab", "abab", true},
    {"*ab*ab", "ab", false},  {"a?", "ab", false},
    {"[ab]", "a", false},     {"a\\*", "a*", false},
    {"a\\*", "a\\x", true},   {"*é", "caf\xc3\xa9", true},
    {"a.b", "axb", false},
};

static void patterns(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(globs); i++) {
        if (topic_glob(str_z(globs[i].pattern), str_z(globs[i].topic)) != globs[i].matches) {
            fail_msg("\"%s\" and \"%s\"", globs[i].pattern, globs[i].topic);
        }
    }
    assert_true(topic_glob(STR("a*c"), STR("a\0c")));
    assert_false(topic_glob(STR("a"), STR("a\0")));
}

/* Back-tracking into every star would take longer than anybody waits. */
static void many_stars(void **state)
{
    (void)state;
    char pattern[400], topic[1000];
    for (size_t i = 0; i < sizeof(pattern); i++) {
        pattern[i] = i % 2 ? 'a' : '*';
    }
    memset(topic, 'a', sizeof(topic));
    struct str p = {pattern, sizeof(pattern)}, t = {topic, sizeof(topic)};
    assert_true(topic_glob(p, t));
    pattern[sizeof(pattern) - 1] = 'b';
    assert_false(topic_glob(p, t));
    topic[sizeof(topic) - 1] = 'b';
    assert_true(topic_glob(p, t));
}

int topic_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists),
        cmocka_unit_test(patterns),
        cmocka_unit_test(many_stars),
    };
    return cmocka_run_group_tests_name("topic", tests, NULL, NULL);
}
