/* The embedded log's inside. One file per segment of arrival time: the newest takes rows, with few indexes; when it is full
 * it is sealed (the other indexes are built in one go) and only read from then on; retention removes whole files.
 *   sqlite.c          requests, the writer, readers and caretaker threads
 *   sqlite_segment.c  segments: find, begin, seal, retire
 *   sqlite_rows.c     columns to nouns and back
 *   sqlite_list.c     pages over many segments
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_LOGSTORE_SQLITE_PRIV_H
#define OUTRIDER_LOGSTORE_SQLITE_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "io/sqlc.h"
#include "logstore/logstore.h"
#include "util/map.h"

#define SEGMENT_ROWS 30000
#define SEGMENT_AGE (24 * 3600 * USEC_PER_SEC)
#define SEGMENT_BYTES INT64_C(67108864)
#define SEGMENT_LEAST INT64_C(262144)
#define READERS 2
#define OPEN_MOST 64

struct segment {
    atomic_int refs;
    int64_t number;    /* arrival of its first row, microseconds; the file's name */
    char *path;
    atomic_bool sealed;
    atomic_bool doomed; /* taken by retention: the file goes with the last reference */
    usec_t newest;      /* arrival of its last row */
    _Atomic int64_t bytes;
    _Atomic int64_t event_min, event_max, attempt_min, attempt_max; /* times of its rows; min > max: none */
};

struct seglog;
struct reader {
    struct seglog *l;
    pthread_t thread;
    struct {
        struct segment *s; /* a reference */
        struct sqlc_conn *c;
        uint64_t used;
    } open[OPEN_MOST];
    uint64_t clock;
};

struct seglog {
    struct logstore store;
    struct logstore_conf conf;
    char *dir;
    pthread_mutex_t lock;
    pthread_cond_t write_wake, read_wake, care_wake;
    struct list writes, reads; /* struct op links */
    bool closing;
    struct segment **segments; /* oldest first, references; under lock */
    size_t segment_count;
    _Atomic bool healthy;
    usec_t opened_at;
    pthread_t writer, caretaker;
    struct reader readers[READERS];
    /* writer thread */
    struct segment *active;
    struct sqlc_conn *conn;
    int64_t active_rows;
    struct reader writer_reads; /* its look-ups of earlier rows */
    struct map seen, seen_before; /* events written to the active and the previous segment: 8-byte hashes */
    unsigned commits;
};

/* sqlite_segment.c */
enum ec seglog_scan(struct seglog *l, struct err *err);       /* at open: what is in the folder */
enum ec seglog_begin(struct seglog *l, struct err *err);      /* writer: a new active segment */
void seglog_seal(struct seglog *l, struct segment *s);        /* caretaker: builds the indexes */
void seglog_retain(struct seglog *l);                         /* caretaker: removes what is too old or too much */
size_t seglog_snapshot(struct seglog *l, struct segment ***out); /* references, newest first; heap array */
struct segment *segment_ref(struct segment *s);
void segment_unref(struct segment *s);
void segment_note(struct segment *s, bool attempt, usec_t time);
struct sqlc_conn *reader_conn(struct reader *r, struct segment *s); /* NULL: cannot be read, logged */

/* sqlite_rows.c */
extern const char log_schema[], log_seal_schema[];
#define EVENT_COLUMNS "id, tenant, topic, time, received, eligible, matched, metadata, data, env"
#define ATTEMPT_COLUMNS "id, event_id, tenant, dest, type, topic, success, number, manual, time, latency, code, response, dlv, event_time, eligible, env"
enum ec log_insert_event(const struct event *e);
enum ec log_insert_attempt(const struct attempt *a);
struct event *log_read_event(sqlite3_stmt *st, bool with_data);
/* The attempt with a bare event (id, tenant, topic, time, eligible). */
struct attempt *log_read_attempt(sqlite3_stmt *st, bool with_response);
uint64_t log_event_hash(struct str env, struct str tenant_id, struct str id);
/* The event row in the segment of the current connection; NULL if none. tenant "" = any. */
struct event *log_find_event(struct str env, struct str tenant_id, struct str id, bool with_data);
struct attempt *log_find_attempt(struct str env, struct str tenant_id, struct str id);

/* sqlite_list.c: run on a reader thread */
enum ec log_run_list(struct reader *r, struct log_list *rq, bool attempts, struct err *err);
struct event *log_event_anywhere(struct reader *r, struct str env, struct str tenant_id, struct str id, bool with_data);
struct attempt *log_attempt_anywhere(struct reader *r, struct str env, struct str tenant_id, struct str id);

#endif
