/* Tests the Prometheus page: its exact text in both formats, and that unknown values have no samples.
 *
 * Note: tests of the format fill an overview by hand; tests of values collect it from a scripted machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "joule/attribute/attribute_process.h"
#include "joule/report/metrics.h"
#include "joule/sources/device.h"
#include "support/check.h"
#include "support/rig.h"

static char page[1 << 18];

static const char *print(const struct overview *overview, enum metrics_format format)
{
    struct text text;
    text_init(&text, page, sizeof page);
    metrics_print(overview, format, &text);
    assert_true(text.length < sizeof page);
    return page;
}

static void expect_line(const char *line)
{
    char whole[512];
    snprintf(whole, sizeof whole, "\n%s\n", line);
    assert_contains(page, whole);
}

/* Returns the number after the last blank of a line. */
static double value_of(const char *line)
{
    const char *at = line + strcspn(line, "\n");
    while (at[-1] != ' ')
        at--;
    return strtod(at, NULL);
}

/* Returns the value of the sample that begins with `series`, or NaN if there is none. */
static double sample(const char *series)
{
    size_t length = strlen(series);
    for (const char *line = page; line; line = strchr(line, '\n'), line += line ? 1 : 0)
        if (strncmp(line, series, length) == 0 && line[length] == ' ')
            return strtod(line + length, NULL);
    return NAN;
}

/* --- form ----------------------------------------------------------------------------------------------- */

static joule_quantity known(double value, joule_class cls)
{
    return (joule_quantity){value, 0.9 * value, 1.1 * value, cls, 0};
}

/* Returns an overview of three domains: a package that can be read, a board that cannot, and a temperature
 * sensor. */
static struct overview three_domains(void)
{
    static struct overview_domain domains[3];
    static struct overview_source sources[] = {{"rapl_perf", "rapl", 2, JOULE_OK},
                                               {"nvml", "nvml", 3, JOULE_STALE}};
    struct overview overview = {.hostname = "node-7",
                                .age_s = 10,
                                .period_s = 0.1,
                                .overhead_cpu_s = 0.25,
                                .domains = domains,
                                .domain_count = 3,
                                .sources = sources,
                                .source_count = 2};
    domains[0] = (struct overview_domain){.joules = known(1234.5, JOULE_CLASS_MEASURED),
                                          .watts = known(123, JOULE_CLASS_MEASURED),
                                          .temperature_celsius = NAN,
                                          .clock_megahertz = NAN,
                                          .utilisation = NAN,
                                          .age_s = 0.5};
    domains[1] = domains[0];
    domains[1].joules = domains[1].watts = quantity_unknown();
    domains[1].age_s = NAN;
    domains[2] = domains[1];
    domains[2].temperature_celsius = 48.5;
    domains[0].domain = (joule_domain){.id = 0,
                                       .scope = JOULE_SCOPE_PACKAGE,
                                       .reading = JOULE_READING_ENERGY,
                                       .cls = JOULE_CLASS_MEASURED,
                                       .in_total = 1,
                                       .name = "package-0",
                                       .device = "cpu:0",
                                       .source = "rapl_perf"};
    domains[1].domain = (joule_domain){.id = 1,
                                       .scope = JOULE_SCOPE_GPU,
                                       .reading = JOULE_READING_POWER,
                                       .cls = JOULE_CLASS_DERIVED,
                                       .state = JOULE_STALE,
                                       .name = "gpu-0",
                                       .device = "gpu:0",
                                       .source = "nvml"};
    domains[2].domain = (joule_domain){.id = 2,
                                       .reading = JOULE_READING_TEMPERATURE,
                                       .name = "thermal-0",
                                       .device = "cpu:0",
                                       .label = "x86_pkg_temp",
                                       .source = "thermal"};
    for (size_t i = 0; i < OVERVIEW_SUMS; i++)
        overview.sums[i] = (struct overview_sum){"none", quantity_unknown(), quantity_unknown(), false, ""};
    overview.sums[OVERVIEW_TOTAL] = (struct overview_sum){
        "all", known(1234.5, JOULE_CLASS_MEASURED), known(123, JOULE_CLASS_MEASURED), true, "package-0"};
    return overview;
}

