/* What every store owes its callers, run on each backend: tenants and destinations come back as
 * they were put, conflicts are told, pages meet at their edges, a reopened store knows everything,
 * and credentials are never in the file in clear. SPDX-License-Identifier: Apache-2.0 */
#include "io/backend_rig.h"
#include "store/store.h"
#include "store/tests.h"

static const struct store_ops *backend; /* of the group that runs */

#define ENV STR("env-a")
#define PASSWORD "correct-horse-battery-staple"

struct world {
    char dir[64], path[96];
    struct secret key;
    struct io *io;
    struct store *s;
};

static void open_store(struct world *w)
{
    struct store_conf conf = {.path = w->path, .encryption_key = &w->key};
    struct err err = {0};
    if (store_open(backend, &conf, &w->s, &err)) {
        fail_msg("open: %s", err.text);
    }
}

static void reopen(struct world *w)
{
    store_close(w->s);
    w->s = NULL;
    open_store(w);
}

static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));
    rig_folder(w->dir);
    snprintf(w->path, sizeof(w->path), "%s/state.db", w->dir);
    secret_set(&w->key, STR("a key for these tests"));
    w->io = io_new("store-test");
    open_store(w);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    store_close(w->s);
    io_free(w->io);
    secret_fini(&w->key);
    rig_folder_gone(w->dir);
    wall_set_offset(0);
    free(w);
    return 0;
}

/* ---- requests, waited for ---- */

static enum ec get_tenant(struct world *w, struct str env, const char *id, struct tenant **out)
{
    struct tenant_get rq = {
        .op = rig_op(w->io), .env = env, .id = str_z(id), .with_destinations = true};
    store_tenant_get(w->s, &rq);
    enum ec ec = rig_finish(&rq.op);
    assert_true((ec == EC_OK) == (rq.out != NULL));
    *out = rq.out;
    return ec;
}

static void expect_no_tenant(struct world *w, struct str env, const char *id)
{
    struct tenant *t;
    assert_int_equal(get_tenant(w, env, id, &t), EC_NOT_FOUND);
}

/* Puts a tenant with the metadata {"k": value}; value NULL: none. Returns whether it was created.
 */
static bool put_tenant(struct world *w, const char *id, const char *value)
{
    struct strpair pair = {STR("k"), str_z(value)};
    struct tenant_put rq = {
        .op = rig_op(w->io), .env = ENV, .id = str_z(id), .metadata = {&pair, value ? 1 : 0}};
    store_tenant_put(w->s, &rq);
    assert_int_equal(rig_finish(&rq.op), EC_OK);
    assert_true(str_eqz(rq.out->id, id));
    tenant_unref(rq.out);
    return rq.created;
}

static enum ec del_tenant(struct world *w, const char *id)
{
    struct tenant_del rq = {.op = rig_op(w->io), .env = ENV, .id = str_z(id)};
    store_tenant_del(w->s, &rq);
    return rig_finish(&rq.op);
}

static struct destination *make_dest(const char *tenant, const char *id, const char *topic)
{
    struct destination *d = destination_new();
    struct arena *a = &d->arena;
    d->tenant_id = arena_copy(a, str_z(tenant));
    d->id = arena_copy(a, str_z(id));
    d->type = STR("webhook");
    d->topics.v = ARENA_ARRAY(a, struct str, 1);
    d->topics.v[d->topics.n++] = arena_copy(a, str_z(topic));
    d->filter_text = STR("{\"data\":{\"n\":{\"$gt\":3}}}");
    strmap_set(&d->config, a, STR("url"), STR("https://example.com/hook"));
    credmap_set(&d->credentials, a, STR("secret"), STR(PASSWORD));
    strmap_set(&d->metadata, a, STR("team"), STR("blue"));
    d->has_metadata = d->has_delivery_metadata = true;
    d->created_at = d->updated_at = wall_now();
    struct err err = {0};
    if (destination_seal(d, &err)) {
        fail_msg("seal: %s", err.text);
    }
    return d;
}

