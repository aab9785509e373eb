/* What the contract suites of the seams share: a folder of their own, a loop on the test's thread,
 * and waiting with a bound. Header only, for *_test.c. SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_IO_BACKEND_RIG_H
#define OUTRIDER_IO_BACKEND_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "io/loop.h"
#include "util/str.h"

#define RIG_WAIT (30 * NSEC_PER_SEC)

static inline void rig_folder(char dir[64])
{
    strcpy(dir, "/tmp/contract-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
}

static inline void rig_folder_gone(const char *dir)
{
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *f; (f = readdir(d));) {
        char path[400];
        snprintf(path, sizeof(path), "%s/%s", dir, f->d_name);
        if (f->d_name[0] != '.') {
            unlink(path);
        }
    }
    closedir(d);
    assert_int_equal(rmdir(dir), 0);
}

/* ---- a condition, looked at every few milliseconds ---- */

struct rig_wait {
    struct io_timer timer;
    struct io *io;
    bool (*met)(void *arg);
    void *arg;
    nsec_t until;
    bool ok;
};

static inline void rig_look(struct io_timer *t)
{
    struct rig_wait *w = CONTAINER_OF(t, struct rig_wait, timer);
    w->ok = w->met(w->arg);
    if (w->ok || mono_now() > w->until) {
        uv_stop(io_uv(w->io)); /* io_stop would be for good */
    } else {
        io_timer_set(w->io, t, io_now(w->io) + 2 * NSEC_PER_MSEC, rig_look);
    }
}

/* Runs the loop until met() says so, at most `most`; returns what it said last. */
static inline bool rig_within(struct io *io, nsec_t most, bool (*met)(void *arg), void *arg)
{
    struct rig_wait w = {.io = io, .met = met, .arg = arg, .until = mono_now() + most};
    io_timer_set(io, &w.timer, mono_now(), rig_look);
    io_run(io);
    return w.ok;
}

/* ---- one request ---- */

static inline void rig_done(struct op *op)
{
    op->deadline = -1; /* the mark that rig_is_done looks for */
}

static inline bool rig_is_done(void *arg)
{
    return ((struct op *)arg)->deadline == -1;
}

/* A fresh op for a request of this loop. */
static inline struct op rig_op(struct io *io)
{
    return (struct op){.done = rig_done, .io = io};
}

/* Waits for a submitted request; returns its code. */
static inline enum ec rig_finish(struct op *op)
{
    if (!rig_within(op->io, RIG_WAIT, rig_is_done, op)) {
        fail_msg("a request does not end");
    }
    return op->err.code;
}

#endif
