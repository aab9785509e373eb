/* Times as Go's layouts spell them. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <time.h>

#include "dest/shared/template_priv.h"

static struct tm broken_down(const struct value *t, int64_t *out_fraction)
{
    int64_t rest = t->i % USEC_PER_SEC;
    time_t s = (time_t)(t->i / USEC_PER_SEC - (rest < 0));
    struct tm tm = {0};
    *out_fraction = rest < 0 ? rest + USEC_PER_SEC : rest;
    if (t->utc) {
        gmtime_r(&s, &tm);
    } else {
        localtime_r(&s, &tm);
    }
    return tm;
}

int64_t template_time_part(const struct value *t, char part)
{
    int64_t fraction;
    struct tm tm = broken_down(t, &fraction);
    switch (part) {
    case 'Y':
        return tm.tm_year + 1900;
    case 'D':
        return tm.tm_mday;
    case 'h':
        return tm.tm_hour;
    case 'm':
        return tm.tm_min;
    default:
        return tm.tm_sec;
    }
}

/* How many digits the fraction has, zeros behind cut when the layout has nines. */
static size_t add_fraction(struct buf *b, struct str layout, int64_t usec)
{
    size_t digits = 0;
    char kind = layout.n > 1 ? layout.p[1] : ' ', text[16];
    while (digits + 1 < layout.n && layout.p[digits + 1] == kind) {
        digits++;
    }
    bool more = digits + 1 < layout.n && layout.p[digits + 1] >= '0' && layout.p[digits + 1] <= '9';
    if ((kind != '0' && kind != '9') || more || digits > 9) {
        return 0;
    }
    struct buf f = {.p = text, .cap = sizeof(text) - 1, .max = sizeof(text) - 1};
    buf_addf(&f, "%06d000", (int)usec);
    size_t n = digits;
    while (kind == '9' && n && text[n - 1] == '0') {
        n--;
    }
    if (n) {
        buf_addc(b, layout.p[0]);
        buf_add(b, text, n);
    }
    return digits + 1;
}

static void add_zone(struct buf *b, long offset, bool z, bool colon, bool minutes)
{
    if (z && offset == 0) {
        buf_addc(b, 'Z');
        return;
    }
    long m = labs(offset) / 60;
    buf_addf(b, "%c%02ld", offset < 0 ? '-' : '+', m / 60);
    if (minutes) {
        buf_addf(b, "%s%02ld", colon ? ":" : "", m % 60);
    }
}

enum part { P_STRF, P_ZONE, P_DAY_BLANK, P_NUMBER, P_HALF };

/* Longest first where one begins another. */
static const struct part_row {
    const char *layout;
    enum part part;
    const char *how; /* STRF: strftime's; ZONE: flags of Z, colon, minutes; NUMBER: strftime's
                        without leading zeros */
} parts[] = {
    {"January", P_STRF, "%B"}, {"Jan", P_STRF, "%b"},     {"Monday", P_STRF, "%A"},
    {"Mon", P_STRF, "%a"},     {"MST", P_STRF, "%Z"},     {"2006", P_STRF, "%Y"},
    {"002", P_STRF, "%j"},     {"01", P_STRF, "%m"},      {"02", P_STRF, "%d"},
    {"03", P_STRF, "%I"},      {"04", P_STRF, "%M"},      {"05", P_STRF, "%S"},
    {"06", P_STRF, "%y"},      {"15", P_STRF, "%H"},      {"PM", P_HALF, "AMPM"},
    {"pm", P_HALF, "ampm"},    {"Z07:00", P_ZONE, "Zcm"}, {"Z0700", P_ZONE, "Z m"},
    {"Z07", P_ZONE, "Z  "},    {"-07:00", P_ZONE, " cm"}, {"-0700", P_ZONE, "  m"},
    {"-07", P_ZONE, "   "},    {"_2", P_DAY_BLANK, "%e"}, {"1", P_NUMBER, "%m"},
    {"2", P_NUMBER, "%d"},     {"3", P_NUMBER, "%I"},     {"4", P_NUMBER, "%M"},
    {"5", P_NUMBER, "%S"},
};

static const struct part_row *part_at(struct str layout)
{
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (str_starts(layout, str_z(parts[i].layout))) {
            return &parts[i];
        }
    }
    return NULL;
}

static void add_strftime(struct buf *b, const char *how, const struct tm *tm, bool number)
{
    char text[64];
    const char fmt[] = {how[0], how[1], '\0'};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    size_t n = strftime(text, sizeof(text), fmt, tm);
#pragma GCC diagnostic pop
    size_t skip = number && n > 1 && text[0] == '0' ? 1 : 0;
    buf_add(b, text + skip, n - skip);
}

static void add_part(struct buf *b, const struct part_row *p, const struct tm *tm, bool utc)
{
    if (p->part == P_ZONE) {
        add_zone(b, tm->tm_gmtoff, p->how[0] == 'Z', p->how[1] == 'c', p->how[2] == 'm');
    } else if (p->part == P_HALF) {
        buf_add(b, p->how + (tm->tm_hour >= 12 ? 2 : 0), 2);
    } else if (utc && strcmp(p->how, "%Z") == 0) {
        buf_addz(b, "UTC");
    } else {
        add_strftime(b, p->how, tm, p->part == P_NUMBER);
    }
}

void template_time_add(struct buf *b, const struct value *t, struct str layout)
{
    int64_t usec;
    struct tm tm = broken_down(t, &usec);
    while (layout.n) {
        size_t used = layout.p[0] == '.' || layout.p[0] == ',' ? add_fraction(b, layout, usec) : 0;
        const struct part_row *p = used ? NULL : part_at(layout);
        if (p) {
            add_part(b, p, &tm, t->utc);
            used = strlen(p->layout);
        } else if (!used) {
            buf_addc(b, layout.p[0]);
            used = 1;
        }
        layout = str_sub(layout, used, layout.n);
    }
}