/* Takes d over. */
static enum ec put_dest(struct world *w, struct destination *d, enum dest_put_mode mode,
                        const struct destination *base, unsigned most)
{
    struct dest_put rq = {.op = rig_op(w->io),
                          .env = ENV,
                          .mode = mode,
                          .dest = d,
                          .base = base,
                          .max_per_tenant = most};
    store_dest_put(w->s, &rq);
    enum ec ec = rig_finish(&rq.op);
    tenant_unref(rq.before);
    tenant_unref(rq.after);
    destination_unref(d);
    return ec;
}

static enum ec create_dest(struct world *w, const char *tenant, const char *id)
{
    return put_dest(w, make_dest(tenant, id, "user.created"), DEST_CREATE, NULL, 0);
}

static enum ec get_dest(struct world *w, const char *tenant, const char *id,
                        struct destination **out)
{
    struct dest_get rq = {
        .op = rig_op(w->io), .env = ENV, .tenant_id = str_z(tenant), .id = str_z(id)};
    store_dest_get(w->s, &rq);
    enum ec ec = rig_finish(&rq.op);
    assert_true((ec == EC_OK) == (rq.out != NULL));
    *out = rq.out;
    return ec;
}

static enum ec del_dest(struct world *w, const char *tenant, const char *id)
{
    struct dest_del rq = {
        .op = rig_op(w->io), .env = ENV, .tenant_id = str_z(tenant), .id = str_z(id)};
    store_dest_del(w->s, &rq);
    enum ec ec = rig_finish(&rq.op);
    tenant_unref(rq.before);
    tenant_unref(rq.after);
    return ec;
}

/* Deleted ones may be remembered as such for a while. */
static void expect_no_dest(struct world *w, const char *tenant, const char *id)
{
    struct destination *d;
    enum ec ec = get_dest(w, tenant, id, &d);
    assert_true(ec == EC_NOT_FOUND || ec == EC_DENIED);
}

/* ---- tenants ---- */

static void test_tenant_lives_and_dies(void **state)
{
    struct world *w = *state;
    struct tenant *t, *again;
    expect_no_tenant(w, ENV, "acme");
    assert_true(put_tenant(w, "acme", "one"));
    assert_int_equal(get_tenant(w, ENV, "acme", &t), EC_OK);
    assert_int_equal(t->metadata.n, 1);
    assert_true(str_eqz(t->metadata.v[0].value, "one"));
    assert_int_equal(t->dest_count, 0);
    expect_no_tenant(w, STR("env-b"), "acme"); /* an environment of its own */

    wall_set_offset(5 * USEC_PER_SEC);
    assert_false(put_tenant(w, "acme", NULL));
    assert_int_equal(get_tenant(w, ENV, "acme", &again), EC_OK);
    assert_int_equal(again->metadata.n, 0);
    assert_int_equal(again->created_at, t->created_at);
    assert_true(again->updated_at > t->updated_at);
    assert_true(str_eqz(t->metadata.v[0].value, "one")); /* what was read does not change */
    tenant_unref(t);
    tenant_unref(again);

    assert_int_equal(del_tenant(w, "acme"), EC_OK);
    expect_no_tenant(w, ENV, "acme");
    assert_int_equal(del_tenant(w, "acme"), EC_NOT_FOUND);
}

static void test_tenant_put_of_one_that_must_exist(void **state)
{
    struct world *w = *state;
    struct tenant_put rq = {
        .op = rig_op(w->io), .env = ENV, .id = STR("ghost"), .must_exist = true};
    store_tenant_put(w->s, &rq);
    assert_int_equal(rig_finish(&rq.op), EC_NOT_FOUND);
    assert_null(rq.out);
    expect_no_tenant(w, ENV, "ghost");
}

static void test_tenant_takes_its_destinations_along(void **state)
{
    struct world *w = *state;
    put_tenant(w, "acme", NULL);
    assert_int_equal(create_dest(w, "acme", "d1"), EC_OK);
    assert_int_equal(del_tenant(w, "acme"), EC_OK);
    expect_no_dest(w, "acme", "d1");
    reopen(w);
    assert_true(put_tenant(w, "acme", NULL));
    expect_no_dest(w, "acme", "d1");
    struct tenant *t;
    assert_int_equal(get_tenant(w, ENV, "acme", &t), EC_OK);
    assert_int_equal(t->dest_count, 0);
    tenant_unref(t);
}

/* ---- lists ---- */

#define TENANTS 7

