/* A destination that fails as its config says, without a network: for tests of retries, deadlines
 * and shutdown. Registered in test builds only. The config's keys: fail_first     attempts up to
 * this number fail code           the code of a failed attempt ("500") retry_after_s  said with a
 * failure delay_ms       how long each answer takes; the deadline gives "timeout"
 * SPDX-License-Identifier: Apache-2.0 */
#include "dest/dest.h"

#define NUMBER "^[0-9]{1,9}$"

static const struct dest_field fields[] = {
    {.key = "fail_first",
     .type = "text",
     .label = "Fail first",
     .description = "Attempts that fail",
     .pattern = NUMBER},
    {.key = "code",
     .type = "text",
     .label = "Code",
     .description = "Code of a failure",
     .max_length = 32},
    {.key = "retry_after_s",
     .type = "text",
     .label = "Retry after",
     .description = "Seconds",
     .pattern = NUMBER},
    {.key = "delay_ms",
     .type = "text",
     .label = "Delay",
     .description = "Milliseconds before an answer",
     .pattern = NUMBER},
    {.key = NULL},
};

struct answer {
    struct io_timer timer;
    struct dest_send *rq;
    bool late;
};

static int64_t number(const struct destination *d, struct str key, int64_t otherwise)
{
    struct str text = STR("");
    int64_t v;
    strmap_get(&d->config, key, &text);
    return str_to_i64(text, &v) ? v : otherwise;
}

static void target(const struct destination *d, struct arena *a, struct dest_target *out)
{
    (void)d, (void)a;
    out->text = STR("flaky");
}

static void finish(struct answer *a)
{
    struct dest_send *rq = a->rq;
    const struct destination *d = rq->destination;
    bool fails = a->late || rq->number <= number(d, STR("fail_first"), 0);
    struct str code = STR("500");
    strmap_get(&d->config, STR("code"), &code);
    rq->outcome = (struct outcome){
        .delivered = !fails, .code = fails ? code : STR("OK"), .retry_after_s = -1};
    if (a->late) {
        rq->outcome.code = STR("timeout");
    } else if (fails) {
        rq->outcome.retry_after_s = number(d, STR("retry_after_s"), -1);
    }
    rq->op.cancel = NULL;
    op_finish(&rq->op, EC_OK, NULL);
}

static void on_time(struct io_timer *t)
{
    finish(CONTAINER_OF(t, struct answer, timer));
}

static void on_cancel(struct op *op)
{
    struct dest_send *rq = CONTAINER_OF(op, struct dest_send, op);
    struct answer *a = rq->impl;
    io_timer_clear(op->io, &a->timer);
    op->cancel = NULL;
    rq->outcome.no_attempt = true;
    op_finish(op, EC_CANCELED, "the delivery was cancelled");
}

static void send_event(void *conn, struct dest_send *rq)
{
    (void)conn;
    struct answer *a = ARENA_NEW(&rq->arena, struct answer);
    nsec_t now = io_now(rq->op.io),
           at = now + number(rq->destination, STR("delay_ms"), 0) * NSEC_PER_MSEC;
    a->rq = rq;
    a->late = rq->op.deadline && at > rq->op.deadline;
    at = a->late ? rq->op.deadline : at;
    if (at <= now) {
        finish(a);
        return;
    }
    rq->impl = a;
    rq->op.cancel = on_cancel;
    io_timer_set(rq->op.io, &a->timer, at, on_time);
}

const struct dest_ops dest_flaky = {
    .type = "flaky",
    .label = "Flaky",
    .description = "Fails as its config says",
    .icon_svg = "",
    .instructions = "For tests.",
    .fields = fields,
    .target = target,
    .send = send_event,
};
