/* Tests Intel GPUs through Level Zero: which power domain is used for the board, which counters are trusted,
 * and which messages are given if there is no counter.
 *
 * The library is the fake of tests/fakes/level_zero in two versions. Its functions are registered as symbols
 * of a scripted machine. */
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "joule/api/open.h"
#include "joule/sources/intel/level_zero.h"
#include "support/check.h"
#include "support/machine.h"

#define BEGIN_NS INT64_C(1000300000000)
#define STEP_S   0.1
#define CARD     "/sys/bus/pci/devices/0000:03:00.0/"
#define HWMON    "/sys/class/hwmon/hwmon0/"

static struct fake {
    void *library;
    struct script_symbol symbols[64];
    size_t count;
    void (*set_script)(const char *text);
    void (*set_time)(int64_t monotonic_ns);
    bool (*is_mixed)(void);
    unsigned long (*calls)(void);
} fake;

static void *symbol(const char *name)
{
    return dlsym(fake.library, name);
}

/* Loads version `age` of the loader, "1.17" or "1.3"; `script` describes the cards. */
static void prepare_age(struct machine_bench *bench, const char *age, const char *script)
{
    char path[4096];
    snprintf(path, sizeof path, TEST_BINARY_DIR "/fakes/level_zero/%s/libze_loader.so.1", age);
    fake = (struct fake){.library = dlopen(path, RTLD_NOW | RTLD_LOCAL)};
    if (!fake.library)
        fail_msg("%s", dlerror());
    *(void **)&fake.set_script = symbol("fake_level_zero_script");
    *(void **)&fake.set_time = symbol("fake_level_zero_set_time");
    *(void **)&fake.is_mixed = symbol("fake_level_zero_is_mixed");
    *(void **)&fake.calls = symbol("fake_level_zero_calls");
    fake.set_script(script);
    host_script_link(bench->host, "/sys/bus/pci/drivers/xe/module", "../../../../module/xe");
    host_script_set_time(bench->host, BEGIN_NS);
    fake.set_time(BEGIN_NS);
#define ADD(name, parameters)                                                                                \
    if (symbol(#name) != NULL)                                                                               \
        fake.symbols[fake.count++] = (struct script_symbol){#name, symbol(#name)};
    LZ_FUNCTIONS(ADD)
#undef ADD
}

static void prepare(struct machine_bench *bench, const char *script)
{
    prepare_age(bench, "1.17", script);
}

static void open_meter(struct machine_bench *bench)
{
    host_script_library(bench->host, "libze_loader.so.1", fake.symbols, fake.count);
    joule_options options = {.struct_size = sizeof options,
                             .sources = "level_zero,hwmon",
                             .wait_s = 30,
                             .flags = JOULE_OPEN_DEVICES};
    joule_error error = {0};
    assert_ok(meter_open_on(bench->host, false, &options, &bench->meter, &error), &error);
}

static void pass(struct machine_bench *bench, double seconds)
{
    for (int i = 0; i < (int)lround(seconds / STEP_S); i++) {
        fake.set_time(meter_now_ns(bench->meter) + (int64_t)(STEP_S * 1e9));
        machine_run(bench->meter, STEP_S, STEP_S);
    }
}

static void run(struct machine_bench *bench, const char *script)
{
    prepare(bench, script);
    open_meter(bench);
    pass(bench, 10);
}

static const struct device *device_of(const struct machine_bench *bench, size_t position)
{
    const struct source *source = machine_source(bench->meter, "level_zero");
    assert_true(position < source->device_count);
    return source->devices[position];
}

static void assert_watts(struct machine_bench *bench, const char *name, double wanted)
{
    double watts = machine_watts(bench->meter, name);
    if (!(fabs(watts - wanted) <= 0.01 * wanted))
        fail_msg("%s: %g W instead of %g W", name, watts, wanted);
}

static void assert_state(struct machine_bench *bench, joule_status wanted, const char *word)
{
    const struct source *source = machine_source(bench->meter, "level_zero");
    assert_int_equal(source->state, wanted);
    assert_contains(source->remedy, word);
}

/* --- the domain of the board ---------------------------------------------------------------------------- */

static void test_the_card_is_the_board(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, "watts=100");
    assert_watts(bench, "gpu-0", 100);
    assert_watts(bench, "gpu-0", machine_mean_watts(((struct machine_bench *)*state)->meter, JOULE_TOTAL));
    const struct channel *ch = machine_require_channel(bench->meter, "gpu-0");
    assert_string_equal(ch->zone, "gpu0/board");
    assert_string_equal(ch->info.device, "gpu:0");
    assert_int_equal(ch->info.scope, JOULE_SCOPE_GPU);
    assert_int_equal(ch->info.cls, JOULE_CLASS_MEASURED);
}

static void test_the_package_stands_in_for_the_card(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, "watts=100; card=0");
    assert_watts(bench, "gpu-0", 90);
    assert_string_equal(machine_require_channel(bench->meter, "gpu-0")->info.label, "package energy counter");
}

static void test_driver_without_domain_properties_is_read(void **state)
{
    run(*state, "watts=100; extension=0");
    assert_watts(*state, "gpu-0", 100); /* through zesDeviceGetCardPowerDomain, without the extension */
}

static void test_one_domain_of_unknown_kind(void **state)
{
    run(*state, "watts=100; extension=0; card=0");
    assert_watts(*state, "gpu-0", 90);
}

static void test_tiles_are_never_added(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, "watts=500; tiles=2; card=0; celsius=50");
    assert_watts(bench, "gpu-0", 450);
    assert_watts(bench, "gpu-0", machine_mean_watts(bench->meter, JOULE_TOTAL));
    assert_null(machine_channel(bench->meter, "gpu-1"));
    assert_true(machine_require_channel(bench->meter, "gpu-0-tile-0-temperature")->gauge == 50);
    assert_true(machine_require_channel(bench->meter, "gpu-0-tile-1-temperature")->gauge == 51);
    assert_true(device_of(bench, 0)->facts.memory_total_bytes == UINT64_C(16) << 30);
    assert_true(fabs(machine_require_channel(bench->meter, "gpu-0-busy")->gauge - 0.75) < 1e-6);
}

