/* Tests energy events of the kernel: the list of events, refused events, and 64-bit counts that the kernel
 * computes from registers of 32 bits. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "joule/api/open.h"
#include "support/check.h"
#include "support/machine.h"
#include "support/ramp.h"

#define POWER "/sys/bus/event_source/devices/power"
#define UNIT  0x1p-32

static int set_up(void **state)
{
    machine_setup(state);
    struct machine_bench *bench = *state;
    machine_put(bench, POWER "/type", "23\n");
    machine_put(bench, POWER "/cpumask", "0\n");
    return 0;
}

static void list_event(struct joule_host *host, const char *name, unsigned code)
{
    char path[128], text[32];
    snprintf(path, sizeof path, POWER "/events/%s", name);
    snprintf(text, sizeof text, "event=0x%02x\n", code);
    host_script_text(host, path, text);
    snprintf(path, sizeof path, POWER "/events/%s.unit", name);
    host_script_text(host, path, "Joules\n");
    snprintf(path, sizeof path, POWER "/events/%s.scale", name);
    host_script_text(host, path, "2.3283064365386962890625e-10\n");
}

static void add_event(struct joule_host *host, const char *name, unsigned code, struct ramp *ramp)
{
    ramp->unit_joules = UNIT;
    list_event(host, name, code);
    host_script_perf(host, &(struct host_perf_event){23, code, 0}, ramp_value, ramp);
}

static void put_package_of(struct joule_host *host, unsigned cpu, const char *attribute, const char *value)
{
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/topology/%s", cpu, attribute);
    host_script_text(host, path, value);
}

static void open_meter(struct machine_bench *bench)
{
    bench->meter = machine_open(bench->host, "rapl_perf");
}

/* --- readings ------------------------------------------------------------------------------------------- */

static void test_client_has_four_domains(void **state)
{
    struct machine_bench *bench = *state;
    struct ramp pkg = {.watts = 45}, cores = {.watts = 30}, gpu = {.watts = 5}, ram = {.watts = 3};
    add_event(bench->host, "energy-pkg", 2, &pkg);
    add_event(bench->host, "energy-cores", 1, &cores);
    add_event(bench->host, "energy-gpu", 4, &gpu);
    add_event(bench->host, "energy-ram", 3, &ram);
    open_meter(bench);
    machine_run(bench->meter, 5, 0.1);
    assert_true(fabs(machine_mean_watts(bench->meter, JOULE_TOTAL) - 48) < 0.05);
    assert_true(fabs(machine_watts(bench->meter, "core-0") - 30) < 0.05);
    assert_string_equal(machine_require_channel(bench->meter, "core-0")->parent_zone, "cpu0/package");
    assert_string_equal(machine_require_channel(bench->meter, "uncore-0")->parent_zone, "cpu0/package");
    assert_string_equal(machine_require_channel(bench->meter, "dram-0")->parent_zone, "");
    assert_string_equal(machine_require_channel(bench->meter, "package-0")->info.label, "energy-pkg");
    assert_true(machine_require_channel(bench->meter, "package-0")->counter.modulus == 0);
    assert_true(machine_require_channel(bench->meter, "package-0")->rank < RANK_POWERCAP);
}

/* Servers and guests list psys even if it stays 0. Such a domain must not count as the whole machine. */
static void test_psys_that_never_moves_claims_nothing(void **state)
{
    struct machine_bench *bench = *state;
    struct ramp pkg = {.watts = 200}, psys = {.watts = 0};
    add_event(bench->host, "energy-pkg", 2, &pkg);
    add_event(bench->host, "energy-psys", 5, &psys);
    open_meter(bench);
    machine_run(bench->meter, 2, 0.1);
    assert_string_equal(machine_require_channel(bench->meter, "package-0")->parent_zone, "psys");
    assert_false(machine_require_channel(bench->meter, "psys")->moved);
    /* the event can be read; its value is 0 */
    assert_int_equal(machine_require_channel(bench->meter, "psys")->info.state, JOULE_OK);
    assert_true(fabs(machine_mean_watts(bench->meter, JOULE_TOTAL) - 200) < 0.2);
}

