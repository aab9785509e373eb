/* Error texts, the last words of a bug, memory that never fails. Not for logging (log.c): what is
 * printed here is followed by abort. Contracts: err.h, attr.h. SPDX-License-Identifier: Apache-2.0
 */
#include "util/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum ec err_set(struct err *err, enum ec code, const char *fmt, ...)
{
    if (err) {
        err->code = code;
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(err->text, sizeof(err->text), fmt, ap);
        va_end(ap);
        for (char *p = err->text; *p; p++) {
            if ((unsigned char)*p < 0x20) {
                *p = ' ';
            }
        }
    }
    return code;
}

const char *ec_name(enum ec code)
{
    switch (code) {
    case EC_OK:
        return "ok";
    case EC_INVALID:
        return "invalid";
    case EC_NOT_FOUND:
        return "not_found";
    case EC_CONFLICT:
        return "conflict";
    case EC_LIMIT:
        return "limit";
    case EC_DENIED:
        return "denied";
    case EC_TIMEOUT:
        return "timeout";
    case EC_UNAVAILABLE:
        return "unavailable";
    case EC_CANCELED:
        return "canceled";
    case EC_CORRUPT:
        return "corrupt";
    case EC_INTERNAL:
        return "internal";
    }
    return "unknown";
}

void unreachable_at(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: reached what cannot be: %s\n", file, line, what);
    abort();
}

static void *or_stop(void *p)
{
    if (!p) {
        static const char text[] = "out of memory\n";
        fwrite(text, 1, sizeof(text) - 1, stderr);
        abort();
    }
    return p;
}

void *xmalloc(size_t n)
{
    return or_stop(malloc(n ? n : 1));
}

void *xcalloc(size_t count, size_t size)
{
    return or_stop(calloc(count ? count : 1, size ? size : 1));
}

void *xrealloc(void *p, size_t n)
{
    return or_stop(realloc(p, n ? n : 1));
}

char *xstrdup(const char *s)
{
    return or_stop(strdup(s));
}
