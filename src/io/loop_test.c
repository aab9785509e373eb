/* Loops of several threads: mail arrives once and in order, completions come home, timers keep
 * their order, deferred work runs before the loop sleeps. SPDX-License-Identifier: Apache-2.0 */
#include "io/loop.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "io/tests.h"

#define SENDERS 4
#define EACH 2000

static void *run_loop(void *arg)
{
    io_run(arg);
    return NULL;
}

static pthread_t start(struct io *io)
{
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, run_loop, io), 0);
    return t;
}

/* ---- mail ---- */

struct receiver {
    struct io *io;
    unsigned last[SENDERS], got;
    bool in_order, right_thread;
};
struct letter {
    struct io_msg msg;
    struct receiver *to;
    unsigned sender, number;
};
struct sender {
    struct receiver *to;
    unsigned index;
    bool in_lists;
};

static void on_letter(struct io_msg *m)
{
    struct letter *l = CONTAINER_OF(m, struct letter, msg);
    struct receiver *r = l->to;
    r->right_thread = r->right_thread && io_self() == r->io;
    r->in_order = r->in_order && r->last[l->sender] + 1 == l->number;
    r->last[l->sender] = l->number;
    if (++r->got == SENDERS * EACH) {
        io_stop(r->io);
    }
    free(l);
}

static void *send_letters(void *arg)
{
    struct sender *s = arg;
    struct list batch;
    list_init(&batch);
    for (unsigned i = 1; i <= EACH; i++) {
        struct letter *l = xcalloc(1, sizeof(*l));
        *l = (struct letter){.msg.run = on_letter, .to = s->to, .sender = s->index, .number = i};
        if (!s->in_lists) {
            io_post(s->to->io, &l->msg);
            continue;
        }
        list_push(&batch, &l->msg.link);
        if (i % 50 == 0) {
            io_post_list(s->to->io, &batch);
            assert(list_empty(&batch));
        }
    }
    return NULL;
}

