/* The shared parts of the load generator and the sink; contract in bench.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

volatile sig_atomic_t stop_asked;

int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

void die(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    exit(2);
}

int64_t number_arg(const char *option, const char *text, int64_t low, int64_t high)
{
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (errno || end == text || *end || n < low || n > high) {
        die("--%s takes a number from %lld to %lld", option, (long long)low, (long long)high);
    }
    return n;
}

/* Below 64 ns a bucket each; above, 64 buckets per power of two. */
static size_t bucket_of(uint64_t v)
{
    if (v < HIST_SUB) {
        return v;
    }
    unsigned shift = 57 - (unsigned)__builtin_clzll(v);
    return shift * HIST_SUB + (v >> shift);
}

static uint64_t bucket_edge(size_t i)
{
    if (i < (size_t)2 * HIST_SUB) {
        return i;
    }
    unsigned shift = (unsigned)(i / HIST_SUB) - 1;
    return ((i % HIST_SUB + HIST_SUB + 1) << shift) - 1;
}

void hist_add(struct hist *h, int64_t ns)
{
    uint64_t v = ns > 0 ? (uint64_t)ns : 0;
    h->bucket[bucket_of(v)]++;
    h->n++;
    if (v > h->max) {
        h->max = v;
    }
}

double hist_ms(const struct hist *h, double share)
{
    uint64_t want = (uint64_t)(share * (double)h->n), seen = 0;
    for (size_t i = 0; i < HIST_BUCKETS; i++) {
        seen += h->bucket[i];
        if (seen > want || (seen == h->n && seen)) {
            uint64_t edge = bucket_edge(i);
            return (double)(edge < h->max ? edge : h->max) / 1e6;
        }
    }
    return 0;
}

void *ledger_map(const char *path, size_t size)
{
    int fd = -1;
    if (path) {
        fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0 || ftruncate(fd, (off_t)size)) {
            die("%s: %s", path, strerror(errno));
        }
    }
    int flags = path ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (p == MAP_FAILED) {
        die("no room for a ledger of %zu bytes: %s", size, strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
    return p;
}

uint64_t id_hash(const char *p, size_t n)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++) {
        h = (h ^ (unsigned char)p[i]) * UINT64_C(0x100000001b3);
    }
    return h ? h : 1;
}

static void on_stop(int number)
{
    (void)number;
    stop_asked = 1;
}

void signals_init(sigset_t *waiting_mask)
{
    struct sigaction act = {.sa_handler = on_stop};
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGTERM);
    sigaddset(&held, SIGINT);
    sigprocmask(SIG_BLOCK, &held, waiting_mask);
    sigdelset(waiting_mask, SIGTERM);
    sigdelset(waiting_mask, SIGINT);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGINT, &act, NULL);
    signal(SIGPIPE, SIG_IGN);
}

void descriptors_init(uint64_t need)
{
    struct rlimit r;
    getrlimit(RLIMIT_NOFILE, &r);
    if (r.rlim_max < need) {
        die("needs %llu descriptors, the limit is %llu", (unsigned long long)need,
            (unsigned long long)r.rlim_max);
    }
    r.rlim_cur = r.rlim_max;
    setrlimit(RLIMIT_NOFILE, &r);
}
