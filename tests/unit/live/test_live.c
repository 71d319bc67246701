/* Tests the energy of processes over time, on machines with known work: energy is conserved and attributed to
 * the process that worked.
 *
 * Note: the test rewrites /proc before each update; the package's counter runs by itself. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "joule/live/live.h"
#include "support/chance.h"
#include "support/check.h"
#include "support/machine.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define WATTS        100.0
#define CPUS         4

static struct {
    struct load load;
    struct sensor package;
    struct live *live;
    double now_s;  /* seconds since boot */
    double busy_s; /* busy seconds of all CPUs */
} rig;

/* --- contents of /proc ---------------------------------------------------------------------------------- */

static long long ticks(double seconds)
{
    return llround(seconds * (double)sysconf(_SC_CLK_TCK));
}

struct worker {
    int pid, parent;
    double start_s, own_s, children_s;
    char state;
};

static void put_worker(struct machine_bench *bench, struct worker w)
{
    char path[32], text[256];
    snprintf(path, sizeof path, "/proc/%d/stat", w.pid);
    snprintf(text, sizeof text, "%d (worker %d) %c %d 1 1 0 -1 0 0 0 0 0 %lld 0 %lld 0 20 0 1 0 %lld 0 0\n",
             w.pid, w.pid, w.state ? w.state : 'R', w.parent, ticks(w.own_s), ticks(w.children_s),
             ticks(w.start_s));
    assert_true(host_script_text(bench->host, path, text));
}

static void remove_worker(struct machine_bench *bench, int pid)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    host_script_text(bench->host, path, NULL);
}

static void put_busy(struct machine_bench *bench)
{
    char text[160];
    snprintf(text, sizeof text, "cpu  %lld 0 0 %lld 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\n",
             ticks(rig.busy_s), ticks(rig.now_s * CPUS - rig.busy_s));
    assert_true(host_script_text(bench->host, "/proc/stat", text));
}

/* --- time ----------------------------------------------------------------------------------------------- */

static void update_until_now(struct machine_bench *bench)
{
    put_busy(bench);
    assert_int_equal(live_update(rig.live), JOULE_OK);
}

static void pass(struct machine_bench *bench, double seconds)
{
    machine_run(bench->meter, seconds, 0.1);
    rig.now_s += seconds;
}

static int setup(void **state)
{
    machine_setup(state);
    struct machine_bench *bench = *state;
    memset(&rig, 0, sizeof rig);
    rig.now_s = 1;
    rig.load = load_steady(WATTS);
    rig.package = (struct sensor){.load = &rig.load, .unit_joules = 61e-6, .tick_s = 0.001};
    machine_put_cpus(bench->host, "GenuineIntel", 6, 143, 1);
    machine_put_zone(bench->host, "intel-rapl:0", "package-0\n", "262143328850\n", &rig.package);
    put_busy(bench);
    return 0;
}

static int teardown(void **state)
{
    live_close(rig.live);
    return machine_teardown(state);
}

/* Opens the meter and makes the first update. idle_watts: idle power of the machine; NaN means unknown. */
static void begin(struct machine_bench *bench, double idle_watts)
{
    bench->meter = machine_open(bench->host, "rapl_powercap");
    pass(bench, 1);
    rig.live = live_open(bench->meter);
    assert_non_null(rig.live);
    struct estimate idle = estimate_make(idle_watts, JOULE_CLASS_MEASURED, 0, CAUSE_NONE, 0);
    if (!isnan(idle_watts))
        live_set_idle(rig.live, &idle);
    update_until_now(bench);
}

/* --- output --------------------------------------------------------------------------------------------- */

static const struct seen_process *process(int pid)
{
    size_t count;
    const struct seen_process *list = live_processes(rig.live, &count);
    for (size_t i = 0; i < count; i++)
        if (list[i].pid == pid)
            return &list[i];
    fail_msg("there is no process %d", pid);
    return NULL;
}

/* Fails unless total = alive + ended + idle + rest, where alive is the sum over the running processes. Also
 * fails if a value is negative. Returns the sums. */
