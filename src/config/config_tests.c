/* Runs the unit tests of src/config, one cmocka group per file, and holds what they share. The
 * status is 1 when anything failed. SPDX-License-Identifier: Apache-2.0 */
#include "config/tests.h"

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char before[4096], folder[64];

void enter_folder(void)
{
    assert_non_null(getcwd(before, sizeof(before)));
    snprintf(folder, sizeof(folder), "/tmp/outrider-config-XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

void leave_folder(void)
{
    assert_int_equal(chdir(before), 0);
    assert_int_equal(nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void write_file(const char *path, const char *text)
{
    for (const char *at = path; (at = strchr(at + 1, '/'));) {
        char part[256];
        snprintf(part, sizeof(part), "%.*s", (int)(at - path), path);
        mkdir(part, 0700);
    }
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

void try_config(const struct trial *t, struct outcome *out)
{
    char *envp[13] = {0};
    for (size_t i = 0; i < 12 && t->env[i]; i++) {
        envp[i] = xstrdup(t->env[i]);
    }
    enter_folder();
    if (t->file) {
        write_file(t->file, t->text);
    }
    struct config_input in = {t->flag, t->service, envp};
    *out = (struct outcome){.check = EC_INTERNAL};
    config_report_init(&out->report);
    out->read = config_read(&in, &out->c, &out->report);
    if (!out->read) {
        out->check = config_check(out->c, &in, &out->report);
    }
    leave_folder();
    for (size_t i = 0; envp[i]; i++) {
        free(envp[i]);
    }
}

void outcome_fini(struct outcome *o)
{
    config_free(o->c);
    config_report_fini(&o->report);
}

static const struct setting *row(const char *yaml)
{
    bool alias;
    const struct setting *s = setting_by_yaml(str_z(yaml), &alias);
    if (!s) {
        fail_msg("no setting %s", yaml);
    }
    return s;
}

const char *shown(const struct config *c, const char *yaml)
{
    static char text[1024];
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, sizeof(text) - 1);
    value_format(c, row(yaml), &b);
    snprintf(text, sizeof(text), "%s", buf_z(&b));
    return text;
}

const char *source_of(const struct config *c, const char *yaml)
{
    return c->sources[row(yaml) - settings];
}

bool has_text(const struct config_list *l, const char *part)
{
    for (size_t i = 0; i < l->n; i++) {
        if (strstr(l->v[i].p, part)) {
            return true;
        }
    }
    return false;
}

int main(void)
{
    int (*const groups[])(void) = {read_tests, check_tests, print_tests, first_start_tests,
                                   docs_tests};
    int failed = 0;
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        failed += groups[i]();
    }
    return failed != 0;
}
