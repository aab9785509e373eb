/* Text that must not be seen: an own copy, overwritten before it is freed. Not encryption; how
 * secrets are stored is the stores' business. Contract: secret.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "util/secret.h"

#include <stdlib.h>

#include "util/hash.h"

void secret_set(struct secret *s, struct str value)
{
    char *fresh = value.n ? xmalloc(value.n + 1) : NULL;
    if (fresh) {
        memcpy(fresh, value.p, value.n);
        fresh[value.n] = '\0';
    }
    secret_fini(s);
    s->hidden_ = fresh;
    s->n_ = value.n;
}

void secret_fini(struct secret *s)
{
    if (s->hidden_) {
        explicit_bzero(s->hidden_, s->n_);
        free(s->hidden_);
    }
    *s = (struct secret){NULL, 0};
}

bool secret_is_set(const struct secret *s)
{
    return s->n_ != 0;
}

bool secret_equal(const struct secret *s, struct str other)
{
    return equal_ct(secret_reveal(s), other);
}

struct str secret_reveal(const struct secret *s)
{
    return (struct str){s->hidden_ ? s->hidden_ : "", s->n_};
}
