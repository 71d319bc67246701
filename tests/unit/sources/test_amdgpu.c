/* Tests AMD boards in the kernel's files: each revision of the gpu_metrics table, which counters are trusted,
 * and which devices are cards. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/json.h"
#include "joule/sources/amd/gpu_metrics.h"
#include "support/check.h"
#include "support/machine.h"
#include "support/test_data.h"

#define CARD  "/sys/class/drm/card1/device/"
#define HWMON "/sys/class/hwmon/hwmon4/"
#define SLOT  "0000:c1:00.0"

/* --- tables --------------------------------------------------------------------------------------------- */

/* A gpu_metrics table of one revision. Initially all its bits are set, which means that no field is
 * supported. */
struct table {
    unsigned char bytes[GPU_METRICS_MAX_BYTES];
    size_t size;
};

static struct table table_of(unsigned format, unsigned content, size_t size)
{
    struct table table = {.size = size};
    memset(table.bytes, 0xff, size);
    table.bytes[0] = (unsigned char)size;
    table.bytes[1] = (unsigned char)(size >> 8);
    table.bytes[2] = (unsigned char)format;
    table.bytes[3] = (unsigned char)content;
    return table;
}

static void put(struct table *table, size_t at, size_t bytes, uint64_t value)
{
    for (size_t i = 0; i < bytes; i++)
        table->bytes[at + i] = (unsigned char)(value >> 8 * i);
}

static const struct revision {
    unsigned format, content;
    size_t size, energy, energy_bytes;
} revisions[] = {{1, 0, 80, 36, 4},   {1, 1, 96, 24, 8},   {1, 2, 104, 24, 8},
                 {1, 3, 120, 24, 8},  {1, 4, 288, 24, 8},  {1, 5, 360, 88, 8},
                 {1, 6, 1664, 16, 8}, {1, 7, 2208, 24, 8}, {1, 8, 3872, 24, 8}};

static void test_every_table_revision_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof revisions / sizeof revisions[0]; i++) {
        const struct revision *r = &revisions[i];
        struct table table = table_of(r->format, r->content, r->size);
        uint64_t counts = 0, modulus = 1, wanted = UINT64_C(0x123456789abcdef0);
        assert_int_equal(gpu_metrics_read_energy(table.bytes, r->size, &counts, &modulus), JOULE_UNSUPPORTED);
        put(&table, r->energy, r->energy_bytes, wanted);
        assert_int_equal(gpu_metrics_read_energy(table.bytes, r->size, &counts, &modulus), JOULE_OK);
        assert_true(counts == (r->energy_bytes == 4 ? wanted & UINT32_MAX : wanted));
        assert_true(modulus == (r->energy_bytes == 4 ? UINT64_C(1) << 32 : 0));
        assert_int_equal(gpu_metrics_read_energy(table.bytes, r->size - 1, &counts, &modulus), JOULE_FAILED);
        table.bytes[0]--; /* the size no longer matches the revision */
        assert_int_equal(gpu_metrics_read_energy(table.bytes, r->size, &counts, &modulus), JOULE_UNSUPPORTED);
    }
}

/* --- revision 1.9 --------------------------------------------------------------------------------------- */

enum { U8, S8, U16, S16, U32, S32, U64, S64 };

/* Adds an attribute whose values are all `value`. */
static void add_attribute(struct table *table, unsigned id, unsigned type, unsigned count, uint64_t value)
{
    size_t width = (size_t)1 << type / 2;
    put(table, table->size, 8, (uint64_t)1 << 24 | (uint64_t)type << 20 | (uint64_t)id << 10 | count);
    table->size += 8;
    for (unsigned i = 0; i < count; i++, table->size += width)
        put(table, table->size, width, value);
    put(table, 0, 2, table->size);
    put(table, 4, 4, table->bytes[4] + 1u);
}

#define ENERGY UINT64_C(0x123456789abcdef0)

/* The attributes of an MI300: temperatures, power, activities, then energy, clocks and links. */
static struct table list_of_attributes(void)
{
    struct table table = table_of(1, 9, 8);
    put(&table, 4, 4, 0);
    add_attribute(&table, 0, S16, 1, 45);
    add_attribute(&table, 3, U16, 1, 717);
    add_attribute(&table, 6, U64, 1, 5325);
    add_attribute(&table, 7, U64, 1, ENERGY);
    add_attribute(&table, 8, U64, 1, 1);
    add_attribute(&table, 30, U64, 8, 7);
    add_attribute(&table, 40, U8, 3, 1);
    return table;
}

