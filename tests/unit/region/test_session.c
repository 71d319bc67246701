/* The shared memory of regions: tags, slots, rings, folding, forks, and shared sessions. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "joule/reader.h"
#include "joule/session.h"

static struct reader reader;

/* What one round handed on. */
struct seen {
    size_t slots, open, spans, over;
    uint64_t folded;
    double folded_s;
    struct span last;
};

static void look(void *context, const struct slot_news *news)
{
    struct seen *seen = context;
    seen->slots++;
    seen->open += news->open_count;
    seen->spans += news->span_count;
    seen->over += news->is_over;
    for (size_t i = 0; i < news->fold_count; i++) {
        seen->folded += news->folds[i].count;
        seen->folded_s += news->folds[i].duration_s;
    }
    if (news->span_count)
        seen->last = news->spans[news->span_count - 1];
}

static struct seen read_all(bool ask_owners)
{
    struct seen seen = {0};
    if (reader.map != session_map(session_current()))
        reader_start(&reader, session_map(session_current()));
    reader_round(&reader, 0, ask_owners, look, &seen);
    return seen;
}

static int forget(void **state)
{
    (void)state;
    read_all(true);
    return 0;
}

/* Runs in a child; its exit status is 0 when `body` returned true. */
static bool in_child(bool (*body)(void *), void *argument)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(body(argument) ? 0 : 1);
    int status;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void names_become_the_same_number_again(void **state)
{
    (void)state;
    uint32_t a = joule_tag("alpha"), b = joule_tag("beta");
    assert_int_not_equal(a, b);
    assert_int_equal(a, joule_tag("alpha"));
    assert_int_equal(b, joule_tag("beta"));
    assert_int_equal(joule_tag(NULL), TAG_OTHER);
    assert_int_equal(joule_tag(""), TAG_OTHER);
    char name[SESSION_NAME];
    session_tag_name(session_current(), a, name);
    assert_string_equal(name, "alpha");
    session_tag_name(session_current(), 4000000000u, name);
    assert_string_equal(name, "(other)");
}

static void long_names_are_cut_between_characters(void **state)
{
    (void)state;
    char long_name[SESSION_NAME + 10], name[SESSION_NAME];
    memset(long_name, 'x', sizeof long_name);
    memcpy(long_name + SESSION_NAME - 2, "\xc3\xa9", 2); /* bytes 46 and 47: only the first would fit */
    long_name[sizeof long_name - 1] = '\0';
    session_tag_name(session_current(), joule_tag(long_name), name);
    assert_int_equal(strlen(name), SESSION_NAME - 2);
    assert_int_equal(name[SESSION_NAME - 3], 'x');
}

static bool fill_tags(void *unused)
{
    (void)unused;
    uint32_t seen[SESSION_TAGS] = {0};
    for (int i = 0; i < SESSION_TAGS + 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "tag %d", i);
        uint32_t tag = joule_tag(name);
        if (tag != joule_tag(name) || (tag != TAG_OTHER && seen[tag]++))
            return false;
    }
    char name[SESSION_NAME];
    session_tag_name(session_current(), SESSION_TAGS - 1, name);
    return joule_tag("one more") == TAG_OTHER && strncmp(name, "tag ", 4) == 0;
}

static void a_full_table_gives_other(void **state)
{
    (void)state;
    assert_true(in_child(fill_tags, NULL));
}

static void *make_tags(void *numbers)
{
    uint32_t *out = numbers;
    for (int i = 0; i < 500; i++) {
        char name[32];
        snprintf(name, sizeof name, "shared %d", i);
        out[i] = joule_tag(name);
    }
    return NULL;
}

static void threads_agree_on_names(void **state)
{
    (void)state;
    static uint32_t numbers[4][500];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, make_tags, numbers[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 1; i < 4; i++)
        assert_memory_equal(numbers[0], numbers[i], sizeof numbers[0]);
}

