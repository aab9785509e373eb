/* The life of a request: queued, given to curl at the end of the turn, completed once, by curl's
 * word, the guard timer, a cancel or the client's end. Handles are kept and used again. curl is
 * called from this thread only and never from within its own callbacks. What is sent:
 * httpc_setup.c; what comes back: httpc_answer.c. SPDX-License-Identifier: Apache-2.0 */
#include "io/httpc.h"

#include <pthread.h>
#include <stdlib.h>

#include "io/httpc_priv.h"

#define RESPONSE_KEPT 65536u
#define HEAD_KEPT 65536u
#define DEADLINE_DEFAULT (30 * NSEC_PER_SEC)
#define SPARE_MOST 1024
#define SPARE_LOOK 4 /* spare handles looked at for one that has the URL already */
#define CONNS_CACHED 4096

static struct transfer *transfer_new(struct httpc *c)
{
    struct transfer *t = xcalloc(1, sizeof(*t));
    t->client = c;
    t->easy = curl_easy_init();
    if (!t->easy) {
        UNREACHABLE("no memory for a curl handle");
    }
    list_init(&t->link);
    httpc_options(t);
    return t;
}

/* A handle that keeps its URL costs less than one that gets another. */
static struct transfer *transfer_take(struct httpc *c, struct str url)
{
    if (list_empty(&c->spare)) {
        return transfer_new(c);
    }
    struct list *best = c->spare.next, *l = best;
    for (int i = 0; i < SPARE_LOOK && l != &c->spare; i++, l = l->next) {
        if (str_eq(CONTAINER_OF(l, struct transfer, link)->url, url)) {
            best = l;
            break;
        }
    }
    list_del(best);
    c->spare_count--;
    return CONTAINER_OF(best, struct transfer, link);
}

static void transfer_free(struct transfer *t)
{
    curl_easy_cleanup(t->easy);
    httpc_set_up_free(t);
    free(t);
}

static void transfer_give(struct transfer *t)
{
    struct httpc *c = t->client;
    t->rq = NULL;
    if (c->spare_count >= SPARE_MOST || c->closing) {
        transfer_free(t);
        return;
    }
    list_push_front(&c->spare, &t->link);
    c->spare_count++;
}

/* The op's end; what the request is told has been written. */
static void complete(struct transfer *t)
{
    struct httpc_req *rq = t->rq;
    io_timer_clear(t->client->io, &t->guard);
    list_del(&t->link);
    if (t->canceled) {
        err_set(&rq->op.err, EC_CANCELED, "canceled");
    }
    rq->ended = mono_now();
    rq->impl = NULL;
    rq->op.cancel = NULL;
    transfer_give(t);
    op_complete(&rq->op);
}

static void finish(struct transfer *t, CURLcode rc)
{
    httpc_judge(t, rc); /* removing the handle wipes nothing, but ends what getinfo may say */
    if (t->added) {
        t->added = false;
        curl_multi_remove_handle(t->client->multi, t->easy);
    }
    complete(t);
}

void httpc_reap(struct httpc *c)
{
    CURLMsg *m;
    int left;
    while ((m = curl_multi_info_read(c->multi, &left))) {
        struct transfer *t = NULL;
        CURLcode rc = m->data.result;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &t);
        finish(t, rc);
    }
}

void httpc_on_guard(struct io_timer *timer)
{
    struct transfer *t = CONTAINER_OF(timer, struct transfer, guard);
    finish(t, CURLE_OPERATION_TIMEDOUT);
}

static void start(struct transfer *t)
{
    struct httpc_req *rq = t->rq;
    struct httpc *c = t->client;
    list_push(&c->active, &t->link);
    rq->started = mono_now();
    if (t->canceled) {
        complete(t);
        return;
    }
    enum httpc_fail fail = httpc_set_up(t);
    if (!fail && curl_multi_add_handle(c->multi, t->easy)) {
        fail = HTTPC_OTHER;
    }
    if (fail) {
        httpc_refuse(t, fail);
        complete(t);
        return;
    }
    t->added = true;
    io_timer_set(c->io, &t->guard, t->deadline, httpc_on_guard);
}

