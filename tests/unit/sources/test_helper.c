/* Tests libjoule as a client of joule-helper, with a helper that answers, answers late, ends, restarts with
 * other sensors, or sends invalid bytes. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "base/string.h"
#include "joule/sources/helper/helper_wire.h"
#include "support/check.h"
#include "support/machine.h"

#define ADDRESS "unix:" HELPER_SOCKET
#define WATTS   40.0

/* A simulated helper. Its counters rise at 40 W from its start. */
static struct fake {
    struct joule_host *host;
    struct channel channels[2];
    size_t count;
    int64_t begun_ns;
    double watts;
    joule_status status; /* status of each value */
    int refuses;         /* errno of a refused connection; 0 means that it is accepted */
    bool is_late, has_gone, is_nonsense;
    uint16_t version;
    int64_t skew_ns;
    int64_t stands_ns; /* timestamp of every value; 0 means the current time */
    unsigned hellos, reads;
    uint8_t late[4096];
    size_t late_length;
} fake;

static int64_t now_ns(void)
{
    return fake.host->ops->clock_ns(fake.host, CLOCK_MONOTONIC);
}

static size_t write_reply(const struct helper_request *request, uint8_t *reply)
{
    bool is_hello = request->kind == HELPER_HELLO, speaks = fake.version == request->version;
    struct helper_header header = {fake.version,
                                   speaks ? request->kind : HELPER_REFUSAL,
                                   request->sequence,
                                   speaks ? (uint32_t)fake.count : 0,
                                   now_ns() + fake.skew_ns,
                                   1000000};
    size_t size = HELPER_HEADER_BYTES;
    helper_write_header(&header, reply);
    for (size_t i = 0; i < header.count; i++) {
        double joules = fake.watts * (double)(now_ns() - fake.begun_ns) * 1e-9;
        double grain = fake.channels[i].counter.grain_joules;
        joules = grain > 0 ? floor(joules / grain) * grain : joules;
        bool is_power = fake.channels[i].mode == CHANNEL_POWER;
        int64_t stamp_ns = fake.stands_ns ? fake.stands_ns : now_ns() + fake.skew_ns;
        struct helper_value value = {
            stamp_ns, stamp_ns, is_power ? helper_raw_of(fake.watts) : (uint64_t)(joules * 1e6), fake.status};
        if (is_hello)
            helper_write_channel(&fake.channels[i], reply + size);
        else
            helper_write_value(&value, reply + size);
        size += is_hello ? HELPER_CHANNEL_BYTES : HELPER_VALUE_BYTES;
    }
    return size;
}

static ssize_t answer(void *context, const void *bytes, size_t length, void *reply, size_t size)
{
    (void)context, (void)size;
    struct helper_request request;
    if (fake.has_gone || (!bytes && fake.refuses))
        return bytes ? -ECONNRESET : -fake.refuses;
    if (!bytes)
        fake.late_length = 0; /* late bytes of the previous connection are lost */
    if (length == 0) {        /* the client asks whether late bytes have arrived */
        size_t ready = fake.is_late ? 0 : fake.late_length;
        memcpy(reply, fake.late, ready);
        fake.late_length -= ready;
        return (ssize_t)ready;
    }
    assert_int_equal(length, HELPER_REQUEST_BYTES);
    assert_true(helper_read_request(bytes, &request));
    assert_int_equal(fake.late_length, 0); /* there must be one request at a time */
    fake.hellos += request.kind == HELPER_HELLO;
    fake.reads += request.kind == HELPER_READ;
    if (!fake.is_late) {
        size_t written = write_reply(&request, reply);
        if (fake.is_nonsense)
            memset((uint8_t *)reply + 8, 0xa5, written - 8);
        return (ssize_t)written;
    }
    fake.late_length = write_reply(&request, fake.late);
    return 0;
}

static struct channel offered(enum channel_mode mode, const char *name, const char *zone, joule_scope scope)
{
    struct channel ch = {.mode = mode,
                         .gain_sd = 0.02,
                         .cause = CAUSE(CAUSE_RAPL_GAIN, 0),
                         .rank = RANK_POWERCAP,
                         .counter = {.modulus = UINT64_C(262143328850),
                                     .unit_joules = 1e-6,
                                     .max_watts = 2000,
                                     .tick_s = 0.001},
                         .integrator = {.period_s = 0.1, .averaged_part = 1, .max_watts = 2000}};
    ch.info =
        (joule_domain){.scope = scope, .cls = JOULE_CLASS_MEASURED, .tier = 2, .update_period_s = 0.001};
    string_copy(ch.info.name, sizeof ch.info.name, name);
    string_copy(ch.info.label, sizeof ch.info.label, "package-0");
    string_copy(ch.info.source, sizeof ch.info.source, "rapl_powercap");
    string_copy(ch.info.measurement, sizeof ch.info.measurement, "rapl");
    string_copy(ch.zone, sizeof ch.zone, zone);
    return ch;
}

