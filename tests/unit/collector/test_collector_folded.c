/* Tests folded regions. A region is folded if the ring is full at its end: only the number of such regions
 * and their total time are stored. Their energy is attributed in proportion to this time. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>
#include "joule/collector/collector_state.h"
#include "support/check.h"
#include "support/region_bench.h"

#define ROUNDS 10

/* Simulates a thread that spends the fraction `busy` of its time in short regions. A few fit into the ring,
 * the others are folded. */
static void flood(struct bench *bench, unsigned thread, uint32_t tag, double from_s, double busy)
{
    for (int i = 0; i < 10; i++)
        bench_put(bench, thread, tag, 0, from_s + i * 1e-3, from_s + (i + busy) * 1e-3);
    bench_fold(bench, thread, tag, 9000, 0.09 * busy, 0.09 * busy, from_s + BENCH_TICK_S - 1e-6);
}

static void a_flooded_thread_gets_its_energy(void **state)
{
    struct bench *bench = *state;
    uint32_t tag = joule_tag("flood");
    bench_run(bench, 1);
    for (int i = 0; i < ROUNDS; i++) {
        flood(bench, 0, tag, 1 + i * BENCH_TICK_S, 0.8);
        bench_run(bench, BENCH_TICK_S);
    }
    bench_run(bench, 0.3);
    joule_result r = bench_tag(bench, tag, JOULE_OK);
    assert_int_equal(r.count, ROUNDS * 9010);
    assert_int_equal(r.folded, ROUNDS * 9000);
    assert_near(r.duration_s, 0.8, 1e-6);
    assert_near(r.coverage, 1, 1e-3);
    assert_near(r.attributed.value, 40, 0.1);
    assert_near(r.self.value, 40, 0.1);
    assert_near(r.window.value, 40, 0.1);
    assert_true(r.attributed.low < 40 && r.attributed.high > 40);
    assert_int_equal(collector_folded(collector_of(bench->meter)), ROUNDS * 9000);
}

static void folded_calls_nest(void **state)
{
    struct bench *bench = *state;
    uint32_t outer = joule_tag("folded outer"), inner = joule_tag("folded inner");
    bench_run(bench, 1);
    for (int i = 0; i < ROUNDS; i++) {
        double end_s = 1 + (i + 1) * BENCH_TICK_S - 1e-6;
        bench_fold(bench, 0, inner, 900, 0.07, 0.07, end_s);
        bench_fold(bench, 0, outer, 100, 0.09, 0.02, end_s);
        bench_run(bench, BENCH_TICK_S);
    }
    bench_run(bench, 0.3);
    joule_result o = bench_tag(bench, outer, JOULE_OK), i = bench_tag(bench, inner, JOULE_OK);
    assert_near(o.attributed.value, 45, 0.1);
    assert_near(o.self.value, 10, 0.1);
    assert_near(i.attributed.value, 35, 0.1);
    assert_near(i.self.value, 35, 0.1);
}

/* The total time of nested regions of one tag is longer than the elapsed time. Their energy must not exceed
 * the energy that was used. */
static void folded_recursion_gets_at_most_the_energy_used(void **state)
{
    struct bench *bench = *state;
    uint32_t tag = joule_tag("folded recursion");
    bench_run(bench, 1);
    bench_fold(bench, 0, tag, 1000, 0.7, 0.09, 1.09);
    bench_run(bench, 0.4);
    joule_result r = bench_tag(bench, tag, JOULE_OK);
    assert_near(r.attributed.value, 4.5, 0.1);
    assert_near(r.self.value, 4.5, 0.1);
}

static void a_kept_region_around_folded_ones_keeps_its_share(void **state)
{
    struct bench *bench = *state;
    uint32_t outer = joule_tag("kept outer"), inner = joule_tag("folded in it");
    bench_run(bench, 1);
    unsigned index = bench_open(bench, 0, outer, 1);
    for (int i = 0; i < ROUNDS; i++) {
        bench_fold(bench, 0, inner, 1000, 0.06, 0.06, 1 + (i + 1) * BENCH_TICK_S - 1e-6);
        bench_run(bench, BENCH_TICK_S);
    }
    bench_close(bench, 0, index, outer, 1, 2, 0);
    bench_run(bench, 0.3);
    joule_result o = bench_tag(bench, outer, JOULE_OK), i = bench_tag(bench, inner, JOULE_OK);
    assert_near(o.attributed.value, 50, 0.1);
    assert_near(i.attributed.value, 30, 0.1);
    assert_near(o.self.value, 20, 0.3);
}

static void a_flooded_thread_shares_with_others(void **state)
{
    struct bench *bench = *state;
    uint32_t folded = joule_tag("shared folded"), kept = joule_tag("shared kept");
    bench_run(bench, 1);
    unsigned index = bench_open(bench, 1, kept, 1);
    for (int i = 0; i < ROUNDS; i++) {
        bench_fold(bench, 0, folded, 1000, BENCH_TICK_S, BENCH_TICK_S, 1 + (i + 1) * BENCH_TICK_S - 1e-6);
        bench_run(bench, BENCH_TICK_S);
    }
    bench_close(bench, 1, index, kept, 1, 2, 1);
    bench_run(bench, 0.3);
    assert_near(bench_tag(bench, folded, JOULE_OK).attributed.value, 25, 0.1);
    assert_near(bench_tag(bench, kept, JOULE_OK).attributed.value, 25, 0.1);
}

