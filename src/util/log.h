/* Log lines: JSON objects on stdout-or-stderr (pretty on a terminal), written whole by one write(2)
 * each. Fields are typed; there is no way to pass a struct secret. Inner rooms do not log above
 * debug: the room that handles the error logs it, once. Any thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_UTIL_LOG_H
#define OUTRIDER_UTIL_LOG_H

#include "util/err.h"
#include "util/str.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
enum log_format { LOG_FORMAT_JSON, LOG_FORMAT_PRETTY };

struct log_field {
    const char *key; /* NULL: field is left out */
    enum { LOG_STR, LOG_INT, LOG_BOOL, LOG_RAW_JSON } type;
    struct str s;
    int64_t i;
};

static inline struct log_field ls(const char *key, struct str v)
{
    return (struct log_field){key, LOG_STR, v, 0};
}
static inline struct log_field lz(const char *key, const char *v)
{
    return (struct log_field){key, LOG_STR, str_z(v), 0};
}
static inline struct log_field li(const char *key, int64_t v)
{
    return (struct log_field){key, LOG_INT, STR_NULL, v};
}
/* json: a JSON text, written as it is. */
static inline struct log_field lj(const char *key, struct str json)
{
    return (struct log_field){key, LOG_RAW_JSON, json, 0};
}
static inline struct log_field lb(const char *key, bool v)
{
    return (struct log_field){key, LOG_BOOL, STR_NULL, v};
}

/* Where lines go (a descriptor), the least level written, the form. Before this: info, JSON,
 * stderr. */
void log_setup(int fd, enum log_level least, enum log_format format);
bool log_on(enum log_level level);
/* log_line(LOG_INFO, "event received", ls("event_id", id), li("bytes", n)); at most 24 fields. Text
 * fields are cut at 2 KiB. */
struct log_at {
    enum log_level level;
    const char *where; /* "path/file.c:12" */
};
void log_fields(const struct log_at *at, const char *msg, const struct log_field *fields,
                size_t count);
#define LOG_LINE_TEXT_(n) #n
#define LOG_LINE_TEXT(n) LOG_LINE_TEXT_(n)
#define log_line(level, msg, ...)                                                                  \
    do {                                                                                           \
        if (log_on(level)) {                                                                       \
            const struct log_field fields_[] = {(struct log_field){0}, ##__VA_ARGS__};             \
            const struct log_at at_ = {(level), __FILE__ ":" LOG_LINE_TEXT(__LINE__)};             \
            log_fields(&at_, msg, fields_ + 1, ARRAY_LEN(fields_) - 1);                            \
        }                                                                                          \
    } while (0)

#endif