static int set_up(void **state)
{
    machine_setup(state);
    struct machine_bench *bench = *state;
    fake = (struct fake){.host = bench->host, .count = 1, .version = HELPER_VERSION, .watts = WATTS};
    fake.channels[0] = offered(CHANNEL_COUNTER, "package-0", "cpu0/package", JOULE_SCOPE_PACKAGE);
    fake.channels[1] = offered(CHANNEL_POWER, "dram-0", "cpu0/dram", JOULE_SCOPE_DRAM);
    return host_script_service(bench->host, ADDRESS, answer, NULL) ? 0 : -1;
}

static joule_meter *open_it(void **state, const char *sources)
{
    struct machine_bench *bench = *state;
    return bench->meter = machine_open(bench->host, sources);
}

static double total_joules(joule_meter *meter)
{
    return meter_energy(meter, JOULE_TOTAL).joules.value;
}

static void test_counter_and_power(void **state)
{
    fake.count = 2;
    joule_meter *meter = open_it(state, "helper");
    machine_run(meter, 5, 0.1);
    const struct channel *ch = machine_channel(meter, "package-0");
    assert_string_equal(ch->info.source, "helper");
    assert_string_equal(ch->info.label, "package-0 (rapl_powercap)");
    assert_int_equal(ch->rank, RANK_HELPER);
    assert_true(fabs(machine_watts(meter, "package-0") - WATTS) < 0.2);
    assert_true(fabs(machine_watts(meter, "dram-0") - WATTS) < 1);
    assert_int_equal(fake.hellos, 1);
}

/* This process may not read the zone, but the helper can read it: the total is complete. */
static void test_a_denied_zone_is_no_gap(void **state)
{
    struct machine_bench *bench = *state;
    struct sensor *none = NULL;
    machine_put_zone(bench->host, "intel-rapl:0", "package-0", "262143328850", none);
    host_script_error(bench->host, "/sys/class/powercap/intel-rapl:0/energy_uj", EACCES);
    joule_meter *meter = open_it(state, "rapl_powercap,helper");
    machine_run(meter, 2, 0.1);
    struct cover cover;
    meter_cover(meter, JOULE_TOTAL, meter->begin_ns, meter_now_ns(meter), &cover);
    assert_int_equal(cover.count, 1);
    assert_false(cover.is_partial);
    assert_string_equal(meter->channels[cover.ids[0]].channel->info.source, "helper");
}

static void test_late_answers_count(void **state)
{
    joule_meter *meter = open_it(state, "helper");
    machine_run(meter, 1, 0.1);
    for (int i = 0; i < 10; i++) {
        fake.is_late = true;
        /* in the second round of readings, the answer to the first request has not arrived yet */
        machine_run(meter, 0.2, 0.1);
        fake.is_late = false;
        machine_run(meter, 0.2, 0.1);
    }
    assert_int_equal(fake.hellos, 1); /* the connection stayed open */
    assert_true(fabs(machine_mean_watts(meter, JOULE_TOTAL) - WATTS) < 2);
    assert_int_equal(machine_channel(meter, "package-0")->counter.rejected, 0);
}

static void test_hanging_helper_is_asked_at_growing_intervals(void **state)
{
    joule_meter *meter = open_it(state, "helper");
    machine_run(meter, 1, 0.1);
    fake.is_late = true;
    machine_run(meter, 60, 0.1);
    assert_int_equal(machine_channel(meter, "package-0")->info.state, JOULE_STALE);
    assert_true(fake.hellos > 3 && fake.hellos < 14); /* requests are repeated at growing intervals */
    fake.is_late = false;
    machine_run(meter, 12, 0.1);
    assert_int_equal(machine_channel(meter, "package-0")->info.state, JOULE_OK);
}

/* After a restart the helper's counts begin at another value, which is higher or lower. Counts of an event
 * that is closed and opened again behave in the same way. */
