/* Tests regions in real processes: forks, clients of a session, a killed process, and a library that is
 * loaded and unloaded. */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include <joule/budget.h>
#include "joule/collector/collector.h"
#include "joule/session/session.h"

#define CLIENTS      8
#define REGIONS_EACH 500

static const char *own_path;

static void pause_ms(long ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static bool exited_well(pid_t pid)
{
    int status;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool in_child(bool (*body)(void *), void *argument)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(body(argument) ? 0 : 1);
    return exited_well(pid);
}

/* --- roles of this program as a child of a session ------------------------------------------------------ */

static void do_regions(int count)
{
    uint32_t tag = joule_tag("work");
    for (int i = 0; i < count; i++) {
        joule_region region = joule_begin(tag);
        joule_end(&region);
    }
}

/* Begins, ends and queries one region as an ordinary program does. Returns 0, the exit status for success, if
 * the values came from the parent. */
static int query_as_client(void)
{
    joule_meter *meter = NULL;
    joule_error error = {0};
    if (joule_open(NULL, &meter, &error) != JOULE_OK || joule_domain_count(meter) != 0)
        return 2;
    joule_region region = joule_begin(joule_tag("asked"));
    pause_ms(200);
    joule_end(&region);
    joule_result result = {.struct_size = sizeof result};
    joule_status status = joule_region_wait(meter, &region, 5, &result);
    joule_quantity total;
    bool good = status == JOULE_OK && result.window.value > 0 && isnan(result.attributed.value) &&
                joule_tag_result(meter, region.tag, &result) == JOULE_UNSUPPORTED &&
                joule_energy_joules(meter, JOULE_TOTAL, &total) == JOULE_OK && total.value > 0;
    joule_close(meter);
    return good ? 0 : 3;
}

static void do_scopes(int count)
{
    for (int i = 0; i < count; i++) {
        JOULE_BUDGET_SCOPE("max_joules=1J");
    }
}

/* Makes regions and scopes between two calls that a tracer can see, for
 * tests/programs/test_region_syscalls.sh. */
static int make_marked_regions(void)
{
    do_regions(1);
    do_scopes(1);
    if (write(-1, "regions begin", 13) != -1)
        return 1;
    do_regions(100000);
    do_scopes(1000);
    return write(-1, "regions end", 11) != -1;
}

static void query_slowly(joule_budget *budget, joule_budget_status status, void *is_inside)
{
    (void)budget;
    (void)status;
    *(_Atomic bool *)is_inside = true;
    pause_ms(300); /* the program ends during this time */
    joule_current_power_watts();
}

/* Returns from main() while a budget's callback is about to query the default meter. */
static int end_inside_a_callback(void)
{
    static _Atomic bool is_inside;
    joule_budget *budget;
    joule_budget_options options = {.struct_size = sizeof options,
                                    .domain = JOULE_TOTAL,
                                    .max_joules = 1e-6,
                                    .notify = query_slowly,
                                    .context = (void *)&is_inside};
    alarm(20);
    if (joule_budget_begin(NULL, &options, &budget, NULL) != JOULE_OK)
        return 1;
    for (int i = 0; i < 500 && !is_inside; i++)
        pause_ms(10);
    return is_inside ? 0 : 1;
}

static int be_client(const char *role)
{
    if (strcmp(role, "end inside") == 0)
        return end_inside_a_callback();
    if (strcmp(role, "marked") == 0)
        return make_marked_regions();
    if (!session_is_client(session_current()))
        return 4;
    if (strcmp(role, "ask") == 0)
        return query_as_client();
    do_regions(REGIONS_EACH);
    if (strcmp(role, "die") == 0) {
        joule_begin(joule_tag("never ended"));
        raise(SIGKILL);
    }
    return 0;
}

static pid_t start_client(const char *role)
{
    extern char **environ;
    char *const arguments[] = {(char *)own_path, (char *)role, NULL};
    pid_t pid = -1;
    return posix_spawn(&pid, own_path, NULL, NULL, arguments, environ) == 0 ? pid : -1;
}

/* --- a parent and its clients --------------------------------------------------------------------------- */

static joule_meter *open_sharing(void)
{
    char path[256];
    joule_meter *meter = NULL;
    joule_options options = {.struct_size = sizeof options, .period_s = 0.02, .sources = "estimated"};
    if (session_create_shared(path, sizeof path, NULL) != JOULE_OK || setenv("JOULE_SESSION", path, 1) != 0 ||
        joule_open(&options, &meter, NULL) != JOULE_OK)
        return NULL;
    return meter;
}

static bool eight_clients_one_killed(void *unused)
{
    (void)unused;
    joule_meter *meter = open_sharing();
    if (!meter)
        return false;
    pid_t pids[CLIENTS];
    for (int i = 0; i < CLIENTS; i++)
        pids[i] = start_client(i == 3 ? "die" : "work");
    bool good = true;
    for (int i = 0; i < CLIENTS; i++) {
        int status = 0;
        waitpid(pids[i], &status, 0);
        good = good && (i == 3 ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL : status == 0);
    }
    joule_sample_now(meter);
    collector_finish(collector_of(meter));
    joule_result result = {.struct_size = sizeof result};
    joule_status status = joule_tag_result(meter, joule_tag("work"), &result);
    good = good && status == JOULE_OK && result.count == CLIENTS * REGIONS_EACH &&
           joule_tag_result(meter, joule_tag("never ended"), &result) == JOULE_ABSENT;
    session_remove_shared();
    joule_close(meter);
    return good;
}

static void a_killed_client_loses_no_finished_region(void **state)
{
    (void)state;
    assert_true(in_child(eight_clients_one_killed, NULL));
}

static bool serve_one_question(void *unused)
{
    (void)unused;
    joule_meter *meter = open_sharing();
    bool good = meter && exited_well(start_client("ask"));
    session_remove_shared();
    joule_close(meter);
    return good;
}

static void client_queries_its_parent(void **state)
{
    (void)state;
    assert_true(in_child(serve_one_question, NULL));
}

/* If the parent has ended and the session's file is removed, a child does not use the session and measures by
 * itself. */
static bool outlive_the_session(void *unused)
{
    (void)unused;
    char path[256];
    if (session_create_shared(path, sizeof path, NULL) != JOULE_OK)
        return false;
    setenv("JOULE_SESSION", path, 1);
    session_remove_shared();
    int status;
    pid_t pid = start_client("work");
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 4;
}

static void without_its_session_a_child_is_no_client(void **state)
{
    (void)state;
    assert_true(in_child(outlive_the_session, NULL));
}

/* --- forks ---------------------------------------------------------------------------------------------- */

static bool measure_in_child(void *unused)
{
    (void)unused;
    joule_options options = {.struct_size = sizeof options, .period_s = 0.01, .sources = "estimated"};
    joule_meter *meter = NULL;
    if (joule_open(&options, &meter, NULL) != JOULE_OK)
        return false;
    joule_region region = joule_begin(joule_tag("child"));
    pause_ms(30);
    joule_end(&region);
    joule_result result = {.struct_size = sizeof result};
    bool good = joule_region_wait(meter, &region, 5, &result) == JOULE_OK &&
                joule_tag_result(meter, joule_tag("parent"), &result) == JOULE_ABSENT;
    joule_close(meter);
    return good;
}

/* ThreadSanitizer does not support threads in a child that was forked from a process with several threads. */
#if defined(__SANITIZE_THREAD__)
#define CHILDREN_HAVE_THREADS false
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CHILDREN_HAVE_THREADS false
#endif
#endif
#ifndef CHILDREN_HAVE_THREADS
#define CHILDREN_HAVE_THREADS true
#endif

static bool forks_while_sampling(void *unused)
{
    (void)unused;
    joule_options options = {.struct_size = sizeof options, .period_s = 0.001, .sources = "estimated"};
    joule_meter *meter = NULL;
    if (joule_open(&options, &meter, NULL) != JOULE_OK)
        return false;
    bool good = true;
    joule_region outer = joule_begin(joule_tag("parent"));
    for (int i = 0; i < 20 && good; i++) {
        pause_ms(1);
        good = in_child(measure_in_child, NULL);
    }
    joule_end(&outer);
    joule_result result = {.struct_size = sizeof result};
    good = good && joule_region_wait(meter, &outer, 5, &result) == JOULE_OK && result.coverage > 0.9;
    joule_close(meter);
    return good;
}

static void fork_while_sampling_and_inside_a_region(void **state)
{
    (void)state;
    if (!CHILDREN_HAVE_THREADS) {
        print_message("skipped: a child cannot start threads under ThreadSanitizer\n");
        skip();
    }
    assert_true(in_child(forks_while_sampling, NULL));
}

/* --- begin, end and the collector at once --------------------------------------------------------------- */

static _Atomic bool stop;
static _Atomic uint64_t ended;

static void *nest(void *unused)
{
    (void)unused;
    uint32_t outer_tag = joule_tag("outer"), inner_tag = joule_tag("inner");
    while (!stop) {
        joule_region outer = joule_begin(outer_tag);
        for (int i = 0; i < 20; i++) {
            joule_region inner = joule_begin(inner_tag);
            joule_end(&inner);
        }
        joule_end(&outer);
        ended += 21;
    }
    return NULL;
}

static _Atomic(joule_region *) mailbox;

static void *end_what_comes(void *unused)
{
    (void)unused;
    while (!stop) {
        joule_region *region = atomic_exchange(&mailbox, NULL);
        if (region && joule_end(region) == JOULE_OK)
            ended++;
        free(region);
    }
    return NULL;
}

static void *begin_for_others(void *unused)
{
    (void)unused;
    while (!stop) {
        joule_region *region = malloc(sizeof *region);
        *region = joule_begin(joule_tag("passed on"));
        bool is_passed_on = false;
        while (!stop && !is_passed_on) {
            joule_region *nothing = NULL;
            is_passed_on = atomic_compare_exchange_weak(&mailbox, &nothing, region);
        }
        if (!is_passed_on) {
            ended += joule_end(region) == JOULE_OK;
            free(region);
        }
    }
    return NULL;
}

static void threads_and_the_collector_at_once(void **state)
{
    (void)state;
    joule_options options = {.struct_size = sizeof options, .period_s = 0.001, .sources = "estimated"};
    joule_meter *meter = NULL;
    assert_int_equal(joule_open(&options, &meter, NULL), JOULE_OK);
    pthread_t threads[4];
    void *(*const bodies[])(void *) = {nest, nest, begin_for_others, end_what_comes};
    stop = false;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, bodies[i], NULL), 0);
    joule_result r = {.struct_size = sizeof r};
    for (int i = 0; i < 100; i++) {
        pause_ms(5);
        joule_tag_result(meter, joule_tag("outer"), &r);
    }
    stop = true;
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    joule_region *rest = atomic_exchange(&mailbox, NULL);
    if (rest)
        ended += joule_end(rest) == JOULE_OK;
    free(rest);
    collector_finish(collector_of(meter));
    uint64_t count = 0;
    static const char *const names[] = {"outer", "inner", "passed on"};
    for (int i = 0; i < 3; i++)
        if (joule_tag_result(meter, joule_tag(names[i]), &r) == JOULE_OK)
            count += r.count;
    assert_int_equal(count, ended);
    joule_close(meter);
}

