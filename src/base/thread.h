/* base/thread.h - a pool of worker threads that runs parallel loops.
 *
 * The chunks of a loop follow from its count and grain only, so results do not depend on the number of
 * threads.
 * Note: if the pool is busy, with an outer loop or a loop of another thread, parallel_for does not wait. It
 * runs the loop in the calling thread, chunk by chunk. Therefore nested loops cannot deadlock.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <stddef.h>
#include <stdint.h>
#include <joule/base.h>

#define POOL_MAX_WIDTH 1024

struct pool;

/* Options of a pool. */
struct pool_options {
    /* threads that run a loop, including the caller: 1 to POOL_MAX_WIDTH; 0: one for each allowed CPU */
    unsigned width;
    int64_t spin_ns;      /* how long an idle thread spins before it sleeps; 0: no spinning */
    const unsigned *cpus; /* worker i is pinned to cpus[i % cpu_count]; NULL: no pinning. Copied. */
    size_t cpu_count;
};

/* Runs the items begin .. end-1. `worker`: below the pool's width, and different for chunks that run at the
 * same time. `worker` may select scratch memory, but the result must not depend on it. */
typedef void (*parallel_fn)(void *context, size_t begin, size_t end, unsigned worker);

/* Creates a pool and starts width - 1 threads, with signals blocked; the calling thread is worker 0.
 * `options` may be NULL. The caller owns the pool (pool_free). INVALID: an option is out of range, or a CPU
 * is not allowed for this process. NO_MEMORY: out of memory or threads. */
joule_status pool_create(const struct pool_options *options, struct pool **out_pool, joule_error *out_error);

/* Ends the threads and frees the pool. No loop may be running. NULL is allowed. */
void pool_free(struct pool *pool);

/* Changes the width; 0: one for each CPU allowed. PENDING: a loop is running; try again later. NO_MEMORY:
 * some threads could not be started; the pool uses the others. STALE: the pool was created before fork. Any
 * thread. */
joule_status pool_resize(struct pool *pool, unsigned width, joule_error *out_error);

/* Returns the number of threads that a loop may use. Any thread. */
unsigned pool_width(struct pool *pool);

/* Calls fn for each chunk k*grain .. min(count, (k+1)*grain) - 1, in any order, and returns when all calls
 * are done. fn sees all memory writes made before the call of parallel_for, and its caller sees those of fn.
 * A grain of 0 means 1. If the pool is NULL, busy or was created before fork, the whole loop runs in the
 * calling thread. Allocates nothing. Any thread. */
void parallel_for(struct pool *pool, size_t count, size_t grain, parallel_fn fn, void *context);
/* Like parallel_for, with at most `width` threads, including the caller; 0: no limit. */
void parallel_for_few(struct pool *pool, unsigned width, size_t count, size_t grain, parallel_fn fn,
                      void *context);

#endif
