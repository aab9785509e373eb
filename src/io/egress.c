/* The ranges that tenant-given hosts must not lead to, and the judgement of forms that carry an
 * IPv4 address. Ranges: IANA special-purpose registries (RFC 6890 and its successors). Who asks and
 * when: httpc_setup.c. SPDX-License-Identifier: Apache-2.0 */
#include "io/egress.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>

struct range {
    int family;
    uint8_t addr[16];
    unsigned bits;
};

static const struct {
    const char *cidr, *what;
} plain[] = {
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
    {"2001:2::/48", "benchmarking"},
    {"2001:10::/28", "ORCHID"},
    {"2001:20::/28", "ORCHID"},
    {"2001:db8::/32", "documentation"},
    {"3fff::/20", "documentation"},
    {"5f00::/16", "segment routing"},
    {"fc00::/7", "unique-local"},
    {"fe80::/10", "link-local"},
    {"fec0::/10", "site-local"},
    {"ff00::/8", "multicast"},
};

/* IPv6 forms that carry an IPv4 address. `opens`: an allowed inner address is enough; not so where
 * the place of the inner address is the network's choice (local NAT64) or not the peer's (Teredo).
 */
static const struct {
    const char *cidr, *what;
    uint8_t inner_at; /* byte offset of the IPv4 address */
    bool inverted, opens;
} forms[] = {
    {"::ffff:0:0/96", "IPv4-mapped", 12, false, true},
    {"::ffff:0:0:0/96", "IPv4-translated", 12, false, true},
    {"64:ff9b::/96", "NAT64", 12, false, true},
    {"64:ff9b:1::/48", "local NAT64", 12, false, false},
    {"2001::/32", "Teredo", 12, true, false},
    {"2002::/16", "6to4", 2, false, true},
    {"::/96", "IPv4-compatible", 12, false, true},
};

struct egress {
    bool any;
    struct range *allow;
    size_t allow_count;
    struct range plain[ARRAY_LEN(plain)], forms[ARRAY_LEN(forms)];
};

static bool parse_bits(struct str text, unsigned most, unsigned *out)
{
    uint64_t bits;
    if (text.n == 0 || text.n > 3 || !str_to_u64(text, &bits) || bits > most) {
        return false;
    }
    *out = (unsigned)bits;
    return true;
}

static bool parse_range(struct str text, struct range *out)
{
    struct str host;
    char z[INET6_ADDRSTRLEN];
    bool has_bits = str_find(text, STR("/"), &(size_t){0});
    if (!str_split(&text, '/', &host) || host.n >= sizeof(z) || memchr(host.p, '\0', host.n)) {
        return false;
    }
    memcpy(z, host.p, host.n);
    z[host.n] = '\0';
    *out = (struct range){.family = strchr(z, ':') ? AF_INET6 : AF_INET};
    unsigned most = out->family == AF_INET ? 32 : 128;
    out->bits = most;
    return inet_pton(out->family, z, out->addr) == 1 &&
           (!has_bits || parse_bits(text, most, &out->bits));
}

static bool in_range(const struct range *r, int family, const uint8_t *addr)
{
    unsigned bytes = r->bits / 8, rest = r->bits % 8;
    return r->family == family && memcmp(r->addr, addr, bytes) == 0 &&
           (rest == 0 || ((r->addr[bytes] ^ addr[bytes]) >> (8 - rest)) == 0);
}

static void parse_tables(struct egress *e)
{
    for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
        if (!parse_range(str_z(plain[i].cidr), &e->plain[i])) {
            UNREACHABLE(plain[i].cidr);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        if (!parse_range(str_z(forms[i].cidr), &e->forms[i])) {
            UNREACHABLE(forms[i].cidr);
        }
    }
}

