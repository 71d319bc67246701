/* Tests the doctor on scripted machines with problems: it reports the right finding and command, and no
 * finding whose command would not help.
 *
 * GPUs and cgroups have their own tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "support/check.h"
#include "support/doctor_bench.h"

#define ZONE "/sys/class/powercap/intel-rapl:0"
#define PMU  "/sys/bus/event_source/devices/power"

#define ALL_CAPABILITY "CapEff:\t000001ffffffffff\nCapBnd:\t000001ffffffffff\n"

/* Adds events of a PMU without values. The scripted host therefore refuses to open them. */
static void add_events(struct joule_host *host)
{
    host_script_text(host, PMU "/type", "21\n");
    host_script_text(host, PMU "/cpumask", "0\n");
    host_script_text(host, PMU "/events/energy-pkg", "event=0x02\n");
    host_script_text(host, PMU "/events/energy-pkg.scale", "2.3283064365386962890625e-10\n");
    host_script_text(host, PMU "/events/energy-pkg.unit", "Joules\n");
}

/* --- machines ------------------------------------------------------------------------------------------- */

static void test_healthy_machine_has_no_findings(void **state)
{
    struct doctor_bench *bench = *state;
    doctor_bench_add_zone(bench->host, true);
    doctor_bench_examine(bench, 25);
    assert_int_equal(bench->diagnosis.cpu_class, JOULE_CLASS_MEASURED);
    doctor_bench_assert_finding(bench, "cpu_energy", FINDING_FACT, NULL);
    doctor_bench_assert_finding(bench, "clock", FINDING_FACT, NULL);
    doctor_bench_assert_nothing_to_do(bench);
}

static void test_a_source_that_was_asked_for(void **state)
{
    struct doctor_bench *bench = *state;
    doctor_bench_add_zone(bench->host, true);
    host_script_env(bench->host, "JOULE_PDU", "");
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_absent(bench, "asked_for");
    host_script_env(bench->host, "JOULE_PDU", "bogus");
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "asked_for", FINDING_LIMIT, NULL);
    assert_contains(doctor_bench_find(bench, "asked_for")->what, "JOULE_PDU");
    assert_true(doctor_bench_find(bench, "asked_for")->why[0] != '\0');
}

static void test_missing_driver_gets_advice(void **state)
{
    struct doctor_bench *bench = *state;
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "no_rapl_driver", FINDING_ADVICE, "modprobe");
    doctor_bench_assert_absent(bench, "virtual_machine");
    doctor_bench_assert_absent(bench, "perf_denied");
}

static void add_helper(struct joule_host *host, int error)
{
    host_script_error(host, "unix:/run/joule/helper.sock", error);
}

/* Only root may read a zone. The finding depends on how much of the helper is installed. */
static void test_helper_is_offered(void **state)
{
    struct doctor_bench *bench = *state;
    doctor_bench_add_zone(bench->host, false);
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "helper_offer", FINDING_FACT, NULL);
    host_script_text(bench->host, "/usr/sbin/joule-helper", "ELF");
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "helper_offer", FINDING_ADVICE, "sudo joule-helper --group");
    host_script_text(bench->host, "/usr/lib/systemd/system/joule-helper.socket", "[Socket]\n");
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "helper_offer", FINDING_ADVICE,
                                "systemctl enable --now joule-helper.socket");
    host_script_text(bench->host, "/.dockerenv", "");
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_absent(bench, "helper_offer");
}

static void test_unusable_helper_is_not_offered(void **state)
{
    struct doctor_bench *bench = *state;
    doctor_bench_add_zone(bench->host, false);
    add_helper(bench->host, EACCES);
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "helper_denied", FINDING_ADVICE, "usermod -aG joule");
    doctor_bench_assert_absent(bench, "helper_offer");
    add_helper(bench->host, EAGAIN);
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "helper_fails", FINDING_LIMIT, NULL);
    doctor_bench_assert_absent(bench, "helper_denied");
}

