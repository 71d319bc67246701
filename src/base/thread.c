/* base/thread.c - see thread.h.
 *
 * A loop is on the stack of its caller. While the loop is open, workers join it under the lock. They take
 * chunks from one atomic counter, and leave the loop under the lock. The caller closes the loop and waits for
 * the workers that joined.
 * Note: a worker that wakes after the loop was closed sleeps again. The caller never waits for such a worker,
 * so small loops are fast.
 */
#include "base/thread.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/error.h"

/* One parallel_for. It is on the stack of the calling thread. */
struct loop {
    parallel_fn fn;
    void *context;
    size_t count, grain, chunks;
    atomic_size_t next; /* index of the next chunk to run */
    size_t helpers;     /* number of workers that may still join; under lock while workers may join */
};

/* A thread of a pool, owned by the pool. */
struct worker {
    struct pool *pool;
    struct worker *previous; /* the worker with the next lower index; NULL: this is worker 1 */
    unsigned index;          /* 1 .. width-1 */
    unsigned seen;           /* value of pool->posted when this worker last read it */
    pthread_t thread;
};

/* A pool. Workers 1 to width - 1 are its threads; the thread that calls parallel_for is worker 0. */
struct pool {
    atomic_flag busy; /* held during a loop or a resize; never waited for */
    int64_t spin_ns;  /* see pool_options.spin_ns */
    unsigned *cpus;   /* owned copy of pool_options.cpus; NULL: no pinning */
    size_t cpu_count;
    unsigned forks; /* fork_count when the pool was created */
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    struct worker *last; /* written by the holder of `busy` */
    unsigned width;      /* written under lock; workers with this index or above end */
    struct loop *loop;   /* under lock: the loop that workers may join, or NULL */
    /* number of loops and resizes so far, written under lock; spinning threads wait for a change */
    _Atomic unsigned posted;
    _Atomic unsigned active; /* written under lock: number of workers inside a loop */
};

/* Number of forks between this process and the first process that used a pool. A child process has no threads
 * of its parent's pools. */
static unsigned fork_count;

static void count_fork(void)
{
    fork_count++;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, count_fork);
}

/* Executes the CPU's hint for a spinning thread. */
static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Spins while `variable` is `value`, for at most spin_ns. The caller holds the lock, which is released while
 * spinning. */
static void spin_while(struct pool *pool, const _Atomic unsigned *variable, unsigned value)
{
    if (pool->spin_ns <= 0)
        return;
    pthread_mutex_unlock(&pool->lock);
    int64_t end_ns = clock_now_ns() + pool->spin_ns;
    do {
        for (int i = 0; i < 32 && atomic_load_explicit(variable, memory_order_relaxed) == value; i++)
            relax();
    } while (atomic_load_explicit(variable, memory_order_relaxed) == value && clock_now_ns() < end_ns);
    pthread_mutex_lock(&pool->lock);
}

/* Calls the loop's function for chunk `chunk`, as worker `worker`. */
static void run_chunk(const struct loop *loop, size_t chunk, unsigned worker)
{
    size_t begin = chunk * loop->grain;
    size_t left = loop->count - begin;
    loop->fn(loop->context, begin, begin + (left < loop->grain ? left : loop->grain), worker);
}

/* Takes and runs chunks until none is left. */
static void run_shared(struct loop *loop, unsigned worker)
{
    size_t chunk;
    while ((chunk = atomic_fetch_add_explicit(&loop->next, 1, memory_order_relaxed)) < loop->chunks)
        run_chunk(loop, chunk, worker);
}

/* Waits for a loop and joins it. Returns the loop, or NULL if the worker must end. A worker that a loop with
 * a limit does not need sleeps at once, because spinning takes energy. The caller holds the lock. */
static struct loop *wait_for_loop(struct worker *self)
{
    struct pool *pool = self->pool;
    bool spins = true;
    while (self->index < pool->width) {
        if (pool->posted == self->seen) {
            if (spins)
                spin_while(pool, &pool->posted, self->seen);
            while (pool->posted == self->seen)
                pthread_cond_wait(&pool->work, &pool->lock);
        }
        self->seen = pool->posted; /* join each loop only once */
        if (pool->loop && pool->loop->helpers > 0) {
            pool->loop->helpers--;
            pool->active++;
            return pool->loop;
        }
        spins = !pool->loop;
    }
    return NULL;
}