/* One page; its ids as digits go to out ("t3" is '3'). Returns `more`. */
static bool page(struct world *w, struct tenant_list *rq, char out[TENANTS + 1], usec_t *first,
                 usec_t *last)
{
    rq->op = rig_op(w->io);
    rq->env = ENV;
    store_tenant_list(w->s, rq);
    assert_int_equal(rig_finish(&rq->op), EC_OK);
    assert_true(rq->out_count <= rq->limit);
    for (size_t i = 0; i < rq->out_count; i++) {
        out[i] = rq->out[i]->id.p[1];
    }
    out[rq->out_count] = '\0';
    if (rq->out_count) {
        *first = rq->out[0]->created_at / USEC_PER_MSEC * USEC_PER_MSEC;
        *last = rq->out[rq->out_count - 1]->created_at / USEC_PER_MSEC * USEC_PER_MSEC;
    }
    tenant_list_fini(rq);
    return rq->more;
}

static void seven_tenants(struct world *w)
{
    for (int i = 0; i < TENANTS; i++) {
        char id[] = {'t', (char)('0' + i), '\0'};
        wall_set_offset(i * USEC_PER_SEC);
        put_tenant(w, id, NULL);
    }
}

/* Pages of three to the end, and back again, in one order. */
static void walk_pages(struct world *w, bool ascending, const char *const pages[3])
{
    char got[TENANTS + 1];
    usec_t first, last;
    struct tenant_list rq = {.ascending = ascending, .limit = 3};
    for (int i = 0; i < 3; i++) {
        bool more = page(w, &rq, got, &first, &last);
        assert_string_equal(got, pages[i]);
        assert_int_equal(more, i < 2);
        assert_int_equal(rq.total, TENANTS);
        rq.has_position = true;
        rq.position = last;
    }
    rq.position = first;
    rq.backward = true;
    for (int i = 1; i >= 0; i--) {
        bool more = page(w, &rq, got, &first, &last);
        assert_string_equal(got, pages[i]);
        assert_int_equal(more, i > 0);
        rq.position = first;
    }
}

static void test_list_pages_both_ways(void **state)
{
    struct world *w = *state;
    assert_true(store_can_list(w->s));
    seven_tenants(w);
    walk_pages(w, true, (const char *const[]){"012", "345", "6"});
    walk_pages(w, false, (const char *const[]){"654", "321", "0"});
    reopen(w);
    walk_pages(w, true, (const char *const[]){"012", "345", "6"});
}

static void test_list_of_chosen_ids(void **state)
{
    struct world *w = *state;
    seven_tenants(w);
    struct str ids[] = {STR("t5"), STR("nobody"), STR("t1"), STR("t5")};
    char got[TENANTS + 1];
    usec_t first, last;
    struct tenant_list rq = {.ids = {ids, ARRAY_LEN(ids)}, .ascending = true, .limit = 5};
    assert_false(page(w, &rq, got, &first, &last));
    assert_string_equal(got, "15");
    assert_int_equal(rq.total, 2);
    rq.limit = 1;
    assert_true(page(w, &rq, got, &first, &last));
    assert_string_equal(got, "1");
}

/* ---- destinations ---- */

static void test_dest_comes_back_as_put(void **state)
{
    struct world *w = *state;
    put_tenant(w, "acme", NULL);
    assert_int_equal(create_dest(w, "acme", "d1"), EC_OK);
    for (int round = 0; round < 2; round++) {
        struct destination *d;
        assert_int_equal(get_dest(w, "acme", "d1", &d), EC_OK);
        assert_true(str_eqz(d->tenant_id, "acme"));
        assert_true(str_eqz(d->type, "webhook"));
        assert_int_equal(d->topics.n, 1);
        assert_true(str_eqz(d->topics.v[0], "user.created"));
        assert_true(str_eqz(d->filter_text, "{\"data\":{\"n\":{\"$gt\":3}}}"));
        assert_non_null(d->filter);
        struct str url, team;
        assert_true(strmap_get(&d->config, STR("url"), &url));
        assert_true(str_eqz(url, "https://example.com/hook"));
        assert_true(strmap_get(&d->metadata, STR("team"), &team));
        assert_true(str_eqz(team, "blue"));
        assert_true(d->has_metadata);
        assert_true(d->has_delivery_metadata);
        assert_int_equal(d->delivery_metadata.n, 0);
        assert_true(secret_equal(credmap_get(&d->credentials, STR("secret")), STR(PASSWORD)));
        assert_true(destination_enabled(d));
        destination_unref(d);
        reopen(w);
    }
}