static const struct live_sum *conserved(void)
{
    size_t sum_count, count;
    const struct live_sum *sum = live_sums(rig.live, &sum_count);
    const struct seen_process *list = live_processes(rig.live, &count);
    double alive = 0, tolerance = 1e-9 * (1 + sum->total_joules);
    for (size_t i = 0; i < count; i++) {
        assert_true(list[i].cpu_joules >= 0);
        alive += list[i].cpu_joules;
    }
    assert_near(sum->alive_joules, alive, tolerance);
    assert_near(sum->alive_joules + sum->ended_joules + sum->idle_joules + sum->rest_joules,
                sum->total_joules, tolerance);
    assert_true(sum->ended_joules >= -tolerance && sum->idle_joules >= -tolerance &&
                sum->rest_joules >= -tolerance);
    return sum;
}

/* --- tests ---------------------------------------------------------------------------------------------- */

static void test_shares_follow_cpu_time(void **state)
{
    struct machine_bench *bench = *state;
    struct worker one = {.pid = 10, .parent = 1}, two = {.pid = 9, .parent = 1, .own_s = 50};
    put_worker(bench, one);
    put_worker(bench, two);
    begin(bench, 40);
    for (int i = 0; i < 10; i++) {
        pass(bench, 1);
        one.own_s += 1, two.own_s += 0.5, rig.busy_s += 2; /* other processes used half a second */
        put_worker(bench, one);
        put_worker(bench, two);
        update_until_now(bench);
        conserved();
    }
    const struct live_sum *sum = conserved();
    assert_near(sum->total_joules, 1000, 0.5);
    assert_near(sum->idle_joules, 400, 0.5);
    assert_near(process(10)->cpu_joules, 300, 0.5);
    assert_near(process(9)->cpu_joules, 150, 0.5);
    assert_near(sum->rest_joules, 150, 0.5);
    assert_near(process(10)->cpu_watts, 30, 0.1);
    assert_near(process(10)->cpu_share, 1, 1e-6);
    assert_near(sum->busy, 0.5, 1e-6);
    assert_int_equal(sum->cls, JOULE_CLASS_DERIVED);
    assert_string_equal(process(10)->name, "worker 10");
    joule_quantity q = live_quantity(sum, process(10)->cpu_joules);
    assert_true(q.low < 300 && q.high > 300 && q.low > 100 && q.high < 500 && q.cls == JOULE_CLASS_DERIVED);
}

static void test_model_gives_the_idle_energy(void **state)
{
    struct machine_bench *bench = *state;
    struct worker one = {.pid = 10, .parent = 1};
    put_worker(bench, one);
    begin(bench, NAN);
    pass(bench, 1);
    update_until_now(bench); /* no process ran */
    assert_near(conserved()->idle_joules, 100, 0.5);
    pass(bench, 1);
    one.own_s += 0.01, rig.busy_s += 0.01;
    put_worker(bench, one);
    update_until_now(bench);
    double little = process(10)->cpu_joules;
    assert_true(little > 0 && little < 10);
    pass(bench, 1);
    one.own_s += 1, rig.busy_s += 1;
    put_worker(bench, one);
    update_until_now(bench);
    const struct live_sum *sum = conserved();
    assert_true(process(10)->cpu_joules - little > 10 && process(10)->cpu_joules - little < 100);
    assert_near(sum->rest_joules, 0, 1e-6);
    assert_int_equal(sum->cls, JOULE_CLASS_MODELLED);
}

static void test_those_that_end_keep_their_joules(void **state)
{
    struct machine_bench *bench = *state;
    struct worker one = {.pid = 10, .parent = 1}, again = {.pid = 10, .parent = 1, .start_s = 4};
    put_worker(bench, one);
    begin(bench, 0);
    pass(bench, 2);
    one.own_s += 2, rig.busy_s += 2;
    put_worker(bench, one);
    update_until_now(bench);
    assert_near(process(10)->cpu_joules, 200, 1);
    pass(bench, 1);
    again.own_s = 0.5, rig.busy_s += 0.5; /* another process has the same id */
    put_worker(bench, again);
    update_until_now(bench);
    const struct live_sum *sum = conserved();
    assert_near(sum->ended_joules, 200, 1);
    assert_near(process(10)->cpu_joules, 100, 1);
    remove_worker(bench, 10);
    pass(bench, 1);
    update_until_now(bench);
    assert_near(conserved()->ended_joules, 300, 1);
    assert_near(sum->alive_joules, 0, 1e-9);
}

