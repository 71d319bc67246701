/* Tests regions on a machine with two devices: regions that claim only some devices, spans with timestamps of
 * another clock, the hook that is called at the begin and end of regions, and two meters. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "support/check.h"
#include "support/machine.h"
#include "support/region_bench.h"

static void regions_claim_devices(void **state)
{
    struct bench *bench = *state;
    bench_run(bench, 1.2);
    joule_region cpu = bench_put(bench, 0, joule_tag("c"), JOULE_REGION_CPU, 0.2, 0.8);
    joule_region gpu = bench_put(bench, 1, joule_tag("g"), JOULE_REGION_GPU | SPAN_SYNCHRONISED, 0.2, 0.8);
    joule_region all = bench_put(bench, 2, joule_tag("a"), 0, 0.4, 0.8);
    bench_run(bench, 0.3);
    joule_result c = bench_result(bench, &cpu, JOULE_OK), g = bench_result(bench, &gpu, JOULE_OK),
                 a = bench_result(bench, &all, JOULE_OK);
    assert_near(c.window.value, 30, 0.01);
    assert_near(c.attributed.value, 10 + 10, 0.01);
    assert_true(isnan(c.gpu.value));
    assert_near(g.window.value, 120, 0.1);
    assert_near(g.attributed.value, 40 + 40, 0.1);
    assert_true(isnan(g.cpu.value));
    assert_int_equal(g.unsynchronised, 0);
    assert_near(a.window.value, 100, 0.1);
    assert_near(a.cpu.value, 20, 0.01);
    assert_near(a.gpu.value, 80, 0.1);
    assert_near(a.attributed.value, 50, 0.1);
}

/* The energy of each device belongs to the innermost region that claims the device, even if regions further
 * inside do not. */
static void inner_region_gets_energy_of_claimed_devices_only(void **state)
{
    struct bench *bench = *state;
    bench_run(bench, 1.2);
    joule_region outer = bench_put(bench, 0, joule_tag("step"), 0, 0.2, 0.8);
    joule_region inner = bench_put(bench, 0, joule_tag("kernel"), JOULE_REGION_GPU, 0.4, 0.6);
    bench_run(bench, 0.3);
    joule_result o = bench_result(bench, &outer, JOULE_OK), i = bench_result(bench, &inner, JOULE_OK);
    assert_near(o.attributed.value, 0.6 * 250, 0.1);
    assert_near(o.self.value, 0.6 * 50 + 0.4 * 200, 0.1);
    assert_near(i.self.value, 0.2 * 200, 0.1);
    assert_int_equal(i.unsynchronised, 1);
    assert_int_equal(bench_tag(bench, joule_tag("kernel"), JOULE_OK).unsynchronised, 1);
}

static int hook_calls;

static void hook(void *context)
{
    (*(int *)context)++;
}

static void the_hook_is_called_at_both_edges(void **state)
{
    (void)state;
    joule_set_sync(hook, &hook_calls);
    hook_calls = 0;
    joule_region gpu = joule_begin_with(1, JOULE_REGION_GPU);
    assert_int_equal(hook_calls, 1);
    joule_end(&gpu);
    assert_int_equal(hook_calls, 2);
    joule_region all = joule_begin(1), cpu = joule_begin_with(1, JOULE_REGION_CPU);
    joule_end(&cpu);
    joule_end(&all);
    assert_int_equal(hook_calls, 2);
    gpu = joule_begin_with(1, JOULE_REGION_GPU);
    joule_set_sync(NULL, NULL);
    joule_end(&gpu);
    assert_false(gpu.flags & SPAN_SYNCHRONISED);
}

static joule_status add_span(struct bench *bench, uint32_t tag, double begin_s, double end_s)
{
    /* The span's clock counts microseconds. It is 0 when our clock shows 500 s, and it runs 1 % too fast. */
    double scale_ns = 1000 / 1.01;
    joule_span span = {.struct_size = sizeof span,
                       .tag = tag,
                       .flags = JOULE_REGION_GPU,
                       .device_index = -1,
                       .begin = ((BENCH_START_S + begin_s) * 1e9 - 500e9) / scale_ns,
                       .end = ((BENCH_START_S + end_s) * 1e9 - 500e9) / scale_ns,
                       .offset_ns = 500e9,
                       .scale_ns = scale_ns,
                       .error_ns = 1000};
    return joule_span_add(bench->meter, &span);
}

