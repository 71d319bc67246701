/* tools/forge/peak.c - see peak.h. */
#include "peak.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_THREADS 256
#define COPY_BYTES  ((size_t)64 << 20)

static double now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* --- multiply-adds -------------------------------------------------------------------------------------- */

enum { CHAINS = 12 /* with x and y, the chains use 14 of 16 registers */, STEPS = 20000 };

/* Runs one pass; returns its number of FLOP. */
typedef double chain_fn(void);

#define CHAIN(name, lanes, attribute)                                                                        \
    attribute __attribute__((noinline)) static double name(void)                                             \
    {                                                                                                        \
        typedef float vector __attribute__((vector_size((lanes) * sizeof(float))));                          \
        vector sums[CHAINS], x = (vector){0} + 0.999f, y = (vector){0} + 0.001f, all = {0};                  \
        for (int i = 0; i < CHAINS; i++) /* the compiler would merge equal sums */                           \
            sums[i] = (vector){0} + (float)i;                                                                \
        for (int step = 0; step < STEPS; step++) {                                                           \
            _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) sums[i] = sums[i] * x + y;             \
        }                                                                                                    \
        for (int i = 0; i < CHAINS; i++)                                                                     \
            all += sums[i];                                                                                  \
        volatile float kept = all[0];                                                                        \
        (void)kept;                                                                                          \
        return 2. * (lanes)*CHAINS * STEPS;                                                                  \
    }

CHAIN(chain_plain, 4, )
#if defined(__x86_64__)
CHAIN(chain_avx2, 8, __attribute__((target("avx2,fma"))))
CHAIN(chain_avx512, 16, __attribute__((target("avx512f,fma"))))
#elif defined(__aarch64__)
CHAIN(chain_neon, 4, )
#endif

static chain_fn *chain_of(const char *isa)
{
    if (strcmp(isa, "plain") == 0)
        return chain_plain;
#if defined(__x86_64__)
    if (strcmp(isa, "avx2") == 0)
        return chain_avx2;
    if (strcmp(isa, "avx512") == 0)
        return chain_avx512;
#elif defined(__aarch64__)
    if (strcmp(isa, "neon") == 0)
        return chain_neon;
#endif
    return NULL;
}

double peak_thread_gflops(const char *isa)
{
    chain_fn *chain = chain_of(isa);
    if (!chain)
        return NAN;
    double begin_ns = now_ns(CLOCK_THREAD_CPUTIME_ID), flop = chain();
    return flop / (now_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns);
}

/* --- several threads ------------------------------------------------------------------------------------ */

static atomic_bool may_start; /* shared by all calls of run_workers, of which only one runs at a time */

struct worker {
    chain_fn *chain; /* NULL: copy memory */
    char *from, *to;
    double done, begin_ns, end_ns; /* done: FLOP or bytes */
};

static void *work(void *context)
{
    struct worker *w = context;
    while (!atomic_load(&may_start))
        sched_yield();
    w->begin_ns = now_ns(CLOCK_MONOTONIC);
    double end_ns = w->begin_ns + (w->chain ? 20e6 : 100e6);
    do {
        if (w->chain) {
            w->done += w->chain();
        } else {
            memcpy(w->to, w->from, COPY_BYTES);
            w->done += 2.0 * (double)COPY_BYTES;
        }
        w->end_ns = now_ns(CLOCK_MONOTONIC);
    } while (w->end_ns < end_ns);
    return NULL;
}

/* Runs the workers at the same time. Returns FLOP or bytes per nanosecond, summed over the workers that could
 * be started. */
static double run_workers(struct worker *workers, unsigned threads)
{
    pthread_t ids[MAX_THREADS];
    unsigned started = 1;
    double begin_ns = INFINITY, end_ns = 0, done = 0;
    atomic_store(&may_start, false);
    while (started < threads && pthread_create(&ids[started], NULL, work, &workers[started]) == 0)
        started++;
    atomic_store(&may_start, true);
    work(&workers[0]);
    for (unsigned i = 0; i < started; i++) {
        if (i > 0)
            pthread_join(ids[i], NULL);
        begin_ns = fmin(begin_ns, workers[i].begin_ns);
        end_ns = fmax(end_ns, workers[i].end_ns);
        done += workers[i].done;
    }
    return done / (end_ns - begin_ns);
}

double peak_gflops(const char *isa, unsigned threads)
{
    struct worker workers[MAX_THREADS] = {0};
    threads = threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : threads;
    for (unsigned i = 0; i < threads; i++)
        workers[i].chain = chain_of(isa);
    return workers[0].chain ? run_workers(workers, threads) : NAN;
}

double peak_copy_gb_per_s(unsigned threads)
{
    struct worker workers[MAX_THREADS] = {0};
    threads = threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : threads;
    char *memory = malloc(2 * threads * COPY_BYTES);
    if (!memory)
        return NAN;
    memset(memory, 1, 2 * threads * COPY_BYTES); /* forces the kernel to map the pages */
    for (unsigned i = 0; i < threads; i++) {
        workers[i].from = memory + 2 * i * COPY_BYTES;
        workers[i].to = workers[i].from + COPY_BYTES;
    }
    double speed = run_workers(workers, threads);
    free(memory);
    return speed;
}
