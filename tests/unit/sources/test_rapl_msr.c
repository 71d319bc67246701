/* Tests energy registers: their unit on each model, missing registers, guests, and permissions. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "support/check.h"
#include "support/machine.h"
#include "support/ramp.h"

static void put_cpu(struct joule_host *host, const char *vendor, unsigned family, unsigned model,
                    const char *flags)
{
    char text[256];
    snprintf(text, sizeof text, "vendor_id\t: %s\ncpu family\t: %u\nmodel\t\t: %u\nflags\t\t: fpu %s\n",
             vendor, family, model, flags);
    host_script_text(host, "/proc/cpuinfo", text);
    host_script_text(host, "/sys/devices/system/cpu/online", "0\n");
    host_script_text(host, "/sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n");
}

static void open_meter(struct machine_bench *bench)
{
    bench->meter = machine_open(bench->host, "rapl_msr");
}

static int constant(void *context, int64_t time_ns, uint64_t *out_value)
{
    (void)time_ns;
    *out_value = *(const uint64_t *)context;
    return 0;
}

/* Writes the registers of package, cores, graphics, memory and platform on CPU 0. Each count is 1000. */
static void put_intel_registers(struct joule_host *host, uint64_t *unit)
{
    static const uint32_t addresses[] = {0x611, 0x639, 0x641, 0x619, 0x64D};
    static uint64_t count = 1000;
    host_script_register(host, 0, 0x606, constant, unit);
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++)
        host_script_register(host, 0, addresses[i], constant, &count);
}

static void test_units_by_model(void **state)
{
    static const struct {
        const char *name;
        unsigned model;
        uint64_t unit_register;
        double package, dram, psys; /* joules per count */
    } models[] = {
        {"Haswell client", 0x3C, 0xa0e03, 0x1p-14, 0x1p-14, 0x1p-14},
        {"Haswell server", 0x3F, 0xa0e03, 0x1p-14, 0x1p-16, 0x1p-14},
        {"Broadwell server", 0x4F, 0xa0e03, 0x1p-14, 0x1p-16, 0x1p-14},
        {"Broadwell-D", 0x56, 0xa0e03, 0x1p-14, 0x1p-16, 0x1p-14},
        {"Skylake and Cascade Lake server", 0x55, 0xa0e03, 0x1p-14, 0x1p-16, 0x1p-14},
        {"Ice Lake server", 0x6A, 0xa0e03, 0x1p-14, 0x1p-16, 0x1p-14},
        {"Knights Landing", 0x57, 0xa0e03, 0x1p-14, 0x1p-16, 0x1p-14},
        {"Sapphire Rapids", 0x8F, 0xa0e03, 0x1p-14, 0x1p-14, 1},
        {"Emerald Rapids", 0xCF, 0xa0e03, 0x1p-14, 0x1p-14, 1},
        {"Silvermont", 0x37, 0x00505, 32e-6, 32e-6, 32e-6},
        {"Airmont", 0x4C, 0x00505, 32e-6, 32e-6, 32e-6},
    };
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        struct machine_bench bench = {.host = host_script_open()};
        uint64_t unit = models[i].unit_register;
        put_cpu(bench.host, "GenuineIntel", 6, models[i].model, "");
        put_intel_registers(bench.host, &unit);
        open_meter(&bench);
        const double got[] = {machine_require_channel(bench.meter, "package-0")->counter.unit_joules,
                              machine_require_channel(bench.meter, "dram-0")->counter.unit_joules,
                              machine_require_channel(bench.meter, "psys")->counter.unit_joules};
        if (fabs(got[0] / models[i].package - 1) > 1e-12 || fabs(got[1] / models[i].dram - 1) > 1e-12 ||
            fabs(got[2] / models[i].psys - 1) > 1e-12)
            fail_msg("%s: package %g, dram %g, psys %g J", models[i].name, got[0], got[1], got[2]);
        assert_string_equal(machine_require_channel(bench.meter, "package-0")->parent_zone, "psys");
        joule_close(bench.meter);
        bench.host->ops->close(bench.host);
    }
}

/* The count has 32 bits; the upper half of the register is ignored. */
static void test_wraps_at_32_bits(void **state)
{
    struct machine_bench *bench = *state;
    uint64_t unit = 0xa0e03;
    struct ramp ramp = {.watts = 150, .unit_joules = 0x1p-14, .start = UINT64_C(0xabcdeff448000)};
    put_cpu(bench->host, "GenuineIntel", 6, 0x9E, "");
    host_script_register(bench->host, 0, 0x606, constant, &unit);
    host_script_register(bench->host, 0, 0x611, ramp_value, &ramp);
    open_meter(bench);
    machine_run(bench->meter, 10, 0.1);
    assert_int_equal(joule_domain_count(bench->meter), 1); /* a missing register is not a domain */
    assert_int_equal(machine_require_channel(bench->meter, "package-0")->counter.wraps, 1);
    assert_true(fabs(machine_mean_watts(bench->meter, JOULE_TOTAL) - 150) < 0.2);
}