static void test_a_restart_makes_no_joules(void **state)
{
    joule_meter *meter = open_it(state, "helper");
    machine_run(meter, 2, 0.1);
    for (int i = -1; i <= 1; i += 2) {
        double before = total_joules(meter);
        fake.has_gone = true;
        machine_run(meter, 1, 0.1);
        assert_int_equal(machine_channel(meter, "package-0")->info.state, JOULE_STALE);
        fake.has_gone = false;
        fake.begun_ns += i * 2 * NS_PER_S;
        machine_run(meter, 4, 0.1);
        assert_int_equal(machine_channel(meter, "package-0")->info.state, JOULE_OK);
        double joules = total_joules(meter) - before;
        assert_true(joules > WATTS * 1 && joules < WATTS * 5);
        assert_int_equal(machine_channel(meter, "package-0")->counter.resets, 0);
    }
    assert_true(meter_energy(meter, JOULE_TOTAL).covered_s < 11);
}

static void test_another_list_is_another_helper(void **state)
{
    joule_meter *meter = open_it(state, "helper");
    machine_run(meter, 1, 0.1);
    fake.has_gone = true;
    machine_run(meter, 0.3, 0.1);
    fake.has_gone = false;
    fake.channels[0].counter.unit_joules = 1e-3;
    double before = total_joules(meter);
    machine_run(meter, 5, 0.1);
    assert_int_equal(machine_channel(meter, "package-0")->info.state, JOULE_FAILED);
    assert_true(fabs(total_joules(meter) - before) < 1);
    fake.channels[0].counter.unit_joules = 1e-6;
    machine_run(meter, 12, 0.1);
    assert_int_equal(machine_channel(meter, "package-0")->info.state, JOULE_OK);
}

static void test_a_sensor_that_fails_behind_it(void **state)
{
    joule_meter *meter = open_it(state, "helper");
    machine_run(meter, 1, 0.1);
    fake.status = JOULE_FAILED;
    machine_run(meter, 1, 0.1);
    assert_int_equal(machine_channel(meter, "package-0")->info.state, JOULE_FAILED);
    fake.status = JOULE_OK;
    machine_run(meter, 1, 0.1);
    assert_int_equal(machine_channel(meter, "package-0")->info.state, JOULE_OK);
    assert_true(fabs(machine_mean_watts(meter, JOULE_TOTAL) - WATTS) < 0.5);
}

/* If a later answer is invalid or has a timestamp in the future, the client closes the connection. */
static void test_later_invalid_answers_end_the_connection(void **state)
{
    joule_meter *meter = open_it(state, "helper");
    machine_run(meter, 1, 0.1);
    double before = total_joules(meter);
    fake.is_nonsense = true;
    machine_run(meter, 2, 0.1);
    assert_int_not_equal(machine_channel(meter, "package-0")->info.state, JOULE_OK);
    fake.is_nonsense = false;
    fake.skew_ns = NS_PER_S;
    machine_run(meter, 2, 0.1);
    assert_int_not_equal(machine_channel(meter, "package-0")->info.state, JOULE_OK);
    assert_true(fabs(total_joules(meter) - before) < 1);
}

static void expect_none(void **state, joule_status status, const char *words)
{
    struct machine_bench *bench = *state;
    joule_meter *meter = machine_open(bench->host, "helper");
    assert_int_equal(machine_source(meter, "helper")->state, status);
    assert_contains(machine_source(meter, "helper")->remedy, words);
    assert_int_equal(meter_channel_count(meter), 0);
    joule_close(meter);
}

static void test_missing_helper_has_a_reason(void **state)
{
    struct machine_bench *bench = *state;
    fake.refuses = EACCES;
    expect_none(state, JOULE_DENIED, "usermod -aG joule");
    fake.refuses = ECONNREFUSED;
    expect_none(state, JOULE_ABSENT, "systemctl start");
    fake.refuses = EAGAIN;
    expect_none(state, JOULE_FAILED, "does not answer");
    fake.refuses = 0;
    fake.version = 2;
    expect_none(state, JOULE_UNSUPPORTED, "another protocol version");
    fake.version = HELPER_VERSION;
    fake.is_nonsense = true;
    expect_none(state, JOULE_FAILED, "is not joule-helper");
    fake.is_nonsense = false;
    string_copy(fake.channels[0].info.measurement, sizeof fake.channels[0].info.measurement, "magic");
    expect_none(state, JOULE_FAILED, "is not joule-helper");
    fake.channels[0].counter.unit_joules = NAN;
    expect_none(state, JOULE_FAILED, "is not joule-helper");
    fake.skew_ns = 3600 * NS_PER_S;
    expect_none(state, JOULE_UNSUPPORTED, "time namespace");
    fake.skew_ns = 0;
    fake.count = 0;
    expect_none(state, JOULE_ABSENT, "reads no counter");
    fake.is_late = true;
    expect_none(state, JOULE_FAILED, "does not answer");
    host_script_service(bench->host, ADDRESS, NULL, NULL);
    expect_none(state, JOULE_ABSENT, "there is no socket " HELPER_SOCKET);
    host_script_env(bench->host, "JOULE_HELPER", "/tmp/other");
    expect_none(state, JOULE_ABSENT, "there is no socket /tmp/other");
}

