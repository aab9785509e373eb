/* The peers that httpc_peer_rig.h names. SPDX-License-Identifier: Apache-2.0 */
#include "io/httpc_peer_rig.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/err.h"

#define CONNS_MOST 64

struct visit {
    struct peer *peer;
    pthread_t thread;
    atomic_int fd;
};

struct peer {
    enum peer_mode mode;
    SSL_CTX *tls;
    int listener, port;
    pthread_t thread;
    atomic_uint accepts;
    struct visit visits[CONNS_MOST];
};

static EVP_PKEY *key;
static X509 *cert;
static char ca_file[64];

static void add_extension(int nid, const char *value)
{
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    X509_add_ext(cert, e, -1);
    X509_EXTENSION_free(e);
}

static void make_cert(void)
{
    key = EVP_EC_gen("P-256");
    cert = X509_new();
    X509_set_version(cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_set_pubkey(cert, key);
    X509_NAME *name = X509_get_subject_name(cert);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"peer", -1, -1, 0);
    X509_set_issuer_name(cert, name);
    add_extension(NID_basic_constraints, "critical,CA:TRUE");
    add_extension(NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    X509_sign(cert, key, EVP_sha256());
    strcpy(ca_file, "/tmp/outrider-peer-XXXXXX");
    FILE *f = fdopen(mkstemp(ca_file), "w");
    if (!f || !PEM_write_X509(f, cert) || fclose(f)) {
        UNREACHABLE("no certificate for the test");
    }
}

const char *peer_ca_file(void)
{
    if (!cert) {
        make_cert();
    }
    return ca_file;
}

void peer_ca_remove(void)
{
    if (cert) {
        unlink(ca_file);
        X509_free(cert);
        EVP_PKEY_free(key);
        cert = NULL;
    }
}

static void say(int fd, const char *text)
{
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0) {
        return; /* the client left */
    }
}

static void serve_tls(struct visit *v)
{
    SSL *ssl = SSL_new(v->peer->tls);
    SSL_set_fd(ssl, v->fd);
    const char *answer = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntls";
    char in[4096];
    if (SSL_accept(ssl) == 1) {
        while (SSL_read(ssl, in, sizeof(in)) > 0) {
            SSL_write(ssl, answer, (int)strlen(answer));
        }
    }
    SSL_free(ssl);
}

/* Bytes up to an empty line; n of them, 0 when the client left. */
static size_t read_head(int fd, char *in, size_t most)
{
    size_t n = 0;
    while (n < most - 1) {
        ssize_t got = recv(fd, in + n, most - 1 - n, 0);
        if (got <= 0) {
            return 0;
        }
        n += (size_t)got;
        in[n] = '\0';
        if (strstr(in, "\r\n\r\n")) {
            return n;
        }
    }
    return 0;
}

