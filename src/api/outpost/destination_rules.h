/* Members of destinations in request bodies. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_API_OUTPOST_DESTINATION_RULES_H
#define OUTRIDER_API_OUTPOST_DESTINATION_RULES_H

#include "api/call.h"

/* Functions returning bool answer the call when they return false. */
enum topics_given { TOPICS_ABSENT, TOPICS_GIVEN, TOPICS_ANSWERED };
enum topics_given topics_read(struct call *c, struct json body, struct strlist *out);
bool topics_accept(struct call *c, struct strlist *topics); /* acceptance, then normalisation */
bool filter_merge(struct call *c, struct json body, struct json *out); /* answers nothing; false: there is none */
bool filter_read(struct call *c, struct json v, struct destination *d);
bool time_read(struct call *c, struct json body, const char *name, const char *prefix, usec_t *out, struct str *out_text);
bool time_not_future(struct call *c, const char *name, usec_t t, usec_t now);
bool validated(struct call *c, struct destination *d, const struct destination *before);

#endif
