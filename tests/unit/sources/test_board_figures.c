/* Tests figures of AMD's and Intel's boards other than joules: product names, clocks, memory activity, fans,
 * and the fields of each revision of AMD's gpu_metrics table. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "joule/sources/amd/gpu_metrics.h"
#include "joule/sources/pci_names.h"
#include "support/machine.h"
#include "support/test_data.h"

#define PCI_IDS "/usr/share/misc/pci.ids"
#define AMD_IDS "/usr/share/libdrm/amdgpu.ids"

static const char pci_ids[] = "# a comment\n"
                              "0010  Allied Telesis, Inc (Wrong ID)\n"
                              "\t744c  not of this vendor\n"
                              "1002  Advanced Micro Devices, Inc. [AMD/ATI]\n"
                              "\t163f  VanGogh [AMD Custom GPU 0405]\n"
                              "\t67df  Ellesmere [Radeon RX 470/480/570/570X/580/580X/590]\n"
                              "\t\t1da2 e387  Radeon RX 580 Pulse 4GB\n"
                              "\t687f  Vega 10 XL/XT [Radeon RX Vega 56/64]\n"
                              "\t7340  Navi 14 [Radeon RX 5500/5500M / Pro 5500M]\n"
                              "\t744c  Navi 31 [Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M]\n"
                              "\t7550  Navi 48 [Radeon RX 9070/9070 XT/9070 GRE]\n"
                              "10de  NVIDIA Corporation\n"
                              "\t2704  AD103 [GeForce RTX 4080]\n"
                              "8086  Intel Corporation\n"
                              "\t3e98  CoffeeLake-S GT2 [UHD Graphics 630]\n"
                              "\t46a6  Alder Lake-P GT2 [Iris Xe Graphics]\n"
                              "\tbeef  a name without brackets\n"
                              "C 03  Display controller\n";
static const char amd_ids[] = "# List of AMDGPU IDs\n"
                              "1.0.0\n"
                              "15BF,\tDD,\tAMD Radeon 780M Graphics\n"
                              "7550,\tC0,\tAMD Radeon RX 9070 XT\n"
                              "7550,\tC3,\tAMD Radeon RX 9070\n"
                              "67DF,\tE7,\tRadeon RX 580 Series\n";

/* --- names ---------------------------------------------------------------------------------------------- */

static void expect_name(struct machine_bench *bench, uint32_t vendor, uint32_t device, int32_t revision,
                        const char *wanted)
{
    char name[96] = "";
    assert_int_equal(pci_find_name(bench->host, vendor, device, revision, name, sizeof name),
                     *wanted != '\0');
    assert_string_equal(name, wanted);
}

static void test_names_by_id(void **state)
{
    struct machine_bench *bench = *state;
    expect_name(bench, 0x1002, 0x744c, 0xc8, ""); /* the machine has no lists of names */
    host_script_text(bench->host, PCI_IDS, pci_ids);
    expect_name(bench, 0x1002, 0x744c, 0xc8, "AMD Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M");
    expect_name(bench, 0x1002, 0x163f, -1, "AMD Custom GPU 0405");
    expect_name(bench, 0x10de, 0x2704, -1, "NVIDIA GeForce RTX 4080");
    expect_name(bench, 0x8086, 0x3e98, -1, "Intel UHD Graphics 630");
    expect_name(bench, 0x8086, 0xbeef, -1, "Intel a name without brackets");
    expect_name(bench, 0x8086, 0x744c, -1, ""); /* the id belongs to another vendor */
    expect_name(bench, 0x1da2, 0xe387, -1, ""); /* the id is that of a subsystem, not of a device */
    expect_name(bench, 0x1002, 0x7550, 0xc0, "AMD Radeon RX 9070/9070 XT/9070 GRE");
    host_script_text(bench->host, AMD_IDS, amd_ids);
    expect_name(bench, 0x1002, 0x7550, 0xc0, "AMD Radeon RX 9070 XT");
    expect_name(bench, 0x1002, 0x67df, 0xe7, "AMD Radeon RX 580 Series");
    expect_name(bench, 0x1002, 0x7550, 0xff, "AMD Radeon RX 9070/9070 XT/9070 GRE");
    expect_name(bench, 0x1002, 0x7550, -1, "AMD Radeon RX 9070/9070 XT/9070 GRE");
}

