/* Tests that shares of energy add up, and that their intervals contain the truth. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <cmocka.h>
#include "support/chance.h"
#include "support/check.h"
#include "support/region_bench.h"

/* One thread is in one region all the time; seven threads have random regions at random depth; power varies.
 * The sum of all `self` values equals the meter's joules. The shares of threads add up to the energy of the
 * window. */
static void all_shares_add_up_to_the_window(void **state)
{
    struct bench *bench = *state;
    enum { TAGS = 40, TICKS = 100 };
    uint32_t tags[TAGS], frame = joule_tag("frame");
    chance_state = 42;
    for (int i = 0; i < TAGS; i++) {
        char name[32];
        snprintf(name, sizeof name, "random %d", i);
        tags[i] = joule_tag(name);
    }
    bench_run(bench, 0.5);
    unsigned index = bench_open(bench, 0, frame, 0.5);
    for (int tick = 0; tick < TICKS; tick++) {
        bench_run(bench, BENCH_TICK_S);
        double begin_s = 0.5 + tick * BENCH_TICK_S;
        for (int i = 0; i < 200; i++) {
            double a = begin_s + chance() * BENCH_TICK_S,
                   b = a + chance() * chance() * (begin_s + BENCH_TICK_S - a);
            bench_put(bench, 1 + (unsigned)(chance() * 7), tags[(int)(chance() * TAGS)], 0, a, b);
        }
    }
    double end_s = 0.5 + TICKS * BENCH_TICK_S;
    bench_close(bench, 0, index, frame, 0.5, end_s, 0);
    bench_run(bench, 0.5);
    double self = bench_tag(bench, frame, JOULE_OK).self.value;
    uint64_t count = 0;
    for (int i = 0; i < TAGS; i++) {
        joule_result r = bench_tag(bench, tags[i], JOULE_OK);
        self += r.self.value;
        count += r.count;
        assert_true(r.attributed.value <= r.window.value * (1 + 1e-12) && r.self.value >= 0);
    }
    assert_int_equal(count, 200 * TICKS);
    struct window w = meter_window(bench->meter, JOULE_TOTAL, bench_at(0.5), bench_at(end_s));
    assert_near(self, w.joules.value, 1e-9 * w.joules.value);
    assert_near(bench_tag(bench, frame, JOULE_OK).window.value, w.joules.value, 1e-9 * w.joules.value);
}

static void parts_of_a_window_add_up(void **state)
{
    struct bench *bench = *state;
    bench_run(bench, 5);
    uint32_t part = joule_tag("part"), whole = joule_tag("whole");
    chance_state = 3;
    double at_s = 4;
    for (int i = 0; at_s < 4.8 && i < 3000; i++) {
        double next_s = fmin(4.8, at_s + chance() * 0.001);
        bench_put(bench, 0, part, 0, at_s, next_s);
        at_s = next_s;
    }
    bench_put(bench, 1, whole, 0, 4, 4.8);
    bench_run(bench, 0.3);
    joule_result p = bench_tag(bench, part, JOULE_OK), w = bench_tag(bench, whole, JOULE_OK);
    assert_near(p.window.value, w.window.value, 1e-9 * w.window.value);
    assert_near(p.attributed.value + w.attributed.value, w.window.value, 1e-9 * w.window.value);
}

/* A tag whose region is always open has the meter's uncertainty. Another tag is open for half of the time, in
 * slices that are shorter than a tick of the sensor. Its interval is wider and contains the true energy. */
static void unseen_slices_widen_the_interval(void **state)
{
    struct bench *bench = *state;
    uint32_t always = joule_tag("always"), slices = joule_tag("slices");
    bench_run(bench, 1);
    unsigned index = bench_open(bench, 0, always, 1);
    for (int tick = 0; tick < 50; tick++) {
        bench_run(bench, BENCH_TICK_S);
        for (int i = 0; i < 20; i++)
            bench_put(bench, 1, slices, 0, 1 + tick * BENCH_TICK_S + i * 0.005,
                      1 + tick * BENCH_TICK_S + i * 0.005 + 0.0025);
    }
    bench_close(bench, 0, index, always, 1, 6, 0);
    bench_run(bench, 0.3);
    joule_result a = bench_tag(bench, always, JOULE_OK), s = bench_tag(bench, slices, JOULE_OK);
    struct window w = meter_window(bench->meter, JOULE_TOTAL, bench_at(1), bench_at(6));
    joule_quantity q = estimate_quantity(&w.joules);
    double width = (q.high - q.low) / q.value;
    assert_near((a.window.high - a.window.low) / a.window.value, width, 0.2 * width);
    assert_true((s.window.high - s.window.low) / s.window.value > width);
    assert_true(s.window.low < q.value / 2 && s.window.high > q.value / 2);
}

/* Power changes every 5 ms, which is too fast for the readings. */
#define ROUGH_STEPS 20000
static double rough_joules[ROUGH_STEPS + 1];

static double rough_at(double s)
{
    double place = s / 0.005;
    int step = (int)place;
    return rough_joules[step] + (place - step) * (rough_joules[step + 1] - rough_joules[step]);
}

static ssize_t rough_uj(void *unused, int64_t time_ns, char *buffer, size_t size)
{
    (void)unused;
    return snprintf(buffer, size, "%lld\n", (long long)(1e9 + rough_at(bench_seconds(time_ns)) * 1e6));
}

/* Counts how many intervals contain the truth, for single regions of 1 to 500 ms. The interval of a region
 * that is shorter than a tick is wide, so more than 90 % of the intervals may contain the truth. */
static void intervals_hold_the_truth(void **state)
{
    struct bench *bench = *state;
    chance_state = 11;
    for (int i = 0; i < ROUGH_STEPS; i++)
        rough_joules[i + 1] = rough_joules[i] + 0.005 * (20 + 80 * chance());
    host_script_file(bench->host, "/sys/class/powercap/intel-rapl:0/energy_uj", rough_uj, NULL);
    bench_run(bench, 3);
    int held = 0, runs = 0;
    double width = 0;
    for (double now_s = 3; now_s < 80; now_s += 0.6) {
        joule_region regions[4];
        double truth[4];
        bench_run(bench, 0.6);
        for (int i = 0; i < 4; i++) {
            double length_s = 0.001 * pow(500, chance()), end_s = now_s + 0.5 + 0.1 * chance();
            regions[i] = bench_put(bench, (unsigned)i, 1, 0, end_s - length_s, end_s);
            truth[i] = rough_at(end_s) - rough_at(end_s - length_s);
        }
        bench_run(bench, 0.2);
        now_s += 0.2;
        for (int i = 0; i < 4; i++) {
            joule_quantity q = bench_result(bench, &regions[i], JOULE_OK).window;
            held += q.low <= truth[i] && truth[i] <= q.high;
            width += (q.high - q.low) / truth[i];
            runs++;
        }
    }
    print_message("%d of %d intervals hold the truth; mean width %.2f of it\n", held, runs, width / runs);
    assert_true(held >= 0.86 * runs);
    assert_true(width / runs < 2);
}

#define STEADY(test)    cmocka_unit_test_setup_teardown(test, bench_set_up_steady, bench_tear_down)
#define WANDERING(test) cmocka_unit_test_setup_teardown(test, bench_set_up_wandering, bench_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WANDERING(all_shares_add_up_to_the_window),
        WANDERING(parts_of_a_window_add_up),
        WANDERING(unseen_slices_widen_the_interval),
        STEADY(intervals_hold_the_truth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
