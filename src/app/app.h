/* The wiring: which backends, which threads, in which order they start and stop. The only room that names concrete backends.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_APP_APP_H
#define OUTRIDER_APP_APP_H

#include "config/config.h"

/* Runs the server until SIGTERM or SIGINT. Returns the process's exit code. first_start: the admin key was made just now. */
int app_run(struct config *config, bool first_start);

#endif
