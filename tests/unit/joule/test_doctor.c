/* Machines in trouble, scripted, and what the doctor says of each: the right finding, its command, and nothing that
 * would not help there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "joule/doctor.h"

#define ZONE "/sys/class/powercap/intel-rapl:0"
#define PMU  "/sys/bus/event_source/devices/power"

#define NO_CAPABILITY  "CapEff:\t0000000000000000\nCapBnd:\t000001ffffffffff\n"
#define ALL_CAPABILITY "CapEff:\t000001ffffffffff\nCapBnd:\t000001ffffffffff\n"

struct fixture {
    struct joule_host *host;
    joule_meter *meter;
    struct diagnosis diagnosis;
};

static const char metal_cpu[] = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
                                "model name\t: Intel(R) Xeon(R) w9-3595X\nflags\t\t: fpu tsc\n\n";

/* A bare machine with an Intel CPU, no driver, a good clock, and a user without rights. */
static int set_up(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){.host = host_script_open()};
    struct joule_host *host = fixture.host;
    host_script_set_time(host, 1000000000);
    host_script_text(host, "/proc/cpuinfo", metal_cpu);
    host_script_text(host, "/proc/self/status", NO_CAPABILITY);
    host_script_text(host, "/proc/sys/kernel/perf_event_paranoid", "2\n");
    host_script_text(host, "/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    host_script_text(host, "/sys/devices/system/clocksource/clocksource0/available_clocksource",
                     "tsc hpet acpi_pm \n");
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    diagnosis_free(&fixture->diagnosis);
    joule_close(fixture->meter);
    fixture->host->ops->close(fixture->host);
    return 0;
}

/* Opens a meter, reads for two seconds, examines. */
static void examine(struct fixture *fixture, double clock_read_ns)
{
    joule_error error;
    if (meter_open_on(fixture->host, false, NULL, &fixture->meter, &error) != JOULE_OK)
        fail_msg("%s", error.message);
    for (int64_t time_ns = 1100000000; time_ns < 3000000000; time_ns += 100000000) {
        host_script_set_time(fixture->host, time_ns);
        meter_tick(fixture->meter);
    }
    doctor_examine(fixture->host, fixture->meter, clock_read_ns, &fixture->diagnosis);
}

static const struct finding *find(const struct fixture *fixture, const char *id)
{
    for (size_t i = 0; i < fixture->diagnosis.count; i++)
        if (strcmp(fixture->diagnosis.findings[i].id, id) == 0)
            return &fixture->diagnosis.findings[i];
    return NULL;
}

static void assert_absent(const struct fixture *fixture, const char *id)
{
    if (find(fixture, id))
        fail_msg("%s has no business here: %s", id, find(fixture, id)->what);
}

static void assert_finding(const struct fixture *fixture, const char *id, enum finding_severity severity,
                           const char *command_part)
{
    const struct finding *finding = find(fixture, id);
    if (!finding)
        fail_msg("no finding %s", id);
    assert_string_equal(finding_severity_name(finding->severity), finding_severity_name(severity));
    assert_true(finding->what[0] != '\0');
    if (!command_part)
        assert_null(finding->command);
    else if (!finding->command || !strstr(finding->command, command_part))
        fail_msg("%s: no \"%s\" in the command \"%s\"", id, command_part,
                 finding->command ? finding->command : "(none)");
}

static void assert_nothing_to_do(const struct fixture *fixture)
{
    for (size_t i = 0; i < fixture->diagnosis.count; i++)
        if (fixture->diagnosis.findings[i].severity != FINDING_FACT)
            fail_msg("%s: %s", fixture->diagnosis.findings[i].id, fixture->diagnosis.findings[i].what);
}

/* --- parts of machines -------------------------------------------------------------------------------------- */

static ssize_t sixty_watts(void *context, int64_t time_ns, char *buffer, size_t size)
{
    (void)context;
    return snprintf(buffer, size, "%lld\n", (long long)(time_ns / 1000 * 60));
}

static void add_zone(struct joule_host *host, bool is_readable)
{
    host_script_text(host, ZONE "/name", "package-0\n");
    host_script_text(host, ZONE "/max_energy_range_uj", "262143328850\n");
    if (is_readable)
        host_script_file(host, ZONE "/energy_uj", sixty_watts, NULL);
    else
        host_script_error(host, ZONE "/energy_uj", EACCES);
}

