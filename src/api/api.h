/* HTTP in: one struct api for the process, one httpd per api thread calling api_on_request. Routes are one table (router.c);
 * authentication comes before everything else; a handler answers once, now or later.
 * Spec: api.md. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_API_API_H
#define OUTRIDER_API_API_H

#include "dest/dest.h"
#include "io/httpd.h"
#include "logstore/logstore.h"
#include "publish/publish.h"
#include "queue/queue.h"
#include "store/store.h"
#include "util/id.h"

struct api_conf {
    bool no_auth;                    /* API_AUTH=none: everybody is admin */
    struct secret *api_key, *jwt_secret;
    struct str deployment_id;
    struct strlist topics;
    bool topics_set;                 /* TOPICS was given, perhaps empty */
    bool allow_wildcards;
    unsigned max_destinations;
    enum id_type id_type;
    struct str event_prefix, destination_prefix;
    const char *const *workers;      /* names in /healthz, sorted; NULL at the end */
};

struct api {
    struct api_conf conf;            /* immutable after start */
    struct store *store;
    struct queue *queue;
    struct logstore *log;
    struct publisher *publisher;
    struct dest_registry *dests;
};

void api_on_request(void *api, struct http_req *rq);
void api_on_error(void *api, int status, struct arena *a, struct http_reply *out);

#endif