static void a_region_is_open_then_finished(void **state)
{
    (void)state;
    uint32_t tag = joule_tag("one");
    joule_region outer = joule_begin_with(tag, JOULE_REGION_CPU), inner = joule_begin(tag);
    assert_int_equal(read_all(false).open, 2);
    assert_int_equal(joule_end(&inner), JOULE_OK);
    struct seen seen = read_all(false);
    assert_int_equal(seen.open, 1);
    assert_int_equal(seen.spans, 1);
    assert_int_equal(joule_end(&outer), JOULE_OK);
    seen = read_all(false);
    assert_int_equal(seen.open, 0);
    assert_int_equal(seen.spans, 1);
    assert_int_equal(seen.last.begin_ns, (int64_t)outer.begin_ns);
    assert_int_equal(seen.last.end_ns, (int64_t)outer.end_ns);
    assert_int_equal(seen.last.tag, tag);
    assert_int_equal(seen.last.flags, JOULE_REGION_CPU);
    assert_int_equal(read_all(false).spans, 0);
}

static void a_region_ends_once(void **state)
{
    (void)state;
    joule_region region = joule_begin(1), copy = region, never = {0};
    assert_int_equal(joule_end(&region), JOULE_OK);
    assert_int_equal(joule_end(&region), JOULE_INVALID);
    assert_int_equal(joule_end(&copy), JOULE_INVALID);
    assert_int_equal(joule_end(&never), JOULE_INVALID);
    assert_int_equal(joule_end(NULL), JOULE_INVALID);
    assert_int_equal(read_all(false).spans, 1);
}

static void ends_may_come_in_any_order(void **state)
{
    (void)state;
    joule_region regions[5];
    for (int i = 0; i < 5; i++)
        regions[i] = joule_begin(1);
    static const int order[] = {2, 0, 4, 1, 3};
    for (int i = 0; i < 5; i++)
        assert_int_equal(joule_end(&regions[order[i]]), JOULE_OK);
    struct seen seen = read_all(false);
    assert_int_equal(seen.spans, 5);
    assert_int_equal(seen.open, 0);
}

static void deep_nesting_is_timed_although_not_listed(void **state)
{
    (void)state;
    joule_region regions[SESSION_OPEN + 20];
    for (int i = 0; i < SESSION_OPEN + 20; i++)
        regions[i] = joule_begin(1);
    assert_int_equal(read_all(false).open, SESSION_OPEN);
    for (int i = SESSION_OPEN + 19; i >= 0; i--)
        assert_int_equal(joule_end(&regions[i]), JOULE_OK);
    assert_int_equal(read_all(false).spans, SESSION_OPEN + 20);
}

static void *end_it(void *region)
{
    return joule_end(region) == JOULE_OK ? region : NULL;
}

static void another_thread_may_end_a_region_unless_it_is_owned(void **state)
{
    (void)state;
    joule_region free_region = joule_begin(1), owned = joule_begin_with(1, JOULE_REGION_THREAD_OWNED);
    pthread_t thread;
    void *result;
    assert_int_equal(pthread_create(&thread, NULL, end_it, &free_region), 0);
    pthread_join(thread, &result);
    assert_non_null(result);
    assert_int_equal(pthread_create(&thread, NULL, end_it, &owned), 0);
    pthread_join(thread, &result);
    assert_null(result);
    struct seen seen = read_all(false);
    assert_int_equal(seen.open, 1);
    assert_int_equal(seen.spans, 1);
    assert_int_equal(seen.last.begin_ns, (int64_t)free_region.begin_ns);
    assert_int_equal(joule_end(&owned), JOULE_OK);
}

