/* Tests Intel GPUs through the drivers i915 and xe: identity, limits, clocks and engines. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joule/sources/device.h"
#include "joule/sources/intel/intel_gpu.h"
#include "support/check.h"
#include "support/machine.h"
#include "support/test_data.h"

#define CARD   "/sys/class/drm/card1/"
#define DEVICE CARD "device/"
#define SLOT   "0000:03:00.0"
#define CHIP   "/sys/class/hwmon/hwmon2/"
#define SENSOR DEVICE "hwmon/hwmon2/"
#define PMUS   "/sys/bus/event_source/devices/"

static void put_card(struct machine_bench *bench, const char *driver, const char *id, const char *slot)
{
    char text[128];
    snprintf(text, sizeof text, "DRIVER=%s\nPCI_CLASS=30000\nPCI_ID=8086:%s\nPCI_SLOT_NAME=%s\n", driver, id,
             slot);
    machine_put(bench, DEVICE "uevent", text);
}

static ssize_t energy_at_206_watts(void *context, int64_t time_ns, char *buffer, size_t size)
{
    (void)context;
    return snprintf(buffer, size, "%lld\n", (long long)(206.33e-3 * (double)time_ns));
}

/* Adds the hwmon chip of a card, in /sys/class/hwmon and in the card's own folder. */
static void put_chip(struct machine_bench *bench, const char *driver)
{
    machine_put(bench, CHIP "name", driver);
    machine_put(bench, SENSOR "name", driver);
    host_script_link(bench->host, CHIP "device", "../../../" SLOT);
}

static void run(struct machine_bench *bench, double seconds)
{
    if (!bench->meter)
        bench->meter = machine_open_devices(bench->host, "intel_gpu,hwmon");
    machine_run(bench->meter, seconds, 0.5);
}

static joule_device device_of(const struct machine_bench *bench)
{
    joule_device device = {.struct_size = sizeof device};
    assert_int_equal(joule_device_count(bench->meter), 1);
    assert_int_equal(joule_device_get(bench->meter, 0, &device), JOULE_OK);
    return device;
}

/* --- identity of a board -------------------------------------------------------------------------------- */

/* An Arc Pro B70 with kernel 7.0 (aristocratos/btop, pull request 1457). */
static void test_battlemage_board_has_its_facts(void **state)
{
    struct machine_bench *bench = *state;
    put_card(bench, "xe", "E223", SLOT);
    put_chip(bench, "xe");
    machine_put(bench, CHIP "energy1_label", "card");
    machine_put(bench, CHIP "energy2_label", "pkg");
    machine_put(bench, CHIP "power1_label", "card");
    machine_put(bench, CHIP "power1_cap", "275000000");
    machine_put(bench, SENSOR "power1_cap", "275000000");
    host_script_file(bench->host, CHIP "energy1_input", energy_at_206_watts, NULL);
    host_script_file(bench->host, CHIP "energy2_input", energy_at_206_watts, NULL);
    machine_put(bench, DEVICE "tile0/gt0/freq0/act_freq", "2400");
    run(bench, 10);
    joule_device device = device_of(bench);
    assert_string_equal(device.name, "gpu:0");
    assert_string_equal(device.vendor, "intel");
    assert_string_equal(device.model, "Intel Arc Pro B70");
    assert_string_equal(device.architecture, "Xe2-HPG");
    assert_string_equal(device.driver, "xe");
    assert_string_equal(device.pci_address, SLOT);
    assert_int_equal(device.state, JOULE_OK);
    assert_true(device.power_limit_watts == 275);
    assert_true(device.power_limit_enforced_watts == 275);
    assert_true(isnan(device.power_limit_default_watts));
    assert_true(device.clock_megahertz == 2400);
    assert_true(isnan(device.busy));
    assert_true(device.memory_total_bytes == JOULE_BYTES_UNKNOWN);
    assert_true(fabs(device.power_watts.value - 206.33) < 1);
    double watts = machine_mean_watts(bench->meter, JOULE_TOTAL);
    assert_true(fabs(watts - 206.33) < 1); /* the card is counted once, and its package is not added */
}

static void test_unknown_board_has_unknown_facts(void **state)
{
    struct machine_bench *bench = *state;
    put_card(bench, "xe", "FFFF", SLOT);
    run(bench, 2);
    joule_device device = device_of(bench);
    assert_string_equal(device.model, "");
    assert_string_equal(device.architecture, "");
    assert_true(isnan(device.power_limit_watts));
    assert_int_equal(device.clock_reasons, JOULE_CLOCKS_UNKNOWN);
}