/* --- trusted counters ----------------------------------------------------------------------------------- */

static void test_a_count_that_falls_is_a_gap(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, "watts=100; fall_at_ms=5050");
    const struct channel *ch = machine_require_channel(bench->meter, "gpu-0");
    assert_int_equal(ch->counter.resets, 1);
    assert_watts(bench, "gpu-0", 100);
    const struct curve_point *last = &ch->curve.points[ch->curve.count - 1];
    assert_true(fabs(last->joules - 100 * last->covered_s) < 5);
    assert_true(last->covered_s > 9.5 && last->covered_s < 9.95);
}

static void test_a_count_that_stands_still_is_not_trusted(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, "energy=-1");
    assert_false(machine_require_channel(bench->meter, "gpu-0")->moved);
    assert_true(isnan(machine_mean_watts(bench->meter, JOULE_TOTAL)));
}

static void test_the_same_stamp_is_the_same_count(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, "watts=100; refresh_ms=500");
    const struct channel *ch = machine_require_channel(bench->meter, "gpu-0");
    assert_watts(bench, "gpu-0", 100);
    assert_in_range(ch->readings, 20, 22);
}

static void test_stamps_may_be_of_another_clock(void **state)
{
    run(*state, "watts=100; stamp_s=1e6");
    assert_watts(*state, "gpu-0", 100);
}

static ssize_t energy_at_100_watts(void *context, int64_t time_ns, char *buffer, size_t size)
{
    (void)context;
    return snprintf(buffer, size, "%lld\n", (long long)(time_ns / 10)); /* 100 W in uJ */
}

/* The kernel's counter of the same board is preferred, and the board is counted once. */
static void test_hwmon_is_preferred(void **state)
{
    static const char *const scripts[] = {"watts=90", "watts=90; fall_at_ms=5050", "energy=-2", "energy=0"};
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        struct machine_bench *bench = *state;
        prepare(bench, scripts[i]);
        host_script_text(bench->host, HWMON "name", "xe");
        host_script_text(bench->host, HWMON "energy1_label", "card");
        host_script_file(bench->host, HWMON "energy1_input", energy_at_100_watts, NULL);
        host_script_link(bench->host, HWMON "device", "../../../0000:03:00.0");
        open_meter(bench);
        pass(bench, 10);
        double watts = machine_mean_watts(bench->meter, JOULE_TOTAL);
        assert_true(fabs(watts - 100) < 0.5);
        joule_device device = {.struct_size = sizeof device};
        assert_int_equal(joule_device_count(bench->meter), 1);
        assert_int_equal(joule_device_get(bench->meter, 0, &device), JOULE_OK);
        joule_domain domain = {.struct_size = sizeof domain};
        assert_int_equal(joule_domain_get(bench->meter, (size_t)device.domain, &domain), JOULE_OK);
        assert_string_equal(domain.source, "hwmon");
        assert_string_equal(device.model, "Intel(R) Arc(TM) Pro B70 Graphics");
        assert_true(device.temperature_celsius == 61.5);
        assert_true(fabs(device.busy - 0.75) < 1e-6);
        struct cover cover;
        meter_cover(bench->meter, JOULE_TOTAL, bench->meter->begin_ns, meter_now_ns(bench->meter), &cover);
        assert_false(cover.is_partial);
        machine_teardown(state);
        machine_setup(state);
    }
}

