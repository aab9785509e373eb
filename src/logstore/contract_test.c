/* What every log store owes its callers, run on each backend: rows come back as they were put,
 * once; pages meet at their edges in both directions, whatever the filter; retention removes from
 * the old end; a damaged file does not take the rest down. SPDX-License-Identifier: Apache-2.0 */
#include "io/backend_rig.h"
#include "logstore/logstore.h"
#include "logstore/tests.h"

static const struct logstore_ops *backend; /* of the group that runs */

#define ENV STR("env-a")
#define T0 (INT64_C(1700000000) * USEC_PER_SEC)

struct world {
    char dir[64];
    struct io *io;
    struct logstore *l;
    struct logstore_conf conf;
};

static void open_log(struct world *w)
{
    struct err err = {0};
    if (logstore_open(backend, &w->conf, &w->l, &err)) {
        fail_msg("open: %s", err.text);
    }
}

static void close_log(struct world *w)
{
    logstore_close(w->l);
    w->l = NULL;
}

/* A new segment begins with each start. */
static void reopen(struct world *w)
{
    close_log(w);
    open_log(w);
}

static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));
    rig_folder(w->dir);
    w->conf.path = w->dir;
    w->io = io_new("log-test");
    open_log(w);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    close_log(w);
    io_free(w->io);
    rig_folder_gone(w->dir);
    wall_set_offset(0);
    free(w);
    return 0;
}

/* ---- rows: number n decides all fields ---- */

static const char *const tenants[] = {"t0", "t1"}, *const topics[] = {"made", "paid", "gone"};

static struct event *make_event(unsigned n, struct str data)
{
    char id[16];
    snprintf(id, sizeof(id), "e%02u", n);
    struct strpair pair = {STR("k"), STR("v")};
    struct str matched[] = {STR("d0"), n % 2 ? STR("d1") : STR("d2")};
    struct event e = {
        .env = ENV,
        .id = str_z(id),
        .tenant_id = str_z(tenants[n % 2]),
        .topic = str_z(topics[n % 3]),
        .eligible_for_retry = true,
        .id_given = true,
        .matched = {matched, 2},
        .time = T0 + n * USEC_PER_SEC,
        .received = wall_now(),
        .metadata = {&pair, 1},
        .data = data,
    };
    return event_new(&e);
}

static struct attempt *make_attempt(unsigned n, struct str data)
{
    char id[16];
    snprintf(id, sizeof(id), "a%02u", n);
    struct event *e = make_event(n, data);
    struct attempt from = {
        .event = e,
        .id = str_z(id),
        .delivery_id = STR("dlv"),
        .destination_id = n % 2 ? STR("d1") : STR("d2"),
        .destination_type = n % 3 ? STR("webhook") : STR("sqs"),
        .number = 1,
        .success = n % 4 != 0,
        .time = T0 + n * USEC_PER_SEC + 250 * USEC_PER_MSEC,
        .latency_ms = n,
        .code = n % 4 ? STR("200") : STR("500"),
        .response = STR("{\"ok\":1}"),
    };
    struct attempt *a = attempt_new(&from);
    event_unref(e);
    return a;
}

static enum ec insert_as(struct world *w, unsigned n, struct str data)
{
    struct attempt *a = make_attempt(n, data);
    struct log_insert rq = {.op = rig_op(w->io), .attempts = &a, .attempt_count = 1};
    logstore_insert(w->l, &rq);
    enum ec ec = rig_finish(&rq.op);
    attempt_unref(a);
    return ec;
}

static void insert(struct world *w, unsigned from, unsigned to)
{
    for (unsigned n = from; n < to; n++) {
        assert_int_equal(insert_as(w, n, STR("{\"n\": 1}")), EC_OK);
    }
}

/* Twelve attempts and their events in three segments. */
static void twelve(struct world *w)
{
    insert(w, 0, 4);
    reopen(w);
    insert(w, 4, 8);
    reopen(w);
    insert(w, 8, 12);
}

/* ---- requests, waited for ---- */

static enum ec get_event(struct world *w, const char *tenant, const char *id, struct event **out)
{
    struct log_event_get rq = {
        .op = rig_op(w->io), .env = ENV, .tenant_id = str_z(tenant), .id = str_z(id)};
    logstore_event_get(w->l, &rq);
    enum ec ec = rig_finish(&rq.op);
    assert_true((ec == EC_OK) == (rq.out != NULL));
    *out = rq.out;
    return ec;
}

