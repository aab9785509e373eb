/* Segments: files log/<number>.db, number = arrival of the first row. SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "logstore/sqlite_priv.h"
#include "util/log.h"

struct segment *segment_ref(struct segment *s)
{
    atomic_fetch_add(&s->refs, 1);
    return s;
}

static void remove_files(const char *path)
{
    static const char *const endings[] = {"", "-wal", "-shm"};
    char name[4096];
    for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
        snprintf(name, sizeof(name), "%s%s", path, endings[i]);
        unlink(name);
    }
}

void segment_unref(struct segment *s)
{
    if (!s || atomic_fetch_sub(&s->refs, 1) > 1) {
        return;
    }
    if (atomic_load(&s->doomed)) {
        remove_files(s->path);
    }
    free(s->path);
    free(s);
}

static void widen(_Atomic int64_t *min, _Atomic int64_t *max, int64_t v)
{
    if (v < atomic_load(min)) {
        atomic_store(min, v);
    }
    if (v > atomic_load(max)) {
        atomic_store(max, v);
    }
}

void segment_note(struct segment *s, bool attempt, usec_t time)
{
    widen(attempt ? &s->attempt_min : &s->event_min, attempt ? &s->attempt_max : &s->event_max, time);
}

static struct segment *segment_new(struct seglog *l, int64_t number)
{
    struct segment *s = xcalloc(1, sizeof(*s));
    char path[4096];
    snprintf(path, sizeof(path), "%s/%020lld.db", l->dir, (long long)number);
    s->path = xstrdup(path);
    s->number = s->newest = number;
    atomic_init(&s->refs, 1);
    atomic_init(&s->event_min, INT64_MAX);
    atomic_init(&s->event_max, INT64_MIN);
    atomic_init(&s->attempt_min, INT64_MAX);
    atomic_init(&s->attempt_max, INT64_MIN);
    return s;
}

static int64_t file_bytes(const char *path)
{
    struct stat st, wal;
    char name[4096];
    snprintf(name, sizeof(name), "%s-wal", path);
    int64_t n = stat(path, &st) == 0 ? st.st_size : 0;
    return n + (stat(name, &wal) == 0 ? wal.st_size : 0);
}

static bool read_ranges(struct segment *s)
{
    struct sqlc_conn *c;
    struct err err = {0};
    if (sqlc_conn_open(s->path, SQLC_WRITE, false, 256, &c, &err)) {
        log_line(LOG_ERROR, "a log segment is set aside: it cannot be read", lz("file", s->path), lz("error", err.text));
        return false;
    }
    sqlc_conn_use(c);
    sqlc_conn_exec(c, log_schema);
    sqlite3_stmt *st = sqlc_stmt(NULL, "SELECT (SELECT min(time) FROM event), (SELECT max(time) FROM event),"
                                       " (SELECT min(time) FROM attempt), (SELECT max(time) FROM attempt),"
                                       " (SELECT user_version FROM pragma_user_version)");
    if (sqlc_row(NULL, st)) {
        for (int i = 0; i < 4; i++) {
            if (sqlite3_column_type(st, i) != SQLITE_NULL) {
                segment_note(s, i >= 2, sqlite3_column_int64(st, i));
            }
        }
        atomic_store(&s->sealed, sqlite3_column_int(st, 4) == 1);
    }
    sqlite3_reset(st);
    bool good = sqlc_conn_error(c) == 0;
    sqlc_conn_use(NULL);
    sqlc_conn_free(c);
    if (!good) {
        log_line(LOG_ERROR, "a log segment is set aside: it is damaged", lz("file", s->path));
    }
    return good;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = (*(struct segment *const *)a)->number, y = (*(struct segment *const *)b)->number;
    return x < y ? -1 : x > y;
}

static void add_segment(struct seglog *l, struct segment *s)
{
    pthread_mutex_lock(&l->lock);
    l->segments = xrealloc(l->segments, (l->segment_count + 1) * sizeof(struct segment *));
    l->segments[l->segment_count++] = s;
    qsort(l->segments, l->segment_count, sizeof(struct segment *), by_number);
    pthread_mutex_unlock(&l->lock);
}

/* A damaged segment keeps its bytes under another name; the rest serves. */
static void set_aside(struct segment *s)
{
    char name[4096];
    snprintf(name, sizeof(name), "%s.damaged", s->path);
    if (rename(s->path, name)) {
        log_line(LOG_ERROR, "a damaged log segment could not be renamed", lz("file", s->path));
    }
    segment_unref(s);
}

enum ec seglog_scan(struct seglog *l, struct err *err)
{
    if (mkdir(l->dir, 0700) && errno != EEXIST) {
        return err_set(err, EC_UNAVAILABLE, "cannot make %s: %s", l->dir, strerror(errno));
    }
    DIR *d = opendir(l->dir);
    if (!d) {
        return err_set(err, EC_UNAVAILABLE, "cannot read %s: %s", l->dir, strerror(errno));
    }
    struct dirent *f;
    while ((f = readdir(d))) {
        struct str name = str_z(f->d_name);
        int64_t number;
        if (!str_ends(name, STR(".db")) || !str_to_i64(str_sub(name, 0, name.n - 3), &number)) {
            continue;
        }
        struct segment *s = segment_new(l, number);
        if (!read_ranges(s)) {
            set_aside(s);
            continue;
        }
        atomic_store(&s->bytes, file_bytes(s->path));
        add_segment(l, s);
    }
    closedir(d);
    /* What ended without a seal is sealed by the caretaker; its newest row cannot be younger than the next one's first. */
    for (size_t i = 0; i < l->segment_count; i++) {
        l->segments[i]->newest = i + 1 < l->segment_count ? l->segments[i + 1]->number : wall_now();
    }
    return EC_OK;
}

