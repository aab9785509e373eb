/* `outrider serve` and `outrider config list`. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/app.h"
#include "cli/cli.h"
#include "util/log.h"

static int fail(const struct err *err)
{
    fprintf(stderr, "outrider: %s\n", err->text);
    return 1;
}

static enum log_level level_of(struct str name)
{
    return str_eq_ci(name, STR("debug"))                                      ? LOG_DEBUG
           : str_eq_ci(name, STR("info")) || name.n == 0                      ? LOG_INFO
           : str_eq_ci(name, STR("warn")) || str_eq_ci(name, STR("warning")) ? LOG_WARN
                                                                              : LOG_ERROR;
}

int cli_serve(int argc, char **argv)
{
    int used = 0;
    const char *path = cli_option(argc, argv, "config", &used);
    static const char *const known[] = {"config", NULL};
    if (cli_unknown("serve", argc, argv, known)) {
        return 2;
    }
    umask(077); /* what is written is the server's own */
    struct config *c;
    struct err err = {0};
    if (config_load(path, environ, &c, &err)) {
        return fail(&err);
    }
    log_setup(2, level_of(c->log_level), isatty(2) ? LOG_FORMAT_PRETTY : LOG_FORMAT_JSON);
    bool new_key;
    if (config_first_start(c, &new_key, &err)) {
        return fail(&err);
    }
    int rc = app_run(c, new_key);
    config_free(c);
    return rc;
}

int cli_config(int argc, char **argv)
{
    int used = 1;
    const char *path = cli_option(argc, argv, "config", &used);
    if (argc < 1 || strcmp(argv[0], "list") || used != argc) {
        fprintf(stderr, "usage: outrider config list [--config FILE]\n");
        return 2;
    }
    struct config *c;
    struct err err = {0};
    if (config_load(path, environ, &c, &err)) {
        return fail(&err);
    }
    config_print(c, stdout);
    config_free(c);
    return 0;
}