static void test_list_is_found_in_either_folder(void **state)
{
    struct machine_bench *bench = *state;
    host_script_text(bench->host, "/usr/share/hwdata/pci.ids", pci_ids);
    expect_name(bench, 0x10de, 0x2704, -1, "NVIDIA GeForce RTX 4080");
    host_script_error(bench->host, PCI_IDS, 13); /* if one list is unreadable, the other one is still used */
    expect_name(bench, 0x10de, 0x2704, -1, "NVIDIA GeForce RTX 4080");
}

static void test_invalid_lists_are_ignored(void **state)
{
    static const char *const lists[] = {"1002", "1002  \n\t744c", "1002  x\n\t744c  ", "\t744c  x\n",
                                        "1002  x\n\t744c  []"};
    struct machine_bench *bench = *state;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        char name[96] = "";
        host_script_text(bench->host, PCI_IDS, lists[i]);
        pci_find_name(bench->host, 0x1002, 0x744c, -1, name, sizeof name);
        assert_true(strlen(name) < 16);
    }
}

/* --- AMD's gpu_metrics table ---------------------------------------------------------------------------- */

static void put(unsigned char *table, size_t at, size_t bytes, uint64_t value)
{
    for (size_t i = 0; i < bytes && at; i++)
        table[at + i] = (unsigned char)(value >> 8 * i);
}

/* Byte offsets of the fields, from Linux' kgd_pp_interface.h and from rocm_smi.h. 0 means that the revision
 * does not have the field. */
static const struct revision {
    unsigned format, content;
    size_t size, busy, memory_busy, clock, memory_clock, mean_clock, mean_memory_clock, fan, throttle;
} revisions[] = {
    {1, 0, 80, 28, 30, 54, 58, 40, 44, 72, 0},  {1, 1, 96, 16, 18, 54, 58, 40, 44, 72, 0},
    {1, 2, 104, 16, 18, 54, 58, 40, 44, 72, 0}, {1, 3, 120, 16, 18, 54, 58, 40, 44, 72, 112},
    {1, 4, 288, 12, 14, 240, 280, 0, 0, 0, 0},  {1, 5, 360, 12, 14, 312, 352, 0, 0, 0, 0},
    {1, 6, 1664, 12, 14, 264, 304, 0, 0, 0, 0}, {1, 7, 2208, 12, 14, 296, 336, 0, 0, 0, 0},
    {1, 8, 3872, 12, 14, 296, 336, 0, 0, 0, 0}, {2, 0, 120, 0, 0, 80, 84, 68, 72, 0, 0},
    {2, 1, 120, 0, 0, 76, 80, 64, 68, 0, 0},    {2, 2, 128, 0, 0, 76, 80, 64, 68, 0, 120},
    {2, 3, 152, 0, 0, 76, 80, 64, 68, 0, 120},  {2, 4, 168, 0, 0, 76, 80, 64, 68, 0, 120},
    {3, 0, 264, 0, 0, 174, 186, 0, 0, 0, 0},
};

static void expect_figure(double value, size_t offset, double wanted)
{
    if (offset ? value != wanted : !isnan(value))
        fail_msg("%g instead of %g at %zu", value, wanted, offset);
}

static void expect_unknown(const struct gpu_metrics *metrics)
{
    assert_true(isnan(metrics->busy) && isnan(metrics->memory_busy) && isnan(metrics->clock_megahertz) &&
                isnan(metrics->memory_clock_megahertz) && isnan(metrics->fan_rpm));
    assert_true(metrics->clock_reasons == JOULE_CLOCKS_UNKNOWN);
}