static void test_boards_of_other_drivers_are_not_listed(void **state)
{
    struct machine_bench *bench = *state;
    put_card(bench, "ast", "2000", SLOT);
    bench->meter = machine_open_devices(bench->host, "intel_gpu");
    assert_int_equal(joule_device_count(bench->meter), 0);
}

/* --- limits --------------------------------------------------------------------------------------------- */

static void test_limits_of_the_card(void **state)
{
    struct machine_bench *bench = *state;
    put_card(bench, "i915", "56A1", SLOT);
    put_chip(bench, "i915");
    machine_put(bench, SENSOR "power1_max", "190000000");
    machine_put(bench, SENSOR "power1_rated_max", "225000000");
    machine_put(bench, SENSOR "power1_crit", "180000000");
    machine_put(bench, SENSOR "power2_max", "1000000");
    run(bench, 2);
    joule_device device = device_of(bench);
    assert_string_equal(device.model, "Intel Arc A750");
    assert_true(device.power_limit_watts == 190);
    assert_true(device.power_limit_default_watts == 225);
    assert_true(device.power_limit_enforced_watts == 180);
}

static void test_limits_of_the_package(void **state)
{
    struct machine_bench *bench = *state;
    put_card(bench, "xe", "0BD5", SLOT);
    put_chip(bench, "xe");
    machine_put(bench, SENSOR "power2_max", "600000000");
    machine_put(bench, SENSOR "power2_rated_max", "600000000");
    run(bench, 2);
    assert_true(device_of(bench).power_limit_watts == 600);
    assert_true(device_of(bench).power_limit_default_watts == 600);
}

static void test_a_limit_that_is_switched_off(void **state)
{
    struct machine_bench *bench = *state;
    put_card(bench, "i915", "56A1", SLOT);
    put_chip(bench, "i915");
    machine_put(bench, SENSOR "power1_max", "0");
    run(bench, 2);
    assert_true(isnan(device_of(bench).power_limit_watts));
    assert_true(isnan(device_of(bench).power_limit_enforced_watts));
}

/* The chips of tiles are listed beside the board's own chip. */
static void test_a_tile_is_not_the_board(void **state)
{
    struct machine_bench *bench = *state;
    put_card(bench, "i915", "0BD5", SLOT);
    machine_put(bench, DEVICE "hwmon/hwmon1/name", "i915_gt0");
    machine_put(bench, DEVICE "hwmon/hwmon1/power1_max", "300000000");
    machine_put(bench, SENSOR "name", "i915");
    machine_put(bench, SENSOR "power1_max", "600000000");
    run(bench, 2);
    assert_true(device_of(bench).power_limit_watts == 600);
}

/* --- memory and clocks ---------------------------------------------------------------------------------- */

/* The driver's answer to a memory query, and the number of queries. */
static struct answer {
    unsigned char bytes[512];
    size_t size;
    unsigned queries;
} answer;

static void add_number(uint64_t value, size_t size)
{
    memcpy(answer.bytes + answer.size, &value, size);
    answer.size += size;
}

static void add_region(unsigned class, uint64_t total, uint64_t other)
{
    add_number(class, 2);
    add_number(0, 2);
    add_number(65536, 4);
    add_number(total, 8);
    add_number(other, 8);
    answer.size += 64;
}

static ssize_t give_answer(void *context, int64_t time_ns, char *buffer, size_t size)
{
    (void)context, (void)time_ns;
    assert_true(answer.size < size);
    memcpy(buffer, answer.bytes, answer.size);
    answer.queries++;
    return (ssize_t)answer.size;
}

static void put_answer(struct machine_bench *bench, const char *driver, unsigned regions)
{
    put_card(bench, driver, "E20B", SLOT);
    machine_put(bench, DEVICE "drm/renderD129/dev", "226:129");
    machine_put(bench, DEVICE "drm/card0/dev", "226:0");
    bool is_xe = strcmp(driver, "xe") == 0;
    memset(&answer, 0, sizeof answer);
    add_number(regions, 4);
    answer.size += is_xe ? 4 : 12;
    add_region(0, UINT64_C(64) << 30, is_xe ? 1 << 20 : UINT64_C(64) << 30);
    assert_true(
        host_script_file(bench->host, is_xe ? "/drm/renderD129/1" : "/drm/renderD129/0", give_answer, NULL));
}