static void test_time_before_the_first_update_is_not_counted(void **state)
{
    struct machine_bench *bench = *state;
    begin(bench, 0);
    pass(bench, 1);
    rig.busy_s += 1;
    /* until now the process was hidden */
    put_worker(bench, (struct worker){.pid = 10, .parent = 1, .own_s = 0.5});
    put_worker(bench, (struct worker){.pid = 11, .parent = 1, .own_s = 0.25, .start_s = rig.now_s - 0.5});
    update_until_now(bench);
    conserved();
    assert_near(process(10)->cpu_joules, 0, 1e-9);
    assert_near(process(11)->cpu_joules, 25, 0.5);
}

/* A build: each second a child runs for 0.8 s and is reaped, between two updates. Another child stays alive
 * and is reaped late. CPU time of processes that were seen alive must not be counted a second time when they
 * are reaped. */
static void test_children_count_once(void **state)
{
    struct machine_bench *bench = *state;
    struct worker make = {.pid = 20, .parent = 1}, child = {.pid = 30, .parent = 20, .start_s = 0.5};
    put_worker(bench, make);
    put_worker(bench, child);
    begin(bench, 0);
    for (int i = 0; i < 5; i++) {
        pass(bench, 1);
        make.children_s += 0.8, child.own_s += 0.2, rig.busy_s += 1;
        put_worker(bench, make);
        put_worker(bench, child);
        update_until_now(bench);
    }
    assert_near(process(20)->cpu_joules, 400, 1);
    assert_near(process(30)->cpu_joules, 100, 1);
    assert_near(process(20)->cpu_share, 0.8, 1e-6);
    assert_near(process(30)->cpu_share, 0.2, 1e-6);
    pass(bench, 1);
    child.own_s += 1, rig.busy_s += 1;
    child.state = 'Z';
    put_worker(bench, child); /* the child has ended, but is not reaped yet */
    update_until_now(bench);
    pass(bench, 1);
    remove_worker(bench, 30);
    make.children_s += child.own_s;
    put_worker(bench, make);
    update_until_now(bench);
    const struct live_sum *sum = conserved();
    assert_near(sum->ended_joules, 100, 1);
    /* The child's last second became visible when it was reaped, a second later. In that second no other
     * process ran. */
    assert_near(process(20)->cpu_joules, 500, 1);
    assert_near(sum->rest_joules, 100, 1);
}

/* A shell's command and its child end together after long work. None of their CPU time is attributed to the
 * shell. */
static void test_a_family_that_ends_at_once(void **state)
{
    struct machine_bench *bench = *state;
    struct worker shell = {.pid = 40, .parent = 1}, command = {.pid = 50, .parent = 40},
                  child = {.pid = 45, .parent = 50}, grandchild = {.pid = 60, .parent = 45};
    put_worker(bench, shell);
    put_worker(bench, command);
    put_worker(bench, child);
    put_worker(bench, grandchild);
    begin(bench, 0);
    for (int i = 0; i < 10; i++) {
        pass(bench, 1);
        grandchild.own_s += 1, command.own_s += 1, rig.busy_s += 2;
        put_worker(bench, grandchild);
        put_worker(bench, command);
        update_until_now(bench);
    }
    pass(bench, 1);
    remove_worker(bench, 60);
    remove_worker(bench, 50);
    remove_worker(bench, 45);
    /* after the last update, the command worked for another half second before it ended */
    shell.children_s = grandchild.own_s + command.own_s + 0.5;
    rig.busy_s += 0.5;
    put_worker(bench, shell);
    update_until_now(bench);
    const struct live_sum *sum = conserved();
    assert_near(sum->ended_joules, 1000, 1);
    assert_near(process(40)->cpu_joules, 100, 1); /* the energy of that half second only */
    pass(bench, 1);
    rig.busy_s += 1, shell.own_s += 0.5;
    put_worker(bench, shell);
    update_until_now(bench);
    assert_near(process(40)->cpu_joules, 150, 1);
}

