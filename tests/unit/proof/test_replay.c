/* Machines of a known truth, replayed in virtual time through the whole meter: one case for each way in which programs
 * that read energy counters are known to go wrong.
 *
 * Each case states what was used, what the meter must say of it, and how much of the time it must claim to have seen.
 * Newcomers: what a meter could not see is missing from both the joules and the coverage, and is counted in rejected or
 * resets; nothing is made up for it.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "support/machine.h"

#define INTEL_UNIT  61.035e-6 /* as the kernel cuts 2^-14 */
#define INTEL_RANGE "262143328850\n"
#define AMD_UNIT    15.258e-6
#define AMD_RANGE   "65532610987\n"
#define WORD        (UINT64_C(1) << 32)
#define TICK_S      0.001
#define HWMON       "/sys/class/hwmon/hwmon0/"
#define REGISTER_J  (4294967296.0 * INTEL_UNIT) /* a wrap */

struct rig {
    struct joule_host *host;
    joule_meter *meter;
};

static int set_up(void **state)
{
    static struct rig rig;
    rig = (struct rig){.host = host_script_open()};
    *state = &rig;
    return 0;
}

static int tear_down(void **state)
{
    struct rig *rig = *state;
    joule_close(rig->meter);
    rig->host->ops->close(rig->host);
    return 0;
}

static struct sensor intel(const struct load *load)
{
    return (struct sensor){
        .load = load, .unit_joules = INTEL_UNIT, .modulus = WORD, .tick_s = TICK_S, .start_joules = 1234.5};
}

static struct sensor amd(const struct load *load)
{
    struct sensor sensor = intel(load);
    sensor.unit_joules = AMD_UNIT;
    return sensor;
}

static double now_s(const struct rig *rig)
{
    return (double)meter_now_ns(rig->meter) * 1e-9;
}

/* True joules since the meter was opened. */
static double truth(const struct rig *rig, const struct load *load)
{
    return load_joules(load, now_s(rig)) - load_joules(load, (double)rig->meter->begin_ns * 1e-9);
}

static const struct channel *channel(const struct rig *rig, const char *name)
{
    return rig->meter->channels[machine_domain(rig->meter, name)].channel;
}

static void near(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance))
        fail_msg("%.12g is not within %.3g of %.12g", a, tolerance, b);
}

/* The domain since the meter was opened: joules within a tolerance and inside the interval that the meter gives, and how
 * many seconds it did not see. */
static void expect(const struct rig *rig, int32_t domain, double joules, double tolerance, double unseen_s)
{
    joule_quantity q;
    struct window w = meter_window(rig->meter, domain, rig->meter->begin_ns, meter_now_ns(rig->meter));
    assert_int_equal(joule_energy_joules(rig->meter, domain, &q), JOULE_OK);
    near(q.value, joules, tolerance);
    assert_true(q.low <= joules && joules <= q.high);
    near(w.length_s - w.covered_s, unseen_s, 0.005);
}

static void expect_unknown(const struct rig *rig, int32_t domain)
{
    joule_quantity q;
    assert_int_equal(joule_energy_joules(rig->meter, domain, &q), JOULE_PENDING);
    assert_true(isnan(q.value));
}

static bool is_partial(const struct rig *rig)
{
    struct cover cover;
    meter_cover(rig->meter, JOULE_TOTAL, rig->meter->begin_ns, meter_now_ns(rig->meter), &cover);
    return cover.is_partial;
}

static joule_status state_of(const struct rig *rig, const char *name)
{
    joule_domain domain = {.struct_size = sizeof domain};
    joule_domain_get(rig->meter, (size_t)machine_domain(rig->meter, name), &domain);
    return domain.state;
}

static void open_powercap(struct rig *rig)
{
    rig->meter = machine_open(rig->host, "rapl_powercap");
}

/* Time passes and nobody reads: a stopped process, a machine too busy, a blocked call. */
static void sleep_through(struct rig *rig, double seconds)
{
    host_script_set_time(rig->host, meter_now_ns(rig->meter) + (int64_t)(seconds * 1e9));
}

/* --- wraps ---------------------------------------------------------------------------------------------------- */

static void test_one_wrap(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(150);
    struct sensor package = intel(&load);
    package.start_joules = REGISTER_J - 400;
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", INTEL_RANGE, &package);
    open_powercap(rig);
    machine_run(rig->meter, 10, 0.1);
    expect(rig, JOULE_TOTAL, 1500, 0.3, 0);
    assert_true(channel(rig, "package-0")->counter.wraps == 1);
}

