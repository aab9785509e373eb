/* The process as one struct, shared by app.c (order of start and stop), settings.c (configuration to the rooms' own confs) and
 * worker.c (threads). SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_APP_APP_PRIV_H
#define OUTRIDER_APP_APP_PRIV_H

#include <pthread.h>

#include "api/api.h"
#include "app/app.h"
#include "deliver/deliver.h"
#include "queue/embedded.h"
#include "record/record.h"

#define WORKERS_MOST 16

enum worker_kind { WORKER_API, WORKER_DELIVERY, WORKER_LOG };

struct app;
struct worker {
    enum worker_kind kind;
    struct app *app;
    struct io *io;
    pthread_t thread;
    bool started;
    struct httpd *httpd;       /* api */
    struct httpc *httpc;       /* delivery */
    struct dest_pool *dests;   /* delivery */
    struct deliver *deliver;   /* delivery */
    struct io_msg ask;         /* from the main thread: stop, close */
    struct op stopped;
    struct io_timer poll;
};

struct app {
    struct config *config;
    int lock_fd;
    struct egress *egress;
    struct dest_conf dest_conf;
    struct dest_registry *registry;
    struct store *store;
    struct queue *queue;
    struct logstore *log;
    struct publisher publisher;
    struct api api;
    struct deliver_conf deliver_conf;
    struct httpd_conf httpd_conf;
    struct record *record;
    struct worker workers[WORKERS_MOST];
    size_t worker_count;
    int port;                  /* the api's, once it listens */
    /* how many workers have answered the question of the moment; main waits for it */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t answered;
};

/* settings.c */
enum ec app_settings(struct app *a, struct err *err);
/* worker.c */
enum ec workers_start(struct app *a, struct err *err); /* makes loops and what lives on them, then the threads */
bool workers_stop_accepting(struct app *a, nsec_t until); /* false: requests were still open at the deadline */
bool workers_stop_delivering(struct app *a, nsec_t until);
bool workers_flush_log(struct app *a, nsec_t until);
void workers_end(struct app *a);

#endif
