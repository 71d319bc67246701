/* NVIDIA boards through nvidia-smi: tables and descriptions of old and new drivers, and failing drivers. */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/string.h"
#include "joule/api/open.h"
#include "joule/sources/nvidia/nvidia_smi.h"
#include "support/check.h"
#include "support/machine.h"
#include "support/test_data.h"

#define GIB UINT64_C(1073741824)
#define MIB UINT64_C(1048576)

static const char *fixture(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/fixtures/nvidia_smi/%s", TEST_SOURCE_DIR, name);
    return path;
}

static char *read_fixture(const char *name)
{
    size_t length;
    char *text = test_read_file(fixture(name), &length);
    assert_non_null(text);
    return text;
}

/* --- a program like theirs ------------------------------------------------------------------------------ */

/* Answers from a captured table with heading and units. */
static struct fake {
    char *table, *description, *list; /* NULL: not supported */
    const char *unknown;              /* another unknown field, besides those that the heading lacks */
    bool is_mute;                     /* it fails without naming the field */
    ssize_t failure;                  /* -errno; 0: it runs */
    int status;                       /* exit status; 0: success */
    const char *instead;              /* its output then */
    int lost;                         /* row that is left out; -1: none */
    double factor;                    /* factor for power */
    unsigned tables, descriptions;
} fake;

/* Copies cell `column` of a line, trimmed and without unit, as with nounits. */
static void cell(const char *line, size_t column, char *out_cell, size_t size)
{
    for (; column > 0 && line; column--) {
        line = strchr(line, ',');
        line += line != NULL;
    }
    assert_non_null(line);
    string_print(out_cell, size, "%.*s", (int)strcspn(line, ",\r\n"), line);
    memmove(out_cell, string_trim(out_cell), strlen(string_trim(out_cell)) + 1);
    double number;
    const char *end = string_scan_double(out_cell, &number);
    if (end && *end == ' ')
        out_cell[end - out_cell] = '\0';
}

static int find_column(const char *heading, const char *name, size_t length)
{
    int column = 0;
    for (const char *at = heading;; at++, column++) {
        at += strspn(at, " ");
        size_t named = strcspn(at, ", \r\n");
        if (named == length && strncmp(at, name, length) == 0)
            return column;
        at += strcspn(at, ",\r\n");
        if (*at != ',')
            return -1;
    }
}

static const char *next_row(const char *row)
{
    const char *end = strchr(row, '\n');
    return end && end[1] > ' ' ? end + 1 : NULL;
}

static void print_row(struct text *out, const char *row, const int *columns, size_t count, int power)
{
    char value[128];
    if (!memchr(row, ',', strcspn(row, "\n"))) { /* text besides the table */
        text_add_bytes(out, row, strcspn(row, "\n"));
        count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        double number;
        cell(row, (size_t)columns[i], value, sizeof value);
        if ((int)i == power && string_to_double(value, &number))
            string_print(value, sizeof value, "%.2f", number * fake.factor);
        text_printf(out, "%s%s", i ? ", " : "", value);
    }
    text_add(out, "\n");
}

static ssize_t answer_query(const char *names, struct text *out, int *out_status)
{
    int columns[64], power = -1;
    size_t count = 0;
    for (const char *name = names; *name; name += *name == ',') {
        size_t length = strcspn(name, ",");
        columns[count] = find_column(fake.table, name, length);
        bool is_unknown =
            fake.unknown && strlen(fake.unknown) == length && strncmp(fake.unknown, name, length) == 0;
        if (columns[count] < 0 || is_unknown) {
            *out_status = 2;
            text_printf(out,
                        fake.is_mute ? "Invalid combination of input arguments.\n"
                                     : "Field \"%.*s\" is not a valid field to query.\n",
                        (int)length, name);
            return (ssize_t)out->length;
        }
        if (string_starts(name, "power.draw"))
            power = power < 0 || string_starts(name, "power.draw.average") ? (int)count : power;
        count++;
        name += length;
    }
    int number = 0;
    for (const char *row = next_row(fake.table); row; row = next_row(row))
        if (number++ != fake.lost)
            print_row(out, row, columns, count, power);
    return (ssize_t)out->length;
}

