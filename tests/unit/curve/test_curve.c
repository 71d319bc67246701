/* Tests curves: the parts of a split window add up, the edges of a window add variance, and removing points
 * to save memory keeps all energy. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "joule/curve/curve.h"
#include "support/check.h"

#define MS 1000000LL
static const struct curve_traits traits = {.cls = JOULE_CLASS_MEASURED, .tick_s = 0.001, .unit_joules = 1e-6};

/* Returns a curve of constant power with a point every 100 ms. */
static struct curve steady(double watts, size_t points, size_t limit)
{
    struct curve c;
    curve_init(&c, limit);
    for (size_t i = 0; i < points; i++)
        assert_true(curve_append(&c, (struct curve_point){.time_ns = (int64_t)i * 100 * MS,
                                                          .joules = watts * (double)i * 0.1,
                                                          .covered_s = (double)i * 0.1}));
    c.read_ns = (int64_t)(points - 1) * 100 * MS;
    return c;
}

static void test_steady_power_is_exact(void **state)
{
    (void)state;
    struct curve c = steady(50, 11, 100);
    struct window w = curve_window(&c, &traits, 130 * MS, 870 * MS);
    assert_near(w.joules.value, 50 * 0.74, 1e-9);
    assert_near(w.covered_s, 0.74, 1e-9);
    assert_true(w.is_final);
    assert_near(curve_power(&c, &traits, 0.05).value, 50, 1e-9);
    curve_free(&c);
}

static void test_nothing_is_known_outside(void **state)
{
    (void)state;
    struct curve c = steady(50, 11, 100);
    struct window w = curve_window(&c, &traits, -500 * MS, 500 * MS);
    assert_near(w.covered_s, 0.5, 1e-9);
    assert_near(w.joules.value, 25, 1e-9);
    w = curve_window(&c, &traits, 5000 * MS, 6000 * MS);
    assert_near(w.covered_s, 0, 0);
    assert_true(isnan(w.joules.value));
    assert_false(w.is_final);
    curve_free(&c);
}

static void test_points_are_found_by_their_time(void **state)
{
    (void)state;
    struct curve c = steady(50, 1000, 2000), none;
    for (int64_t ms = -100; ms <= 100100; ms += 25) {
        size_t count = 0;
        while (count < c.count && c.points[count].time_ns <= ms * MS)
            count++;
        assert_int_equal(curve_count_until(&c, ms * MS), count);
    }
    curve_append(&c, c.points[c.count - 1]); /* several points may have the same time */
    assert_int_equal(curve_count_until(&c, 99900 * MS), 1001);
    assert_int_equal(curve_count_until(&c, 99900 * MS - 1), 999);
    curve_free(&c);
    curve_init(&none, 10);
    assert_int_equal(curve_count_until(&none, INT64_MAX), 0);
}

static void test_the_tail_reaches_as_far_as_the_sensor_was_read(void **state)
{
    (void)state;
    struct curve c = steady(50, 11, 100);
    c.read_ns = 1040 * MS; /* the sensor was read again, but had no new tick */
    struct window w = curve_window(&c, &traits, 0, 1040 * MS);
    assert_near(w.joules.value, 52, 1e-9);
    assert_false(w.is_final);
    w = curve_window(&c, &traits, 0, 2000 * MS);
    assert_near(w.covered_s, 1.041, 1e-6);
    curve_free(&c);
}

static void test_a_gap_is_not_covered(void **state)
{
    (void)state;
    struct curve c;
    curve_init(&c, 100);
    curve_append(&c, (struct curve_point){.time_ns = 0});
    curve_append(&c, (struct curve_point){.time_ns = 100 * MS, .joules = 5, .covered_s = 0.1});
    curve_append(&c, (struct curve_point){.time_ns = 900 * MS, .joules = 5, .covered_s = 0.1});
    curve_append(&c, (struct curve_point){.time_ns = 1000 * MS, .joules = 10, .covered_s = 0.2});
    struct window w = curve_window(&c, &traits, 0, 1000 * MS);
    assert_near(w.joules.value, 10, 1e-9);
    assert_near(w.covered_s, 0.2, 1e-9);
    w = curve_window(&c, &traits, 200 * MS, 800 * MS);
    assert_true(isnan(w.joules.value));
    curve_free(&c);
}

/* If a window is split at any time, its parts add up to the window. The time may lie in a gap, in a part with
 * removed points, or after the last point. */
static void test_splits_add_up(void **state)
{
    (void)state;
    srand(7);
    for (int round = 0; round < 300; round++) {
        struct curve c;
        curve_init(&c, 16 + (size_t)(rand() % 64));
        int64_t t = 0;
        double joules = 0, covered = 0;
        for (int i = 0; i < 200; i++) {
            curve_append(&c, (struct curve_point){.time_ns = t, .joules = joules, .covered_s = covered});
            int64_t step = (1 + rand() % 200) * MS;
            t += step;
            if (rand() % 10) {
                joules += (double)(rand() % 1000) * 0.01;
                covered += (double)step * 1e-9;
            }
        }
        c.read_ns = t;
        int64_t cuts[12];
        for (int i = 0; i < 12; i++)
            cuts[i] = t / 11 * i;
        double sum = 0;
        for (int i = 0; i < 11; i++) {
            struct window w = curve_window(&c, &traits, cuts[i], cuts[i + 1]);
            sum += isnan(w.joules.value) ? 0 : w.joules.value;
        }
        struct window whole = curve_window(&c, &traits, cuts[0], cuts[11]);
        assert_near(sum, whole.joules.value, 1e-9 * (1 + joules));
        assert_near(whole.joules.value, curve_window(&c, &traits, 0, cuts[11]).joules.value, 0);
        curve_free(&c);
    }
}

