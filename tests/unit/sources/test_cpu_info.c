/* Tests that /proc/cpuinfo of x86 and Arm CPUs is parsed, on real machines and in guests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "joule/sources/cpu/cpu_info.h"

static struct cpu_info info_of(const char *cpuinfo, const char *online)
{
    struct cpu_info info;
    struct joule_host *host = host_script_open();
    host_script_text(host, "/proc/cpuinfo", cpuinfo);
    host_script_text(host, "/sys/devices/system/cpu/online", online);
    cpu_info_read(host, &info);
    host->ops->close(host);
    return info;
}

static void test_intel_server_is_described(void **state)
{
    (void)state;
    struct cpu_info info =
        info_of("processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 79\n"
                "model name\t: Intel(R) Xeon(R) CPU E5-2620 v4 @ 2.10GHz\nstepping\t: 1\n"
                "siblings\t: 16\ncpu cores\t: 8\nflags\t\t: fpu vme de\n\n"
                "processor\t: 1\nmodel name\t: another\n",
                "0-31\n");
    assert_string_equal(info.vendor, "intel");
    assert_string_equal(info.model, "Xeon E5-2620 v4");
    assert_int_equal(info.family, 6);
    assert_int_equal(info.number, 79);
    assert_int_equal(info.stepping, 1);
    assert_false(info.is_virtual);
    assert_int_equal(info.threads, 32);
    assert_int_equal(info.cores, 16);
    assert_int_equal(info.packages, 2);
    assert_true(cpu_is_intel(&info, 79));
    assert_false(cpu_is_intel(&info, 85));
    assert_false(cpu_is_amd(&info));
}

static void test_amd_laptop_is_described(void **state)
{
    (void)state;
    struct cpu_info info = info_of("vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 116\n"
                                   "model name\t: AMD Ryzen 7 7840HS w/ Radeon 780M Graphics\n"
                                   "siblings\t: 16\ncpu cores\t: 8\n",
                                   "0-15\n");
    assert_string_equal(info.vendor, "amd");
    assert_string_equal(info.model, "Ryzen 7 7840HS w/ Radeon 780M Graphics");
    assert_true(cpu_is_amd(&info));
    assert_int_equal(info.packages, 1);
}

static void test_guest_is_virtual(void **state)
{
    (void)state;
    struct cpu_info info = info_of("vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 207\n"
                                   "model name\t: Intel(R) Xeon(R) Processor\nsiblings\t: 2\ncpu cores\t: 2\n"
                                   "flags\t\t: fpu hypervisor lahf_lm\n",
                                   "0,1\n");
    assert_true(info.is_virtual);
    assert_string_equal(info.model, "Xeon");
}

static void test_arm_processor_is_described(void **state)
{
    (void)state;
    struct cpu_info info = info_of("processor\t: 0\nBogoMIPS\t: 2000.00\nFeatures\t: fp asimd\n"
                                   "CPU implementer\t: 0x4e\nCPU architecture: 8\nCPU part\t: 0x04f\n",
                                   "0-71\n");
    assert_string_equal(info.vendor, "nvidia");
    assert_string_equal(info.model, "");
    assert_int_equal(info.number, 0x4f);
    assert_int_equal(info.threads, 72);
    assert_int_equal(info.cores, 72);
    assert_int_equal(info.packages, 1);
}

static void test_invalid_cpuinfo_is_unknown(void **state)
{
    (void)state;
    struct cpu_info info = info_of(NULL, NULL);
    assert_string_equal(info.vendor, "");
    assert_int_equal(info.threads, 0);
    assert_int_equal(info.packages, 0);
    info = info_of("vendor_id:::\nmodel\nmodel:\ncpu family: 99999999999999999999\n: :\n", "0-\n");
    assert_string_equal(info.vendor, "");
    assert_int_equal(info.family, 0);
}

static void test_topology_is_read(void **state)
{
    (void)state;
    struct joule_host *host = host_script_open();
    unsigned value = 7;
    host_script_text(host, "/sys/devices/system/cpu/cpu3/topology/physical_package_id", "1\n");
    host_script_text(host, "/sys/devices/system/cpu/cpu4/topology/physical_package_id", "-1\n");
    assert_true(cpu_read_topology(host, 3, "physical_package_id", &value));
    assert_int_equal(value, 1);
    assert_false(cpu_read_topology(host, 4, "physical_package_id", &value));
    assert_false(cpu_read_topology(host, 5, "physical_package_id", &value));
    host->ops->close(host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intel_server_is_described), cmocka_unit_test(test_amd_laptop_is_described),
        cmocka_unit_test(test_guest_is_virtual),          cmocka_unit_test(test_arm_processor_is_described),
        cmocka_unit_test(test_topology_is_read),          cmocka_unit_test(test_invalid_cpuinfo_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
