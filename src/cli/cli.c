/* Which command; help and version. SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "util/attr.h"

static const char help[] =
    "outrider - outbound webhooks and event destinations\n"
    "\n"
    "  outrider serve [--config FILE]         run the server\n"
    "  outrider config list [--config FILE]   print the effective settings, secrets masked\n"
    "  outrider listen [--port N] [...]       a receiver for developers: prints and verifies what arrives\n"
    "  outrider version\n"
    "\n"
    "Settings come from the environment and one file (.env or YAML); docs/configuration.md lists them.\n";

static int print_help(int argc, char **argv)
{
    (void)argc, (void)argv;
    fputs(help, stdout);
    return 0;
}

static int print_version(int argc, char **argv)
{
    (void)argc, (void)argv;
    puts("outrider " OUTRIDER_VERSION);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"serve", cli_serve},     {"config", cli_config}, {"listen", cli_listen},    {"version", print_version},
    {"--version", print_version}, {"help", print_help},   {"--help", print_help}, {"-h", print_help},
};

const char *cli_option(int argc, char **argv, const char *name, int *used)
{
    size_t n = strlen(name);
    for (int i = 0; i < argc; i++) {
        const char *a = argv[i];
        if (strncmp(a, "--", 2) == 0 && strncmp(a + 2, name, n) == 0) {
            if (a[2 + n] == '=') {
                *used += 1;
                return a + 2 + n + 1;
            }
            if (a[2 + n] == '\0' && i + 1 < argc) {
                *used += 2;
                return argv[i + 1];
            }
        }
    }
    return NULL;
}

int cli_unknown(const char *command, int argc, char **argv, const char *const *known)
{
    for (int i = 0; i < argc; i++) {
        bool good = false;
        for (const char *const *k = known; *k && !good; k++) {
            size_t n = strlen(*k);
            good = strncmp(argv[i], "--", 2) == 0 && strncmp(argv[i] + 2, *k, n) == 0 && (argv[i][2 + n] == '=' || argv[i][2 + n] == '\0');
            i += good && argv[i][2 + n] == '\0';
        }
        if (!good) {
            fprintf(stderr, "outrider %s: unknown argument \"%s\"; see outrider --help\n", command, argv[i]);
            return 2;
        }
    }
    return 0;
}

int cli_main(int argc, char **argv)
{
    if (argc < 2) {
        return print_help(0, NULL);
    }
    if (strncmp(argv[1], "--config", 8) == 0) {
        return cli_serve(argc - 1, argv + 1);
    }
    for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return commands[i].run(argc - 2, argv + 2);
        }
    }
    fprintf(stderr, "outrider: unknown command \"%s\"\n\n%s", argv[1], help);
    return 2;
}