static void test_no_helper_is_needed(void **state)
{
    struct doctor_bench *bench = *state;
    doctor_bench_add_zone(bench->host, true);
    add_helper(bench->host, EACCES);
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_absent(bench, "helper_offer");
    doctor_bench_assert_absent(bench, "helper_denied");
    doctor_bench_assert_nothing_to_do(bench);
}

static void test_denied_events_get_advice(void **state)
{
    struct doctor_bench *bench = *state;
    add_events(bench->host);
    doctor_bench_add_zone(bench->host, false);
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "perf_denied", FINDING_ADVICE, "setcap cap_perfmon+ep");
    /* one solution is enough, and the capability is the safer one */
    doctor_bench_assert_absent(bench, "powercap_denied");
    doctor_bench_assert_absent(bench, "no_rapl_driver");
}

static void test_events_denied_does_not_matter_where_zones_answer(void **state)
{
    struct doctor_bench *bench = *state;
    add_events(bench->host);
    doctor_bench_add_zone(bench->host, true);
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_absent(bench, "perf_denied");
    doctor_bench_assert_nothing_to_do(bench);
}

static void test_denied_zones_get_advice(void **state)
{
    struct doctor_bench *bench = *state;
    doctor_bench_add_zone(bench->host, false);
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "powercap_denied", FINDING_ADVICE, "chmod a+r");
}

static void test_container_with_capability_out_of_reach(void **state)
{
    struct doctor_bench *bench = *state;
    host_script_text(bench->host, "/.dockerenv", "");
    host_script_text(bench->host, "/proc/self/status",
                     "CapEff:\t0000000000000000\nCapBnd:\t0000004000000000\n");
    add_events(bench->host);
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "container", FINDING_FACT, NULL);
    doctor_bench_assert_finding(bench, "perf_denied", FINDING_ADVICE, "setcap");
    assert_contains(doctor_bench_find(bench, "perf_denied")->what, "CAP_PERFMON");
}

static void test_container_without_capability(void **state)
{
    struct doctor_bench *bench = *state;
    host_script_text(bench->host, "/proc/self/cgroup", "0::/system.slice/docker-0123abcd.scope\n");
    host_script_text(bench->host, "/proc/self/status",
                     "CapEff:\t0000000000000000\nCapBnd:\t00000000a80425fb\n");
    add_events(bench->host);
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "perf_denied", FINDING_ADVICE, "docker run --cap-add PERFMON");
}

static void test_the_daemon_is_no_container(void **state)
{
    struct doctor_bench *bench = *state;
    host_script_text(bench->host, "/proc/self/cgroup", "0::/system.slice/docker.service\n");
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_absent(bench, "container");
}

static void test_filter_of_system_calls(void **state)
{
    struct doctor_bench *bench = *state;
    host_script_text(bench->host, "/.dockerenv", "");
    host_script_text(bench->host, "/proc/self/status", ALL_CAPABILITY);
    add_events(bench->host);
    host_script_error(bench->host, "/perf/21/0x2/0", EPERM);
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "perf_policy", FINDING_ADVICE, "seccomp=unconfined");
    doctor_bench_assert_absent(bench, "perf_denied");
}

static void test_masked_zones_are_named(void **state)
{
    struct doctor_bench *bench = *state;
    host_script_text(bench->host, "/.dockerenv", "");
    host_script_text(bench->host, "/proc/self/mountinfo",
                     "700 650 0:60 / /sys/devices/virtual/powercap ro,relatime - tmpfs tmpfs ro\n");
    host_script_link(bench->host, ZONE, "../../devices/virtual/powercap/intel-rapl/intel-rapl:0");
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "powercap_masked", FINDING_ADVICE, "systempaths=unconfined");
    doctor_bench_assert_absent(bench, "no_rapl_driver");
}

static void test_virtual_machine_is_named(void **state)
{
    struct doctor_bench *bench = *state;
    doctor_bench_make_virtual(bench->host);
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "virtual_machine", FINDING_LIMIT, NULL);
    assert_contains(doctor_bench_find(bench, "virtual_machine")->what, "KVM, Google Compute Engine");
    doctor_bench_assert_absent(bench, "no_rapl_driver");
}

