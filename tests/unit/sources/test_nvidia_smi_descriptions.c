/* Tests NVIDIA boards through nvidia-smi: the descriptions of old and new drivers, and captures of real
 * machines. */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/string.h"
#include "joule/sources/nvidia/nvidia_smi.h"
#include "support/check.h"
#include "support/fake_nvidia_smi.h"
#include "support/test_data.h"

#define GIB UINT64_C(1073741824)
#define MIB UINT64_C(1048576)

/* --- descriptions --------------------------------------------------------------------------------------- */

/* The driver prints descriptions, but no tables. It has two boards, and the power of one of them is
 * unknown. */
static void test_an_old_description(void **state)
{
    struct machine_bench *bench = *state;
    fake_smi.description = fake_smi_read("470.xml");
    joule_meter *meter = fake_smi_open(bench);
    machine_run(meter, 10, 1);
    assert_int_equal(joule_device_count(meter), 2);
    joule_device v100 = machine_device(meter, 0), p400 = machine_device(meter, 1);
    assert_string_equal(v100.model, "Tesla V100-SXM2-16GB");
    assert_string_equal(v100.driver, "nvidia 470.103.01");
    assert_string_equal(v100.pci_address, "0000:3b:00.0");
    assert_true(v100.memory_total_bytes == 16160 * MIB && v100.memory_free_bytes == 14960 * MIB);
    assert_relative(v100.power_limit_watts, 300, 5e-10);
    assert_relative(v100.power_limit_enforced_watts, 250, 5e-10);
    assert_relative(v100.busy, 0.87, 5e-10);
    assert_relative(v100.temperature_celsius, 61, 5e-10);
    assert_relative(v100.memory_temperature_celsius, 58, 5e-10);
    assert_relative(v100.memory_clock_megahertz, 877, 5e-10);
    assert_int_equal(v100.clock_reasons, JOULE_CLOCKS_POWER | JOULE_CLOCKS_TEMPERATURE);
    assert_relative(machine_watts(meter, "gpu-0-power"), 235.32, 5e-10);
    joule_device_process processes[4];
    assert_int_equal(v100.has_process_list, 1);
    assert_int_equal(joule_device_processes(meter, "gpu:0", processes, 4), 2);
    assert_true(processes[0].pid == 4242 && processes[0].memory_bytes == 1195 * MIB);
    assert_true(processes[1].pid == 77 && processes[1].memory_bytes == JOULE_BYTES_UNKNOWN);
    assert_true(isnan(processes[0].busy));
    assert_int_equal(fake_smi_state(meter, "gpu-1-power"), JOULE_UNSUPPORTED);
    assert_int_equal(p400.has_process_list, 1);
    assert_int_equal(p400.process_count, 0);
    assert_int_equal(p400.clock_reasons, JOULE_CLOCKS_UNKNOWN);
    assert_int_equal(p400.partition_count, 0);
}

static void test_partitions_are_listed(void **state)
{
    struct machine_bench *bench = *state;
    joule_device_partition partitions[4];
    fake_smi.description = fake_smi_read("535.xml");
    fake_smi.list = fake_smi_read("mig.list");
    joule_meter *meter = fake_smi_open(bench);
    machine_run(meter, 5, 1);
    joule_device a100 = machine_device(meter, 0);
    assert_relative(machine_watts(meter, "gpu-0-power"), 51.07, 5e-10);
    assert_relative(a100.power_limit_watts, 240, 5e-10);
    assert_relative(a100.power_limit_enforced_watts, 250, 5e-10);
    assert_true(isnan(a100.busy));
    assert_true(a100.memory_total_bytes == 40 * GIB);
    assert_int_equal(a100.clock_reasons, JOULE_CLOCKS_IDLE);
    assert_int_equal(a100.process_count, 1);
    assert_int_equal(joule_device_partitions(meter, "gpu:0", partitions, 4), 2);
    assert_string_equal(partitions[0].uuid, "MIG-ce2e805f-ce8e-5cf7-8132-176167d87d24");
    assert_int_equal(partitions[0].instance, 1);
    assert_string_equal(partitions[1].uuid, "MIG-2cc993d7-588c-5c28-b454-b3851897e3d7");
    assert_int_equal(partitions[1].instance, 13);
    assert_string_equal(partitions[0].profile, "4g.20gb");
    assert_string_equal(partitions[1].profile, "1g.5gb");
    assert_true(partitions[0].memory_total_bytes == 19968ull << 20);
    assert_true(partitions[1].memory_used_bytes == 5 << 20 && partitions[1].memory_free_bytes == 4859ull
                                                                                                     << 20);
}

