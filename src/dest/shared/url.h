/* The URL of a webhook as it goes out: what cannot be parsed is told apart from what cannot be
 * reached, user and password leave it, odd paths are encoded anew. Not for resolving or judging
 * addresses: io/httpc.h. Spec: destinations.md 3.1. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_DEST_SHARED_URL_H
#define OUTRIDER_DEST_SHARED_URL_H

#include "util/arena.h"

struct target_url {
    struct str url; /* without userinfo and fragment, with a path; may borrow from the text given */
    struct str user; /* "user:password", decoded; p NULL: none was written */
};
/* false: no URL. Longer texts are made in a. */
bool target_url_parse(struct str text, struct arena *a, struct target_url *out) MUST_CHECK;

#endif
