/* Seam: tenants and destinations. Any api, delivery or log thread calls, each with its own op.io; results complete on it.
 * Requests complete exactly once, never from within the call (io/op.h). What is read are counted snapshots: the
 * caller unrefs them. Backends: sqlite (embedded: cached, written through), mem (tests), fault (wraps another);
 * made for a pipelined network store: every call is one round trip, many may be in flight.
 * Errors of every request: EC_UNAVAILABLE, EC_TIMEOUT, EC_CANCELED beside those named. `env` is "" in the Outpost vocabulary.
 * Spec: storage.md 7, 9, 11, 12. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_STORE_STORE_H
#define OUTRIDER_STORE_STORE_H

#include "core/tenant.h"
#include "io/op.h"

struct store;

struct tenant_get {
    struct op op;
    struct str env, id;          /* borrowed until done */
    bool with_destinations;      /* whole destinations; else a backend may leave dests with id, type, topics, filter, disabled_at only */
    struct tenant *out;          /* a reference; EC_NOT_FOUND: unknown or deleted */
};
struct tenant_put {
    struct op op;
    struct str env, id;
    struct strmap metadata;      /* replaces; n == 0: none */
    bool must_exist;             /* EC_NOT_FOUND rather than create */
    struct tenant *out;
    bool created;
};
struct tenant_del {
    struct op op;
    struct str env, id;          /* EC_NOT_FOUND */
};
struct tenant_list {
    struct op op;
    struct str env;
    struct strlist ids;          /* keep only these; n == 0: all */
    bool ascending;              /* by created_at, then id */
    bool backward;               /* page before the position (api.md 6.8); out is in list order all the same */
    bool has_position;
    usec_t position;             /* created_at, exact or whole ms when position_id is "" */
    struct str position_id;
    unsigned limit;
    struct tenant **out;         /* heap array of out_count references: tenant_list_fini */
    size_t out_count;
    bool more;                   /* in the direction walked */
    size_t total;
};
void tenant_list_fini(struct tenant_list *rq);

struct dest_get {
    struct op op;
    struct str env, tenant_id, id;
    struct destination *out;     /* a reference; EC_NOT_FOUND: unknown; EC_DENIED: deleted not long ago */
};
enum dest_put_mode { DEST_CREATE, DEST_REPLACE };
struct dest_put {
    struct op op;
    struct str env;
    enum dest_put_mode mode;
    struct destination *dest;    /* sealed; the request takes its own reference */
    const struct destination *base; /* REPLACE: EC_CONFLICT when the stored one is no longer this version; NULL: whatever is there */
    unsigned max_per_tenant;     /* CREATE: EC_LIMIT beyond; 0 = no limit */
    struct tenant *before, *after; /* references, when the backend has them at hand; else NULL */
    /* EC_NOT_FOUND: no tenant (CREATE) or no destination (REPLACE); EC_CONFLICT: id exists (CREATE) */
};
struct dest_del {
    struct op op;
    struct str env, tenant_id, id; /* EC_NOT_FOUND */
    struct tenant *before, *after;
};
/* Candidates for an event; core/match.c has the last word, so more than match may come back. An unknown tenant has none. */
struct dest_match {
    struct op op;
    struct str env, tenant_id;
    struct str topic;            /* a hint */
    struct str destination_id;   /* forced; "" = all */
    struct tenant *out;          /* the tenant's snapshot (id, topics, filter, disabled at least); NULL: no such tenant */
};

struct store_conf {
    const char *path;            /* sqlite: the file */
    struct secret *encryption_key; /* credentials at rest, AES-256-GCM; borrowed */
    bool sync_full;
};

struct store_ops {
    const char *name;
    enum ec (*open)(const struct store_conf *conf, struct store **out, struct err *err); /* main thread, may block */
    void (*close)(struct store *s);
    bool (*healthy)(struct store *s);
    void (*tenant_get)(struct store *s, struct tenant_get *rq);
    void (*tenant_put)(struct store *s, struct tenant_put *rq);
    void (*tenant_del)(struct store *s, struct tenant_del *rq);
    void (*tenant_list)(struct store *s, struct tenant_list *rq); /* NULL: not offered (501) */
    void (*dest_get)(struct store *s, struct dest_get *rq);
    void (*dest_put)(struct store *s, struct dest_put *rq);
    void (*dest_del)(struct store *s, struct dest_del *rq);
    void (*dest_match)(struct store *s, struct dest_match *rq);
    /* Optional: the answer at once, without an op, when it is in memory (embedded). false: submit dest_match. Any thread. */
    bool (*dest_match_now)(struct store *s, struct dest_match *rq);
    bool (*dest_get_now)(struct store *s, struct dest_get *rq); /* sets rq->op.err as dest_get would */
};

/* Every backend's struct store begins with this. */
struct store {
    const struct store_ops *ops;
};

/* The wrapper, the only caller of the pointers: default deadlines, counters. */
enum ec store_open(const struct store_ops *ops, const struct store_conf *conf, struct store **out, struct err *err) MUST_CHECK;
void store_close(struct store *s);
bool store_healthy(struct store *s);
void store_tenant_get(struct store *s, struct tenant_get *rq);
void store_tenant_put(struct store *s, struct tenant_put *rq);
void store_tenant_del(struct store *s, struct tenant_del *rq);
bool store_can_list(const struct store *s);
void store_tenant_list(struct store *s, struct tenant_list *rq);
void store_dest_get(struct store *s, struct dest_get *rq);
void store_dest_put(struct store *s, struct dest_put *rq);
void store_dest_del(struct store *s, struct dest_del *rq);
void store_dest_match(struct store *s, struct dest_match *rq);
bool store_dest_match_now(struct store *s, struct dest_match *rq); /* true: rq->out is set, no done() will come */
bool store_dest_get_now(struct store *s, struct dest_get *rq);

extern const struct store_ops store_sqlite;
#endif
