/* Webhook settings: the names of the four system headers and what may not be empty (spec
 * operations.md 4.2 S9 to S11, destinations.md 4.2 and 4.3), and what an address must look like.
 * Templates are parsed by the webhook types themselves. SPDX-License-Identifier: Apache-2.0 */
#include "config/config_priv.h"

static const struct header {
    const char *label, *key, *old_env, *new_env;
} headers[HEADER_COUNT] = {
    [HEADER_EVENT_ID] = {"event ID", "event-id",
                         "DESTINATIONS_WEBHOOK_DISABLE_DEFAULT_EVENT_ID_HEADER",
                         "DESTINATIONS_WEBHOOK_EVENT_ID_HEADER_NAME"},
    [HEADER_SIGNATURE] = {"signature", "signature",
                          "DESTINATIONS_WEBHOOK_DISABLE_DEFAULT_SIGNATURE_HEADER",
                          "DESTINATIONS_WEBHOOK_SIGNATURE_HEADER_NAME"},
    [HEADER_TIMESTAMP] = {"timestamp", "timestamp",
                          "DESTINATIONS_WEBHOOK_DISABLE_DEFAULT_TIMESTAMP_HEADER",
                          "DESTINATIONS_WEBHOOK_TIMESTAMP_HEADER_NAME"},
    [HEADER_TOPIC] = {"topic", "topic", "DESTINATIONS_WEBHOOK_DISABLE_DEFAULT_TOPIC_HEADER",
                      "DESTINATIONS_WEBHOOK_TOPIC_HEADER_NAME"},
};

static const struct config_opt *name_of(const struct config *c, enum config_header h)
{
    const struct config_opt *const names[HEADER_COUNT] = {
        &c->webhook_event_id_header, &c->webhook_signature_header, &c->webhook_timestamp_header,
        &c->webhook_topic_header};
    return names[h];
}

static bool is_disabled_the_old_way(const struct config *c, enum config_header h)
{
    const bool off[HEADER_COUNT] = {c->webhook_no_event_id, c->webhook_no_signature,
                                    c->webhook_no_timestamp, c->webhook_no_topic};
    return off[h];
}

static bool is_header_name(struct str s)
{
    bool good = s.n > 0 && s.p[0] != '-' && s.p[0] != '_';
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        good &= (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                c == '-' || c == '_';
    }
    return good;
}

static bool is_reserved(struct str s)
{
    static const char *const names[] = {"content-type", "content-length", "host", "connection",
                                        "user-agent"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq_ci(s, str_z(names[i]))) {
            return true;
        }
    }
    return false;
}

void resolve_webhook(struct config *c)
{
    struct config_derived *d = &c->derived;
    d->webhook_standard = str_eqz(c->webhook_mode, "standard");
    d->webhook_prefix = c->webhook_prefix.n   ? arena_copy(&c->arena, str_trim(c->webhook_prefix))
                        : d->webhook_standard ? STR("webhook-")
                                              : STR("x-outpost-");
    for (enum config_header h = 0; h < HEADER_COUNT; h++) {
        const struct config_opt *name = name_of(c, h);
        d->webhook_header[h] =
            name->is_set ? arena_copy(&c->arena, str_trim(name->text))
            : is_disabled_the_old_way(c, h)
                ? STR("")
                : arena_printf(&c->arena, "%.*s%s", STR_ARG(d->webhook_prefix), headers[h].key);
    }
}

static enum ec check_pinned(const struct config *c, enum config_header h, struct config_report *r)
{
    struct str name = str_trim(name_of(c, h)->text);
    CLEANUP(buf_fini) struct buf quoted;
    buf_init(&quoted, 600);
    quote_add(&quoted, name);
    if (!name.n) {
        return EC_OK;
    }
    if (!is_header_name(name)) {
        return config_refuse(r, headers[h].new_env,
                             "invalid %s header name %s: must match ^[a-zA-Z0-9][a-zA-Z0-9_-]*$",
                             headers[h].label, buf_z(&quoted));
    }
    if (is_reserved(name)) {
        return config_refuse(r, headers[h].new_env, "invalid %s header name %s: reserved header",
                             headers[h].label, buf_z(&quoted));
    }
    return EC_OK;
}

static enum ec check_distinct(const struct config *c, struct config_report *r)
{
    const struct str *names = c->derived.webhook_header;
    for (enum config_header b = 1; b < HEADER_COUNT; b++) {
        for (enum config_header a = 0; a < b; a++) {
            if (!names[a].n || !str_eq_ci(names[a], names[b])) {
                continue;
            }
            char lower[100];
            size_t n = MIN(names[a].n, sizeof(lower) - 1);
            for (size_t i = 0; i < n; i++) {
                char ch = names[a].p[i];
                lower[i] = ch >= 'A' && ch <= 'Z' ? (char)(ch | 0x20) : ch;
            }
            lower[n] = '\0';
            return config_refuse(r, headers[b].new_env,
                                 "%s and %s headers resolve to the same name \"%s\"; pin distinct "
                                 "names or disable one",
                                 headers[a].label, headers[b].label, lower);
        }
    }
    return EC_OK;
}

