/* Tests totals of scripted machines through the whole meter: units that depend on the model, duplicates,
 * mirrored counters, and zones that contain other zones.
 *
 * There is one case for each known error of other programs: energy is counted twice, only a quarter of it is
 * counted, or only half of the machine is measured. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "support/check.h"
#include "support/rig.h"

/* Returns a load of 68 W on average that varies as under a real program. */
static struct load restless(void)
{
    struct load load = {.repeat_s = 0.7};
    load_add(&load, 0, 90);
    load_add(&load, 0.35, 46);
    return load;
}

/* --- mirrors, twins and totals -------------------------------------------------------------------------- */

/* Each of two dies shows the energy of the package. Both together would show 136 W, but the machine uses 125
 * W at the wall. */
static void test_mirrored_dies_count_once(void **state)
{
    struct rig *rig = *state;
    struct load load = restless();
    struct sensor package = sensor_amd(&load);
    rig_put_two_packages(rig, &package, &package);
    rig_open_powercap(rig);
    machine_run(rig->meter, 10, 0.1);
    rig_expect(rig, JOULE_TOTAL, rig_truth(rig, &load), 0.3, 0);
    assert_string_equal(rig_cover_name(rig), "package-0");
    /* the mirror can still be queried */
    rig_expect(rig, machine_domain(rig->meter, "package-1"), rig_truth(rig, &load), 0.3, 0);
}

/* The counted die fails, and its mirror replaces it. */
static void test_a_mirror_stands_in(void **state)
{
    struct rig *rig = *state;
    struct load load = restless();
    struct sensor first = sensor_amd(&load), second = sensor_amd(&load);
    first.troubles[0] = (struct trouble){.kind = TROUBLE_REFUSE, .from_s = 4.55, .error = EIO};
    rig_put_two_packages(rig, &first, &second);
    rig_open_powercap(rig);
    machine_run(rig->meter, 10, 0.1);
    rig_expect(rig, JOULE_TOTAL, rig_truth(rig, &load), 0.3, 0);
    assert_string_equal(rig_cover_name(rig), "package-1");
}

static void test_equal_mean_power_is_no_mirror(void **state)
{
    struct rig *rig = *state;
    struct load even = {.repeat_s = 0.4}, odd = {.repeat_s = 0.4};
    load_add(&even, 0, 100);
    load_add(&even, 0.2, 36);
    load_add(&odd, 0, 36);
    load_add(&odd, 0.2, 100);
    struct sensor first = sensor_amd(&even), second = sensor_amd(&odd);
    rig_put_two_packages(rig, &first, &second);
    rig_open_powercap(rig);
    machine_run(rig->meter, 10, 0.1);
    rig_expect(rig, JOULE_TOTAL, 1360, 0.6, 0);
}

/* If two sockets do the same work at the same time, at least their absolute counts differ. */
static void test_the_same_work_on_two_sockets_is_no_mirror(void **state)
{
    struct rig *rig = *state;
    struct load load = restless();
    struct sensor first = sensor_amd(&load), second = sensor_amd(&load);
    second.start_joules += 20;
    rig_put_two_packages(rig, &first, &second);
    rig_open_powercap(rig);
    machine_run(rig->meter, 10, 0.1);
    rig_expect(rig, JOULE_TOTAL, 2 * rig_truth(rig, &load), 0.6, 0);
}

/* At constant power, equal counters do not prove that both show the same energy. Both are then counted. */
static void test_steady_power_is_no_mirror(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(68);
    struct sensor first = sensor_amd(&load), second = sensor_amd(&load);
    rig_put_two_packages(rig, &first, &second);
    rig_open_powercap(rig);
    machine_run(rig->meter, 10, 0.1);
    rig_expect(rig, JOULE_TOTAL, 1360, 0.6, 0);
}

/* --- units, parts and wholes ---------------------------------------------------------------------------- */