static ssize_t answer_text(const char *text, struct text *out, int *out_status)
{
    *out_status = text ? 0 : 2;
    text_add(out, text ? text : "Invalid combination of input arguments.\n");
    return (ssize_t)out->length;
}

static ssize_t run_fake(void *context, int64_t time_ns, const char *const *argv, char *buffer, size_t size,
                        int *out_status)
{
    struct text out;
    (void)context, (void)time_ns;
    text_init(&out, buffer, size);
    if (fake.failure)
        return fake.failure;
    if (fake.status) {
        *out_status = fake.status;
        text_add(&out, fake.instead ? fake.instead : "");
        return (ssize_t)out.length;
    }
    if (string_starts(argv[1], "--query-gpu=")) {
        fake.tables++;
        assert_string_equal(argv[2], "--format=csv,noheader,nounits");
        return fake.table ? answer_query(argv[1] + strlen("--query-gpu="), &out, out_status)
                          : answer_text(NULL, &out, out_status);
    }
    fake.descriptions += strcmp(argv[1], "-q") == 0;
    return answer_text(strcmp(argv[1], "-q") == 0 ? fake.description : fake.list, &out, out_status);
}

static int setup(void **state)
{
    machine_setup(state);
    struct machine_bench *bench = *state;
    fake = (struct fake){.lost = -1, .factor = 1};
    return host_script_program(bench->host, "nvidia-smi", run_fake, NULL) ? 0 : -1;
}

static int teardown(void **state)
{
    free(fake.table);
    free(fake.description);
    free(fake.list);
    return machine_teardown(state);
}

static joule_meter *open_meter(struct machine_bench *bench)
{
    joule_options options = {
        .struct_size = sizeof options, .sources = "nvidia_smi", .flags = JOULE_OPEN_DEVICES};
    assert_int_equal(meter_open_on(bench->host, false, &options, &bench->meter, NULL), JOULE_OK);
    return bench->meter;
}

static joule_domain domain_of(joule_meter *meter, const char *name)
{
    joule_domain domain = {.struct_size = sizeof domain};
    assert_int_equal(joule_domain_get(meter, machine_domain(meter, name), &domain), JOULE_OK);
    return domain;
}

static joule_status state_of(joule_meter *meter, const char *name)
{
    return domain_of(meter, name).state;
}

/* --- tables --------------------------------------------------------------------------------------------- */

