/* Tests machines of known truth, replayed in virtual time through the whole meter, with one case for each
 * error that is known from other programs that read energy counters.
 *
 * Each case states the energy used, the meter's expected result, and the expected coverage. Note: energy that
 * was not observed is missing from joules, and its time is missing from the coverage. It increases `rejected`
 * or `resets`, and is never estimated. */
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
#include "support/rig.h"

#define HWMON "/sys/class/hwmon/hwmon0/"

/* --- wraps ---------------------------------------------------------------------------------------------- */

static void test_one_wrap_is_counted(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(150);
    struct sensor package = sensor_intel(&load);
    package.start_joules = INTEL_WRAP - 400;
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", INTEL_RANGE, &package);
    rig_open_powercap(rig);
    machine_run(rig->meter, 10, 0.1);
    rig_expect(rig, JOULE_TOTAL, 1500, 0.3, 0);
    assert_true(rig_channel(rig, "package-0")->counter.wraps == 1);
}

/* A counter with a range of 65.5 kJ wraps every 131 s at 500 W. */
static void test_many_wraps_in_an_hour(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(500);
    struct sensor package = sensor_amd(&load);
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", AMD_RANGE, &package);
    rig_open_powercap(rig);
    machine_run(rig->meter, 3600, 4);
    rig_expect(rig, JOULE_TOTAL, rig_truth(rig, &load), 1, 0);
    assert_true(rig_channel(rig, "package-0")->counter.wraps == 27);
    assert_true(rig_channel(rig, "package-0")->counter.rejected == 0);
}

/* The lane must read a small counter much more often than it can wrap, whatever period the user requests. */
static void test_the_pace_keeps_counters_alive(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(500);
    struct sensor package = sensor_amd(&load);
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", AMD_RANGE, &package);
    joule_options options = {.struct_size = sizeof options, .sources = "rapl_powercap", .period_s = 60};
    assert_int_equal(meter_open_on(rig->host, false, &options, &rig->meter, NULL), JOULE_OK);
    double period_s = (double)rig->meter->lanes[0]->period_ns * 1e-9;
    assert_true(period_s > 0 && period_s <= 8.2);
}

/* A user of another program reported this case: a job of 1546 s showed 248,923 J, and a longer job of 1795 s
 * showed 30,811 J. */
static void test_a_longer_job_does_not_use_less(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(161);
    struct sensor package = sensor_intel(&load);
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", INTEL_RANGE, &package);
    rig_open_powercap(rig);
    machine_run(rig->meter, 1546, 2);
    rig_expect(rig, JOULE_TOTAL, 248906, 1, 0);
    machine_run(rig->meter, 249, 3);
    rig_expect(rig, JOULE_TOTAL, 288995, 1, 0);
}

/* Adding the range of another domain at a wrap would show peaks of hundreds of kilowatts. */
static void test_each_domain_wraps_at_its_own_range(void **state)
{
    struct rig *rig = *state;
    struct load busy = load_steady(150), small = load_steady(12);
    struct sensor package = sensor_intel(&busy), dram = sensor_amd(&small);
    package.start_joules = INTEL_WRAP - 700;
    dram.start_joules = AMD_WRAP - 60;
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", INTEL_RANGE, &package);
    machine_put_zone(rig->host, "intel-rapl:0:0", "dram\n", AMD_RANGE, &dram);
    rig_open_powercap(rig);
    machine_run(rig->meter, 10, 0.1);
    assert_true(rig_channel(rig, "package-0")->counter.wraps == 1 &&
                rig_channel(rig, "dram-0")->counter.wraps == 1);
    rig_expect(rig, machine_domain(rig->meter, "package-0"), 1500, 0.3, 0);
    rig_expect(rig, machine_domain(rig->meter, "dram-0"), 120, 0.03, 0);
}

/* Without a range, the energy of the reading with the wrap is lost, and the loss is reported. The result is
 * never negative and never guessed. */
static void wrap_without_a_range(struct rig *rig, const char *range, int error)
{
    struct load load = load_steady(150);
    struct sensor package = sensor_intel(&load);
    package.start_joules = INTEL_WRAP - 690;
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", range, &package);
    if (error)
        host_script_error(rig->host, "/sys/class/powercap/intel-rapl:0/max_energy_range_uj", error);
    rig_open_powercap(rig);
    machine_run(rig->meter, 10, 0.1);
    rig_expect(rig, JOULE_TOTAL, 1500 - 15, 0.3, 0.1);
    assert_true(rig_channel(rig, "package-0")->counter.resets == 1);
}

