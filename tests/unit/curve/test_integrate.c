/* Tests the integrator on signals whose energy is known analytically. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "joule/curve/integrate.h"
#include "support/check.h"

#define MS 1000000LL

typedef double (*signal_fn)(double t_s);

static double ramp(double t)
{
    return 10 + 3 * t;
}
static double sine(double t)
{
    return 100 + 50 * sin(2 * M_PI * t);
}
static double square(double t)
{
    return fmod(t, 2) < 1 ? 300 : 60;
}

/* Samples the signal every `period_s`, with jitter, for about 10 s. */
static struct integrator run(signal_fn signal, double period_s, double jitter)
{
    struct integrator in = {.period_s = period_s};
    srand(3);
    for (double t = 0; t <= 10 + period_s / 2; t += period_s) {
        double at =
            t + (t > 0 && t < 10 - period_s / 2 ? jitter * period_s * (rand() / (double)RAND_MAX - 0.5) : 0);
        integrate_power(&in, (int64_t)llround(at * 1e9), true, signal(at));
    }
    return in;
}

static void test_a_ramp_is_exact(void **state)
{
    (void)state;
    struct integrator in = run(ramp, 0.1, 0.8);
    assert_near(in.joules, 10 * 10 + 1.5 * 100, 1e-6);
    assert_near(in.covered_s, 10, 1e-6);
}

static void test_a_sine_converges_with_the_square_of_the_period(void **state)
{
    (void)state;
    struct integrator coarse = run(sine, 0.04, 0), fine = run(sine, 0.02, 0);
    assert_near(coarse.joules, 1000, 1e-6); /* for whole periods the trapezoid rule is exact */
    struct integrator part = {.period_s = 0.01};
    for (int i = 0; i <= 25; i++)
        integrate_power(&part, i * 10 * MS, true, sine(i * 0.01));
    assert_near(part.joules, 25 + 50 / (2 * M_PI), 0.03);
    assert_near(fine.joules, 1000, 1e-6);
}

static void test_a_square_wave_within_its_own_error(void **state)
{
    (void)state;
    for (int k = 0; k < 20; k++) {
        struct integrator in = run(square, 0.013 + 0.003 * k, 0.5);
        double truth = 5 * 300 + 5 * 60, error = in.joules - truth * in.covered_s / 10;
        assert_true(fabs(error) < 4 * sqrt(in.variance) + 1);
    }
}

static void test_duplicates_are_one_sample(void **state)
{
    (void)state;
    struct integrator once = {.period_s = 0.1}, often = {.period_s = 0.1};
    for (int ms = 0; ms <= 10000; ms += 10) {
        double watts = 100 + 20 * (ms / 100 % 7) + 0.001 * (ms / 100); /* all readings differ */
        if (ms % 100 == 0)
            integrate_power(&once, ms * MS, true, watts);
        integrate_power(&often, ms * MS, false, watts);
    }
    assert_near(often.joules, once.joules, 1e-9);
    assert_true(often.duplicates > 800);
}

static void test_a_steady_reading_is_no_duplicate_for_ever(void **state)
{
    (void)state;
    struct integrator in = {.period_s = 0.1};
    for (int ms = 0; ms <= 10000; ms += 10)
        integrate_power(&in, ms * MS, false, 250);
    /* a change in the last period may not be visible yet */
    assert_near(in.covered_s, 9.85, 0.051);
    assert_near(in.joules / in.covered_s, 250, 1e-9);
}

/* The sensor updates within 0.1 s and is read once per second, so an equal value is a new sample. */
static void test_steady_reading_of_a_fast_sensor_is_new(void **state)
{
    (void)state;
    struct integrator in = {.period_s = 1, .age_s = 0.1};
    for (int ms = 0; ms <= 2000; ms += 1000)
        integrate_power(&in, ms * MS, false, 110);
    assert_near(in.covered_s, 2, 1e-9);
    assert_near(in.joules, 220, 1e-9);
    integrate_power(&in, 2050 * MS, false, 110); /* this reading is too early: it may be the same sample */
    assert_near(in.covered_s, 2, 1e-9);
}

/* Returns the mean power over a minute as a percentage of the truth. The power is 300 W for `high` sensor
 * periods, then 60 W for `low` periods, and so on. It is polled every poll_s. seen: averaged part of a
 * period. */
static double percent_of_truth(int high, int low, double poll_s, double seen)
{
    struct integrator in = {.period_s = 0.1, .averaged_part = seen};
    for (double t = 1; t < 61; t += poll_s) {
        double update = floor(t / 0.1 + 1e-6) * 0.1 + 0.05;
        double watts = fmod(update, (high + low) * 0.1) < high * 0.1 ? 300 : 60;
        integrate_power(&in, (int64_t)((t - poll_s / 2) * 1e9), false, watts);
    }
    return 100 * in.joules / in.covered_s * (high + low) / (300.0 * high + 60.0 * low);
}

/* A reading that equals the previous one may be an old or a new sample. If such readings were always dropped,
 * periods of constant power would appear too short. */
