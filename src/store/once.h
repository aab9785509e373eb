/* Seam beside the store: idempotency marks with a life. claim -> (work) -> confirm, or drop when the work failed.
 * A claim outlives the slowest work; a confirmed mark lives for ttl. Spec: pipeline.md 7. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_STORE_ONCE_H
#define OUTRIDER_STORE_ONCE_H

#include "io/op.h"
#include "util/str.h"

struct once;

enum once_state { ONCE_NEW, ONCE_CLAIMED, ONCE_DONE }; /* yours now; somebody is at it; done before */
struct once_claim {
    struct op op;
    struct str key;
    usec_t hold; /* life of the claim */
    enum once_state state;
};
struct once_mark {
    struct op op;
    struct str key;
    usec_t ttl; /* confirm: life of the mark, 0 or less = for ever */
};
struct once_ops {
    const char *name;
    void (*close)(struct once *o);
    void (*claim)(struct once *o, struct once_claim *rq);
    void (*confirm)(struct once *o, struct once_mark *rq);
    void (*drop)(struct once *o, struct once_mark *rq);
};
struct once {
    const struct once_ops *ops;
};
void once_claim(struct once *o, struct once_claim *rq);
void once_confirm(struct once *o, struct once_mark *rq);
void once_drop(struct once *o, struct once_mark *rq);

#endif