static enum ec get_attempt(struct world *w, const char *tenant, const char *id,
                           struct attempt **out)
{
    struct log_attempt_get rq = {
        .op = rig_op(w->io), .env = ENV, .tenant_id = str_z(tenant), .id = str_z(id)};
    logstore_attempt_get(w->l, &rq);
    enum ec ec = rig_finish(&rq.op);
    assert_true((ec == EC_OK) == (rq.out != NULL));
    *out = rq.out;
    return ec;
}

static bool has_attempt(struct world *w, const char *id)
{
    struct attempt *a;
    enum ec ec = get_attempt(w, "", id, &a);
    assert_true(ec == EC_OK || ec == EC_NOT_FOUND);
    attempt_unref(a);
    return ec == EC_OK;
}

/* One page, as the numbers of its rows: "03 02 01 " and so on. Sets the edges for cursors. */
struct edge {
    usec_t time;
    char id[16];
};

static void set_edge(struct edge *e, usec_t time, struct str id)
{
    e->time = time / USEC_PER_MSEC * USEC_PER_MSEC;
    snprintf(e->id, sizeof(e->id), "%.*s", STR_ARG(id));
}

static const char *page(struct world *w, struct log_list *rq, bool attempts, struct edge *first,
                        struct edge *last)
{
    static char text[256];
    text[0] = '\0';
    rq->op = rig_op(w->io);
    rq->filter.env = ENV;
    (attempts ? logstore_attempt_list : logstore_event_list)(w->l, rq);
    assert_int_equal(rig_finish(&rq->op), EC_OK);
    assert_true(rq->count <= rq->limit);
    for (size_t i = 0; i < rq->count; i++) {
        struct str id = attempts ? rq->attempts[i]->id : rq->events[i]->id;
        usec_t time = attempts ? rq->attempts[i]->time : rq->events[i]->time;
        snprintf(text + 3 * i, sizeof(text) - 3 * i, "%.*s ", 2, id.p + 1);
        if (first && i == 0) {
            set_edge(first, time, id);
        }
        if (last && i + 1 == rq->count) {
            set_edge(last, time, id);
        }
    }
    bool more = rq->more;
    log_list_fini(rq);
    rq->more = more;
    return text;
}

static const char *filtered(struct world *w, bool attempts, struct log_filter filter)
{
    struct log_list rq = {.filter = filter, .ascending = true, .limit = 50};
    const char *text = page(w, &rq, attempts, NULL, NULL);
    assert_false(rq.more);
    return text;
}

/* ---- insert and get ---- */

static void test_rows_come_back_as_put(void **state)
{
    struct world *w = *state;
    insert(w, 5, 6);
    for (int round = 0; round < 2; round++) {
        struct event *e;
        struct attempt *a;
        assert_int_equal(get_event(w, "t1", "e05", &e), EC_OK);
        assert_true(str_eqz(e->topic, "gone"));
        assert_true(str_eqz(e->data, "{\"n\": 1}"));
        assert_true(str_eqz(e->metadata.v[0].value, "v"));
        assert_int_equal(e->time, T0 + 5 * USEC_PER_SEC);
        assert_int_equal(e->matched.n, 2);
        assert_true(e->eligible_for_retry);
        event_unref(e);
        assert_int_equal(get_attempt(w, "t1", "a05", &a), EC_OK);
        assert_true(str_eqz(a->event->id, "e05"));
        assert_true(str_eqz(a->destination_id, "d1"));
        assert_true(str_eqz(a->destination_type, "webhook"));
        assert_true(str_eqz(a->response, "{\"ok\":1}"));
        assert_true(str_eqz(a->delivery_id, "dlv"));
        assert_true(a->success);
        assert_int_equal(a->latency_ms, 5);
        attempt_unref(a);
        assert_int_equal(get_event(w, "t0", "e05", &e), EC_NOT_FOUND);
        assert_int_equal(get_attempt(w, "t0", "a05", &a), EC_NOT_FOUND);
        assert_int_equal(get_attempt(w, "", "a06", &a), EC_NOT_FOUND);
        reopen(w);
    }
}

