/* Tests one meter that many threads use for a second or two, while lanes read a machine at 1 kHz. The threads
 * call every function that is documented for "any thread".
 *
 * With the thread sanitizer this test also finds data races. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include <joule/joule.h>

#define LASTS_S 1.5
#define ZONE    "sys/class/powercap/intel-rapl:%d"

#if defined(__SANITIZE_THREAD__)
#define HAS_TSAN 1 /* the thread sanitizer cannot follow the child of a process with threads */
#else
#define HAS_TSAN 0
#endif

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* --- a machine whose counters rise ---------------------------------------------------------------------- */

struct machine {
    char root[64];
    int counters[2];
    pthread_t thread;
    _Atomic bool stop;
};

/* Makes the counters rise until the machine stops. Returns NULL on success. */
static void *count(void *argument)
{
    struct machine *machine = argument;
    for (uint64_t uj = 1000000000; !atomic_load(&machine->stop); uj += 20000) {
        char text[32];
        int length = snprintf(text, sizeof text, "%llu\n", (unsigned long long)uj);
        for (int i = 0; i < 2; i++)
            if (pwrite(machine->counters[i], text, (size_t)length, 0) != length)
                return machine;
        usleep(1000);
    }
    return NULL;
}

static void make_folders(char *path)
{
    for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
}

static int make_file(const struct machine *machine, int zone, const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/" ZONE "/%s", machine->root, zone, name);
    make_folders(path);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    return fd;
}

static struct machine *start_machine(void)
{
    struct machine *machine = calloc(1, sizeof *machine);
    assert_non_null(machine);
    strcpy(machine->root, "/tmp/joule-threads-XXXXXX");
    assert_non_null(mkdtemp(machine->root));
    for (int i = 0; i < 2; i++) {
        close(make_file(machine, i, "name", i ? "package-1\n" : "package-0\n"));
        close(make_file(machine, i, "max_energy_range_uj", "262143328850\n"));
        machine->counters[i] = make_file(machine, i, "energy_uj", "1000000000\n");
    }
    assert_int_equal(pthread_create(&machine->thread, NULL, count, machine), 0);
    return machine;
}

static void stop_machine(struct machine *machine)
{
    void *failed;
    atomic_store(&machine->stop, true);
    pthread_join(machine->thread, &failed);
    for (int i = 0; i < 2; i++)
        close(machine->counters[i]);
    char command[100];
    snprintf(command, sizeof command, "rm -r %s", machine->root);
    assert_int_equal(system(command), 0);
    if (failed)
        fail_msg("a counter could not be written");
    free(machine);
}

static joule_meter *open_meter(const struct machine *machine, double wait_s)
{
    joule_options options = {
        .struct_size = sizeof options, .period_s = 0.001, .wait_s = wait_s, .root = machine->root};
    joule_meter *meter = NULL;
    return joule_open(&options, &meter, NULL) == JOULE_OK ? meter : NULL;
}

/* --- actions of threads --------------------------------------------------------------------------------- */

struct work {
    struct machine *machine;
    joule_meter *meter;
    double until_s;
    _Atomic uint64_t asked, sampled, regions, finals, opened, called;
    _Atomic int line; /* line of the first failure; 0 means none */
};

#define EXPECT(work, condition)                                                                              \
    do {                                                                                                     \
        int none = 0;                                                                                        \
        if (!(condition))                                                                                    \
            atomic_compare_exchange_strong(&(work)->line, &none, __LINE__);                                  \
    } while (0)

static bool goes_on(struct work *work)
{
    return now_s() < work->until_s && atomic_load(&work->line) == 0;
}

static void query_domain(struct work *work, size_t index)
{
    joule_domain domain = {.struct_size = sizeof domain};
    joule_quantity joules, watts;
    double gauge;
    EXPECT(work, joule_domain_get(work->meter, index, &domain) == JOULE_OK);
    EXPECT(work, domain.id == (int32_t)index && domain.name[0] && domain.source[0]);
    joule_status status = joule_energy_joules(work->meter, domain.id, &joules);
    EXPECT(work, isnan(joules.value) == (status != JOULE_OK));
    status = joule_power_watts(work->meter, domain.id, &watts);
    EXPECT(work, isnan(watts.value) == (status != JOULE_OK));
    joule_rest_joules(work->meter, domain.id, &joules);
    joule_gauge(work->meter, domain.id, &gauge);
}

static void *query(void *argument)
{
    struct work *work = argument;
    while (goes_on(work)) {
        joule_quantity joules;
        size_t count = joule_domain_count(work->meter);
        EXPECT(work, count >= 2);
        for (size_t i = 0; i < count; i++)
            query_domain(work, i);
        joule_status status = joule_energy_joules(work->meter, JOULE_TOTAL, &joules);
        EXPECT(work, status == JOULE_OK || status == JOULE_PENDING);
        atomic_fetch_add(&work->asked, 1);
    }
    return NULL;
}

static void *sample(void *argument)
{
    struct work *work = argument;
    while (goes_on(work)) {
        EXPECT(work, joule_sample_now(work->meter) == JOULE_OK);
        atomic_fetch_add(&work->sampled, 1);
        usleep(200);
    }
    return NULL;
}