/* A range of 65.5 kJ at 500 W is full after 131 s. */
static void test_many_wraps_in_an_hour(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(500);
    struct sensor package = amd(&load);
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", AMD_RANGE, &package);
    open_powercap(rig);
    machine_run(rig->meter, 3600, 4);
    expect(rig, JOULE_TOTAL, truth(rig, &load), 1, 0);
    assert_true(channel(rig, "package-0")->counter.wraps == 27);
    assert_true(channel(rig, "package-0")->counter.rejected == 0);
}

/* The lane must read a small counter far inside the time in which it may wrap, whatever period was asked for. */
static void test_the_pace_keeps_counters_alive(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(500);
    struct sensor package = amd(&load);
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", AMD_RANGE, &package);
    joule_options options = {.struct_size = sizeof options, .sources = "rapl_powercap", .period_s = 60};
    assert_int_equal(meter_open_on(rig->host, false, &options, &rig->meter, NULL), JOULE_OK);
    double period_s = (double)rig->meter->lanes[0]->period_ns * 1e-9;
    assert_true(period_s > 0 && period_s <= 8.2);
}

/* Reported: a job of 1546 s shows 248,923 J, and one of 1795 s shows 30,811 J. */
static void test_a_longer_job_does_not_use_less(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(161);
    struct sensor package = intel(&load);
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", INTEL_RANGE, &package);
    open_powercap(rig);
    machine_run(rig->meter, 1546, 2);
    expect(rig, JOULE_TOTAL, 248906, 1, 0);
    machine_run(rig->meter, 249, 3);
    expect(rig, JOULE_TOTAL, 288995, 1, 0);
}

/* Spikes of hundreds of kilowatts come from adding another domain's range. */
static void test_each_domain_wraps_at_its_own_range(void **state)
{
    struct rig *rig = *state;
    struct load busy = load_steady(150), small = load_steady(12);
    struct sensor package = intel(&busy), dram = amd(&small);
    package.start_joules = REGISTER_J - 700;
    dram.start_joules = 4294967296.0 * AMD_UNIT - 60;
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", INTEL_RANGE, &package);
    machine_put_zone(rig->host, "intel-rapl:0:0", "dram\n", AMD_RANGE, &dram);
    open_powercap(rig);
    machine_run(rig->meter, 10, 0.1);
    assert_true(channel(rig, "package-0")->counter.wraps == 1 && channel(rig, "dram-0")->counter.wraps == 1);
    expect(rig, machine_domain(rig->meter, "package-0"), 1500, 0.3, 0);
    expect(rig, machine_domain(rig->meter, "dram-0"), 120, 0.03, 0);
}

/* Without a range a wrap is a loss of one reading's energy, told as such; never negative, never a guess. */
static void wrap_without_a_range(struct rig *rig, const char *range, int error)
{
    struct load load = load_steady(150);
    struct sensor package = intel(&load);
    package.start_joules = REGISTER_J - 690;
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", range, &package);
    if (error)
        host_script_error(rig->host, "/sys/class/powercap/intel-rapl:0/max_energy_range_uj", error);
    open_powercap(rig);
    machine_run(rig->meter, 10, 0.1);
    expect(rig, JOULE_TOTAL, 1500 - 15, 0.3, 0.1);
    assert_true(channel(rig, "package-0")->counter.resets == 1);
}

static void test_a_range_that_may_not_be_read(void **state)
{
    wrap_without_a_range(*state, NULL, EACCES);
}

static void test_no_range(void **state)
{
    wrap_without_a_range(*state, NULL, 0);
}

static void test_a_range_of_zero(void **state)
{
    wrap_without_a_range(*state, "0\n", 0);
}

static void test_a_range_of_nonsense(void **state)
{
    wrap_without_a_range(*state, "-1\n", 0);
}

/* 40 s without a reading, while the counter may wrap in 33 s: how often it did nobody can say. */
static void test_a_pause_longer_than_a_wrap_is_not_guessed(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(1000);
    struct sensor package = amd(&load);
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", AMD_RANGE, &package);
    open_powercap(rig);
    machine_run(rig->meter, 10, 0.1);
    sleep_through(rig, 39.9);
    machine_run(rig->meter, 10.1, 0.1);
    expect(rig, JOULE_TOTAL, 20000, 2, 40);
    assert_true(channel(rig, "package-0")->counter.rejected == 1);
}