static void test_a_range_that_may_not_be_read(void **state)
{
    wrap_without_a_range(*state, NULL, EACCES);
}

static void test_without_a_range_no_wrap_is_assumed(void **state)
{
    wrap_without_a_range(*state, NULL, 0);
}

static void test_a_range_of_zero(void **state)
{
    wrap_without_a_range(*state, "0\n", 0);
}

static void test_invalid_range_is_ignored(void **state)
{
    wrap_without_a_range(*state, "-1\n", 0);
}

/* For 40 s there is no reading, while the counter may wrap in 33 s. The number of wraps is unknown. */
static void test_a_pause_longer_than_a_wrap_is_not_guessed(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(1000);
    struct sensor package = sensor_amd(&load);
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", AMD_RANGE, &package);
    rig_open_powercap(rig);
    machine_run(rig->meter, 10, 0.1);
    rig_sleep(rig, 39.9);
    machine_run(rig->meter, 10.1, 0.1);
    rig_expect(rig, JOULE_TOTAL, 20000, 2, 40);
    assert_true(rig_channel(rig, "package-0")->counter.rejected == 1);
}

/* --- impossible steps ----------------------------------------------------------------------------------- */

static void test_a_step_back_without_a_range(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(80);
    struct sensor package =
        sensor_troubled(&load, (struct trouble){.kind = TROUBLE_STEP, .from_s = 5.05, .joules = -50});
    rig_run_10_s(rig, NULL, &package);
    rig_expect(rig, JOULE_TOTAL, 800 - 8, 0.2, 0.1);
    assert_true(rig_channel(rig, "package-0")->counter.resets == 1);
}

static void test_a_step_back_is_no_wrap(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(80);
    struct sensor package =
        sensor_troubled(&load, (struct trouble){.kind = TROUBLE_STEP, .from_s = 5.05, .joules = -50});
    rig_run_10_s(rig, INTEL_RANGE, &package);
    rig_expect(rig, JOULE_TOTAL, 800 - 8, 0.2, 0.1);
    assert_true(rig_channel(rig, "package-0")->counter.rejected == 1);
    assert_true(rig_channel(rig, "package-0")->counter.wraps == 0);
}

static void test_a_jump_of_4e9_joules(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(80);
    struct sensor package = sensor_troubled(
        &load, (struct trouble){.kind = TROUBLE_STEP, .from_s = 5.05, .joules = 4294967296.0});
    package.modulus = 0;
    rig_run_10_s(rig, NULL, &package);
    rig_expect(rig, JOULE_TOTAL, 800 - 8, 0.2, 0.1);
    assert_true(rig_channel(rig, "package-0")->counter.rejected == 1);
}

/* A driver is reloaded: its files are missing for a second, then the count begins at 0. */
static void test_a_counter_that_starts_again(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(80);
    struct sensor package = sensor_intel(&load);
    package.troubles[0] = (struct trouble){.kind = TROUBLE_RESTART, .from_s = 4.05};
    package.troubles[1] =
        (struct trouble){.kind = TROUBLE_REFUSE, .from_s = 4.05, .until_s = 5.05, .error = ENODEV};
    rig_run_10_s(rig, NULL, &package);
    rig_expect(rig, JOULE_TOTAL, 800 - 88, 0.2, 1.1);
    assert_true(rig_channel(rig, "package-0")->counter.resets == 1);
    assert_int_equal(rig_channel(rig, "package-0")->failures, 10);
}

/* A count of microjoules that is truncated to 32 bits wraps at 4295 J without any sign. Other programs show
 * 300 to 4000 W for this machine. */
static void test_microjoules_cut_to_32_bits(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(100);
    struct sensor package = sensor_intel(&load);
    package.unit_joules = 1e-6;
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", NULL, &package);
    rig_open_powercap(rig);
    machine_run(rig->meter, 300, 0.5);
    const struct counter *counter = &rig_channel(rig, "package-0")->counter;
    assert_true(counter->resets == 7);
    rig_expect(rig, JOULE_TOTAL, 30000 - 7 * 50, 1, 7 * 0.5);
}