static void test_thinning_loses_no_energy(void **state)
{
    (void)state;
    struct curve c = steady(50, 100000, 64);
    assert_true(c.count <= 64);
    struct window w = curve_window(&c, &traits, 0, 99999LL * 100 * MS);
    assert_near(w.joules.value, 50 * 9999.9, 1e-6);
    assert_near(w.covered_s, 9999.9, 1e-6);
    curve_free(&c);
}

static void test_reserved_memory_suffices(void **state)
{
    (void)state;
    struct curve c = steady(50, 11, 100);
    assert_true(curve_reserve(&c));
    const struct curve_point *points = c.points;
    assert_near(curve_window(&c, &traits, 0, 1000 * MS).joules.value, 50, 1e-9);
    for (int i = 11; i < 1000; i++)
        assert_true(curve_append(
            &c, (struct curve_point){.time_ns = i * 100 * MS, .joules = 5.0 * i, .covered_s = 0.1 * i}));
    assert_true(curve_reserve(&c));
    assert_ptr_equal(c.points, points);
    assert_near(curve_window(&c, &traits, 0, 99900 * MS).joules.value, 4995, 1e-6);
    curve_free(&c);
}

static void test_edge_between_ticks_adds_variance(void **state)
{
    (void)state;
    struct curve c;
    curve_init(&c, 100);
    double tick = 0.1, watts = 700;
    for (int i = 0; i <= 20; i++)
        curve_append(&c, (struct curve_point){.time_ns = i * 100 * MS,
                                              .joules = watts * i * 0.1,
                                              .covered_s = i * 0.1,
                                              .time_sd_s = tick / sqrt(12)});
    struct window w = curve_window(&c, &traits, 0, 2000 * MS);
    assert_near(estimate_sd(&w.joules), watts * tick / sqrt(6), 1e-6);
    curve_free(&c);
}

/* An error of the timestamps changes the power of the whole segment between two points. A window inside the
 * segment has a part of this error, in proportion to its length. */
static void test_a_slice_of_a_segment_errs_by_its_share(void **state)
{
    (void)state;
    struct curve c;
    curve_init(&c, 100);
    for (int i = 0; i <= 20; i++)
        curve_append(&c, (struct curve_point){.time_ns = i * 100 * MS,
                                              .joules = 100 * i * 0.1,
                                              .covered_s = i * 0.1,
                                              .time_sd_s = 0.01});
    struct window w = curve_window(&c, &traits, 1010 * MS, 1020 * MS);
    assert_near(w.joules.value, 1, 1e-9);
    assert_near(estimate_sd(&w.joules), 0.1 * 100 * 0.01 * sqrt(2), 1e-6);
    curve_free(&c);
}

/* If all readings have the same delay, the energy of a window changes only if the power at its two edges
 * differs. */
static void test_shared_delay_matters_where_power_changes(void **state)
{
    (void)state;
    struct curve_traits sampled = traits;
    sampled.is_sampled = true;
    sampled.unit_joules = 0;
    for (int slope = 0; slope <= 1; slope++) {
        struct curve c;
        curve_init(&c, 100);
        for (int i = 0; i <= 40; i++)
            curve_append(&c, (struct curve_point){.time_ns = i * 100 * MS,
                                                  .joules = 100 * i * 0.1 + slope * 50 * i * i * 0.01,
                                                  .covered_s = i * 0.1,
                                                  .time_sd_s = 0.03});
        /* the power rises by 100 W/s for 2 s */
        struct window w = curve_window(&c, &sampled, 1000 * MS, 3000 * MS);
        assert_near(estimate_sd(&w.joules), slope * 200 * 0.03, 1e-6);
        curve_free(&c);
    }
}

/* If a reading is a mean over several periods, the time of its energy is uncertain at both edges of a
 * window. */
static void test_a_long_mean_blurs_both_edges(void **state)
{
    (void)state;
    struct curve_traits sampled = {.cls = JOULE_CLASS_DERIVED, .tick_s = 0.1, .is_sampled = true};
    struct curve c;
    curve_init(&c, 100);
    double joules = 0;
    for (int i = 0; i <= 60; i++, joules += i % 3 ? 10 : 13)
        curve_append(&c,
                     (struct curve_point){.time_ns = i * 100 * MS, .joules = joules, .covered_s = i * 0.1});
    struct window sharp = curve_window(&c, &sampled, 1550 * MS, 4450 * MS);
    sampled.blur_s = 1;
    struct window blurred = curve_window(&c, &sampled, 1550 * MS, 4450 * MS);
    assert_near(blurred.joules.value, sharp.joules.value, 0);
    assert_true(estimate_sd(&blurred.joules) > 3 * estimate_sd(&sharp.joules));
    curve_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steady_power_is_exact),
        cmocka_unit_test(test_nothing_is_known_outside),
        cmocka_unit_test(test_points_are_found_by_their_time),
        cmocka_unit_test(test_the_tail_reaches_as_far_as_the_sensor_was_read),
        cmocka_unit_test(test_a_gap_is_not_covered),
        cmocka_unit_test(test_splits_add_up),
        cmocka_unit_test(test_thinning_loses_no_energy),
        cmocka_unit_test(test_reserved_memory_suffices),
        cmocka_unit_test(test_edge_between_ticks_adds_variance),
        cmocka_unit_test(test_a_slice_of_a_segment_errs_by_its_share),
        cmocka_unit_test(test_shared_delay_matters_where_power_changes),
        cmocka_unit_test(test_a_long_mean_blurs_both_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
