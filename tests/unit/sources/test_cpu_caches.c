/* Tests that caches are read from the kernel's files or from CPUID, and the core model that is built from
 * their sizes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "joule/sources/cpu/cpu_caches.h"
#include "support/machine.h"

#define KIB 1024.0
#define MIB (1024 * KIB)

static struct joule_host *host_of(void **state)
{
    return ((struct machine_bench *)*state)->host;
}

static void put(struct joule_host *host, unsigned index, const char *attribute, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%u/%s", index, attribute);
    assert_true(host_script_text(host, path, text));
}

static void put_cache(struct joule_host *host, unsigned index, const char *level, const char *type,
                      const char *size)
{
    put(host, index, "level", level);
    put(host, index, "type", type);
    put(host, index, "size", size);
    put(host, index, "coherency_line_size", "128\n");
}

static void test_caches_are_read_from_files(void **state)
{
    struct cpu_caches caches;
    struct joule_host *host = host_of(state);
    assert_false(cpu_caches_read(host, &caches));
    put_cache(host, 0, "1\n", "Data\n", "48K\n");
    put_cache(host, 1, "1\n", "Instruction\n", "32K\n");
    put_cache(host, 2, "2\n", "Unified\n", "2048K\n");
    put_cache(host, 3, "3\n", "Unified\n", "30M\n");
    put_cache(host, 4, "4\n", "Unified\n", "128M\n"); /* larger than any size that the model supports */
    assert_true(cpu_caches_read(host, &caches));
    assert_true(caches.bytes[COST_L1] == 48 * KIB && caches.bytes[COST_L2] == 2 * MIB);
    assert_true(caches.bytes[COST_L3] == 30 * MIB && caches.line_bytes == 128);
}

static void test_invalid_files_are_refused(void **state)
{
    struct cpu_caches caches;
    struct joule_host *host = host_of(state);
    static const char *const sizes[] = {"", "K", "-1K", "many", "48KK", "0K"};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        put_cache(host, 0, "1", "Data", sizes[i]);
        assert_false(cpu_caches_read(host, &caches));
    }
    static const char *const levels[] = {"", "0", "77", "-1", "x"};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        put_cache(host, 0, levels[i], "Data", "48K");
        assert_false(cpu_caches_read(host, &caches));
    }
}

/* The registers are those of leaf 4 of an Emerald Rapids, and of leaf 0x8000001d of a Zen 2. */
static void test_caches_are_read_from_cpuid(void **state)
{
    static const uint32_t intel[][4] = {{0x121, 0x02c0003f, 63, 0},
                                        {0x122, 0x01c0003f, 63, 0},
                                        {0x143, 0x03c0003f, 2047, 0},
                                        {0x163, 0x04c0003f, 0x33fff, 4}};
    static const uint32_t amd[][4] = {{0x121, 0x01c0003f, 63, 0},
                                      {0x122, 0x01c0003f, 63, 0},
                                      {0x143, 0x01c0003f, 1023, 2},
                                      {0x163, 0x03c0003f, 16383, 1}};
    struct cpu_caches caches;
    for (uint32_t i = 0; i < 4; i++)
        assert_true(host_script_cpuid(host_of(state), 0x8000001d, i, amd[i]));
    assert_true(cpu_caches_read(host_of(state), &caches));
    assert_true(caches.bytes[COST_L1] == 32 * KIB && caches.bytes[COST_L2] == 512 * KIB);
    assert_true(caches.bytes[COST_L3] == 16 * MIB && caches.line_bytes == 64);
    for (uint32_t i = 0; i < 4; i++)
        assert_true(host_script_cpuid(host_of(state), 4, i, intel[i]));
    assert_true(cpu_caches_read(host_of(state), &caches));
    assert_true(caches.bytes[COST_L1] == 48 * KIB && caches.bytes[COST_L2] == 2 * MIB);
    assert_true(caches.bytes[COST_L3] == 260 * MIB);
}

