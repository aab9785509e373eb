/* The part of Go's template language that signing templates use: fields, methods of times,
 * pipelines, if, range, with, variables, trimming, comments and the functions of template_funcs.c.
 * What is not supported is refused when the template is made, at start-up. Spec:
 * destinations.md 4.1, 4.2. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_DEST_SHARED_TEMPLATE_H
#define OUTRIDER_DEST_SHARED_TEMPLATE_H

#include "core/strmap.h"
#include "util/time.h"

struct template;

enum template_kind { TEMPLATE_CONTENT, TEMPLATE_HEADER, TEMPLATE_SECRET };
struct template_input {
    struct str event_id, topic, body;
    usec_t now;
    const struct str *signatures;
    size_t signature_count;
    struct str random_hex, random_base64, random_alphanumeric;
};
/* Parses; content and header are also tried on made-up values. The words are those of start-up
 * (4.2, 9 to 13). */
enum ec template_new(struct str text, enum template_kind kind, struct template **out,
                     struct err *err) MUST_CHECK;
void template_free(struct template *t);
/* false: it cannot be applied to this input (an index beyond the signatures), or is too long for
 * out. */
bool template_render(const struct template *t, const struct template_input *in, struct buf *out);
/* The same with the reason. */
enum ec template_try(const struct template *t, const struct template_input *in, struct buf *out,
                     struct err *err) MUST_CHECK;

#endif
