/* Start order and stop order, as two readable lists. SPDX-License-Identifier: Apache-2.0 */
#include "app/app.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/app_priv.h"
#include "queue/embedded.h"
#include "util/log.h"

#define STOP_MOST (15 * NSEC_PER_SEC)
#define FILES_WANTED 65536

static char *in_data_dir(struct app *a, const char *name)
{
    return arena_z(&a->config->arena, arena_printf(&a->config->arena, "%.*s/%s", STR_ARG(a->config->data_dir), name));
}

static enum ec lock_data_dir(struct app *a, struct err *err)
{
    char *path = in_data_dir(a, "lock");
    a->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (a->lock_fd < 0) {
        return err_set(err, EC_UNAVAILABLE, "cannot open %s: %s", path, strerror(errno));
    }
    if (flock(a->lock_fd, LOCK_EX | LOCK_NB)) {
        return err_set(err, EC_CONFLICT, "the data folder %.*s is in use by another process", STR_ARG(a->config->data_dir));
    }
    return EC_OK;
}

static enum ec open_stores(struct app *a, struct err *err)
{
    struct store_conf sc = {.path = in_data_dir(a, "state.db"), .encryption_key = &a->config->aes_secret, .sync_full = true};
    struct queue_conf qc = {.path = in_data_dir(a, "queue.db"), .sync_full = true, .backlog_max = (uint64_t)a->config->backlog_max};
    struct logstore_conf lc = {
        .path = in_data_dir(a, "log"),
        .sync_full = true,
        .retention_days = a->config->log_retention_days,
        .retention_bytes = a->config->log_retention_bytes,
    };
    enum ec ec = store_open(&store_sqlite, &sc, &a->store, err);
    ec = ec ? ec : queue_open(&queue_embedded, &qc, &a->queue, err);
    ec = ec ? ec : logstore_open(&logstore_sqlite, &lc, &a->log, err);
    a->api.store = a->publisher.store = a->store;
    a->api.queue = a->publisher.queue = a->queue;
    a->api.log = a->publisher.log = a->log;
    return ec;
}

/* Deliveries to thousands of slow receivers need as many descriptors. */
static void raise_file_limit(struct app *a)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < FILES_WANTED) {
        r.rlim_cur = MIN((rlim_t)FILES_WANTED, r.rlim_max);
        setrlimit(RLIMIT_NOFILE, &r);
        if (r.rlim_cur < (rlim_t)a->config->delivery_slow_max + 1024) {
            log_line(LOG_WARN, "few file descriptors: fewer attempts can be under way than DELIVERY_SLOW_MAX allows",
                     li("descriptors", (int64_t)r.rlim_cur));
        }
    }
}

static void block_signals(sigset_t *stop)
{
    sigemptyset(stop);
    sigaddset(stop, SIGTERM);
    sigaddset(stop, SIGINT);
    pthread_sigmask(SIG_BLOCK, stop, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static void say_hello(struct app *a, bool first_start)
{
    const struct config *c = a->config;
    for (size_t i = 0; i < c->unknown.n; i++) {
        log_line(LOG_WARN, "unknown key in the configuration file", ls("key", c->unknown.v[i]), ls("file", c->file));
    }
    if (str_eqz(c->api_auth, "none")) {
        log_line(LOG_WARN, "API_AUTH=none: everybody who reaches this port is admin");
    }
    if (c->dev_mode) {
        log_line(LOG_WARN, "DEV_MODE: receivers on loopback addresses are allowed", ls("egress_allow", c->egress_allow));
    }
    log_line(LOG_INFO, "outrider is ready", lz("version", OUTRIDER_VERSION), li("port", a->port), ls("data_dir", c->data_dir));
    if (!first_start && !c->dev_mode) {
        return;
    }
    struct str key = secret_reveal(&c->api_key);
    if (first_start) {
        printf("\nThis is the first start. The admin key, shown once (kept in %.*s/api_key):\n\n    %.*s\n", STR_ARG(c->data_dir), STR_ARG(key));
    }
    printf("\nTry it. In another terminal start a receiver:\n\n    build/outrider listen\n\nthen make a tenant, add a destination, publish:\n\n"
           "    export KEY=$(cat %.*s/api_key) API=http://127.0.0.1:%d/api/v1\n"
           "    curl -X PUT $API/tenants/acme -H \"Authorization: Bearer $KEY\"\n"
           "    curl $API/tenants/acme/destinations -H \"Authorization: Bearer $KEY\" -d '{\"type\":\"webhook\",\"topics\":\"*\",\"config\":{\"url\":\"http://127.0.0.1:8080/\"}}'\n"
           "    curl $API/publish -H \"Authorization: Bearer $KEY\" -d '{\"tenant_id\":\"acme\",\"topic\":\"user.created\",\"data\":{\"hello\":\"world\"}}'\n\n",
           STR_ARG(c->data_dir), a->port);
    fflush(stdout);
}

static enum ec start(struct app *a, struct err *err)
{
    enum ec ec = lock_data_dir(a, err);
    ec = ec ? ec : app_settings(a, err);
    ec = ec ? ec : open_stores(a, err);
    return ec ? ec : workers_start(a, err);
}

/* Stop taking work, finish what is in flight, record it, then close; all within STOP_MOST. */
static void stop(struct app *a)
{
    nsec_t until = mono_now() + STOP_MOST;
    log_line(LOG_INFO, "shutdown signal received");
    queue_pause(a->queue);
    bool clean = workers_stop_accepting(a, until - 5 * NSEC_PER_SEC);
    clean &= workers_stop_delivering(a, until - 2 * NSEC_PER_SEC);
    clean &= workers_flush_log(a, until);
    workers_end(a);
    logstore_close(a->log);
    queue_close(a->queue);
    store_close(a->store);
    for (size_t i = 0; i < a->worker_count; i++) {
        deliver_free(a->workers[i].deliver);
    }
    record_free(a->record);
    log_line(clean ? LOG_INFO : LOG_WARN, "outrider has stopped", lb("clean", clean));
}

int app_run(struct config *config, bool first_start)
{
    struct app *a = xcalloc(1, sizeof(*a));
    struct err err = {0};
    sigset_t signals;
    a->config = config;
    prctl(PR_SET_DUMPABLE, 0); /* secrets are in memory: no core file */
    block_signals(&signals);
    raise_file_limit(a);
    if (start(a, &err)) {
        fprintf(stderr, "outrider: %s\n", err.text);
        return 1;
    }
    say_hello(a, first_start);
    int signal_number;
    sigwait(&signals, &signal_number);
    stop(a);
    return 0;
}