static void *run_regions(void *argument)
{
    struct work *work = argument;
    uint32_t tag = joule_tag("threads");
    while (goes_on(work)) {
        joule_result result = {.struct_size = sizeof result};
        joule_region region = joule_begin(tag);
        usleep(500);
        EXPECT(work, joule_end(&region) == JOULE_OK);
        EXPECT(work, joule_end(&region) == JOULE_INVALID);
        joule_status status = joule_region_result(work->meter, &region, &result);
        EXPECT(work, status == JOULE_OK || status == JOULE_PENDING);
        if (joule_region_wait(work->meter, &region, 0.1, &result) == JOULE_OK)
            atomic_fetch_add(&work->finals, 1);
        status = joule_tag_result(work->meter, tag, &result);
        EXPECT(work, status == JOULE_OK || status == JOULE_PENDING || status == JOULE_ABSENT);
        atomic_fetch_add(&work->regions, 1);
    }
    return NULL;
}

/* Opens a second meter, queries it before its sources are open, and closes it while they may still be
 * opening. */
static void *open_and_close(void *argument)
{
    struct work *work = argument;
    for (int i = 0; goes_on(work); i++) {
        joule_quantity joules;
        joule_meter *second = open_meter(work->machine, i % 2 ? -1 : 0.1);
        EXPECT(work, second != NULL);
        EXPECT(work, joule_sample_now(second) == JOULE_OK);
        joule_energy_joules(second, JOULE_TOTAL, &joules);
        double begin_s = now_s();
        joule_close(second);
        EXPECT(work, now_s() - begin_s < 5);
        atomic_fetch_add(&work->opened, 1);
    }
    return NULL;
}

/* A budget's callback may query, sample and begin budgets, but it must not end a budget. */
static void called(joule_budget *budget, joule_budget_status status, void *context)
{
    struct work *work = context;
    joule_quantity joules;
    joule_budget_result result = {.struct_size = sizeof result};
    EXPECT(work, status == JOULE_BUDGET_NEAR || status == JOULE_BUDGET_OVER);
    EXPECT(work, joule_budget_now(budget, &result) == JOULE_OK);
    EXPECT(work, joule_sample_now(work->meter) == JOULE_OK);
    joule_energy_joules(work->meter, JOULE_TOTAL, &joules);
    joule_region region = joule_begin(joule_tag("callback"));
    EXPECT(work, joule_end(&region) == JOULE_OK);
    atomic_fetch_add(&work->called, 1);
}

static void *run_budgets(void *argument)
{
    struct work *work = argument;
    for (uint32_t i = 0; goes_on(work); i++) {
        joule_budget *budget = NULL;
        joule_budget_options options = {.struct_size = sizeof options,
                                        .domain = JOULE_TOTAL,
                                        .tag = i % 2 ? joule_tag("threads") : 0,
                                        .max_joules = 1e-3,
                                        .notify = called,
                                        .context = work};
        joule_budget_result result = {.struct_size = sizeof result};
        EXPECT(work, joule_budget_begin(work->meter, &options, &budget, NULL) == JOULE_OK);
        if (!budget)
            break;
        usleep(10000);
        EXPECT(work, joule_budget_now(budget, &result) == JOULE_OK);
        EXPECT(work, joule_budget_end(budget, &result) == JOULE_OK);
    }
    return NULL;
}

static void test_any_function_from_any_thread(void **state)
{
    (void)state;
    void *(*const jobs[])(void *) = {query,       query,       sample,      run_regions,
                                     run_regions, run_budgets, run_budgets, open_and_close};
    pthread_t threads[sizeof jobs / sizeof jobs[0]];
    struct work work = {.machine = start_machine()};
    assert_non_null(work.meter = open_meter(work.machine, 1));
    work.until_s = now_s() + LASTS_S;
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, jobs[i], &work), 0);
    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++)
        pthread_join(threads[i], NULL);
    joule_close(work.meter);
    stop_machine(work.machine);
    if (work.line)
        fail_msg("a thread found something wrong in line %d", work.line);
    assert_true(work.asked > 0 && work.sampled > 0 && work.regions > 0 && work.opened > 1);
    assert_true(work.finals > 0 && work.called > 0);
}

/* --- two threads end one region ------------------------------------------------------------------------- */

struct pair {
    joule_region region; /* a copy of the running region */
    /* round: the last round that the main thread has begun. ended: the last round that the other thread has
     * finished. */
    _Atomic uint32_t round, ended;
    joule_status status;
    _Atomic bool stop;
};

static void *end_copies(void *argument)
{
    struct pair *pair = argument;
    for (uint32_t round = 1;; round++) {
        while (atomic_load(&pair->round) != round)
            if (atomic_load(&pair->stop))
                return NULL;
        joule_region copy = pair->region;
        pair->status = joule_end(&copy);
        atomic_store(&pair->ended, round);
    }
}

