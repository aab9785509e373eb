/* The secrets of a first start: made once, private, read back; never where the store is shared.
 * SPDX-License-Identifier: Apache-2.0 */
#include "config/tests.h"

#include "util/hash.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct config *loaded(char *first, char *second)
{
    char *envp[] = {first, second, NULL};
    struct config *c = NULL;
    struct err err = {0};
    if (config_load(NULL, envp, &c, &err)) {
        fail_msg("%s", err.text);
    }
    return c;
}

static int entries(void)
{
    FILE *p = popen("ls -A outrider-data | wc -l", "re");
    int n = -1;
    assert_int_equal(fscanf(p, "%d", &n), 1);
    pclose(p);
    return n;
}

static void made_once(void **state)
{
    (void)state;
    static const char *const names[] = {"outrider-data/api_key", "outrider-data/encryption_secret",
                                        "outrider-data/jwt_secret"};
    bool new_key;
    struct err err = {0};
    enter_folder();
    struct config *c = loaded(NULL, NULL);
    assert_int_equal(config_first_start(c, &new_key, &err), EC_OK);
    assert_true(new_key);
    assert_string_equal(err.text, "");
    assert_string_equal(source_of(c, "api_key"), "first start");
    struct stat st;
    assert_int_equal(stat("outrider-data", &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_int_equal(stat(names[i], &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
        assert_true(st.st_size > 40);
    }
    assert_int_equal(entries(), 3);
    struct config *again = loaded(NULL, NULL);
    assert_int_equal(config_first_start(again, &new_key, &err), EC_OK);
    assert_false(new_key);
    assert_true(secret_equal(&again->api_key, secret_reveal(&c->api_key)));
    assert_true(secret_equal(&again->aes_secret, secret_reveal(&c->aes_secret)));
    assert_true(secret_equal(&again->api_jwt_secret, secret_reveal(&c->api_jwt_secret)));
    assert_false(secret_equal(&c->aes_secret, secret_reveal(&c->api_jwt_secret)));
    assert_int_equal(entries(), 3);
    config_free(c);
    config_free(again);
    leave_folder();
}

static void what_is_set_is_kept(void **state)
{
    (void)state;
    bool new_key;
    struct err err = {0};
    enter_folder();
    struct config *c =
        loaded((char[]){"API_KEY=mine"}, (char[]){"DATA_DIR=outrider-data/deeper//"});
    assert_int_equal(config_first_start(c, &new_key, &err), EC_OK);
    assert_false(new_key);
    assert_true(secret_equal(&c->api_key, STR("mine")));
    assert_int_not_equal(access("outrider-data/deeper/api_key", F_OK), 0);
    assert_int_equal(access("outrider-data/deeper/jwt_secret", F_OK), 0);
    config_free(c);
    leave_folder();
}

static void no_key_when_everybody_is_admin(void **state)
{
    (void)state;
    bool new_key;
    struct err err = {0};
    enter_folder();
    struct config *c = loaded((char[]){"API_AUTH=none"}, NULL);
    assert_int_equal(config_first_start(c, &new_key, &err), EC_OK);
    assert_false(new_key);
    assert_false(secret_is_set(&c->api_key));
    assert_int_equal(entries(), 2);
    config_free(c);
    leave_folder();
}

static void shared_stores_get_none(void **state)
{
    (void)state;
    bool new_key;
    struct err err = {0};
    enter_folder();
    struct config *c = loaded(NULL, NULL);
    c->derived.store_embedded = false;
    assert_int_equal(config_first_start(c, &new_key, &err), EC_OK);
    assert_int_equal(entries(), 0);
    assert_int_equal(rmdir("outrider-data"), 0);
    c->derived.log_embedded = c->derived.queue_embedded = false;
    assert_int_equal(config_first_start(c, &new_key, &err), EC_OK);
    assert_int_not_equal(access("outrider-data", F_OK), 0);
    config_free(c);
    leave_folder();
}

static void put_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void accidents_are_not_papered_over(void **state)
{
    (void)state;
    bool new_key;
    struct err err = {0};
    enter_folder();
    struct config *c = loaded(NULL, NULL);
    assert_int_equal(mkdir("outrider-data", 0755), 0);
    put_file("outrider-data/api_key", "\n");
    assert_int_equal(config_first_start(c, &new_key, &err), EC_CORRUPT);
    assert_non_null(strstr(err.text, "api_key in the data folder is empty"));
    assert_false(new_key);
    assert_int_equal(unlink("outrider-data/api_key"), 0);
    assert_int_equal(rmdir("outrider-data"), 0);
    put_file("outrider-data", "");
    assert_int_equal(config_first_start(c, &new_key, &err), EC_UNAVAILABLE);
    assert_non_null(strstr(err.text, "is not a folder"));
    config_free(c);
    leave_folder();
}

/* Eight processes at once: one key, one of them made it. */
static void starts_at_once_agree(void **state)
{
    (void)state;
    enum { PROCESSES = 8 };
    int makers = 0;
    struct err err = {0};
    enter_folder();
    for (int i = 0; i < PROCESSES; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            bool new_key = false;
            for (int k = 0; k < i; k++) {
                random_u64(); /* children of one process share its random bytes so far */
            }
            struct config *c = loaded(NULL, NULL);
            _exit(config_first_start(c, &new_key, &err) ? 2 : new_key);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
        makers += WEXITSTATUS(status);
    }
    assert_int_equal(makers, 1);
    assert_int_equal(entries(), 3);
    leave_folder();
}

int first_start_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made_once),
        cmocka_unit_test(what_is_set_is_kept),
        cmocka_unit_test(no_key_when_everybody_is_admin),
        cmocka_unit_test(shared_stores_get_none),
        cmocka_unit_test(accidents_are_not_papered_over),
        cmocka_unit_test(starts_at_once_agree),
    };
    return cmocka_run_group_tests_name("config first start", tests, NULL, NULL);
}
