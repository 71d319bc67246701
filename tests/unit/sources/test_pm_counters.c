/* Tests an HPE Cray node's counters: which of them measure a socket that RAPL also measures, and readings
 * that mix values of two scans. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "support/check.h"
#include "support/machine.h"

#define PM "/sys/cray/pm_counters/"

/* State of the node's controller, which scans all sensors ten times per second. */
static struct truth {
    double watts[4];    /* watts of the node, its CPUs, its memory and one accelerator */
    int64_t stand_ns;   /* time at which scans stop; 0 means never */
    int64_t restart_ns; /* time at which counters restart at 0 */
    /* true: the value of the file `freshness` changes with each reading, as if a scan came between */
    bool is_busy;
    unsigned reads;
} truth;

static int64_t scanned_ns(int64_t time_ns)
{
    int64_t until_ns = truth.stand_ns && time_ns > truth.stand_ns ? truth.stand_ns : time_ns;
    return until_ns / 100000000 * 100000000;
}

static ssize_t read_energy(void *context, int64_t time_ns, char *buffer, size_t size)
{
    double watts = *(const double *)context;
    int64_t scan_ns = scanned_ns(time_ns), from_ns = -(INT64_C(1) << 50);
    if (truth.restart_ns && time_ns >= truth.restart_ns)
        from_ns = truth.restart_ns;
    return snprintf(buffer, size, "%.0f J %lld us\n", watts * (double)(scan_ns - from_ns) * 1e-9,
                    (long long)(scan_ns / 1000));
}

static ssize_t read_freshness(void *context, int64_t time_ns, char *buffer, size_t size)
{
    (void)context;
    long long scan = scanned_ns(time_ns) / 100000000;
    return snprintf(buffer, size, "%lld\n", truth.is_busy ? scan + truth.reads++ : scan);
}

static int setup(void **state)
{
    static const char *const files[] = {"energy", "cpu_energy", "memory_energy", "accel0_energy"};
    machine_setup(state);
    struct machine_bench *bench = *state;
    truth = (struct truth){.watts = {700, 250, 50, 300}};
    for (size_t i = 0; i < 4; i++) {
        char path[64];
        snprintf(path, sizeof path, PM "%s", files[i]);
        host_script_file(bench->host, path, read_energy, &truth.watts[i]);
    }
    host_script_file(bench->host, PM "freshness", read_freshness, NULL);
    host_script_text(bench->host, PM "raw_scan_hz", "10\n");
    machine_put_cpus(bench->host, "AuthenticAMD", 25, 48, 1);
    return 0;
}

static void run(struct machine_bench *bench, double seconds)
{
    if (!bench->meter)
        bench->meter = machine_open(bench->host, "pm_counters");
    machine_run(bench->meter, seconds, 0.05);
}

static void test_counters_of_one_socket_are_domains(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, 20);
    assert_int_equal(joule_domain_count(bench->meter), 4);
    assert_near(machine_watts(bench->meter, "node"), 700, 7);
    assert_near(machine_watts(bench->meter, "package-0"), 250, 2.5);
    assert_near(machine_watts(bench->meter, "dram-0"), 50, 0.5);
    assert_near(machine_watts(bench->meter, "accel-0"), 300, 3);
    /* the zone is also that of RAPL */
    assert_string_equal(machine_require_channel(bench->meter, "package-0")->zone, "cpu0/package");
    assert_string_equal(machine_require_channel(bench->meter, "accel-0")->parent_zone,
                        machine_require_channel(bench->meter, "node")->zone);
    assert_int_equal(machine_require_channel(bench->meter, "node")->info.cls, JOULE_CLASS_MEASURED);
    assert_true(fabs(machine_require_channel(bench->meter, "node")->info.update_period_s - 0.1) < 1e-12);
    assert_near(machine_mean_watts(bench->meter, JOULE_CPU), 300, 3);
}