static void test_boards_are_measured(void **state)
{
    struct machine_bench *bench = *state;
    fake.table = read_fixture("boards.csv");
    joule_meter *meter = open_meter(bench);
    machine_run(meter, 20, 1);
    assert_int_equal(joule_device_count(meter), 3);
    joule_device l4 = machine_device(meter, 0), a100 = machine_device(meter, 1),
                 mx = machine_device(meter, 2);
    assert_string_equal(l4.name, "gpu:0");
    assert_string_equal(l4.model, "NVIDIA L4");
    assert_string_equal(l4.architecture, "Ada Lovelace");
    assert_string_equal(l4.compute_capability, "8.9");
    assert_string_equal(l4.driver, "nvidia 560.28.03");
    assert_string_equal(l4.pci_address, "0000:65:00.0");
    assert_string_equal(l4.uuid, "GPU-33333333-0000-0000-0000-000000000001");
    assert_true(l4.memory_total_bytes == 23034 * MIB && l4.memory_used_bytes == 4000 * MIB);
    assert_relative(l4.power_limit_enforced_watts, 72, 5e-10);
    assert_relative(l4.power_limit_min_watts, 40, 5e-10);
    assert_relative(l4.busy, 0.35, 5e-10);
    assert_relative(l4.memory_busy, 0.12, 5e-10);
    assert_relative(l4.temperature_celsius, 48, 5e-10);
    assert_true(isnan(l4.memory_temperature_celsius));
    assert_relative(l4.clock_megahertz, 1500, 5e-10);
    assert_int_equal(l4.clock_reasons, JOULE_CLOCKS_POWER);
    assert_true(isnan(l4.fan_ratio)); /* cooled by the server's fans */
    assert_relative(l4.encoder_busy, 0.12, 5e-10);
    assert_relative(l4.decoder_busy, 0.07, 5e-10);
    assert_relative(l4.ecc_corrected, 3, 5e-10);
    assert_relative(l4.ecc_uncorrected, 0, 5e-10);
    assert_relative(l4.ecc_corrected_lifetime, 14, 5e-10);
    assert_relative(l4.ecc_uncorrected_lifetime, 1, 5e-10);
    assert_true(isnan(l4.pcie_replays));      /* only in the description */
    assert_int_equal(l4.has_process_list, 0); /* the table has none */
    assert_int_equal(l4.state, JOULE_OK);
    assert_relative(machine_watts(meter, "gpu-0-power"), 41.5,
                    5e-10); /* the mean, not the instantaneous value */

    assert_string_equal(a100.pci_address, "0001:ca:00.0");
    assert_relative(machine_watts(meter, "gpu-1-power"), 90.25, 5e-10);
    assert_true(isnan(a100.busy)); /* MIG: N/A */
    assert_relative(a100.memory_temperature_celsius, 31, 5e-10);

    assert_string_equal(mx.model, "NVIDIA GeForce MX450");
    assert_int_equal(state_of(meter, "gpu-2-power"), JOULE_UNSUPPORTED);
    assert_true(isnan(mx.power_limit_watts));
    assert_relative(mx.fan_ratio, 0.35, 5e-10);
    assert_true(isnan(mx.ecc_corrected) && isnan(mx.ecc_uncorrected_lifetime)); /* it has no ECC */
    assert_int_equal(mx.clock_reasons, JOULE_CLOCKS_UNKNOWN);
    assert_relative(mx.temperature_celsius, 40, 5e-10);
    joule_domain power = domain_of(meter, "gpu-0-power");
    assert_string_equal(power.source, "nvidia_smi");
    assert_string_equal(power.device, "gpu:0");
    assert_int_equal(power.cls, JOULE_CLASS_DERIVED);
}

/* Drivers before 535 have other names for clock reasons and no averages; before 510 no compute capability.
 * The error names the unknown field. */
static void test_fields_that_a_driver_does_not_know(void **state)
{
    struct machine_bench *bench = *state;
    fake.table = strdup(
        "index, uuid, pci.bus_id, name, driver_version, power.draw [W], power.limit [W], "
        "enforced.power.limit [W], "
        "power.default_limit [W], power.min_limit [W], power.max_limit [W], temperature.gpu, "
        "temperature.memory, "
        "utilization.gpu [%], utilization.memory [%], memory.total [MiB], memory.used [MiB], memory.free "
        "[MiB], "
        "clocks.current.sm [MHz], clocks.current.memory [MHz], clocks_throttle_reasons.active\n"
        "0, GPU-22b2c6ac-2d49-4863-197c-9c469071178a, 00000000:08:00.0, GeForce RTX 2080, 440.100, 163.50 W, "
        "200.00 W, 200.00 W, 215.00 W, 105.00 W, 292.00 W, 40, N/A, 98 %, 40 %, 7982 MiB, 1242 MiB, 6740 "
        "MiB, 1900 MHz, "
        "7000 MHz, 0x0000000000000004\n");
    joule_meter *meter = open_meter(bench);
    assert_true(fake.tables <= 10); /* one for each group of fields given up, and two successful ones */
    machine_run(meter, 10, 1);
    joule_device device = machine_device(meter, 0);
    assert_string_equal(device.model, "GeForce RTX 2080");
    assert_string_equal(device.compute_capability, "");
    assert_int_equal(device.clock_reasons, JOULE_CLOCKS_POWER);
    assert_relative(device.power_limit_max_watts, 292, 5e-10);
    assert_relative(machine_watts(meter, "gpu-0-power"), 163.5, 5e-10);
}

/* If the error names no field, fewer and fewer fields are requested. */
static void test_refusals_without_a_name(void **state)
{
    struct machine_bench *bench = *state;
    fake.table = read_fixture("boards.csv");
    fake.unknown = "power.draw.average";
    fake.is_mute = true;
    joule_meter *meter = open_meter(bench);
    machine_run(meter, 10, 1);
    assert_relative(machine_watts(meter, "gpu-0-power"), 41.5, 5e-10); /* power.draw */
}