/* The only domain is psys, which stays 0, as in a guest on a server. The total is unknown, not 0. */
static void test_frozen_psys_alone_is_no_total(void **state)
{
    struct machine_bench *bench = *state;
    struct ramp psys = {.watts = 0};
    add_event(bench->host, "energy-psys", 5, &psys);
    open_meter(bench);
    machine_run(bench->meter, 2, 0.1);
    joule_quantity total;
    assert_int_not_equal(joule_energy_joules(bench->meter, JOULE_TOTAL, &total), JOULE_OK);
    assert_true(isnan(total.value));
}

/* The kernel's addition can make its count fall. If such a step were read as a wrap of 64 bits, it would be
 * four billion joules. */
static void test_step_back_is_a_reset(void **state)
{
    struct machine_bench *bench = *state;
    struct ramp pkg = {.watts = 100, .start = UINT64_C(1) << 50};
    add_event(bench->host, "energy-pkg", 2, &pkg);
    open_meter(bench);
    machine_run(bench->meter, 1, 0.1);
    pkg.start -= UINT64_C(1) << 49;
    machine_run(bench->meter, 1, 0.1);
    const struct counter *counter = &machine_require_channel(bench->meter, "package-0")->counter;
    assert_int_equal(counter->resets, 1);
    assert_int_equal(counter->wraps, 0);
    assert_true(fabs((double)counter->total * UNIT - 190) < 1e-3);
}

/* The published limits of 200 W and 400 W come from 2^31 and 2^32 register units. The lane must read often
 * enough for 2 kW. */
static void test_pace_keeps_folds_apart(void **state)
{
    struct machine_bench *bench = *state;
    struct ramp pkg = {.watts = 100};
    add_event(bench->host, "energy-pkg", 2, &pkg);
    joule_options options = {.struct_size = sizeof options, .sources = "rapl_perf", .period_s = 60};
    assert_int_equal(meter_open_on(bench->host, false, &options, &bench->meter, NULL), JOULE_OK);
    double pace_s = (double)bench->meter->lanes[0]->period_ns * 1e-9;
    assert_true(pace_s * 2000 <= 0x1p31 * 0x1p-16 / 4);
    assert_true(pace_s > 1);
}

/* --- packages, dies, cores ------------------------------------------------------------------------------ */

static void test_packages_are_read_on_their_own_cpu(void **state)
{
    struct machine_bench *bench = *state;
    struct ramp ramps[2] = {{.watts = 100, .unit_joules = UNIT}, {.watts = 50, .unit_joules = UNIT}};
    host_script_text(bench->host, POWER "/cpumask", "0,64\n");
    list_event(bench->host, "energy-pkg", 2);
    for (int i = 0; i < 2; i++)
        host_script_perf(bench->host, &(struct host_perf_event){23, 2, 64 * i}, ramp_value, &ramps[i]);
    put_package_of(bench->host, 0, "physical_package_id", "0\n");
    put_package_of(bench->host, 64, "physical_package_id", "1\n");
    put_package_of(bench->host, 0, "die_id", "0\n");
    put_package_of(bench->host, 64, "die_id", "0\n");
    open_meter(bench);
    machine_run(bench->meter, 2, 0.1);
    assert_string_equal(machine_require_channel(bench->meter, "package-1")->zone, "cpu1/package");
    assert_true(fabs(machine_mean_watts(bench->meter, JOULE_TOTAL) - 150) < 0.2);
}

static void test_two_dies_in_a_package(void **state)
{
    struct machine_bench *bench = *state;
    host_script_text(bench->host, POWER "/cpumask", "0,24\n");
    list_event(bench->host, "energy-pkg", 2);
    put_package_of(bench->host, 0, "physical_package_id", "0\n");
    put_package_of(bench->host, 24, "physical_package_id", "0\n");
    put_package_of(bench->host, 0, "die_id", "0\n");
    put_package_of(bench->host, 24, "die_id", "1\n");
    open_meter(bench);
    assert_string_equal(machine_require_channel(bench->meter, "package-0-die-0")->zone, "cpu0.0/package");
    assert_string_equal(machine_require_channel(bench->meter, "package-0-die-1")->zone, "cpu0.1/package");
}

