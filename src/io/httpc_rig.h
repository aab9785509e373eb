/* What the tests of the HTTP client share: a client on a loop thread of its own, asked from the
 * test thread, and a server on loopback that misbehaves as the path says. Not included by anything
 * but httpc_*test.c. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_IO_HTTPC_RIG_H
#define OUTRIDER_IO_HTTPC_RIG_H

#include <pthread.h>

#include "io/httpc.h"

/* ---- the client's side ---- */
struct httpc_rig {
    struct io *io;
    struct httpc *client;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};
void httpc_rig_open(struct httpc_rig *r, const struct httpc_conf *conf);
void httpc_rig_close(struct httpc_rig *r);
/* On the loop's thread; waits until it has run. */
void httpc_rig_call(struct httpc_rig *r, void (*fn)(void *arg), void *arg);

struct ask {
    struct httpc_req rq; /* fields in: filled by the test */
    struct httpc_rig *rig;
    unsigned done; /* how often, under rig->lock */
    char url[256];
};
/* A POST of "hello" to http://HOST:PORT/PATH with a deadline from now. */
void ask_init(struct ask *a, struct httpc_rig *r, nsec_t within, const char *fmt, ...) PRINTF(4, 5);
void ask_send(struct ask *a);
void ask_wait(struct ask *a); /* aborts the test after 20 s */
void ask_fini(struct ask *a);
static inline void ask_run(struct ask *a)
{
    ask_send(a);
    ask_wait(a);
}

/* ---- the server's side ---- */
struct sink;
struct sink *sink_open(void); /* 127.0.0.1, any port */
void sink_close(struct sink *s);
int sink_port(const struct sink *s);
unsigned sink_accepts(const struct sink *s);
unsigned sink_requests(const struct sink *s);

/* A port of 127.0.0.1 where nobody listens. */
int closed_port(void);

#endif