/* --- steps that no machine can make ---------------------------------------------------------------------------- */

static struct sensor troubled(const struct load *load, struct trouble trouble)
{
    struct sensor sensor = intel(load);
    sensor.troubles[0] = trouble;
    return sensor;
}

static void run_10_s(struct rig *rig, const char *range, struct sensor *package)
{
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", range, package);
    open_powercap(rig);
    machine_run(rig->meter, 10, 0.1);
}

static void test_a_step_back_without_a_range(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(80);
    struct sensor package =
        troubled(&load, (struct trouble){.kind = TROUBLE_STEP, .from_s = 5.05, .joules = -50});
    run_10_s(rig, NULL, &package);
    expect(rig, JOULE_TOTAL, 800 - 8, 0.2, 0.1);
    assert_true(channel(rig, "package-0")->counter.resets == 1);
}

static void test_a_step_back_is_no_wrap(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(80);
    struct sensor package =
        troubled(&load, (struct trouble){.kind = TROUBLE_STEP, .from_s = 5.05, .joules = -50});
    run_10_s(rig, INTEL_RANGE, &package);
    expect(rig, JOULE_TOTAL, 800 - 8, 0.2, 0.1);
    assert_true(channel(rig, "package-0")->counter.rejected == 1);
    assert_true(channel(rig, "package-0")->counter.wraps == 0);
}

static void test_a_jump_of_4e9_joules(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(80);
    struct sensor package =
        troubled(&load, (struct trouble){.kind = TROUBLE_STEP, .from_s = 5.05, .joules = 4294967296.0});
    package.modulus = 0;
    run_10_s(rig, NULL, &package);
    expect(rig, JOULE_TOTAL, 800 - 8, 0.2, 0.1);
    assert_true(channel(rig, "package-0")->counter.rejected == 1);
}

/* A driver is loaded anew: the files are gone for a second, and then the count begins at 0. */
static void test_a_counter_that_starts_again(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(80);
    struct sensor package = intel(&load);
    package.troubles[0] = (struct trouble){.kind = TROUBLE_RESTART, .from_s = 4.05};
    package.troubles[1] =
        (struct trouble){.kind = TROUBLE_REFUSE, .from_s = 4.05, .until_s = 5.05, .error = ENODEV};
    run_10_s(rig, NULL, &package);
    expect(rig, JOULE_TOTAL, 800 - 88, 0.2, 1.1);
    assert_true(channel(rig, "package-0")->counter.resets == 1);
    assert_int_equal(channel(rig, "package-0")->failures, 10);
}

/* Truncated to 32 bits a count of microjoules wraps at 4295 J, and nothing says so. Others show 300 to 4000 W. */
static void test_microjoules_cut_to_32_bits(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(100);
    struct sensor package = intel(&load);
    package.unit_joules = 1e-6;
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", NULL, &package);
    open_powercap(rig);
    machine_run(rig->meter, 300, 0.5);
    const struct counter *counter = &channel(rig, "package-0")->counter;
    assert_true(counter->resets == 7);
    expect(rig, JOULE_TOTAL, 30000 - 7 * 50, 1, 7 * 0.5);
}

/* --- counters that stand still --------------------------------------------------------------------------------- */

static void test_a_counter_frozen_from_the_start(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(80);
    struct sensor package = troubled(&load, (struct trouble){.kind = TROUBLE_FREEZE, .from_s = 0.5});
    run_10_s(rig, INTEL_RANGE, &package);
    expect_unknown(rig, JOULE_TOTAL);
    assert_false(is_partial(rig)); /* it answers: there is nothing to make readable */
    assert_int_equal(state_of(rig, "package-0"), JOULE_UNSUPPORTED);
}

static void test_a_counter_that_freezes_on_the_way(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(80);
    struct sensor package = troubled(&load, (struct trouble){.kind = TROUBLE_FREEZE, .from_s = 5});
    run_10_s(rig, INTEL_RANGE, &package);          /* from 1 s on */
    expect(rig, JOULE_TOTAL, 320 + 8, 1, 6 - 0.1); /* for one reading more it may have been late */
    joule_quantity watts;
    assert_int_equal(joule_power_watts(rig->meter, JOULE_TOTAL, &watts), JOULE_STALE);
    assert_int_equal(state_of(rig, "package-0"), JOULE_UNSUPPORTED);
}