static joule_status status_of_list(const struct table *table, uint64_t *out_counts)
{
    uint64_t modulus = 1;
    *out_counts = 0;
    return gpu_metrics_read_energy(table->bytes, table->size, out_counts, &modulus);
}

static void test_lists_of_attributes(void **state)
{
    uint64_t counts, modulus = 1;
    struct table table = list_of_attributes();
    (void)state;
    assert_int_equal(gpu_metrics_read_energy(table.bytes, GPU_METRICS_MAX_BYTES, &counts, &modulus),
                     JOULE_OK);
    assert_true(counts == ENERGY && modulus == 0);
    assert_int_equal(gpu_metrics_read_energy(table.bytes, table.size - 1, &counts, &modulus), JOULE_FAILED);
    for (int trouble = 0; trouble < 6; trouble++) {
        table = list_of_attributes();
        if (trouble == 0) /* the list states fewer attributes than its bytes contain */
            put(&table, 4, 4, 6);
        else if (trouble == 1) /* the list states more attributes than its bytes contain */
            put(&table, 4, 4, 8);
        else if (trouble == 2) /* values are 32-bit words, as in a draft of the format */
            put(&table, 8, 4, 0);
        else if (trouble == 3) /* an invalid type */
            put(&table, 8, 8, UINT64_C(8) << 20 | 1);
        else if (trouble == 4) { /* all bits are set: the board has no energy counter */
            table = table_of(1, 9, 8);
            put(&table, 4, 4, 0);
            add_attribute(&table, 7, U64, 1, UINT64_MAX);
        } else { /* the energy attribute has two values, or another type */
            table = table_of(1, 9, 8);
            put(&table, 4, 4, 0);
            add_attribute(&table, 7, U64, 2, ENERGY);
            add_attribute(&table, 7, U32, 1, 7);
        }
        if (status_of_list(&table, &counts) != JOULE_UNSUPPORTED)
            fail_msg("trouble %d gives %llu counts", trouble, (unsigned long long)counts);
    }
}

static void test_unknown_revisions_are_refused(void **state)
{
    static const struct revision others[] = {{2, 1, 120, 0, 0}, {2, 4, 168, 0, 0}, {3, 0, 264, 0, 0}};
    uint64_t counts, modulus;
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct table table = table_of(others[i].format, others[i].content, others[i].size);
        put(&table, 24, 8, 1000);
        assert_int_equal(gpu_metrics_read_energy(table.bytes, table.size, &counts, &modulus),
                         JOULE_UNSUPPORTED);
    }
    for (size_t length = 0; length < 4; length++)
        assert_int_equal(gpu_metrics_read_energy("\x04\0\1", length, &counts, &modulus), JOULE_FAILED);
}

/* --- boards --------------------------------------------------------------------------------------------- */

/* State of the scripted board. */
static struct truth {
    struct table table;
    double watts;
    uint64_t first;   /* initial count */
    int64_t stand_ns; /* time from which the counter is constant; 0 means never */
} truth;

static ssize_t read_table(void *context, int64_t time_ns, char *buffer, size_t size)
{
    (void)context;
    int64_t until_ns = truth.stand_ns && time_ns > truth.stand_ns ? truth.stand_ns : time_ns;
    put(&truth.table, 24, 8,
        truth.first + (uint64_t)(truth.watts * (double)until_ns * 1e-9 / GPU_METRICS_UNIT_J));
    assert_true(truth.table.size < size);
    memcpy(buffer, truth.table.bytes, truth.table.size);
    return (ssize_t)truth.table.size;
}

static int setup(void **state)
{
    machine_setup(state);
    struct machine_bench *bench = *state;
    truth = (struct truth){.table = table_of(1, 3, 120), .watts = 200, .first = UINT64_C(1) << 40};
    machine_put(bench, CARD "uevent",
                "DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID=1002:740F\nPCI_SLOT_NAME=" SLOT "\n");
    host_script_file(bench->host, CARD "gpu_metrics", read_table, NULL);
    return 0;
}

static void run(struct machine_bench *bench)
{
    bench->meter = machine_open(bench->host, "amdgpu,hwmon");
    machine_run(bench->meter, 10, 0.1);
}