static void put_registers(struct rig *rig, unsigned cpu, uint32_t address, struct sensor *sensor)
{
    host_script_register(rig->host, cpu, address, sensor_count, sensor);
}

static int unit_register(void *value, int64_t time_ns, uint64_t *out_value)
{
    (void)time_ns;
    *out_value = *(const uint64_t *)value;
    return 0;
}

/* On servers, memory counts in 2^-16 J, although the unit register states 2^-14. Programs that use the
 * register are wrong by a factor of 4. Both ways to read the memory's counter must agree. */
static void test_memory_has_a_unit_of_its_own(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(20);
    struct sensor dram = sensor_exact_intel(&load);
    uint64_t units = 0xa0e03;
    dram.unit_joules = 0x1p-16;
    struct kernel_count kernel = {.sensor = &dram, .register_bits = 16, .timer_s = 163.84};
    machine_put_cpus(rig->host, "GenuineIntel", 6, 0x3F, 1);
    host_script_register(rig->host, 0, 0x606, unit_register, &units);
    put_registers(rig, 0, 0x619, &dram);
    host_script_text(rig->host, "/sys/bus/event_source/devices/power/cpumask", "0\n");
    machine_put_event(rig->host, "energy-ram", 3, 0, &kernel);
    rig->meter = machine_open(rig->host, "rapl_perf,rapl_msr");
    machine_run(rig->meter, 10, 0.1);
    rig_expect(rig, machine_domain(rig->meter, "dram-0"), 200, 0.05, 0);
    rig_expect(rig, machine_domain(rig->meter, "dram-0@rapl_msr"), 200, 0.05, 0);
    rig_expect(rig, JOULE_TOTAL, 200, 0.05, 0);
}

/* The platform counter of some servers rises in steps of a joule. */
static void test_psys_in_steps_of_a_joule(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(240);
    struct sensor psys = sensor_exact_intel(&load);
    uint64_t units = 0xa0e03;
    psys.unit_joules = 1;
    machine_put_cpus(rig->host, "GenuineIntel", 6, 0x8F, 1);
    host_script_register(rig->host, 0, 0x606, unit_register, &units);
    put_registers(rig, 0, 0x64D, &psys);
    rig->meter = machine_open(rig->host, "rapl_msr");
    machine_run(rig->meter, 10, 0.01);
    rig_expect(rig, JOULE_TOTAL, 2400, 2, 0);
}

static void test_a_client_is_not_counted_twice(void **state)
{
    struct rig *rig = *state;
    struct load whole = load_steady(40), part = load_steady(25), rest = load_steady(4),
                memory = load_steady(3);
    struct load board = load_steady(60);
    struct sensor package = sensor_intel(&whole), core = sensor_intel(&part), uncore = sensor_intel(&rest),
                  dram = sensor_intel(&memory);
    struct sensor psys = sensor_intel(&board);
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", INTEL_RANGE, &package);
    machine_put_zone(rig->host, "intel-rapl:0:0", "core\n", INTEL_RANGE, &core);
    machine_put_zone(rig->host, "intel-rapl:0:1", "uncore\n", INTEL_RANGE, &uncore);
    machine_put_zone(rig->host, "intel-rapl:0:2", "dram\n", INTEL_RANGE, &dram);
    machine_put_zone(rig->host, "intel-rapl:1", "psys\n", INTEL_RANGE, &psys);
    machine_put_zone(rig->host, "intel-rapl-mmio:0", "package-0\n", INTEL_RANGE, &package);
    rig_open_powercap(rig);
    machine_run(rig->meter, 10, 0.1);
    rig_expect(rig, JOULE_TOTAL, 430, 0.3, 0);
    assert_string_equal(rig_cover_name(rig), "package-0 + dram-0");
    joule_quantity unattributed;
    assert_int_equal(joule_rest_joules(rig->meter, machine_domain(rig->meter, "package-0"), &unattributed),
                     JOULE_OK);
    assert_near(unattributed.value, 110, 0.3);
    assert_int_equal(joule_rest_joules(rig->meter, machine_domain(rig->meter, "psys"), &unattributed),
                     JOULE_OK);
    assert_near(unattributed.value, 170, 0.3);
}