static void test_a_new_description(void **state)
{
    struct machine_bench *bench = *state;
    fake_smi.description = fake_smi_read("570.xml");
    joule_meter *meter = fake_smi_open(bench);
    machine_run(meter, 5, 1);
    assert_relative(machine_watts(meter, "gpu-0-power"), 116.62, 5e-10);
    /* the description has separate values for the power of the GPU and of its module */
    assert_int_equal(fake_smi_domain(meter, "gpu-0-power").scope, JOULE_SCOPE_GPU);
    assert_string_equal(machine_device(meter, 0).pci_address, "0009:01:00.0");
    assert_int_equal(machine_device(meter, 0).has_process_list, 1);
}

/* Descriptions of old and new drivers contain the state of fans, video engines, the PCIe link, and memory
 * errors. */
static void test_condition_in_descriptions(void **state)
{
    static const struct {
        const char *xml;
        double fan, encoder, transmit, replays, corrected, uncorrected, lifetime;
    } cases[] = {
        {"<fan_speed>41 %</fan_speed><pci><replay_counter>4</replay_counter><tx_util>1500 KB/s</tx_util>"
         "<rx_util>N/A</rx_util></pci><utilization><encoder_util>9 %</encoder_util></utilization>"
         "<ecc_errors><volatile><single_bit><device_memory>2</device_memory><total>5</total></single_bit>"
         "<double_bit><total>1</total></double_bit></volatile><aggregate><single_bit><total>9</total>"
         "</single_bit></aggregate></ecc_errors>",
         0.41, 0.09, 1.5e6, 4, 5, 1, 9},
        {"<fan_speed>N/A</fan_speed><ecc_errors><volatile><sram_correctable>1</sram_correctable>"
         "<sram_uncorrectable_parity>2</sram_uncorrectable_parity><sram_uncorrectable_secded>3"
         "</sram_uncorrectable_secded><dram_correctable>4</dram_correctable><dram_uncorrectable>0"
         "</dram_uncorrectable></volatile><aggregate><sram_correctable>N/A</sram_correctable>"
         "<sram_threshold_exceeded>No</sram_threshold_exceeded></aggregate></ecc_errors>",
         NAN, NAN, NAN, NAN, 5, 5, NAN},
        {"<utilization><encoder_util>N/A</encoder_util></utilization><pci><replay_counter>4294967295"
         "</replay_counter></pci><ecc_errors><volatile><dram_correctable>N/A</dram_correctable></volatile>"
         "</ecc_errors>",
         NAN, NAN, NAN, NAN, NAN, NAN, NAN},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct smi_board boards[2];
        struct device_facts facts = device_facts_unknown();
        char text[2048];
        snprintf(text, sizeof text, "<nvidia_smi_log><gpu id=\"0\">%s</gpu></nvidia_smi_log>", cases[i].xml);
        assert_int_equal(smi_read_description(text, boards, 2), 1);
        smi_set_facts(&boards[0], &facts);
        smi_set_users(&boards[0], &facts);
        const double values[] = {facts.fan_ratio,
                                 facts.encoder_busy,
                                 facts.pcie_transmit_bytes_per_second,
                                 facts.pcie_replays,
                                 facts.ecc_corrected,
                                 facts.ecc_uncorrected,
                                 facts.ecc_corrected_lifetime};
        const double *wanted = &cases[i].fan;
        for (size_t k = 0; k < sizeof values / sizeof values[0]; k++)
            if (isnan(wanted[k]) ? !isnan(values[k])
                                 : !(fabs(values[k] - wanted[k]) < 1e-9 * (1 + wanted[k])))
                fail_msg("description %zu, figure %zu: %g instead of %g", i, k, values[k], wanted[k]);
        assert_true(isnan(facts.pcie_receive_bytes_per_second));
    }
}

/* On some superchips the value for the GPU is the power of the module. */
static void test_module_power_has_its_scope(void **state)
{
    struct machine_bench *bench = *state;
    fake_smi.description = fake_smi_read("570.xml");
    char *power = strstr(fake_smi.description, "189.40");
    memcpy(power, "118.40", 6);
    joule_meter *meter = fake_smi_open(bench);
    machine_run(meter, 5, 1);
    assert_int_equal(fake_smi_domain(meter, "gpu-0-power").scope, JOULE_SCOPE_MODULE);
}