static void put_hwmon(struct machine_bench *bench, const char *microwatts)
{
    machine_put(bench, HWMON "name", "amdgpu");
    machine_put(bench, HWMON "power1_average", microwatts);
    assert_true(host_script_link(bench->host, HWMON "device", "../../../" SLOT));
}

static void test_the_counter_is_the_board(void **state)
{
    struct machine_bench *bench = *state;
    put_hwmon(bench, "150000000");
    machine_put(bench, CARD "product_name", "AMD Instinct MI210\n");
    run(bench);
    const struct channel *energy = machine_require_channel(bench->meter, "gpu-0");
    assert_string_equal(energy->info.model, "AMD Instinct MI210");
    assert_string_equal(energy->info.source, "amdgpu");
    assert_string_equal(energy->info.uuid, SLOT);
    assert_int_equal(energy->info.scope, JOULE_SCOPE_GPU);
    assert_int_equal(energy->info.cls, JOULE_CLASS_MEASURED);
    assert_relative(machine_mean_watts(bench->meter, energy->info.id), 200, 1e-6);
    /* The board is counted once; the 150 W of its hwmon chip are not used. */
    assert_relative(machine_mean_watts(bench->meter, JOULE_TOTAL), 200, 1e-6);
}

static void test_a_counter_that_stands_is_not_taken(void **state)
{
    struct machine_bench *bench = *state;
    truth.stand_ns = 1;
    put_hwmon(bench, "150000000");
    run(bench);
    assert_relative(machine_mean_watts(bench->meter, JOULE_TOTAL), 150, 1e-6);
}

static void test_a_counter_at_0_is_none(void **state)
{
    struct machine_bench *bench = *state;
    truth.first = 0;
    truth.watts = 0;
    machine_put(bench, CARD "gpu_busy_percent", "42\n");
    put_hwmon(bench, "150000000");
    run(bench);
    assert_string_equal(machine_require_channel(bench->meter, "gpu-0")->info.source, "hwmon");
    assert_relative(machine_mean_watts(bench->meter, JOULE_TOTAL), 150, 1e-6);
}

static void test_invalid_or_denied_tables_leave_the_board_to_hwmon(void **state)
{
    struct machine_bench *bench = *state;
    machine_put(bench, CARD "gpu_metrics", "no table at all, whatever its length is\n");
    machine_put(bench, "/sys/class/drm/card2/device/uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:03:00.0\n");
    host_script_error(bench->host, "/sys/class/drm/card2/device/gpu_metrics", EACCES);
    put_hwmon(bench, "150000000");
    run(bench);
    assert_relative(machine_mean_watts(bench->meter, JOULE_TOTAL), 150, 1e-6);
    /* the board at 0000:03:00.0 has number 0, but no meter */
    assert_string_equal(machine_require_channel(bench->meter, "gpu-1")->info.uuid, SLOT);
    assert_null(machine_channel(bench->meter, "gpu-0"));
}

static void test_utilisation_is_measured(void **state)
{
    struct machine_bench *bench = *state;
    double value;
    machine_put(bench, CARD "gpu_busy_percent", "42\n");
    machine_put(bench, CARD "mem_busy_percent", "101\n"); /* an invalid percentage */
    run(bench);
    assert_int_equal(
        joule_gauge(bench->meter, machine_require_channel(bench->meter, "gpu-0-busy")->info.id, &value),
        JOULE_OK);
    assert_relative(value, 0.42, 1e-6);
    assert_int_not_equal(joule_gauge(bench->meter,
                                     machine_require_channel(bench->meter, "gpu-0-memory-busy")->info.id,
                                     &value),
                         JOULE_OK);
}

static void test_a_sleeping_board_is_left_alone(void **state)
{
    struct machine_bench *bench = *state;
    machine_put(bench, CARD "power/runtime_status", "active\n");
    bench->meter = machine_open(bench->host, "amdgpu");
    machine_run(bench->meter, 2, 0.1);
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0")->info.state, JOULE_OK);
    machine_put(bench, CARD "power/runtime_status", "suspended\n");
    /* Reading this table would fail. The state would then be another one, so the test detects a reading of
     * the suspended board. */
    truth.table.size = 0;
    machine_run(bench->meter, 2, 0.1);
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0")->info.state, JOULE_STALE);
}