/* Events that perf_event_open refuses, because none is scripted. */
static void add_events(struct joule_host *host)
{
    host_script_text(host, PMU "/type", "21\n");
    host_script_text(host, PMU "/cpumask", "0\n");
    host_script_text(host, PMU "/events/energy-pkg", "event=0x02\n");
    host_script_text(host, PMU "/events/energy-pkg.scale", "2.3283064365386962890625e-10\n");
    host_script_text(host, PMU "/events/energy-pkg.unit", "Joules\n");
}

static void make_virtual(struct joule_host *host)
{
    static const uint32_t kvm[4] = {0x40000001, 0x4b4d564b, 0x564b4d56, 0x0000004d};
    host_script_text(host, "/proc/cpuinfo",
                     "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
                     "flags\t\t: fpu tsc hypervisor\n\n");
    host_script_text(host, "/sys/class/dmi/id/product_name", "Google Compute Engine\n");
    host_script_cpuid(host, 0x40000000, 0, kvm);
}

/* --- machines ----------------------------------------------------------------------------------------------- */

static void test_all_is_fine(void **state)
{
    struct fixture *fixture = *state;
    add_zone(fixture->host, true);
    examine(fixture, 25);
    assert_int_equal(fixture->diagnosis.cpu_class, JOULE_CLASS_MEASURED);
    assert_finding(fixture, "cpu_energy", FINDING_FACT, NULL);
    assert_finding(fixture, "clock", FINDING_FACT, NULL);
    assert_nothing_to_do(fixture);
}

static void test_no_driver(void **state)
{
    struct fixture *fixture = *state;
    examine(fixture, 25);
    assert_finding(fixture, "no_rapl_driver", FINDING_ADVICE, "modprobe");
    assert_absent(fixture, "virtual_machine");
    assert_absent(fixture, "perf_denied");
}

static void test_events_denied(void **state)
{
    struct fixture *fixture = *state;
    add_events(fixture->host);
    add_zone(fixture->host, false);
    examine(fixture, 25);
    assert_finding(fixture, "perf_denied", FINDING_ADVICE, "setcap cap_perfmon+ep");
    assert_absent(fixture, "powercap_denied"); /* one way is enough, and this is the safer one */
    assert_absent(fixture, "no_rapl_driver");
}

static void test_events_denied_does_not_matter_where_zones_answer(void **state)
{
    struct fixture *fixture = *state;
    add_events(fixture->host);
    add_zone(fixture->host, true);
    examine(fixture, 25);
    assert_absent(fixture, "perf_denied");
    assert_nothing_to_do(fixture);
}

static void test_zones_denied(void **state)
{
    struct fixture *fixture = *state;
    add_zone(fixture->host, false);
    examine(fixture, 25);
    assert_finding(fixture, "powercap_denied", FINDING_ADVICE, "chmod a+r");
}

static void test_container_with_capability_out_of_reach(void **state)
{
    struct fixture *fixture = *state;
    host_script_text(fixture->host, "/.dockerenv", "");
    host_script_text(fixture->host, "/proc/self/status",
                     "CapEff:\t0000000000000000\nCapBnd:\t0000004000000000\n");
    add_events(fixture->host);
    examine(fixture, 25);
    assert_finding(fixture, "container", FINDING_FACT, NULL);
    assert_finding(fixture, "perf_denied", FINDING_ADVICE, "setcap");
    assert_non_null(strstr(find(fixture, "perf_denied")->what, "CAP_PERFMON"));
}

static void test_container_without_capability(void **state)
{
    struct fixture *fixture = *state;
    host_script_text(fixture->host, "/proc/self/cgroup", "0::/system.slice/docker-0123abcd.scope\n");
    host_script_text(fixture->host, "/proc/self/status",
                     "CapEff:\t0000000000000000\nCapBnd:\t00000000a80425fb\n");
    add_events(fixture->host);
    examine(fixture, 25);
    assert_finding(fixture, "perf_denied", FINDING_ADVICE, "docker run --cap-add PERFMON");
}

static void test_the_daemon_is_no_container(void **state)
{
    struct fixture *fixture = *state;
    host_script_text(fixture->host, "/proc/self/cgroup", "0::/system.slice/docker.service\n");
    examine(fixture, 25);
    assert_absent(fixture, "container");
}

