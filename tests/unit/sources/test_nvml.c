/* Tests the nvml source with scripted boards, with one test for each known behaviour of real boards.
 *
 * By default, the power of a board alternates between 90 W and 400 W for equal times, so its mean is 245 W.
 * Energy and power follow from one function of time, so the truth is known exactly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include "joule/sources/nvidia/nvml.h"
#include "support/check.h"
#include "support/fake_nvml.h"

#define LOAD "watts=90 peak_watts=400 duty=0.5 period_ms=1000; "
#define MEAN 245.0

static struct fake_nvml fake;

static void prepare(const char *script)
{
    assert_true(fake_nvml_prepare(&fake, TEST_BINARY_DIR, "580", script));
}

static void open_with(const char *script)
{
    prepare(script);
    fake_nvml_open(&fake);
}

static struct channel *channel(const char *name)
{
    struct channel *found = fake_nvml_channel(&fake, name);
    assert_non_null(found);
    return found;
}

static joule_quantity gpu_joules(void)
{
    joule_quantity joules;
    assert_int_equal(joule_energy_joules(fake.meter, JOULE_GPU, &joules), JOULE_OK);
    return joules;
}

/* --- energy and power ----------------------------------------------------------------------------------- */

static void counter_is_preferred(void **state)
{
    (void)state;
    open_with(LOAD);
    fake_nvml_run(&fake, 10);
    joule_quantity joules = gpu_joules();
    assert_int_equal(joules.cls, JOULE_CLASS_MEASURED);
    assert_near(joules.value, 10 * MEAN, 0.11 * 400); /* the tolerance is the energy of about one reading */
    const joule_domain *info = &channel("gpu-0")->info;
    assert_string_equal(info->source, "nvml");
    assert_string_equal(info->measurement, "nvml");
    assert_string_equal(info->device, "gpu:0");
    assert_string_equal(info->vendor, "nvidia");
    assert_string_equal(info->model, "NVIDIA Fake H200");
    assert_string_equal(info->uuid, "GPU-5eed0000-0000-4000-8000-000000000000");
    assert_int_equal(info->tier, 3);
    assert_int_equal(info->scope, JOULE_SCOPE_GPU);
    assert_near(channel("gpu-0")->counter.max_watts, 1050, 1e-9);
    fake_nvml_close(&fake);
}

/* Runs for 10 s. Checks the label of the power channel and the energy that is integrated from power.
 * tolerance: a fraction of the true energy. */
static void expect_integrated(const char *label, double tolerance)
{
    fake_nvml_run(&fake, 10);
    joule_quantity joules = gpu_joules();
    assert_int_equal(joules.cls, JOULE_CLASS_DERIVED);
    assert_string_equal(channel("gpu-0-power")->info.label, label);
    assert_near(joules.value, 10 * MEAN, tolerance * 10 * MEAN);
    fake_nvml_close(&fake);
}

static void ring_replaces_a_missing_counter(void **state)
{
    (void)state;
    open_with(LOAD "energy=0");
    expect_integrated("the driver's power samples", 0.03);
}

static void ring_may_run_on_another_clock(void **state)
{
    (void)state;
    open_with(LOAD "energy=0; ring_monotonic=1");
    expect_integrated("the driver's power samples", 0.03);
}

static void instant_field_replaces_a_missing_ring(void **state)
{
    (void)state;
    /* the period of the load is not a multiple of the period of readings */
    open_with(LOAD "energy=0; ring_ms=0; update_ms=100; period_ms=730");
    expect_integrated("instant power", 0.05);
}

static void usage_replaces_missing_fields(void **state)
{
    (void)state;
    open_with(LOAD "energy=0; ring_ms=0; fields=0; update_ms=100");
    assert_near(channel("gpu-0-power")->integrator.lag_s, 0.5, 0);
    expect_integrated("power, mean of 1 s", 0.08);
}