/* While a board is reset, the driver returns EPERM. */
static void test_a_board_in_reset_comes_back(void **state)
{
    struct machine_bench *bench = *state;
    bench->meter = machine_open(bench->host, "amdgpu");
    machine_run(bench->meter, 2, 0.1);
    host_script_error(bench->host, CARD "gpu_metrics", EPERM);
    machine_run(bench->meter, 1, 0.1);
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0")->info.state, JOULE_DENIED);
    host_script_file(bench->host, CARD "gpu_metrics", read_table, NULL);
    machine_run(bench->meter, 2, 0.1);
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0")->info.state, JOULE_OK);
    assert_relative(machine_watts(bench->meter, "gpu-0"), 200, 1e-6);
}

static void test_processors_with_graphics_are_modules(void **state)
{
    struct machine_bench *bench = *state;
    machine_put(bench, CARD "uevent", "DRIVER=amdgpu\nPCI_ID=1002:74A0\nPCI_SLOT_NAME=" SLOT "\n");
    run(bench);
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0")->info.scope, JOULE_SCOPE_MODULE);
}

static void test_other_cards_are_none(void **state)
{
    struct machine_bench *bench = *state;
    machine_put(bench, CARD "uevent", "DRIVER=ast\nPCI_ID=1A03:2000\nPCI_SLOT_NAME=" SLOT "\n");
    machine_put(bench, "/sys/class/drm/card1-DP-1/status", "connected\n");
    run(bench);
    assert_null(machine_channel(bench->meter, "gpu-0"));
}

/* If the uevent file is missing, the card is identified by its links. */
static void test_a_recording_with_links_alone(void **state)
{
    static const char device[] = "/sys/devices/pci0000:00/0000:00:01.1/" SLOT;
    struct machine_bench *bench = *state;
    char path[128];
    machine_put(bench, CARD "uevent", NULL);
    machine_put(bench, CARD "gpu_metrics", NULL);
    snprintf(path, sizeof path, "%s/gpu_metrics", device);
    assert_true(host_script_file(bench->host, path, read_table, NULL));
    snprintf(path, sizeof path, "%s/drm/card1/device", device);
    assert_true(host_script_link(bench->host, path, "../../../" SLOT));
    snprintf(path, sizeof path, "%s/driver", device);
    assert_true(host_script_link(bench->host, path, "../../../../bus/pci/drivers/amdgpu"));
    assert_true(host_script_link(bench->host, "/sys/class/drm/card1",
                                 "../../devices/pci0000:00/0000:00:01.1/" SLOT "/drm/card1"));
    run(bench);
    assert_relative(machine_watts(bench->meter, "gpu-0"), 200, 1e-6);
}

/* --- as a device ---------------------------------------------------------------------------------------- */

/* The files of a server with an MI210. */
static void put_facts(struct machine_bench *bench)
{
    put_hwmon(bench, "150000000");
    machine_put(bench, CARD "product_name", "AMD Instinct MI210\n");
    machine_put(bench, CARD "unique_id", "9f8e7d6c5b4a3921\n");
    machine_put(bench, CARD "gpu_busy_percent", "42\n");
    machine_put(bench, CARD "mem_info_vram_total", "68702699520\n");
    machine_put(bench, CARD "mem_info_vram_used", "10702699520\n");
    machine_put(bench, CARD "hwmon/hwmon4/power1_cap", "300000000\n");
    machine_put(bench, CARD "hwmon/hwmon4/power1_cap_max", "310000000\n");
    machine_put(bench, HWMON "temp1_input", "61000\n");
    machine_put(bench, HWMON "temp1_label", "edge\n");
    machine_put(bench, HWMON "temp2_input", "66000\n");
    machine_put(bench, HWMON "temp2_label", "junction\n");
    machine_put(bench, HWMON "temp3_input", "58000\n");
    machine_put(bench, HWMON "temp3_label", "mem\n");
    machine_put(bench, "/sys/class/kfd/kfd/topology/nodes/0/properties",
                "simd_count 0\ngfx_target_version 0\n");
    machine_put(bench, "/sys/class/kfd/kfd/topology/nodes/1/properties",
                "simd_count 416\nlocation_id 49408\ndomain 0\ngfx_target_version 90010\n");
}