enum ec egress_new(struct str policy, struct str allow, struct egress **out, struct err *err)
{
    bool any = str_eqz(policy, "any");
    if (!any && !str_eqz(policy, "public")) {
        return err_set(err, EC_INVALID, "EGRESS_POLICY must be public or any, not \"%.*s\"",
                       (int)MIN(policy.n, 80), policy.n ? policy.p : "");
    }
    struct egress *e = xcalloc(1, sizeof(*e));
    e->any = any;
    parse_tables(e);
    struct str item;
    while (allow.n && str_split(&allow, ',', &item)) {
        item = str_trim(item);
        if (item.n == 0) {
            continue;
        }
        e->allow = xrealloc(e->allow, (e->allow_count + 1) * sizeof(*e->allow));
        if (!parse_range(item, &e->allow[e->allow_count++])) {
            egress_free(e);
            return err_set(err, EC_INVALID, "EGRESS_ALLOW: \"%.*s\" is not an address range (CIDR)",
                           (int)MIN(item.n, 80), item.p);
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

/* The allowed range with the longest prefix that holds addr, NULL if there is none. */
static const struct range *allowed(const struct egress *e, int family, const uint8_t *addr)
{
    const struct range *best = NULL;
    for (size_t i = 0; i < e->allow_count; i++) {
        const struct range *r = &e->allow[i];
        if (in_range(r, family, addr) && (!best || r->bits > best->bits)) {
            best = r;
        }
    }
    return best;
}

static enum ec refuse(struct err *err, int family, const uint8_t *addr, const char *cidr,
                      const char *what)
{
    char text[INET6_ADDRSTRLEN] = "";
    inet_ntop(family, addr, text, sizeof(text));
    return err_set(err, EC_DENIED,
                   "address %s is in the blocked range %s (%s); EGRESS_ALLOW can open it", text,
                   cidr, what);
}

static enum ec check_plain(const struct egress *e, int family, const uint8_t *addr, struct err *err)
{
    if (allowed(e, family, addr)) {
        return EC_OK;
    }
    for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
        if (in_range(&e->plain[i], family, addr)) {
            return refuse(err, family, addr, plain[i].cidr, plain[i].what);
        }
    }
    return EC_OK;
}

static enum ec check_form(const struct egress *e, size_t form, const uint8_t *addr, struct err *err)
{
    uint8_t inner[4];
    for (size_t k = 0; k < sizeof(inner); k++) {
        inner[k] = addr[forms[form].inner_at + k] ^ (forms[form].inverted ? 0xff : 0);
    }
    const struct range *r = allowed(e, AF_INET6, addr);
    if (r && r->bits > e->forms[form].bits) {
        return EC_OK; /* names inner addresses, not the form */
    }
    if (r) {
        return check_plain(e, AF_INET, inner, err);
    }
    if (forms[form].opens && allowed(e, AF_INET, inner)) {
        return EC_OK;
    }
    return refuse(err, AF_INET6, addr, forms[form].cidr, forms[form].what);
}

static enum ec check_six(const struct egress *e, const uint8_t *addr, struct err *err)
{
    static const uint8_t none[15];
    if (memcmp(addr, none, sizeof(none)) == 0 && addr[15] <= 1) {
        return check_plain(e, AF_INET6, addr, err); /* :: and ::1 lie within ::/96 */
    }
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        if (in_range(&e->forms[i], AF_INET6, addr)) {
            return check_form(e, i, addr, err);
        }
    }
    return check_plain(e, AF_INET6, addr, err);
}

enum ec egress_check(const struct egress *e, const struct sockaddr *sa, struct err *err)
{
    if (!e || e->any) {
        return EC_OK;
    }
    const void *p = sa;
    if (sa->sa_family == AF_INET) {
        struct sockaddr_in a;
        memcpy(&a, p, sizeof(a));
        return check_plain(e, AF_INET, (const uint8_t *)&a.sin_addr, err);
    }
    if (sa->sa_family == AF_INET6) {
        struct sockaddr_in6 a;
        memcpy(&a, p, sizeof(a));
        return check_six(e, a.sin6_addr.s6_addr, err);
    }
    return err_set(err, EC_DENIED, "addresses of family %d are not dialled", sa->sa_family);
}
