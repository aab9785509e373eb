/* Identifiers: uuid v4, uuid v7, nanoid (26 of 0-9A-Za-z), with a prefix (spec api.md 7).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_UTIL_ID_H
#define OUTRIDER_UTIL_ID_H

#include "util/arena.h"

enum id_type { ID_UUIDV4, ID_UUIDV7, ID_NANOID };

#define ID_TEXT_MAX 40
/* Writes the id without prefix, NUL-terminated; returns its length. */
size_t id_text(enum id_type type, char out[ID_TEXT_MAX]);
struct str id_new(struct arena *a, enum id_type type, struct str prefix);

#endif