static void test_power_changes_are_integrated(void **state)
{
    struct machine_bench *bench = *state;
    fake.table = read_fixture("boards.csv");
    joule_meter *meter = open_meter(bench);
    machine_run(meter, 30, 1);
    int32_t power = machine_domain(meter, "gpu-0-power");
    double before = machine_mean_watts(meter, power);
    fake.factor = 1.2;
    machine_run(meter, 30, 1);
    double after = machine_mean_watts(meter, power);
    assert_relative(before, 41.5, 5e-10);
    if (!(after > 45 && after < 46.5)) /* half of the time at 49.8 W */
        fail_msg("%g W", after);
}

/* --- faults --------------------------------------------------------------------------------------------- */

static void test_a_board_is_lost(void **state)
{
    struct machine_bench *bench = *state;
    fake.table = read_fixture("boards.csv");
    joule_meter *meter = open_meter(bench);
    machine_run(meter, 5, 1);
    fake.lost = 0;
    machine_run(meter, 5, 1);
    assert_int_equal(state_of(meter, "gpu-0-power"), JOULE_FAILED);
    assert_int_equal(state_of(meter, "gpu-1-power"),
                     JOULE_OK); /* its number may have changed: its address identifies it */
    assert_relative(machine_watts(meter, "gpu-1-power"), 90.25, 5e-10);
    assert_int_equal(machine_device(meter, 0).state, JOULE_FAILED);
    fake.lost = -1;
    machine_run(meter, 5, 1);
    assert_int_equal(state_of(meter, "gpu-0-power"), JOULE_OK);
    assert_int_equal(machine_device(meter, 0).state, JOULE_OK);
}

static void expect_words(struct machine_bench *bench, const char *value, joule_status status)
{
    char *table = strdup(fake.table), *at;
    for (at = table; (at = strstr(at, "41.50 W")) != NULL;)
        memcpy(at, "@@@@@@@", 7);
    struct text text;
    char changed[4096];
    text_init(&text, changed, sizeof changed);
    for (at = table; *at; at++)
        if (strncmp(at, "@@@@@@@", 7) == 0) {
            text_add(&text, value);
            at += 6;
        } else {
            text_add_bytes(&text, at, 1);
        }
    char *good = fake.table;
    fake.table = changed;
    machine_run(bench->meter, 3, 1);
    assert_int_equal(state_of(bench->meter, "gpu-0-power"), status);
    assert_int_equal(state_of(bench->meter, "gpu-1-power"), JOULE_OK);
    fake.table = good;
    machine_run(bench->meter, 3, 1);
    assert_int_equal(state_of(bench->meter, "gpu-0-power"), JOULE_OK);
    free(table);
}

static void test_words_instead_of_power_have_a_status(void **state)
{
    struct machine_bench *bench = *state;
    fake.table = read_fixture("boards.csv");
    open_meter(bench);
    machine_run(bench->meter, 3, 1);
    expect_words(bench, "[GPU is lost]", JOULE_FAILED);
    expect_words(bench, "[GPU requires reset]", JOULE_FAILED);
    expect_words(bench, "[Unknown Error]", JOULE_FAILED);
    expect_words(bench, "ERR!", JOULE_FAILED);
    expect_words(bench, "[Insufficient Permissions]", JOULE_DENIED);
    expect_words(bench, "[Not Supported]", JOULE_UNSUPPORTED);
    expect_words(bench, "N/A", JOULE_UNSUPPORTED);
    expect_words(bench, "[Some word of a driver to come]", JOULE_FAILED);
    expect_words(bench, "-1.00 W", JOULE_FAILED);
}

