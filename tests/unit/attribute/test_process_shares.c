/* Tests the energy of processes: the shares of all processes and the rest add up to the meter's total, no sum
 * ever decreases, and the number of rows (processes with their own sum) is limited.
 *
 * Note: a process's CPU time is a function of virtual time, so every true share is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "joule/attribute/attribute_process.h"
#include "support/check.h"
#include "support/fake_nvml.h"
#include "support/rig.h"

#define V2         "/sys/fs/cgroup"
#define JOB        "/slurm/uid_7/job_1"
#define MAX_PICKED 2
#define MANY       40
#define HZ         100.0 /* clock ticks per second, as on every Linux */
#define NONE_YET   1e9

/* A process that uses `cpus` CPUs between two times. */
struct worker {
    int pid;
    const char *name;
    double cpus, from_s, until_s;
};

static ssize_t stat_of(void *context, int64_t time_ns, char *text, size_t size)
{
    const struct worker *worker = context;
    double at_s = fmin((double)time_ns * 1e-9, worker->until_s);
    double used_s = worker->cpus * fmax(0, at_s - worker->from_s);
    return snprintf(text, size, "%d (%s) S 1 0 0 0 0 0 0 0 0 0 %.0f 0 0 0 20 0 1 0 %.0f 0 0\n", worker->pid,
                    worker->name, floor(used_s * HZ), worker->from_s * HZ);
}

static void put_worker(struct joule_host *host, struct worker *worker)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", worker->pid);
    host_script_file(host, path, stat_of, worker);
}

static void end_worker(struct joule_host *host, const struct worker *worker)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", worker->pid);
    host_script_text(host, path, NULL);
}

static const struct load load_200 = {.levels = {{0, 200}}, .count = 1};
static struct sensor package;
static struct worker first = {1, "init", 0, 0, NONE_YET};

/* Adds a package of 200 W with 4 CPUs, and processes with ids from 1000 on. Each uses less CPU time than the
 * previous one. */
static void put_machine(struct rig *rig, struct worker *workers, size_t count)
{
    package = sensor_intel(&load_200);
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", INTEL_RANGE, &package);
    host_script_text(rig->host, "/sys/devices/system/cpu/online", "0-3\n");
    put_worker(rig->host, &first);
    for (size_t i = 0; i < count; i++) {
        workers[i] =
            (struct worker){1000 + (int)i, "worker", 1.0 / (double)(1 << (i < 8 ? i : 8)), 0, NONE_YET};
        put_worker(rig->host, &workers[i]);
    }
    rig_open_powercap(rig);
}

static double all_joules(const struct process_shares *shares)
{
    double sum = shares->other_cpu_joules + shares->ended_cpu_joules + shares->rest_cpu_joules +
                 shares->idle_cpu_joules;
    for (size_t i = 0; i < shares->count; i++)
        sum += shares->rows[i].cpu_joules;
    return sum;
}

static const struct process_row *row(const struct process_shares *shares, int pid)
{
    for (size_t i = 0; i < shares->count; i++)
        if (shares->rows[i].pid == pid)
            return &shares->rows[i];
    return NULL;
}

/* Fails if a process has two rows, or if a sum has fallen. */
static void expect_growth(const struct process_shares *before, const struct process_row *old_rows,
                          const struct process_shares *now)
{
    assert_true(now->other_cpu_joules >= before->other_cpu_joules);
    assert_true(now->ended_cpu_joules >= before->ended_cpu_joules);
    assert_true(now->rest_cpu_joules >= before->rest_cpu_joules);
    assert_true(now->idle_cpu_joules >= before->idle_cpu_joules);
    assert_true(now->count <= MAX_PICKED * ROWS_PER_PICKED_PROCESS);
    for (size_t i = 0; i < now->count; i++) {
        assert_ptr_equal(row(now, now->rows[i].pid), &now->rows[i]);
        for (size_t k = 0; k < before->count; k++)
            if (old_rows[k].pid == now->rows[i].pid && old_rows[k].start_ticks == now->rows[i].start_ticks)
                assert_true(now->rows[i].cpu_joules >= old_rows[k].cpu_joules);
    }
}

/* Reads as joule serve does: sensors ten times per second, processes once. After each update, checks that all
 * joules of the settled windows are attributed. */