static void usage_is_instant_on_older_boards(void **state)
{
    (void)state;
    static const char *const scripts[] = {LOAD "energy=0; ring_ms=0; fields=0; architecture=5; major=7",
                                          LOAD "energy=0; ring_ms=0; fields=0; architecture=7; major=8"};
    for (size_t i = 0; i < 2; i++) { /* the boards are a Volta and a GA100 */
        open_with(scripts[i]);
        assert_true(channel("gpu-0-power")->integrator.lag_s < 0.02);
        expect_integrated("power", 0.05);
    }
}

static void fields_of_an_unknown_type_are_passed_over(void **state)
{
    (void)state;
    open_with(LOAD "energy_field_type=9");
    fake_nvml_run(&fake, 10);
    joule_quantity joules = gpu_joules();
    /* the counter is read by a call, not as a field */
    assert_int_equal(joules.cls, JOULE_CLASS_MEASURED);
    assert_near(joules.value, 10 * MEAN, 0.11 * 400);
    fake_nvml_close(&fake);
}

/* Some boards that have lost their PCIe link return a value with all bits set. */
static void impossible_power_is_no_power(void **state)
{
    (void)state;
    open_with("watts=4294967.295 peak_watts=4294967.295; energy=0; ring_ms=0; fields=0");
    fake_nvml_run(&fake, 5);
    const struct channel *power = channel("gpu-0-power");
    joule_quantity watts;
    joule_domain domain = {.struct_size = sizeof domain};
    assert_int_equal(joule_domain_get(fake.meter, (size_t)power->info.id, &domain), JOULE_OK);
    assert_int_equal(domain.state, JOULE_FAILED);
    assert_true(strlen(domain.remedy) > 0);
    assert_true(power->read_ns == 0 && power->readings == 0);
    assert_int_equal(joule_power_watts(fake.meter, power->info.id, &watts), JOULE_FAILED);
    assert_true(isnan(watts.value));
    fake_nvml_close(&fake);
}

static void frozen_counter_is_not_zero_joules(void **state)
{
    (void)state;
    open_with(LOAD "energy=-1");
    fake_nvml_run(&fake, 5);
    assert_int_equal(channel("gpu-0")->info.state, JOULE_UNSUPPORTED);
    joule_quantity joules = gpu_joules();
    assert_int_equal(joules.cls, JOULE_CLASS_DERIVED);
    assert_near(joules.value, 5 * MEAN, 0.05 * 5 * MEAN);
    fake_nvml_close(&fake);
}

static void fields_fail_one_by_one(void **state)
{
    (void)state;
    open_with(LOAD "scoped_energy_field=0; instant_field=0; average_field=0; ring_ms=0");
    fake_nvml_run(&fake, 10);
    assert_int_equal(gpu_joules().cls, JOULE_CLASS_MEASURED); /* the counter is read from field 83 */
    assert_string_equal(channel("gpu-0-power")->info.label, "power, mean of 1 s");
    assert_null(fake_nvml_channel(&fake, "gpu-0-memory"));
    fake_nvml_close(&fake);
}

static void memory_is_a_part_of_the_board(void **state)
{
    (void)state;
    open_with(LOAD "memory_watts=30; update_ms=100");
    fake_nvml_run(&fake, 10);
    const struct channel *memory = channel("gpu-0-memory");
    assert_int_equal(memory->info.scope, JOULE_SCOPE_GPU_MEMORY);
    assert_string_equal(memory->parent_zone, channel("gpu-0")->zone);
    joule_quantity joules;
    assert_int_equal(joule_energy_joules(fake.meter, memory->info.id, &joules), JOULE_OK);
    assert_near(joules.value, 300, 20);
    assert_near(gpu_joules().value, 10 * MEAN, 0.11 * 400); /* the memory's energy is not added */
    fake_nvml_close(&fake);
}

static void memory_of_zero_watts_is_not_measured(void **state)
{
    (void)state;
    open_with(LOAD "memory_watts=0");
    assert_null(fake_nvml_channel(&fake, "gpu-0-memory"));
    fake_nvml_close(&fake);
}

