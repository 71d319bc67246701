/* Energy registers: units by model, missing registers, guests, permissions. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "support/machine.h"
#include "support/ramp.h"

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

static void open_meter(struct rig *rig)
{
    rig->meter = machine_open(rig->host, "rapl_msr");
}

static const struct channel *channel(struct rig *rig, const char *name)
{
    const struct channel *ch = machine_channel(rig->meter, name);
    if (!ch)
        fail_msg("no domain is called %s", name);
    return ch;
}

static const struct source *source(struct rig *rig)
{
    return rig->meter->lanes[0]->sources[0];
}

static int constant(void *context, int64_t time_ns, uint64_t *out_value)
{
    (void)time_ns;
    *out_value = *(const uint64_t *)context;
    return 0;
}

/* A package, cores, graphics, memory and platform on CPU 0, at count 1000. */
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
        struct rig rig = {.host = host_script_open()};
        uint64_t unit = models[i].unit_register;
        put_cpu(rig.host, "GenuineIntel", 6, models[i].model, "");
        put_intel_registers(rig.host, &unit);
        open_meter(&rig);
        const double got[] = {channel(&rig, "package-0")->counter.unit_joules,
                              channel(&rig, "dram-0")->counter.unit_joules,
                              channel(&rig, "psys")->counter.unit_joules};
        if (fabs(got[0] / models[i].package - 1) > 1e-12 || fabs(got[1] / models[i].dram - 1) > 1e-12 ||
            fabs(got[2] / models[i].psys - 1) > 1e-12)
            fail_msg("%s: package %g, dram %g, psys %g J", models[i].name, got[0], got[1], got[2]);
        assert_string_equal(channel(&rig, "package-0")->parent_zone, "psys");
        joule_close(rig.meter);
        rig.host->ops->close(rig.host);
    }
}

/* Only 32 bits count; the upper half of the register is ignored. */
static void test_wraps_at_32_bits(void **state)
{
    struct rig *rig = *state;
    uint64_t unit = 0xa0e03;
    struct ramp ramp = {.watts = 150, .unit_joules = 0x1p-14, .start = UINT64_C(0xabcdeff448000)};
    put_cpu(rig->host, "GenuineIntel", 6, 0x9E, "");
    host_script_register(rig->host, 0, 0x606, constant, &unit);
    host_script_register(rig->host, 0, 0x611, ramp_value, &ramp);
    open_meter(rig);
    machine_run(rig->meter, 10, 0.1);
    assert_int_equal(joule_domain_count(rig->meter), 1); /* missing registers are not domains */
    assert_int_equal(channel(rig, "package-0")->counter.wraps, 1);
    assert_true(fabs(machine_mean_watts(rig->meter, JOULE_TOTAL) - 150) < 0.2);
}

static void test_amd(void **state)
{
    struct rig *rig = *state;
    rig->host->ops->close(rig->host);
    rig->host = host_tree_open(machine_fixture("amd-epyc"));
    open_meter(rig);
    assert_int_equal(joule_domain_count(rig->meter), 6);
    assert_true(channel(rig, "package-0")->counter.unit_joules == 0x1p-16);
    assert_true(channel(rig, "package-0")->counter.last_raw == 0x10); /* the upper half is removed */
}

/* A register that is 0 at first does not exist on this model. */
static void test_zero_is_no_domain(void **state)
{
    struct rig *rig = *state;
    uint64_t unit = 0xa0e03, zero = 0, one = 1;
    put_cpu(rig->host, "GenuineIntel", 6, 0x8F, "");
    host_script_register(rig->host, 0, 0x606, constant, &unit);
    host_script_register(rig->host, 0, 0x611, constant, &one);
    host_script_register(rig->host, 0, 0x64D, constant, &zero);
    open_meter(rig);
    assert_int_equal(joule_domain_count(rig->meter), 1);
    assert_string_equal(channel(rig, "package-0")->parent_zone, "");
}

static void test_one_cpu_for_each_package(void **state)
{
    struct rig *rig = *state;
    uint64_t unit = 0xa0e03, count = 5;
    put_cpu(rig->host, "GenuineIntel", 6, 0x6A, "");
    host_script_text(rig->host, "/sys/devices/system/cpu/online", "0-3\n");
    for (unsigned cpu = 0; cpu < 4; cpu++) {
        char path[96];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/topology/physical_package_id", cpu);
        host_script_text(rig->host, path, cpu % 2 ? "1\n" : "0\n");
        host_script_register(rig->host, cpu, 0x606, constant, &unit);
        host_script_register(rig->host, cpu, 0x611, constant, &count);
    }
    open_meter(rig);
    assert_int_equal(joule_domain_count(rig->meter), 2);
    assert_string_equal(channel(rig, "package-1")->zone, "cpu1/package");
}

/* --- refusals ------------------------------------------------------------------------------------------- */

static void test_guest_with_zeroed_units(void **state)
{
    struct rig *rig = *state;
    uint64_t zero = 0;
    put_cpu(rig->host, "GenuineIntel", 6, 0xCF, "hypervisor");
    host_script_register(rig->host, 0, 0x606, constant, &zero);
    open_meter(rig);
    assert_int_equal(source(rig)->state, JOULE_UNSUPPORTED);
    assert_non_null(strstr(source(rig)->remedy, "hypervisor"));
    assert_int_equal(joule_domain_count(rig->meter), 0);
}

static void test_registers_that_fault(void **state)
{
    struct rig *rig = *state;
    uint64_t other = 1;
    put_cpu(rig->host, "AuthenticAMD", 16, 4, ""); /* older than its energy registers */
    host_script_register(rig->host, 0, 0x10, constant, &other);
    open_meter(rig);
    assert_int_equal(source(rig)->state, JOULE_UNSUPPORTED);
}

static void test_module_missing(void **state)
{
    struct rig *rig = *state;
    put_cpu(rig->host, "GenuineIntel", 6, 0x9E, "");
    open_meter(rig);
    assert_int_equal(source(rig)->state, JOULE_ABSENT);
    assert_non_null(strstr(source(rig)->remedy, "modprobe msr"));
}

static void test_denied(void **state)
{
    struct rig *rig = *state;
    rig->host->ops->close(rig->host);
    rig->host = host_tree_open(machine_fixture("intel-client-denied"));
    open_meter(rig);
    assert_int_equal(source(rig)->state, JOULE_DENIED);
    assert_int_equal(channel(rig, "package-0")->info.state, JOULE_DENIED);
    assert_non_null(strstr(channel(rig, "package-0")->info.remedy, "CAP_SYS_RAWIO"));
}

static void test_other_vendors(void **state)
{
    struct rig *rig = *state;
    host_script_text(rig->host, "/proc/cpuinfo", "CPU implementer\t: 0x41\n");
    open_meter(rig);
    assert_int_equal(source(rig)->state, JOULE_ABSENT);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_units_by_model),
        TEST(test_wraps_at_32_bits),
        TEST(test_amd),
        TEST(test_zero_is_no_domain),
        TEST(test_one_cpu_for_each_package),
        TEST(test_guest_with_zeroed_units),
        TEST(test_registers_that_fault),
        TEST(test_module_missing),
        TEST(test_denied),
        TEST(test_other_vendors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