enum ec seglog_begin(struct seglog *l, struct err *err)
{
    int64_t number = wall_now();
    pthread_mutex_lock(&l->lock);
    if (l->segment_count && number <= l->segments[l->segment_count - 1]->number) {
        number = l->segments[l->segment_count - 1]->number + 1; /* the clock went back: no older segment is opened */
    }
    pthread_mutex_unlock(&l->lock);
    struct segment *s = segment_new(l, number);
    struct sqlc_conn *c;
    enum ec ec = sqlc_conn_open(s->path, SQLC_CREATE, l->conf.sync_full, 4096, &c, err);
    if (!ec) {
        ec = sqlc_conn_exec(c, log_schema);
        if (ec) {
            err_set(err, ec, "%s: %s", s->path, sqlite3_errstr(sqlc_conn_error(c)));
            sqlc_conn_free(c);
        }
    }
    if (ec) {
        atomic_store(&s->doomed, true);
        segment_unref(s);
        return ec;
    }
    l->active = segment_ref(s);
    l->conn = c;
    l->active_rows = 0;
    add_segment(l, s);
    return EC_OK;
}

void seglog_seal(struct seglog *l, struct segment *s)
{
    (void)l;
    struct sqlc_conn *c;
    struct err err = {0};
    if (sqlc_conn_open(s->path, SQLC_WRITE, false, 8192, &c, &err)) {
        log_line(LOG_WARN, "a log segment could not be sealed yet", lz("file", s->path), lz("error", err.text));
        return;
    }
    if (sqlc_conn_exec(c, log_seal_schema) == EC_OK && sqlc_conn_exec(c, "PRAGMA wal_checkpoint(TRUNCATE)") == EC_OK) {
        atomic_store(&s->sealed, true);
    }
    sqlc_conn_free(c);
    atomic_store(&s->bytes, file_bytes(s->path));
}

/* Takes the oldest segment off the list; its file goes when nobody reads it any more. */
static void drop_oldest(struct seglog *l)
{
    pthread_mutex_lock(&l->lock);
    struct segment *s = l->segments[0];
    memmove(l->segments, l->segments + 1, (l->segment_count - 1) * sizeof(struct segment *));
    l->segment_count--;
    pthread_mutex_unlock(&l->lock);
    log_line(LOG_INFO, "log segment removed by retention", lz("file", s->path), li("bytes", atomic_load(&s->bytes)));
    atomic_store(&s->doomed, true);
    remove_files(s->path); /* who still reads it has it open; reader_conn lets go of it */
    segment_unref(s);
}

void seglog_retain(struct seglog *l)
{
    for (;;) {
        pthread_mutex_lock(&l->lock);
        int64_t bytes = 0;
        for (size_t i = 0; i < l->segment_count; i++) {
            bytes += atomic_load(&l->segments[i]->bytes);
        }
        struct segment *oldest = l->segment_count > 1 ? l->segments[0] : NULL;
        usec_t newest = oldest ? oldest->newest : 0;
        pthread_mutex_unlock(&l->lock);
        bool old = l->conf.retention_days > 0 && newest < wall_now() - l->conf.retention_days * 86400 * USEC_PER_SEC;
        bool much = l->conf.retention_bytes > 0 && bytes > l->conf.retention_bytes;
        if (!oldest || (!old && !much)) {
            return;
        }
        drop_oldest(l);
    }
}

size_t seglog_snapshot(struct seglog *l, struct segment ***out)
{
    pthread_mutex_lock(&l->lock);
    size_t n = l->segment_count;
    *out = xcalloc(n, sizeof(struct segment *));
    for (size_t i = 0; i < n; i++) {
        (*out)[i] = segment_ref(l->segments[n - 1 - i]);
    }
    pthread_mutex_unlock(&l->lock);
    return n;
}

struct sqlc_conn *reader_conn(struct reader *r, struct segment *s)
{
    size_t at = 0;
    for (size_t i = 0; i < OPEN_MOST; i++) {
        if (r->open[i].s && r->open[i].s != s && atomic_load(&r->open[i].s->doomed)) {
            sqlc_conn_free(r->open[i].c);
            segment_unref(r->open[i].s);
            r->open[i].s = NULL;
            r->open[i].c = NULL;
            r->open[i].used = 0;
        }
        if (r->open[i].s == s) {
            r->open[i].used = ++r->clock;
            return r->open[i].c;
        }
        if (r->open[i].used < r->open[at].used) {
            at = i;
        }
    }
    struct sqlc_conn *c;
    struct err err = {0};
    if (sqlc_conn_open(s->path, SQLC_READ, false, 512, &c, &err)) {
        log_line(LOG_ERROR, "a log segment cannot be read", lz("file", s->path), lz("error", err.text));
        return NULL;
    }
    sqlc_conn_free(r->open[at].c);
    segment_unref(r->open[at].s);
    r->open[at].s = segment_ref(s);
    r->open[at].c = c;
    r->open[at].used = ++r->clock;
    return c;
}
