/* What both webhook modes share: headers, custom headers, secrets, sending and judging the answer.
 * Spec: destinations.md 3, 4.5 to 4.7. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_DEST_SHARED_WEBHOOK_H
#define OUTRIDER_DEST_SHARED_WEBHOOK_H

#include "dest/dest.h"

extern const struct dest_field webhook_fields[];
extern const char webhook_icon[];

/* Headers under construction: later assignments replace earlier ones of the same name, any case. */
struct headers {
    struct arena *a;
    struct http_header *v;
    size_t n, cap;
    bool bad; /* a value that cannot be sent: the attempt fails before a byte is written */
};
/* Names that are no header names are left out (design.md 11.15). */
void headers_set(struct headers *h, struct str prefix, struct str name, struct str value);
void headers_custom(struct headers *h, const struct destination *d);
/* The merged metadata (1.10), system keys included. */
struct strmap webhook_metadata(const struct dest_send *rq, struct arena *a);

void webhook_check_custom_headers(const struct destination *d, struct dest_problems *p);
/* generate: makes a secret in the mode's form in p's arena, or adds a problem. */
void webhook_prepare(const struct dest_conf *conf, struct destination *now,
                     const struct destination *before, enum dest_role role, struct dest_problems *p,
                     struct str (*generate)(const struct dest_conf *conf, struct dest_problems *p));
void webhook_target(const struct destination *d, struct arena *a, struct dest_target *out);
/* The previous secret, unless there is none or its time has passed. */
struct str webhook_previous_secret(const struct destination *d, usec_t now);
struct str webhook_secret(const struct destination *d);
bool webhook_time_is_valid(struct str t);
/* Names of custom and pinned headers (4.5). */
bool webhook_name_is_plain(struct str name);
bool webhook_name_is_reserved(struct str name);
struct str webhook_lower(struct arena *a, struct str s); /* ASCII */

/* All headers of one attempt, signatures included, by a connection that the mode opened; only rq's
 * event, destination, now and arena are looked at. false: they cannot be formatted. */
bool webhook_default_headers(void *conn, const struct dest_send *rq, struct headers *h);
void webhook_standard_headers(void *conn, const struct dest_send *rq, struct headers *h);

/* Posts the event's payload with these headers and completes rq. */
void webhook_post(struct httpc *http, const struct dest_conf *conf, struct dest_send *rq,
                  struct headers *h);
/* The attempt fails without a request. */
void webhook_fail(struct dest_send *rq, const char *code, const char *error);

#endif