static void serve_proxy(struct visit *v)
{
    char in[4096], out[4200];
    size_t n;
    while ((n = read_head(v->fd, in, sizeof(in)))) {
        bool tunnel = strncmp(in, "CONNECT ", 8) == 0;
        if (v->peer->mode == PEER_PROXY_CLOSE) {
            return;
        }
        if (v->peer->mode == PEER_PROXY_407) {
            say(v->fd, "HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n");
        } else if (v->peer->mode == PEER_PROXY_503) {
            say(v->fd, "HTTP/1.1 503 Away\r\nx-envoy-response-flags: UF\r\n"
                       "Content-Length: 4\r\n\r\naway");
        } else if (tunnel) {
            say(v->fd, "HTTP/1.1 200 Tunnel\r\nX-Tunnel: 1\r\n\r\n");
            serve_tls(v);
            return;
        } else {
            snprintf(out, sizeof(out), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s", n, in);
            say(v->fd, out);
        }
    }
}

/* RFC 1928: greeting, then a request whose address must be a name: those are the proxy's. */
static void serve_socks(struct visit *v)
{
    unsigned char in[512];
    if (recv(v->fd, in, sizeof(in), 0) < 3 || send(v->fd, "\5\0", 2, MSG_NOSIGNAL) < 2 ||
        recv(v->fd, in, sizeof(in), 0) < 10) {
        return;
    }
    unsigned char out[10] = {5, 1, 0, 1};
    bool named = in[3] == 3;
    out[1] = v->peer->mode == PEER_SOCKS_REFUSED && named ? 5 : 1;
    if (send(v->fd, out, sizeof(out), MSG_NOSIGNAL) > 0 && recv(v->fd, in, sizeof(in), 0) > 0) {
        return;
    }
}

static void serve(struct visit *v)
{
    char in[4096];
    switch (v->peer->mode) {
    case PEER_TLS:
    case PEER_TLS_ALERT:
        serve_tls(v);
        return;
    case PEER_PROXY:
    case PEER_PROXY_407:
    case PEER_PROXY_503:
    case PEER_PROXY_CLOSE:
        serve_proxy(v);
        return;
    case PEER_SOCKS_REFUSED:
    case PEER_SOCKS_GENERAL:
        serve_socks(v);
        return;
    case PEER_CLEAR:
    case PEER_GARBAGE:
    case PEER_HELLO_CLOSE:
    case PEER_HELLO_RESET:
        break;
    }
    if (recv(v->fd, in, sizeof(in), 0) <= 0) {
        return;
    }
    if (v->peer->mode == PEER_CLEAR) {
        say(v->fd, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    } else if (v->peer->mode == PEER_GARBAGE) {
        say(v->fd, "220 mail.invalid ESMTP ready\r\n");
    } else if (v->peer->mode == PEER_HELLO_RESET) {
        struct linger now = {.l_onoff = 1, .l_linger = 0};
        setsockopt(v->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        close(v->fd);
        v->fd = -1;
    }
}

static void *visit_thread(void *arg)
{
    struct visit *v = arg;
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE); /* OpenSSL writes to clients that have left */
    pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    serve(v);
    if (v->fd >= 0) {
        shutdown(v->fd, SHUT_RDWR); /* closed by peer_close, which may still use the number */
    }
    return NULL;
}

static void *peer_thread(void *arg)
{
    struct peer *p = arg;
    for (unsigned n = 0; n < CONNS_MOST; n++) {
        int fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0) {
            break;
        }
        p->visits[n].peer = p;
        p->visits[n].fd = fd;
        pthread_create(&p->visits[n].thread, NULL, visit_thread, &p->visits[n]);
        atomic_fetch_add(&p->accepts, 1);
    }
    return NULL;
}

static void open_tls(struct peer *p)
{
    peer_ca_file();
    p->tls = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(p->tls, cert);
    SSL_CTX_use_PrivateKey(p->tls, key);
    if (p->mode == PEER_TLS_ALERT) {
        SSL_CTX_set_verify(p->tls, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
}

struct peer *peer_open(enum peer_mode mode)
{
    struct peer *p = xcalloc(1, sizeof(*p));
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(sa);
    p->mode = mode;
    open_tls(p);
    p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (p->listener < 0 || bind(p->listener, (struct sockaddr *)&sa, n) ||
        listen(p->listener, 64) || getsockname(p->listener, (struct sockaddr *)&sa, &n)) {
        UNREACHABLE("no port on loopback");
    }
    p->port = ntohs(sa.sin_port);
    pthread_create(&p->thread, NULL, peer_thread, p);
    return p;
}

void peer_close(struct peer *p)
{
    shutdown(p->listener, SHUT_RDWR);
    pthread_join(p->thread, NULL);
    close(p->listener);
    for (unsigned i = 0; i < atomic_load(&p->accepts); i++) {
        if (p->visits[i].fd >= 0) {
            shutdown(p->visits[i].fd, SHUT_RDWR);
        }
        pthread_join(p->visits[i].thread, NULL);
        if (p->visits[i].fd >= 0) {
            close(p->visits[i].fd);
        }
    }
    SSL_CTX_free(p->tls);
    free(p);
}

int peer_port(const struct peer *p)
{
    return p->port;
}

unsigned peer_accepts(const struct peer *p)
{
    return atomic_load(&p->accepts);
}