static void a_full_ring_folds_and_keeps_counting(void **state)
{
    (void)state;
    enum { COUNT = 3 * SESSION_RING };
    uint32_t tags[4] = {joule_tag("f0"), joule_tag("f1"), joule_tag("f2"), joule_tag("f3")};
    double duration_s = 0;
    for (int i = 0; i < COUNT; i++) {
        joule_region region = joule_begin(tags[i % 4]);
        assert_int_equal(joule_end(&region), JOULE_OK);
        duration_s += (double)(region.end_ns - region.begin_ns) * 1e-9;
    }
    struct seen seen = read_all(false);
    assert_int_equal(seen.spans + seen.folded, COUNT);
    assert_true(seen.folded > 0 && seen.folded_s > 0 && seen.folded_s < duration_s);
    assert_int_equal(read_all(false).folded, 0);
}

static void long_regions_find_room_in_a_full_ring(void **state)
{
    (void)state;
    joule_region outer = joule_begin(1);
    struct timespec while_ = {.tv_nsec = 2 * SESSION_LONG_NS};
    nanosleep(&while_, NULL);
    for (int i = 0; i < 2 * SESSION_RING; i++) {
        joule_region region = joule_begin(2);
        joule_end(&region);
    }
    assert_int_equal(joule_end(&outer), JOULE_OK);
    struct seen seen = read_all(false);
    assert_int_equal(seen.last.begin_ns, (int64_t)outer.begin_ns);
}

static void more_tags_than_folds_go_to_other(void **state)
{
    (void)state;
    static struct slot slot;
    for (uint32_t tag = 0; tag < SESSION_TAGS; tag++)
        slot_fold(&slot, tag, 10);
    uint64_t count = 0, duration_ns = 0;
    for (int i = 0; i < SESSION_FOLDS; i++) {
        count += slot.folds[i].count;
        duration_ns += slot.folds[i].duration_ns;
    }
    assert_int_equal(count, SESSION_TAGS);
    assert_int_equal(duration_ns, 10 * SESSION_TAGS);
    assert_true(slot.folds[SESSION_FOLDS - 1].count > 0);
}

/* --- threads and processes ---------------------------------------------------------------------------------- */

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
        /* The kernel wakes the joiner a moment before the thread's number is free. */
        size_t spans = 0, over = 0;
        for (int tries = 0; tries < 10000 && !over; tries++) {
            struct seen seen = read_all(true);
            spans += seen.spans;
            over += seen.over;
        }
        assert_int_equal(spans, 1);
        assert_int_equal(over, 1);
    }
    assert_int_equal(read_all(true).open, 0);
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
    for (int tries = 0; tries < 10000 && !read_all(true).over; tries++)
        ;
    copy = region;
    assert_int_equal(joule_end(&region), JOULE_OK);
    struct seen seen = read_all(false);
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
    assert_true(in_child(end_of_parent, &region));
    assert_int_equal(joule_end(&region), JOULE_OK);
    assert_int_equal(read_all(false).spans, 1);
}

static bool child_sees_nothing_of_the_parent(void *tag)
{
    struct seen seen = read_all(false);
    return seen.slots == 0 && joule_tag("before fork") == *(uint32_t *)tag;
}

static void a_child_has_the_tags_and_no_regions(void **state)
{
    (void)state;
    uint32_t tag = joule_tag("before fork");
    joule_region region = joule_begin(tag);
    assert_true(in_child(child_sees_nothing_of_the_parent, &tag));
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
    return read_all(false).spans == SESSION_SLOTS;
}

static void threads_without_a_slot_are_still_timed(void **state)
{
    (void)state;
    assert_true(in_child(more_threads_than_slots, NULL));
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
    struct seen seen = read_all(false);
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
        assert_true(in_child(use_regions, NULL));
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

/* Signals every 50 us for as long as 500 of them take, at most 5 s. */
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
        struct seen seen = read_all(false);
        spans += seen.spans;
        folded += seen.folded;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    struct seen seen = read_all(false);
    assert_int_equal(handler_failed, 0);
    assert_true(handled > 0);
    assert_int_equal(seen.open, 0);
    assert_int_equal(spans + seen.spans + folded + seen.folded, ended + 2 * (uint64_t)handled);
}

/* --- shared sessions ---------------------------------------------------------------------------------------- */