static void assert_memory(struct machine_bench *bench, uint64_t total, uint64_t used, unsigned queries)
{
    run(bench, 10);
    joule_device device = device_of(bench);
    assert_true(device.memory_total_bytes == total);
    assert_true(device.memory_used_bytes == used);
    assert_true(device.memory_free_bytes == (used == JOULE_BYTES_UNKNOWN ? used : total - used));
    if (queries ? answer.queries != queries : answer.queries < 8)
        fail_msg("asked %u times", answer.queries);
}

static void test_memory_by_xe(void **state)
{
    struct machine_bench *bench = *state;
    put_answer(bench, "xe", 3);
    add_region(1, UINT64_C(6) << 30, 1 << 30);
    add_region(1, UINT64_C(6) << 30, 1 << 20);
    assert_memory(bench, UINT64_C(12) << 30, (1 << 30) + (1 << 20), 0);
}

static void test_memory_by_i915(void **state)
{
    struct machine_bench *bench = *state;
    put_answer(bench, "i915", 2);
    add_region(1, UINT64_C(6) << 30, UINT64_C(5) << 30);
    assert_memory(bench, UINT64_C(6) << 30, 1 << 30, 0);
}

/* A process without privileges gets 0 as used memory from the driver. The source then queries the board only
 * once. */
static void test_memory_without_rights(void **state)
{
    struct machine_bench *bench = *state;
    put_answer(bench, "xe", 2);
    add_region(1, UINT64_C(12) << 30, 0);
    assert_memory(bench, UINT64_C(12) << 30, JOULE_BYTES_UNKNOWN, 1);
}

static void test_memory_without_rights_by_i915(void **state)
{
    struct machine_bench *bench = *state;
    put_answer(bench, "i915", 2);
    add_region(1, UINT64_C(6) << 30, UINT64_C(6) << 30);
    assert_memory(bench, UINT64_C(6) << 30, JOULE_BYTES_UNKNOWN, 1);
}

/* An integrated GPU has no memory of its own. Lists that are truncated or impossible are refused. */
static void test_missing_and_invalid_memory_lists_are_unknown(void **state)
{
    struct machine_bench *bench = *state;
    struct intel_memory memory;
    put_answer(bench, "xe", 1);
    assert_memory(bench, JOULE_BYTES_UNKNOWN, JOULE_BYTES_UNKNOWN, 1);
    put_answer(bench, "xe", 2);
    /* the list is shorter than it states */
    assert_false(intel_memory_parse((char *)answer.bytes, answer.size, true, &memory));
    add_region(1, 1 << 20, (1 << 20) + 1);
    assert_false(intel_memory_parse((char *)answer.bytes, answer.size, true, &memory));
    for (size_t length = 0; length < 9; length++)
        assert_false(intel_memory_parse((char *)answer.bytes, length, true, &memory));
}

static void test_memory_that_may_not_be_asked(void **state)
{
    struct machine_bench *bench = *state;
    put_answer(bench, "xe", 2);
    assert_true(host_script_error(bench->host, "/drm/renderD129/1", EACCES));
    run(bench, 10);
    assert_true(device_of(bench).memory_total_bytes == JOULE_BYTES_UNKNOWN);
}

static void test_memory_of_tiles(void **state)
{
    struct machine_bench *bench = *state;
    put_card(bench, "xe", "0BD5", SLOT);
    machine_put(bench, DEVICE "tile0/physical_vram_size_bytes", "68719476736");
    machine_put(bench, DEVICE "tile1/physical_vram_size_bytes", "68719476736");
    run(bench, 2);
    assert_true(device_of(bench).memory_total_bytes == UINT64_C(128) << 30);
    assert_true(device_of(bench).memory_used_bytes == JOULE_BYTES_UNKNOWN);
}

static void test_reasons_for_low_clocks_are_read(void **state)
{
    static const struct {
        const char *driver, *status, *power, *heat;
    } cases[] = {
        {"xe", DEVICE "tile0/gt0/freq0/throttle/status", DEVICE "tile0/gt0/freq0/throttle/reason_pl1",
         DEVICE "tile0/gt0/freq0/throttle/reason_prochot"},
        {"i915", CARD "gt/gt0/throttle_reason_status", CARD "gt/gt0/throttle_reason_pl1",
         CARD "gt/gt0/throttle_reason_prochot"},
    };
    for (size_t i = 0; i < 2; i++) {
        struct machine_bench *bench = *state;
        put_card(bench, cases[i].driver, "56A0", SLOT);
        machine_put(bench, cases[i].status, "0");
        machine_put(bench, cases[i].power, "0");
        machine_put(bench, cases[i].heat, "0");
        run(bench, 2);
        assert_int_equal(device_of(bench).clock_reasons, 0);
        machine_put(bench, cases[i].status, "1");
        run(bench, 2);
        assert_int_equal(device_of(bench).clock_reasons, JOULE_CLOCKS_OTHER);
        machine_put(bench, cases[i].power, "1");
        machine_put(bench, cases[i].heat, "1");
        run(bench, 2);
        assert_int_equal(device_of(bench).clock_reasons, JOULE_CLOCKS_POWER | JOULE_CLOCKS_HOT_HARDWARE);
        machine_teardown(state);
        machine_setup(state);
    }
}