/* --- boards with few values ----------------------------------------------------------------------------- */

static void test_denied_energy_has_a_remedy(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, "energy=-2; engines=-1");
    const struct channel *ch = machine_require_channel(bench->meter, "gpu-0");
    assert_int_equal(ch->info.state, JOULE_DENIED);
    assert_contains(ch->info.remedy, "CAP_PERFMON");
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0-busy")->info.state, JOULE_DENIED);
    assert_contains(machine_require_channel(bench->meter, "gpu-0-busy")->info.remedy, "cap_perfmon");
    assert_true(machine_require_channel(bench->meter, "gpu-0-temperature")->gauge == 61.5);
}

static void test_denied_properties_leave_energy_unsupported(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, "denied=1");
    /* the driver lists domains, but does not describe them */
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0")->info.state, JOULE_UNSUPPORTED);
    assert_true(device_of(bench, 0)->facts.memory_total_bytes == JOULE_BYTES_UNKNOWN);
}

static void test_missing_values_are_unsupported(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, "energy=0; engines=0; celsius=-300; memory_celsius=-300; memory_gib=0");
    const struct channel *ch = machine_require_channel(bench->meter, "gpu-0");
    assert_int_equal(ch->info.state, JOULE_UNSUPPORTED);
    assert_contains(ch->info.remedy, "hwmon");
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0-busy")->info.state, JOULE_UNSUPPORTED);
    assert_null(machine_channel(bench->meter, "gpu-0-temperature"));
    const struct device_facts *facts = &device_of(bench, 0)->facts;
    assert_true(facts->memory_total_bytes == JOULE_BYTES_UNKNOWN);
    assert_true(isnan(facts->limit_watts));
}

static void test_graphics_in_a_processor_have_no_counter(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, "energy=0; integrated=1; bus=0");
    assert_null(machine_channel(bench->meter, "gpu-0"));
    assert_string_equal(device_of(bench, 0)->pci_address, "0000:00:02.0");
    assert_true(fabs(machine_require_channel(bench->meter, "gpu-0-busy")->gauge - 0.75) < 1e-6);
}

static void test_a_neural_processor_is_no_gpu(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, "cards=2; 0.type=5; 1.watts=40");
    assert_int_equal(machine_source(bench->meter, "level_zero")->device_count, 1);
    assert_string_equal(device_of(bench, 0)->pci_address, "0000:04:00.0");
    assert_watts(bench, "gpu-0", 40);
}

static void test_only_a_neural_processor(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, "type=5");
    assert_state(bench, JOULE_ABSENT, "no GPU");
    assert_int_equal(machine_source(bench->meter, "level_zero")->channel_count, 0);
}

static void test_a_board_that_is_listed_twice(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, "cards=2; bus=3");
    assert_int_equal(machine_source(bench->meter, "level_zero")->device_count, 1);
    assert_watts(bench, "gpu-0", machine_mean_watts(bench->meter, JOULE_TOTAL));
}

/* --- gauges and facts ----------------------------------------------------------------------------------- */

static void test_board_has_its_facts(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, "used_gib=3; limit_watts=190");
    const struct device *device = device_of(bench, 0);
    assert_string_equal(device->name, "gpu:0");
    assert_string_equal(device->vendor, "intel");
    assert_string_equal(device->model, "Intel(R) Arc(TM) Pro B70 Graphics");
    assert_string_equal(device->uuid, "868023e2-0000-0000-0300-000000000000");
    assert_string_equal(device->pci_address, "0000:03:00.0");
    assert_int_equal(device->state, JOULE_OK);
    assert_true(device->facts.memory_total_bytes == UINT64_C(16) << 30);
    assert_true(device->facts.memory_used_bytes == UINT64_C(3) << 30);
    assert_true(device->facts.memory_free_bytes == UINT64_C(13) << 30);
    assert_true(device->facts.limit_watts == 190);
    assert_true(device->facts.default_limit_watts == 190);
    assert_true(isnan(device->facts.min_limit_watts));
}

