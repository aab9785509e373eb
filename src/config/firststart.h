/* First start of an embedded server: the data folder, and the secrets that nobody set. They are
 * made once, kept as 0600 files `api_key`, `encryption_secret`, `jwt_secret` in the folder, and
 * read back on later starts. Not the folder's lock: that is the app's. Main thread, before the
 * config is shared. Two processes that start at once end up with the same secrets.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_CONFIG_FIRSTSTART_H
#define OUTRIDER_CONFIG_FIRSTSTART_H

#include "config/config.h"

struct firststart {
    bool new_folder;
    bool new_api_key; /* made just now: print it, once (secret_reveal(&c->api_key)), and where it
                         lies */
};

/* After config_check. Makes DATA_DIR (0700, parents too) when anything is embedded; when the store
 * is, fills in the secrets that are not set: no API key under API_AUTH=none. Otherwise touches
 * nothing. */
enum ec firststart_run(struct config *c, struct firststart *out, struct err *err) MUST_CHECK;

#endif