static void test_repeated_inserts_show_once(void **state)
{
    struct world *w = *state;
    insert(w, 0, 4);
    insert(w, 0, 4); /* beside the first */
    insert(w, 0, 1);
    reopen(w);
    insert(w, 0, 4); /* in a later run */
    for (int attempts = 0; attempts < 2; attempts++) {
        assert_string_equal(filtered(w, attempts, (struct log_filter){0}), "00 01 02 03 ");
        struct log_list rq = {.ascending = true, .limit = 2};
        assert_string_equal(page(w, &rq, attempts, NULL, NULL), "00 01 ");
        assert_true(rq.more);
    }
}

/* With all repeats in one place, a page must still find what lies behind them. */
static void test_repeats_do_not_shorten_a_page(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < 9; i++) {
        insert(w, 0, 1);
    }
    insert(w, 1, 4);
    for (int attempts = 0; attempts < 2; attempts++) {
        struct log_list rq = {.ascending = true, .limit = 2};
        assert_string_equal(page(w, &rq, attempts, NULL, NULL), "00 01 ");
        assert_true(rq.more);
    }
}

static void test_event_alone_is_kept(void **state)
{
    struct world *w = *state;
    struct event *e = make_event(3, STR("{}")), *out;
    struct log_insert rq = {.op = rig_op(w->io), .events = &e, .event_count = 1};
    logstore_insert(w->l, &rq);
    assert_int_equal(rig_finish(&rq.op), EC_OK);
    event_unref(e);
    assert_int_equal(get_event(w, "", "e03", &out), EC_OK);
    event_unref(out);
    assert_string_equal(filtered(w, false, (struct log_filter){0}), "03 ");
    assert_string_equal(filtered(w, true, (struct log_filter){0}), "");
}

/* Two tenants may publish the same id: without a tenant the one that arrived last is meant. */
static void test_event_get_takes_the_newest(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < 2; i++) {
        for (int round = 0; round < 2; round++) {
            struct event from = {.env = ENV,
                                 .id = round ? STR("same") : STR("near"),
                                 .tenant_id = str_z(tenants[i]),
                                 .topic = STR("made"),
                                 .id_given = true,
                                 .time = T0 - i,
                                 .received = wall_now() + i,
                                 .data = STR("{}")};
            struct event *e = event_new(&from);
            struct log_insert rq = {.op = rig_op(w->io), .events = &e, .event_count = 1};
            logstore_insert(w->l, &rq);
            assert_int_equal(rig_finish(&rq.op), EC_OK);
            event_unref(e);
        }
        struct event *out;
        assert_int_equal(get_event(w, "", "near", &out), EC_OK);
        assert_true(str_eqz(out->tenant_id, tenants[i]));
        event_unref(out);
        reopen(w);
        assert_int_equal(get_event(w, "", "same", &out), EC_OK);
        assert_true(str_eqz(out->tenant_id, tenants[i]));
        event_unref(out);
    }
}

/* ---- lists ---- */

#define LIST_OF(...)                                                                               \
    {                                                                                              \
        (struct str[]){__VA_ARGS__}, sizeof((struct str[]){__VA_ARGS__}) / sizeof(struct str)      \
    }

static void test_filters_of_both(void **state)
{
    struct world *w = *state;
    twelve(w);
    for (int at = 0; at < 2; at++) {
        usec_t shift = at ? 250 * USEC_PER_MSEC : 0;
        struct log_filter none = {0}, tenant = {.tenant_ids = LIST_OF(STR("t1"), STR("tx"))};
        struct log_filter ids = {.event_ids = LIST_OF(STR("e09"), STR("e02"), STR("zz"))};
        struct log_filter topic = {.topics = LIST_OF(STR("paid"), STR("gone"))};
        struct log_filter dest = {.destination_ids = LIST_OF(STR("d1"))};
        struct log_filter closed = {.has_gte = true,
                                    .gte = T0 + 3 * USEC_PER_SEC + shift,
                                    .has_lte = true,
                                    .lte = T0 + 8 * USEC_PER_SEC + shift};
        struct log_filter open = {
            .has_gt = true, .gt = closed.gte, .has_lt = true, .lt = closed.lte};
        struct log_filter both = {.tenant_ids = LIST_OF(STR("t0")), .topics = LIST_OF(STR("made"))};
        assert_string_equal(filtered(w, at, none), "00 01 02 03 04 05 06 07 08 09 10 11 ");
        assert_string_equal(filtered(w, at, tenant), "01 03 05 07 09 11 ");
        assert_string_equal(filtered(w, at, ids), "02 09 ");
        assert_string_equal(filtered(w, at, topic), "01 02 04 05 07 08 10 11 ");
        assert_string_equal(filtered(w, at, dest), "01 03 05 07 09 11 ");
        assert_string_equal(filtered(w, at, closed), "03 04 05 06 07 08 ");
        assert_string_equal(filtered(w, at, open), "04 05 06 07 ");
        assert_string_equal(filtered(w, at, both), "00 06 ");
    }
}