/* The shares of the two sockets are unknown, so the node is the total. */
static void test_with_two_sockets_the_node_is_the_total(void **state)
{
    struct machine_bench *bench = *state;
    machine_put_cpus(bench->host, "AuthenticAMD", 25, 48, 2);
    run(bench, 20);
    assert_null(machine_channel(bench->meter, "package-0"));
    assert_int_equal(machine_require_channel(bench->meter, "cpus")->info.scope, JOULE_SCOPE_RAIL);
    assert_near(machine_watts(bench->meter, "cpus"), 250, 2.5);
    assert_near(machine_mean_watts(bench->meter, JOULE_TOTAL), 700, 7);
    assert_true(isnan(machine_mean_watts(bench->meter, JOULE_CPU)));
    assert_true(isnan(machine_mean_watts(bench->meter, JOULE_GPU)));
}

static void test_a_controller_that_stops(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, 10);
    truth.stand_ns = meter_now_ns(bench->meter);
    run(bench, 2);
    assert_int_equal(machine_require_channel(bench->meter, "node")->info.state, JOULE_OK);
    run(bench, 2);
    assert_int_equal(machine_require_channel(bench->meter, "node")->info.state, JOULE_STALE);
}

static void test_no_reading_is_of_one_scan(void **state)
{
    struct machine_bench *bench = *state;
    truth.is_busy = true;
    run(bench, 2);
    assert_int_equal(machine_require_channel(bench->meter, "node")->info.state, JOULE_FAILED);
    assert_true(isnan(machine_mean_watts(bench->meter, JOULE_TOTAL)));
    truth.is_busy = false;
    run(bench, 2);
    assert_int_equal(machine_require_channel(bench->meter, "node")->info.state, JOULE_OK);
}

static void test_counters_that_begin_again(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, 10);
    truth.restart_ns = meter_now_ns(bench->meter) / 100000000 * 100000000;
    run(bench, 10);
    const struct channel *ch = machine_require_channel(bench->meter, "node");
    assert_int_equal(ch->counter.resets, 1);
    assert_near(ch->curve.points[ch->curve.count - 1].joules, 700 * 19.9, 139.3);
}

static void test_freshness_is_optional(void **state)
{
    static const char *const texts[] = {NULL, "", "unknown\n"};
    struct machine_bench *bench = *state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        host_script_text(bench->host, PM "freshness", texts[i]);
        run(bench, 10);
        assert_int_equal(machine_require_channel(bench->meter, "node")->info.state, JOULE_OK);
        assert_near(machine_watts(bench->meter, "node"), 700, 7);
        joule_close(bench->meter);
        bench->meter = NULL;
    }
}

static void test_invalid_counters_are_failures(void **state)
{
    static const char *const texts[] = {
        "", "J", "12 W 5 us", "-3 J 5 us", "12", "99999999999999999999 J 1 us", "12 Joule"};
    struct machine_bench *bench = *state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        host_script_text(bench->host, PM "energy", texts[i]);
        run(bench, 0.5);
        assert_int_equal(machine_require_channel(bench->meter, "node")->info.state, JOULE_FAILED);
    }
}

static void test_denied_counters_are_reported(void **state)
{
    struct machine_bench *bench = *state;
    host_script_error(bench->host, PM "energy", EACCES);
    run(bench, 1);
    assert_int_equal(machine_require_channel(bench->meter, "node")->info.state, JOULE_DENIED);
    assert_contains(machine_require_channel(bench->meter, "node")->info.remedy, PM "energy");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, machine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_counters_of_one_socket_are_domains),
        TEST(test_with_two_sockets_the_node_is_the_total),
        TEST(test_a_controller_that_stops),
        TEST(test_no_reading_is_of_one_scan),
        TEST(test_counters_that_begin_again),
        TEST(test_freshness_is_optional),
        TEST(test_invalid_counters_are_failures),
        TEST(test_denied_counters_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
