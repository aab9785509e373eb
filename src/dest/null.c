/* A destination that takes everything at once and sends nothing: for tests and measurements of the
 * rest of the program. Registered in test builds only. Neighbour: flaky.c, which fails on request.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dest/dest.h"

static const struct dest_field fields[] = {{.key = NULL}};

static void target(const struct destination *d, struct arena *a, struct dest_target *out)
{
    (void)d, (void)a;
    out->text = STR("null");
}

static void send_event(void *conn, struct dest_send *rq)
{
    (void)conn;
    rq->outcome = (struct outcome){.delivered = true, .code = STR("OK"), .retry_after_s = -1};
    op_finish(&rq->op, EC_OK, NULL);
}

const struct dest_ops dest_null = {
    .type = "null",
    .label = "Null",
    .description = "Takes every event and drops it",
    .icon_svg = "",
    .instructions = "For tests.",
    .fields = fields,
    .target = target,
    .send = send_event,
};