static void test_the_older_function_for_limits(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, "limit_watts=190; limits_extended=0");
    assert_true(device_of(bench, 0)->facts.limit_watts == 190);
}

static void test_gauges_are_read(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, "celsius=61.5; memory_celsius=72; busy=0.4; engine_all=1; copy_busy=0.9");
    assert_true(machine_require_channel(bench->meter, "gpu-0-temperature")->gauge == 61.5);
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0-temperature")->role, ROLE_TEMPERATURE);
    assert_true(machine_require_channel(bench->meter, "gpu-0-memory-temperature")->gauge == 72);
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0-memory-temperature")->role,
                     ROLE_MEMORY_TEMPERATURE);
    /* the busy fraction of the engine group that contains all engines */
    assert_true(fabs(machine_require_channel(bench->meter, "gpu-0-busy")->gauge - 0.4) < 1e-6);
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0-busy")->role, ROLE_BUSY);
}

static void test_the_busiest_of_single_engines(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, "busy=0.4; engine_all=0; copy_busy=0.9");
    assert_true(fabs(machine_require_channel(bench->meter, "gpu-0-busy")->gauge - 0.9) < 1e-6);
}

/* Reading engines keeps the board awake, so a measurement without devices does not read them. */
static void test_engines_are_left_alone_where_joules_are_measured(void **state)
{
    struct machine_bench *bench = *state;
    prepare(bench, "");
    host_script_library(bench->host, "libze_loader.so.1", fake.symbols, fake.count);
    bench->meter = machine_open(bench->host, "level_zero");
    pass(bench, 5);
    assert_watts(bench, "gpu-0", 100);
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0-busy")->readings, 0);
    const struct lz_source *lz = machine_source(bench->meter, "level_zero")->data;
    assert_false(lz->boards[0].has_searched_engines);
}

static void test_garbage_is_no_temperature(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, "celsius=65535");
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0-temperature")->info.state, JOULE_FAILED);
    assert_true(isnan(machine_require_channel(bench->meter, "gpu-0-temperature")->gauge));
}

/* --- faulty drivers ------------------------------------------------------------------------------------- */

static void test_a_lost_board(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, "cards=2; 0.lost_at_ms=5000; 1.watts=40");
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0")->info.state, JOULE_FAILED);
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0-busy")->info.state, JOULE_FAILED);
    assert_int_equal(device_of(bench, 0)->state, JOULE_FAILED);
    assert_int_equal(machine_require_channel(bench->meter, "gpu-1")->info.state, JOULE_OK);
    assert_watts(bench, "gpu-1", 40);
}

static void test_a_passing_failure(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, "watts=100; sleep_at_ms=4000");
    const struct channel *ch = machine_require_channel(bench->meter, "gpu-0");
    assert_int_equal(ch->failures, 0);
    assert_int_equal(ch->info.state, JOULE_OK);
    /* the counter continued while the board could not be read, so no energy is missing */
    assert_watts(bench, "gpu-0", 100);
}

static void test_a_sleeping_board_is_not_woken(void **state)
{
    struct machine_bench *bench = *state;
    prepare(bench, "");
    host_script_text(bench->host, CARD "power/runtime_status", "active");
    open_meter(bench);
    pass(bench, 1);
    host_script_text(bench->host, CARD "power/runtime_status", "suspended");
    unsigned long calls = fake.calls();
    pass(bench, 3);
    assert_int_equal(fake.calls(), calls);
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0")->info.state, JOULE_STALE);
    assert_int_equal(device_of(bench, 0)->state, JOULE_STALE);
    host_script_text(bench->host, CARD "power/runtime_status", "active");
    pass(bench, 1);
    assert_int_equal(machine_require_channel(bench->meter, "gpu-0")->info.state, JOULE_OK);
}

static void test_the_library_wakes_no_board(void **state)
{
    struct machine_bench *bench = *state;
    prepare(bench, "");
    host_script_text(bench->host, CARD "vendor", "0x8086");
    host_script_text(bench->host, CARD "class", "0x030000");
    host_script_text(bench->host, CARD "power/runtime_status", "suspended");
    unsigned long calls = fake.calls();
    open_meter(bench);
    assert_state(bench, JOULE_ABSENT, "is suspended");
    assert_int_equal(fake.calls(), calls);
}

