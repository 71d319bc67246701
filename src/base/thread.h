/* base/thread.h - one pool of threads, and the loop that runs on it.
 *
 * Owns worker threads that sleep until there is a loop to share. It does not decide how work is cut: the chunks of
 * a loop follow from its count and grain alone, so that a result never depends on how many threads there are.
 * Newcomers: a pool that is busy, with an outer loop or another thread's, makes nobody wait. The loop then runs in the
 * calling thread, chunk by chunk, which is also why nested loops cannot deadlock.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <stddef.h>
#include <stdint.h>
#include <joule/base.h>

#define POOL_MAX_WIDTH 1024

struct pool;

struct pool_options {
    unsigned width;  /* threads in a loop, with the caller: 1 to POOL_MAX_WIDTH; 0: the CPUs allowed to us */
    int64_t spin_ns; /* how long a thread with nothing to do looks before it sleeps; 0: not at all */
    const unsigned *cpus; /* worker i stays on cpus[i % cpu_count]; NULL: where the kernel likes. Copied. */
    size_t cpu_count;
};

/* Does the items begin .. end-1. `worker` is below the pool's width and unlike that of any chunk of this loop that
 * runs at the same time: it may choose scratch memory, and must not change the result. */
typedef void (*parallel_fn)(void *context, size_t begin, size_t end, unsigned worker);

/* Starts width - 1 threads, with signals blocked; the calling thread is worker 0. `options` may be NULL. The
 * pool is owned by the caller: pool_free. INVALID: an option is out of range, or a CPU is not allowed to us.
 * NO_MEMORY: no memory or no thread. */
joule_status pool_create(const struct pool_options *options, struct pool **out_pool, joule_error *out_error);

/* Ends the threads. No loop may be running. NULL is allowed. */
void pool_free(struct pool *pool);

/* Changes the width; 0 as in the options. PENDING: a loop is running, ask again after it. NO_MEMORY: fewer threads
 * than asked for could be started; those there are stay in use. STALE: the pool is from before a fork. Any thread. */
joule_status pool_resize(struct pool *pool, unsigned width, joule_error *out_error);

/* The number of threads that a loop may use now. Any thread. */
unsigned pool_width(struct pool *pool);

/* Calls fn for each chunk k*grain .. min(count, (k+1)*grain) - 1, in no order, and returns when all are done. What was
 * written before is seen by fn, and what fn wrote is seen after. grain 0 counts as 1; count 0 calls nothing. Runs in
 * the calling thread alone where the pool is NULL, busy, or from before a fork. Allocates nothing. Any thread. */
void parallel_for(struct pool *pool, size_t count, size_t grain, parallel_fn fn, void *context);

#endif