static void test_virtual_machine_with_counters(void **state)
{
    struct doctor_bench *bench = *state;
    doctor_bench_make_virtual(bench->host);
    doctor_bench_add_zone(bench->host, true);
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "virtual_machine", FINDING_FACT, NULL);
    doctor_bench_assert_nothing_to_do(bench);
}

static void test_arm_virtual_machine(void **state)
{
    struct doctor_bench *bench = *state;
    host_script_text(bench->host, "/proc/cpuinfo",
                     "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n\n");
    host_script_text(bench->host, "/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
    host_script_text(bench->host, "/sys/class/dmi/id/product_name", "c7g.large\n");
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "virtual_machine", FINDING_LIMIT, NULL);
}

static void test_bare_machine_of_a_cloud(void **state)
{
    struct doctor_bench *bench = *state;
    host_script_text(bench->host, "/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
    host_script_text(bench->host, "/sys/class/dmi/id/product_name", "c7i.metal-24xl\n");
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_absent(bench, "virtual_machine");
    doctor_bench_assert_finding(bench, "no_rapl_driver", FINDING_ADVICE, "modprobe");
}

static int stands_still(void *context, int64_t time_ns, uint64_t *out_value)
{
    (void)context;
    (void)time_ns;
    *out_value = 0;
    return 0;
}

/* If the CPU has no sensor, a board's sensor is enough. */
static void test_a_board_is_measured_where_the_cpu_is_not(void **state)
{
    struct doctor_bench *bench = *state;
    host_script_text(bench->host, "/proc/cpuinfo", "processor\t: 0\nvendor_id\t: CentaurHauls\n\n");
    host_script_text(bench->host, "/sys/class/hwmon/hwmon0/name", "amdgpu\n");
    host_script_text(bench->host, "/sys/class/hwmon/hwmon0/power1_average", "32000000\n");
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "no_sensor", FINDING_LIMIT, NULL);
    assert_contains(doctor_bench_find(bench, "no_sensor")->what, "CPU's energy");
    assert_contains(doctor_bench_find(bench, "no_sensor")->why, "gpu-0 is derived, by hwmon");
}

/* The finding names the variable that hides a board. */
static void test_hidden_boards_are_named(void **state)
{
    struct doctor_bench *bench = *state;
    host_script_text(bench->host, "/sys/class/hwmon/hwmon0/name", "amdgpu\n");
    host_script_text(bench->host, "/sys/class/hwmon/hwmon0/power1_average", "32000000\n");
    host_script_text(bench->host, "/sys/class/kfd/kfd/topology/nodes/1/properties", "simd_count 304\n");
    host_script_env(bench->host, "ROCR_VISIBLE_DEVICES", "");
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "hidden_boards", FINDING_FACT, "unset ROCR_VISIBLE_DEVICES");
    assert_contains(doctor_bench_find(bench, "hidden_boards")->what, "gpu:0");
}

static void test_counter_that_stands_still(void **state)
{
    struct doctor_bench *bench = *state;
    doctor_bench_make_virtual(bench->host);
    add_events(bench->host);
    host_script_perf(bench->host, &(struct host_perf_event){.type = 21, .config = 2, .cpu = 0}, stands_still,
                     NULL);
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "counter_still", FINDING_LIMIT, NULL);
    assert_int_not_equal(bench->diagnosis.cpu_class, JOULE_CLASS_MEASURED);
}

/* --- filter, clock -------------------------------------------------------------------------------------- */

static int filter_is_on(void *context, int64_t time_ns, uint64_t *out_value)
{
    (void)context;
    (void)time_ns;
    *out_value = 1;
    return 0;
}

static void test_filtered_readings_are_reported(void **state)
{
    struct doctor_bench *bench = *state;
    doctor_bench_add_zone(bench->host, true);
    host_script_register(bench->host, 0, 0xbc, filter_is_on, NULL);
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "energy_filter", FINDING_LIMIT, NULL);
}