static void test_figures_of_each_revision(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof revisions / sizeof revisions[0]; i++) {
        const struct revision *r = &revisions[i];
        unsigned char table[GPU_METRICS_MAX_BYTES];
        struct gpu_metrics metrics;
        memset(table, 0xff, sizeof table);
        put(table + 0, 1, 1, r->size >> 8);
        table[0] = (unsigned char)r->size;
        table[2] = (unsigned char)r->format;
        table[3] = (unsigned char)r->content;
        assert_int_equal(gpu_metrics_read(table, r->size, &metrics), JOULE_OK);
        /* in the initial table all bits are set, which means that the board does not report these values */
        expect_unknown(&metrics);
        put(table, r->mean_clock, 2, 1500);
        put(table, r->mean_memory_clock, 2, 700);
        assert_int_equal(gpu_metrics_read(table, r->size, &metrics), JOULE_OK);
        expect_figure(metrics.clock_megahertz, r->mean_clock, 1500);
        expect_figure(metrics.memory_clock_megahertz, r->mean_memory_clock, 700);
        put(table, r->busy, 2, 97);
        put(table, r->memory_busy, 2, 31);
        put(table, r->clock, 2, 2105);
        put(table, r->memory_clock, 2, 900);
        put(table, r->fan, 2, 1944);
        put(table, r->throttle, 8, UINT64_C(1) << 0 | UINT64_C(1) << 35);
        assert_int_equal(gpu_metrics_read(table, r->size, &metrics), JOULE_OK);
        expect_figure(metrics.busy, r->busy, 97);
        expect_figure(metrics.memory_busy, r->memory_busy, 31);
        expect_figure(metrics.clock_megahertz, r->clock, 2105);
        expect_figure(metrics.memory_clock_megahertz, r->memory_clock, 900);
        expect_figure(metrics.fan_rpm, r->fan, 1944);
        assert_true(metrics.clock_reasons ==
                    (r->throttle ? JOULE_CLOCKS_POWER | JOULE_CLOCKS_TEMPERATURE : JOULE_CLOCKS_UNKNOWN));
        put(table, r->busy, 2, 9700); /* 9700 % is impossible */
        assert_int_equal(gpu_metrics_read(table, r->size, &metrics), JOULE_OK);
        assert_true(isnan(metrics.busy));
        assert_int_equal(gpu_metrics_read(table, r->size - 1, &metrics), JOULE_FAILED);
        expect_unknown(&metrics);
        table[0]--; /* the size no longer matches the revision */
        assert_int_equal(gpu_metrics_read(table, r->size, &metrics), JOULE_UNSUPPORTED);
        expect_unknown(&metrics);
    }
}

/* A board with several dies reports the highest of their clocks. */
static void test_clocks_of_several_dies(void **state)
{
    unsigned char table[288];
    struct gpu_metrics metrics;
    (void)state;
    memset(table, 0xff, sizeof table);
    put(table, 1, 3, 0x040101); /* the header: 288 bytes, revision 1.4 */
    table[0] = 0x20;
    put(table, 244, 2, 132);
    put(table, 250, 2, 2100);
    assert_int_equal(gpu_metrics_read(table, sizeof table, &metrics), JOULE_OK);
    assert_true(metrics.clock_megahertz == 2100);
}

/* --- recorded boards ------------------------------------------------------------------------------------ */

static const struct recorded {
    const char *folder, *card, *model;
    double busy, memory_busy, megahertz, memory_megahertz, rpm, ratio;
} recorded[] = {
    {"amd/phoenix", "card1", "AMD Radeon 780M Graphics", 0, NAN, 800, 400, NAN, NAN},
    {"amd/rx5500xt", "card1", "AMD Radeon RX 5500/5500M / Pro 5500M", 0, NAN, 31, 875, 0, 0},
    {"amd/rx580", "card0", "AMD Radeon RX 580 Series", 0.11, 0.02, 798.08, 1750, 595, 35 / 255.0},
    {"amd/rx7900xtx", "card0", "AMD Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M", 0.03, NAN, 31, 1249, 0, 0},
    {"amd/rx9070", "card1", "AMD Radeon RX 9070/9070 XT/9070 GRE", 0.25, 0, 900, 1124, 1944, 117 / 255.0},
    {"amd/vangogh", "card0", "AMD Custom GPU 0405", 0, NAN, 200, NAN, NAN, NAN},
    {"amd/vega56", "card0", "AMD Radeon RX Vega 56/64", 0, NAN, 26, 167, 5, 0},
    {"intel/b580", "card1", "Intel Arc B580", NAN, NAN, 400, NAN, 1235, 1235 / 2160.0},
    {"intel/a380-i915", "card1", "Intel Arc A380", NAN, NAN, 600, NAN, 0, NAN},
};

static void expect_near(const struct recorded *board, const char *what, double value, double wanted)
{
    if (isnan(wanted) ? !isnan(value) : !(fabs(value - wanted) <= 1e-9 * (1 + fabs(wanted))))
        fail_msg("%s: %s is %g instead of %g", board->folder, what, value, wanted);
}

/* Reads the bytes of a binary file. */
static ssize_t read_binary(void *context, int64_t time_ns, char *buffer, size_t size)
{
    FILE *file = fopen(context, "rb");
    (void)time_ns;
    if (!file)
        return -ENOENT;
    size_t length = fread(buffer, 1, size - 1, file);
    fclose(file);
    return (ssize_t)length;
}