static void test_a_core_of_this_machine(void **state)
{
    struct cost_cpu cpu;
    struct cost_core core, typical;
    struct joule_host *host = host_of(state);
    machine_put_cpus(host, "GenuineIntel", 6, 207, 2);
    assert_true(cpu_core_read(host, &cpu, &core));
    cost_core_describe(&cpu, NAN, &typical);
    assert_string_equal(core.id, "golden-cove");
    /* the size of L3 is unknown, so the typical size is used */
    assert_true(core.cache_bytes[COST_L3] == typical.cache_bytes[COST_L3]);
    put_cache(host, 0, "1", "Data", "48K");
    put_cache(host, 1, "2", "Unified", "1M");
    assert_true(cpu_core_read(host, &cpu, &core));
    assert_true(core.cache_bytes[COST_L2] == MIB && core.cache_bytes[COST_L3] == 0 && core.line_bytes == 128);
    assert_true(host_script_text(host, "/sys/devices/system/cpu/cpu0/cpufreq/base_frequency", "2000000\n"));
    assert_true(host_script_text(host, "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "4500000\n"));
    assert_true(cpu_core_read(host, &cpu, &core));
    assert_true(core.hz > 2.999e9 && core.hz < 3.001e9 && core.hz_log_sd < typical.hz_log_sd);
}

/* A guest with 2 of 64 cores sees the size of the whole last-level cache. The model uses 2/64 of this
 * size. */
static void test_a_guest_has_its_part(void **state)
{
    struct cost_cpu cpu;
    struct cost_core core;
    struct joule_host *host = host_of(state);
    assert_true(host_script_text(host, "/proc/cpuinfo",
                                 "processor : 0\nvendor_id : GenuineIntel\ncpu family : 6\nmodel : 207\n"
                                 "model name : Intel(R) Xeon(R) Processor\nflags : fpu hypervisor\n\n"));
    assert_true(host_script_text(host, "/sys/devices/system/cpu/online", "0-1\n"));
    put_cache(host, 0, "1", "Data", "48K");
    put_cache(host, 1, "3", "Unified", "266240K");
    assert_true(cpu_core_read(host, &cpu, &core));
    assert_true(cpu.is_virtual && core.cache_bytes[COST_L3] == 266240 * KIB * 2 / 64);
}

/* A processor as seen by a guest or a host. */
struct shown {
    /* sharing NULL means that the file shared_cpu_list is missing */
    const char *vendor, *model, *online, *sharing;
    unsigned family;
    double l2_kib, l3_kib, part_kib; /* part_kib: part of the L3 that the model uses */
    bool is_guest;
};

static void put_processor(struct joule_host *host, const struct shown *s)
{
    char text[256], size[32];
    snprintf(
        text, sizeof text,
        "processor : 0\nvendor_id : %s\ncpu family : %u\nmodel : %s\nmodel name : A CPU\nflags : fpu%s\n\n",
        s->vendor, s->family, s->model, s->is_guest ? " hypervisor" : "");
    assert_true(host_script_text(host, "/proc/cpuinfo", text));
    assert_true(host_script_text(host, "/sys/devices/system/cpu/online", s->online));
    put_cache(host, 0, "1", "Data", "32K");
    snprintf(size, sizeof size, "%.0fK", s->l2_kib);
    put_cache(host, 1, "2", "Unified", size);
    snprintf(size, sizeof size, "%.0fK", s->l3_kib);
    put_cache(host, 2, "3", "Unified", size);
    if (s->sharing)
        put(host, 2, "shared_cpu_list", s->sharing);
}

/* In a guest, the model uses only the part of the L3 that belongs to the guest's cores. Cores share the L3 of
 * AMD's core complex or of Intel's socket. The part is never smaller than the L2. */
static const struct shown shown[] = {
    {"AuthenticAMD", "17", "0-1\n", "0-1\n", 25, 1024, 32768, 8192, true}, /* Zen 4: 8 cores */
    {"AuthenticAMD", "17", "0-1\n", NULL, 25, 1024, 32768, 8192, true},
    {"AuthenticAMD", "17", "0\n", "0\n", 25, 1024, 32768, 4096, true},
    {"AuthenticAMD", "17", "0-31\n", "0-7\n", 25, 1024, 32768, 32768, true},
    {"AuthenticAMD", "17", "0-31\n", "0-3\n", 25, 1024, 32768, 16384, true},
    {"AuthenticAMD", "17", "0-31\n", NULL, 25, 1024, 32768, 32768, true},
    {"AuthenticAMD", "17", "0-31\n", "0-15\n", 25, 1024, 32768, 32768, false},
    {"AuthenticAMD", "1", "0-1\n", "0-1\n", 25, 512, 32768, 8192, true},    /* Zen 3 */
    {"AuthenticAMD", "49", "0-1\n", "0-1\n", 23, 512, 16384, 8192, true},   /* Zen 2: 4 cores */
    {"AuthenticAMD", "17", "0-1\n", "0-1\n", 26, 1024, 32768, 4096, true},  /* Zen 5c: 16 cores */
    {"AuthenticAMD", "160", "0\n", "0\n", 25, 1024, 16384, 2048, true},     /* Zen 4c */
    {"AuthenticAMD", "250", "0-1\n", "0-1\n", 31, 1024, 32768, 8192, true}, /* a future family */
    {"GenuineIntel", "207", "0-1\n", "0-1\n", 6, 2048, 266240, 8320, true},
    {"GenuineIntel", "207", "0-1\n", NULL, 6, 2048, 266240, 8320, true},
    /* the share of one core would be 512 KiB, less than the L2 */
    {"GenuineIntel", "207", "0\n", "0\n", 6, 2048, 32768, 2048, true},
    {"GenuineIntel", "207", "0-127\n", "0-127\n", 6, 2048, 266240, 266240, true},
    {"GenuineIntel", "207", "0-63\n", "0-63\n", 6, 2048, 266240, 266240, false},
};

static void test_sharing_of_the_last_cache_is_known(void **state)
{
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        struct cost_cpu cpu;
        struct cost_core core;
        assert_int_equal(machine_setup(state), 0);
        put_processor(host_of(state), &shown[i]);
        assert_true(cpu_core_read(host_of(state), &cpu, &core));
        assert_int_equal(cpu.is_virtual, shown[i].is_guest);
        if (core.cache_bytes[COST_L3] != shown[i].part_kib * KIB)
            print_message("%zu: %.0f KiB\n", i, core.cache_bytes[COST_L3] / KIB);
        assert_true(core.cache_bytes[COST_L3] == shown[i].part_kib * KIB);
        assert_true(core.cache_bytes[COST_L3] >= core.cache_bytes[COST_L2]);
        machine_teardown(state);
    }
}

/* The registers were recorded on a Zen 4 guest with two CPUs. */
static void test_sharing_from_cpuid(void **state)
{
    static const uint32_t amd[][4] = {{0x121, 0x01c0003f, 63, 0},
                                      {0x122, 0x01c0003f, 63, 0},
                                      {0x143, 0x01c0003f, 2047, 2},
                                      {0x4163, 0x03c0003f, 32767, 1}};
    struct joule_host *host = host_of(state);
    struct cost_cpu cpu;
    struct cost_core core;
    struct cpu_caches caches;
    assert_true(host_script_text(host, "/proc/cpuinfo",
                                 "processor : 0\nvendor_id : AuthenticAMD\ncpu family : 25\nmodel : 17\n"
                                 "model name : AMD EPYC\nflags : fpu hypervisor\n\n"));
    assert_true(host_script_text(host, "/sys/devices/system/cpu/online", "0-5\n"));
    for (uint32_t i = 0; i < 4; i++)
        assert_true(host_script_cpuid(host, 0x8000001d, i, amd[i]));
    assert_true(cpu_caches_read(host, &caches));
    assert_int_equal(caches.sharing, 2);
    assert_true(cpu_core_read(host, &cpu, &core));
    assert_true(core.cache_bytes[COST_L2] == MIB && core.cache_bytes[COST_L3] == 8 * MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_caches_are_read_from_files, machine_setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_invalid_files_are_refused, machine_setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_caches_are_read_from_cpuid, machine_setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_a_core_of_this_machine, machine_setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_a_guest_has_its_part, machine_setup, machine_teardown),
        cmocka_unit_test(test_sharing_of_the_last_cache_is_known),
        cmocka_unit_test_setup_teardown(test_sharing_from_cpuid, machine_setup, machine_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