static void push_some(int count)
{
    for (int i = 0; i < count; i++) {
        joule_region region = joule_begin(1);
        joule_end(&region);
    }
}

static bool be_a_client(void *unused)
{
    (void)unused;
    if (!session_is_client(session_current()))
        return false;
    push_some(100);
    joule_region open = joule_begin(2);
    (void)open;
    raise(SIGKILL);
    return false;
}

static bool share_and_lose_a_child(void *unused)
{
    (void)unused;
    char path[256];
    joule_error error;
    struct stat st;
    if (session_create_shared(path, sizeof path, &error) != JOULE_OK || stat(path, &st) != 0 ||
        (st.st_mode & 0777) != 0600 || session_is_client(session_current()))
        return false;
    push_some(10);
    in_child(be_a_client, NULL);
    struct seen seen = read_all(false);
    if (seen.spans != 110 || seen.open != 1)
        return false;
    seen = read_all(true);
    if (seen.over != 1)
        return false;
    seen = read_all(true);
    session_remove_shared();
    return seen.slots == 1 && seen.open == 0 && stat(path, &st) != 0;
}

static void a_killed_child_loses_no_finished_region(void **state)
{
    (void)state;
    assert_true(in_child(share_and_lose_a_child, NULL));
}

static bool end_of_parent_in_shared(void *region)
{
    return joule_end(region) == JOULE_STALE;
}

static bool share_and_fork_inside_a_region(void *unused)
{
    (void)unused;
    char path[256];
    if (session_create_shared(path, sizeof path, NULL) != JOULE_OK)
        return false;
    joule_region region = joule_begin(1);
    bool good = in_child(end_of_parent_in_shared, &region) && joule_end(&region) == JOULE_OK;
    session_remove_shared();
    return good;
}

static void a_child_cannot_end_the_parents_region(void **state)
{
    (void)state;
    assert_true(in_child(share_and_fork_inside_a_region, NULL));
}

/* A file that its owner could not remove goes with the next session; one that is in use, or new, stays. */
static bool leave_files(void *unused)
{
    (void)unused;
    char mine[256], dead[300], fresh[300];
    struct stat st;
    const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    if (session_create_shared(mine, sizeof mine, NULL) != JOULE_OK)
        return false;
    snprintf(dead, sizeof dead, "%s-dead", mine);
    snprintf(fresh, sizeof fresh, "%s-fresh", mine);
    int a = open(dead, O_CREAT | O_RDWR, 0600), b = open(fresh, O_CREAT | O_RDWR, 0600);
    close(a);
    close(b);
    utimensat(AT_FDCWD, dead, long_ago, 0);
    utimensat(AT_FDCWD, mine, long_ago, 0);
    char other[256];
    pid_t pid = fork();
    if (pid == 0) {
        bool made = session_create_shared(other, sizeof other, NULL) == JOULE_OK;
        session_remove_shared();
        _exit(made ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    bool good = status == 0 && stat(dead, &st) != 0 && stat(fresh, &st) == 0 && stat(mine, &st) == 0;
    unlink(fresh);
    unlink(dead);
    session_remove_shared();
    return good;
}

static void files_of_dead_owners_are_removed(void **state)
{
    (void)state;
    assert_true(in_child(leave_files, NULL));
}

#define CANNOT_MOUNT 2

/* With room for the session's header and a few names, and neither for the board nor for a slot: regions are timed, names
 * become "(other)", and nobody is killed by SIGBUS. */
static int use_a_full_file_system(void)
{
    char path[256];
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWNS | CLONE_NEWUSER) != 0)
        return CANNOT_MOUNT;
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", "/dev/shm", "tmpfs", 0, "size=48k") != 0)
        return CANNOT_MOUNT;
    if (session_create_shared(path, sizeof path, NULL) != JOULE_OK || strncmp(path, "/dev/shm/", 9) != 0)
        return 1;
    for (int i = 0; i < 10000; i++) {
        joule_region region = joule_begin(1);
        if (joule_end(&region) != JOULE_OK)
            return 1;
    }
    uint32_t tag = 1;
    for (int i = 0; i < 1000 && tag != TAG_OTHER; i++) {
        char name[16];
        snprintf(name, sizeof name, "name %d", i);
        tag = session_tag(session_current(), name);
    }
    joule_quantity none = quantity_unknown();
    session_publish(session_current(), 1, &none, &none, &none);
    bool nothing_is_published = atomic_load(&session_map(session_current())->board_count) == 0;
    return read_all(true).slots == 0 && tag == TAG_OTHER && nothing_is_published ? 0 : 1;
}