/* A known power is shown with its class, even before the energy is known. */
static void test_power_has_its_own_class(void **state)
{
    (void)state;
    struct overview overview = three_domains();
    overview.sums[OVERVIEW_TOTAL].joules = quantity_unknown();
    print(&overview, METRICS_TEXT);
    expect_line("joule_total_power_watts{part=\"all\",class=\"measured\"} 123");
    assert_null(strstr(page, "class=\"none\""));
}

static void test_text_names_what_it_types(void **state)
{
    (void)state;
    struct overview overview = three_domains();
    print(&overview, METRICS_TEXT);
    expect_line("# TYPE joule_energy_joules_total counter");
    expect_line("joule_energy_joules_total{domain=\"package-0\",device=\"cpu:0\",source=\"rapl_perf\",scope="
                "\"package\","
                "class=\"measured\"} 1234.5");
    expect_line("joule_energy_low_joules{domain=\"package-0\",device=\"cpu:0\",source=\"rapl_perf\",scope="
                "\"package\","
                "class=\"measured\"} 1111.05");
    expect_line("# TYPE joule_total_cover_info gauge");
    expect_line("joule_total_cover_info{part=\"all\",cover=\"package-0\",partial=\"true\"} 1");
    expect_line("joule_temperature_celsius{domain=\"thermal-0\",device=\"cpu:0\",source=\"thermal\",of=\"x86_"
                "pkg_temp\"} 48.5");
    expect_line("joule_domain_up{domain=\"gpu-0\",device=\"gpu:0\",source=\"nvml\"} 0");
    expect_line("joule_domain_state{domain=\"gpu-0\",device=\"gpu:0\",source=\"nvml\",state=\"stale\"} 1");
    expect_line("joule_source_state{source=\"nvml\",measurement=\"nvml\",state=\"stale\"} 1");
    expect_line("joule_measuring_seconds_total 10");
    assert_null(strstr(page, "# UNIT"));
    assert_null(strstr(page, "# EOF"));
}

static void test_openmetrics_names_families(void **state)
{
    (void)state;
    struct overview overview = three_domains();
    print(&overview, METRICS_OPENMETRICS);
    expect_line("# TYPE joule_energy_joules counter");
    expect_line("# UNIT joule_energy_joules joules");
    expect_line("# TYPE joule_domain info");
    expect_line("joule_energy_joules_total{domain=\"package-0\",device=\"cpu:0\",source=\"rapl_perf\",scope="
                "\"package\","
                "class=\"measured\"} 1234.5");
    size_t length = strlen(page);
    assert_string_equal(page + length - strlen("\n# EOF\n"), "\n# EOF\n");
}

/* All samples of a metric family are together, below the one header of the family. */
static void test_each_family_is_described_once(void **state)
{
    (void)state;
    struct overview overview = three_domains();
    print(&overview, METRICS_TEXT);
    char family[128] = "";
    for (const char *line = page; *line; line = strchr(line, '\n') + 1) {
        char head[160];
        size_t length = strcspn(line, " {");
        if (strncmp(line, "# TYPE ", 7) == 0) {
            length = strcspn(line + 7, " ");
            snprintf(family, sizeof family, "%.*s", (int)length, line + 7);
            snprintf(head, sizeof head, "# TYPE %s ", family);
            assert_null(strstr(strstr(page, head) + 1, head));
        } else if (*line != '#' && (strlen(family) != length || strncmp(line, family, length) != 0)) {
            fail_msg("a sample of another family below %s: %.60s", family, line);
        }
    }
}

static void test_names_are_escaped(void **state)
{
    (void)state;
    struct overview overview = three_domains();
    strcpy(overview.domains[0].domain.model, "a\"b\\c\nd\xff\xc3\xa9");
    print(&overview, METRICS_TEXT);
    assert_contains(page, "model=\"a\\\"b\\\\c\\nd?\xc3\xa9\"");
}

