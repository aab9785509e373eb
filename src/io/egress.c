/* The ranges that tenant-given hosts must not lead to, and the judgement of translated forms by the address inside.
 * Ranges: IANA special-purpose registries (RFC 6890 and its successors). SPDX-License-Identifier: Apache-2.0 */
#include "io/egress.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct range {
    int family;
    uint8_t addr[16];
    unsigned bits;
};

struct egress {
    bool any;
    struct range *allow;
    size_t allow_count;
};

static const struct {
    const char *cidr, *what;
} blocked[] = {
    {"0.0.0.0/8", "this network"},
    {"10.0.0.0/8", "private"},
    {"100.64.0.0/10", "carrier-grade NAT"},
    {"127.0.0.0/8", "loopback"},
    {"169.254.0.0/16", "link-local, metadata"},
    {"172.16.0.0/12", "private"},
    {"192.0.0.0/24", "protocol assignments"},
    {"192.0.2.0/24", "documentation"},
    {"192.88.99.0/24", "6to4 relay"},
    {"192.168.0.0/16", "private"},
    {"198.18.0.0/15", "benchmarking"},
    {"198.51.100.0/24", "documentation"},
    {"203.0.113.0/24", "documentation"},
    {"224.0.0.0/4", "multicast"},
    {"240.0.0.0/4", "reserved, broadcast"},
    {"::/128", "unspecified"},
    {"::1/128", "loopback"},
    {"100::/64", "discard"},
    {"2001:db8::/32", "documentation"},
    {"3fff::/20", "documentation"},
    {"5f00::/16", "segment routing"},
    {"fc00::/7", "unique-local"},
    {"fe80::/10", "link-local"},
    {"fec0::/10", "site-local"},
    {"ff00::/8", "multicast"},
};

/* IPv6 forms that carry an IPv4 address: refused as such, unless the allow list holds the form or the inner address. */
static const struct {
    const char *cidr, *what;
    int inner_at; /* byte offset of the IPv4 address */
    bool inverted;
} translated[] = {
    {"::ffff:0:0/96", "IPv4-mapped", 12, false},
    {"::ffff:0:0:0/96", "IPv4-translated", 12, false},
    {"64:ff9b::/96", "NAT64", 12, false},
    {"64:ff9b:1::/48", "NAT64", 12, false},
    {"2001::/32", "Teredo", 12, true},
    {"2002::/16", "6to4", 2, false},
    {"::/96", "IPv4-compatible", 12, false},
};

static bool parse_range(const char *text, struct range *out)
{
    char host[64];
    const char *slash = strchr(text, '/');
    size_t n = slash ? (size_t)(slash - text) : strlen(text);
    if (n >= sizeof(host)) {
        return false;
    }
    memcpy(host, text, n);
    host[n] = '\0';
    *out = (struct range){0};
    out->family = strchr(host, ':') ? AF_INET6 : AF_INET;
    if (inet_pton(out->family, host, out->addr) != 1) {
        return false;
    }
    unsigned most = out->family == AF_INET ? 32 : 128;
    uint64_t bits = most;
    if (slash && (!str_to_u64(str_z(slash + 1), &bits) || bits > most)) {
        return false;
    }
    out->bits = (unsigned)bits;
    return true;
}

static bool in_range(const struct range *r, int family, const uint8_t *addr)
{
    if (r->family != family) {
        return false;
    }
    unsigned bytes = r->bits / 8, rest = r->bits % 8;
    if (memcmp(r->addr, addr, bytes)) {
        return false;
    }
    return rest == 0 || ((r->addr[bytes] ^ addr[bytes]) >> (8 - rest)) == 0;
}

enum ec egress_new(struct str policy, struct str allow, struct egress **out, struct err *err)
{
    bool any = str_eqz(policy, "any");
    if (!any && !str_eqz(policy, "public")) {
        return err_set(err, EC_INVALID, "EGRESS_POLICY must be public or any, not \"%.*s\"", STR_ARG(policy));
    }
    struct egress *e = xcalloc(1, sizeof(*e));
    e->any = any;
    struct str item;
    if (!allow.n) {
        allow = STR_NULL;
    }
    while (str_split(&allow, ',', &item)) {
        item = str_trim(item);
        if (!item.n) {
            continue;
        }
        char text[80];
        snprintf(text, sizeof(text), "%.*s", STR_ARG(item));
        e->allow = xrealloc(e->allow, (e->allow_count + 1) * sizeof(*e->allow));
        if (!parse_range(text, &e->allow[e->allow_count++])) {
            egress_free(e);
            return err_set(err, EC_INVALID, "EGRESS_ALLOW: \"%s\" is not an address range (CIDR)", text);
        }
    }
    *out = e;
    return EC_OK;
}

void egress_free(struct egress *e)
{
    if (e) {
        free(e->allow);
        free(e);
    }
}

static bool allowed(const struct egress *e, int family, const uint8_t *addr)
{
    for (size_t i = 0; i < e->allow_count; i++) {
        if (in_range(&e->allow[i], family, addr)) {
            return true;
        }
    }
    return false;
}

static enum ec refuse(struct err *err, int family, const uint8_t *addr, const char *cidr, const char *what)
{
    char text[INET6_ADDRSTRLEN];
    inet_ntop(family, addr, text, sizeof(text));
    return err_set(err, EC_DENIED, "address %s is in the blocked range %s (%s); EGRESS_ALLOW can open it", text, cidr, what);
}

static enum ec check_plain(const struct egress *e, int family, const uint8_t *addr, struct err *err)
{
    if (allowed(e, family, addr)) {
        return EC_OK;
    }
    for (size_t i = 0; i < ARRAY_LEN(blocked); i++) {
        struct range r;
        if (parse_range(blocked[i].cidr, &r) && in_range(&r, family, addr)) {
            return refuse(err, family, addr, blocked[i].cidr, blocked[i].what);
        }
    }
    return EC_OK;
}

static enum ec check_six(const struct egress *e, const uint8_t *addr, struct err *err)
{
    if (allowed(e, AF_INET6, addr)) {
        return EC_OK;
    }
    enum ec ec = check_plain(e, AF_INET6, addr, err);
    for (size_t i = 0; !ec && i < ARRAY_LEN(translated); i++) {
        struct range r;
        if (!parse_range(translated[i].cidr, &r) || !in_range(&r, AF_INET6, addr)) {
            continue;
        }
        uint8_t inner[4];
        for (int k = 0; k < 4; k++) {
            inner[k] = addr[translated[i].inner_at + k] ^ (translated[i].inverted ? 0xff : 0);
        }
        if (!allowed(e, AF_INET, inner)) {
            return refuse(err, AF_INET6, addr, translated[i].cidr, translated[i].what);
        }
        return EC_OK;
    }
    return ec;
}

enum ec egress_check(const struct egress *e, const struct sockaddr *sa, struct err *err)
{
    if (!e || e->any) {
        return EC_OK;
    }
    if (sa->sa_family == AF_INET) {
        return check_plain(e, AF_INET, (const uint8_t *)&((const struct sockaddr_in *)(const void *)sa)->sin_addr, err);
    }
    if (sa->sa_family == AF_INET6) {
        return check_six(e, ((const struct sockaddr_in6 *)(const void *)sa)->sin6_addr.s6_addr, err);
    }
    return err_set(err, EC_DENIED, "addresses of family %d are not dialled", sa->sa_family);
}