static void test_letters_of_many_threads(void **state)
{
    (void)state;
    struct receiver r = {.io = io_new("receiver"), .in_order = true, .right_thread = true};
    struct sender senders[SENDERS];
    pthread_t threads[SENDERS], loop = start(r.io);
    for (unsigned i = 0; i < SENDERS; i++) {
        senders[i] = (struct sender){&r, i, i % 2 == 0};
        assert_int_equal(pthread_create(&threads[i], NULL, send_letters, &senders[i]), 0);
    }
    for (unsigned i = 0; i < SENDERS; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_join(loop, NULL);
    assert_int_equal(r.got, SENDERS * EACH);
    assert_true(r.in_order);
    assert_true(r.right_thread);
    io_free(r.io);
}

/* What lies in the mailbox when a stop is asked for is still run, one letter behind another. */
struct chain {
    struct io_msg msg;
    struct io *io;
    unsigned left;
};

static void on_chain(struct io_msg *m)
{
    struct chain *c = CONTAINER_OF(m, struct chain, msg);
    if (c->left && --c->left) {
        io_post(c->io, m);
    }
}

static void test_stop_runs_the_mailbox(void **state)
{
    (void)state;
    struct io *io = io_new("stop");
    struct chain c = {.msg.run = on_chain, .io = io, .left = 100};
    io_post(io, &c.msg);
    io_stop(io);
    io_run(io);
    assert_int_equal(c.left, 0);
    io_free(io);
}

/* ---- ping-pong: a sleeping loop is woken, every time ---- */

struct ball {
    struct io_msg msg;
    struct io *sides[2];
    unsigned hits;
};

static void on_ball(struct io_msg *m)
{
    struct ball *b = CONTAINER_OF(m, struct ball, msg);
    unsigned hit = ++b->hits;
    if (hit == 5000) {
        io_stop(b->sides[0]);
        io_stop(b->sides[1]);
    } else {
        io_post(b->sides[hit % 2], m);
    }
}

static void test_sleeping_loops_are_woken(void **state)
{
    (void)state;
    struct ball b = {.msg.run = on_ball, .sides = {io_new("left"), io_new("right")}};
    pthread_t left = start(b.sides[0]), right = start(b.sides[1]);
    io_post(b.sides[0], &b.msg);
    pthread_join(left, NULL);
    pthread_join(right, NULL);
    assert_int_equal(b.hits, 5000);
    io_free(b.sides[0]);
    io_free(b.sides[1]);
}

/* ---- completions ---- */

#define OPS 600

struct job {
    struct op op;
    struct work *work;
    unsigned done;
    bool right_thread, in_submit;
};
struct work {
    struct io *io, *helper;
    struct job jobs[OPS];
    struct io_msg begin, ask;
    struct list asked;
    unsigned done;
};

static void on_job(struct op *op)
{
    struct job *j = CONTAINER_OF(op, struct job, op);
    struct work *w = j->work;
    j->done++;
    j->right_thread = io_self() == w->io && !j->in_submit;
    if (++w->done == OPS) {
        io_stop(w->helper);
        io_stop(w->io);
    }
}

static void on_asked(struct io_msg *m)
{
    struct work *w = CONTAINER_OF(m, struct work, ask);
    struct list *l, together;
    list_init(&together);
    while ((l = list_pop(&w->asked))) {
        struct job *j = CONTAINER_OF(l, struct job, op.link);
        if ((j - w->jobs) % 3 == 1) {
            op_finish(&j->op, EC_TIMEOUT, NULL);
        } else {
            list_push(&together, l);
        }
    }
    op_complete_list(w->io, &together);
    assert(list_empty(&together));
}

static void on_begin(struct io_msg *m)
{
    struct work *w = CONTAINER_OF(m, struct work, begin);
    for (unsigned i = 0; i < OPS; i++) {
        struct job *j = &w->jobs[i];
        *j = (struct job){.op = {.done = on_job, .io = w->io}, .work = w, .in_submit = true};
        if (i % 3 == 0) {
            op_finish(&j->op, EC_NOT_FOUND, "no such thing"); /* at once, on this thread */
        } else {
            list_push(&w->asked, &j->op.link);
        }
        j->in_submit = false;
    }
    io_post(w->helper, &w->ask);
}

static void test_completions_come_home(void **state)
{
    (void)state;
    static const enum ec expected[] = {EC_NOT_FOUND, EC_TIMEOUT, EC_OK};
    struct work *w = xcalloc(1, sizeof(*w));
    w->io = io_new("home");
    w->helper = io_new("helper");
    w->begin.run = on_begin;
    w->ask.run = on_asked;
    list_init(&w->asked);
    pthread_t home = start(w->io), helper = start(w->helper);
    io_post(w->io, &w->begin);
    pthread_join(home, NULL);
    pthread_join(helper, NULL);
    for (unsigned i = 0; i < OPS; i++) {
        struct job *j = &w->jobs[i];
        assert_int_equal(j->done, 1);
        assert_true(j->right_thread);
        assert_int_equal(j->op.err.code, expected[i % 3]);
    }
    assert_string_equal(w->jobs[0].op.err.text, "no such thing");
    assert_string_equal(w->jobs[1].op.err.text, "timeout");
    io_free(w->io);
    io_free(w->helper);
    free(w);
}

/* ---- timers ---- */

#define TIMERS 200

struct clockwork;
struct tick {
    struct io_timer timer;
    struct clockwork *owner;
    nsec_t at;
    unsigned fired;
};
struct clockwork {
    struct io *io;
    struct tick ticks[TIMERS];
    struct tick past; /* sets itself for the past again and again */
    struct io_timer end;
    nsec_t last;
    unsigned early, wrong_order;
};

static void on_tick(struct io_timer *t)
{
    struct tick *k = CONTAINER_OF(t, struct tick, timer);
    struct clockwork *c = k->owner;
    k->fired++;
    c->early += mono_now() < k->at || io_now(c->io) < k->at;
    c->wrong_order += k->at < c->last;
    c->last = k->at;
}

static void on_past(struct io_timer *t)
{
    struct tick *k = CONTAINER_OF(t, struct tick, timer);
    k->fired++;
    io_timer_set(k->owner->io, t, 1, on_past);
}

static void on_end(struct io_timer *t)
{
    struct clockwork *c = CONTAINER_OF(t, struct clockwork, end);
    io_timer_clear(c->io, &c->past.timer);
    io_stop(c->io);
}

static void test_timers_fire_in_order_and_not_early(void **state)
{
    (void)state;
    struct clockwork *c = xcalloc(1, sizeof(*c));
    c->io = io_new("clock");
    nsec_t now = mono_now();
    for (unsigned i = 0; i < TIMERS; i++) {
        struct tick *k = &c->ticks[i];
        k->owner = c;
        k->at = now + (nsec_t)(i * 7919 % TIMERS) * (NSEC_PER_MSEC / 7);
        io_timer_set(c->io, &k->timer, now + 3600 * NSEC_PER_SEC, on_tick);
        io_timer_set(c->io, &k->timer, k->at, on_tick); /* the second counts */
    }
    io_timer_clear(c->io, &c->ticks[3].timer);
    io_timer_clear(c->io, &c->ticks[3].timer);
    c->past.owner = c;
    io_timer_set(c->io, &c->past.timer, 0, on_past);
    io_timer_set(c->io, &c->end, now + 60 * NSEC_PER_MSEC, on_end);
    io_run(c->io);
    for (unsigned i = 0; i < TIMERS; i++) {
        assert_int_equal(c->ticks[i].fired, i != 3);
    }
    assert_int_equal(c->early, 0);
    assert_int_equal(c->wrong_order, 0);
    assert_true(c->past.fired > 1);
    assert_true(mono_now() - now < 5 * NSEC_PER_SEC);
    io_free(c->io);
    free(c);
}

/* ---- end of turn ---- */

struct late {
    struct io *io;
    struct io_defer defer, again, forgotten;
    struct io_timer timer;
    unsigned runs, forgotten_runs;
    bool inside, nested;
    char *garbage;
    nsec_t asked, ran;
};

static void on_again(struct io_defer *d)
{
    struct late *l = CONTAINER_OF(d, struct late, again);
    io_stop(l->io);
}

static void on_defer(struct io_defer *d)
{
    struct late *l = CONTAINER_OF(d, struct late, defer);
    l->nested = l->nested || l->inside;
    l->ran = mono_now();
    if (++l->runs < 10) {
        io_defer(l->io, d); /* more rounds than one turn has */
    } else {
        io_defer(l->io, &l->again);
    }
}

static void on_forgotten(struct io_defer *d)
{
    CONTAINER_OF(d, struct late, forgotten)->forgotten_runs++;
}

static void on_late_timer(struct io_timer *t)
{
    struct late *l = CONTAINER_OF(t, struct late, timer);
    l->inside = true;
    io_defer(l->io, &l->defer);
    io_defer(l->io, &l->defer); /* queued once */
    io_defer(l->io, &l->forgotten);
    list_del(&l->forgotten.link);
    l->asked = mono_now();
    l->inside = false;
}

static void test_deferred_work_runs_before_sleep(void **state)
{
    (void)state;
    struct late l = {.io = io_new("late"), .garbage = xstrdup("still here")};
    io_defer_init(&l.defer, on_defer);
    io_defer_init(&l.again, on_again);
    io_defer_init(&l.forgotten, on_forgotten);
    io_timer_set(l.io, &l.timer, 0, on_late_timer);
    io_run(l.io); /* nothing but deferred work keeps this loop going */
    assert_int_equal(l.runs, 10);
    assert_false(l.nested);
    assert_int_equal(l.forgotten_runs, 0);
    assert_true(l.ran - l.asked < NSEC_PER_SEC);
    io_defer_free(l.io, l.garbage);
    io_free(l.io);
}

static void test_names(void **state)
{
    (void)state;
    struct io *io = io_new("a name that is much too long");
    assert_string_equal(io_name(io), "a name that is ");
    assert_null(io_self());
    io_free(io);
    io_free(NULL);
}

int loop_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_letters_of_many_threads),
        cmocka_unit_test(test_stop_runs_the_mailbox),
        cmocka_unit_test(test_sleeping_loops_are_woken),
        cmocka_unit_test(test_completions_come_home),
        cmocka_unit_test(test_timers_fire_in_order_and_not_early),
        cmocka_unit_test(test_deferred_work_runs_before_sleep),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}
