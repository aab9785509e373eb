/* URLs of webhooks. The rules of what parses and how a path is spelled are those that receivers
 * know from Outpost; the query is sent byte for byte. SPDX-License-Identifier: Apache-2.0 */
#include "dest/shared/url.h"

#include "util/query.h"

static bool alnum(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Letters, digits and -_.~ never need an escape. */
static bool is_plain(char c, const char *also)
{
    return alnum(c) || (c && (strchr("-_.~", c) || strchr(also, c)));
}

/* Each byte plain or the start of a good %XX; *out_odd: some byte is neither allowed here nor an
 * escape. */
static bool escapes_are_good(struct str s, const char *also, bool *out_odd)
{
    *out_odd = false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '%') {
            if (i + 2 >= s.n || str_hex_value(s.p[i + 1]) < 0 || str_hex_value(s.p[i + 2]) < 0) {
                return false;
            }
            i += 2;
        } else if (!is_plain(s.p[i], also)) {
            *out_odd = true;
        }
    }
    return true;
}

/* s up to the first of the stops, the rest behind. */
static struct str take_until(struct str *s, const char *stops)
{
    size_t n = 0;
    while (n < s->n && (s->p[n] == '\0' || !strchr(stops, s->p[n]))) {
        n++;
    }
    struct str head = str_sub(*s, 0, n);
    *s = str_sub(*s, n, s->n);
    return head;
}

static bool take_user(struct str *authority, struct arena *a, struct str *out)
{
    size_t at = authority->n;
    while (at > 0 && authority->p[at - 1] != '@') {
        at--;
    }
    *out = STR_NULL;
    if (at == 0) {
        return true;
    }
    struct str raw = str_sub(*authority, 0, at - 1), user;
    *authority = str_sub(*authority, at, authority->n);
    bool odd;
    if (!escapes_are_good(raw, ":!$&'()*+,;=@", &odd) || odd || !percent_decode(raw, a, &user)) {
        return false;
    }
    bool password = raw.n && memchr(raw.p, ':', raw.n);
    *out = arena_printf(a, "%.*s%s", STR_ARG(user), password ? "" : ":");
    return true;
}

static bool port_is_good(struct str s)
{
    for (size_t i = 1; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9') {
            return false;
        }
    }
    return s.n == 0 || s.p[0] == ':';
}

/* Escapes stand only for bytes beyond ASCII. */
static bool name_is_good(struct str s)
{
    bool odd;
    if (!escapes_are_good(s, "!$&'()*+,;=:[]<>\"", &odd)) {
        return false;
    }
    for (size_t i = 0; i < s.n; i++) {
        bool low = s.p[i] == '%' && str_hex_value(s.p[i + 1]) < 8;
        if (low || ((unsigned char)s.p[i] < 0x80 && s.p[i] != '%' &&
                    !is_plain(s.p[i], "!$&'()*+,;=:[]<>\""))) {
            return false;
        }
    }
    return true;
}

static bool host_is_good(struct str host)
{
    size_t colon = host.n;
    if (host.n && host.p[0] == '[') {
        size_t close;
        return str_find(host, STR("]"), &close) && port_is_good(str_sub(host, close + 1, host.n));
    }
    for (size_t i = 0; i < host.n; i++) {
        colon = host.p[i] == ':' ? i : colon;
    }
    return name_is_good(str_sub(host, 0, colon)) && port_is_good(str_sub(host, colon, host.n));
}

/* As written when every byte may stand in a path; else decoded and encoded as a whole. */
static bool spell_path(struct str path, struct arena *a, struct str *out)
{
    bool odd;
    struct str plain;
    *out = path;
    if (!escapes_are_good(path, "!$&'()*+,;=:@[]/", &odd)) {
        return false;
    }
    if (!odd) {
        return true;
    }
    if (!percent_decode(path, a, &plain)) {
        return false;
    }
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, plain.n * 3 + 1);
    percent_add(&b, plain, "$&+,/:;=@");
    *out = arena_copy(a, buf_str(&b));
    return true;
}

static bool has_control(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f) {
            return true;
        }
    }
    return false;
}

bool target_url_parse(struct str text, struct arena *a, struct target_url *out)
{
    size_t scheme;
    bool odd;
    if (has_control(text) || !str_find(text, STR("://"), &scheme)) {
        return false;
    }
    struct str rest = text;
    struct str before = take_until(&rest, "#");
    if (!escapes_are_good(rest, "", &odd)) {
        return false;
    }
    rest = str_sub(before, scheme + 3, before.n);
    struct str authority = take_until(&rest, "/?"), path = take_until(&rest, "?"), host = authority,
               spelled;
    if (!take_user(&host, a, &out->user) || !host_is_good(host) || !spell_path(path, a, &spelled)) {
        return false;
    }
    out->url = before;
    if (host.n != authority.n || spelled.p != path.p || path.n == 0) {
        out->url = arena_printf(a, "%.*s://%.*s%s%.*s%.*s", STR_ARG(str_sub(text, 0, scheme)),
                                STR_ARG(host), path.n ? "" : "/", STR_ARG(spelled), STR_ARG(rest));
    }
    return true;
}