static void test_amd_registers_are_read(void **state)
{
    struct machine_bench *bench = *state;
    bench->host->ops->close(bench->host);
    bench->host = host_tree_open(machine_fixture("amd-epyc"));
    open_meter(bench);
    assert_int_equal(joule_domain_count(bench->meter), 6);
    assert_true(machine_require_channel(bench->meter, "package-0")->counter.unit_joules == 0x1p-16);
    /* last_raw has no bits of the upper half of the register */
    assert_true(machine_require_channel(bench->meter, "package-0")->counter.last_raw == 0x10);
}

/* A register that is 0 when the meter opens does not exist on this model. */
static void test_zero_is_no_domain(void **state)
{
    struct machine_bench *bench = *state;
    uint64_t unit = 0xa0e03, zero = 0, one = 1;
    put_cpu(bench->host, "GenuineIntel", 6, 0x8F, "");
    host_script_register(bench->host, 0, 0x606, constant, &unit);
    host_script_register(bench->host, 0, 0x611, constant, &one);
    host_script_register(bench->host, 0, 0x64D, constant, &zero);
    open_meter(bench);
    assert_int_equal(joule_domain_count(bench->meter), 1);
    assert_string_equal(machine_require_channel(bench->meter, "package-0")->parent_zone, "");
}

static void test_one_cpu_for_each_package(void **state)
{
    struct machine_bench *bench = *state;
    uint64_t unit = 0xa0e03, count = 5;
    put_cpu(bench->host, "GenuineIntel", 6, 0x6A, "");
    host_script_text(bench->host, "/sys/devices/system/cpu/online", "0-3\n");
    for (unsigned cpu = 0; cpu < 4; cpu++) {
        char path[96];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/topology/physical_package_id", cpu);
        host_script_text(bench->host, path, cpu % 2 ? "1\n" : "0\n");
        host_script_register(bench->host, cpu, 0x606, constant, &unit);
        host_script_register(bench->host, cpu, 0x611, constant, &count);
    }
    open_meter(bench);
    assert_int_equal(joule_domain_count(bench->meter), 2);
    assert_string_equal(machine_require_channel(bench->meter, "package-1")->zone, "cpu1/package");
}

/* --- refusals ------------------------------------------------------------------------------------------- */

static void test_guest_with_zeroed_units(void **state)
{
    struct machine_bench *bench = *state;
    uint64_t zero = 0;
    put_cpu(bench->host, "GenuineIntel", 6, 0xCF, "hypervisor");
    host_script_register(bench->host, 0, 0x606, constant, &zero);
    open_meter(bench);
    assert_int_equal(machine_source(bench->meter, "rapl_msr")->state, JOULE_UNSUPPORTED);
    assert_contains(machine_source(bench->meter, "rapl_msr")->remedy, "hypervisor");
    assert_int_equal(joule_domain_count(bench->meter), 0);
}

static void test_registers_that_fault(void **state)
{
    struct machine_bench *bench = *state;
    uint64_t other = 1;
    put_cpu(bench->host, "AuthenticAMD", 16, 4, ""); /* this model has no energy registers */
    host_script_register(bench->host, 0, 0x10, constant, &other);
    open_meter(bench);
    assert_int_equal(machine_source(bench->meter, "rapl_msr")->state, JOULE_UNSUPPORTED);
}

static void test_missing_module_gets_advice(void **state)
{
    struct machine_bench *bench = *state;
    put_cpu(bench->host, "GenuineIntel", 6, 0x9E, "");
    open_meter(bench);
    assert_int_equal(machine_source(bench->meter, "rapl_msr")->state, JOULE_ABSENT);
    assert_contains(machine_source(bench->meter, "rapl_msr")->remedy, "modprobe msr");
}

static void test_denied_registers_are_reported(void **state)
{
    struct machine_bench *bench = *state;
    bench->host->ops->close(bench->host);
    bench->host = host_tree_open(machine_fixture("intel-client-denied"));
    open_meter(bench);
    assert_int_equal(machine_source(bench->meter, "rapl_msr")->state, JOULE_DENIED);
    assert_int_equal(machine_require_channel(bench->meter, "package-0")->info.state, JOULE_DENIED);
    assert_contains(machine_require_channel(bench->meter, "package-0")->info.remedy, "CAP_SYS_RAWIO");
}

static void test_other_vendors_have_no_registers(void **state)
{
    struct machine_bench *bench = *state;
    host_script_text(bench->host, "/proc/cpuinfo", "CPU implementer\t: 0x41\n");
    open_meter(bench);
    assert_int_equal(machine_source(bench->meter, "rapl_msr")->state, JOULE_ABSENT);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, machine_setup, machine_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_units_by_model),
        TEST(test_wraps_at_32_bits),
        TEST(test_amd_registers_are_read),
        TEST(test_zero_is_no_domain),
        TEST(test_one_cpu_for_each_package),
        TEST(test_guest_with_zeroed_units),
        TEST(test_registers_that_fault),
        TEST(test_missing_module_gets_advice),
        TEST(test_denied_registers_are_reported),
        TEST(test_other_vendors_have_no_registers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