static void test_filters_of_attempts(void **state)
{
    struct world *w = *state;
    twelve(w);
    struct log_filter good = {.has_status = true, .status = STR("success")}, bad = good, odd = good;
    bad.status = STR("failed");
    odd.status = STR("pending");
    struct log_filter type = {.destination_types = LIST_OF(STR("sqs"))};
    assert_string_equal(filtered(w, true, good), "01 02 03 05 06 07 09 10 11 ");
    assert_string_equal(filtered(w, true, bad), "00 04 08 ");
    assert_string_equal(filtered(w, true, odd), "");
    assert_string_equal(filtered(w, true, type), "00 03 06 09 ");
}

/* From the first page to the last and back again; pages of five over segments of four. */
static void walk_pages(struct world *w, bool attempts, bool ascending, const char *const pages[3])
{
    struct edge first, last;
    struct log_list rq = {.ascending = ascending, .limit = 5};
    for (int i = 0; i < 3; i++) {
        assert_string_equal(page(w, &rq, attempts, &first, &last), pages[i]);
        assert_int_equal(rq.more, i < 2);
        rq.has_position = true;
        rq.position = last.time;
        rq.position_id = str_z(last.id);
    }
    rq.backward = true;
    for (int i = 1; i >= 0; i--) {
        rq.position = first.time;
        rq.position_id = str_z(first.id);
        assert_string_equal(page(w, &rq, attempts, &first, &last), pages[i]);
        assert_int_equal(rq.more, i > 0);
    }
}

static void test_pages_meet_in_both_directions(void **state)
{
    struct world *w = *state;
    twelve(w);
    for (int attempts = 0; attempts < 2; attempts++) {
        walk_pages(w, attempts, true,
                   (const char *const[]){"00 01 02 03 04 ", "05 06 07 08 09 ", "10 11 "});
        walk_pages(w, attempts, false,
                   (const char *const[]){"11 10 09 08 07 ", "06 05 04 03 02 ", "01 00 "});
    }
}

static void test_want_decides_what_is_carried(void **state)
{
    struct world *w = *state;
    insert(w, 0, 1);
    for (int want = 0; want < 2; want++) {
        struct log_list rq = {.op = rig_op(w->io), .filter.env = ENV, .limit = 5};
        rq.want_data = rq.want_response = want;
        logstore_attempt_list(w->l, &rq);
        assert_int_equal(rig_finish(&rq.op), EC_OK);
        assert_int_equal(rq.count, 1);
        assert_true(str_eqz(rq.attempts[0]->response, want ? "{\"ok\":1}" : ""));
        assert_true(str_eqz(rq.attempts[0]->event->data, want ? "{\"n\": 1}" : ""));
        assert_true(str_eqz(rq.attempts[0]->event->topic, "made"));
        log_list_fini(&rq);
    }
}

/* ---- retention ---- */

static unsigned files_ending(struct world *w, const char *ending)
{
    unsigned n = 0;
    DIR *d = opendir(w->dir);
    assert_non_null(d);
    for (struct dirent *f; (f = readdir(d));) {
        n += str_ends(str_z(f->d_name), str_z(ending));
    }
    closedir(d);
    return n;
}

static bool never(void *arg)
{
    (void)arg;
    return false;
}