static void test_dest_create_conflict_and_limit(void **state)
{
    struct world *w = *state;
    assert_int_equal(create_dest(w, "nobody", "d1"), EC_NOT_FOUND);
    put_tenant(w, "acme", NULL);
    put_tenant(w, "other", NULL);
    assert_int_equal(create_dest(w, "acme", "d1"), EC_OK);
    assert_int_equal(create_dest(w, "acme", "d1"), EC_CONFLICT);
    assert_int_equal(create_dest(w, "other", "d1"), EC_OK); /* ids belong to their tenant */
    struct destination *d2 = make_dest("acme", "d2", "*"), *d3 = make_dest("acme", "d3", "*");
    assert_int_equal(put_dest(w, d2, DEST_CREATE, NULL, 2), EC_OK);
    assert_int_equal(put_dest(w, d3, DEST_CREATE, NULL, 2), EC_LIMIT);
    expect_no_dest(w, "acme", "d3");
}

static void test_dest_replace_and_stale_base(void **state)
{
    struct world *w = *state;
    put_tenant(w, "acme", NULL);
    assert_int_equal(put_dest(w, make_dest("acme", "d1", "a"), DEST_REPLACE, NULL, 0),
                     EC_NOT_FOUND);
    assert_int_equal(create_dest(w, "acme", "d1"), EC_OK);
    struct destination *base, *now;
    assert_int_equal(get_dest(w, "acme", "d1", &base), EC_OK);
    assert_int_equal(put_dest(w, make_dest("acme", "d1", "second"), DEST_REPLACE, base, 0), EC_OK);
    assert_int_equal(put_dest(w, make_dest("acme", "d1", "third"), DEST_REPLACE, base, 0),
                     EC_CONFLICT);
    assert_int_equal(get_dest(w, "acme", "d1", &now), EC_OK);
    assert_true(str_eqz(now->topics.v[0], "second"));
    destination_unref(base);
    destination_unref(now);
    assert_int_equal(put_dest(w, make_dest("acme", "d1", "fourth"), DEST_REPLACE, NULL, 0), EC_OK);
    reopen(w);
    assert_int_equal(get_dest(w, "acme", "d1", &now), EC_OK);
    assert_true(str_eqz(now->topics.v[0], "fourth"));
    destination_unref(now);
}

static void test_dest_delete(void **state)
{
    struct world *w = *state;
    put_tenant(w, "acme", NULL);
    assert_int_equal(create_dest(w, "acme", "d1"), EC_OK);
    assert_int_equal(create_dest(w, "acme", "d2"), EC_OK);
    assert_int_equal(del_dest(w, "acme", "d1"), EC_OK);
    assert_int_equal(del_dest(w, "acme", "d1"), EC_NOT_FOUND);
    expect_no_dest(w, "acme", "d1");
    reopen(w);
    expect_no_dest(w, "acme", "d1");
    struct tenant *t;
    assert_int_equal(get_tenant(w, ENV, "acme", &t), EC_OK);
    assert_int_equal(t->dest_count, 1);
    assert_true(str_eqz(t->dests[0]->id, "d2"));
    tenant_unref(t);
    assert_int_equal(create_dest(w, "acme", "d1"), EC_OK);
}

/* ---- match ---- */

static struct tenant *match(struct world *w, const char *tenant)
{
    struct dest_match rq = {
        .op = rig_op(w->io), .env = ENV, .tenant_id = str_z(tenant), .topic = STR("user.created")};
    store_dest_match(w->s, &rq);
    assert_int_equal(rig_finish(&rq.op), EC_OK);
    struct dest_match now = {.env = ENV, .tenant_id = str_z(tenant), .topic = STR("user.created")};
    if (store_dest_match_now(w->s, &now)) {
        assert_true((now.out == NULL) == (rq.out == NULL));
        assert_true(!now.out || now.out->dest_count == rq.out->dest_count);
        tenant_unref(now.out);
    }
    return rq.out;
}