static void test_levels_that_stay_are_not_shortened(void **state)
{
    (void)state;
    static const double polls_s[] = {0.01, 0.0137, 0.02, 0.029, 0.0473, 0.1};
    for (size_t p = 0; p < sizeof polls_s / sizeof polls_s[0]; p++)
        for (int high = 1; high <= 5; high++)
            for (int low = 1; low <= 5; low++)
                for (int seen = 0; seen <= 1; seen++)
                    assert_near(percent_of_truth(high, low, polls_s[p], seen), 100, 2);
}

static void test_gaps_are_not_bridged(void **state)
{
    (void)state;
    struct integrator in = {.period_s = 0.1};
    for (int ms = 0; ms <= 10000; ms += 100)
        if (ms <= 4000 || ms >= 7000)
            integrate_power(&in, ms * MS, true, 50);
    assert_near(in.joules, 350, 1e-9);
    assert_near(in.covered_s, 7, 1e-9);
    assert_true(in.gaps == 1);
}

/* A gap of up to three periods is filled. This holds for readings with timestamps, for polled readings, and
 * for energies of samples. */
static void test_a_gap_is_more_than_three_periods(void **state)
{
    (void)state;
    for (int exact = 0; exact <= 1; exact++)
        for (int ms = 290; ms <= 310; ms += 20) {
            struct integrator power = {.period_s = 0.1, .averaged_part = 1}, sum = {.period_s = 0.1};
            const int64_t times_ns[] = {0, 100 * MS, (100 + ms) * MS};
            for (int i = 0; i < 3; i++) {
                integrate_power(&power, times_ns[i], exact, 50 + i);
                integrate_energy(&sum, times_ns[i], exact, 5);
            }
            assert_true(power.gaps == (ms > 300) && sum.gaps == (ms > 300));
            assert_near(power.covered_s, ms > 300 ? 0.1 : 0.1 + ms * 1e-3, 1e-9);
            assert_near(sum.covered_s, ms > 300 ? 0.3 : 0.2 + ms * 1e-3, 1e-9);
            assert_near(sum.joules, 15, 1e-9);
        }
}

static void test_impossible_readings_are_rejected(void **state)
{
    (void)state;
    struct integrator in = {.period_s = 0.1, .max_watts = 1000};
    assert_int_equal(integrate_power(&in, 0, true, 100), INTEGRATE_MOVED);
    assert_int_equal(integrate_power(&in, 100 * MS, true, NAN), INTEGRATE_REJECTED);
    assert_int_equal(integrate_power(&in, 100 * MS, true, -1), INTEGRATE_REJECTED);
    assert_int_equal(integrate_power(&in, 100 * MS, true, 4294967.295), INTEGRATE_REJECTED);
    assert_int_equal(integrate_power(&in, 100 * MS, true, INFINITY), INTEGRATE_REJECTED);
    assert_int_equal(integrate_power(&in, 100 * MS, true, 100), INTEGRATE_MOVED);
    assert_near(in.joules, 10, 1e-9);
    assert_true(in.rejected == 4);
    /* the timestamp is before that of the previous reading */
    assert_int_equal(integrate_power(&in, 50 * MS, true, 100), INTEGRATE_HELD);
    struct integrator sum = {.period_s = 0.1};
    assert_int_equal(integrate_energy(&sum, 100 * MS, true, 5), INTEGRATE_MOVED);
    assert_int_equal(integrate_energy(&sum, 100 * MS, true, 5), INTEGRATE_HELD);
    assert_int_equal(integrate_energy(&sum, 100 * MS, true, NAN), INTEGRATE_REJECTED);
    assert_near(sum.joules, 5, 0);
}

static void test_counted_energy_is_summed(void **state)
{
    (void)state;
    struct integrator in = {.period_s = 0.001};
    for (int i = 1; i <= 1000; i++)
        integrate_energy(&in, i * MS, true, 0.0005);
    assert_near(in.joules, 0.5, 1e-12);
    assert_near(in.covered_s, 1, 1e-9);
}

static void test_trailing_average_covers_the_past(void **state)
{
    (void)state;
    struct integrator in = {.period_s = 0.1, .lag_s = 0.5};
    integrate_power(&in, 1000 * MS, true, 100);
    assert_true(in.last_ns == 500 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_ramp_is_exact),
        cmocka_unit_test(test_a_sine_converges_with_the_square_of_the_period),
        cmocka_unit_test(test_a_square_wave_within_its_own_error),
        cmocka_unit_test(test_duplicates_are_one_sample),
        cmocka_unit_test(test_a_steady_reading_is_no_duplicate_for_ever),
        cmocka_unit_test(test_steady_reading_of_a_fast_sensor_is_new),
        cmocka_unit_test(test_levels_that_stay_are_not_shortened),
        cmocka_unit_test(test_gaps_are_not_bridged),
        cmocka_unit_test(test_a_gap_is_more_than_three_periods),
        cmocka_unit_test(test_impossible_readings_are_rejected),
        cmocka_unit_test(test_counted_energy_is_summed),
        cmocka_unit_test(test_trailing_average_covers_the_past),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