static void test_clocks_are_read_from_any_driver(void **state)
{
    static const char *const files[] = {DEVICE "tile0/gt0/freq0/act_freq", CARD "gt/gt0/rps_act_freq_mhz",
                                        CARD "gt_act_freq_mhz"};
    for (size_t i = 0; i < 3; i++) {
        struct machine_bench *bench = *state;
        put_card(bench, i ? "i915" : "xe", "56A0", SLOT);
        machine_put(bench, files[i], "2050\n");
        run(bench, 2);
        assert_true(machine_require_channel(bench->meter, "gpu-0-clock")->gauge == 2050);
        assert_int_equal(machine_require_channel(bench->meter, "gpu-0-clock")->role, ROLE_CLOCK);
        machine_put(bench, files[i], "-3");
        run(bench, 2);
        assert_int_equal(machine_require_channel(bench->meter, "gpu-0-clock")->info.state, JOULE_FAILED);
        host_script_error(bench->host, files[i], EIO);
        run(bench, 2);
        assert_int_equal(machine_require_channel(bench->meter, "gpu-0-clock")->info.state, JOULE_FAILED);
        machine_teardown(state);
        machine_setup(state);
    }
}

static void test_a_sleeping_board_is_not_asked(void **state)
{
    struct machine_bench *bench = *state;
    put_card(bench, "xe", "E20B", SLOT);
    machine_put(bench, DEVICE "power/runtime_status", "suspended");
    machine_put(bench, DEVICE "tile0/gt0/freq0/act_freq", "400");
    run(bench, 5);
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0-clock")->info.state, JOULE_STALE);
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0-clock")->readings, 0);
    assert_int_equal(device_of(bench).state, JOULE_STALE);
    assert_string_equal(device_of(bench).model, "Intel Arc B580");
    machine_put(bench, DEVICE "power/runtime_status", "active");
    run(bench, 5);
    assert_true(machine_require_channel(bench->meter, "gpu-0-clock")->gauge == 400);
    assert_int_equal(device_of(bench).state, JOULE_OK);
}

/* --- engines -------------------------------------------------------------------------------------------- */

/* A count that rises by per_ns in each nanosecond. */
struct rate {
    double per_ns;
};

static int read_rate(void *context, int64_t time_ns, uint64_t *out_value)
{
    const struct rate *rate = context;
    *out_value = (uint64_t)(rate->per_ns * (double)time_ns);
    return 0;
}

static void put_event(struct machine_bench *bench, uint32_t type, uint64_t config, struct rate *rate)
{
    struct host_perf_event event = {type, config, 0};
    assert_true(host_script_perf(bench->host, &event, read_rate, rate));
}

/* Adds the events of i915, which count nanoseconds for each engine. */
static void put_i915(struct machine_bench *bench, const char *pmu, struct rate rates[2])
{
    char path[160];
    static const char *const files[][2] = {{"type", "18"},
                                           {"cpumask", "0"},
                                           {"events/rcs0-busy", "config=0x0"},
                                           {"events/rcs0-busy.unit", "ns"},
                                           {"events/rcs0-wait", "config=0x1"},
                                           {"events/bcs0-busy", "config=0x1000"},
                                           {"events/actual-frequency", "config=0x100000"}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(path, sizeof path, PMUS "%s/%s", pmu, files[i][0]);
        machine_put(bench, path, files[i][1]);
    }
    put_event(bench, 18, 0, &rates[0]);
    put_event(bench, 18, 0x1000, &rates[1]);
}

static void test_engines_of_i915(void **state)
{
    struct machine_bench *bench = *state;
    struct rate rates[] = {{0.3}, {0.6}};
    put_card(bench, "i915", "56A0", SLOT);
    put_i915(bench, "i915_0000_03_00.0", rates);
    run(bench, 5);
    assert_true(fabs(machine_require_channel(bench->meter, "gpu-0-busy")->gauge - 0.6) < 1e-6);
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0-busy")->role, ROLE_BUSY);
    assert_true(fabs(device_of(bench).busy - 0.6) < 1e-6);
}