/* If the registers may not be read, only the mmio zone can be read. */
static void test_an_mmio_zone_speaks_for_a_denied_one(void **state)
{
    struct rig *rig = *state;
    struct load load = load_steady(40);
    struct sensor package = sensor_intel(&load);
    machine_put_zone(rig->host, "intel-rapl:0", "package-0\n", INTEL_RANGE, &package);
    machine_put_zone(rig->host, "intel-rapl-mmio:0", "package-0\n", INTEL_RANGE, &package);
    host_script_error(rig->host, "/sys/class/powercap/intel-rapl:0/energy_uj", EACCES);
    rig_open_powercap(rig);
    machine_run(rig->meter, 10, 0.1);
    rig_expect(rig, JOULE_TOTAL, 400, 0.3, 0);
    assert_false(rig_is_partial(rig));
}

/* The number of a zone is not the number of its package. */
static void test_zones_in_another_order(void **state)
{
    struct rig *rig = *state;
    struct load one = load_steady(30), two = load_steady(90);
    struct sensor first = sensor_intel(&one), second = sensor_intel(&two);
    machine_put_zone(rig->host, "intel-rapl:0", "package-1\n", INTEL_RANGE, &first);
    machine_put_zone(rig->host, "intel-rapl:1", "package-0\n", INTEL_RANGE, &second);
    rig_open_powercap(rig);
    machine_run(rig->meter, 10, 0.1);
    rig_expect(rig, machine_domain(rig->meter, "package-1"), 300, 0.2, 0);
    rig_expect(rig, machine_domain(rig->meter, "package-0"), 900, 0.4, 0);
    assert_int_equal(rig_channel(rig, "package-1")->info.device_index, 1);
}

/* The counters of both sockets are read, not only that of CPU 0. Each core counter of AMD counts a single
 * core and is not added to the total. Registers that this CPU model does not have are not listed. */
static void test_registers_of_two_amd_sockets(void **state)
{
    struct rig *rig = *state;
    struct load one = load_steady(120), two = load_steady(200), small = load_steady(7);
    struct sensor first = sensor_amd(&one), second = sensor_amd(&two), core = sensor_amd(&small);
    first.unit_joules = second.unit_joules = core.unit_joules = 0x1p-16;
    uint64_t units = 0xa1003;
    machine_put_cpus(rig->host, "AuthenticAMD", 25, 1, 2);
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        host_script_register(rig->host, cpu, 0xC0010299, unit_register, &units);
        put_registers(rig, cpu, 0xC001029A, &core);
    }
    put_registers(rig, 0, 0xC001029B, &first);
    put_registers(rig, 1, 0xC001029B, &second);
    rig->meter = machine_open(rig->host, "rapl_msr");
    machine_run(rig->meter, 10, 0.1);
    rig_expect(rig, JOULE_TOTAL, 3200, 0.8, 0);
    assert_string_equal(rig_cover_name(rig), "package-0 + package-1");
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, rig_set_up, rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_mirrored_dies_count_once),
        CASE(test_a_mirror_stands_in),
        CASE(test_equal_mean_power_is_no_mirror),
        CASE(test_the_same_work_on_two_sockets_is_no_mirror),
        CASE(test_steady_power_is_no_mirror),
        CASE(test_memory_has_a_unit_of_its_own),
        CASE(test_psys_in_steps_of_a_joule),
        CASE(test_a_client_is_not_counted_twice),
        CASE(test_an_mmio_zone_speaks_for_a_denied_one),
        CASE(test_zones_in_another_order),
        CASE(test_registers_of_two_amd_sockets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