/* --- counters that stay constant ------------------------------------------------------------------------ */

static void test_a_counter_frozen_from_the_start(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(80);
    struct sensor package = sensor_troubled(&load, (struct trouble){.kind = TROUBLE_FREEZE, .from_s = 0.5});
    rig_run_10_s(rig, INTEL_RANGE, &package);
    rig_expect_unknown(rig, JOULE_TOTAL);
    assert_false(rig_is_partial(rig)); /* the counter can be read, so no permission is missing */
    assert_int_equal(rig_state(rig, "package-0"), JOULE_UNSUPPORTED);
}

static void test_a_counter_that_freezes_on_the_way(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(80);
    struct sensor package = sensor_troubled(&load, (struct trouble){.kind = TROUBLE_FREEZE, .from_s = 5});
    rig_run_10_s(rig, INTEL_RANGE, &package); /* the window begins at 1 s */
    /* The sensor may only be late, so the first 0.1 s after the freeze still count as covered. */
    rig_expect(rig, JOULE_TOTAL, 320, 1, 6 - 0.1);
    joule_quantity watts;
    assert_int_equal(joule_power_watts(rig->meter, JOULE_TOTAL, &watts), JOULE_STALE);
    assert_int_equal(rig_state(rig, "package-0"), JOULE_UNSUPPORTED);
}

/* While the counter is constant, energy is not visible. All of it appears in one step when the counter
 * changes again. */
static void test_a_counter_that_ticks_every_two_seconds(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(30);
    struct sensor package = sensor_intel(&load);
    package.tick_s = 2.1;
    rig_run_10_s(rig, INTEL_RANGE, &package);
    machine_run(rig->meter, 90, 0.1);
    joule_quantity q;
    joule_energy_joules(rig->meter, JOULE_TOTAL, &q);
    assert_near(q.value, 3000, 2 * 2.1 * 30);
    assert_true(rig_channel(rig, "package-0")->counter.rejected == 0);
}

/* The energy of a region between two ticks is small. It must not be the absolute count. */
static void test_a_region_within_one_tick(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(80);
    struct sensor package = sensor_intel(&load);
    rig_run_10_s(rig, INTEL_RANGE, &package);
    int64_t begin_ns = meter_now_ns(rig->meter) - 5000100000;
    struct window w = meter_window(rig->meter, JOULE_TOTAL, begin_ns, begin_ns + 100000);
    assert_near(w.joules.value, 80 * 1e-4, 1e-4);
}

/* --- the kernel's 64-bit counts ------------------------------------------------------------------------- */

#define KERNEL_TIMER_S 655.36 /* period of the kernel's timer for a unit of 2^-14 J */

static void put_events(struct rig *rig, struct kernel_count *first, struct kernel_count *second)
{
    machine_put_cpus(rig->host, "GenuineIntel", 6, 85, second ? 2 : 1);
    host_script_text(rig->host, "/sys/bus/event_source/devices/power/cpumask", second ? "0-1\n" : "0\n");
    machine_put_event(rig->host, "energy-pkg", 2, 0, first);
    if (second)
        machine_put_event(rig->host, "energy-pkg", 2, 1, second);
}

static struct kernel_count kernel_count_of(struct sensor *sensor)
{
    return (struct kernel_count){.sensor = sensor, .register_bits = 14, .timer_s = KERNEL_TIMER_S};
}

/* The kernel chooses its timer for 200 W. With frequent readings, nothing is lost above 200 W either. */
static void test_perf_above_200_watts(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(350);
    struct sensor package = sensor_exact_intel(&load);
    struct kernel_count kernel = kernel_count_of(&package);
    put_events(rig, &kernel, NULL);
    rig->meter = machine_open(rig->host, "rapl_perf");
    machine_run(rig->meter, 3600, 4);
    rig_expect(rig, JOULE_TOTAL, 3600 * 350, 1, 0);
}

/* For 11 minutes at 210 W there is no reading. The register moves by more than 2^31 units, and the count
 * falls by 131 kJ. If this step were read as a wrap of 64 bits, it would be 4e9 J. */