static void test_hanging_and_invalid_output_is_a_failure(void **state)
{
    struct machine_bench *bench = *state;
    fake.table = read_fixture("boards.csv");
    joule_meter *meter = open_meter(bench);
    machine_run(meter, 5, 1);
    fake.failure = -ETIMEDOUT;
    machine_run(meter, 3, 1);
    assert_int_equal(state_of(meter, "gpu-0-power"), JOULE_FAILED);
    fake.failure = 0;
    fake.status = 255;
    fake.instead = "Segmentation fault, 1, 2, 3\n,,,,\n";
    machine_run(meter, 3, 1);
    assert_int_equal(state_of(meter, "gpu-1-temperature"), JOULE_FAILED);
    fake.status = 0;
    machine_run(meter, 3, 1);
    assert_int_equal(state_of(meter, "gpu-0-power"), JOULE_OK);
    assert_relative(machine_watts(meter, "gpu-0-power"), 41.5, 5e-10);
}

static void expect_state(struct machine_bench *bench, joule_status status, const char *remedy)
{
    bench->meter = machine_open(bench->host, "nvidia_smi");
    const struct source *source = bench->meter->lanes[0]->sources[0];
    for (size_t i = 0; i < bench->meter->lane_count; i++)
        if (bench->meter->lanes[i]->source_count)
            source = bench->meter->lanes[i]->sources[0];
    assert_int_equal(source->state, status);
    assert_contains(source->remedy, remedy);
    assert_int_equal(joule_device_count(bench->meter), 0);
    joule_close(bench->meter);
    bench->meter = NULL;
}

static void test_missing_boards_have_a_reason(void **state)
{
    struct machine_bench *bench = *state;
    fake.failure = -ENOENT;
    expect_state(bench, JOULE_ABSENT, "there is no nvidia-smi");
    fake.failure = -EACCES;
    expect_state(bench, JOULE_DENIED, "join the group");
    fake.failure = -ETIMEDOUT;
    expect_state(bench, JOULE_FAILED, "no usable values");
    fake.failure = 0;
    fake.instead = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n";
    fake.status = 9;
    expect_state(bench, JOULE_ABSENT, "no GPU");
    fake.status = 4;
    expect_state(bench, JOULE_DENIED, "join the group");
    fake.status = 15;
    expect_state(bench, JOULE_FAILED, "dmesg");
    fake.status = 0;
    free(fake.table);
    fake.table = read_fixture("boards.csv");
    strcpy(strchr(fake.table, '\n') + 1, "No devices were found\n");
    /* without a description, too, it cannot be queried at all */
    expect_state(bench, JOULE_FAILED, "no usable values");
    fake.description = strdup("<nvidia_smi_log><attached_gpus>0</attached_gpus></nvidia_smi_log>");
    expect_state(bench, JOULE_ABSENT, "no GPU");
}

static void test_not_beside_the_library(void **state)
{
    struct machine_bench *bench = *state;
    static const struct script_symbol symbols[] = {{"nvmlInit_v2", NULL}};
    fake.table = read_fixture("boards.csv");
    host_script_library(bench->host, "libnvidia-ml.so.1", symbols, 1);
    expect_state(bench, JOULE_ABSENT, "library is there");
    host_script_env(bench->host, "JOULE_NVML_LIB", "/nowhere.so");
    host_script_env(bench->host, "JOULE_NVIDIA_SMI", "/opt/nvidia-smi");
    expect_state(bench, JOULE_ABSENT, "there is no nvidia-smi"); /* that program */
    host_script_program(bench->host, "/opt/nvidia-smi", run_fake, NULL);
    assert_int_equal(joule_device_count(open_meter(bench)), 3);
}

/* --- descriptions --------------------------------------------------------------------------------------- */

/* A driver without tables; two boards, one of them without power. */
static void test_an_old_description(void **state)
{
    struct machine_bench *bench = *state;
    fake.description = read_fixture("470.xml");
    joule_meter *meter = open_meter(bench);
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
    assert_int_equal(state_of(meter, "gpu-1-power"), JOULE_UNSUPPORTED);
    assert_int_equal(p400.has_process_list, 1);
    assert_int_equal(p400.process_count, 0);
    assert_int_equal(p400.clock_reasons, JOULE_CLOCKS_UNKNOWN);
    assert_int_equal(p400.partition_count, 0);
}