static void test_filter_of_system_calls(void **state)
{
    struct fixture *fixture = *state;
    host_script_text(fixture->host, "/.dockerenv", "");
    host_script_text(fixture->host, "/proc/self/status", ALL_CAPABILITY);
    add_events(fixture->host);
    host_script_error(fixture->host, "/perf/21/0x2/0", EPERM);
    examine(fixture, 25);
    assert_finding(fixture, "perf_policy", FINDING_ADVICE, "seccomp=unconfined");
    assert_absent(fixture, "perf_denied");
}

static void test_masked_zones(void **state)
{
    struct fixture *fixture = *state;
    host_script_text(fixture->host, "/.dockerenv", "");
    host_script_text(fixture->host, "/proc/self/mountinfo",
                     "700 650 0:60 / /sys/devices/virtual/powercap ro,relatime - tmpfs tmpfs ro\n");
    host_script_link(fixture->host, ZONE, "../../devices/virtual/powercap/intel-rapl/intel-rapl:0");
    examine(fixture, 25);
    assert_finding(fixture, "powercap_masked", FINDING_ADVICE, "systempaths=unconfined");
    assert_absent(fixture, "no_rapl_driver");
}

static void test_virtual_machine(void **state)
{
    struct fixture *fixture = *state;
    make_virtual(fixture->host);
    examine(fixture, 25);
    assert_finding(fixture, "virtual_machine", FINDING_LIMIT, NULL);
    assert_non_null(strstr(find(fixture, "virtual_machine")->what, "KVM, Google Compute Engine"));
    assert_absent(fixture, "no_rapl_driver");
}

static void test_virtual_machine_with_counters(void **state)
{
    struct fixture *fixture = *state;
    make_virtual(fixture->host);
    add_zone(fixture->host, true);
    examine(fixture, 25);
    assert_finding(fixture, "virtual_machine", FINDING_FACT, NULL);
    assert_nothing_to_do(fixture);
}