static void test_match_sees_each_change_at_once(void **state)
{
    struct world *w = *state;
    assert_null(match(w, "acme"));
    put_tenant(w, "acme", NULL);
    struct tenant *t = match(w, "acme");
    assert_int_equal(t->dest_count, 0);
    tenant_unref(t);
    assert_int_equal(create_dest(w, "acme", "d1"), EC_OK);
    t = match(w, "acme");
    assert_int_equal(t->dest_count, 1);
    assert_true(str_eqz(tenant_dest(t, STR("d1"))->topics.v[0], "user.created"));
    assert_int_equal(del_dest(w, "acme", "d1"), EC_OK);
    assert_non_null(tenant_dest(t, STR("d1"))); /* the snapshot stays as it was */
    tenant_unref(t);
    t = match(w, "acme");
    assert_int_equal(t->dest_count, 0);
    tenant_unref(t);
    assert_int_equal(del_tenant(w, "acme"), EC_OK);
    assert_null(match(w, "acme"));
}

/* ---- the file ---- */

static void test_wrong_key_is_refused_with_words(void **state)
{
    struct world *w = *state;
    put_tenant(w, "acme", NULL);
    assert_int_equal(create_dest(w, "acme", "d1"), EC_OK);
    store_close(w->s);
    w->s = NULL;
    struct secret wrong = {0};
    secret_set(&wrong, STR("another key"));
    struct store_conf conf = {.path = w->path, .encryption_key = &wrong};
    struct err err = {0};
    struct store *s = NULL;
    assert_int_equal(store_open(backend, &conf, &s, &err), EC_CORRUPT);
    assert_null(s);
    assert_non_null(strstr(err.text, "AES_ENCRYPTION_SECRET"));
    assert_null(strstr(err.text, "another key"));
    secret_fini(&wrong);
    open_store(w); /* and nothing was spoilt */
    struct destination *d;
    assert_int_equal(get_dest(w, "acme", "d1", &d), EC_OK);
    assert_true(secret_equal(credmap_get(&d->credentials, STR("secret")), STR(PASSWORD)));
    destination_unref(d);
}

/* Whether any file of the folder holds the text. */
static bool in_files(struct world *w, const char *text)
{
    bool found = false;
    DIR *d = opendir(w->dir);
    assert_non_null(d);
    for (struct dirent *f; (f = readdir(d));) {
        char path[400];
        snprintf(path, sizeof(path), "%s/%s", w->dir, f->d_name);
        FILE *in = f->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (in) {
            static char bytes[8 * 1024 * 1024];
            size_t n = fread(bytes, 1, sizeof(bytes), in);
            found = found || memmem(bytes, n, text, strlen(text)) != NULL;
            fclose(in);
        }
    }
    closedir(d);
    return found;
}

static void test_credentials_are_not_in_clear(void **state)
{
    struct world *w = *state;
    put_tenant(w, "acme", NULL);
    assert_int_equal(create_dest(w, "acme", "d1"), EC_OK);
    assert_false(in_files(w, PASSWORD));
    store_close(w->s);
    w->s = NULL;
    assert_true(in_files(w, "https://example.com/hook")); /* the search would find it */
    assert_false(in_files(w, PASSWORD));
}

int contract_tests(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_tenant_lives_and_dies, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tenant_put_of_one_that_must_exist, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tenant_takes_its_destinations_along, setup, teardown),
        cmocka_unit_test_setup_teardown(test_list_pages_both_ways, setup, teardown),
        cmocka_unit_test_setup_teardown(test_list_of_chosen_ids, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dest_comes_back_as_put, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dest_create_conflict_and_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dest_replace_and_stale_base, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dest_delete, setup, teardown),
        cmocka_unit_test_setup_teardown(test_match_sees_each_change_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wrong_key_is_refused_with_words, setup, teardown),
        cmocka_unit_test_setup_teardown(test_credentials_are_not_in_clear, setup, teardown),
    };
    static const struct store_ops *const backends[] = {&store_sqlite};
    int failed = 0;
    for (size_t i = 0; i < ARRAY_LEN(backends); i++) {
        backend = backends[i];
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    return failed;
}