/* --- measuring a call ----------------------------------------------------------------------------------- */

static void work(void *done)
{
    pause_ms(50);
    *(bool *)done = true;
}

static bool measure_a_call(void *unused)
{
    (void)unused;
    setenv("JOULE_SOURCES", "estimated", 1);
    bool done = false;
    joule_measurement m = {.struct_size = sizeof m};
    joule_status status = joule_measure(work, &done, &m);
    return status == JOULE_OK && done && m.duration_s > 0.045 && m.total_joules.value > 0 &&
           m.cpu_joules.value > 0 && isnan(m.gpu_joules.value) && m.coverage > 0.5 &&
           joule_measure(NULL, NULL, &m) == JOULE_INVALID &&
           joule_measure(work, &done, NULL) == JOULE_INVALID;
}

static void a_call_is_measured(void **state)
{
    (void)state;
    assert_true(in_child(measure_a_call, NULL));
}

/* --- the shared library --------------------------------------------------------------------------------- */

struct library {
    joule_region (*begin)(uint32_t);
    joule_status (*end)(joule_region *);
    uint32_t (*tag)(const char *);
    joule_status (*open)(const joule_options *, joule_meter **, joule_error *);
    void (*close)(joule_meter *);
};

static bool load_and_use(void)
{
    void *handle = dlopen(TEST_BINARY_DIR "/../src/libjoule.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        print_message("%s\n", dlerror());
        return false;
    }
    struct library lib;
    *(void **)&lib.begin = dlsym(handle, "joule_begin");
    *(void **)&lib.end = dlsym(handle, "joule_end");
    *(void **)&lib.tag = dlsym(handle, "joule_tag");
    *(void **)&lib.open = dlsym(handle, "joule_open");
    *(void **)&lib.close = dlsym(handle, "joule_close");
    joule_options options = {.struct_size = sizeof options, .period_s = 0.001, .sources = "estimated"};
    joule_meter *meter = NULL;
    bool good = lib.open(&options, &meter, NULL) == JOULE_OK;
    uint32_t tag = lib.tag("loaded");
    for (int i = 0; i < 100; i++) {
        joule_region region = lib.begin(tag);
        good = good && lib.end(&region) == JOULE_OK;
    }
    if (meter)
        lib.close(meter);
    return dlclose(handle) == 0 && good;
}

static bool load_a_hundred_times(void *unused)
{
    (void)unused;
    for (int i = 0; i < 100; i++)
        if (!load_and_use())
            return false;
    return true;
}

static void library_can_be_loaded_and_unloaded(void **state)
{
    (void)state;
    assert_true(in_child(load_a_hundred_times, NULL));
}

static void program_may_end_during_a_query_in_a_callback(void **state)
{
    (void)state;
    assert_true(exited_well(start_client("end inside")));
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return be_client(argv[1]);
    own_path = "/proc/self/exe";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_client_loses_no_finished_region),
        cmocka_unit_test(client_queries_its_parent),
        cmocka_unit_test(without_its_session_a_child_is_no_client),
        cmocka_unit_test(fork_while_sampling_and_inside_a_region),
        cmocka_unit_test(threads_and_the_collector_at_once),
        cmocka_unit_test(a_call_is_measured),
        cmocka_unit_test(program_may_end_during_a_query_in_a_callback),
        cmocka_unit_test(library_can_be_loaded_and_unloaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
