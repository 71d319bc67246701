/* Tests regions across threads, forks, signals and processes: which thread owns a slot. */
#include <pthread.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "support/session_rounds.h"

/* --- threads and processes ------------------------------------------------------------------------------ */

static void *leave_one_open(void *unused)
{
    (void)unused;
    joule_region kept = joule_begin(1), done = joule_begin(1);
    (void)kept;
    joule_end(&done);
    return NULL;
}

static void a_thread_that_exits_inside_a_region_gives_its_slot_back(void **state)
{
    (void)state;
    for (int i = 0; i < 3 * SESSION_SLOTS; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, leave_one_open, NULL), 0);
        pthread_join(thread, NULL);
        /* pthread_join may return slightly before the kernel frees the id of the ended thread. */
        size_t spans = 0, over = 0;
        for (int tries = 0; tries < 10000 && !over; tries++) {
            struct seen seen = session_read_all(true);
            spans += seen.spans;
            over += seen.over;
        }
        assert_int_equal(spans, 1);
        assert_int_equal(over, 1);
    }
    assert_int_equal(session_read_all(true).open, 0);
}

static void *begin_and_leave(void *region)
{
    *(joule_region *)region = joule_begin(5);
    return NULL;
}

static void a_region_outlives_its_thread(void **state)
{
    (void)state;
    joule_region region, copy;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, begin_and_leave, &region), 0);
    pthread_join(thread, NULL);
    for (int tries = 0; tries < 10000 && !session_read_all(true).over; tries++)
        ;
    copy = region;
    assert_int_equal(joule_end(&region), JOULE_OK);
    struct seen seen = session_read_all(false);
    assert_int_equal(seen.spans, 1);
    assert_int_equal(seen.last.begin_ns, (int64_t)copy.begin_ns);
    assert_int_equal(seen.last.tag, 5);
}

static bool end_of_parent(void *region)
{
    joule_region own = joule_begin(1);
    return joule_end(region) == JOULE_STALE && joule_end(&own) == JOULE_OK;
}

static void a_child_starts_afresh(void **state)
{
    (void)state;
    joule_region region = joule_begin(1);
    assert_true(session_in_child(end_of_parent, &region));
    assert_int_equal(joule_end(&region), JOULE_OK);
    assert_int_equal(session_read_all(false).spans, 1);
}

static bool child_sees_nothing_of_the_parent(void *tag)
{
    struct seen seen = session_read_all(false);
    return seen.slots == 0 && joule_tag("before fork") == *(uint32_t *)tag;
}

static void a_child_has_the_tags_and_no_regions(void **state)
{
    (void)state;
    uint32_t tag = joule_tag("before fork");
    joule_region region = joule_begin(tag);
    assert_true(session_in_child(child_sees_nothing_of_the_parent, &tag));
    joule_end(&region);
}

static pthread_barrier_t all_inside;

static void *be_one_of_many(void *good)
{
    joule_region region = joule_begin(1);
    pthread_barrier_wait(&all_inside);
    *(bool *)good = joule_end(&region) == JOULE_OK && region.end_ns >= region.begin_ns;
    return NULL;
}

static bool more_threads_than_slots(void *unused)
{
    (void)unused;
    enum { THREADS = SESSION_SLOTS + 20 };
    static pthread_t threads[THREADS];
    static bool good[THREADS];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_barrier_init(&all_inside, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], &small, be_one_of_many, &good[i]) != 0)
            _exit(77);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        if (!good[i])
            return false;
    struct seen seen = session_read_all(false);
    return seen.spans == SESSION_SLOTS && seen.folded == THREADS - SESSION_SLOTS && seen.own_s > 0;
}

static void threads_without_a_slot_are_folded_together(void **state)
{
    (void)state;
    assert_true(session_in_child(more_threads_than_slots, NULL));
}

/* Marks all slots as owned by other threads, so that no slot is free. */
static void take_all_slots(void)
{
    struct session_map *map = session_map(session_current());
    for (uint32_t i = 0; i < SESSION_SLOTS; i++)
        atomic_store(&map->owners[i], session_owner(0, i + 1));
}

static bool nest_without_slot(void *unused)
{
    (void)unused;
    take_all_slots();
    double outer_s = 0, inner_s = 0;
    for (int i = 0; i < 100; i++) {
        joule_region outer = joule_begin(1), middle = joule_begin(2), inner = joule_begin(3);
        joule_end(&inner);
        joule_end(&middle);
        joule_end(&outer);
        joule_region left = joule_begin(4); /* this region never ends */
        (void)left;
        outer_s += (double)(outer.end_ns - outer.begin_ns) * 1e-9;
        inner_s += (double)(middle.end_ns - middle.begin_ns + inner.end_ns - inner.begin_ns) * 1e-9;
    }
    struct seen seen = session_read_all(false);
    /* Regions that never end use up the thread's entries for open regions; the sums of the first ones are
     * exact. */
    return seen.folded == 300 && fabs(seen.folded_s - outer_s - inner_s) < 1e-9 &&
           seen.own_s < seen.folded_s && seen.own_s >= outer_s - 1e-9;
}

static void a_thread_without_a_slot_nests(void **state)
{
    (void)state;
    assert_true(session_in_child(nest_without_slot, NULL));
}