/* Runs in a worker's thread. */
static void *work(void *argument)
{
    struct worker *self = argument;
    struct pool *pool = self->pool;
    struct loop *loop;
    pthread_mutex_lock(&pool->lock);
    while ((loop = wait_for_loop(self)) != NULL) {
        pthread_mutex_unlock(&pool->lock);
        run_shared(loop, self->index);
        pthread_mutex_lock(&pool->lock);
        if (--pool->active == 0)
            pthread_cond_signal(&pool->done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Blocks all signals in this thread, so that the program's own threads get them. Signals of faults stay
 * unblocked, because crash handlers need the thread that caused the fault. *out_before: the previous mask. */
static void block_signals(sigset_t *out_before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, out_before);
}

/* Starts the thread of a worker, with signals blocked and pinned to its CPU if the pool has CPUs. Returns 0
 * or an errno. */
static int start_thread(struct worker *worker)
{
    struct pool *pool = worker->pool;
    pthread_attr_t attributes;
    int problem = pthread_attr_init(&attributes);
    if (problem)
        return problem;
    if (pool->cpu_count) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(pool->cpus[worker->index % pool->cpu_count], &set);
        problem = pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
    }
    if (!problem) {
        sigset_t before;
        block_signals(&before);
        problem = pthread_create(&worker->thread, &attributes, work, worker);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&attributes);
    return problem;
}

/* Publishes a new width, and wakes workers so that those with an index of `width` or above end. */
static void set_width(struct pool *pool, unsigned width)
{
    pthread_mutex_lock(&pool->lock);
    pool->width = width;
    pool->posted++;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}

/* Adds one worker, called by the holder of `busy`. On failure the width is unchanged. */
static joule_status add_worker(struct pool *pool, joule_error *out_error)
{
    unsigned index = pool->width;
    struct worker *worker = calloc(1, sizeof *worker);
    if (!worker)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot start thread %u of a pool: out of memory",
                         index);
    set_width(pool, index + 1);
    *worker = (struct worker){.pool = pool, .previous = pool->last, .index = index, .seen = pool->posted};
    int problem = start_thread(worker);
    if (problem) {
        free(worker);
        set_width(pool, index);
        if (problem == EINVAL && pool->cpu_count)
            return error_set(out_error, JOULE_INVALID, "CPU %u is not allowed for this process",
                             pool->cpus[index % pool->cpu_count]);
        return error_set(out_error, JOULE_NO_MEMORY, "cannot start thread %u of a pool: %s", index,
                         strerror(problem));
    }
    char name[16];
    snprintf(name, sizeof name, "pool-%u", index);
    pthread_setname_np(worker->thread, name);
    pool->last = worker;
    return JOULE_OK;
}

/* Ends and frees the workers with an index of `width` or above. Waits for their threads. */
static void remove_workers(struct pool *pool, unsigned width)
{
    set_width(pool, width);
    while (pool->last && pool->last->index >= width) {
        struct worker *worker = pool->last;
        pthread_join(worker->thread, NULL);
        pool->last = worker->previous;
        free(worker);
    }
}

/* Returns the number of CPUs that this process may use, 1 to POOL_MAX_WIDTH. */
static unsigned allowed_cpus(void)
{
    cpu_set_t set;
    long count =
        sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > POOL_MAX_WIDTH ? POOL_MAX_WIDTH : (unsigned)count;
}

/* Adds or removes workers until the pool has this width; 0: one thread for each CPU allowed. */
static joule_status change_width(struct pool *pool, unsigned width, joule_error *out_error)
{
    if (width > POOL_MAX_WIDTH)
        return error_set(out_error, JOULE_INVALID, "a pool of %u threads exceeds the maximum of %d", width,
                         POOL_MAX_WIDTH);
    if (width == 0)
        width = allowed_cpus();
    if (width < pool->width)
        remove_workers(pool, width);
    joule_status status = JOULE_OK;
    while (status == JOULE_OK && pool->width < width)
        status = add_worker(pool, out_error);
    return status;
}

/* Copies the list of CPUs into the pool. Returns false if out of memory. */
static bool copy_cpus(struct pool *pool, const struct pool_options *options)
{
    pool->cpus = calloc(options->cpu_count, sizeof *pool->cpus);
    if (!pool->cpus)
        return false;
    memcpy(pool->cpus, options->cpus, options->cpu_count * sizeof *pool->cpus);
    pool->cpu_count = options->cpu_count;
    return true;
}