static void test_board_has_its_facts(void **state)
{
    struct machine_bench *bench = *state;
    put_facts(bench);
    bench->meter = machine_open_devices(bench->host, "amdgpu,hwmon,thermal");
    machine_run(bench->meter, 10, 0.1);
    assert_int_equal(joule_device_count(bench->meter), 1);
    joule_device d = machine_device(bench->meter, 0);
    assert_int_equal(d.state, JOULE_OK);
    assert_string_equal(d.name, "gpu:0");
    assert_string_equal(d.vendor, "amd");
    assert_string_equal(d.model, "AMD Instinct MI210");
    assert_string_equal(d.architecture, "gfx90a");
    assert_string_equal(d.uuid, "GPU-9f8e7d6c5b4a3921");
    assert_string_equal(d.pci_address, SLOT);
    assert_string_equal(d.driver, "amdgpu");
    assert_true(d.memory_total_bytes == 68702699520 && d.memory_free_bytes == 58000000000);
    assert_relative(d.power_limit_watts, 300, 1e-6);
    assert_relative(d.power_limit_max_watts, 310, 1e-6);
    assert_true(isnan(d.power_limit_default_watts)); /* the board's default limit is unknown */
    assert_relative(d.busy, 0.42, 1e-6);
    assert_true(isnan(d.memory_busy));
    assert_relative(d.temperature_celsius, 66, 1e-6); /* the temperature of the hottest sensor */
    assert_relative(d.memory_temperature_celsius, 58, 1e-6);
    assert_relative(d.energy_joules.value, machine_joules(bench->meter, "gpu-0"), 1e-6);
    assert_int_equal(d.has_process_list, 0);
    assert_true(d.clock_reasons == JOULE_CLOCKS_UNKNOWN);
}

/* Used memory above the total, as after a driver's error, must not give huge free memory. */
static void test_impossible_memory_sizes_are_unknown(void **state)
{
    struct machine_bench *bench = *state;
    put_facts(bench);
    machine_put(bench, CARD "mem_info_vram_used", "68702699521\n");
    bench->meter = machine_open_devices(bench->host, "amdgpu");
    machine_run(bench->meter, 2, 0.1);
    assert_true(machine_device(bench->meter, 0).memory_free_bytes == JOULE_BYTES_UNKNOWN);
}

/* A measurement without devices does not read their state. */
static void test_measurement_without_devices_reads_no_state(void **state)
{
    struct machine_bench *bench = *state;
    put_facts(bench);
    bench->meter = machine_open(bench->host, "amdgpu");
    machine_run(bench->meter, 2, 0.1);
    joule_device d = machine_device(bench->meter, 0);
    assert_true(d.memory_total_bytes == JOULE_BYTES_UNKNOWN);
    assert_string_equal(d.model, "AMD Instinct MI210");
    assert_relative(d.busy, 0.42, 1e-6);
}

static void test_a_board_that_falls_silent_is_stale(void **state)
{
    struct machine_bench *bench = *state;
    put_facts(bench);
    bench->meter = machine_open_devices(bench->host, "amdgpu");
    machine_run(bench->meter, 5, 0.1);
    int64_t now_ns = meter_now_ns(bench->meter);
    /* the time advances, but the lane makes no readings */
    host_script_set_time(bench->host, now_ns + INT64_C(10000000000));
    joule_device d = machine_device(bench->meter, 0);
    assert_int_equal(d.state, JOULE_STALE);
    assert_relative(d.age_s, 10, 1e-6);
    assert_true(d.memory_used_bytes == 10702699520); /* the value of the last reading */
}

/* NVIDIA boards keep the numbers of their driver, AMD boards follow, and integrated GPUs are last. */
static void test_numbers_over_all_vendors(void **state)
{
    static const struct {
        const char *driver, *address, *name;
    } boards[] = {{"nvidia", "0000:65:00.0", NULL},  {"nvidia", "0001:01:00.0", NULL},
                  {"i915", "0000:00:02.0", "gpu:5"}, {"xe", "0000:03:00.0", "gpu:4"},
                  {"amdgpu", SLOT, "gpu:3"},         {"amdgpu", "0000:07:00.0", "gpu:2"},
                  {"nvidia", "module", NULL} /* a link that is not a device */};
    struct machine_bench *bench = *state;
    struct gpu_list gpus = {0};
    struct source source = {.host = bench->host, .gpus = &gpus};
    for (size_t i = 0; i < sizeof boards / sizeof boards[0]; i++) {
        char path[128];
        snprintf(path, sizeof path, "/sys/bus/pci/drivers/%s/%s", boards[i].driver, boards[i].address);
        assert_true(host_script_link(bench->host, path, "../../../../devices/x"));
    }
    for (size_t i = 0; i < sizeof boards / sizeof boards[0]; i++) {
        struct device *device = boards[i].name ? source_add_gpu(&source, boards[i].address) : NULL;
        if (boards[i].name)
            assert_string_equal(device->name, boards[i].name);
    }
    /* hwmon7 has no bus address, so it gets the last number */
    assert_int_equal(gpu_index(&source, "hwmon7"), 6);
    assert_int_equal(gpu_index(&source, "hwmon7"), 6);
    arena_free(&source.arena);
}

