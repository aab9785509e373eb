/* Peers for the tests of the HTTP client beyond plain answers: TLS with a certificate of its own,
 * handshakes that go wrong, forward proxies. One thread per connection, loopback only. Not included
 * by anything but httpc_reach_test.c. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_IO_HTTPC_PEER_RIG_H
#define OUTRIDER_IO_HTTPC_PEER_RIG_H

#include "util/str.h"

enum peer_mode {
    PEER_TLS,           /* answers 200 "tls" until the client leaves */
    PEER_TLS_ALERT,     /* wants a client certificate */
    PEER_CLEAR,         /* answers anything with HTTP in the clear */
    PEER_GARBAGE,       /* answers anything with text that is neither */
    PEER_HELLO_CLOSE,   /* closes after the client's first bytes */
    PEER_HELLO_RESET,   /* resets after them */
    PEER_PROXY,         /* echoes forwarded requests; tunnels end in a PEER_TLS of its own */
    PEER_PROXY_407,     /* refuses: credentials */
    PEER_PROXY_503,     /* refuses: the upstream is away, with a header that says why */
    PEER_PROXY_CLOSE,   /* closes instead of answering */
    PEER_SOCKS_REFUSED, /* SOCKS5: the name given is at a refused port */
    PEER_SOCKS_GENERAL, /* SOCKS5: general failure */
};

struct peer;
struct peer *peer_open(enum peer_mode mode);
void peer_close(struct peer *p);
int peer_port(const struct peer *p);
unsigned peer_accepts(const struct peer *p);
/* PEM file with the certificate that all peers use: names localhost and 127.0.0.1. */
const char *peer_ca_file(void);
void peer_ca_remove(void);

#endif
