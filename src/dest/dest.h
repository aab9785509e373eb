/* Seam: where events go. One const struct per destination type, registered in app/backends.c;
 * dest.c holds the registry, the cache of open destinations per delivery thread, deadlines and
 * timing. A type knows nothing of retries, numbers or logs. A field table per type drives
 * validation, masking, the /destination-types answer, forms and docs. Spec: destinations.md 1 to 5.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_DEST_DEST_H
#define OUTRIDER_DEST_DEST_H

#include "core/attempt.h"
#include "io/httpc.h"
#include "io/loop.h"

struct dest_type;

/* One config or credential field as /destination-types shows it (destinations.md 1 and 2). */
struct dest_field {
    const char *key;
    const char *type; /* "text", "checkbox", "select", "key_value_map", ... */
    const char *label, *description;
    bool credential; /* in credentials, else in config */
    bool required, sensitive;
    const char *default_value; /* NULL: none */
    bool disabled;
    int min_length, max_length; /* bytes; 0 or -1: none */
    const char *pattern;        /* PCRE2, matched as the spec says; NULL: none */
    const char *options_json;   /* select: [{"label":..,"value":..}]; NULL */
    const char *extra_json;     /* further members of the field object as `,"k":v` text; NULL */
};

struct dest_target {
    struct str text; /* what a person sees in a list */
    struct str url;  /* "" = none */
};

/* Settings a type may need; immutable, made at start. */
struct dest_conf {
    bool webhook_standard;    /* Standard Webhooks mode */
    struct str header_prefix; /* resolved: "x-outpost-", "webhook-", "" */
    /* default mode; n == 0: the header is off */
    struct str event_id_header, timestamp_header, topic_header, signature_header;
    struct str content_template, header_template, secret_template; /* destinations.md 4.1 */
    bool base64;           /* signatures in base64, else hex */
    const char *algorithm; /* "sha256" or "sha1" */
    struct str proxy_url;  /* forward proxy for webhooks; "" = none */
    struct str user_agent;
    size_t response_max; /* bytes of a response stored; 0 = all (within 16 MiB) */
    bool timestamp_ms;   /* adds timestamp-ms to the metadata of every delivery */
};
/* Start-up checks of templates and header names (destinations.md 4.2). */
enum ec dest_conf_check(const struct dest_conf *conf, struct err *err) MUST_CHECK;

/* Who asks for a change: an admin may set secrets, a tenant may only rotate. */
enum dest_role { DEST_ROLE_ADMIN, DEST_ROLE_TENANT };

/* Problems of a validation, in order, as the API answers them: "config.url is required"... */
struct dest_problems {
    struct arena *arena;
    struct str *v;
    size_t n, cap;
};
void dest_problem(struct dest_problems *p, const char *fmt, ...) PRINTF(2, 3);

struct dest_send {
    struct op op; /* deadline is set; the outcome holds when err.code is EC_OK, else no_attempt */
    struct event *event; /* references of the caller's, kept until done */
    struct destination *destination;
    int number;
    bool manual;
    struct str attempt_id;
    usec_t now;         /* wall time of the attempt: timestamps in headers */
    struct arena arena; /* the outcome's text; initialised by the caller */
    struct outcome outcome;
    nsec_t started, ended;        /* around the provider's call: latency */
    const struct dest_conf *conf; /* set by dest_send */
    void *impl;                   /* the type's */
    void *wrapped;                /* dest.c's */
};

struct dest_ops {
    const char *type; /* wire name: "webhook" */
    const char *label, *description;
    const char *icon_svg;
    const char *setup_href,
        *setup_text;          /* where one is set up, with the words of the link; NULL: nowhere */
    const char *instructions; /* markdown */
    const struct dest_field *fields; /* ends with key NULL */
    size_t conn_size;                /* dest.c allocates, zeroes, caches and frees it */
    /* Beyond the table; no I/O. Adds problems; may be NULL. */
    void (*check)(const struct dest_conf *conf, const struct destination *d,
                  struct dest_problems *p);
    /* Fill in or rotate secrets on an unsealed copy; before is NULL on create. Adds problems. May
     * be NULL. */
    void (*prepare)(const struct dest_conf *conf, struct destination *now,
                    const struct destination *before, enum dest_role role, struct dest_problems *p);
    bool
        keeps_unknown_clear; /* credentials beyond the table are shown in clear (webhook secrets) */
    void (*target)(const struct destination *d, struct arena *a, struct dest_target *out);
    /* One per delivery thread and destination version; local only, connect in send. */
    enum ec (*open)(void *conn, const struct dest_conf *conf, struct destination *d,
                    struct httpc *http, struct err *err);
    void (*send)(void *conn, struct dest_send *rq);
    void (*close)(
        void *conn); /* nothing is in flight on it; also after an open that failed half-way */
};

/* The registry: immutable after start. */
struct dest_registry;
/* The first `listed` types are shown in /destination-types, in this order. */
struct dest_registry *dest_registry_new(const struct dest_ops *const *types, size_t count,
                                        size_t listed, const struct dest_conf *conf);
void dest_registry_free(struct dest_registry *r);
const struct dest_ops *dest_type(const struct dest_registry *r,
                                 struct str type); /* NULL: unknown */
const struct dest_ops *dest_type_at(const struct dest_registry *r,
                                    size_t i); /* listed ones; NULL at the end */
const struct dest_conf *dest_registry_conf(const struct dest_registry *r);
/* The whole check of a new or changed destination by its table and its type; d is unsealed and may
 * be filled in. */
enum ec dest_validate(const struct dest_registry *r, struct destination *d,
                      const struct destination *before, enum dest_role role,
                      struct dest_problems *p) MUST_CHECK;
/* config and credentials as the API shows them: sensitive values masked (destinations.md 1). Adds
 * the JSON object. */
void dest_add_config_json(const struct dest_registry *r, const struct destination *d,
                          struct buf *b);
void dest_add_credentials_json(const struct dest_registry *r, const struct destination *d,
                               struct buf *b);
/* One type's object of GET /destination-types. */
void dest_add_type_json(const struct dest_ops *t, struct buf *b);
/* A value that a client sent back as it was masked means "unchanged": replaces such values in now
 * by before's. */
void dest_unmask(const struct dest_registry *r, struct destination *now,
                 const struct destination *before);

/* Per delivery thread: open destinations, the most recently used kept (10,000 / idle 60 s). */
struct dest_pool;
struct dest_pool *dest_pool_new(const struct dest_registry *r, struct io *io, struct httpc *http);
void dest_pool_free(struct dest_pool *p);
/* Finds or opens the destination's connection and sends. A destination that cannot be opened for a
 * validation reason (EC_INVALID) gives a failed outcome with code ERR, any other failure of open
 * gives no attempt (spec pipeline.md 16.2). */
void dest_send(struct dest_pool *p, struct dest_send *rq);

extern const struct dest_ops dest_webhook, dest_webhook_standard;
extern const struct dest_ops dest_null,
    dest_flaky; /* for tests: registered in test builds only, never listed */

#endif