static void test_epyc_with_single_cores(void **state)
{
    struct machine_bench *bench = *state;
    bench->host->ops->close(bench->host);
    bench->host = host_tree_open(machine_fixture("amd-epyc"));
    open_meter(bench);
    assert_int_equal(joule_domain_count(bench->meter), 6);
    assert_string_equal(machine_require_channel(bench->meter, "package-1-core-0")->zone, "cpu1/core0");
    assert_string_equal(machine_require_channel(bench->meter, "package-1-core-0")->parent_zone,
                        "cpu1/package");
    assert_true(machine_require_channel(bench->meter, "package-1")->counter.last_raw == UINT64_C(3) << 42);
    assert_true(machine_require_channel(bench->meter, "package-1-core-1")->counter.last_raw == UINT64_C(4)
                                                                                                   << 38);
}

/* Reading another core's counter wakes that core, so counters of single cores are read less often. */
static void test_single_cores_are_read_seldom(void **state)
{
    struct machine_bench *bench = *state;
    struct ramp core = {.watts = 5, .unit_joules = UNIT};
    host_script_text(bench->host, POWER "_core/type", "24\n");
    host_script_text(bench->host, POWER "_core/cpumask", "3\n");
    host_script_text(bench->host, POWER "_core/events/energy-core", "event=0x01\n");
    host_script_text(bench->host, POWER "_core/events/energy-core.scale", "2.3283064365386962890625e-10\n");
    host_script_perf(bench->host, &(struct host_perf_event){24, 1, 3}, ramp_value, &core);
    open_meter(bench);
    machine_run(bench->meter, 5, 0.1);
    const struct channel *ch = machine_require_channel(bench->meter, "package-0-core-3");
    assert_in_range(ch->readings, 5, 12);
    assert_true(fabs(machine_mean_watts(bench->meter, ch->info.id) - 5) < 0.05);
}

static void test_three_views_of_a_package_count_once(void **state)
{
    struct machine_bench *bench = *state;
    char name[256];
    struct cover cover;
    struct joule_host *host = machine_load(machine_fixture("amd-epyc"));
    bench->host->ops->close(bench->host);
    bench->host = host;
    struct ramp perf = {.watts = 100, .unit_joules = UNIT}, zone = {.watts = 100, .unit_joules = 1e-6},
                msr = {.watts = 100, .unit_joules = 0x1p-16};
    uint64_t unit = 0xa1003;
    struct ramp unit_register = {.start = unit, .unit_joules = 1};
    for (int cpu = 0; cpu <= 2; cpu += 2) {
        char path[128];
        host_script_perf(host, &(struct host_perf_event){23, 2, cpu}, ramp_value, &perf);
        snprintf(path, sizeof path, "/sys/class/powercap/intel-rapl:%d/energy_uj", cpu / 2);
        host_script_file(host, path, ramp_text, &zone);
        host_script_text(host, cpu ? "/dev/cpu/2/msr" : "/dev/cpu/0/msr", NULL);
        host_script_register(host, (unsigned)cpu, 0xC0010299, ramp_value, &unit_register);
        host_script_register(host, (unsigned)cpu, 0xC001029B, ramp_value, &msr);
    }
    bench->meter = machine_open(host, "rapl_perf,rapl_powercap,rapl_msr");
    machine_run(bench->meter, 2, 0.1);
    assert_true(fabs(machine_mean_watts(bench->meter, JOULE_TOTAL) - 200) < 0.2);
    meter_cover(bench->meter, JOULE_TOTAL, bench->meter->begin_ns, meter_now_ns(bench->meter), &cover);
    meter_cover_name(bench->meter, &cover, name, sizeof name);
    assert_string_equal(name, "package-0 + package-1");
    const struct channel *twin = machine_require_channel(bench->meter, "package-1@rapl_powercap");
    assert_string_equal(twin->zone, machine_require_channel(bench->meter, "package-1")->zone);
    assert_string_equal(twin->zone, machine_require_channel(bench->meter, "package-1@rapl_msr")->zone);
}

/* --- refusals ------------------------------------------------------------------------------------------- */

static void expect_refusal(struct machine_bench *bench, int error, joule_status status, const char *word)
{
    list_event(bench->host, "energy-pkg", 2);
    host_script_error(bench->host, "/perf/23/0x2/0", error);
    open_meter(bench);
    const joule_domain *info = &machine_require_channel(bench->meter, "package-0")->info;
    assert_int_equal(info->state, status);
    assert_contains(info->remedy, word);
    assert_int_equal(machine_source(bench->meter, "rapl_perf")->state, status);
    assert_string_equal(machine_source(bench->meter, "rapl_perf")->remedy, info->remedy);
}

