/* Tests of log.c: what is written to the descriptor, byte for byte but for time, place and host.
 * SPDX-License-Identifier: Apache-2.0 */
#include "util/tests.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "util/json.h"
#include "util/log.h"
#include "util/time.h"

static int ends[2];

static int open_pipe(void **state)
{
    (void)state;
    return pipe2(ends, O_NONBLOCK | O_CLOEXEC);
}

static int close_pipe(void **state)
{
    (void)state;
    log_setup(2, LOG_INFO, LOG_FORMAT_JSON);
    return close(ends[0]) | close(ends[1]);
}

/* What was written since the last call. */
static struct str written(void)
{
    static char text[65536];
    ssize_t n = read(ends[0], text, sizeof(text));
    return (struct str){text, n > 0 ? (size_t)n : 0};
}

static void json_line(void **state)
{
    (void)state;
    log_setup(ends[1], LOG_INFO, LOG_FORMAT_JSON);
    log_line(LOG_WARN, "event.received", lz("event_id", "e\"1\n"), li("bytes", -5),
             lb("duplicate", true), lz(NULL, "left out"),
             (struct log_field){"ids", LOG_RAW_JSON, STR("[1]"), 0});
    struct str line = written();
    assert_true(str_ends(line, STR("}\n")));
    struct json v, key, value;
    assert_int_equal(json_check(line, 4, &v, NULL), EC_OK);
    const char *const keys[] = {"level",    "ts",    "caller",    "msg", "host.name",
                                "event_id", "bytes", "duplicate", "ids"};
    struct json_iter it = json_iter(v);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        assert_true(json_next(&it, &key, &value));
        assert_true(json_is_text(key, str_z(keys[i])));
    }
    assert_false(json_next(&it, &key, &value));
    assert_str(json_get(v, STR("level")).raw, "\"warn\"");
    assert_str(json_get(v, STR("msg")).raw, "\"event.received\"");
    assert_str(json_get(v, STR("event_id")).raw, "\"e\\\"1\\n\"");
    assert_str(json_get(v, STR("bytes")).raw, "-5");
    assert_str(json_get(v, STR("duplicate")).raw, "true");
    assert_str(json_get(v, STR("ids")).raw, "[1]");
    assert_true(str_starts(json_get(v, STR("caller")).raw, STR("\"util/log_test.c:")));
    assert_true(json_get(v, STR("host.name")).raw.n > 2);
    struct str ts = json_get(v, STR("ts")).raw, whole;
    int64_t secs = 0;
    assert_true(str_split(&ts, '.', &whole) && str_to_i64(whole, &secs) && ts.n == 6);
    assert_true(secs * USEC_PER_SEC <= wall_now() && (secs + 60) * USEC_PER_SEC > wall_now());
}

static void level_decides(void **state)
{
    (void)state;
    log_setup(ends[1], LOG_WARN, LOG_FORMAT_JSON);
    int evaluated = 0;
    log_line(LOG_INFO, "not seen", li("n", ++evaluated));
    assert_int_equal(evaluated, 0);
    assert_int_equal(written().n, 0);
    assert_false(log_on(LOG_INFO));
    assert_true(log_on(LOG_WARN) && log_on(LOG_ERROR));
    log_line(LOG_ERROR, "seen");
    assert_true(written().n > 0);
}

static void long_fields_are_cut(void **state)
{
    (void)state;
    log_setup(ends[1], LOG_DEBUG, LOG_FORMAT_JSON);
    static char text[10000];
    memset(text, 'x', sizeof(text));
    log_line(LOG_DEBUG, "m", ls("text", (struct str){text, sizeof(text)}));
    struct json v;
    assert_int_equal(json_check(written(), 4, &v, NULL), EC_OK);
    assert_int_equal(json_get(v, STR("text")).raw.n, 2048 + 2);
    /* A line that would not fit keeps its message. */
    struct log_field many[24];
    memset(text, '\1', sizeof(text));
    for (size_t i = 0; i < ARRAY_LEN(many); i++) {
        many[i] = ls("k", (struct str){text, sizeof(text)});
    }
    log_fields(&(struct log_at){LOG_ERROR, "a.c:1"}, "too much", many, ARRAY_LEN(many));
    assert_int_equal(json_check(written(), 4, &v, NULL), EC_OK);
    assert_str(json_get(v, STR("msg")).raw, "\"too much\"");
    assert_str(json_get(v, STR("caller")).raw, "\"a.c:1\"");
    assert_int_equal(json_count(v), 5);
}

static void pretty_line(void **state)
{
    (void)state;
    log_setup(ends[1], LOG_INFO, LOG_FORMAT_PRETTY);
    log_line(LOG_INFO, "started", lz("addr", ":3333\n\033[2J"), li("threads", 2));
    struct str line = written();
    size_t at;
    assert_true(str_find(line, STR(" started "), &at));
    assert_true(str_find(line, STR("addr=\033[0m\":3333\\n\\u001b[2J\""), &at));
    assert_true(str_find(line, STR("threads=\033[0m2\n"), &at));
    assert_int_equal(at + strlen("threads=\033[0m2\n"), line.n);
}

static void a_full_pipe_stops_nothing(void **state)
{
    (void)state;
    log_setup(ends[1], LOG_INFO, LOG_FORMAT_JSON);
    for (int i = 0; i < 2000; i++) {
        log_line(LOG_INFO, "filling up", li("n", i));
    }
    while (written().n > 0) {
    }
}

int log_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_line),
        cmocka_unit_test(level_decides),
        cmocka_unit_test(pretty_line),
        cmocka_unit_test(long_fields_are_cut),
        cmocka_unit_test(a_full_pipe_stops_nothing),
    };
    return cmocka_run_group_tests_name("util/log", tests, open_pipe, close_pipe);
}