/* Retention runs on a thread of the store's: looks again until the attempt is gone. */
static bool goes_away(struct world *w, const char *id)
{
    for (int i = 0; i < 100 && has_attempt(w, id); i++) {
        (void)rig_within(w->io, 100 * NSEC_PER_MSEC, never, NULL);
    }
    return !has_attempt(w, id);
}

static void test_retention_by_days(void **state)
{
    struct world *w = *state;
    insert(w, 0, 2);
    w->conf.retention_days = 2;
    reopen(w);
    insert(w, 2, 4);
    assert_true(has_attempt(w, "a00"));
    wall_set_offset(3 * 86400 * USEC_PER_SEC);
    assert_true(goes_away(w, "a00"));
    assert_false(has_attempt(w, "a01"));
    struct event *e;
    assert_int_equal(get_event(w, "", "e00", &e), EC_NOT_FOUND);
    assert_string_equal(filtered(w, true, (struct log_filter){0}), "02 03 ");
    close_log(w);
    assert_int_equal(files_ending(w, ".db"), 1);
    open_log(w);
}

static void test_retention_by_bytes(void **state)
{
    struct world *w = *state;
    static char big[200000];
    memset(big, ' ', sizeof(big));
    big[0] = '{', big[sizeof(big) - 1] = '}';
    for (unsigned n = 0; n < 4; n++) {
        assert_int_equal(insert_as(w, n, (struct str){big, sizeof(big)}), EC_OK);
        reopen(w);
    }
    insert(w, 4, 5);
    assert_true(has_attempt(w, "a00"));
    w->conf.retention_bytes = 800000; /* two of them and the small rest */
    reopen(w);
    assert_true(goes_away(w, "a00"));
    assert_true(goes_away(w, "a01"));
    assert_true(has_attempt(w, "a03"));
    assert_true(has_attempt(w, "a04"));
    struct event *e;
    assert_int_equal(get_event(w, "", "e00", &e), EC_NOT_FOUND);
}

/* ---- damage ---- */

static void test_damaged_segment_is_set_aside(void **state)
{
    struct world *w = *state;
    twelve(w);
    close_log(w);
    char oldest[256] = "";
    DIR *d = opendir(w->dir);
    assert_non_null(d);
    for (struct dirent *f; (f = readdir(d));) {
        if (str_ends(str_z(f->d_name), STR(".db")) &&
            (!oldest[0] || strcmp(f->d_name, oldest) < 0)) {
            snprintf(oldest, sizeof(oldest), "%s", f->d_name);
        }
    }
    closedir(d);
    char path[400];
    snprintf(path, sizeof(path), "%s/%s", w->dir, oldest);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    for (int i = 0; i < 8192; i++) {
        assert_int_not_equal(fputc('x', f), EOF);
    }
    fclose(f);
    open_log(w);
    assert_true(logstore_healthy(w->l));
    assert_int_equal(files_ending(w, ".damaged"), 1);
    assert_string_equal(filtered(w, true, (struct log_filter){0}), "04 05 06 07 08 09 10 11 ");
    assert_false(has_attempt(w, "a00"));
    insert(w, 12, 13);
    assert_true(has_attempt(w, "a12"));
    reopen(w);
    assert_string_equal(filtered(w, false, (struct log_filter){0}), "04 05 06 07 08 09 10 11 12 ");
}

int contract_tests(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rows_come_back_as_put, setup, teardown),
        cmocka_unit_test_setup_teardown(test_repeated_inserts_show_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_repeats_do_not_shorten_a_page, setup, teardown),
        cmocka_unit_test_setup_teardown(test_event_alone_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_event_get_takes_the_newest, setup, teardown),
        cmocka_unit_test_setup_teardown(test_filters_of_both, setup, teardown),
        cmocka_unit_test_setup_teardown(test_filters_of_attempts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pages_meet_in_both_directions, setup, teardown),
        cmocka_unit_test_setup_teardown(test_want_decides_what_is_carried, setup, teardown),
        cmocka_unit_test_setup_teardown(test_retention_by_days, setup, teardown),
        cmocka_unit_test_setup_teardown(test_retention_by_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged_segment_is_set_aside, setup, teardown),
    };
    static const struct logstore_ops *const backends[] = {&logstore_sqlite};
    int failed = 0;
    for (size_t i = 0; i < ARRAY_LEN(backends); i++) {
        backend = backends[i];
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    return failed;
}