static void test_paranoid_kernel_is_named(void **state)
{
    struct machine_bench *bench = *state;
    host_script_text(bench->host, "/proc/sys/kernel/perf_event_paranoid", "4\n");
    expect_refusal(bench, EACCES, JOULE_DENIED, "perf_event_paranoid is 4");
    assert_contains(machine_source(bench->meter, "rapl_perf")->remedy, "setcap cap_perfmon+ep");
}

static void test_container_is_denied_by_seccomp(void **state)
{
    expect_refusal(*state, EPERM, JOULE_DENIED, "seccomp");
}

static void test_kernel_without_the_domain(void **state)
{
    expect_refusal(*state, EINVAL, JOULE_UNSUPPORTED, "perf_event_open");
}

static void test_event_of_an_offline_cpu_is_absent(void **state)
{
    expect_refusal(*state, ENODEV, JOULE_ABSENT, "perf_event_open");
}

static void test_no_descriptors_left(void **state)
{
    expect_refusal(*state, EMFILE, JOULE_FAILED, "ulimit");
}

/* One readable event is enough to open the source. The message of the unreadable event gives the reason. */
static void test_one_readable_event_suffices(void **state)
{
    struct machine_bench *bench = *state;
    struct ramp pkg = {.watts = 10};
    add_event(bench->host, "energy-pkg", 2, &pkg);
    list_event(bench->host, "energy-ram", 3);
    host_script_error(bench->host, "/perf/23/0x3/0", EACCES);
    open_meter(bench);
    machine_run(bench->meter, 1, 0.1);
    assert_int_equal(machine_source(bench->meter, "rapl_perf")->state, JOULE_OK);
    assert_int_equal(machine_require_channel(bench->meter, "package-0")->info.state, JOULE_OK);
    assert_int_equal(machine_require_channel(bench->meter, "dram-0")->info.state, JOULE_DENIED);
    struct cover cover;
    meter_cover(bench->meter, JOULE_TOTAL, bench->meter->begin_ns, meter_now_ns(bench->meter), &cover);
    assert_true(cover.is_partial);
}

static void test_missing_and_invalid_events_are_absent(void **state)
{
    struct machine_bench *bench = *state;
    open_meter(bench); /* the PMU has no events */
    assert_int_equal(machine_source(bench->meter, "rapl_perf")->state, JOULE_ABSENT);
    assert_contains(machine_source(bench->meter, "rapl_perf")->remedy, "modprobe");
    joule_close(bench->meter);
    list_event(bench->host, "energy-pkg", 2);
    host_script_text(bench->host, POWER "/events/energy-pkg.scale", "-1\n");
    list_event(bench->host, "energy-ram", 3);
    host_script_text(bench->host, POWER "/events/energy-ram", "umask=3\n");
    list_event(bench->host, "energy-gpu", 4);
    host_script_text(bench->host, POWER "/events/energy-gpu.unit", "Calories\n");
    list_event(bench->host, "energy-psys", 5);
    host_script_text(bench->host, POWER "/events/energy-psys.scale", "nan\n");
    open_meter(bench);
    assert_int_equal(joule_domain_count(bench->meter), 0);
    joule_close(bench->meter);
    host_script_text(bench->host, POWER "/type", "99999999999\n");
    host_script_text(bench->host, POWER "/events/energy-pkg.scale", "1e-9\n");
    open_meter(bench);
    assert_int_equal(joule_domain_count(bench->meter), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, machine_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_client_has_four_domains),
        TEST(test_psys_that_never_moves_claims_nothing),
        TEST(test_frozen_psys_alone_is_no_total),
        TEST(test_step_back_is_a_reset),
        TEST(test_pace_keeps_folds_apart),
        TEST(test_packages_are_read_on_their_own_cpu),
        TEST(test_two_dies_in_a_package),
        TEST(test_epyc_with_single_cores),
        TEST(test_single_cores_are_read_seldom),
        TEST(test_three_views_of_a_package_count_once),
        TEST(test_paranoid_kernel_is_named),
        TEST(test_container_is_denied_by_seccomp),
        TEST(test_kernel_without_the_domain),
        TEST(test_event_of_an_offline_cpu_is_absent),
        TEST(test_no_descriptors_left),
        TEST(test_one_readable_event_suffices),
        TEST(test_missing_and_invalid_events_are_absent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