static void test_sgx_hides_whether_readings_are_filtered(void **state)
{
    struct doctor_bench *bench = *state;
    char cpu[512];
    snprintf(cpu, sizeof cpu, "%.*s sgx\n\n", (int)(strlen(doctor_bench_cpu) - 2), doctor_bench_cpu);
    host_script_text(bench->host, "/proc/cpuinfo", cpu);
    doctor_bench_add_zone(bench->host, true);
    doctor_bench_examine(bench, 25);
    doctor_bench_assert_finding(bench, "energy_filter", FINDING_ADVICE, "rdmsr");
}

static void test_slow_clock_gets_advice(void **state)
{
    struct doctor_bench *bench = *state;
    doctor_bench_add_zone(bench->host, true);
    host_script_text(bench->host, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
                     "hpet\n");
    doctor_bench_examine(bench, 900);
    doctor_bench_assert_finding(bench, "clock_slow", FINDING_ADVICE, "echo tsc | sudo tee");
}

static void test_slow_clock_without_a_better_one(void **state)
{
    struct doctor_bench *bench = *state;
    doctor_bench_add_zone(bench->host, true);
    /* the clock source is tsc and slow, and no other clock source is better */
    doctor_bench_examine(bench, 900);
    doctor_bench_assert_finding(bench, "clock_slow", FINDING_LIMIT, NULL);
}

static void test_clock_of_a_recorded_machine_is_judged_by_name(void **state)
{
    struct doctor_bench *bench = *state;
    host_script_text(bench->host, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
                     "acpi_pm\n");
    doctor_bench_examine(bench, NAN);
    doctor_bench_assert_finding(bench, "clock_slow", FINDING_ADVICE, "echo tsc");
}

static void test_unknown_clock_is_not_praised(void **state)
{
    struct doctor_bench *bench = *state;
    host_script_text(bench->host, "/sys/devices/system/clocksource/clocksource0/current_clocksource", NULL);
    doctor_bench_examine(bench, NAN);
    doctor_bench_assert_absent(bench, "clock");
    doctor_bench_assert_absent(bench, "clock_slow");
}

static void test_clock_is_timed(void **state)
{
    (void)state;
    double ns = doctor_run_trials().clock_read_ns;
    assert_true(ns > 0 && ns < 1e6);
}

#define machine(test) cmocka_unit_test_setup_teardown(test, doctor_bench_set_up, doctor_bench_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        machine(test_healthy_machine_has_no_findings),
        machine(test_a_source_that_was_asked_for),
        machine(test_missing_driver_gets_advice),
        machine(test_helper_is_offered),
        machine(test_unusable_helper_is_not_offered),
        machine(test_no_helper_is_needed),
        machine(test_denied_events_get_advice),
        machine(test_events_denied_does_not_matter_where_zones_answer),
        machine(test_denied_zones_get_advice),
        machine(test_container_with_capability_out_of_reach),
        machine(test_container_without_capability),
        machine(test_the_daemon_is_no_container),
        machine(test_filter_of_system_calls),
        machine(test_masked_zones_are_named),
        machine(test_virtual_machine_is_named),
        machine(test_virtual_machine_with_counters),
        machine(test_arm_virtual_machine),
        machine(test_bare_machine_of_a_cloud),
        machine(test_a_board_is_measured_where_the_cpu_is_not),
        machine(test_hidden_boards_are_named),
        machine(test_counter_that_stands_still),
        machine(test_filtered_readings_are_reported),
        machine(test_sgx_hides_whether_readings_are_filtered),
        machine(test_slow_clock_gets_advice),
        machine(test_slow_clock_without_a_better_one),
        machine(test_clock_of_a_recorded_machine_is_judged_by_name),
        machine(test_unknown_clock_is_not_praised),
        cmocka_unit_test(test_clock_is_timed),
    };
    return cmocka_run_group_tests_name("doctor", tests, NULL, NULL);
}