static void run(struct tenants *tenants, int seconds)
{
    for (int i = 0; i < seconds; i++) {
        const struct process_shares before = *tenants->processes;
        struct process_row rows[MAX_PICKED * ROWS_PER_PICKED_PROCESS];
        if (before.count)
            memcpy(rows, before.rows, before.count * sizeof *rows);
        machine_run(tenants->meter, 1, 0.1);
        assert_int_equal(tenants_update(tenants), JOULE_ABSENT); /* this machine has no cgroups */
        expect_growth(&before, rows, tenants->processes);
        double seen_s = (double)(tenants->begin_ns - tenants->meter->begin_ns) * 1e-9;
        assert_near(all_joules(tenants->processes), 200 * seen_s, 0.5);
    }
}

/* More processes work than can have rows. The processes that use most CPU time get rows with their joules.
 * The joules of the others are added to one sum. */
static void test_largest_users_are_tracked(void **state)
{
    struct rig *rig = *state;
    struct worker workers[MANY];
    put_machine(rig, workers, MANY);
    struct process_shares shares = {.max_picked = MAX_PICKED};
    struct tenants tenants = {.meter = rig->meter, .processes = &shares};
    run(&tenants, 21);
    assert_int_equal(shares.count, MAX_PICKED);
    assert_string_equal(row(&shares, 1000)->name, "worker");
    assert_near(row(&shares, 1000)->cpu_joules, 2 * row(&shares, 1001)->cpu_joules, 5);
    assert_true(row(&shares, 1000)->cpu_joules > 50 * 17 && row(&shares, 1000)->cpu_joules < 50 * 20);
    assert_true(shares.other_cpu_joules > 50 * 0.55 * 17);
    assert_true(row(&shares, 1000)->gpu_joules == 0 && shares.gpu_class == JOULE_CLASS_NONE);
    assert_int_equal(shares.cpu_class, JOULE_CLASS_DERIVED);
    tenants_free(&tenants);
    process_shares_free(&shares);
}

/* Processes run for twenty seconds each, one after another. The number of rows is limited, so later processes
 * wait for free rows. */
static void test_later_processes_wait_for_free_rows(void **state)
{
    struct rig *rig = *state;
    struct worker workers[MANY];
    put_machine(rig, workers, 0);
    for (size_t i = 0; i < MANY; i++) {
        workers[i] = (struct worker){2000 + (int)i, "turn", 3, 2 + 20 * (double)i, 22 + 20 * (double)i};
        put_worker(rig->host, &workers[i]);
    }
    struct process_shares shares = {.max_picked = MAX_PICKED};
    struct tenants tenants = {.meter = rig->meter, .processes = &shares};
    run(&tenants, 20 * (MAX_PICKED * ROWS_PER_PICKED_PROCESS) + 60);
    assert_int_equal(shares.count, MAX_PICKED * ROWS_PER_PICKED_PROCESS);
    assert_non_null(row(&shares, 2000)); /* the process is idle, but still has a row */
    assert_true(shares.ended_cpu_joules == 0);
    double idle = row(&shares, 2000)->cpu_joules;
    run(&tenants, 300);
    assert_null(row(&shares, 2000)); /* the row was reused; its joules are in the sum of ended processes */
    assert_true(shares.ended_cpu_joules >= idle && idle > 1000);
    tenants_free(&tenants);
    process_shares_free(&shares);
}

/* Compares a process's joules with its CPU seconds times 50 W. */
static void expect_share(const struct tenants *tenants, const struct worker *worker, double tolerance)
{
    const struct process_row *found = row(tenants->processes, worker->pid);
    assert_non_null(found);
    double seconds = (double)tenants->begin_ns * 1e-9 - worker->from_s;
    assert_near(found->cpu_joules, 50 * worker->cpus * seconds, tolerance);
}

/* While rows are free, a process gets all of its joules, including those before its first update. One
 * exception is allowed: the energy of its first window may be missing if it is less than the total energy
 * divided by the number of rows. */
static void test_new_process_has_all_its_joules(void **state)
{
    /* Start of the process, in seconds. It starts between two selections of processes (0.3 and 7.25), within
     * a clock tick of an update (4.004), or shortly before an update (9.9). */
    static const double begins_after_s[] = {0.3, 4.004, 7.25, 9.9};
    const double place_joules = 200.0 / (MAX_PICKED * ROWS_PER_PICKED_PROCESS);
    const double tolerance[] = {2, 2, 2, place_joules};
    for (size_t i = 0; i < sizeof begins_after_s / sizeof *begins_after_s; i++) {
        struct rig *rig = *state;
        struct worker workers[2], busy = {3000, "busy", 2, 0, NONE_YET};
        if (i > 0) {
            rig_tear_down(state);
            rig_set_up(state);
            rig = *state;
        }
        put_machine(rig, workers, 2);
        struct process_shares shares = {.max_picked = MAX_PICKED};
        struct tenants tenants = {.meter = rig->meter, .processes = &shares};
        run(&tenants, 12);
        int whole_s = (int)begins_after_s[i];
        run(&tenants, whole_s);
        busy.from_s = (double)meter_now_ns(rig->meter) * 1e-9 + begins_after_s[i] - whole_s;
        put_worker(rig->host, &busy);
        run(&tenants, 3);
        expect_share(&tenants, &busy, tolerance[i]);
        run(&tenants, 14);
        expect_share(&tenants, &busy, tolerance[i]);
        tenants_free(&tenants);
        process_shares_free(&shares);
    }
}