static void test_partitions_are_listed(void **state)
{
    struct machine_bench *bench = *state;
    joule_device_partition partitions[4];
    fake.description = read_fixture("535.xml");
    fake.list = read_fixture("mig.list");
    joule_meter *meter = open_meter(bench);
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
    fake.description = read_fixture("570.xml");
    joule_meter *meter = open_meter(bench);
    machine_run(meter, 5, 1);
    assert_relative(machine_watts(meter, "gpu-0-power"), 116.62, 5e-10);
    assert_int_equal(domain_of(meter, "gpu-0-power").scope,
                     JOULE_SCOPE_GPU); /* the module has another value */
    assert_string_equal(machine_device(meter, 0).pci_address, "0009:01:00.0");
    assert_int_equal(machine_device(meter, 0).has_process_list, 1);
}

/* Old and new drivers, with their elements for fans, video engines, the link and memory errors. */
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

/* On some superchips the GPU's value is that of the module. */
static void test_module_power_has_its_scope(void **state)
{
    struct machine_bench *bench = *state;
    fake.description = read_fixture("570.xml");
    char *power = strstr(fake.description, "189.40");
    memcpy(power, "118.40", 6);
    joule_meter *meter = open_meter(bench);
    machine_run(meter, 5, 1);
    assert_int_equal(domain_of(meter, "gpu-0-power").scope, JOULE_SCOPE_MODULE);
}

/* Tables are read each second, descriptions rarely, and only with devices. */
static void test_tables_are_read_each_second(void **state)
{
    struct machine_bench *bench = *state;
    fake.table = read_fixture("boards.csv");
    fake.description = read_fixture("470.xml");
    memcpy(strstr(fake.description, "00000000:3B:00.0\">"), "00000000:65:00.0\">", 18);
    joule_meter *meter = open_meter(bench);
    unsigned before = fake.tables;
    machine_run(meter, 20, 1);
    assert_in_range(fake.tables - before, 18, 22);
    assert_in_range(fake.descriptions, 3, 5);
    assert_int_equal(machine_device(meter, 0).process_count, 2);
    assert_int_equal(machine_device(meter, 1).has_process_list, 0); /* not in the description */
    joule_close(meter);
    fake.descriptions = 0;
    bench->meter = machine_open(bench->host, "nvidia_smi");
    machine_run(bench->meter, 20, 1);
    assert_int_equal(fake.descriptions, 0);
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
    expect_no_description("<nvidia_smi_log><gpu id=\"1\"><uuid>x</uuid></gpu>"); /* truncated */
    expect_no_description("<nvidia_smi_log><gpu></uuid></gpu></nvidia_smi_log>");
    expect_no_description("<a><gpu><></gpu></a>");
    expect_no_description("<a></a></a>");
    expect_no_description(
        "<a><b><c><d><e><f><g><h><i><j><k><l><m><n><o><p><q></q></p></o></n></m></l></k></j></i></h></g></f>"
        "</e></d></c></b></a>");
    expect_no_description("<!-- <gpu></gpu>");
}

/* --- captures of real machines -------------------------------------------------------------------------- */

/* Names and units of a capture's values in the metrics recorded with it. */
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

/* Returns the metric of the board at `position`; NaN: it is not exported. */
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
    free(fake.table);
    fake.table = table_of(capture, section);
    assert_non_null(fake.table);

    struct smi_board boards[SMI_MAX_BOARDS];
    struct smi_query query = smi_query_all();
    char *copy = strdup(fake.table);
    size_t count = smi_read_table(copy, &query, boards, SMI_MAX_BOARDS);
    assert_true(count > 0);
    check_boards(boards, count, expected);
    free(copy);

    joule_meter *meter = open_meter(bench);
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
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_boards_are_measured),
        TEST(test_condition_in_descriptions),
        TEST(test_fields_that_a_driver_does_not_know),
        TEST(test_refusals_without_a_name),
        TEST(test_power_changes_are_integrated),
        TEST(test_a_board_is_lost),
        TEST(test_words_instead_of_power_have_a_status),
        TEST(test_hanging_and_invalid_output_is_a_failure),
        TEST(test_missing_boards_have_a_reason),
        TEST(test_not_beside_the_library),
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
