/* What the load generator and the sink share: clock, latency histogram, ledgers in mapped files,
 * signals. Not for the server: nothing here is linked into it, and nothing of src/ is used. The
 * script `bench` reads both ledgers by the layouts below; change them together.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTRIDER_TOOLS_BENCH_H
#define OUTRIDER_TOOLS_BENCH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NSEC_PER_SEC INT64_C(1000000000)

/* CLOCK_MONOTONIC, so that sender and receiver on one machine share it. */
int64_t now_ns(void);

/* Prints "NAME: text" and exits with status 2. */
_Noreturn void die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A whole number within [low, high], else die() naming the option. */
int64_t number_arg(const char *option, const char *text, int64_t low, int64_t high);

/* Nanoseconds in buckets 1.6 % wide; percentiles come out as the bucket's upper edge. */
enum { HIST_SUB = 64, HIST_BUCKETS = 59 * HIST_SUB };
struct hist {
    uint64_t n, max;
    uint64_t bucket[HIST_BUCKETS];
};
void hist_add(struct hist *h, int64_t ns);
double hist_ms(const struct hist *h, double share); /* 0 when empty */

/* Ledgers: a head of 64 bytes with live counters, then one row per seq. */
#define LOAD_MAGIC UINT64_C(0x3164616f6c2d726f) /* "or-load1" */
#define SINK_MAGIC UINT64_C(0x316b6e69732d726f) /* "or-sink1" */

struct load_head {
    uint64_t magic, capacity;
    uint64_t issued;   /* seqs 0 to issued - 1 were sent at least once */
    uint64_t accepted; /* 202 */
    uint64_t refused;  /* 503 with Retry-After; the seq is offered again */
    uint64_t other;    /* any other answer */
    uint64_t broken;   /* connections that ended without the answer: fate unknown */
    uint64_t late;     /* open loop: due and not yet sent */
};
struct load_row {
    uint64_t id_hash; /* of the id in the 202 */
    uint32_t status;  /* 0 never sent, 1 no answer, else the last answer's status */
    char id[36];      /* the id's first bytes, zero padded: to look it up */
};

struct sink_head {
    uint64_t magic, capacity;
    uint64_t received;   /* distinct seqs */
    uint64_t duplicates; /* receipts of a seq beyond its first */
    uint64_t strange;    /* requests without a usable seq */
    uint64_t spare[3];
};
struct sink_row {
    uint64_t id_hash; /* of the header that ends in "event-id", 0 without one */
    uint32_t times;
    uint32_t spare;
};

/* Maps `size` zeroed bytes, shared with the file at path (made anew) or private when path is NULL.
 */
void *ledger_map(const char *path, size_t size);

/* FNV-1a; never 0. */
uint64_t id_hash(const char *p, size_t n);

/* SIGTERM and SIGINT set stop_asked and are let in only while epoll waits with *waiting_mask. */
extern volatile sig_atomic_t stop_asked;
void signals_init(sigset_t *waiting_mask);

/* Raises the soft limit of descriptors to the hard one; dies when that is below `need`. */
void descriptors_init(uint64_t need);

#endif