static void test_error_codes_have_statuses_and_remedies(void **state)
{
    static const struct {
        lz_code code;
        joule_status status;
        const char *word;
    } cases[] = {
        {ZE_RESULT_ERROR_UNINITIALIZED, JOULE_ABSENT, "libze_intel_gpu.so.1"},
        {ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE, JOULE_ABSENT, "libze_intel_gpu.so.1"},
        {ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS, JOULE_DENIED, "/dev/dri/renderD"},
        {ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, JOULE_UNSUPPORTED, "ZES_ENABLE_SYSMAN"},
        {ZE_RESULT_ERROR_DEVICE_LOST, JOULE_FAILED, "0x70000001"},
        {ZE_RESULT_ERROR_UNKNOWN, JOULE_FAILED, "0x7ffffffe"},
    };
    static const char *const keys[] = {"init_code", "device_code"};
    struct machine_bench *bench = *state;
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        char script[64];
        snprintf(script, sizeof script, "%s=%u", keys[i % 2], cases[i / 2].code);
        prepare(bench, script);
        open_meter(bench);
        assert_state(bench, cases[i / 2].status, cases[i / 2].word);
        machine_teardown(state);
        machine_setup(state);
        bench = *state;
    }
    prepare(bench, "cards=0");
    open_meter(bench);
    assert_state(bench, JOULE_ABSENT, "no such GPU");
}

/* --- other versions of the library ---------------------------------------------------------------------- */

static void test_missing_library_is_absent(void **state)
{
    struct machine_bench *bench = *state;
    prepare(bench, "");
    fake.count = 0;
    joule_options options = {.struct_size = sizeof options, .sources = "level_zero"};
    assert_int_equal(meter_open_on(bench->host, false, &options, &bench->meter, NULL), JOULE_OK);
    assert_state(bench, JOULE_ABSENT, "libze1");
}

static void test_an_old_library_needs_the_switch(void **state)
{
    struct machine_bench *bench = *state;
    prepare_age(bench, "1.3", "sysman=0");
    open_meter(bench);
    assert_state(bench, JOULE_UNSUPPORTED, "ZES_ENABLE_SYSMAN=1");
    assert_int_equal(fake.calls(), 0);
}

static void test_an_old_library_with_the_switch(void **state)
{
    struct machine_bench *bench = *state;
    prepare_age(bench, "1.3", "sysman=1; watts=100; extension=0");
    host_script_env(bench->host, "ZES_ENABLE_SYSMAN", "1");
    open_meter(bench);
    pass(bench, 10);
    assert_watts(bench, "gpu-0", 100);
    assert_true(device_of(bench, 0)->facts.limit_watts == 275);
}

static void test_two_modes_never_meet(void **state)
{
    struct machine_bench *bench = *state;
    run(bench, "sysman=0");
    assert_int_equal(machine_source(bench->meter, "level_zero")->state, JOULE_OK);
    assert_false(fake.is_mixed());
    machine_teardown(state);
    machine_setup(state);
    bench = *state;
    /* the program has set ZES_ENABLE_SYSMAN, which selects the older mode */
    prepare(bench, "sysman=1; watts=100");
    host_script_env(bench->host, "ZES_ENABLE_SYSMAN", "1");
    open_meter(bench);
    pass(bench, 10);
    assert_watts(bench, "gpu-0", 100);
    assert_false(fake.is_mixed());
}

/* If a symbol is missing, the source works without it or reports an error. */
static void test_each_symbol_may_be_missing(void **state)
{
    prepare(*state, "");
    size_t count = fake.count;
    for (size_t missing = 0; missing < count; missing++) {
        struct machine_bench *bench = *state;
        prepare(bench, "");
        char name[64];
        snprintf(name, sizeof name, "%s", fake.symbols[missing].name);
        fake.symbols[missing] = fake.symbols[--fake.count];
        open_meter(bench);
        pass(bench, 2);
        bool is_vital = strcmp(name, "zesInit") == 0 || strcmp(name, "zesDriverGet") == 0 ||
                        strcmp(name, "zesDeviceGet") == 0 || strcmp(name, "zesDeviceGetProperties") == 0 ||
                        strcmp(name, "zesDevicePciGetProperties") == 0;
        assert_int_equal(machine_source(bench->meter, "level_zero")->state,
                         is_vital ? JOULE_UNSUPPORTED : JOULE_OK);
        bool has_energy = !strstr(name, "zesPowerGetProperties") &&
                          !strstr(name, "zesPowerGetEnergyCounter") &&
                          !strstr(name, "zesDeviceEnumPowerDomains");
        if (!is_vital)
            assert_int_equal(machine_require_channel(bench->meter, "gpu-0")->info.state,
                             has_energy ? JOULE_OK : JOULE_UNSUPPORTED);
        machine_teardown(state);
        machine_setup(state);
    }
}