/* Tables are read each second. Descriptions are read rarely, and only if devices are requested. */
static void test_tables_are_read_each_second(void **state)
{
    struct machine_bench *bench = *state;
    fake_smi.table = fake_smi_read("boards.csv");
    fake_smi.description = fake_smi_read("470.xml");
    memcpy(strstr(fake_smi.description, "00000000:3B:00.0\">"), "00000000:65:00.0\">", 18);
    joule_meter *meter = fake_smi_open(bench);
    unsigned before = fake_smi.tables;
    machine_run(meter, 20, 1);
    assert_in_range(fake_smi.tables - before, 18, 22);
    assert_in_range(fake_smi.descriptions, 3, 5);
    assert_int_equal(machine_device(meter, 0).process_count, 2);
    assert_int_equal(machine_device(meter, 1).has_process_list, 0); /* the description has no process list */
    joule_close(meter);
    fake_smi.descriptions = 0;
    bench->meter = machine_open(bench->host, "nvidia_smi");
    machine_run(bench->meter, 20, 1);
    assert_int_equal(fake_smi.descriptions, 0);
}

static void expect_no_description(const char *text)
{
    struct smi_board boards[2];
    char *copy = strdup(text);
    if (smi_read_description(copy, boards, 2) != 0)
        fail_msg("taken: %s", text);
    free(copy);
}

static void test_invalid_descriptions_are_ignored(void **state)
{
    (void)state;
    expect_no_description("");
    expect_no_description("Failed to initialize NVML: Driver/library version mismatch\n");
    /* the description is truncated */
    expect_no_description("<nvidia_smi_log><gpu id=\"1\"><uuid>x</uuid></gpu>");
    expect_no_description("<nvidia_smi_log><gpu></uuid></gpu></nvidia_smi_log>");
    expect_no_description("<a><gpu><></gpu></a>");
    expect_no_description("<a></a></a>");
    expect_no_description(
        "<a><b><c><d><e><f><g><h><i><j><k><l><m><n><o><p><q></q></p></o></n></m></l></k></j></i></h></g></f>"
        "</e></d></c></b></a>");
    expect_no_description("<!-- <gpu></gpu>");
}

/* --- captures of real machines -------------------------------------------------------------------------- */

/* For each value of a capture: the metric with the same value, recorded on that machine, and its unit. */
static const struct {
    enum smi_field field;
    const char *metric;
    double unit;
} metrics[] = {
    {SMI_POWER, "power_draw_watts", 1},
    {SMI_POWER_AVERAGE, "power_draw_average_watts", 1},
    {SMI_POWER_INSTANT, "power_draw_instant_watts", 1},
    {SMI_LIMIT, "power_limit_watts", 1},
    {SMI_LIMIT_ENFORCED, "enforced_power_limit_watts", 1},
    {SMI_LIMIT_DEFAULT, "power_default_limit_watts", 1},
    {SMI_LIMIT_MIN, "power_min_limit_watts", 1},
    {SMI_LIMIT_MAX, "power_max_limit_watts", 1},
    {SMI_TEMPERATURE, "temperature_gpu", 1},
    {SMI_MEMORY_TEMPERATURE, "temperature_memory", 1},
    {SMI_BUSY, "utilization_gpu_ratio", 0.01},
    {SMI_MEMORY_BUSY, "utilization_memory_ratio", 0.01},
    {SMI_MEMORY_TOTAL, "memory_total_bytes", 1048576},
    {SMI_MEMORY_USED, "memory_used_bytes", 1048576},
    {SMI_MEMORY_FREE, "memory_free_bytes", 1048576},
    {SMI_CLOCK, "clocks_current_sm_clock_hz", 1e6},
    {SMI_MEMORY_CLOCK, "clocks_current_memory_clock_hz", 1e6},
    {SMI_FAN, "fan_speed_ratio", 0.01},
    {SMI_ENCODER, "utilization_encoder_ratio", 0.01},
    {SMI_DECODER, "utilization_decoder_ratio", 0.01},
    {SMI_ECC_CORRECTED, "ecc_errors_corrected_volatile_total", 1},
    {SMI_ECC_UNCORRECTED, "ecc_errors_uncorrected_volatile_total", 1},
    {SMI_ECC_CORRECTED_LIFETIME, "ecc_errors_corrected_aggregate_total", 1},
    {SMI_ECC_UNCORRECTED_LIFETIME, "ecc_errors_uncorrected_aggregate_total", 1},
};