static enum ec check_signature(const struct config *c, struct config_report *r)
{
    const struct {
        struct str value;
        const char *what, *env;
    } needed[] = {
        {c->webhook_encoding, "signature encoding", "DESTINATIONS_WEBHOOK_SIGNATURE_ENCODING"},
        {c->webhook_algorithm, "signature algorithm", "DESTINATIONS_WEBHOOK_SIGNATURE_ALGORITHM"},
        {c->webhook_content_template, "signature content template",
         "DESTINATIONS_WEBHOOK_SIGNATURE_CONTENT_TEMPLATE"},
        {c->webhook_header_template, "signature header template",
         "DESTINATIONS_WEBHOOK_SIGNATURE_HEADER_TEMPLATE"},
        {c->webhook_secret_template, "signing secret template",
         "DESTINATIONS_WEBHOOK_SIGNING_SECRET_TEMPLATE"},
    };
    for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
        if (!needed[i].value.n) {
            return config_refuse(r, needed[i].env, "%s is required", needed[i].what);
        }
    }
    return EC_OK;
}

static void warn_old_names(struct config *c)
{
    for (enum config_header h = 0; h < HEADER_COUNT; h++) {
        if (is_disabled_the_old_way(c, h)) {
            config_warn(c,
                        "%s is deprecated and will be removed in a future version. Set %s to an "
                        "empty string to disable the header instead.",
                        headers[h].old_env, headers[h].new_env);
        }
    }
}

enum ec check_webhook(struct config *c, struct config_report *r)
{
    warn_old_names(c);
    if (c->derived.service == SERVICE_LOG) {
        return EC_OK; /* no destinations are built there */
    }
    enum ec ec = c->derived.webhook_standard ? EC_OK : check_signature(c, r);
    for (enum config_header h = 0; !ec && !c->derived.webhook_standard && h < HEADER_COUNT; h++) {
        ec = check_pinned(c, h, r);
    }
    if (!ec && !c->derived.webhook_standard) {
        ec = check_distinct(c, r);
    }
    const char *fault = url_fault(c->webhook_proxy);
    if (!ec && fault) {
        ec = config_refuse(r, "DESTINATIONS_WEBHOOK_PROXY_URL", "invalid proxy URL: %s", fault);
    }
    return ec;
}

static const char *port_fault(struct str authority)
{
    size_t colon = authority.n;
    while (colon > 0 && authority.p[colon - 1] != ':' && authority.p[colon - 1] != ']' &&
           authority.p[colon - 1] != '@') {
        colon--;
    }
    if (colon == 0 || authority.p[colon - 1] != ':') {
        return NULL;
    }
    for (size_t i = colon; i < authority.n; i++) {
        if (authority.p[i] < '0' || authority.p[i] > '9') {
            return "the port is no number";
        }
    }
    return NULL;
}

static const char *authority_fault(struct str rest)
{
    size_t n = 0;
    while (n < rest.n && !strchr("/?#", rest.p[n])) {
        n++;
    }
    struct str authority = str_sub(rest, 0, n);
    size_t open;
    if (str_find(authority, STR("["), &open) &&
        !str_find(str_sub(authority, open, n), STR("]"), &open)) {
        return "missing ']' in host";
    }
    for (size_t i = 0; i < n; i++) {
        if (strchr(" \"<>\\^`{|}", authority.p[i])) {
            return "invalid character in host name";
        }
    }
    return port_fault(authority);
}

/* As lenient as Go's parser, whose verdict the settings have always had. "" is fine. */
const char *url_fault(struct str url)
{
    bool in_path = true;
    for (size_t i = 0; i < url.n; i++) {
        unsigned char c = (unsigned char)url.p[i];
        in_path &= c != '?';
        if (c < 0x20 || c == 0x7f) {
            return "invalid control character in URL";
        }
        if (c == '%' && in_path &&
            (i + 2 >= url.n || str_hex_value(url.p[i + 1]) < 0 ||
             str_hex_value(url.p[i + 2]) < 0)) {
            return "invalid URL escape";
        }
    }
    size_t n = 0;
    while (n < url.n && !strchr(":/?#", url.p[n])) {
        n++;
    }
    if (n == url.n || url.p[n] != ':') {
        return str_starts(url, STR("//")) ? authority_fault(str_sub(url, 2, url.n)) : NULL;
    }
    if (n == 0) {
        return "missing protocol scheme";
    }
    for (size_t i = 0; i < n; i++) {
        char c = url.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && (i == 0 || !strchr("0123456789+-.", c))) {
            return "first path segment in URL cannot contain colon";
        }
    }
    return str_starts(str_sub(url, n + 1, url.n), STR("//"))
               ? authority_fault(str_sub(url, n + 3, url.n))
               : NULL;
}