static void *do_one(void *unused)
{
    (void)unused;
    joule_region region = joule_begin(1);
    joule_end(&region);
    return NULL;
}

/* Many threads begin and end between two rounds of the reader. Their number is much larger than the number of
 * slots. */
static bool many_threads_in_turn(void *unused)
{
    (void)unused;
    enum { THREADS = 12 * SESSION_SLOTS };
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, do_one, NULL) != 0)
            return false;
        pthread_join(thread, NULL);
    }
    struct seen seen = session_read_all(false);
    return seen.spans == THREADS;
}

static void slots_of_ended_threads_are_used_again(void **state)
{
    (void)state;
    assert_true(session_in_child(many_threads_in_turn, NULL));
}

/* A thread is killed after it has reserved an entry of its ring and before it fills the entry. */
static bool take_over_a_broken_ring(void *unused)
{
    (void)unused;
    struct session_map *map = session_map(session_current());
    pid_t gone = fork();
    if (gone == 0)
        _exit(0);
    waitpid(gone, NULL, 0);
    for (uint32_t i = 0; i < SESSION_SLOTS; i++)
        atomic_store(&map->owners[i], session_owner(0, i + 1));
    atomic_store(&map->owners[7], session_owner((uint32_t)gone, (uint32_t)gone));
    atomic_store(&map->slots_used, SESSION_SLOTS);
    atomic_fetch_add(&map->slots[7].head, 1);
    for (int i = 0; i < 10; i++)
        do_one(NULL);
    return session_read_all(false).spans == 10;
}

static void half_written_region_blocks_no_reader(void **state)
{
    (void)state;
    assert_true(session_in_child(take_over_a_broken_ring, NULL));
}

static _Atomic bool stop;

static void *storm(void *unused)
{
    (void)unused;
    while (!stop) {
        joule_region region = joule_begin(1);
        joule_end(&region);
    }
    return NULL;
}

static bool use_regions(void *unused)
{
    (void)unused;
    for (int i = 0; i < 100; i++) {
        joule_region region = joule_begin(2);
        if (joule_end(&region) != JOULE_OK)
            return false;
    }
    struct seen seen = session_read_all(false);
    return seen.slots == 1 && seen.spans == 100;
}

static void fork_while_other_threads_are_inside_begin(void **state)
{
    (void)state;
    stop = false;
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, storm, NULL), 0);
    for (int i = 0; i < 50; i++)
        assert_true(session_in_child(use_regions, NULL));
    stop = true;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

static void spawn_while_other_threads_are_inside_begin(void **state)
{
    (void)state;
    extern char **environ;
    static char name[] = "true";
    char *const arguments[] = {name, NULL};
    stop = false;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, storm, NULL), 0);
    for (int i = 0; i < 50; i++) {
        pid_t pid;
        int status;
        joule_region region = joule_begin(2);
        assert_int_equal(posix_spawnp(&pid, "true", NULL, NULL, arguments, environ), 0);
        assert_int_equal(joule_end(&region), JOULE_OK);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    stop = true;
    pthread_join(thread, NULL);
}

static volatile sig_atomic_t handled, handler_failed;

static void on_timer(int signal)
{
    (void)signal;
    joule_region region = joule_begin(3), inner = joule_begin(3);
    if (joule_end(&inner) != JOULE_OK || joule_end(&region) != JOULE_OK)
        handler_failed = 1;
    handled++;
}

/* Sends signals every 50 us until 500 of them have been handled, for at most 5 s. */
static void begin_and_end_in_a_signal_handler(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval every = {{0, 50}, {0, 50}}, never = {0};
    uint64_t ended = 0, spans = 0, folded = 0;
    handled = handler_failed = 0;
    time_t start = time(NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    while (handled < 500 && time(NULL) - start < 5) {
        for (int i = 0; i < 1000; i++, ended++) {
            joule_region region = joule_begin(4);
            if (joule_end(&region) != JOULE_OK)
                handler_failed = 2;
        }
        struct seen seen = session_read_all(false);
        spans += seen.spans;
        folded += seen.folded;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    struct seen seen = session_read_all(false);
    assert_int_equal(handler_failed, 0);
    assert_true(handled > 0);
    assert_int_equal(seen.open, 0);
    assert_int_equal(spans + seen.spans + folded + seen.folded, ended + 2 * (uint64_t)handled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_thread_that_exits_inside_a_region_gives_its_slot_back, session_forget),
        cmocka_unit_test_setup(a_region_outlives_its_thread, session_forget),
        cmocka_unit_test_setup(a_child_starts_afresh, session_forget),
        cmocka_unit_test_setup(a_child_has_the_tags_and_no_regions, session_forget),
        cmocka_unit_test_setup(fork_while_other_threads_are_inside_begin, session_forget),
        cmocka_unit_test_setup(spawn_while_other_threads_are_inside_begin, session_forget),
        cmocka_unit_test_setup(threads_without_a_slot_are_folded_together, session_forget),
        cmocka_unit_test_setup(a_thread_without_a_slot_nests, session_forget),
        cmocka_unit_test_setup(slots_of_ended_threads_are_used_again, session_forget),
        cmocka_unit_test_setup(half_written_region_blocks_no_reader, session_forget),
        cmocka_unit_test_setup(begin_and_end_in_a_signal_handler, session_forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
