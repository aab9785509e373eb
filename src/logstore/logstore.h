/* Seam: events and attempts, append and query. Any thread with a loop; results complete on op.io. Lists order by (time, id).
 * Repeating an insert is harmless: the attempt id, and (tenant, event id), are the keys.
 * Spec: storage.md 15, 18; api.md 14, 15; embedded layout: design.md 3. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_LOGSTORE_LOGSTORE_H
#define OUTRIDER_LOGSTORE_LOGSTORE_H

#include "core/attempt.h"
#include "io/op.h"

struct logstore;

/* Durable when done. An entry is an attempt (its event row is written too if it is not there), or an event alone
 * (unmatched). One entry that cannot be stored never takes its neighbours down: bad[] tells which. */
struct log_insert {
    struct op op;
    struct attempt **attempts; /* borrowed until done, as are the events */
    size_t attempt_count;
    struct event **events;
    size_t event_count;
    size_t refused;            /* out: entries that can never be stored (logged by the wrapper) */
};

struct log_filter {
    struct str env;
    struct strlist tenant_ids, event_ids, destination_ids, topics, destination_types; /* n == 0: any */
    bool has_status;
    struct str status;               /* "success", "failed"; others match nothing */
    bool has_gte, has_lte, has_gt, has_lt;
    usec_t gte, lte, gt, lt;         /* event time for events, attempt time for attempts */
};
struct log_list {
    struct op op;
    struct log_filter filter;
    bool ascending, backward;        /* api.md 6.8 */
    bool has_position;
    usec_t position;                 /* whole milliseconds as in the cursor; the row of position_id gives the exact time when it still exists */
    struct str position_id;
    unsigned limit;
    bool want_data, want_response;   /* event payloads; response_data */
    /* out: heap arrays of references in list order; log_list_fini */
    struct event **events;           /* event_list */
    struct attempt **attempts;       /* attempt_list; ->event carries the event's fields (data only with want_data), ->destination is NULL */
    size_t count;
    bool more;                       /* in the direction walked */
};
void log_list_fini(struct log_list *rq);

struct log_event_get {
    struct op op;
    struct str env, tenant_id;       /* tenant "" = any, the newest */
    struct str id;
    struct event *out;               /* a reference; EC_NOT_FOUND */
};
struct log_attempt_get {
    struct op op;
    struct str env, tenant_id, id;
    struct attempt *out;
};

struct logstore_conf {
    const char *path;                /* sqlite: the folder log/ */
    bool sync_full;
    int64_t retention_days;          /* 0 = for ever */
    int64_t retention_bytes;         /* 0 = no limit */
    int64_t segment_bytes;           /* 0 = default */
    unsigned cache_kib;
};

struct logstore_ops {
    const char *name;
    enum ec (*open)(const struct logstore_conf *conf, struct logstore **out, struct err *err); /* main thread, may block */
    void (*close)(struct logstore *l);
    bool (*healthy)(struct logstore *l);
    void (*insert)(struct logstore *l, struct log_insert *rq);
    void (*event_get)(struct logstore *l, struct log_event_get *rq);
    void (*attempt_get)(struct logstore *l, struct log_attempt_get *rq);
    void (*event_list)(struct logstore *l, struct log_list *rq);
    void (*attempt_list)(struct logstore *l, struct log_list *rq);
};
struct logstore {
    const struct logstore_ops *ops;
};
enum ec logstore_open(const struct logstore_ops *ops, const struct logstore_conf *conf, struct logstore **out, struct err *err) MUST_CHECK;
void logstore_close(struct logstore *l);
bool logstore_healthy(struct logstore *l);
void logstore_insert(struct logstore *l, struct log_insert *rq);
void logstore_event_get(struct logstore *l, struct log_event_get *rq);
void logstore_attempt_get(struct logstore *l, struct log_attempt_get *rq);
void logstore_event_list(struct logstore *l, struct log_list *rq);
void logstore_attempt_list(struct logstore *l, struct log_list *rq);

extern const struct logstore_ops logstore_sqlite;

#endif