static void test_a_sign_extended_step_of_perf(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(210);
    struct sensor package = sensor_exact_intel(&load);
    struct kernel_count kernel = kernel_count_of(&package);
    put_events(rig, &kernel, NULL);
    rig->meter = machine_open(rig->host, "rapl_perf");
    machine_run(rig->meter, 10, 0.1);
    uint64_t before = kernel.count;
    rig_sleep(rig, 649.9);
    machine_run(rig->meter, 10.1, 0.1);
    assert_true((int64_t)kernel.count < (int64_t)before);
    rig_expect(rig, JOULE_TOTAL, 210 * 20, 1, 650);
    assert_true(rig_channel(rig, "package-0")->counter.rejected == 1);
}

static void test_mirrored_perf_events_count_once(void **state)
{
    struct rig *rig = *state;
    struct load load = {.repeat_s = 0.6};
    load_add(&load, 0, 120);
    load_add(&load, 0.25, 40);
    struct sensor package = sensor_exact_intel(&load);
    struct kernel_count first = kernel_count_of(&package), second = kernel_count_of(&package);
    put_events(rig, &first, &second);
    rig->meter = machine_open(rig->host, "rapl_perf");
    machine_run(rig->meter, 6, 0.1);
    rig_expect(rig, JOULE_TOTAL, rig_truth(rig, &load), 0.3, 0);
    assert_string_equal(rig_cover_name(rig), "package-0");
}

static void test_steady_perf_events_are_no_mirrors(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(50);
    struct sensor package = sensor_exact_intel(&load);
    struct kernel_count first = kernel_count_of(&package), second = kernel_count_of(&package);
    put_events(rig, &first, &second);
    rig->meter = machine_open(rig->host, "rapl_perf");
    machine_run(rig->meter, 6, 0.1);
    rig_expect(rig, JOULE_TOTAL, 600, 0.3, 0);
}

/* --- permissions, time and removed files ---------------------------------------------------------------- */

static void test_a_right_that_is_taken_away(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(80);
    struct sensor package =
        sensor_troubled(&load, (struct trouble){.kind = TROUBLE_REFUSE, .from_s = 6.05, .error = EACCES});
    rig_run_10_s(rig, INTEL_RANGE, &package);
    rig_expect(rig, JOULE_TOTAL, 400, 0.3, 5);
    assert_int_equal(rig_state(rig, "package-0"), JOULE_DENIED);
    joule_quantity watts;
    assert_int_equal(joule_power_watts(rig->meter, JOULE_TOTAL, &watts), JOULE_STALE);
    assert_true(isnan(watts.value));
}

/* The counter continues to count while it may not be read. The energy of that time is reported when the
 * counter can be read again. */
static void test_a_right_that_comes_back(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(80);
    struct sensor package = sensor_troubled(
        &load, (struct trouble){.kind = TROUBLE_REFUSE, .from_s = 3.05, .until_s = 6.05, .error = EACCES});
    rig_run_10_s(rig, INTEL_RANGE, &package);
    rig_expect(rig, JOULE_TOTAL, 800, 0.3, 0);
    assert_int_equal(rig_state(rig, "package-0"), JOULE_OK);
}

static void test_a_package_that_may_not_be_read(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(80);
    struct sensor first = sensor_intel(&load), second = sensor_intel(&load);
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", INTEL_RANGE, &first);
    machine_put_zone(rig->host, "intel-rapl:1", "package-1\n", INTEL_RANGE, &second);
    host_script_error(rig->host, "/sys/class/powercap/intel-rapl:1/energy_uj", EACCES);
    rig_open_powercap(rig);
    machine_run(rig->meter, 10, 0.1);
    rig_expect(rig, JOULE_TOTAL, 800, 0.3, 0);
    assert_true(rig_is_partial(rig));
    joule_quantity q;
    assert_int_not_equal(joule_energy_joules(rig->meter, machine_domain(rig->meter, "package-1"), &q),
                         JOULE_OK);
    assert_true(isnan(q.value));
}

/* During a suspend the measurement clock stands still, but the counter may continue. */
static void test_suspend_is_a_gap(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(80);
    struct sensor package =
        sensor_troubled(&load, (struct trouble){.kind = TROUBLE_STEP, .from_s = 6.05, .joules = 90});
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", INTEL_RANGE, &package);
    rig_open_powercap(rig);
    machine_run(rig->meter, 5, 0.1);
    host_script_suspend(rig->host, 600 * INT64_C(1000000000));
    machine_run(rig->meter, 5, 0.1);
    rig_expect(rig, JOULE_TOTAL, 800 - 8, 0.3, 0.1);
}