/* Power varies between 20 and 80 W; the thread is in a region for half of each tick. */
static void power_that_wanders_is_in_the_interval(void **state)
{
    struct bench *bench = *state;
    uint32_t tag = joule_tag("wandering");
    bench_run(bench, 1);
    for (int i = 0; i < 20; i++) {
        bench_fold(bench, 0, tag, 1000, 0.05, 0.05, 1 + (i + 1) * BENCH_TICK_S - 1e-6);
        bench_run(bench, BENCH_TICK_S);
    }
    bench_run(bench, 0.3);
    joule_result r = bench_tag(bench, tag, JOULE_OK);
    double truth = (50 * 2 + 30 * (cos(3.0) - cos(9.0)) / 3) / 2;
    assert_true(r.attributed.low <= truth && r.attributed.high >= truth);
    assert_near(r.attributed.value, truth, 0.05 * truth);
}

/* A single folded region gets the energy of its time, with an interval that begins at 0. */
static void a_single_folded_region_is_never_ok_and_unknown(void **state)
{
    struct bench *bench = *state;
    uint32_t tag = joule_tag("single");
    bench_run(bench, 1);
    flood(bench, 0, tag, 1, 0.8);
    bench_run(bench, 0.4);
    joule_region region = {.begin_ns = (uint64_t)bench_at(1.05),
                           .end_ns = (uint64_t)bench_at(1.06),
                           .tag = tag,
                           .slot = 100 | SPAN_NOT_LISTED << 16};
    joule_result r = bench_result(bench, &region, JOULE_OK);
    assert_int_equal(r.folded, 1);
    assert_near(r.window.value, 0.5, 0.01);
    assert_near(r.attributed.value, 0.5, 0.01);
    assert_true(r.attributed.low == 0 && r.attributed.high >= r.window.value);
    assert_int_equal(r.attributed.cls, JOULE_CLASS_DERIVED);
}

/* A folded region of 1 s becomes known at its end. Energy that was attributed before is not attributed again,
 * so the region gets energy only for its last 50 ms. The interval includes the energy of the other 950 ms. */
static void time_that_was_not_shared_widens_the_interval(void **state)
{
    struct bench *bench = *state;
    uint32_t tag = joule_tag("late");
    bench_run(bench, 2);
    bench_fold(bench, 0, tag, 1, 1.0, 1.0, 2.05);
    bench_run(bench, 0.4);
    joule_result r = bench_tag(bench, tag, JOULE_OK);
    assert_true(r.coverage < 0.2);
    assert_true(r.attributed.high >= 50);
}

static void claims_of_folded_regions_are_kept(void **state)
{
    struct bench *bench = *state;
    uint32_t tag = joule_tag("folded board");
    bench_run(bench, 1);
    struct span span = {.begin_ns = bench_at(1.01),
                        .end_ns = bench_at(1.06),
                        .tag = (uint16_t)tag,
                        .flags = JOULE_REGION_GPU};
    slot_fold(bench->slots[0], &span, 50000000);
    bench_run(bench, 0.4);
    joule_result r = bench_tag(bench, tag, JOULE_OK);
    assert_near(r.attributed.value, 0.05 * BENCH_GPU_WATTS, 0.1);
    assert_true(isnan(r.cpu.value));
    assert_int_equal(r.unsynchronised, 1);
}

/* More regions wait for a reading than the collector can store, for example because the sensor does not
 * update. */
static void too_many_waiting_regions_share_by_their_time(void **state)
{
    enum { ROOM = 1 << 20, MORE = 1000000 };
    struct bench *bench = *state;
    struct collector *collector = collector_of(bench->meter);
    uint32_t tag = joule_tag("crowd");
    bench_run(bench, 1);
    struct span span = {.tag = (uint16_t)tag, .slot = 100, .index = SPAN_NOT_LISTED};
    for (int i = 0; i < ROOM + MORE; i++) {
        span.begin_ns = bench_at(0.9) + i * 40LL;
        span.end_ns = span.begin_ns + 40;
        collector_give(collector, &span);
    }
    joule_result r = bench_tag(bench, tag, JOULE_PENDING);
    assert_true(r.count == ROOM);
    bench_run(bench, 0.3);
    r = bench_tag(bench, tag, JOULE_OK);
    assert_int_equal(r.count, ROOM + MORE);
    assert_int_equal(r.folded, MORE);
    assert_int_equal(collector_folded(collector), MORE);
    assert_near(r.duration_s, 40e-9 * (ROOM + MORE), 1e-6);
    assert_near(r.attributed.value, r.duration_s * BENCH_WATTS, 0.01);
}

static void a_meter_closes_while_folded_regions_wait(void **state)
{
    struct bench *bench = *state;
    bench_run(bench, 1);
    bench_fold(bench, 0, joule_tag("left"), 1000, 0.05, 0.05, 1.09);
    bench_run(bench, BENCH_TICK_S);
    bench_fold(bench, 0, joule_tag("left"), 1000, 0.05, 0.05, 1.19);
}

#define STEADY(test) cmocka_unit_test_setup_teardown(test, bench_set_up_steady, bench_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STEADY(a_flooded_thread_gets_its_energy),
        STEADY(folded_calls_nest),
        STEADY(folded_recursion_gets_at_most_the_energy_used),
        STEADY(a_kept_region_around_folded_ones_keeps_its_share),
        STEADY(a_flooded_thread_shares_with_others),
        cmocka_unit_test_setup_teardown(power_that_wanders_is_in_the_interval, bench_set_up_wandering,
                                        bench_tear_down),
        STEADY(a_single_folded_region_is_never_ok_and_unknown),
        STEADY(time_that_was_not_shared_widens_the_interval),
        cmocka_unit_test_setup_teardown(claims_of_folded_regions_are_kept, bench_set_up_with_board,
                                        bench_tear_down),
        STEADY(too_many_waiting_regions_share_by_their_time),
        STEADY(a_meter_closes_while_folded_regions_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
