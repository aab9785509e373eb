/* What the tests of the HTTP server share: a server on a loop thread of its own whose answer
 * depends on the path, and a client of raw bytes. Not included by anything but httpd_*test.c.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_IO_HTTPD_RIG_H
#define OUTRIDER_IO_HTTPD_RIG_H

#include <pthread.h>
#include <stdatomic.h>

#include "io/httpd.h"

/* Paths: /later answers a few turns later, /hold when the client is gone or httpd_rig_release or
 * /free says so, /big with HTTPD_RIG_BIG bytes, /close closes, /204 says 204 with a body, /inject
 * has line ends in header values, /peer tells the client's address. All others: 200 and "METHOD
 * path?query [body]". */
#define HTTPD_RIG_BIG (32u << 20)

struct httpd_rig {
    struct io *io;
    struct httpd *httpd;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct list held; /* of the loop's thread */
    char *big;
    atomic_uint requests, gone, refused;
};

void httpd_rig_open(struct httpd_rig *r, const struct httpd_conf *conf);
void httpd_rig_close(struct httpd_rig *r);
void httpd_rig_stop(struct httpd_rig *r); /* httpd_stop */
void httpd_rig_release(struct httpd_rig *r);
unsigned httpd_rig_busy(struct httpd_rig *r);
bool httpd_rig_reaches(atomic_uint *counter, unsigned n); /* within 5 s */

/* ---- the client's side: sockets that give up after 5 s ---- */
int wire_dial(const struct httpd_rig *r);
void wire_send(int fd, struct str bytes); /* whole; errors of a peer that closed are ignored */
/* Everything until the peer closes, at most max bytes; false when it does not close in time. */
bool wire_read_all(int fd, struct buf *out);
bool wire_is_closed(int fd, nsec_t within); /* without a byte before it */

struct wire_reply {
    int status;
    struct str head, body; /* in the buffer given */
};
/* Takes one reply off the front of *rest; no_body for HEAD. False when there is no whole one. */
bool wire_reply(struct str *rest, bool no_body, struct wire_reply *out);
bool wire_has(struct str text, const char *part);
/* Reads until one reply is whole; the buffer holds what came. */
bool wire_read_reply(int fd, struct buf *in, struct wire_reply *out);
int wire_ask(const struct httpd_rig *r, const char *text); /* dials and sends */
bool wire_serves(int fd);                                  /* one more request is answered */

#endif
