/* One request in the API's hands: what the router found, who asks, and the ways to answer. Everything lives in the request's
 * arena. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_API_CALL_H
#define OUTRIDER_API_CALL_H

#include "api/api.h"
#include "util/json.h"
#include "util/query.h"

enum role { ROLE_ADMIN, ROLE_TENANT };

struct call;
typedef void handler_fn(struct call *c);

struct route {
    const char *method, *path; /* ":name" segments */
    bool admin_only, tenant_needed;
    handler_fn *handle;
};

#define PARAMS_MOST 3
struct call {
    struct api *api;
    struct http_req *rq;
    struct arena *a;
    const struct route *route;
    struct str params[PARAMS_MOST]; /* in the order of the path */
    struct str path;                /* decoded */
    struct query query;
    enum role role;
    struct tenant *tenant;          /* a reference: the path's or the token's; NULL when neither */
    struct str token_tenant;        /* ROLE_TENANT: the token's subject */
    struct tenant_get tenant_get;
    char request_id[ID_TEXT_MAX];
};

extern const struct route api_routes[];
extern const size_t api_route_count;

/* auth.c: decides and goes on to the handler, or answers. */
void api_authenticate(struct call *c);
struct str jwt_issue(struct call *c, struct str tenant_id);

/* Answers. Each ends the call; nothing of it may be touched afterwards. */
void reply_json(struct call *c, int status, struct buf *body); /* body is reset */
void reply_error(struct call *c, int status, const char *message);
void reply_error_list(struct call *c, int status, const char *message, const struct str *items, size_t n);
void reply_error_field(struct call *c, int status, const char *message, struct str key, struct str text);
void reply_bare(struct call *c, int status);
void reply_not_found_plain(struct call *c);
void reply_internal(struct call *c, const struct err *err); /* 500, or 503 with Retry-After; logs */
void reply_success(struct call *c);                          /* 200 {"success":true} */
struct buf *call_body(struct call *c);                       /* an empty buffer of this thread for the answer */

/* body.c: request bodies by the rules of api.md 3.3 and 3.4. */
bool body_object(struct call *c, struct json *out); /* false: answered with 422. JSON_NULL counts as {} */
struct json body_get(struct json object, const char *name); /* any case, the last one that is not null; NULL value when only nulls; NONE absent */
bool body_text(struct call *c, struct json object, const char *name, struct str *out); /* "" when absent; false: answered */
enum map_rule { MAP_CREATE, MAP_MERGE };
/* A coerced map member into *map. MAP_MERGE: null values delete keys, null as a whole clears. *out_present as given. false: answered. */
bool body_map(struct call *c, struct json object, const char *name, enum map_rule rule, struct strmap *map, bool *out_present);
void json_add_canonical(struct buf *b, struct json v, bool html); /* sorted keys, numbers as Go prints them */
bool json_numbers_fit(struct json v);                              /* no number beyond a double */
void add_go_number(struct buf *b, struct str number, bool json_style);

/* times.c: the words for a time that cannot be read; "" when it can. */
struct str api_time_error(struct call *c, struct json v);
/* A time as a client wrote it, in normal form: two-digit hour, a point, at most nanoseconds, no trailing zeros. */
struct str api_time_normal(struct call *c, struct str t);
/* body.c: one code point as it is, U+FFFD for an invalid byte; returns the bytes used. */
size_t api_add_utf8(struct buf *b, struct str s);
/* outpost/publish.c */
bool id_is_addressable(struct str id);

/* cursor.c */
struct strlist query_array(struct call *c, const char *name);
struct str cursor_make(struct arena *a, const char *resource, usec_t at_ms, struct str id);
enum cursor_state { CURSOR_OK, CURSOR_INVALID, CURSOR_VERSION };
enum cursor_state cursor_read(struct arena *a, struct str text, const char *resource, struct str *out_position);

/* outpost/destination_json.c */
struct dest_times {
    struct str created, updated, disabled; /* as the client wrote them in this request; n == 0: from the record */
    bool fresh;                            /* times of `now` keep their microseconds */
};
void add_destination(struct call *c, struct buf *b, const struct destination *d, const struct dest_times *times);
void add_tenant(struct buf *b, const struct tenant *t, struct arena *a, bool fresh);

handler_fn health_get, ready_get, tenants_list, tenant_upsert, tenant_read, tenant_delete, tenant_token, tenant_portal, destinations_list,
    destination_create, destination_read, destination_patch, destination_delete, destination_enable, destination_disable,
    types_list, type_read, topics_list, publish_post, retry_post, events_list, event_read, attempts_list, attempt_read,
    destination_attempts, destination_attempt;

#endif