/* Values change in steps of 20 J. The interval of the energy is at least one step wide. At low power, steps
 * are rare, but the counter must not be taken for a constant one. */
static void test_coarse_values_widen_the_interval(void **state)
{
    fake.channels[0].counter.grain_joules = 20;
    fake.channels[0].info.update_period_s = 1;
    joule_meter *meter = open_it(state, "helper");
    machine_run(meter, 20, 0.1);
    struct window w = meter_energy(meter, JOULE_TOTAL);
    joule_quantity joules = estimate_quantity(&w.joules);
    assert_true(fabs(joules.value - 20 * WATTS) <= 40);
    assert_true(joules.high - joules.low > 20);
    fake.begun_ns = now_ns();
    fake.watts = 4;
    for (int i = 0; i < 40; i++) {
        joule_domain domain = {.struct_size = sizeof domain};
        machine_run(meter, 0.5, 0.1);
        assert_int_equal(joule_domain_get(meter, 0, &domain), JOULE_OK);
        assert_int_equal(domain.state, JOULE_OK);
    }
}

/* A board that is measured by the helper is the same device as in every other source. */
static void test_board_behind_the_helper_is_the_same_device(void **state)
{
    fake.channels[0] = offered(CHANNEL_COUNTER, "gpu-1", "gpu1/board", JOULE_SCOPE_GPU);
    fake.channels[1] = offered(CHANNEL_POWER, "gpu-1-power", "gpu1/board", JOULE_SCOPE_GPU);
    for (int i = 0; i < 2; i++) {
        joule_domain *info = &fake.channels[i].info;
        info->tier = 3;
        info->device_index = 1;
        string_copy(info->device, sizeof info->device, "gpu:1");
        string_copy(info->vendor, sizeof info->vendor, "nvidia");
    }
    fake.count = 2;
    joule_meter *meter = open_it(state, "helper");
    machine_run(meter, 2, 0.1);
    joule_device device = {.struct_size = sizeof device};
    assert_int_equal(machine_source(meter, "helper")->device_count, 1);
    assert_int_equal(joule_device_get(meter, 0, &device), JOULE_OK);
    assert_string_equal(device.name, "gpu:1");
    assert_string_equal(device.vendor, "nvidia");
    assert_true(fabs(device.power_watts.value - WATTS) < 1);
    assert_int_equal(meter_energy(meter, JOULE_GPU).joules.value > 0, true);
    struct cover cover;
    meter_cover(meter, JOULE_GPU, meter->begin_ns, meter_now_ns(meter), &cover);
    assert_int_equal(cover.count, 1);
}

/* If a value has the same timestamp as the previous value, it is not a new reading. It covers no time. */
static void test_repeated_power_covers_no_time(void **state)
{
    fake.channels[0] = fake.channels[1];
    joule_meter *meter = open_it(state, "helper");
    machine_run(meter, 2, 0.1);
    double before_s = meter_energy(meter, JOULE_CPU).covered_s;
    fake.stands_ns = now_ns();
    machine_run(meter, 5, 0.1);
    assert_true(meter_energy(meter, JOULE_CPU).covered_s - before_s < 0.2);
    fake.stands_ns = 0;
    machine_run(meter, 2, 0.1);
    double after_s = meter_energy(meter, JOULE_CPU).covered_s;
    assert_true(after_s > before_s + 1.5 && after_s < before_s + 2.5);
}

#define HELPER_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, machine_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HELPER_TEST(test_counter_and_power),
        HELPER_TEST(test_a_denied_zone_is_no_gap),
        HELPER_TEST(test_late_answers_count),
        HELPER_TEST(test_hanging_helper_is_asked_at_growing_intervals),
        HELPER_TEST(test_a_restart_makes_no_joules),
        HELPER_TEST(test_another_list_is_another_helper),
        HELPER_TEST(test_a_sensor_that_fails_behind_it),
        HELPER_TEST(test_later_invalid_answers_end_the_connection),
        HELPER_TEST(test_missing_helper_has_a_reason),
        HELPER_TEST(test_coarse_values_widen_the_interval),
        HELPER_TEST(test_board_behind_the_helper_is_the_same_device),
        HELPER_TEST(test_repeated_power_covers_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