/* --- a call that hangs ---------------------------------------------------------------------------------- */

static int64_t real_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static const struct lane *lane_of(joule_meter *meter)
{
    for (size_t i = 0; i < meter->lane_count; i++)
        if (strcmp(meter->lanes[i]->sources[0]->ops->name, "level_zero") == 0)
            return meter->lanes[i];
    fail_msg("the source has no lane");
    return NULL;
}

static void test_hanging_call_delays_no_lane(void **state)
{
    struct machine_bench *bench = *state;
    joule_meter *meter;
    joule_options options = {
        .struct_size = sizeof options, .period_s = 0.01, .wait_s = 5, .sources = "level_zero,estimated"};
    prepare(bench, "block_at_ms=300; block_s=30");
    fake.set_time(-1); /* the fake uses the machine's clock */
    setenv("JOULE_LEVEL_ZERO_LIB", TEST_BINARY_DIR "/fakes/level_zero/1.17/libze_loader.so.1", 1);
    assert_int_equal(joule_open(&options, &meter, NULL), JOULE_OK);
    const struct lane *slow = lane_of(meter);
    uint64_t ticks = UINT64_MAX;
    int64_t begin_ns = real_ns();
    while (slow->ticks != ticks && real_ns() - begin_ns < 20 * INT64_C(1000000000)) {
        ticks = slow->ticks;
        nanosleep(&(struct timespec){0, 500000000}, NULL);
    }
    uint64_t prompt = meter->lanes[0]->ticks;
    begin_ns = real_ns();
    while (meter->lanes[0]->ticks < prompt + 20 && real_ns() - begin_ns < 20 * INT64_C(1000000000))
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    assert_true(meter->lanes[0]->ticks >= prompt + 20);
    assert_int_equal(slow->ticks, ticks);
    begin_ns = real_ns();
    joule_close(meter);
    assert_true(real_ns() - begin_ns < 1000000000);
    unsetenv("JOULE_LEVEL_ZERO_LIB");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, machine_setup, machine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_card_is_the_board),
        TEST(test_the_package_stands_in_for_the_card),
        TEST(test_driver_without_domain_properties_is_read),
        TEST(test_one_domain_of_unknown_kind),
        TEST(test_tiles_are_never_added),
        TEST(test_a_count_that_falls_is_a_gap),
        TEST(test_a_count_that_stands_still_is_not_trusted),
        TEST(test_the_same_stamp_is_the_same_count),
        TEST(test_stamps_may_be_of_another_clock),
        TEST(test_hwmon_is_preferred),
        TEST(test_denied_energy_has_a_remedy),
        TEST(test_denied_properties_leave_energy_unsupported),
        TEST(test_missing_values_are_unsupported),
        TEST(test_graphics_in_a_processor_have_no_counter),
        TEST(test_a_neural_processor_is_no_gpu),
        TEST(test_only_a_neural_processor),
        TEST(test_a_board_that_is_listed_twice),
        TEST(test_board_has_its_facts),
        TEST(test_the_older_function_for_limits),
        TEST(test_gauges_are_read),
        TEST(test_the_busiest_of_single_engines),
        TEST(test_engines_are_left_alone_where_joules_are_measured),
        TEST(test_garbage_is_no_temperature),
        TEST(test_a_lost_board),
        TEST(test_a_passing_failure),
        TEST(test_a_sleeping_board_is_not_woken),
        TEST(test_the_library_wakes_no_board),
        TEST(test_error_codes_have_statuses_and_remedies),
        TEST(test_missing_library_is_absent),
        TEST(test_an_old_library_needs_the_switch),
        TEST(test_an_old_library_with_the_switch),
        TEST(test_two_modes_never_meet),
        TEST(test_each_symbol_may_be_missing),
        TEST(test_hanging_call_delays_no_lane), /* this test is last, because its thread outlives the meter */
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