/* --- recorded boards ------------------------------------------------------------------------------------ */

static void test_recorded_tables_are_read(void **state)
{
    static const struct {
        const char *board;
        joule_status status;
        uint64_t counts;
    } wanted[] = {{"rx6900xt/card0", JOULE_OK, 17691682},
                  {"rx9070/card1", JOULE_OK, 0},
                  {"phoenix/card1", JOULE_UNSUPPORTED, 0}};
    const char *archive = test_data("fixtures/lact-gpu-sysfs.tar.gz");
    char command[4096];
    (void)state;
    if (!archive)
        skip();
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        char table[GPU_METRICS_MAX_BYTES];
        uint64_t counts = 0, modulus;
        snprintf(command, sizeof command, "tar -xzOf '%s' tests/snapshots/amd/%s/device/gpu_metrics", archive,
                 wanted[i].board);
        FILE *file = popen(command, "r");
        assert_non_null(file);
        size_t length = fread(table, 1, sizeof table, file);
        assert_int_equal(pclose(file), 0);
        assert_int_equal(gpu_metrics_read_energy(table, length, &counts, &modulus), wanted[i].status);
        assert_true(counts == wanted[i].counts);
    }
}

/* Headers that amdgpu_top printed on three machines: table 1.3 contains the energy counter, table 2.1 does
 * not. */
static void test_headers_of_amdgpu_top(void **state)
{
    const char *path = test_data("fixtures/amdgpu_top/dump.json");
    size_t length, seen[2] = {0, 0};
    (void)state;
    if (!path)
        skip();
    char *text = test_read_file(path, &length);
    struct arena arena = {0};
    const struct json_value *list = json_parse(&arena, text, length, path, NULL);
    assert_non_null(list);
    for (const struct json_value *board = list->first; board; board = board->next) {
        const struct json_value *header = json_member(json_member(board, "gpu_metrics"), "header");
        uint64_t format = 0, content = 0, size = 0, counts = 1, modulus;
        assert_true(json_u64_of(json_member(header, "format_revision"), &format) &&
                    json_u64_of(json_member(header, "content_revision"), &content) &&
                    json_u64_of(json_member(header, "structure_size"), &size));
        struct table table = table_of((unsigned)format, (unsigned)content, size);
        if (format == 1)
            put(&table, 24, 8, 0);
        assert_int_equal(gpu_metrics_read_energy(table.bytes, size, &counts, &modulus),
                         format == 1 ? JOULE_OK : JOULE_UNSUPPORTED);
        seen[format - 1]++;
    }
    assert_true(seen[0] == 1 && seen[1] == 1);
    arena_free(&arena);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_table_revision_is_read),
        cmocka_unit_test(test_lists_of_attributes),
        cmocka_unit_test(test_unknown_revisions_are_refused),
        cmocka_unit_test_setup_teardown(test_the_counter_is_the_board, setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_a_counter_that_stands_is_not_taken, setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_a_counter_at_0_is_none, setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_invalid_or_denied_tables_leave_the_board_to_hwmon, setup,
                                        machine_teardown),
        cmocka_unit_test_setup_teardown(test_utilisation_is_measured, setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_a_sleeping_board_is_left_alone, setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_a_board_in_reset_comes_back, setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_processors_with_graphics_are_modules, setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_other_cards_are_none, setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_a_recording_with_links_alone, setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_board_has_its_facts, setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_impossible_memory_sizes_are_unknown, setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_measurement_without_devices_reads_no_state, setup,
                                        machine_teardown),
        cmocka_unit_test_setup_teardown(test_a_board_that_falls_silent_is_stale, setup, machine_teardown),
        cmocka_unit_test_setup_teardown(test_numbers_over_all_vendors, machine_setup, machine_teardown),
        cmocka_unit_test(test_recorded_tables_are_read),
        cmocka_unit_test(test_headers_of_amdgpu_top),
    };
    return cmocka_run_group_tests_name("amdgpu", tests, NULL, NULL);
}