static void superchips_may_count_the_module(void **state)
{
    (void)state;
    open_with(LOAD "superchip=1; module_watts=0");
    assert_int_equal(channel("gpu-0")->info.scope, JOULE_SCOPE_MODULE);
    /* The zone has the name that hwmon uses, so the module is counted once. */
    assert_string_equal(channel("gpu-0")->zone, "module0");
    assert_string_equal(channel("gpu-0-temperature")->parent_zone, "module0");
    fake_nvml_close(&fake);
    /* there are two counters; this one is the GPU's */
    open_with(LOAD "superchip=1; module_watts=150; module_energy=1");
    assert_int_equal(channel("gpu-0")->info.scope, JOULE_SCOPE_GPU);
    fake_nvml_close(&fake);
    open_with(LOAD "module_watts=0"); /* without a separate module power, the module is only the board */
    assert_int_equal(channel("gpu-0")->info.scope, JOULE_SCOPE_GPU);
    fake_nvml_close(&fake);
}

/* --- faults --------------------------------------------------------------------------------------------- */

static void denied_board_is_shown_and_the_next_is_read(void **state)
{
    (void)state;
    open_with(LOAD "boards=2; 0.denied=1");
    fake_nvml_run(&fake, 5);
    joule_domain domain = {.struct_size = sizeof domain};
    assert_int_equal(joule_domain_get(fake.meter, (size_t)channel("gpu-0")->info.id, &domain), JOULE_OK);
    assert_int_equal(domain.state, JOULE_DENIED);
    assert_true(strlen(domain.remedy) > 0);
    assert_near(gpu_joules().value, 5 * MEAN, 0.11 * 400);
    struct cover cover;
    meter_cover(fake.meter, JOULE_GPU, fake.meter->begin_ns, meter_now_ns(fake.meter), &cover);
    assert_true(cover.is_partial);
    assert_int_equal(cover.ids[0], channel("gpu-1")->info.id);
    fake_nvml_close(&fake);
}

static void board_without_sensors_is_shown(void **state)
{
    (void)state;
    open_with("energy=0; power=0; fields=0; ring_ms=0; gpm=0");
    fake_nvml_run(&fake, 1);
    joule_quantity joules;
    assert_int_equal(channel("gpu-0")->info.state, JOULE_UNSUPPORTED);
    assert_true(strlen(channel("gpu-0")->info.remedy) > 0);
    assert_int_equal(joule_energy_joules(fake.meter, JOULE_GPU, &joules), JOULE_UNSUPPORTED);
    assert_true(isnan(joules.value));
    fake_nvml_close(&fake);
}

static void counter_reset_is_a_gap(void **state)
{
    (void)state;
    open_with(LOAD "reset_at_ms=5040");
    fake_nvml_run(&fake, 10);
    assert_int_equal(channel("gpu-0")->counter.resets, 1);
    assert_near(gpu_joules().value, 10 * MEAN, 0.3 * 400); /* the energy of one reading is missing */
    fake_nvml_close(&fake);
}

static void lost_library_is_initialised_again_and_lost_board_left_alone(void **state)
{
    (void)state;
    open_with(LOAD "uninitialized_at_ms=3000; lost_at_ms=6000");
    fake_nvml_run(&fake, 5);
    assert_int_equal(channel("gpu-0")->info.state, JOULE_OK);
    assert_near(gpu_joules().value, 5 * MEAN, 0.11 * 400);
    fake_nvml_run(&fake, 2);
    assert_int_equal(channel("gpu-0")->info.state, JOULE_FAILED);
    assert_int_equal(channel("gpu-0-temperature")->info.state, JOULE_FAILED);
    unsigned long calls = fake_nvml_call_count(&fake);
    fake_nvml_run(&fake, 5);
    assert_int_equal(fake_nvml_call_count(&fake), calls);
    assert_near(gpu_joules().value, 6 * MEAN, 0.3 * 400); /* energy from before the loss remains counted */
    fake_nvml_close(&fake);
}

