/* Which addresses tenant-given hosts may lead to: judged on the address actually dialled, after
 * name resolution. Policy `public` refuses loopback, private, link-local, metadata, multicast,
 * unspecified, documentation, benchmarking, carrier-grade NAT, IPv4-mapped, IPv4-compatible, NAT64,
 * 6to4, Teredo and unique-local addresses unless a range of the allow list holds them; forms that
 * carry an IPv4 address are judged by the address inside too. Not for names: nothing is resolved
 * here. Pure, any thread. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_IO_EGRESS_H
#define OUTRIDER_IO_EGRESS_H

#include <sys/socket.h>

#include "util/err.h"
#include "util/str.h"

struct egress;

/* policy: "public" or "any"; allow: comma-separated CIDR, may be "". EC_INVALID names the bad part.
 * An allowed IPv4 range also opens its IPv4-mapped, IPv4-compatible, NAT64 and 6to4 spellings. An
 * allowed IPv6 range as wide as one of these forms or wider opens those whose inner address is
 * public or allowed itself; a narrower one opens what it names. */
enum ec egress_new(struct str policy, struct str allow, struct egress **out,
                   struct err *err) MUST_CHECK;
void egress_free(struct egress *e);
/* EC_OK or EC_DENIED; err then says e.g. "address 127.0.0.1 is in the blocked range 127.0.0.0/8
 * (loopback); EGRESS_ALLOW can open it". e NULL: every address is fine. */
enum ec egress_check(const struct egress *e, const struct sockaddr *sa, struct err *err) MUST_CHECK;

#endif
