/* Tests the thread pool: each item runs once, chunks do not depend on the number of threads, and loops may be
 * nested. The pool can be resized, and its idle threads sleep. */
#include <dirent.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/thread.h"
#include "support/check.h"

static struct pool *make_pool(unsigned width)
{
    struct pool *pool = NULL;
    joule_error error = {0};
    if (pool_create(&(struct pool_options){.width = width}, &pool, &error) != JOULE_OK)
        fail_msg("%s", error.message);
    return pool;
}

#define ITEMS 1000
struct record {
    _Atomic unsigned char times[ITEMS]; /* how often each item has run */
    _Atomic size_t begin_of[ITEMS];     /* begin of the item's chunk */
    _Atomic unsigned workers[64];       /* number of running chunks, by worker */
    unsigned width;
    _Atomic bool is_wrong;
};

static void record(void *context, size_t begin, size_t end, unsigned worker)
{
    struct record *record = context;
    if (worker >= record->width || record->workers[worker]++ != 0)
        record->is_wrong = true;
    for (size_t i = begin; i < end; i++) {
        record->times[i]++;
        record->begin_of[i] = begin;
    }
    if (record->workers[worker]-- != 1)
        record->is_wrong = true;
}

static void test_every_item_once_in_the_same_chunks(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 2, 7, 64, 999, 1000}, grains[] = {0, 1, 3, 10, 999, 1000, 5000};
    for (unsigned width = 1; width <= 5; width++) {
        struct pool *pool = make_pool(width);
        assert_int_equal(pool_width(pool), width);
        for (size_t c = 0; c < 7; c++)
            for (size_t g = 0; g < 7; g++) {
                static struct record done;
                memset(&done, 0, sizeof done);
                done.width = width;
                parallel_for(pool, counts[c], grains[g], record, &done);
                assert_false(done.is_wrong);
                size_t grain = grains[g] ? grains[g] : 1;
                for (size_t i = 0; i < ITEMS; i++) {
                    assert_int_equal(done.times[i], i < counts[c]);
                    assert_int_equal(done.begin_of[i], i < counts[c] ? i / grain * grain : 0);
                }
            }
        pool_free(pool);
    }
}

/* The threads of a loop, at any time and in all. */
struct crowd {
    _Atomic unsigned inside, most;
    _Atomic bool took_part[8];
};

static void enter(void *context, size_t begin, size_t end, unsigned worker)
{
    struct crowd *crowd = context;
    unsigned inside = ++crowd->inside, most = crowd->most;
    (void)begin, (void)end;
    while (inside > most && !atomic_compare_exchange_weak(&crowd->most, &most, inside))
        ;
    crowd->took_part[worker] = true;
    usleep(50);
    crowd->inside--;
}

static void test_a_loop_with_a_limit_uses_few_threads(void **state)
{
    (void)state;
    struct pool *pool = make_pool(8);
    for (unsigned width = 1; width <= 9; width++)
        for (int round = 0; round < 10; round++) {
            struct crowd crowd = {0};
            unsigned threads = 0;
            parallel_for_few(pool, width, 100, 1, enter, &crowd);
            for (int i = 0; i < 8; i++)
                threads += crowd.took_part[i];
            assert_true(crowd.most <= width && threads <= width && threads >= 1);
            /* On a busy machine the caller may stand still until the others have run all chunks. */
            assert_true(crowd.took_part[0] || width > 1);
        }
    struct record done = {.width = 8};
    parallel_for_few(pool, 3, ITEMS, 7, record, &done);
    assert_false(done.is_wrong);
    for (size_t i = 0; i < ITEMS; i++)
        assert_true(done.times[i] == 1 && done.begin_of[i] == i / 7 * 7);
    pool_free(pool);
}

static void count_only(void *context, size_t begin, size_t end, unsigned worker)
{
    struct record *record = context;
    (void)worker;
    record->times[0]++;
    if (end <= begin || end - begin > SIZE_MAX / 2)
        record->is_wrong = true;
}

static void test_huge_counts_do_not_overflow(void **state)
{
    (void)state;
    struct pool *pool = make_pool(3);
    struct record done = {.width = 3};
    /* There are three chunks. Adding the chunk size to their begin would overflow SIZE_MAX. */
    parallel_for(pool, SIZE_MAX, SIZE_MAX / 2, count_only, &done);
    assert_int_equal(done.times[0], 3);
    assert_false(done.is_wrong);
    pool_free(pool);
}