/* What it counted meanwhile comes in one step when it moves again. */
static void test_a_counter_that_ticks_every_two_seconds(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(30);
    struct sensor package = intel(&load);
    package.tick_s = 2.1;
    run_10_s(rig, INTEL_RANGE, &package);
    machine_run(rig->meter, 90, 0.1);
    joule_quantity q;
    joule_energy_joules(rig->meter, JOULE_TOTAL, &q);
    near(q.value, 3000, 2 * 2.1 * 30);
    assert_true(channel(rig, "package-0")->counter.rejected == 0);
}

/* Between two ticks a region is small, not the absolute count. */
static void test_a_region_within_one_tick(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(80);
    struct sensor package = intel(&load);
    run_10_s(rig, INTEL_RANGE, &package);
    int64_t begin_ns = meter_now_ns(rig->meter) - 5000100000;
    struct window w = meter_window(rig->meter, JOULE_TOTAL, begin_ns, begin_ns + 100000);
    near(w.joules.value, 80 * 1e-4, 1e-4);
}

/* --- mirrors, twins and totals ---------------------------------------------------------------------------------- */

static const char *cover_name(const struct rig *rig)
{
    static char name[200];
    struct cover cover;
    meter_cover(rig->meter, JOULE_TOTAL, rig->meter->begin_ns, meter_now_ns(rig->meter), &cover);
    meter_cover_name(rig->meter, &cover, name, sizeof name);
    return name;
}

static void put_two_packages(struct rig *rig, struct sensor *first, struct sensor *second)
{
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", AMD_RANGE, first);
    machine_put_zone(rig->host, "intel-rapl:1", "package-1\n", AMD_RANGE, second);
}

/* 68 W in the mean, as a program makes them. */
static struct load restless(void)
{
    struct load load = {.repeat_s = 0.7};
    load_add(&load, 0, 90);
    load_add(&load, 0.35, 46);
    return load;
}

/* Two dies that both show the package: 68 + 68 W where the wall shows 125 W. */
static void test_mirrored_dies_count_once(void **state)
{
    struct rig *rig = *state;
    struct load load = restless();
    struct sensor package = amd(&load);
    put_two_packages(rig, &package, &package);
    open_powercap(rig);
    machine_run(rig->meter, 10, 0.1);
    expect(rig, JOULE_TOTAL, truth(rig, &load), 0.3, 0);
    assert_string_equal(cover_name(rig), "package-0");
    expect(rig, machine_domain(rig->meter, "package-1"), truth(rig, &load), 0.3,
           0); /* it stays to be asked */
}

/* The one that is counted fails: its mirror stands in for it. */
static void test_a_mirror_stands_in(void **state)
{
    struct rig *rig = *state;
    struct load load = restless();
    struct sensor first = amd(&load), second = amd(&load);
    first.troubles[0] = (struct trouble){.kind = TROUBLE_REFUSE, .from_s = 4.55, .error = EIO};
    put_two_packages(rig, &first, &second);
    open_powercap(rig);
    machine_run(rig->meter, 10, 0.1);
    expect(rig, JOULE_TOTAL, truth(rig, &load), 0.3, 0);
    assert_string_equal(cover_name(rig), "package-1");
}

static void test_equal_mean_power_is_no_mirror(void **state)
{
    struct rig *rig = *state;
    struct load even = {.repeat_s = 0.4}, odd = {.repeat_s = 0.4};
    load_add(&even, 0, 100);
    load_add(&even, 0.2, 36);
    load_add(&odd, 0, 36);
    load_add(&odd, 0.2, 100);
    struct sensor first = amd(&even), second = amd(&odd);
    put_two_packages(rig, &first, &second);
    open_powercap(rig);
    machine_run(rig->meter, 10, 0.1);
    expect(rig, JOULE_TOTAL, 1360, 0.6, 0);
}

/* Two sockets that do the same work in step differ by their counts at least. */
static void test_the_same_work_on_two_sockets_is_no_mirror(void **state)
{
    struct rig *rig = *state;
    struct load load = restless();
    struct sensor first = amd(&load), second = amd(&load);
    second.start_joules += 20;
    put_two_packages(rig, &first, &second);
    open_powercap(rig);
    machine_run(rig->meter, 10, 0.1);
    expect(rig, JOULE_TOTAL, 2 * truth(rig, &load), 0.6, 0);
}