static void foreign_spans_share_like_threads(void **state)
{
    struct bench *bench = *state;
    uint32_t tag = joule_tag("stream");
    bench_run(bench, 1.2);
    assert_int_equal(add_span(bench, tag, 0.3, 0.7), JOULE_OK);
    assert_int_equal(add_span(bench, tag, 0.5, 0.9), JOULE_OK);
    joule_region host = bench_put(bench, 0, joule_tag("host"), JOULE_REGION_CPU, 0.3, 0.9);
    bench_run(bench, 2); /* spans may arrive up to a second late */
    joule_result r = bench_tag(bench, tag, JOULE_OK), h = bench_result(bench, &host, JOULE_OK);
    assert_int_equal(r.count, 2);
    assert_near(r.coverage, 1, 1e-6);
    assert_near(r.window.value, 160, 0.1);
    assert_near(r.attributed.value, 0.6 * 200, 0.1);
    assert_int_equal(r.unsynchronised, 0);
    assert_near(h.attributed.value, 30, 0.01);
}

static void late_spans_report_missed_energy_and_are_awaited(void **state)
{
    struct bench *bench = *state;
    uint32_t late = joule_tag("late span"), next = joule_tag("next span"), busy = joule_tag("busy");
    bench_run(bench, 0.5);
    /* an open region, so that energy continues to be attributed */
    unsigned index = bench_open(bench, 0, busy, 0.5);
    bench_run(bench, 4);
    assert_int_equal(add_span(bench, late, 1.5, 2.5), JOULE_OK);
    bench_run(bench, 11);
    assert_true(bench_tag(bench, late, JOULE_OK).coverage < 0.1);
    /* this span is as late as the first one, but now the meter waits for late spans */
    assert_int_equal(add_span(bench, next, 12.5, 13.5), JOULE_OK);
    bench_tag(bench, next, JOULE_PENDING);
    bench_run(bench, 15);
    joule_result r = bench_tag(bench, next, JOULE_OK);
    assert_near(r.coverage, 1, 1e-6);
    assert_near(r.attributed.value, 100, 0.1);
    bench_close(bench, 0, index, busy, 0.5, 30, 0);
}

static void invalid_spans_are_refused(void **state)
{
    struct bench *bench = *state;
    assert_int_equal(add_span(bench, 1, 0.5, 0.4), JOULE_INVALID);
    assert_int_equal(add_span(bench, 1, NAN, 0.4), JOULE_INVALID);
    assert_int_equal(add_span(bench, 1, 0.5, INFINITY), JOULE_INVALID);
    assert_int_equal(add_span(bench, 1, 0.5, 1e9), JOULE_INVALID);
    assert_int_equal(add_span(bench, 1, -1e9, 0.1), JOULE_INVALID);
    assert_int_equal(joule_span_add(bench->meter, NULL), JOULE_INVALID);
}

/* If a process has two meters, each of them gets every region. */
static void two_meters_get_every_region(void **state)
{
    struct bench *bench = *state;
    joule_meter *second = machine_open(bench->host, "rapl_powercap");
    uint32_t tag = joule_tag("both");
    for (int i = 0; i < 10; i++) {
        bench_run(bench, BENCH_TICK_S);
        meter_tick(second);
        if (i == 5)
            bench_put(bench, 0, tag, JOULE_REGION_CPU, 0.2, 0.4);
    }
    joule_result r = {.struct_size = sizeof r};
    assert_int_equal(joule_tag_result(second, tag, &r), JOULE_OK);
    assert_near(r.window.value, 10, 0.01);
    assert_near(bench_tag(bench, tag, JOULE_OK).window.value, 10, 0.01);
    joule_close(second);
}

#define BOARD(test) cmocka_unit_test_setup_teardown(test, bench_set_up_with_board, bench_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOARD(regions_claim_devices),
        BOARD(inner_region_gets_energy_of_claimed_devices_only),
        BOARD(the_hook_is_called_at_both_edges),
        BOARD(foreign_spans_share_like_threads),
        BOARD(late_spans_report_missed_energy_and_are_awaited),
        BOARD(invalid_spans_are_refused),
        BOARD(two_meters_get_every_region),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