static void test_a_meter_that_ticks_late(void **state)
{
    struct machine_bench *bench = *state;
    struct worker one = {.pid = 10, .parent = 1};
    rig.package.tick_s = 1.7;
    put_worker(bench, one);
    begin(bench, 0);
    for (int i = 0; i < 60; i++) {
        pass(bench, 0.5);
        one.own_s += 0.5, rig.busy_s += 1;
        put_worker(bench, one);
        update_until_now(bench);
        conserved();
    }
    const struct live_sum *sum = conserved();
    assert_true(sum->total_joules > 2000);
    assert_near(process(10)->cpu_joules, sum->total_joules / 2, 1e-6 * sum->total_joules);
}

static void test_without_proc_the_state_is_denied(void **state)
{
    struct machine_bench *bench = *state;
    struct worker one = {.pid = 10, .parent = 1};
    put_worker(bench, one);
    begin(bench, 0);
    pass(bench, 1);
    host_script_error(bench->host, "/proc", EACCES);
    assert_int_equal(live_update(rig.live), JOULE_DENIED);
    pass(bench, 1);
    one.own_s += 1, rig.busy_s += 2;
    put_worker(bench, one);
    host_script_text(bench->host, "/proc", NULL);
    update_until_now(bench);
    assert_near(process(10)->cpu_joules, 100, 1);
    assert_near(conserved()->total_joules, 200, 1);
}

/* The processes are random, and a random part of them is visible. */
static void test_energy_is_conserved(void **state)
{
    struct machine_bench *bench = *state;
    struct worker workers[24];
    chance_state = CHANCE_SEED;
    for (size_t i = 0; i < COUNT(workers); i++)
        workers[i] = (struct worker){.pid = 100 + (int)i, .parent = 1};
    begin(bench, 15);
    for (int step = 0; step < 200; step++) {
        double span_s = 0.1 * (double)(1 + chance_bits() % 20);
        pass(bench, span_s);
        for (size_t i = 0; i < COUNT(workers); i++) {
            struct worker *w = &workers[i];
            double used_s = chance() * span_s * CPUS / COUNT(workers);
            rig.busy_s += used_s * (chance_bits() % 4 ? 1 : 0.5); /* the kernel's total may lag behind */
            w->own_s += used_s;
            w->children_s += chance_bits() % 8 ? 0 : chance() * 3;
            w->parent = 100 + (int)(chance_bits() % COUNT(workers));
            w->state = chance_bits() % 20 ? 'S' : 'Z';
            if (chance_bits() % 15 == 0) {
                *w = (struct worker){.pid = w->pid, .parent = 1, .start_s = rig.now_s};
                remove_worker(bench, w->pid);
            } else {
                put_worker(bench, *w);
            }
        }
        update_until_now(bench);
        conserved();
    }
    const struct live_sum *sum = conserved();
    assert_near(sum->total_joules, (rig.now_s - 2) * WATTS, 1);
    assert_near(sum->idle_joules, (rig.now_s - 2) * 15, 1);
    assert_true(sum->alive_joules > 0 && sum->ended_joules > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_shares_follow_cpu_time, setup, teardown),
        cmocka_unit_test_setup_teardown(test_model_gives_the_idle_energy, setup, teardown),
        cmocka_unit_test_setup_teardown(test_those_that_end_keep_their_joules, setup, teardown),
        cmocka_unit_test_setup_teardown(test_time_before_the_first_update_is_not_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_children_count_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_family_that_ends_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_meter_that_ticks_late, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_proc_the_state_is_denied, setup, teardown),
        cmocka_unit_test_setup_teardown(test_energy_is_conserved, setup, teardown),
    };
    return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}
