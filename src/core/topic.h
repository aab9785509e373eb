/* Topics: which an operator configured, which a destination wants. Pure. Spec: pipeline.md 6, api.md 10.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_CORE_TOPIC_H
#define OUTRIDER_CORE_TOPIC_H

#include "core/strmap.h"

/* Does a destination with these topics want an event of this topic? */
bool topic_match(const struct strlist *wanted, struct str topic);
/* `*` stands for any run of bytes, everything else for itself. */
bool topic_glob(struct str pattern, struct str topic);

#endif
