/* Start-up checks of what an operator sets for webhooks: signing templates, header names, the
 * proxy. Not for a destination's own config: that is dest_validate. Order and words:
 * destinations.md 4.2. SPDX-License-Identifier: Apache-2.0 */
#include "dest/shared/template.h"
#include "dest/shared/url.h"
#include "dest/shared/webhook.h"

#define NAME_FORM "^[a-zA-Z0-9][a-zA-Z0-9_-]*$"
#define SHOWN_MOST ((size_t)80) /* bytes of a template in a message */

struct header_name {
    const char *label, *key;
    struct str name; /* resolved; "" = off */
};

/* In quotes, escaped. */
static struct str quoted(struct str s, struct arena *a)
{
    CLEANUP(buf_fini) struct buf b;
    buf_init(&b, SHOWN_MOST * 8);
    json_add_string(&b, str_sub(s, 0, SHOWN_MOST), false);
    return arena_copy(a, buf_str(&b));
}

static bool is_pinned(const struct dest_conf *conf, const struct header_name *h)
{
    size_t n = conf->header_prefix.n;
    return !str_starts(h->name, conf->header_prefix) ||
           !str_eqz(str_sub(h->name, n, h->name.n), h->key);
}

static enum ec check_pinned(const struct dest_conf *conf, const struct header_name *h,
                            struct arena *a, struct err *err)
{
    if (h->name.n == 0 || !is_pinned(conf, h)) {
        return EC_OK;
    }
    if (!webhook_name_is_plain(h->name)) {
        return err_set(err, EC_INVALID, "invalid %s header name %.*s: must match " NAME_FORM,
                       h->label, STR_ARG(quoted(h->name, a)));
    }
    if (webhook_name_is_reserved(h->name)) {
        return err_set(err, EC_INVALID, "invalid %s header name %.*s: reserved header", h->label,
                       STR_ARG(quoted(h->name, a)));
    }
    return EC_OK;
}

static enum ec check_distinct(const struct header_name *names, size_t count, struct arena *a,
                              struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (names[i].name.n && str_eq_ci(names[i].name, names[k].name)) {
                return err_set(err, EC_INVALID,
                               "%s and %s headers resolve to the same name %.*s; pin distinct "
                               "names or disable one",
                               names[k].label, names[i].label,
                               STR_ARG(quoted(webhook_lower(a, names[i].name), a)));
            }
        }
    }
    return EC_OK;
}

static enum ec check_names(const struct dest_conf *conf, struct arena *a, struct err *err)
{
    const struct header_name names[] = {
        {"event ID", "event-id", conf->event_id_header},
        {"signature", "signature", conf->signature_header},
        {"timestamp", "timestamp", conf->timestamp_header},
        {"topic", "topic", conf->topic_header},
    };
    enum ec ec = EC_OK;
    for (size_t i = 0; !ec && i < ARRAY_LEN(names); i++) {
        ec = check_pinned(conf, &names[i], a, err);
    }
    return ec ? ec : check_distinct(names, ARRAY_LEN(names), a, err);
}

static enum ec check_templates(const struct dest_conf *conf, struct arena *a, struct err *err)
{
    const struct {
        const char *label;
        struct str text;
    } v[] = {
        [TEMPLATE_CONTENT] = {"signature content template", conf->content_template},
        [TEMPLATE_HEADER] = {"signature header template", conf->header_template},
        [TEMPLATE_SECRET] = {"signing secret template", conf->secret_template},
    };
    for (size_t i = 0; i < ARRAY_LEN(v); i++) {
        struct template *t = NULL;
        struct err why = {0};
        if (template_new(v[i].text, (enum template_kind)i, &t, &why)) {
            return err_set(err, EC_INVALID, "invalid %s %.*s: %s", v[i].label,
                           STR_ARG(quoted(v[i].text, a)), why.text);
        }
        template_free(t);
    }
    return EC_OK;
}

static enum ec check_present(const struct dest_conf *conf, struct err *err)
{
    const char *missing = conf->content_template.n == 0  ? "signature content template"
                          : conf->header_template.n == 0 ? "signature header template"
                          : conf->secret_template.n == 0 ? "signing secret template"
                                                         : NULL;
    return missing ? err_set(err, EC_INVALID, "%s is required", missing) : EC_OK;
}

/* Without the URL in the words: it may hold a password. */
static enum ec check_proxy(const struct dest_conf *conf, struct arena *a, struct err *err)
{
    struct target_url unused;
    size_t at;
    bool bad = conf->proxy_url.n && str_find(conf->proxy_url, STR("://"), &at) &&
               !target_url_parse(conf->proxy_url, a, &unused);
    return bad ? err_set(err, EC_INVALID, "invalid proxy URL: it does not parse") : EC_OK;
}

enum ec dest_conf_check(const struct dest_conf *conf, struct err *err)
{
    CLEANUP(arena_fini) struct arena a;
    arena_init(&a);
    enum ec ec = EC_OK;
    if (!conf->webhook_standard) {
        ec = check_present(conf, err);
        ec = ec ? ec : check_names(conf, &a, err);
        ec = ec ? ec : check_templates(conf, &a, err);
    }
    return ec ? ec : check_proxy(conf, &a, err);
}