static void check_board(struct machine_bench *bench, const struct recorded *board, const char *root)
{
    char path[1024];
    joule_device d = {.struct_size = sizeof d};
    snprintf(path, sizeof path, "%s/%s", root, board->folder);
    assert_true(machine_add(bench->host, path, "/sys/class/drm"));
    char table[1200], file[64];
    snprintf(table, sizeof table, "%s/%s/device/gpu_metrics", path, board->card);
    snprintf(file, sizeof file, "/sys/class/drm/%s/device/gpu_metrics", board->card);
    if (access(table, R_OK) == 0)
        assert_true(host_script_file(bench->host, file, read_binary, table));
    host_script_text(bench->host, PCI_IDS, pci_ids);
    host_script_text(bench->host, AMD_IDS, amd_ids);
    bench->meter = machine_open_devices(bench->host, "amdgpu,intel_gpu");
    machine_run(bench->meter, 3, 0.5);
    assert_int_equal(joule_device_get(bench->meter, 0, &d), JOULE_OK);
    assert_string_equal(d.model, board->model);
    expect_near(board, "busy", d.busy, board->busy);
    expect_near(board, "memory busy", d.memory_busy, board->memory_busy);
    expect_near(board, "clock", d.clock_megahertz, board->megahertz);
    expect_near(board, "memory clock", d.memory_clock_megahertz, board->memory_megahertz);
    expect_near(board, "fan", d.fan_rpm, board->rpm);
    expect_near(board, "fan's share", d.fan_ratio, board->ratio);
}

static void test_recorded_boards_have_their_figures(void **state)
{
    const char *archive = test_data("fixtures/lact-gpu-sysfs.tar.gz"),
               *root = TEST_BINARY_DIR "/lact-figures";
    char command[4096];
    if (!archive)
        skip();
    snprintf(command, sizeof command,
             "mkdir -p '%s' && tar -xzf '%s' -C '%s' --strip-components=2 tests/snapshots", root, archive,
             root);
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < sizeof recorded / sizeof recorded[0]; i++) {
        check_board(*state, &recorded[i], root);
        machine_teardown(state);
        machine_setup(state);
    }
}

/* The reported speed is that of the fastest fan. A speed that the driver does not know or that is impossible
 * is ignored. */
static void test_fastest_fan_counts(void **state)
{
#define FAN "/sys/class/drm/card1/device/hwmon/hwmon4/"
    static const struct {
        const char *first, *second, *duty;
        double rpm, ratio;
    } cases[] = {{NULL, NULL, NULL, NAN, NAN},          {"65535\n", NULL, NULL, NAN, NAN},
                 {"1200\n", "1300\n", NULL, 1300, NAN}, {"1200\n", NULL, "51\n", 1200, 0.2},
                 {"1200\n", NULL, "300\n", 1200, NAN},  {"N/A\n", NULL, NULL, NAN, NAN}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct machine_bench *bench = *state;
        joule_device d = {.struct_size = sizeof d};
        machine_put_amd_card(bench->host);
        host_script_text(bench->host, FAN "name", "amdgpu\n");
        host_script_text(bench->host, FAN "fan1_input", cases[i].first);
        host_script_text(bench->host, FAN "fan2_input", cases[i].second);
        host_script_text(bench->host, FAN "pwm1", cases[i].duty);
        bench->meter = machine_open_devices(bench->host, "amdgpu");
        machine_run(bench->meter, 3, 0.5);
        assert_int_equal(joule_device_get(bench->meter, 0, &d), JOULE_OK);
        assert_true(isnan(cases[i].rpm) ? isnan(d.fan_rpm) : d.fan_rpm == cases[i].rpm);
        assert_true(isnan(cases[i].ratio) ? isnan(d.fan_ratio) : d.fan_ratio == cases[i].ratio);
        machine_teardown(state);
        machine_setup(state);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, machine_setup, machine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_names_by_id),
        TEST(test_list_is_found_in_either_folder),
        TEST(test_invalid_lists_are_ignored),
        cmocka_unit_test(test_figures_of_each_revision),
        cmocka_unit_test(test_clocks_of_several_dies),
        TEST(test_recorded_boards_have_their_figures),
        TEST(test_fastest_fan_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
