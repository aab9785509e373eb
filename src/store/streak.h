/* Seam beside the store: consecutive failed attempts per destination. Adding an attempt id twice counts once.
 * Spec: pipeline.md 22. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_STORE_STREAK_H
#define OUTRIDER_STORE_STREAK_H

#include "io/op.h"
#include "util/str.h"

struct streak;

struct streak_add {
    struct op op;
    struct str tenant_id, destination_id, attempt_id;
    int64_t count; /* out */
};
struct streak_clear {
    struct op op;
    struct str tenant_id, destination_id;
};
struct streak_ops {
    const char *name;
    void (*close)(struct streak *s);
    void (*add)(struct streak *s, struct streak_add *rq);
    void (*clear)(struct streak *s, struct streak_clear *rq); /* cheap when there is nothing to clear */
    /* Optional: true when nothing is counted for the destination, so that clear can be left out. Any thread. */
    bool (*is_clear)(struct streak *s, struct str tenant_id, struct str destination_id);
};
struct streak {
    const struct streak_ops *ops;
};
void streak_add(struct streak *s, struct streak_add *rq);
void streak_clear(struct streak *s, struct streak_clear *rq);
bool streak_is_clear(struct streak *s, struct str tenant_id, struct str destination_id);

#endif