static void test_arm_virtual_machine(void **state)
{
    struct fixture *fixture = *state;
    host_script_text(fixture->host, "/proc/cpuinfo",
                     "processor\t: 0\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n\n");
    host_script_text(fixture->host, "/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
    host_script_text(fixture->host, "/sys/class/dmi/id/product_name", "c7g.large\n");
    examine(fixture, 25);
    assert_finding(fixture, "virtual_machine", FINDING_LIMIT, NULL);
}

static void test_bare_machine_of_a_cloud(void **state)
{
    struct fixture *fixture = *state;
    host_script_text(fixture->host, "/sys/class/dmi/id/sys_vendor", "Amazon EC2\n");
    host_script_text(fixture->host, "/sys/class/dmi/id/product_name", "c7i.metal-24xl\n");
    examine(fixture, 25);
    assert_absent(fixture, "virtual_machine");
    assert_finding(fixture, "no_rapl_driver", FINDING_ADVICE, "modprobe");
}

static int stands_still(void *context, int64_t time_ns, uint64_t *out_value)
{
    (void)context;
    (void)time_ns;
    *out_value = 0;
    return 0;
}

static void test_counter_that_stands_still(void **state)
{
    struct fixture *fixture = *state;
    make_virtual(fixture->host);
    add_events(fixture->host);
    host_script_perf(fixture->host, &(struct host_perf_event){.type = 21, .config = 2, .cpu = 0},
                     stands_still, NULL);
    examine(fixture, 25);
    assert_finding(fixture, "counter_still", FINDING_LIMIT, NULL);
    assert_int_not_equal(fixture->diagnosis.cpu_class, JOULE_CLASS_MEASURED);
}

/* --- filter, clock ------------------------------------------------------------------------------------------ */

static int filter_is_on(void *context, int64_t time_ns, uint64_t *out_value)
{
    (void)context;
    (void)time_ns;
    *out_value = 1;
    return 0;
}

static void test_filtered_readings(void **state)
{
    struct fixture *fixture = *state;
    add_zone(fixture->host, true);
    host_script_register(fixture->host, 0, 0xbc, filter_is_on, NULL);
    examine(fixture, 25);
    assert_finding(fixture, "energy_filter", FINDING_LIMIT, NULL);
}

static void test_sgx_and_no_way_to_look(void **state)
{
    struct fixture *fixture = *state;
    char cpu[sizeof metal_cpu + 8];
    snprintf(cpu, sizeof cpu, "%.*s sgx\n\n", (int)(sizeof metal_cpu - 3), metal_cpu);
    host_script_text(fixture->host, "/proc/cpuinfo", cpu);
    add_zone(fixture->host, true);
    examine(fixture, 25);
    assert_finding(fixture, "energy_filter", FINDING_ADVICE, "rdmsr");
}

static void test_slow_clock(void **state)
{
    struct fixture *fixture = *state;
    add_zone(fixture->host, true);
    host_script_text(fixture->host, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
                     "hpet\n");
    examine(fixture, 900);
    assert_finding(fixture, "clock_slow", FINDING_ADVICE, "echo tsc | sudo tee");
}

static void test_slow_clock_without_a_better_one(void **state)
{
    struct fixture *fixture = *state;
    add_zone(fixture->host, true);
    examine(fixture, 900); /* tsc, and yet slow: nothing better to switch to */
    assert_finding(fixture, "clock_slow", FINDING_LIMIT, NULL);
}

static void test_clock_of_a_recorded_machine_is_judged_by_name(void **state)
{
    struct fixture *fixture = *state;
    host_script_text(fixture->host, "/sys/devices/system/clocksource/clocksource0/current_clocksource",
                     "acpi_pm\n");
    examine(fixture, NAN);
    assert_finding(fixture, "clock_slow", FINDING_ADVICE, "echo tsc");
}

static void test_unknown_clock_is_not_praised(void **state)
{
    struct fixture *fixture = *state;
    host_script_text(fixture->host, "/sys/devices/system/clocksource/clocksource0/current_clocksource", NULL);
    examine(fixture, NAN);
    assert_absent(fixture, "clock");
    assert_absent(fixture, "clock_slow");
}

/* --- NVIDIA ------------------------------------------------------------------------------------------------- */

static void add_board(struct joule_host *host, const char *driver)
{
    host_script_text(host, "/sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
    host_script_text(host, "/sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
    host_script_text(host, "/sys/bus/pci/devices/0000:01:00.1/vendor", "0x10de\n"); /* its sound */
    host_script_text(host, "/sys/bus/pci/devices/0000:01:00.1/class", "0x040300\n");
    if (driver)
        host_script_link(host, "/sys/bus/pci/devices/0000:01:00.0/driver", driver);
}

static void test_leftover_nodes(void **state)
{
    struct fixture *fixture = *state;
    host_script_text(fixture->host, "/dev/nvidia0", "");
    host_script_text(fixture->host, "/dev/nvidiactl", "");
    examine(fixture, 25);
    assert_finding(fixture, "nvidia_nodes", FINDING_FACT, NULL);
    assert_absent(fixture, "nvidia_driver");
}

static void test_board_held_by_nouveau(void **state)
{
    struct fixture *fixture = *state;
    add_board(fixture->host, "../../../bus/pci/drivers/nouveau");
    examine(fixture, 25);
    assert_finding(fixture, "nvidia_driver", FINDING_ADVICE, "nvidia-driver");
    assert_non_null(strstr(find(fixture, "nvidia_driver")->what, "1, held by nouveau"));
}

static void test_board_lent_to_a_guest(void **state)
{
    struct fixture *fixture = *state;
    add_board(fixture->host, "../../../bus/pci/drivers/vfio-pci");
    examine(fixture, 25);
    assert_finding(fixture, "nvidia_driver", FINDING_LIMIT, NULL);
}

static void test_driver_without_library(void **state)
{
    struct fixture *fixture = *state;
    add_board(fixture->host, "../../../bus/pci/drivers/nvidia");
    host_script_text(fixture->host, "/proc/driver/nvidia/version", "NVRM version: 570\n");
    host_script_text(fixture->host, "/.dockerenv", "");
    examine(fixture, 25);
    assert_finding(fixture, "nvml_missing", FINDING_ADVICE, "utility");
    assert_absent(fixture, "nvidia_driver");
}

/* --- AMD and Intel ------------------------------------------------------------------------------------------ */

#define CARD "0000:03:00.0"

static void add_function(struct joule_host *host, const char *address, const char *vendor, const char *kind)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/vendor", address);
    host_script_text(host, path, vendor);
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/class", address);
    host_script_text(host, path, kind);
}

static void bind(struct joule_host *host, const char *address, const char *driver)
{
    char path[96], target[96];
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/driver", address);
    snprintf(target, sizeof target, "../../../../bus/pci/drivers/%s", driver);
    host_script_link(host, path, target);
    snprintf(path, sizeof path, "/sys/module/%s/refcnt", driver);
    host_script_text(host, path, "1\n");
}

/* A card of AMD's with its sound, in a machine whose CPU is measured. */
static void add_amd_card(struct joule_host *host)
{
    add_zone(host, true);
    add_function(host, CARD, "0x1002\n", "0x030000\n");
    add_function(host, "0000:03:00.1", "0x1002\n", "0x040300\n");
}

static void add_hwmon(struct joule_host *host, const char *name, const char *file, int errno_value)
{
    char path[64];
    snprintf(path, sizeof path, "/sys/class/hwmon/hwmon0/%s", file);
    host_script_text(host, "/sys/class/hwmon/hwmon0/name", name);
    host_script_link(host, "/sys/class/hwmon/hwmon0/device", "/sys/devices/pci0000:00/0000:00:01.0/" CARD);
    host_script_text(host, path, "16000000\n");
    if (errno_value)
        host_script_error(host, path, errno_value);
}

static void test_amd_card_without_driver(void **state)
{
    struct fixture *fixture = *state;
    add_amd_card(fixture->host);
    examine(fixture, 25);
    assert_finding(fixture, "amd_gpu_no_driver", FINDING_ADVICE, "sudo modprobe amdgpu");
    assert_non_null(strstr(find(fixture, "amd_gpu_no_driver")->what, "GPU (" CARD "):"));
}

static void test_driver_is_not_loaded_from_a_container(void **state)
{
    struct fixture *fixture = *state;
    host_script_text(fixture->host, "/.dockerenv", "");
    add_amd_card(fixture->host);
    examine(fixture, 25);
    assert_finding(fixture, "amd_gpu_no_driver", FINDING_LIMIT, NULL);
}

static void test_amd_card_that_its_driver_refused(void **state)
{
    struct fixture *fixture = *state;
    add_amd_card(fixture->host);
    host_script_text(fixture->host, "/sys/module/amdgpu/refcnt", "0\n");
    examine(fixture, 25);
    assert_finding(fixture, "amd_gpu_not_taken", FINDING_ADVICE, "dmesg | grep -i amdgpu");
    assert_absent(fixture, "amd_gpu_no_driver");
}

static void test_amd_card_is_read(void **state)
{
    struct fixture *fixture = *state;
    add_amd_card(fixture->host);
    bind(fixture->host, CARD, "amdgpu");
    add_hwmon(fixture->host, "amdgpu", "power1_average", 0);
    examine(fixture, 25);
    assert_finding(fixture, "amd_gpu_energy", FINDING_FACT, NULL);
    assert_non_null(strstr(find(fixture, "amd_gpu_energy")->what, "derived by hwmon"));
    assert_nothing_to_do(fixture);
}

static void test_amd_card_is_denied(void **state)
{
    struct fixture *fixture = *state;
    add_amd_card(fixture->host);
    bind(fixture->host, CARD, "amdgpu");
    add_hwmon(fixture->host, "amdgpu", "power1_average", EACCES);
    examine(fixture, 25);
    assert_finding(fixture, "amd_gpu_denied", FINDING_ADVICE, "chmod a+r /sys/class/drm/card*/device/hwmon");
}

static void test_amd_card_asleep(void **state)
{
    struct fixture *fixture = *state;
    add_amd_card(fixture->host);
    bind(fixture->host, CARD, "amdgpu");
    add_hwmon(fixture->host, "amdgpu", "power1_average", 0);
    host_script_text(fixture->host, "/sys/devices/pci0000:00/0000:00:01.0/" CARD "/power/runtime_status",
                     "suspended\n");
    examine(fixture, 25);
    assert_finding(fixture, "amd_gpu_asleep", FINDING_FACT, NULL);
    assert_nothing_to_do(fixture);
}

/* Eight accelerators whose driver tells nothing are one finding. */
static void test_accelerators_without_meter(void **state)
{
    struct fixture *fixture = *state;
    char address[16];
    add_zone(fixture->host, true);
    for (unsigned bus = 1; bus <= 8; bus++) {
        snprintf(address, sizeof address, "0000:%02x:00.0", bus * 0x10);
        add_function(fixture->host, address, "0x1002\n", "0x120000\n");
        bind(fixture->host, address, "amdgpu");
    }
    examine(fixture, 25);
    assert_finding(fixture, "amd_gpu_no_meter", FINDING_LIMIT, NULL);
    const char *what = find(fixture, "amd_gpu_no_meter")->what;
    assert_non_null(strstr(what, "GPUs (0000:10:00.0, 0000:20:00.0, 0000:30:00.0, 0000:40:00.0 ...)"));
    size_t limits = 0;
    for (size_t i = 0; i < fixture->diagnosis.count; i++)
        limits += fixture->diagnosis.findings[i].severity == FINDING_LIMIT;
    assert_int_equal(limits, 1);
}

static void test_intel_cards(void **state)
{
    struct fixture *fixture = *state;
    add_zone(fixture->host, true);
    add_function(fixture->host, CARD, "0x8086\n", "0x038000\n");
    add_function(fixture->host, "0000:43:00.0", "0x8086\n", "0x030000\n");
    bind(fixture->host, CARD, "xe");
    bind(fixture->host, "0000:43:00.0", "vfio-pci");
    add_hwmon(fixture->host, "xe", "energy1_input", 0);
    examine(fixture, 25);
    assert_finding(fixture, "intel_gpu_energy", FINDING_FACT, NULL);
    assert_non_null(strstr(find(fixture, "intel_gpu_energy")->why, "driver xe"));
    assert_finding(fixture, "intel_gpu_lent", FINDING_LIMIT, NULL);
}

static void test_intel_card_without_driver(void **state)
{
    struct fixture *fixture = *state;
    add_function(fixture->host, CARD, "0x8086\n", "0x030000\n");
    examine(fixture, 25);
    assert_finding(fixture, "intel_gpu_no_driver", FINDING_ADVICE, "modprobe xe");
}

/* Both makers' graphics inside processors, and an accelerator there: in the package's energy, driver or not. */
static void test_graphics_inside_processors(void **state)
{
    struct fixture *fixture = *state;
    add_zone(fixture->host, true);
    add_function(fixture->host, "0000:00:02.0", "0x8086\n", "0x030000\n");
    add_function(fixture->host, "0000:00:0b.0", "0x8086\n", "0x120000\n");
    add_function(fixture->host, "0000:c1:00.0", "0x1002\n", "0x030000\n");
    add_function(fixture->host, "0000:c1:00.2", "0x1022\n", "0x108000\n");
    examine(fixture, 25);
    assert_nothing_to_do(fixture);
}

/* There a card may well sit on the first bus. */
static void test_card_of_a_virtual_machine(void **state)
{
    struct fixture *fixture = *state;
    make_virtual(fixture->host);
    add_function(fixture->host, "0000:00:08.0", "0x1002\n", "0x120000\n");
    examine(fixture, 25);
    assert_finding(fixture, "amd_gpu_no_driver", FINDING_ADVICE, "modprobe");
}

static void test_clock_is_timed(void **state)
{
    (void)state;
    double ns = doctor_time_clock();
    assert_true(ns > 0 && ns < 1e6);
}

#define machine(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        machine(test_all_is_fine),
        machine(test_no_driver),
        machine(test_events_denied),
        machine(test_events_denied_does_not_matter_where_zones_answer),
        machine(test_zones_denied),
        machine(test_container_with_capability_out_of_reach),
        machine(test_container_without_capability),
        machine(test_the_daemon_is_no_container),
        machine(test_filter_of_system_calls),
        machine(test_masked_zones),
        machine(test_virtual_machine),
        machine(test_virtual_machine_with_counters),
        machine(test_arm_virtual_machine),
        machine(test_bare_machine_of_a_cloud),
        machine(test_counter_that_stands_still),
        machine(test_filtered_readings),
        machine(test_sgx_and_no_way_to_look),
        machine(test_slow_clock),
        machine(test_slow_clock_without_a_better_one),
        machine(test_clock_of_a_recorded_machine_is_judged_by_name),
        machine(test_unknown_clock_is_not_praised),
        machine(test_leftover_nodes),
        machine(test_board_held_by_nouveau),
        machine(test_board_lent_to_a_guest),
        machine(test_driver_without_library),
        machine(test_amd_card_without_driver),
        machine(test_driver_is_not_loaded_from_a_container),
        machine(test_amd_card_that_its_driver_refused),
        machine(test_amd_card_is_read),
        machine(test_amd_card_is_denied),
        machine(test_amd_card_asleep),
        machine(test_accelerators_without_meter),
        machine(test_intel_cards),
        machine(test_intel_card_without_driver),
        machine(test_graphics_inside_processors),
        machine(test_card_of_a_virtual_machine),
        cmocka_unit_test(test_clock_is_timed),
    };
    return cmocka_run_group_tests_name("doctor", tests, NULL, NULL);
}