static void passing_failures_are_waited_out(void **state)
{
    (void)state;
    open_with(LOAD "transient_at_ms=2000");
    fake_nvml_run(&fake, 2.2);
    assert_int_equal(channel("gpu-0")->info.state, JOULE_OK);
    fake_nvml_run(&fake, 7.8);
    assert_int_equal(channel("gpu-0")->failures, 0);
    assert_near(gpu_joules().value, 10 * MEAN, 0.11 * 400);
    fake_nvml_close(&fake);
}

static void expect_no_source(const char *script, joule_status status)
{
    open_with(script);
    assert_int_equal(fake_nvml_source(&fake)->state, status);
    assert_true(strlen(fake_nvml_source(&fake)->remedy) > 0);
    assert_int_equal(joule_domain_count(fake.meter), 0);
    fake_nvml_run(&fake, 1);
    fake_nvml_close(&fake);
}

static void codes_of_init_become_states(void **state)
{
    (void)state;
    expect_no_source("init_code=9", JOULE_ABSENT);
    expect_no_source("init_code=4", JOULE_DENIED);
    expect_no_source("init_code=18", JOULE_FAILED);
    expect_no_source("init_code=999", JOULE_FAILED);
    expect_no_source("boards=0", JOULE_ABSENT);
}

static void missing_library_is_absent(void **state)
{
    (void)state;
    prepare("");
    fake.symbol_count = 0;
    fake_nvml_open(&fake);
    assert_int_equal(fake_nvml_source(&fake)->state, JOULE_UNSUPPORTED); /* the library has no functions */
    fake_nvml_close(&fake);
    struct joule_host *host = host_script_open();
    struct nvml_api api;
    char remedy[192];
    assert_int_equal(nvml_load(host, &api, remedy, sizeof remedy), JOULE_ABSENT);
    host->ops->close(host);
}

static void own_library_can_be_named(void **state)
{
    (void)state;
    struct joule_host *host;
    struct nvml_api api;
    char remedy[192];
    prepare("");
    host = fake.host;
    host_script_env(host, "JOULE_NVML_LIB", "/opt/other.so");
    host_script_library(host, "/opt/other.so", fake.symbols, fake.symbol_count);
    assert_int_equal(nvml_load(host, &api, remedy, sizeof remedy), JOULE_OK);
    host->ops->close(host);
}