joule_status pool_create(const struct pool_options *options, struct pool **out_pool, joule_error *out_error)
{
    static const struct pool_options defaults;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    if (!options)
        options = &defaults;
    for (size_t i = 0; options->cpus && i < options->cpu_count; i++)
        if (options->cpus[i] >= CPU_SETSIZE)
            return error_set(out_error, JOULE_INVALID, "no CPU has the number %u", options->cpus[i]);

    struct pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return error_set(out_error, JOULE_NO_MEMORY, "cannot create a thread pool: out of memory");
    atomic_flag_clear(&pool->busy);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->spin_ns = options->spin_ns;
    pool->forks = fork_count;
    pool->width = 1;
    joule_status status = JOULE_OK;
    if (options->cpus && options->cpu_count && !copy_cpus(pool, options))
        status = error_set(out_error, JOULE_NO_MEMORY, "cannot create a thread pool: out of memory");
    if (status == JOULE_OK)
        status = change_width(pool, options->width, out_error);
    if (status != JOULE_OK) {
        pool_free(pool);
        return status;
    }
    *out_pool = pool;
    return JOULE_OK;
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    if (pool->forks == fork_count) {
        remove_workers(pool, 1);
        pthread_cond_destroy(&pool->done);
        pthread_cond_destroy(&pool->work);
        pthread_mutex_destroy(&pool->lock);
    }
    while (pool->last) { /* in a child after fork: these threads exist only in the parent */
        struct worker *worker = pool->last;
        pool->last = worker->previous;
        free(worker);
    }
    free(pool->cpus);
    free(pool);
}

joule_status pool_resize(struct pool *pool, unsigned width, joule_error *out_error)
{
    if (pool->forks != fork_count)
        return error_set(out_error, JOULE_STALE,
                         "cannot resize a thread pool that was created before fork; create a new one");
    if (atomic_flag_test_and_set_explicit(&pool->busy, memory_order_acquire))
        return error_set(out_error, JOULE_PENDING,
                         "cannot resize the thread pool while it runs a loop; try again after it");
    joule_status status = change_width(pool, width, out_error);
    atomic_flag_clear_explicit(&pool->busy, memory_order_release);
    return status;
}

unsigned pool_width(struct pool *pool)
{
    if (pool->forks != fork_count)
        return 1;
    pthread_mutex_lock(&pool->lock);
    unsigned width = pool->width;
    pthread_mutex_unlock(&pool->lock);
    return width;
}

/* Makes a loop available to the workers. Wakes at most one worker for each chunk but the first, which the
 * caller runs. */
static void open_loop(struct pool *pool, struct loop *loop)
{
    size_t helpers = loop->helpers; /* read before a worker can change it */
    pthread_mutex_lock(&pool->lock);
    pool->loop = loop;
    pool->posted++;
    pthread_mutex_unlock(&pool->lock);
    if (helpers >= pool->width - 1)
        pthread_cond_broadcast(&pool->work);
    else
        while (helpers--)
            pthread_cond_signal(&pool->work);
}

/* Stops workers from joining the loop, and waits for those that joined. */
static void close_loop(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->loop = NULL;
    unsigned active;
    while ((active = pool->active) != 0) {
        spin_while(pool, &pool->active, active);
        while (pool->active)
            pthread_cond_wait(&pool->done, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
}

void parallel_for(struct pool *pool, size_t count, size_t grain, parallel_fn fn, void *context)
{
    parallel_for_few(pool, 0, count, grain, fn, context);
}

void parallel_for_few(struct pool *pool, unsigned width, size_t count, size_t grain, parallel_fn fn,
                      void *context)
{
    if (count == 0)
        return;
    if (grain == 0)
        grain = 1;
    struct loop loop = {.fn = fn, .context = context, .count = count, .grain = grain};
    loop.chunks = (count - 1) / grain + 1;
    loop.helpers = loop.chunks - 1;
    if (width && loop.helpers > width - 1)
        loop.helpers = width - 1;

    bool is_alone = loop.helpers == 0 || !pool || pool->forks != fork_count ||
                    atomic_flag_test_and_set_explicit(&pool->busy, memory_order_acquire);
    if (is_alone) {
        for (size_t chunk = 0; chunk < loop.chunks; chunk++)
            run_chunk(&loop, chunk, 0);
        return;
    }
    if (pool->width > 1)
        open_loop(pool, &loop);
    run_shared(&loop, 0);
    if (pool->width > 1)
        close_loop(pool);
    atomic_flag_clear_explicit(&pool->busy, memory_order_release);
}