/* A stopped process reads nothing for a minute. If the counter cannot wrap in that time, no energy is
 * lost. */
static void test_a_minute_without_reading(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(150);
    struct sensor package = sensor_intel(&load);
    rig_run_10_s(rig, INTEL_RANGE, &package);
    rig_sleep(rig, 60);
    machine_run(rig->meter, 10, 0.1);
    rig_expect(rig, JOULE_TOTAL, 80 * 150, 0.5, 0);
}

static struct sensor wide(const struct load *load)
{
    return (struct sensor){.load = load, .unit_joules = 1e-6, .tick_s = 0.1, .start_joules = 1e7};
}

static void test_an_hour_without_reading_64_bits(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(300);
    struct sensor socket = wide(&load);
    host_script_text(rig->host, HWMON "name", "amd_energy");
    host_script_text(rig->host, HWMON "energy2_label", "Esocket0");
    host_script_file(rig->host, HWMON "energy2_input", sensor_microjoules, &socket);
    rig->meter = machine_open(rig->host, "hwmon");
    machine_run(rig->meter, 5, 0.025);
    rig_sleep(rig, 3600);
    machine_run(rig->meter, 5, 0.025);
    joule_quantity q;
    assert_int_equal(joule_energy_joules(rig->meter, JOULE_TOTAL, &q), JOULE_OK);
    assert_near(q.value, 3610 * 300, 2 * 0.1 * 300);
}

/* If a power file is missing, the power is unknown, not 0 W. */
static void test_a_power_file_that_vanishes(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(30);
    struct sensor rail = wide(&load);
    rail.troubles[0] = (struct trouble){.kind = TROUBLE_REFUSE, .from_s = 6, .error = ENOENT};
    host_script_text(rig->host, HWMON "name", "someone");
    host_script_file(rig->host, HWMON "power1_input", sensor_microwatts, &rail);
    rig->meter = machine_open(rig->host, "hwmon");
    machine_run(rig->meter, 10, 0.025);
    int32_t id = machine_domain(rig->meter, "someone-power1");
    struct window w = meter_window(rig->meter, id, rig->meter->begin_ns, meter_now_ns(rig->meter));
    assert_near(w.joules.value / w.covered_s, 30, 1e-6);
    assert_true(w.covered_s > 4.5 && w.covered_s < 5.5);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_one_wrap_is_counted),
        CASE(test_many_wraps_in_an_hour),
        CASE(test_the_pace_keeps_counters_alive),
        CASE(test_a_longer_job_does_not_use_less),
        CASE(test_each_domain_wraps_at_its_own_range),
        CASE(test_a_range_that_may_not_be_read),
        CASE(test_without_a_range_no_wrap_is_assumed),
        CASE(test_a_range_of_zero),
        CASE(test_invalid_range_is_ignored),
        CASE(test_a_pause_longer_than_a_wrap_is_not_guessed),
        CASE(test_a_step_back_without_a_range),
        CASE(test_a_step_back_is_no_wrap),
        CASE(test_a_jump_of_4e9_joules),
        CASE(test_a_counter_that_starts_again),
        CASE(test_microjoules_cut_to_32_bits),
        CASE(test_a_counter_frozen_from_the_start),
        CASE(test_a_counter_that_freezes_on_the_way),
        CASE(test_a_counter_that_ticks_every_two_seconds),
        CASE(test_a_region_within_one_tick),
        CASE(test_perf_above_200_watts),
        CASE(test_a_sign_extended_step_of_perf),
        CASE(test_mirrored_perf_events_count_once),
        CASE(test_steady_perf_events_are_no_mirrors),
        CASE(test_a_right_that_is_taken_away),
        CASE(test_a_right_that_comes_back),
        CASE(test_a_package_that_may_not_be_read),
        CASE(test_suspend_is_a_gap),
        CASE(test_a_minute_without_reading),
        CASE(test_an_hour_without_reading_64_bits),
        CASE(test_a_power_file_that_vanishes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