/* 2.5 of 4 CPUs are busy: 2 with the visible process, 0.5 with work that belongs to no visible process. */
static ssize_t stat_of_machine(void *context, int64_t time_ns, char *text, size_t size)
{
    double ticks = (double)time_ns * 1e-9 * HZ;
    (void)context;
    return snprintf(text, size, "cpu  %.0f 0 %.0f %.0f 0 0 0 0 0 0\n", floor(2 * ticks), floor(ticks / 2),
                    floor(1.5 * ticks));
}

static void test_idle_time_is_reported(void **state)
{
    struct rig *rig = *state;
    struct worker workers[1], busy = {3000, "busy", 2, 0, NONE_YET};
    host_script_file(rig->host, "/proc/stat", stat_of_machine, NULL);
    put_machine(rig, workers, 0);
    put_worker(rig->host, &busy);
    struct process_shares shares = {.max_picked = MAX_PICKED};
    struct tenants tenants = {.meter = rig->meter, .processes = &shares};
    run(&tenants, 13); /* the first window has no idle time, because no update came before it */
    double seconds = (double)(tenants.begin_ns - rig->meter->begin_ns) * 1e-9;
    assert_near(shares.idle_cpu_joules, 75 * (seconds - 1), 2);
    assert_near(shares.rest_cpu_joules, 25 * (seconds - 1) + 200, 4);
    assert_near(row(&shares, 3000)->cpu_joules, 100 * (seconds - 1), 2);
    tenants_free(&tenants);
    process_shares_free(&shares);
}

/* Processes that end soon cannot occupy all rows: a process that stays gets its own row within ten
 * seconds. */
static void test_short_processes_leave_places(void **state)
{
    struct rig *rig = *state;
    struct worker workers[MANY], busy = {3000, "busy", 1, 0, NONE_YET};
    put_machine(rig, workers, 0);
    struct process_shares shares = {.max_picked = MAX_PICKED};
    struct tenants tenants = {.meter = rig->meter, .processes = &shares};
    for (size_t i = 0; i < MANY; i++) {
        double begin_s = (double)meter_now_ns(rig->meter) * 1e-9;
        workers[i] = (struct worker){2000 + (int)i, "short", 2, begin_s, begin_s + 1.5};
        put_worker(rig->host, &workers[i]);
        run(&tenants, 1);
        if (i > 0)
            end_worker(rig->host, &workers[i - 1]);
        if (i == 8) {
            busy.from_s = begin_s + 1;
            put_worker(rig->host, &busy);
        }
    }
    assert_true(shares.count < MAX_PICKED * ROWS_PER_PICKED_PROCESS);
    assert_non_null(row(&shares, 3000));
    assert_true(row(&shares, 3000)->cpu_joules > 50 * (MANY - 9 - 12));
    tenants_free(&tenants);
    process_shares_free(&shares);
}

static void test_ended_process_keeps_its_joules(void **state)
{
    struct rig *rig = *state;
    struct worker workers[3];
    put_machine(rig, workers, 3);
    struct process_shares shares = {.max_picked = MAX_PICKED};
    struct tenants tenants = {.meter = rig->meter, .processes = &shares};
    run(&tenants, 30);
    end_worker(rig->host, &workers[0]);
    run(&tenants, 5);
    double joules = row(&shares, 1000)->cpu_joules;
    assert_true(joules > 1000);
    machine_run(rig->meter, 1, 0.1);
    /* attributes the energy of all windows for which the sensors have reported */
    tenants_settle(&tenants);
    assert_near(all_joules(&shares), 200 * (double)(tenants.end_ns - rig->meter->begin_ns) * 1e-9, 0.5);
    joules = row(&shares, 1000)->cpu_joules;
    run(&tenants, 200);
    /* an ended process keeps its row for a while, for callers that query rarely */
    assert_true(row(&shares, 1000)->cpu_joules == joules);
    run(&tenants, 110);
    assert_null(row(&shares, 1000));
    assert_near(shares.ended_cpu_joules, joules, 1e-9);
    tenants_free(&tenants);
    process_shares_free(&shares);
}