static void each_symbol_may_be_missing(void **state)
{
    (void)state;
#define TRY(name, parameters)                                                                                \
    prepare(LOAD);                                                                                           \
    fake_nvml_remove(&fake, "nvml" #name);                                                                   \
    fake_nvml_open(&fake);                                                                                   \
    fake_nvml_run(&fake, 3);                                                                                 \
    if (fake_nvml_source(&fake)->state == JOULE_OK)                                                          \
        assert_near(gpu_joules().value, 3 * MEAN, 0.05 * 3 * MEAN);                                          \
    else                                                                                                     \
        assert_int_equal(fake_nvml_source(&fake)->state, JOULE_UNSUPPORTED);                                 \
    fake_nvml_close(&fake);
    NVML_FUNCTIONS(TRY)
#undef TRY
}

static void sleeping_board_is_not_woken(void **state)
{
    (void)state;
    prepare("");
    host_script_text(fake.host, "/sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
    host_script_text(fake.host, "/sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
    host_script_text(fake.host, "/sys/bus/pci/devices/0000:01:00.0/power/runtime_status", "suspended\n");
    /* the board's audio function */
    host_script_text(fake.host, "/sys/bus/pci/devices/0000:01:00.1/vendor", "0x10de\n");
    host_script_text(fake.host, "/sys/bus/pci/devices/0000:01:00.1/class", "0x040300\n");
    unsigned long calls = fake_nvml_call_count(&fake);
    fake_nvml_open(&fake);
    assert_int_equal(fake_nvml_source(&fake)->state, JOULE_ABSENT);
    assert_contains(fake_nvml_source(&fake)->remedy, "is suspended");
    assert_int_equal(fake_nvml_call_count(&fake), calls);
    fake_nvml_close(&fake);
    prepare("");
    host_script_text(fake.host, "/sys/bus/pci/devices/0000:01:00.0/vendor", "0x10de\n");
    host_script_text(fake.host, "/sys/bus/pci/devices/0000:01:00.0/class", "0x030200\n");
    host_script_text(fake.host, "/sys/bus/pci/devices/0000:01:00.0/power/runtime_status", "active\n");
    fake_nvml_open(&fake);
    assert_int_equal(fake_nvml_source(&fake)->state, JOULE_OK);
    fake_nvml_close(&fake);
}

/* --- gauges --------------------------------------------------------------------------------------------- */

static double gauge(const char *name)
{
    double value;
    assert_int_equal(joule_gauge(fake.meter, channel(name)->info.id, &value), JOULE_OK);
    return value;
}

static void gauges_are_read(void **state)
{
    (void)state;
    open_with("watts=90 peak_watts=400 duty=0.5 period_ms=100; celsius=63; memory_celsius=71");
    fake_nvml_run(&fake, 3);
    assert_near(gauge("gpu-0-temperature"), 63, 0);
    assert_near(gauge("gpu-0-memory-temperature"), 71, 0);
    assert_near(gauge("gpu-0-memory-clock"), 3201, 0);
    assert_near(gauge("gpu-0-busy"), 0.5, 0);
    assert_near(gauge("gpu-0-sm-activity"), 0.5, 0.01);
    assert_near(gauge("gpu-0-tensor-activity"), 0.25, 0.01);
    assert_near(gauge("gpu-0-dram-activity"), 0.125, 0.01);
    assert_string_equal(channel("gpu-0-busy")->info.label, "busy time");
    assert_near(meter_hottest_celsius(fake.meter), 71, 0);
    fake_nvml_close(&fake);
}

static void mig_measures_the_parent(void **state)
{
    (void)state;
    open_with(LOAD "mig=3");
    fake_nvml_run(&fake, 5);
    assert_near(gpu_joules().value, 5 * MEAN, 0.11 * 400);
    assert_null(fake_nvml_channel(&fake, "gpu-0-busy"));
    assert_null(fake_nvml_channel(&fake, "gpu-1"));
    fake_nvml_close(&fake);
}

/* --- description ---------------------------------------------------------------------------------------- */

static void boards_have_their_facts(void **state)
{
    static const char script[] = "boards=2; 1.denied=1; mig=2; processes=3; duty=1";
    joule_device_partition parts[1];
    (void)state;
    joule_device board = fake_nvml_device(&fake, TEST_BINARY_DIR, "580", script, 0),
                 denied = fake_nvml_device(&fake, TEST_BINARY_DIR, "580", script, 1);
    assert_int_equal(joule_device_count(fake.meter), 2);
    assert_int_equal(board.state, JOULE_OK);
    assert_string_equal(board.name, "gpu:0");
    assert_string_equal(board.vendor, "nvidia");
    assert_string_equal(board.model, "NVIDIA Fake H200");
    assert_string_equal(board.architecture, "Hopper");
    assert_string_equal(board.compute_capability, "9.0");
    assert_string_equal(board.driver, "nvidia 580.00.00");
    assert_string_equal(board.pci_address, "0000:65:00.0");
    assert_true(board.memory_total_bytes == 143771ull << 20 && board.memory_used_bytes == 1024ull << 20);
    assert_near(board.power_limit_watts, 700, 0);
    assert_near(board.power_limit_min_watts, 200, 0);
    assert_int_equal(board.clock_reasons, JOULE_CLOCKS_POWER);
    assert_true(isnan(board.busy)); /* unknown, because MIG is on */
    assert_int_equal(board.partition_count, 2);
    /* The array is too small for all partitions. */
    assert_int_equal(joule_device_partitions(fake.meter, "gpu:0", parts, 1), 2);
    assert_string_equal(parts[0].uuid, "MIG-5eed0000-0000-4000-8000-000000000001");
    assert_int_equal(parts[0].instance, 7);
    assert_string_equal(parts[0].profile, "1g.18gb");
    assert_true(parts[0].memory_total_bytes == (143771ull << 20) / 8 &&
                parts[0].memory_used_bytes == 100 << 20);
    assert_true(parts[0].memory_free_bytes == parts[0].memory_total_bytes - (100 << 20));
    assert_string_equal(joule_clock_reason_name(JOULE_CLOCKS_POWER), "power limit");
    /* The values of a denied board are unknown, not 0. */
    assert_int_equal(denied.state, JOULE_DENIED);
    assert_true(isnan(denied.power_limit_watts) && isnan(denied.age_s) && isnan(denied.power_watts.value));
    assert_true(denied.memory_total_bytes == JOULE_BYTES_UNKNOWN && !denied.has_process_list);
    assert_true(denied.clock_reasons == JOULE_CLOCKS_UNKNOWN);
    fake_nvml_close(&fake);
}

/* If the processes do not fit in the array, the first ones and their busy times are listed. */
static void many_processes_of_a_board_are_listed(void **state)
{
    (void)state;
    static const char *const lines[] = {"580", "535"};
    for (size_t i = 0; i < 2; i++) {
        joule_device_process list[300];
        joule_device device =
            fake_nvml_device(&fake, TEST_BINARY_DIR, lines[i], "processes=300; duty=0.8", 0);
        assert_true(device.has_process_list);
        assert_int_equal(device.process_count, DEVICE_MAX_PROCESSES);
        assert_int_equal(joule_device_processes(fake.meter, "gpu:0", list, 300), DEVICE_MAX_PROCESSES);
        assert_true(list[0].pid == 1000 && list[DEVICE_MAX_PROCESSES - 1].pid == 999 + DEVICE_MAX_PROCESSES);
        if (i == 0) /* the fake of the older driver has no busy times */
            assert_near(list[0].busy, 0.8, 1e-9);
        fake_nvml_close(&fake);
    }
}

static void a_device_has_its_joules_and_processes(void **state)
{
    joule_device_process processes[4];
    (void)state;
    joule_device board = fake_nvml_device(&fake, TEST_BINARY_DIR, "580", LOAD "processes=3", 0);
    assert_near(board.energy_joules.value, gpu_joules().value, 1e-9);
    assert_near(board.busy, 0.5, 1e-9);
    assert_near(board.memory_busy, 0.12, 1e-9);
    assert_int_equal(joule_device_processes(fake.meter, "gpu:0", processes, 4), 3);
    assert_int_equal(processes[2].pid, 1002);
    assert_true(processes[2].memory_bytes == 1024ull << 20);
    /* the first process uses the board for half of the time, the second for half as long */
    assert_near(processes[1].busy, 0.25, 1e-9);
    assert_near(processes[0].busy, 0.5, 1e-9);
    assert_int_equal(joule_device_processes(fake.meter, "gpu:7", processes, 4), 0);
    assert_int_equal(joule_device_get(fake.meter, 1, &board), JOULE_INVALID);
    fake_nvml_close(&fake);
}

static void process_records_of_32_bytes_are_known(void **state)
{
    joule_device_process processes[5];
    (void)state;
    joule_device board = fake_nvml_device(&fake, TEST_BINARY_DIR, "535", "processes=5", 0);
    assert_int_equal(joule_device_processes(fake.meter, "gpu:0", processes, 5), 5);
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(processes[i].pid, 1000 + i);
        assert_true(processes[i].memory_bytes == 1024ull << 20);
        assert_true(isnan(processes[i].busy)); /* this driver has no busy times of processes */
    }
    assert_int_equal(board.clock_reasons, JOULE_CLOCKS_IDLE); /* the value comes from the older symbol */
    fake_nvml_close(&fake);
}

/* --- time ----------------------------------------------------------------------------------------------- */

static int64_t real_ns(void)
{
    return host_real()->ops->clock_ns(host_real(), CLOCK_MONOTONIC);
}

static uint64_t prompt_ticks(joule_meter *meter)
{
    return atomic_load(&meter->lanes[0]->ticks);
}

/* A call on a board blocks. The lane of fast sources must still read as often as the lane of a meter that
 * does not use the board. */
static void blocked_call_delays_no_lane(void **state)
{
    (void)state;
    joule_meter *meter, *other;
    joule_options options = {.struct_size = sizeof options, .period_s = 0.01};
    joule_options without = {.struct_size = sizeof without, .period_s = 0.01, .sources = "-nvml"};
    setenv("JOULE_NVML_LIB", TEST_BINARY_DIR "/fakes/nvml/580/libnvidia-ml.so.1", 1);
    prepare("block_at_ms=200; block_s=30");
    fake_nvml_free_clock(&fake);
    fake.host->ops->close(fake.host);
    assert_int_equal(joule_open(&options, &meter, NULL), JOULE_OK);
    assert_int_equal(joule_open(&without, &other, NULL), JOULE_OK);
    nanosleep(&(struct timespec){1, 0}, NULL);
    struct lane *slow = meter->lanes[meter->lane_count - 1];
    for (size_t i = 1; i < meter->lane_count; i++) {
        if (strcmp(meter->lanes[i]->sources[0]->ops->name, "nvml") == 0)
            slow = meter->lanes[i];
    }
    uint64_t stuck_ticks = slow->ticks, ticks = prompt_ticks(meter), other_ticks = prompt_ticks(other);
    int64_t begin_ns = real_ns();
    while (prompt_ticks(other) < other_ticks + 110 && real_ns() - begin_ns < 20 * 1000000000LL)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    assert_true(prompt_ticks(meter) >= ticks + 100);
    assert_int_equal(slow->ticks, stuck_ticks);
    joule_close(other);
    begin_ns = real_ns();
    joule_close(meter);
    assert_true(real_ns() - begin_ns < 1000000000);
    unsetenv("JOULE_NVML_LIB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counter_is_preferred),
        cmocka_unit_test(ring_replaces_a_missing_counter),
        cmocka_unit_test(ring_may_run_on_another_clock),
        cmocka_unit_test(instant_field_replaces_a_missing_ring),
        cmocka_unit_test(usage_replaces_missing_fields),
        cmocka_unit_test(usage_is_instant_on_older_boards),
        cmocka_unit_test(fields_of_an_unknown_type_are_passed_over),
        cmocka_unit_test(impossible_power_is_no_power),
        cmocka_unit_test(frozen_counter_is_not_zero_joules),
        cmocka_unit_test(fields_fail_one_by_one),
        cmocka_unit_test(memory_is_a_part_of_the_board),
        cmocka_unit_test(memory_of_zero_watts_is_not_measured),
        cmocka_unit_test(superchips_may_count_the_module),
        cmocka_unit_test(denied_board_is_shown_and_the_next_is_read),
        cmocka_unit_test(board_without_sensors_is_shown),
        cmocka_unit_test(counter_reset_is_a_gap),
        cmocka_unit_test(lost_library_is_initialised_again_and_lost_board_left_alone),
        cmocka_unit_test(passing_failures_are_waited_out),
        cmocka_unit_test(codes_of_init_become_states),
        cmocka_unit_test(missing_library_is_absent),
        cmocka_unit_test(own_library_can_be_named),
        cmocka_unit_test(each_symbol_may_be_missing),
        cmocka_unit_test(sleeping_board_is_not_woken),
        cmocka_unit_test(gauges_are_read),
        cmocka_unit_test(mig_measures_the_parent),
        cmocka_unit_test(boards_have_their_facts),
        cmocka_unit_test(many_processes_of_a_board_are_listed),
        cmocka_unit_test(a_device_has_its_joules_and_processes),
        cmocka_unit_test(process_records_of_32_bytes_are_known),
        /* this test is last, because its thread outlives the meter */
        cmocka_unit_test(blocked_call_delays_no_lane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
