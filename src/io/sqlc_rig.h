/* What the tests of sqlc share: a folder, loops on threads, jobs that can be waited for.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_IO_SQLC_RIG_H
#define OUTRIDER_IO_SQLC_RIG_H

#include <pthread.h>

#include "io/sqlc_priv.h"

#define RIG_LOOPS 2
#define RIG_WAIT_S 60

struct rig {
    char dir[64], path[96];
    struct io *io[RIG_LOOPS];
    pthread_t thread[RIG_LOOPS];
    struct sqlc *db;
};

/* A closed door that database threads can be made to wait at. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t change;
    bool arrived, open;
};

struct rig_job {
    struct sqlc_job job;
    enum ec (*run)(struct sqlc *db, struct rig_job *j);
    int64_t key, value; /* in; value also out */
    struct gate *gate;
    bool right_loop;
    _Atomic int runs;
    _Atomic bool done;
};

void rig_up(struct rig *r);   /* folder and loops, no database */
void rig_down(struct rig *r); /* closes the database first if there is one */
/* Opens r->db with a table item(n INTEGER PRIMARY KEY, key INTEGER UNIQUE, body). conf may be NULL.
 */
void rig_open(struct rig *r, const struct sqlc_conf *conf);

struct rig_job *rig_jobs(struct rig *r, size_t n,
                         enum ec (*run)(struct sqlc *db, struct rig_job *j)); /* keys 0, 1, ... */
void rig_write_all(struct rig *r, struct rig_job *jobs, size_t n);            /* as one list */
void rig_wait(struct rig_job *jobs, size_t n); /* fails the test when it takes too long */
enum ec rig_write(struct rig *r, int64_t key); /* one insert, waited for */
int64_t rig_count(struct rig *r);              /* rows, by a read */
bool rig_serves_within(struct rig *r, int64_t key, nsec_t most); /* inserts until it works */

enum ec rig_insert(struct sqlc *db, struct rig_job *j);
enum ec rig_insert_big(struct sqlc *db, struct rig_job *j); /* value bytes */
enum ec rig_select_count(struct sqlc *db, struct rig_job *j);
enum ec rig_at_gate(struct sqlc *db, struct rig_job *j);

void gate_init(struct gate *g);
void gate_await(struct gate *g); /* until a thread stands there */
void gate_open(struct gate *g);

#endif