struct nest {
    struct pool *pool;
    _Atomic size_t inner;
    _Atomic bool is_elsewhere;
    pthread_t thread;
};

static void inner(void *context, size_t begin, size_t end, unsigned worker)
{
    struct nest *nest = context;
    nest->inner += end - begin;
    if (worker != 0 || !pthread_equal(nest->thread, pthread_self()))
        nest->is_elsewhere = true;
}

static void outer(void *context, size_t begin, size_t end, unsigned worker)
{
    (void)worker;
    struct nest *all = context;
    for (size_t i = begin; i < end; i++) {
        struct nest nest = {.pool = all->pool, .thread = pthread_self()};
        parallel_for(nest.pool, 100, 7, inner, &nest);
        all->inner += nest.inner;
        if (nest.is_elsewhere)
            all->is_elsewhere = true;
    }
    if (pool_resize(all->pool, 2, NULL) != JOULE_PENDING)
        all->is_elsewhere = true;
}

static void test_nested_loops_run_inline(void **state)
{
    (void)state;
    struct nest all = {.pool = make_pool(4)};
    parallel_for(all.pool, 50, 1, outer, &all);
    assert_int_equal(all.inner, 50 * 100);
    assert_false(all.is_elsewhere);
    assert_int_equal(pool_width(all.pool), 4);
    pool_free(all.pool);

    struct nest alone = {.thread = pthread_self()};
    parallel_for(NULL, 100, 7, inner, &alone);
    assert_int_equal(alone.inner, 100);
    assert_false(alone.is_elsewhere);
}

static void add_up(void *context, size_t begin, size_t end, unsigned worker)
{
    (void)worker;
    atomic_fetch_add((_Atomic uint64_t *)context, (end - begin) * (begin + end - 1) / 2);
}

static void check_small_loops(struct pool *pool, int loops)
{
    for (int i = 0; i < loops; i++) {
        _Atomic uint64_t sum = 0;
        parallel_for(pool, 16, 1, add_up, &sum);
        if (sum != 120)
            fail_msg("loop %d added up to %lu", i, (unsigned long)sum);
    }
}

static void test_many_small_loops(void **state)
{
    (void)state;
    struct pool *pool = make_pool(4);
    check_small_loops(pool, 100000);
    pool_free(pool);

    assert_int_equal(pool_create(&(struct pool_options){.width = 2, .spin_ns = 20000}, &pool, NULL),
                     JOULE_OK);
    check_small_loops(pool, 20000);
    pool_free(pool);
}

static void *loop_from_outside(void *pool)
{
    check_small_loops(pool, 5000);
    return NULL;
}

static void test_several_threads_may_run_loops(void **state)
{
    (void)state;
    struct pool *pool = make_pool(3);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, loop_from_outside, pool), 0);
    for (unsigned i = 0; i < 50; i++) {
        joule_status status = pool_resize(pool, 1 + i % 5, NULL);
        assert_true(status == JOULE_OK || status == JOULE_PENDING);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    pool_free(pool);
}

/* State of a loop in which each chunk waits until `want` chunks run at the same time. */
struct meeting {
    _Atomic unsigned present;
    unsigned want;
};

static void meet(void *context, size_t begin, size_t end, unsigned worker)
{
    (void)begin, (void)end, (void)worker;
    struct meeting *meeting = context;
    meeting->present++;
    while (meeting->present < meeting->want)
        sched_yield();
}

static void test_resized_pool_uses_all_threads(void **state)
{
    (void)state;
    static const unsigned widths[] = {1, 4, 2, 6, 3, 3, 1, 5};
    struct pool *pool = make_pool(2);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(pool_resize(pool, widths[i], NULL), JOULE_OK);
        assert_int_equal(pool_width(pool), widths[i]);
        struct meeting meeting = {.want = widths[i]}; /* the loop hangs unless all workers take part */
        parallel_for(pool, widths[i], 1, meet, &meeting);
        assert_int_equal(meeting.present, widths[i]);
    }
    joule_error error = {0};
    assert_int_equal(pool_resize(pool, POOL_MAX_WIDTH + 1, &error), JOULE_INVALID);
    assert_contains(error.message, "1025");
    assert_int_equal(pool_width(pool), 5);
    assert_int_equal(pool_resize(pool, 0, NULL), JOULE_OK);
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    assert_int_equal(pool_width(pool), CPU_COUNT(&set));
    pool_free(pool);
    pool_free(NULL);
}