/* As long as power does not change nothing shows that two counters are one. */
static void test_steady_power_is_no_mirror(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(68);
    struct sensor first = amd(&load), second = amd(&load);
    put_two_packages(rig, &first, &second);
    open_powercap(rig);
    machine_run(rig->meter, 10, 0.1);
    expect(rig, JOULE_TOTAL, 1360, 0.6, 0);
}

/* --- the kernel's 64-bit counts ----------------------------------------------------------------------------------- */

#define KERNEL_TIMER_S 655.36 /* for a unit of 2^-14 J */

static struct sensor exact_intel(const struct load *load)
{
    struct sensor sensor = intel(load);
    sensor.unit_joules = 0x1p-14;
    return sensor;
}

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

/* The kernel keeps time for 200 W. Read often enough nothing is lost above that either. */
static void test_perf_above_200_watts(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(350);
    struct sensor package = exact_intel(&load);
    struct kernel_count kernel = kernel_count_of(&package);
    put_events(rig, &kernel, NULL);
    rig->meter = machine_open(rig->host, "rapl_perf");
    machine_run(rig->meter, 3600, 4);
    expect(rig, JOULE_TOTAL, 3600 * 350, 1, 0);
}

/* Not read for 11 minutes at 210 W the register has moved by more than 2^31: the count went back by 131 kJ. Taken for a
 * wrap of 64 bits that would be 4e9 J. */
static void test_a_sign_extended_step_of_perf(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(210);
    struct sensor package = exact_intel(&load);
    struct kernel_count kernel = kernel_count_of(&package);
    put_events(rig, &kernel, NULL);
    rig->meter = machine_open(rig->host, "rapl_perf");
    machine_run(rig->meter, 10, 0.1);
    uint64_t before = kernel.count;
    sleep_through(rig, 649.9);
    machine_run(rig->meter, 10.1, 0.1);
    assert_true((int64_t)kernel.count < (int64_t)before);
    expect(rig, JOULE_TOTAL, 210 * 20, 1, 650);
    assert_true(channel(rig, "package-0")->counter.rejected == 1);
}

static void test_mirrored_perf_events_count_once(void **state)
{
    struct rig *rig = *state;
    struct load load = {.repeat_s = 0.6};
    load_add(&load, 0, 120);
    load_add(&load, 0.25, 40);
    struct sensor package = exact_intel(&load);
    struct kernel_count first = kernel_count_of(&package), second = kernel_count_of(&package);
    put_events(rig, &first, &second);
    rig->meter = machine_open(rig->host, "rapl_perf");
    machine_run(rig->meter, 6, 0.1);
    expect(rig, JOULE_TOTAL, truth(rig, &load), 0.3, 0);
    assert_string_equal(cover_name(rig), "package-0");
}

static void test_steady_perf_events_are_no_mirrors(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(50);
    struct sensor package = exact_intel(&load);
    struct kernel_count first = kernel_count_of(&package), second = kernel_count_of(&package);
    put_events(rig, &first, &second);
    rig->meter = machine_open(rig->host, "rapl_perf");
    machine_run(rig->meter, 6, 0.1);
    expect(rig, JOULE_TOTAL, 600, 0.3, 0);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_one_wrap),
        CASE(test_many_wraps_in_an_hour),
        CASE(test_the_pace_keeps_counters_alive),
        CASE(test_a_longer_job_does_not_use_less),
        CASE(test_each_domain_wraps_at_its_own_range),
        CASE(test_a_range_that_may_not_be_read),
        CASE(test_no_range),
        CASE(test_a_range_of_zero),
        CASE(test_a_range_of_nonsense),
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
        CASE(test_mirrored_dies_count_once),
        CASE(test_a_mirror_stands_in),
        CASE(test_equal_mean_power_is_no_mirror),
        CASE(test_the_same_work_on_two_sockets_is_no_mirror),
        CASE(test_steady_power_is_no_mirror),
        CASE(test_perf_above_200_watts),
        CASE(test_a_sign_extended_step_of_perf),
        CASE(test_mirrored_perf_events_count_once),
        CASE(test_steady_perf_events_are_no_mirrors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
