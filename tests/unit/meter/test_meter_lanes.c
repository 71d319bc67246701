/* Tests which sources and threads a meter starts, and when. It starts none for devices that cannot exist, and
 * reads gauges only if they are requested. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "joule/api/open.h"
#include "joule/meter/meter_lanes.h"
#include "support/check.h"
#include "support/machine.h"

#define PATIENCE_NS (20 * NS_PER_S)

static joule_meter *open_meter(const char *sources, uint32_t flags, bool watches)
{
    joule_meter *meter;
    joule_error error;
    joule_options options = {.struct_size = sizeof options,
                             .flags = flags | JOULE_OPEN_NO_SESSION,
                             .sources = sources,
                             .root = machine_fixture("accelerators")};
    assert_ok(meter_open(&options, watches, &meter, &error), &error);
    return meter;
}

static const struct source *find(joule_meter *meter, const char *name, struct lane **out_lane)
{
    for (size_t l = 0; l < meter->lane_count; l++)
        for (size_t s = 0; s < meter->lanes[l]->source_count; s++)
            if (strcmp(meter->lanes[l]->sources[s]->ops->name, name) == 0) {
                *out_lane = meter->lanes[l];
                return meter->lanes[l]->sources[s];
            }
    fail_msg("no source %s", name);
    return NULL;
}

static void test_sources_without_energy_start_on_request(void **state)
{
    (void)state;
    struct lane *lane;
    joule_meter *meter = open_meter(NULL, 0, false);
    const struct source *source = find(meter, "accelerators", &lane);
    assert_true(lane->is_late);
    assert_false(lane->has_thread);
    assert_int_equal(source->state, JOULE_PENDING);
    /* the call does not wait for a lane that reads no energy */
    assert_true(meter_lanes_wait(meter, clock_now_ns() + PATIENCE_NS));
    assert_true(meter_watch(meter));
    assert_true(lane->has_thread);
    assert_true(lane_wait_opened(lane, clock_now_ns() + PATIENCE_NS));
    assert_int_equal(source->state, JOULE_OK);
    joule_close(meter);
}

static void test_with_devices_all_sources_start_at_once(void **state)
{
    (void)state;
    struct lane *lane;
    joule_meter *meter = open_meter(NULL, JOULE_OPEN_DEVICES, false);
    find(meter, "accelerators", &lane);
    assert_false(lane->is_late);
    assert_true(meter_lanes_wait(meter, clock_now_ns() + PATIENCE_NS));
    assert_int_equal(joule_device_count(meter), 6);
    joule_close(meter);
}

static void test_what_the_machine_cannot_have_is_not_opened(void **state)
{
    (void)state;
    static const struct {
        const char *sources;
        uint32_t flags;
        bool is_opened;
    } cases[] = {
        {NULL, 0, false}, {"-nvml", 0, false}, {"hwmon", 0, true}, {"-nvml", JOULE_OPEN_DEVICES, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lane *lane;
        joule_meter *meter = open_meter(cases[i].sources, cases[i].flags, false);
        const struct source *source = find(meter, "hwmon", &lane);
        assert_ptr_equal(lane, meter->lanes[0]); /* the source has no thread of its own */
        assert_int_equal(source->state, JOULE_ABSENT);
        bool has_reason = strcmp(source->remedy, "this machine has no hardware for this source") != 0;
        assert_int_equal(has_reason, cases[i].is_opened);
        joule_close(meter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sources_without_energy_start_on_request),
        cmocka_unit_test(test_with_devices_all_sources_start_at_once),
        cmocka_unit_test(test_what_the_machine_cannot_have_is_not_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