static void a_full_file_system_kills_nobody(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0)
        _exit(use_a_full_file_system());
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT_MOUNT) {
        print_message("skipped: no small file system can be mounted here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static bool publish_and_ask(void *unused)
{
    (void)unused;
    struct session *session = session_current();
    for (int i = 0; i <= 3000; i++) {
        joule_quantity total = {10.0 * i, 9.0 * i, 11.0 * i, JOULE_CLASS_MEASURED, 0};
        joule_quantity none = quantity_unknown();
        session_publish(session, 1000 + i * 1000000000LL, &total, &total, &none);
    }
    struct window w =
        session_window(session, JOULE_TOTAL, 2500 * 1000000000LL, 2600 * 1000000000LL + 500000000);
    struct window gpu =
        session_window(session, JOULE_GPU, 2500 * 1000000000LL, 2600 * 1000000000LL + 500000000);
    joule_quantity q = estimate_quantity(&w.joules);
    return w.is_final && q.value > 1004.9 && q.value < 1005.1 && q.low < 0.92 * q.value &&
           q.high > 1.08 * q.value && gpu.covered_s == 0;
}

static void clients_read_the_board(void **state)
{
    (void)state;
    assert_true(in_child(publish_and_ask, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(names_become_the_same_number_again, forget),
        cmocka_unit_test_setup(long_names_are_cut_between_characters, forget),
        cmocka_unit_test_setup(a_full_table_gives_other, forget),
        cmocka_unit_test_setup(threads_agree_on_names, forget),
        cmocka_unit_test_setup(a_region_is_open_then_finished, forget),
        cmocka_unit_test_setup(a_region_ends_once, forget),
        cmocka_unit_test_setup(ends_may_come_in_any_order, forget),
        cmocka_unit_test_setup(deep_nesting_is_timed_although_not_listed, forget),
        cmocka_unit_test_setup(another_thread_may_end_a_region_unless_it_is_owned, forget),
        cmocka_unit_test_setup(a_full_ring_folds_and_keeps_counting, forget),
        cmocka_unit_test_setup(long_regions_find_room_in_a_full_ring, forget),
        cmocka_unit_test_setup(more_tags_than_folds_go_to_other, forget),
        cmocka_unit_test_setup(a_thread_that_exits_inside_a_region_gives_its_slot_back, forget),
        cmocka_unit_test_setup(a_region_outlives_its_thread, forget),
        cmocka_unit_test_setup(a_child_starts_afresh, forget),
        cmocka_unit_test_setup(a_child_has_the_tags_and_no_regions, forget),
        cmocka_unit_test_setup(fork_while_other_threads_are_inside_begin, forget),
        cmocka_unit_test_setup(spawn_while_other_threads_are_inside_begin, forget),
        cmocka_unit_test_setup(threads_without_a_slot_are_still_timed, forget),
        cmocka_unit_test_setup(begin_and_end_in_a_signal_handler, forget),
        cmocka_unit_test_setup(a_killed_child_loses_no_finished_region, forget),
        cmocka_unit_test_setup(a_child_cannot_end_the_parents_region, forget),
        cmocka_unit_test_setup(files_of_dead_owners_are_removed, forget),
        cmocka_unit_test_setup(a_full_file_system_kills_nobody, forget),
        cmocka_unit_test_setup(clients_read_the_board, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
