/* Log lines, one write each: {"level","ts","caller","msg","host.name", fields}. ts is Unix seconds,
 * caller the folder, file and line. Nothing is sampled. What to log and when is decided by the
 * rooms above. Contract: log.h. SPDX-License-Identifier: Apache-2.0 */
#include "util/log.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "util/json.h"
#include "util/time.h"

#define FIELD_MOST 2048
#define LINE_MOST 65536

static atomic_int log_fd = 2;
static atomic_int log_least = LOG_INFO;
static atomic_int log_form = LOG_FORMAT_JSON;

static char host_name[256];

static const char *const level_names[] = {"debug", "info", "warn", "error"};

static void read_host_name(void)
{
    if (gethostname(host_name, sizeof(host_name) - 1) != 0 || !host_name[0]) {
        strcpy(host_name, "unknown");
    }
}

void log_setup(int fd, enum log_level least, enum log_format format)
{
    atomic_store(&log_fd, fd);
    atomic_store(&log_least, (int)least);
    atomic_store(&log_form, (int)format);
}

bool log_on(enum log_level level)
{
    return (int)level >= atomic_load_explicit(&log_least, memory_order_relaxed);
}

static void add_value(struct buf *b, const struct log_field *f)
{
    switch (f->type) {
    case LOG_STR:
        json_add_string(b, str_sub(f->s, 0, FIELD_MOST), false);
        break;
    case LOG_INT:
        buf_addi(b, f->i);
        break;
    case LOG_BOOL:
        buf_addz(b, f->i ? "true" : "false");
        break;
    case LOG_RAW_JSON:
        buf_adds(b, f->s);
        break;
    }
}

/* The last folder, the file and the line of a path as the compiler saw it. */
static struct str short_path(const char *where)
{
    size_t slashes = 0;
    struct str s = str_z(where);
    for (size_t i = s.n; i-- > 0;) {
        if (s.p[i] == '/' && ++slashes == 2) {
            return str_sub(s, i + 1, s.n);
        }
    }
    return s;
}

static void add_json(struct buf *b, const struct log_at *at, const char *msg,
                     const struct log_field *fields, size_t n)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_host_name);
    buf_addz(b, "{\"level\":\"");
    buf_addz(b, level_names[at->level]);
    usec_t now = wall_now();
    buf_addf(b, "\",\"ts\":%lld.%06lld,\"caller\":", (long long)(now / USEC_PER_SEC),
             (long long)(now % USEC_PER_SEC));
    json_add_string(b, short_path(at->where), false);
    buf_addz(b, ",\"msg\":");
    json_add_string(b, str_z(msg), false);
    buf_addz(b, ",\"host.name\":");
    json_add_string(b, str_z(host_name), false);
    for (size_t i = 0; i < n; i++) {
        if (fields[i].key) {
            buf_addc(b, ',');
            json_add_string(b, str_z(fields[i].key), false);
            buf_addc(b, ':');
            add_value(b, &fields[i]);
        }
    }
    buf_addz(b, "}\n");
}

static void add_pretty(struct buf *b, enum log_level level, const char *msg,
                       const struct log_field *fields, size_t n)
{
    static const char *const colors[] = {"\033[2m", "\033[32m", "\033[33m", "\033[31m"};
    char t[TIME_TEXT_MAX];
    struct str now = time_text(t, wall_now() / USEC_PER_MSEC * USEC_PER_MSEC);
    buf_adds(b, str_sub(now, 11, 8));
    buf_addf(b, " %s%-5s\033[0m %s", colors[level], level_names[level], msg);
    for (size_t i = 0; i < n; i++) {
        if (fields[i].key) {
            buf_addf(b, " \033[2m%s=\033[0m", fields[i].key);
            add_value(b, &fields[i]);
        }
    }
    buf_addc(b, '\n');
}

void log_fields(const struct log_at *at, const char *msg, const struct log_field *fields,
                size_t count)
{
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, LINE_MOST);
    if (atomic_load(&log_form) == LOG_FORMAT_PRETTY) {
        add_pretty(&b, at->level, msg, fields, count);
    } else {
        add_json(&b, at, msg, fields, count);
    }
    if (b.over) {
        buf_reset(&b);
        add_json(&b, at, msg, NULL, 0);
    }
    /* A log that cannot be written (closed pipe, full disk) must not stop the server. */
    ssize_t done = write(atomic_load(&log_fd), b.p, b.n);
    (void)done;
}