struct places {
    struct meeting meeting; /* first member, because meet() casts to it */
    int cpu_of[4];
    bool has_signals[4];
};

static void record_place(void *context, size_t begin, size_t end, unsigned worker)
{
    struct places *places = context;
    meet(&places->meeting, begin, end, worker);
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) == 1)
        for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &set))
                places->cpu_of[worker] = cpu;
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    places->has_signals[worker] = !sigismember(&blocked, SIGTERM) || sigismember(&blocked, SIGSEGV);
}

static void test_workers_stay_on_their_cpu_and_get_no_signals(void **state)
{
    (void)state;
    unsigned cpu = (unsigned)sched_getcpu();
    struct pool *pool = NULL;
    struct pool_options options = {.width = 4, .cpus = &cpu, .cpu_count = 1};
    assert_int_equal(pool_create(&options, &pool, NULL), JOULE_OK);
    struct places places = {.meeting.want = 4, .cpu_of = {-1, -1, -1, -1}};
    parallel_for(pool, 4, 1, record_place, &places);
    for (int worker = 1; worker < 4; worker++) {
        assert_int_equal(places.cpu_of[worker], cpu);
        assert_false(places.has_signals[worker]);
    }
    pool_free(pool);

    joule_error error = {0};
    options.cpus = &(unsigned){CPU_SETSIZE - 1};
    assert_int_equal(pool_create(&options, &pool, &error), JOULE_INVALID);
    assert_contains(error.message, "1023");
    options.cpus = &(unsigned){100000};
    assert_int_equal(pool_create(&options, &pool, &error), JOULE_INVALID);
}

/* Returns the number of threads of this process that run or are runnable. */
static unsigned threads_not_asleep(void)
{
    unsigned awake = 0;
    DIR *folder = opendir("/proc/self/task");
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[300], line[300] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", entry->d_name);
        FILE *file = atoi(entry->d_name) > 0 && atoi(entry->d_name) != gettid() ? fopen(path, "r") : NULL;
        if (!file)
            continue;
        char *name_end = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
        awake += strstr(line, "(pool-") && name_end && name_end[2] != 'S';
        fclose(file);
    }
    closedir(folder);
    return awake;
}

static void test_idle_workers_sleep(void **state)
{
    (void)state;
    struct pool *pool = make_pool(4);
    struct meeting meeting = {.want = 4};
    parallel_for(pool, 4, 1, meet, &meeting);
    unsigned tries = 0;
    while (threads_not_asleep() && tries++ < 1000)
        usleep(5000);
    assert_true(tries < 1000);
    pool_free(pool);
}

static void test_after_fork_a_loop_runs_alone(void **state)
{
    (void)state;
    struct pool *pool = make_pool(3);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _Atomic uint64_t sum = 0;
        parallel_for(pool, 16, 1, add_up, &sum);
        bool is_right = sum == 120 && pool_width(pool) == 1 && pool_resize(pool, 2, NULL) == JOULE_STALE;
        pool_free(pool);
        _exit(is_right ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    check_small_loops(pool, 10);
    pool_free(pool);
}

int main(void)
{
    alarm(100); /* ends the program if a lost wake-up makes it hang */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_item_once_in_the_same_chunks),
        cmocka_unit_test(test_a_loop_with_a_limit_uses_few_threads),
        cmocka_unit_test(test_huge_counts_do_not_overflow),
        cmocka_unit_test(test_nested_loops_run_inline),
        cmocka_unit_test(test_many_small_loops),
        cmocka_unit_test(test_several_threads_may_run_loops),
        cmocka_unit_test(test_resized_pool_uses_all_threads),
        cmocka_unit_test(test_workers_stay_on_their_cpu_and_get_no_signals),
        cmocka_unit_test(test_idle_workers_sleep),
        cmocka_unit_test(test_after_fork_a_loop_runs_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
