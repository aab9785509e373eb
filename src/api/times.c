/* What a client is told about a time that does not parse (api.md 4.4). SPDX-License-Identifier: Apache-2.0 */
#include "api/call.h"

#define LAYOUT "2006-01-02T15:04:05Z07:00"

static bool all_digits(struct str s, size_t from, size_t n)
{
    for (size_t i = from; i < from + n; i++) {
        if (i >= s.n || s.p[i] < '0' || s.p[i] > '9') {
            return false;
        }
    }
    return true;
}

/* The part of the layout where the text stops to follow it, and the text from there on. */
static struct str where(struct call *c, struct str t)
{
    static const struct {
        size_t at, digits;
        const char *part;
        char then;
        const char *then_part;
    } steps[] = {
        {0, 4, "2006", '-', "-"}, {5, 2, "01", '-', "-"}, {8, 2, "02", 'T', "T"}, {11, 2, "15", ':', ":"}, {14, 2, "04", ':', ":"}, {17, 2, "05", 0, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        if (!all_digits(t, steps[i].at, steps[i].digits)) {
            return arena_printf(c->a, "cannot parse \"%.*s\" as \"%s\"", STR_ARG(str_sub(t, steps[i].at, t.n)), steps[i].part);
        }
        size_t behind = steps[i].at + steps[i].digits;
        if (steps[i].then && (behind >= t.n || t.p[behind] != steps[i].then)) {
            return arena_printf(c->a, "cannot parse \"%.*s\" as \"%s\"", STR_ARG(str_sub(t, behind, t.n)), steps[i].then_part);
        }
    }
    return arena_printf(c->a, "cannot parse \"%.*s\" as \"Z07:00\"", STR_ARG(str_sub(t, 19, t.n)));
}

static int two(struct str t, size_t at)
{
    return (t.p[at] - '0') * 10 + t.p[at + 1] - '0';
}

struct str api_time_error(struct call *c, struct json v)
{
    if (v.type != JSON_STRING) {
        return STR("Time.UnmarshalJSON: input is not a JSON string");
    }
    struct str t = json_text(v, c->a);
    usec_t ignored;
    if (time_parse(t, &ignored, NULL)) {
        return STR("");
    }
    if (t.n >= 19 && all_digits(t, 5, 2) && (two(t, 5) < 1 || two(t, 5) > 12)) {
        return arena_printf(c->a, "parsing time \"%.*s\": month out of range", STR_ARG(t));
    }
    if (t.n >= 20 && all_digits(t, 8, 2) && all_digits(t, 11, 2) && all_digits(t, 14, 2) && all_digits(t, 17, 2)) {
        const char *what = two(t, 11) > 23   ? "hour"
                           : two(t, 14) > 59 ? "minute"
                           : two(t, 17) > 59 ? "second"
                           : t.p[10] == 'T'  ? "day"
                                             : NULL;
        struct str head = arena_printf(c->a, "%.*sT00:00:00Z", STR_ARG(str_sub(t, 0, 10)));
        bool day = !time_parse(head, &ignored, NULL);
        if (what && (day || two(t, 11) > 23 || two(t, 14) > 59 || two(t, 17) > 59)) {
            return arena_printf(c->a, "parsing time \"%.*s\": %s out of range", STR_ARG(t), day ? "day" : what);
        }
    }
    return arena_printf(c->a, "parsing time \"%.*s\" as \"" LAYOUT "\": %.*s", STR_ARG(t), STR_ARG(where(c, t)));
}

struct str api_time_normal(struct call *c, struct str t)
{
    usec_t at;
    if (!time_parse(t, &at, NULL)) {
        return t;
    }
    bool short_hour = t.p[12] == ':';
    size_t clock = short_hour ? 18 : 19, digits = clock + 1, end = digits;
    while (end < t.n && t.p[end] >= '0' && t.p[end] <= '9') {
        end++;
    }
    bool fraction = t.p[clock] == '.' || t.p[clock] == ',';
    size_t kept = fraction ? MIN(end - digits, (size_t)9) : 0;
    while (kept && t.p[digits + kept - 1] == '0') {
        kept--;
    }
    struct str zone = str_sub(t, fraction ? end : clock, t.n);
    if (str_eqz(zone, "+00:00") || str_eqz(zone, "-00:00")) {
        zone = STR("Z");
    }
    return arena_printf(c->a, "%.*s%s%.*s%s%.*s%.*s", 11, t.p, short_hour ? "0" : "", (int)(clock - 11), t.p + 11, kept ? "." : "",
                        (int)kept, t.p + digits, STR_ARG(zone));
}
