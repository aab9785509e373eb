/* The commands: one file each. Each takes the arguments behind its name and returns the exit code.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_CLI_CLI_H
#define OUTRIDER_CLI_CLI_H

int cli_main(int argc, char **argv);
int cli_serve(int argc, char **argv);
int cli_config(int argc, char **argv);
int cli_listen(int argc, char **argv);

/* The value of "--name value" or "--name=value"; NULL when absent. Used ones are counted in *used. */
/* 2, and a line on stderr, when there is an argument that is none of the known options (which take a value); else 0. */
int cli_unknown(const char *command, int argc, char **argv, const char *const *known);
const char *cli_option(int argc, char **argv, const char *name, int *used);

#endif