static void test_graphics_in_a_processor(void **state)
{
    struct machine_bench *bench = *state;
    struct rate rates[] = {{0.3}, {0.1}};
    put_card(bench, "i915", "46A6", "0000:00:02.0");
    put_i915(bench, "i915", rates);
    run(bench, 5);
    joule_device device = device_of(bench);
    assert_true(fabs(device.busy - 0.3) < 1e-6);
    assert_int_equal(device.domain, -1); /* the GPU's energy is part of the processor's */
}

/* Events of a PMU without a PCI address do not belong to a card. */
static void test_events_of_another_gpu(void **state)
{
    struct machine_bench *bench = *state;
    struct rate rates[] = {{0.3}, {0.1}};
    put_card(bench, "i915", "56A0", SLOT);
    put_i915(bench, "i915", rates);
    run(bench, 5);
    assert_null(machine_channel(bench->meter, "gpu-0-busy"));
}

static void put_xe(struct machine_bench *bench)
{
    machine_put(bench, PMUS "xe_0000_03_00.0/type", "21");
    machine_put(bench, PMUS "xe_0000_03_00.0/cpumask", "0");
    machine_put(bench, PMUS "xe_0000_03_00.0/events/engine-active-ticks", "event=0x02");
    machine_put(bench, PMUS "xe_0000_03_00.0/events/engine-total-ticks", "event=0x03");
    machine_put(bench, PMUS "xe_0000_03_00.0/events/gt-c6-residency", "event=0x01");
    machine_put(bench, PMUS "xe_0000_03_00.0/format/event", "config:0-11");
    machine_put(bench, PMUS "xe_0000_03_00.0/format/engine_instance", "config:12-19");
    machine_put(bench, PMUS "xe_0000_03_00.0/format/engine_class", "config:20-27");
    machine_put(bench, PMUS "xe_0000_03_00.0/format/gt", "config:60-63");
}

static void test_engines_of_xe(void **state)
{
    struct machine_bench *bench = *state;
    struct rate total = {0.0192}, render = {0.0192 * 0.25}, compute = {0.0192 * 0.8}, media = {0.0192 * 0.1};
    put_card(bench, "xe", "E20B", SLOT);
    put_xe(bench);
    put_event(bench, 21, 0x2, &render);
    put_event(bench, 21, 0x3, &total);
    put_event(bench, 21, UINT64_C(4) << 20 | UINT64_C(1) << 12 | 2, &compute);
    put_event(bench, 21, UINT64_C(4) << 20 | UINT64_C(1) << 12 | 3, &total);
    put_event(bench, 21, UINT64_C(1) << 60 | UINT64_C(2) << 20 | 2, &media);
    put_event(bench, 21, UINT64_C(1) << 60 | UINT64_C(2) << 20 | 3, &total);
    run(bench, 5);
    assert_true(fabs(machine_require_channel(bench->meter, "gpu-0-busy")->gauge - 0.8) < 1e-6);
}

static void test_engines_may_be_denied(void **state)
{
    struct machine_bench *bench = *state;
    put_card(bench, "xe", "E20B", SLOT);
    put_xe(bench);
    assert_true(host_script_error(bench->host, "/perf/21/0x2/0", EACCES));
    run(bench, 5);
    const struct channel *busy = machine_require_channel(bench->meter, "gpu-0-busy");
    assert_int_equal(busy->info.state, JOULE_DENIED);
    assert_contains(busy->info.remedy, "cap_perfmon");
    assert_true(isnan(device_of(bench).busy));
    assert_int_equal(device_of(bench).state, JOULE_OK);
}

static void test_engines_that_are_not_there(void **state)
{
    struct machine_bench *bench = *state;
    put_card(bench, "xe", "E20B", SLOT);
    put_xe(bench);
    run(bench, 5);
    assert_int_not_equal(machine_require_channel(bench->meter, "gpu-0-busy")->info.state, JOULE_OK);
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0-busy")->readings, 0);
}

/* Open events keep the board awake, so they are opened only if devices are requested. */
static void test_engines_are_left_alone_where_joules_are_measured(void **state)
{
    struct machine_bench *bench = *state;
    struct rate rates[] = {{0.3}, {0.6}};
    put_card(bench, "i915", "56A0", SLOT);
    put_i915(bench, "i915_0000_03_00.0", rates);
    bench->meter = machine_open(bench->host, "intel_gpu");
    run(bench, 5);
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0-busy")->readings, 0);
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0-busy")->failures, 0);
}