/* Returns the metric of the board at `position`; NaN if it is missing. */
static double metric_of(const char *text, const char *name, size_t position)
{
    char key[128];
    double value;
    string_print(key, sizeof key, "nvidia_smi_%s{", name);
    for (const char *line = text; line; line = strchr(line, '\n'), line += line != NULL)
        if (string_starts(line, key) && position-- == 0) {
            const char *brace = strchr(line, '}');
            return brace && string_scan_double(brace + 2, &value) ? value : NAN;
        }
    return NAN;
}

static void check_boards(struct smi_board *boards, size_t count, const char *expected)
{
    for (size_t b = 0; b < count; b++)
        for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++) {
            double value = smi_get_number(&boards[b], metrics[i].field) * metrics[i].unit;
            double wanted = metric_of(expected, metrics[i].metric, b);
            bool is_same =
                isnan(wanted) ? isnan(value) : fabs(value - wanted) <= 1e-6 * fmax(1, fabs(wanted));
            if (!is_same)
                fail_msg("board %zu, %s: %.9g instead of %.9g", b, metrics[i].metric, value, wanted);
        }
}

/* Returns the table in the capture's section "idle" or "load". */
static char *table_of(const char *capture, const char *section)
{
    char heading[64];
    string_print(heading, sizeof heading, "# %s :: query-gpu (csv", section);
    const char *begin = strstr(capture, heading);
    for (int i = 0; begin && i < 3; i++)
        begin = strchr(begin, '\n') + 1;
    const char *end = begin ? strstr(begin, "\n\n") : NULL;
    return end ? strndup(begin, (size_t)(end - begin) + 1) : NULL;
}

static void check_section(struct machine_bench *bench, const char *path, const char *section)
{
    char beside[512];
    size_t length;
    char *capture = test_read_file(path, &length);
    string_print(beside, sizeof beside, "%.*s__%s.metrics", (int)(strlen(path) - strlen(".txt")), path,
                 section);
    char *expected = test_read_file(beside, &length);
    assert_non_null(capture);
    assert_non_null(expected);
    free(fake_smi.table);
    fake_smi.table = table_of(capture, section);
    assert_non_null(fake_smi.table);

    struct smi_board boards[SMI_MAX_BOARDS];
    struct smi_query query = smi_query_all();
    char *copy = strdup(fake_smi.table);
    size_t count = smi_read_table(copy, &query, boards, SMI_MAX_BOARDS);
    assert_true(count > 0);
    check_boards(boards, count, expected);
    free(copy);

    joule_meter *meter = fake_smi_open(bench);
    machine_run(meter, 10, 1);
    joule_device device = machine_device(meter, 0);
    double watts = metric_of(expected, "power_draw_average_watts", 0);
    if (isnan(watts))
        watts = metric_of(expected, "power_draw_instant_watts", 0);
    assert_relative(machine_watts(meter, "gpu-0-power"), watts, 5e-10);
    assert_relative(device.temperature_celsius, metric_of(expected, "temperature_gpu", 0), 5e-10);
    assert_relative((double)device.memory_total_bytes, metric_of(expected, "memory_total_bytes", 0), 5e-10);
    joule_close(meter);
    bench->meter = NULL;
    free(capture);
    free(expected);
}

static void test_captured_outputs_are_read(void **state)
{
    const char *folder = test_data("fixtures/nvidia-smi");
    char path[512];
    size_t captures = 0;
    if (!folder) {
        print_message("captures of nvidia-smi are not there: set JOULE_TEST_DATA\n");
        skip();
    }
    char *kept = strdup(folder);
    DIR *list = opendir(kept);
    for (struct dirent *entry; (entry = readdir(list)) != NULL;) {
        if (!string_ends(entry->d_name, ".txt"))
            continue;
        string_print(path, sizeof path, "%s/%s", kept, entry->d_name);
        check_section(*state, path, "idle");
        check_section(*state, path, "load");
        captures++;
    }
    closedir(list);
    free(kept);
    assert_true(captures > 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, fake_smi_setup, fake_smi_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_condition_in_descriptions),
        TEST(test_an_old_description),
        TEST(test_partitions_are_listed),
        TEST(test_a_new_description),
        TEST(test_module_power_has_its_scope),
        TEST(test_tables_are_read_each_second),
        TEST(test_invalid_descriptions_are_ignored),
        TEST(test_captured_outputs_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