static void test_values_have_six_digits(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},
                 {1, "1"},
                 {-40, "-40"},
                 {-40.25, "-40.25"},
                 {0.1 + 0.2, "0.3"},
                 {1 / 3.0, "0.333333"},
                 {0.9999999, "1"},
                 {99.0000004, "99"},
                 {12.000001, "12.000001"},
                 {5e-7, "5e-07"},
                 {0.00012345, "0.00012345"},
                 {999999999.5, "999999999.5"},
                 {1234567890.125, "1234567890.12"},
                 {150754820096.0, "150754820096"},
                 {9007199254740991.0, "9007199254740991"},
                 {1e300, "1e+300"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text text;
        struct metrics metrics = {.out = &text};
        text_init(&text, page, sizeof page);
        metrics_close(&metrics, cases[i].value);
        page[text.length - 1] = '\0'; /* remove the end of the line */
        assert_string_equal(page + 1, cases[i].text);
    }
}

static void test_accept_header_chooses_the_format(void **state)
{
    (void)state;
    static const struct {
        const char *accept;
        enum metrics_format format;
    } cases[] = {
        {NULL, METRICS_TEXT},
        {"", METRICS_TEXT},
        {"*/*", METRICS_TEXT},
        {"text/html,application/xhtml+xml,*/*;q=0.8", METRICS_TEXT},
        {"application/openmetrics-text", METRICS_OPENMETRICS},
        {"Application/OpenMetrics-Text; Version=1.0.0", METRICS_OPENMETRICS},
        {"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
         /* the request of Prometheus 2.42 */
         "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
         METRICS_OPENMETRICS},
        {"application/openmetrics-text; version=1.0.0; q=0.3, text/plain; version=0.0.4; q=0.9",
         METRICS_TEXT},
        {"application/openmetrics-text;version=2.0.0", METRICS_TEXT},
        {"application/openmetrics-text;q=0", METRICS_TEXT},
        {"application/openmetrics-text;q=nonsense", METRICS_TEXT},
        {"application/openmetrics-textual", METRICS_TEXT},
        {";;;,,,q=;version=;", METRICS_TEXT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (metrics_choose(cases[i].accept) != cases[i].format)
            fail_msg("'%s' should not give format %d", cases[i].accept, !cases[i].format);
}

/* --- devices -------------------------------------------------------------------------------------------- */

static struct overview_device unknown_device(const char *name, const char *vendor)
{
    struct overview_device row = {.device = {.struct_size = sizeof row.device,
                                             .clock_reasons = JOULE_CLOCKS_UNKNOWN,
                                             .power_watts = quantity_unknown(),
                                             .energy_joules = quantity_unknown(),
                                             .domain = -1}};
    double *const unknown[] = {&row.memory_total_bytes,
                               &row.memory_used_bytes,
                               &row.memory_free_bytes,
                               &row.sm_activity,
                               &row.tensor_activity,
                               &row.dram_activity,
                               &row.process_count,
                               &row.partition_count,
                               &row.device.busy,
                               &row.device.memory_busy,
                               &row.device.temperature_celsius,
                               &row.device.clock_megahertz,
                               &row.device.memory_temperature_celsius,
                               &row.device.power_limit_watts,
                               &row.device.memory_clock_megahertz,
                               &row.device.age_s,
                               &row.device.power_limit_default_watts,
                               &row.device.power_limit_enforced_watts,
                               &row.device.power_limit_min_watts,
                               &row.device.power_limit_max_watts,
                               &row.device.fan_rpm,
                               &row.device.fan_ratio,
                               &row.device.encoder_busy,
                               &row.device.decoder_busy,
                               &row.device.pcie_receive_bytes_per_second,
                               &row.device.pcie_transmit_bytes_per_second,
                               &row.device.pcie_replays,
                               &row.device.ecc_corrected,
                               &row.device.ecc_uncorrected,
                               &row.device.ecc_corrected_lifetime,
                               &row.device.ecc_uncorrected_lifetime,
                               &row.device.xid_count,
                               &row.device.last_xid};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        *unknown[i] = NAN;
    strcpy(row.device.name, name);
    strcpy(row.device.vendor, vendor);
    row.device.index = (int32_t)strtol(strchr(name, ':') + 1, NULL, 10);
    return row;
}

static struct overview_part part_of(size_t device, double used_bytes)
{
    return (struct overview_part){.device = device,
                                  .info = device_partition_unknown(),
                                  .memory_total_bytes = NAN,
                                  .memory_used_bytes = used_bytes,
                                  .memory_free_bytes = NAN,
                                  .memory_reserved_bytes = NAN};
}

static struct overview one_board(void)
{
    static struct overview_device devices[3];
    struct overview overview = three_domains();
    devices[0] = unknown_device("gpu:0", "nvidia");
    devices[1] = unknown_device("gpu:1", "amd");
    devices[2] = unknown_device("hpu:0", "habana");
    joule_device *board = &devices[0].device;
    strcpy(board->model, "NVIDIA H200");
    strcpy(board->uuid, "GPU-1234");
    strcpy(board->pci_address, "0000:c5:00.0");
    strcpy(board->driver, "nvidia 580.95.05");
    board->energy_joules = known(1234.5, JOULE_CLASS_MEASURED);
    board->power_watts = known(612.25, JOULE_CLASS_MEASURED);
    board->busy = 0.97;
    board->clock_megahertz = 1980;
    board->temperature_celsius = 71;
    board->power_limit_enforced_watts = 700;
    board->clock_reasons = JOULE_CLOCKS_POWER | JOULE_CLOCKS_HOT_HARDWARE;
    devices[0].memory_used_bytes = 1024.0 * 1024 * 1024;
    devices[0].process_count = 0;
    devices[1].device.busy = 0.5;
    devices[2].device.busy = 0.25;
    overview.devices = devices;
    overview.device_count = 3;
    static struct overview_part parts[4];
    for (size_t i = 0; i < 3; i++)
        parts[i] = part_of(i, NAN);
    parts[0].memory_used_bytes = devices[0].memory_used_bytes;
    overview.parts = parts;
    overview.part_count = 3;
    return overview;
}

static void test_boards_have_metrics(void **state)
{
    (void)state;
    struct overview overview = one_board();
    print(&overview, METRICS_TEXT);
    expect_line(
        "joule_device_info{device=\"gpu:0\",vendor=\"nvidia\",model=\"NVIDIA H200\",uuid=\"GPU-1234\","
        "pci_address=\"0000:c5:00.0\",driver=\"nvidia 580.95.05\"} 1");
    expect_line("joule_device_energy_joules_total{device=\"gpu:0\",class=\"measured\"} 1234.5");
    expect_line("joule_device_busy_ratio{device=\"gpu:0\"} 0.97");
    expect_line("joule_device_busy_ratio{device=\"hpu:0\"} 0.25");
    expect_line("joule_device_clock_hertz{device=\"gpu:0\"} 1980000000");
    expect_line("joule_device_memory_used_bytes{device=\"gpu:0\"} 1073741824");
    expect_line("joule_device_processes{device=\"gpu:0\"} 0"); /* the process list is known and empty */
    expect_line("joule_device_power_limit_watts{device=\"gpu:0\",limit=\"enforced\"} 700");
    expect_line("joule_device_clocks_held{device=\"gpu:0\",reason=\"power limit\"} 1");
    expect_line("joule_device_up{device=\"gpu:1\"} 1");
    assert_null(strstr(page, "limit=\"set\""));
}

/* Names, labels and units are those of dcgm-exporter. Unknown values and boards of other vendors have no
 * samples. */
static void test_names_are_those_of_dcgm_exporter(void **state)
{
    (void)state;
    struct overview overview = one_board();
    print(&overview, METRICS_TEXT);
#define H200                                                                                                 \
    "{gpu=\"0\",UUID=\"GPU-1234\",pci_bus_id=\"00000000:C5:00.0\",device=\"nvidia0\",modelName=\"NVIDIA "    \
    "H200\","                                                                                                \
    "Hostname=\"node-7\",DCGM_FI_DRIVER_VERSION=\"580.95.05\"}"
    expect_line("# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter");
    expect_line("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION" H200 " 1234500");
    expect_line("DCGM_FI_DEV_POWER_USAGE" H200 " 612.25");
    expect_line("DCGM_FI_DEV_GPU_UTIL" H200 " 97");
    expect_line("DCGM_FI_DEV_SM_CLOCK" H200 " 1980");
    expect_line("DCGM_FI_DEV_GPU_TEMP" H200 " 71");
    expect_line("DCGM_FI_DEV_FB_USED" H200 " 1024");
    expect_line("DCGM_FI_DEV_GPU_UTIL{gpu=\"1\",device=\"gpu:1\",Hostname=\"node-7\"} 50");
    static const char *const absent[] = {"DCGM_FI_DEV_FB_FREE",
                                         "DCGM_FI_DEV_MEMORY_TEMP",
                                         "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
                                         "DCGM_FI_DEV_POWER_USAGE{gpu=\"1\"",
                                         "DCGM_FI_DEV_XID_ERRORS",
                                         "hpu:0\",Hostname"};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (strstr(page, absent[i]))
            fail_msg("%s was written", absent[i]);
    joule_device *board = &overview.devices[0].device;
    board->last_xid = 79;
    board->xid_count = 2;
    board->encoder_busy = 0.25;
    board->decoder_busy = 0;
    board->fan_ratio = 0.3;
    board->fan_rpm = 1944;
    board->pcie_transmit_bytes_per_second = 1.5e9;
    board->pcie_replays = 7;
    board->ecc_corrected = 3;
    board->ecc_uncorrected_lifetime = 1;
    print(&overview, METRICS_TEXT);
    expect_line("DCGM_FI_DEV_XID_ERRORS" H200 " 79");
    expect_line("DCGM_FI_DEV_ENC_UTIL" H200 " 25");
    expect_line("DCGM_FI_DEV_DEC_UTIL" H200 " 0"); /* the value was read and is 0 */
    expect_line("DCGM_FI_DEV_FAN_SPEED" H200 " 30");
    expect_line("DCGM_FI_PROF_PCIE_TX_BYTES" H200 " 1500000000");
    expect_line("# TYPE DCGM_FI_DEV_PCIE_REPLAY_COUNTER counter");
    expect_line("DCGM_FI_DEV_PCIE_REPLAY_COUNTER" H200 " 7");
    expect_line("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL" H200 " 3");
    expect_line("DCGM_FI_DEV_ECC_DBE_AGG_TOTAL" H200 " 1");
    /* 68 is the sum of 0x4 (power limit) and 0x40 (temperature) */
    expect_line("DCGM_FI_DEV_CLOCKS_EVENT_REASONS" H200 " 68");
    expect_line("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS" H200 " 68");
    expect_line("joule_device_fan_rpm{device=\"gpu:0\"} 1944");
    expect_line("joule_device_xid_errors_total{device=\"gpu:0\"} 2");
    expect_line("joule_device_ecc_errors_total{device=\"gpu:0\",kind=\"corrected\",since=\"driver\"} 3");
    assert_null(strstr(page, "DCGM_FI_PROF_PCIE_RX_BYTES"));
    assert_null(strstr(page, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"));
    assert_null(strstr(page, "EVENT_REASONS{gpu=\"1\"")); /* unknown reasons are not shown as 0 */
    print(&overview, METRICS_OPENMETRICS);
    /* the type is not counter, because a counter's samples must end in _total */
    expect_line("# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION unknown");
}

/* MIG instances have the same labels as in dcgm-exporter. The board's memory is not repeated for its
 * instances. */
static void test_dcgm_names_of_instances(void **state)
{
    (void)state;
    struct overview overview = one_board();
    struct overview_part parts[] = {part_of(0, NAN), part_of(0, 1024.0 * 1024 * 512),
                                    part_of(0, 1024.0 * 1024 * 256), part_of(0, NAN)};
    for (uint32_t i = 1; i < 4; i++) {
        parts[i].info.instance = i == 3 ? 9 : 6 + i;
        parts[i].info.compute_instance = i == 3;
        snprintf(parts[i].info.uuid, sizeof parts[i].info.uuid, "MIG-%u", i);
        strcpy(parts[i].info.profile, i == 1 ? "1g.18gb" : "");
    }
    strcpy(parts[2].info.profile, "1c.2g.35gb");
    parts[2].info.instance = parts[3].info.instance;
    parts[3].info.compute_instance = JOULE_INSTANCE_UNKNOWN;
    overview.parts = parts;
    overview.part_count = 4;
    print(&overview, METRICS_TEXT);
    expect_line(
        "DCGM_FI_DEV_FB_USED{gpu=\"0\",UUID=\"GPU-1234\",pci_bus_id=\"00000000:C5:00.0\",device=\"nvidia0\","
        "modelName=\"NVIDIA H200\",GPU_I_PROFILE=\"1g.18gb\",GPU_I_ID=\"7\",Hostname=\"node-7\","
        "DCGM_FI_DRIVER_VERSION=\"580.95.05\"} 512");
    assert_contains(page, "GPU_I_PROFILE=\"2g.35gb\",GPU_I_ID=\"9\",Hostname=\"node-7\","
                          "DCGM_FI_DRIVER_VERSION=\"580.95.05\"} 256\n");
    assert_null(strstr(page, "DCGM_FI_DEV_FB_USED" H200));
    expect_line("DCGM_FI_DEV_POWER_USAGE" H200 " 612.25"); /* instances have no power of their own */
    expect_line("joule_device_partition_info{device=\"gpu:0\",instance=\"7\",compute_instance=\"0\",profile="
                "\"1g.18gb\","
                "uuid=\"MIG-1\"} 1");
    expect_line("joule_device_partition_info{device=\"gpu:0\",instance=\"9\",uuid=\"MIG-3\"} 1");
}

/* If no energy of a part (cpu or gpu) is attributed, this part has no samples, not even for the unattributed
 * joules. */
static void test_tenants_have_metrics(void **state)
{
    (void)state;
    struct tenant list[] = {
        {.path = "/slurm/uid_7/job_42",
         .name = {"slurm", "42", "7", "", "", ""},
         .cpu_s = 12.5,
         .cpu_joules = 30.25,
         .gpu_joules = 1},
        {.path = "/system.slice/cron.service", .name = {"service", "", "", "", "", "cron.service"}},
        {.path = "/kubepods/pod1a2b/0123456789ab",
         .name = {"container", "", "", "0123456789ab", "1a2b", "", "web-0", "shop", "nginx"},
         .cpu_joules = 3}};
    struct tenants tenants = {.list = list,
                              .count = 3,
                              .rest_cpu_joules = 70,
                              .ended_cpu_joules = 5,
                              .cpu_class = JOULE_CLASS_DERIVED};
    struct overview overview = three_domains();
    print(&overview, METRICS_TEXT);
    assert_null(strstr(page, "joule_tenant"));
    overview.tenants = &tenants;
    print(&overview, METRICS_TEXT);
    expect_line("joule_tenant_energy_joules_total{tenant=\"/slurm/uid_7/"
                "job_42\",kind=\"slurm\",slurm_job=\"42\",user=\"7\","
                "part=\"cpu\",class=\"derived\"} 30.25");
    expect_line("joule_tenant_energy_joules_total{kind=\"unattributed\",part=\"cpu\",class=\"derived\"} 70");
    expect_line("joule_tenant_energy_joules_total{kind=\"ended\",part=\"cpu\",class=\"derived\"} 5");
    expect_line("joule_tenant_cpu_seconds_total{tenant=\"/slurm/uid_7/"
                "job_42\",kind=\"slurm\",slurm_job=\"42\",user=\"7\"} 12.5");
    expect_line("joule_tenant_energy_joules_total{tenant=\"/kubepods/pod1a2b/"
                "0123456789ab\",kind=\"container\",pod=\"web-0\","
                "namespace=\"shop\",container=\"nginx\",pod_uid=\"1a2b\",container_id=\"0123456789ab\","
                "part=\"cpu\",class=\"derived\"} 3");
    assert_null(strstr(page, "part=\"gpu\",class=\"none\""));
    assert_null(strstr(page, "slurm_job=\"42\",user=\"7\",part=\"gpu\""));
}

static void test_processes_have_metrics(void **state)
{
    (void)state;
    struct process_row rows[] = {
        {.pid = 1234, .name = "python \"3\"", .cpu_joules = 30.5, .gpu_joules = 400.25},
        {.pid = 77,
         .name = "cron",
         .tenant = "/system.slice/cron.service",
         .tenant_name = {"service", "", "", "", "", "cron.service"},
         .cpu_joules = 0}};
    struct process_shares shares = {.rows = rows,
                                    .count = 2,
                                    .other_cpu_joules = 5,
                                    .ended_cpu_joules = 2,
                                    .rest_cpu_joules = 70,
                                    .idle_cpu_joules = 12,
                                    .knows_idle = true,
                                    .rest_gpu_joules = 9,
                                    .cpu_class = JOULE_CLASS_DERIVED};
    struct overview overview = three_domains();
    print(&overview, METRICS_TEXT);
    assert_null(strstr(page, "joule_process_"));
    overview.processes = &shares;
    print(&overview, METRICS_TEXT);
#define SERIES "joule_process_energy_joules_total"
    expect_line("# TYPE " SERIES " counter");
    expect_line(
        SERIES
        "{kind=\"process\",pid=\"1234\",comm=\"python \\\"3\\\"\",part=\"cpu\",class=\"derived\"} 30.5");
    expect_line(SERIES "{kind=\"process\",pid=\"77\",comm=\"cron\",tenant=\"/system.slice/"
                       "cron.service\",unit=\"cron.service\","
                       "part=\"cpu\",class=\"derived\"} 0");
    expect_line(SERIES "{kind=\"other\",part=\"cpu\",class=\"derived\"} 5");
    expect_line(SERIES "{kind=\"ended\",part=\"cpu\",class=\"derived\"} 2");
    expect_line(SERIES "{kind=\"unattributed\",part=\"cpu\",class=\"derived\"} 70");
    expect_line(SERIES "{kind=\"idle\",part=\"cpu\",class=\"derived\"} 12");
    assert_null(strstr(page, "part=\"gpu\",class=\"derived\"")); /* no GPU energy was attributed */
    shares.gpu_class = JOULE_CLASS_DERIVED;
    print(&overview, METRICS_OPENMETRICS);
    expect_line("# UNIT joule_process_energy_joules joules");
    assert_contains(page, "part=\"gpu\",class=\"derived\"} 400.25\n");
    assert_null(strstr(page, "unit=\"cron.service\",part=\"gpu\"")); /* this service never used a GPU */
}

/* If only one pod uses a board, the samples of the board have the pod labels of dcgm-exporter. Samples of
 * other boards have no pod labels. */
static void test_dcgm_names_of_a_pod(void **state)
{
    (void)state;
    struct tenant_device on = {
        "gpu:0", true, {.pod_uid = "1a2b", .pod = "web-0", .namespace = "shop", .container = "nginx"}};
    struct tenants tenants = {.devices = &on, .device_count = 1};
    struct overview overview = one_board();
    overview.tenants = &tenants;
    print(&overview, METRICS_TEXT);
    assert_contains(page, "DCGM_FI_DRIVER_VERSION=\"580.95.05\",container=\"nginx\",namespace=\"shop\","
                          "pod=\"web-0\",pod_uid=\"1a2b\"} 612.25\n");
    expect_line("DCGM_FI_DEV_GPU_UTIL{gpu=\"1\",device=\"gpu:1\",Hostname=\"node-7\"} 50");
}

/* The page repeats labels in many rows. If only a part of the page fits into the buffer, this part must still
 * be correct. */
static void test_cut_page_has_the_same_length(void **state)
{
    (void)state;
    struct overview overview = one_board();
    size_t whole = strlen(print(&overview, METRICS_TEXT));
    char *copy = strdup(page);
    for (size_t size = 1; size < whole; size += 97) {
        char *part = malloc(size); /* the exact size, so that a sanitizer finds writes beyond the end */
        struct text text;
        text_init(&text, part, size);
        metrics_print(&overview, METRICS_TEXT, &text);
        assert_int_equal(text.length, whole);
        assert_memory_equal(part, copy, size - 1);
        free(part);
    }
    free(copy);
}

/* --- figures -------------------------------------------------------------------------------------------- */

/* An unknown value has no sample. The only sample that may then be 0 is the state of a domain. */
static void test_unknown_is_absent(void **state)
{
    (void)state;
    struct overview overview = three_domains();
    struct overview_domain *row = &overview.domains[0];
    row->joules = row->watts = quantity_unknown();
    row->age_s = NAN;
    overview.domains[2].temperature_celsius = NAN;
    overview.domains[2].domain.state = JOULE_PENDING;
    overview.sums[OVERVIEW_TOTAL].joules = overview.sums[OVERVIEW_TOTAL].watts = quantity_unknown();
    struct overview_device board = unknown_device("gpu:0", "nvidia");
    board.device.state = JOULE_PENDING;
    overview.devices = &board;
    overview.device_count = 1;
    print(&overview, METRICS_TEXT);
    static const char *const absent[] = {"joule_energy",
                                         "joule_power",
                                         "joule_total_energy",
                                         "joule_total_power",
                                         "joule_temperature",
                                         "joule_reading_age",
                                         "joule_domain_up{domain=\"thermal-0\"",
                                         "joule_device_up",
                                         "joule_device_energy",
                                         "joule_device_busy",
                                         "joule_device_memory",
                                         "joule_device_power",
                                         "joule_device_processes",
                                         "DCGM_FI_DEV",
                                         "NaN",
                                         "nan",
                                         "Inf"};
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
        if (strstr(page, absent[i]))
            fail_msg("%s was written:\n%s", absent[i], page);
    for (const char *line = page; *line; line = strchr(line, '\n') + 1)
        if (*line != '#' && strncmp(line, "joule_domain_up{", 16) != 0 && value_of(line) == 0)
            fail_msg("0 was written for what is not known: %.100s", line);
}

/* A scripted machine has two packages, one of them unreadable. The first shows its true joules, the second
 * has no samples. */
static void test_figures_of_a_machine(void **state)
{
    struct rig *rig = *state;
    const struct load load = load_steady(100);
    struct sensor first = sensor_intel(&load), second = sensor_intel(&load);
    rig_put_two_packages(rig, &first, &second);
    host_script_error(rig->host, "/sys/class/powercap/intel-rapl:1/energy_uj", EACCES);
    host_script_text(rig->host, "/proc/sys/kernel/hostname", "node-7\n");
    rig_open_powercap(rig);
    machine_run(rig->meter, 20, 0.1);
    struct overview overview = {0};
    assert_true(overview_gather(&overview, rig->meter));
    assert_string_equal(overview.hostname, "node-7");
    print(&overview, METRICS_TEXT);
#define ZONE(n) "{domain=\"package-" n "\",device=\"cpu:" n "\",source=\"rapl_powercap\""
    const char *first_energy = "joule_energy_joules_total" ZONE("0") ",scope=\"package\",class=\"measured\"}";
    assert_near(sample(first_energy), rig_truth(rig, &load), 0.3);
    assert_near(sample("joule_power_watts" ZONE("0") ",scope=\"package\",class=\"measured\"}"), 100, 0.5);
    assert_near(sample("joule_total_energy_joules_total{part=\"all\",class=\"measured\"}"),
                rig_truth(rig, &load), 0.3);
    expect_line("joule_total_cover_info{part=\"all\",cover=\"package-0 (partial)\",partial=\"true\"} 1");
    expect_line("joule_domain_up" ZONE("1") "} 0");
    expect_line("joule_domain_state" ZONE("1") ",state=\"denied\"} 1");
    assert_null(strstr(page, "joule_energy_joules_total" ZONE("1")));
    assert_null(strstr(page, "joule_power_watts" ZONE("1")));
    double before = sample(first_energy);
    machine_run(rig->meter, 5, 0.1);
    assert_true(overview_gather(&overview, rig->meter));
    print(&overview, METRICS_TEXT);
    assert_near(sample(first_energy) - before, 500, 0.5);
    overview_free(&overview);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_power_has_its_own_class),
        cmocka_unit_test(test_text_names_what_it_types),
        cmocka_unit_test(test_openmetrics_names_families),
        cmocka_unit_test(test_each_family_is_described_once),
        cmocka_unit_test(test_names_are_escaped),
        cmocka_unit_test(test_values_have_six_digits),
        cmocka_unit_test(test_accept_header_chooses_the_format),
        cmocka_unit_test(test_boards_have_metrics),
        cmocka_unit_test(test_names_are_those_of_dcgm_exporter),
        cmocka_unit_test(test_dcgm_names_of_instances),
        cmocka_unit_test(test_tenants_have_metrics),
        cmocka_unit_test(test_processes_have_metrics),
        cmocka_unit_test(test_dcgm_names_of_a_pod),
        cmocka_unit_test(test_cut_page_has_the_same_length),
        cmocka_unit_test(test_unknown_is_absent),
        cmocka_unit_test_setup_teardown(test_figures_of_a_machine, rig_set_up, rig_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