/* Also runs curl's own timer when it is due at once. */
static void on_kick(struct io_defer *d)
{
    struct httpc *c = CONTAINER_OF(d, struct httpc, kick);
    struct list *l;
    while ((l = list_pop(&c->queued))) {
        start(CONTAINER_OF(l, struct transfer, link));
    }
    int running;
    curl_multi_socket_action(c->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    httpc_reap(c);
}

static void on_cancel(struct op *op)
{
    struct httpc_req *rq = CONTAINER_OF(op, struct httpc_req, op);
    struct transfer *t = rq->impl;
    if (!t || t->canceled) {
        return;
    }
    t->canceled = true;
    if (t->added) {
        finish(t, CURLE_ABORTED_BY_CALLBACK);
    } /* else on_kick sees it */
}

static void transfer_reset(struct transfer *t)
{
    t->blocked.text[0] = t->error[0] = '\0';
    t->head_seen = t->trailer_seen = t->body_seen = 0;
    t->dialled = 0;
    t->was_blocked = t->no_socket = t->added = t->canceled = t->on_wire = false;
    t->in_head = t->final_head = t->bad_head = t->has_length = t->plain_http = false;
}

static void request_reset(struct httpc_req *rq)
{
    rq->op.err = (struct err){0};
    rq->op.cancel = on_cancel;
    rq->fail = HTTPC_OK;
    rq->fail_text[0] = '\0';
    rq->status = rq->proxy_status = 0;
    rq->reused = rq->truncated = false;
    rq->started = rq->ended = 0;
    buf_init(&rq->body_out, rq->max_response ? rq->max_response : RESPONSE_KEPT);
    buf_init(&rq->head_out, HEAD_KEPT);
}

void httpc_send(struct httpc *c, struct httpc_req *rq)
{
    struct transfer *t = transfer_take(c, rq->url);
    transfer_reset(t);
    request_reset(rq);
    t->rq = rq;
    t->deadline = rq->op.deadline ? rq->op.deadline : mono_now() + DEADLINE_DEFAULT;
    rq->impl = t;
    list_push(&c->queued, &t->link);
    io_defer(c->io, &c->kick);
}

void httpc_req_fini(struct httpc_req *rq)
{
    buf_fini(&rq->body_out);
    buf_fini(&rq->head_out);
}

static void global_init(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

static void client_free(struct httpc *c)
{
    if (c->multi) {
        curl_multi_cleanup(c->multi);
    }
    curl_share_cleanup(c->share);
    c->multi = NULL;
    c->share = NULL;
    free(c->user_agent);
    free(c->ca_file);
    list_del(&c->kick.link);
}

enum ec httpc_open(struct io *io, const struct httpc_conf *conf, struct httpc **out,
                   struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, global_init);
    struct httpc *c = xcalloc(1, sizeof(*c));
    c->io = io;
    c->egress = conf->egress;
    c->user_agent = conf->user_agent ? xstrdup(conf->user_agent) : NULL;
    c->ca_file = conf->ca_file ? xstrdup(conf->ca_file) : NULL;
    list_init(&c->queued);
    list_init(&c->active);
    list_init(&c->spare);
    io_defer_init(&c->kick, on_kick);
    c->multi = curl_multi_init();
    c->share = curl_share_init();
    if (!c->multi || !c->share || !httpc_glue_open(c)) {
        client_free(c);
        free(c);
        return err_set(err, EC_UNAVAILABLE, "no descriptors for the HTTP client");
    }
    curl_share_setopt(c->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    long conns = conf->max_cached_conns ? (long)conf->max_cached_conns : CONNS_CACHED;
    curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, conns);
    curl_multi_setopt(c->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
    *out = c;
    return EC_OK;
}

void httpc_close(struct httpc *c)
{
    if (!c) {
        return;
    }
    c->closing = true;
    list_splice(&c->active, &c->queued);
    while (!list_empty(&c->active)) {
        struct transfer *t = CONTAINER_OF(c->active.next, struct transfer, link);
        t->canceled = true;
        finish(t, CURLE_ABORTED_BY_CALLBACK);
    }
    struct list *l;
    while ((l = list_pop(&c->spare))) {
        transfer_free(CONTAINER_OF(l, struct transfer, link));
    }
    client_free(c);
    httpc_glue_close(c);
}