/* --- recorded boards ------------------------------------------------------------------------------------ */

/* Expected values come from the .snap files beside the recordings; limits that are missing there come from
 * the recorded files. */
static void test_recorded_boards_have_their_figures(void **state)
{
    static const struct {
        const char *folder, *chip, *model, *architecture, *driver, *address;
        double limit_watts, enforced_watts, celsius, memory_celsius, megahertz;
    } wanted[] = {
        {"b580", "hwmon2", "Intel Arc B580", "Xe2-HPG", "xe", "0000:09:00.0", 190, 190, 54, 56, 400},
        {"a380-i915", "hwmon1", "Intel Arc A380", "Xe-HPG", "i915", "0000:0b:00.0", 55, 55, 55, NAN, 600},
    };
    const char *archive = test_data("fixtures/lact-gpu-sysfs.tar.gz");
    char command[4096], path[1024], link[64];
    if (!archive)
        skip();
    snprintf(command, sizeof command, "mkdir -p '%s/lact-intel' && tar -xzf '%s' -C '%s/lact-intel'",
             TEST_BINARY_DIR, archive, TEST_BINARY_DIR);
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        struct machine_bench *bench = *state;
        snprintf(path, sizeof path, TEST_BINARY_DIR "/lact-intel/tests/snapshots/intel/%s", wanted[i].folder);
        assert_true(machine_add(bench->host, path, "/sys/class/drm"));
        strcat(path, "/card1/device/hwmon");
        assert_true(machine_add(bench->host, path, "/sys/class/hwmon"));
        snprintf(path, sizeof path, "/sys/class/hwmon/%s/device", wanted[i].chip);
        snprintf(link, sizeof link, "../../../%s", wanted[i].address);
        assert_true(host_script_link(bench->host, path, link));
        bench->meter = machine_open_devices(bench->host, "intel_gpu,hwmon,thermal");
        machine_run(bench->meter, 5, 0.5);
        joule_device device = device_of(bench);
        assert_string_equal(device.model, wanted[i].model);
        assert_string_equal(device.architecture, wanted[i].architecture);
        assert_string_equal(device.driver, wanted[i].driver);
        assert_string_equal(device.pci_address, wanted[i].address);
        assert_true(device.power_limit_watts == wanted[i].limit_watts);
        assert_true(device.power_limit_enforced_watts == wanted[i].enforced_watts);
        /* a rated maximum of 0 W means that it is unknown */
        assert_true(isnan(device.power_limit_default_watts));
        assert_true(device.temperature_celsius == wanted[i].celsius);
        assert_true(isnan(wanted[i].memory_celsius)
                        ? isnan(device.memory_temperature_celsius)
                        : device.memory_temperature_celsius == wanted[i].memory_celsius);
        assert_true(device.clock_megahertz == wanted[i].megahertz);
        assert_int_equal(device.clock_reasons, 0);
        assert_int_equal(device.domain, machine_domain(bench->meter, "gpu-0"));
        machine_teardown(state);
        machine_setup(state);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, machine_setup, machine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_battlemage_board_has_its_facts),
        TEST(test_unknown_board_has_unknown_facts),
        TEST(test_boards_of_other_drivers_are_not_listed),
        TEST(test_limits_of_the_card),
        TEST(test_limits_of_the_package),
        TEST(test_a_limit_that_is_switched_off),
        TEST(test_a_tile_is_not_the_board),
        TEST(test_memory_by_xe),
        TEST(test_memory_by_i915),
        TEST(test_memory_without_rights),
        TEST(test_memory_without_rights_by_i915),
        TEST(test_missing_and_invalid_memory_lists_are_unknown),
        TEST(test_memory_that_may_not_be_asked),
        TEST(test_memory_of_tiles),
        TEST(test_reasons_for_low_clocks_are_read),
        TEST(test_clocks_are_read_from_any_driver),
        TEST(test_a_sleeping_board_is_not_asked),
        TEST(test_engines_of_i915),
        TEST(test_graphics_in_a_processor),
        TEST(test_events_of_another_gpu),
        TEST(test_engines_of_xe),
        TEST(test_engines_may_be_denied),
        TEST(test_engines_that_are_not_there),
        TEST(test_engines_are_left_alone_where_joules_are_measured),
        TEST(test_recorded_boards_have_their_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