/* If two threads end a region at once, exactly one succeeds. */
static void test_a_region_ends_once(void **state)
{
    (void)state;
    struct pair pair = {0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, end_copies, &pair), 0);
    double until_s = now_s() + LASTS_S / 2;
    uint32_t round = 0, both = 0, none = 0;
    while (now_s() < until_s) {
        joule_region region = joule_begin(0);
        pair.region = region;
        atomic_store(&pair.round, ++round);
        for (volatile uint32_t wait = 0; wait < round % 64; wait++)
            ;
        joule_status status = joule_end(&region);
        while (atomic_load(&pair.ended) != round)
            ;
        both += status == JOULE_OK && pair.status == JOULE_OK;
        none += status != JOULE_OK && pair.status != JOULE_OK;
    }
    atomic_store(&pair.stop, true);
    pthread_join(thread, NULL);
    assert_true(round > 0);
    assert_int_equal(both, 0);
    assert_int_equal(none, 0);
}

/* --- fork ----------------------------------------------------------------------------------------------- */

/* Returns the line of the first failure, modulo 250, or 0 on success. */
static int in_child(struct work *work)
{
    joule_quantity joules;
    if (joule_energy_joules(work->meter, JOULE_TOTAL, &joules) != JOULE_STALE)
        return __LINE__ % 250;
    joule_close(work->meter);
    joule_meter *own = open_meter(work->machine, 2);
    joule_region region = joule_begin(joule_tag("child"));
    joule_result result = {.struct_size = sizeof result};
    if (!own || joule_end(&region) != JOULE_OK)
        return __LINE__ % 250;
    if (joule_region_wait(own, &region, 5, &result) != JOULE_OK)
        return __LINE__ % 250;
    joule_close(own);
    return 0;
}

static void test_a_child_after_fork_measures_for_itself(void **state)
{
    (void)state;
    if (HAS_TSAN) {
        print_message("the thread sanitizer does not follow threads of a forked child\n");
        skip();
    }
    pthread_t threads[2];
    struct work work = {.machine = start_machine()};
    assert_non_null(work.meter = open_meter(work.machine, 1));
    work.until_s = now_s() + LASTS_S;
    pthread_create(&threads[0], NULL, sample, &work);
    pthread_create(&threads[1], NULL, run_regions, &work);
    for (int i = 0; i < 8; i++) {
        pid_t child = fork(); /* other threads may be reading, opening or joining at the time of the fork */
        if (child == 0) {
            alarm(20);
            _exit(in_child(&work));
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            fail_msg("child %d: status %#x (exit %d)", i, (unsigned)status, WEXITSTATUS(status));
    }
    joule_quantity joules;
    uint64_t before = atomic_load(&work.sampled);
    assert_int_equal(joule_energy_joules(work.meter, JOULE_TOTAL, &joules), JOULE_OK);
    work.until_s = 0;
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert_int_equal(joule_sample_now(work.meter), JOULE_OK);
    assert_true(before > 0);
    joule_close(work.meter);
    stop_machine(work.machine);
    assert_int_equal(work.line, 0);
}

/* --- exit ----------------------------------------------------------------------------------------------- */

static void *query_for_ever(void *unused)
{
    for (;;) {
        joule_quantity joules;
        joule_current_power_watts();
        joule_energy_joules(NULL, JOULE_TOTAL, &joules);
        joule_sample_now(NULL);
    }
    return unused;
}

static void leave(joule_budget *budget, joule_budget_status status, void *context)
{
    (void)budget;
    (void)status;
    (void)context;
    exit(3);
}

/* Exits while threads query the default meter. */
static void exit_while_asked(void)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++)
        if (pthread_create(&thread, NULL, query_for_ever, NULL) != 0)
            _exit(1);
    usleep(100000);
    exit(3);
}

/* Exits in the sampling thread, from the callback of a budget that is soon exceeded. */
static void exit_from_a_callback(void)
{
    joule_budget *budget;
    joule_budget_options options = {
        .struct_size = sizeof options, .domain = JOULE_TOTAL, .max_joules = 1e-9, .notify = leave};
    if (joule_budget_begin(NULL, &options, &budget, NULL) != JOULE_OK)
        _exit(1);
    for (;;)
        pause();
}

static void expect_exit_3(void (*run)(void), struct machine *machine)
{
    setenv("JOULE_ROOT", machine->root, 1);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        run();
        _exit(2);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    unsetenv("JOULE_ROOT");
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 3)
        fail_msg("the child ended with status %#x", (unsigned)status);
}

static void test_a_program_may_exit_at_any_time(void **state)
{
    (void)state;
    if (HAS_TSAN) {
        print_message("the thread sanitizer does not follow threads of a forked child\n");
        skip();
    }
    struct machine *machine = start_machine();
    for (int i = 0; i < 5; i++)
        expect_exit_3(exit_while_asked, machine);
    expect_exit_3(exit_from_a_callback, machine);
    stop_machine(machine);
}

int main(void)
{
    alarm(100);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_function_from_any_thread),
        cmocka_unit_test(test_a_region_ends_once),
        cmocka_unit_test(test_a_child_after_fork_measures_for_itself),
        cmocka_unit_test(test_a_program_may_exit_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