/* A new process with a reused id gets a new row at once. */
static void test_reused_pid_is_another_process(void **state)
{
    struct rig *rig = *state;
    struct worker workers[1], again = {1000, "again", 2, 31.5, NONE_YET};
    put_machine(rig, workers, 1);
    struct process_shares shares = {.max_picked = MAX_PICKED};
    struct tenants tenants = {.meter = rig->meter, .processes = &shares};
    run(&tenants, 30);
    double joules = row(&shares, 1000)->cpu_joules;
    put_worker(rig->host, &again);
    run(&tenants, 30);
    assert_string_equal(row(&shares, 1000)->name, "again");
    assert_true(shares.ended_cpu_joules >= joules);
    assert_true(row(&shares, 1000)->cpu_joules < 100 * 29.5);
    tenants_free(&tenants);
    process_shares_free(&shares);
}

/* Without /proc or without a sensor, no joules are attributed. */
static void test_without_proc_no_joules_are_attributed(void **state)
{
    struct rig *rig = *state;
    host_script_error(rig->host, "/proc", EACCES);
    rig_open_powercap(rig);
    struct process_shares shares = {.max_picked = MAX_PICKED};
    struct tenants tenants = {.meter = rig->meter, .processes = &shares};
    for (int i = 0; i < 12; i++) {
        machine_run(rig->meter, 1, 0.1);
        assert_int_not_equal(tenants_update(&tenants), JOULE_OK);
    }
    assert_int_equal(shares.count, 0);
    assert_true(all_joules(&shares) == 0 && shares.cpu_class == JOULE_CLASS_NONE);
    tenants_free(&tenants);
    process_shares_free(&shares);
}

/* Two processes use a board of 400 W. One of them belongs to a job. A third process uses the board, too, but
 * is not in /proc. */
static void test_device_goes_to_processes(void **state)
{
    (void)state;
    struct fake_nvml fake;
    if (!fake_nvml_prepare(&fake, TEST_BINARY_DIR, "580", "watts=400; peak_watts=400; duty=0.5; processes=3"))
        skip();
    struct worker workers[] = {{1000, "train", 0.1, 0, NONE_YET}, {1001, "serve", 0.1, 0, NONE_YET}};
    host_script_text(fake.host, V2 "/cgroup.controllers", "cpu\n");
    host_script_text(fake.host, V2 JOB "/cpu.stat", "usage_usec 1000000\n");
    host_script_text(fake.host, "/proc/1000/cgroup", "0::" JOB "/step_0\n");
    put_worker(fake.host, &first);
    put_worker(fake.host, &workers[0]);
    put_worker(fake.host, &workers[1]);
    fake_nvml_open_devices(&fake);
    struct process_shares shares = {.max_picked = 1};
    struct tenants tenants = {.meter = fake.meter, .processes = &shares};
    for (int i = 0; i < 22; i++) {
        fake_nvml_run(&fake, 1);
        assert_int_equal(tenants_update(&tenants), JOULE_OK);
    }
    const struct process_row *train = row(&shares, 1000);
    assert_int_equal(shares.count, 1);
    assert_non_null(train);
    assert_string_equal(train->tenant, JOB);
    assert_string_equal(train->tenant_name.slurm_job, "1");
    assert_true(train->gpu_joules > 2000 && shares.other_gpu_joules > 1000 && shares.rest_gpu_joules > 1500);
    assert_near(train->gpu_joules + shares.other_gpu_joules + shares.rest_gpu_joules, 8400, 20);
    assert_true(shares.cpu_class == JOULE_CLASS_NONE); /* the machine has no sensor of its processors */
    tenants_free(&tenants);
    process_shares_free(&shares);
    fake_nvml_close(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_largest_users_are_tracked, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(test_later_processes_wait_for_free_rows, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(test_new_process_has_all_its_joules, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(test_idle_time_is_reported, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(test_short_processes_leave_places, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(test_ended_process_keeps_its_joules, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(test_reused_pid_is_another_process, rig_set_up, rig_tear_down),
        cmocka_unit_test_setup_teardown(test_without_proc_no_joules_are_attributed, rig_set_up,
                                        rig_tear_down),
        cmocka_unit_test(test_device_goes_to_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
