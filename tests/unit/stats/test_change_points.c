/* Tests the search for phases: the minimum is the true one, known phases are found, and noise has none. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "joule/stats/change_points.h"
#include "joule/stats/piecewise_cost.h"
#include "joule/stats/sample.h"
#include "support/allocations.h"
#include "support/check.h"
#include "support/simulation.h"

#define MAX_VALUES 100000
static double values[MAX_VALUES];
static struct arena arena = {.block_size = 1 << 20};

static int free_arena(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

/* --- The minimum ------------------------------------------------------------------------------------- */

/* Returns the least sum of min((value - mean)^2, width^2) over all means. The values nearer than the
 * width are neighbours in ascending order, and the best mean is theirs; other choices only give more. */
static double least_loss(const double *own, size_t count, double width)
{
    double sorted[64], least = INFINITY;
    for (size_t i = 0; i < count; i++)
        sorted[i] = own[i];
    sample_sort(sorted, count);
    for (size_t first = 0; first < count; first++)
        for (size_t n = 1; first + n <= count; n++) {
            double mean = sample_mean(sorted + first, n), loss = (double)(count - n) * width * width;
            for (size_t i = first; i < first + n; i++)
                loss += (sorted[i] - mean) * (sorted[i] - mean);
            least = fmin(least, loss);
        }
    return least;
}

/* Returns the least cost of all divisions into phases, by trying all of them. */
static double least_cost(const double *own, size_t count, double penalty, double width)
{
    double best[65] = {-penalty};
    for (size_t end = 1; end <= count; end++) {
        best[end] = INFINITY;
        for (size_t first = 0; first < end; first++)
            best[end] = fmin(best[end], best[first] + penalty + least_loss(own + first, end - first, width));
    }
    return best[count];
}

static void test_the_cost_is_the_least_of_all_divisions(void **state)
{
    (void)state;
    struct generator generator = {SIMULATION_SEED};
    for (int round = 0; round < 200; round++) {
        size_t count = 1 + generator_below(&generator, 24);
        double level = 0, penalty = 1 + 6 * simulated_uniform(&generator);
        double width = round % 3 == 0 ? 1e3 : 1 + 2 * simulated_uniform(&generator);
        for (size_t i = 0; i < count; i++) {
            if (generator_below(&generator, 6) == 0)
                level = 8 * simulated_uniform(&generator);
            values[i] = level + simulated_normal(&generator);
        }
        struct piecewise_cost cost;
        assert_true(piecewise_cost_begin(&cost, &arena));
        for (size_t i = 0; i < count; i++) {
            assert_true(i == 0 || piecewise_cost_limit(&cost, cost.least + penalty, i));
            assert_true(piecewise_cost_add(&cost, values[i], width));
            piecewise_cost_minimise(&cost);
        }
        assert_near(cost.least, least_cost(values, count, penalty, width), 1e-9);
    }
}

/* --- Known phases ------------------------------------------------------------------------------------ */

/* Finds the phases of the first `count` values. */
static struct phases find(size_t count, size_t min_count)
{
    struct phases phases;
    assert_true(
        change_points_find(values, count, &(struct phase_rule){.min_count = min_count}, &arena, &phases));
    size_t until = 0;
    for (size_t i = 0; i < phases.count; i++) {
        assert_int_equal(phases.items[i].first, until);
        assert_true(phases.items[i].count > 0);
        until += phases.items[i].count;
    }
    assert_int_equal(until, count);
    return phases;
}

/* Sets values that alternate between 50 and 50 + step every `length` values, with noise of sd 1. */
static void make_square(size_t count, size_t length, double step, uint64_t seed)
{
    struct generator generator = {seed};
    for (size_t i = 0; i < count; i++)
        values[i] = 50 + (i / length % 2 ? step : 0) + simulated_normal(&generator);
}

static void test_bounds_of_clear_phases_are_exact(void **state)
{
    (void)state;
    make_square(5000, 500, 12, 1);
    for (size_t min_count = 1; min_count <= 100; min_count += 33) {
        struct phases phases = find(5000, min_count);
        assert_int_equal(phases.count, 10);
        for (size_t i = 0; i < 10; i++) {
            assert_int_equal(phases.items[i].first, 500 * i);
            assert_near(phases.items[i].mean, i % 2 ? 62 : 50, 0.2);
        }
    }
}

static void test_phases_of_one_noise_sd_are_found_with_their_means(void **state)
{
    (void)state;
    make_square(10000, 1000, 1, 2);
    struct phases phases = find(10000, 20);
    assert_int_equal(phases.count, 10);
    for (size_t i = 0; i < 10; i++) {
        assert_near((double)phases.items[i].first, 1000.0 * (double)i, 30);
        assert_near(phases.items[i].mean, i % 2 ? 51 : 50, 0.15);
        assert_true(phases.items[i].high - phases.items[i].low < 0.2);
    }
}

static void test_energy_of_phases_adds_up(void **state)
{
    (void)state;
    make_square(3000, 700, 5, 3);
    struct phases phases = find(3000, 50);
    double sum = 0;
    for (size_t i = 0; i < phases.count; i++)
        sum += phases.items[i].mean * (double)phases.items[i].count;
    assert_near(sum / 3000, sample_mean(values, 3000), 1e-10);
}

static void test_the_unit_does_not_matter_and_time_may_run_backwards(void **state)
{
    (void)state;
    make_square(3000, 600, 6, 4);
    struct phases first = find(3000, 1);
    for (size_t i = 0; i < 3000; i++)
        values[i] *= 1024;
    struct phases scaled = find(3000, 1);
    assert_int_equal(scaled.count, first.count);
    for (size_t i = 0; i < first.count; i++)
        assert_int_equal(scaled.items[i].first, first.items[i].first);
    for (size_t i = 0; i < 1500; i++) {
        double swap = values[i];
        values[i] = values[2999 - i];
        values[2999 - i] = swap;
    }
    struct phases backwards = find(3000, 1);
    assert_int_equal(backwards.count, first.count);
    for (size_t i = 0; i < first.count; i++)
        assert_int_equal(backwards.items[i].count, first.items[first.count - 1 - i].count);
}

static void test_short_excursions_are_no_phases(void **state)
{
    (void)state;
    make_square(3000, 3000, 0, 5);
    for (size_t i = 0; i < 10; i++)
        values[1000 + i] += 1000;
    assert_int_equal(find(3000, 30).count, 1);
    for (size_t i = 0; i < 60; i++)
        values[2000 + i] += 1000;
    assert_int_equal(find(3000, 30).count, 3);
}

/* --- No phases --------------------------------------------------------------------------------------- */

/* Returns the number of series of noise that are divided. */
static int count_divided(double correlation, size_t min_count, int rounds)
{
    struct generator generator = {SIMULATION_SEED};
    int divided = 0;
    for (int round = 0; round < rounds; round++) {
        double noise = 0;
        for (size_t i = 0; i < 2000; i++) {
            noise = correlation * noise + simulated_normal(&generator);
            values[i] = 50 + noise;
        }
        divided += find(2000, min_count).count > 1;
        arena_free(&arena);
    }
    return divided;
}

static void test_noise_is_not_divided(void **state)
{
    (void)state;
    int rounds = simulation_is_full() ? 2000 : 200;
    int independent = count_divided(0, 1, rounds), blocks = count_divided(0, 30, rounds);
    int correlated = count_divided(0.8, 30, rounds);
    print_message("of %d series, %d, %d in blocks and %d correlated ones are divided\n", rounds, independent,
                  blocks, correlated);
    assert_true(independent <= rounds / 50 && blocks <= rounds / 50 && correlated <= rounds / 20);
}

static void test_equal_values_are_one_phase_and_a_step_is_two(void **state)
{
    (void)state;
    for (size_t i = 0; i < 1000; i++)
        values[i] = 50;
    struct phases phases = find(1000, 10);
    assert_int_equal(phases.count, 1);
    assert_near(phases.items[0].mean, 50, 0);
    assert_near(phases.noise_sd, 0, 0);
    for (size_t i = 400; i < 1000; i++)
        values[i] = 51;
    phases = find(1000, 10);
    assert_int_equal(phases.count, 2);
    assert_int_equal(phases.items[1].first, 400);
}

static void test_short_and_unknown_series(void **state)
{
    (void)state;
    struct phases phases = {0};
    struct phase_rule rule = {.min_count = 10};
    assert_true(change_points_find(values, 0, &rule, &arena, &phases));
    assert_int_equal(phases.count, 0);
    values[0] = 7;
    phases = find(1, 0);
    assert_int_equal(phases.count, 1);
    assert_true(phases.items[0].mean == 7 && isnan(phases.items[0].low) && isnan(phases.noise_sd));
    for (size_t count = 2; count < 40; count++) {
        values[count - 1] = (double)(count * 7 % 5);
        find(count, 10);
        find(count, 1000);
    }
    values[5] = NAN;
    assert_false(change_points_find(values, 10, &rule, &arena, &phases));
    values[5] = INFINITY;
    assert_false(change_points_find(values, 10, &rule, &arena, &phases));
}

static void test_each_failing_allocation_is_reported(void **state)
{
    (void)state;
    make_square(20000, 40, 20, 6);
    struct phase_rule rule = {.min_count = 1};
    struct phases phases;
    bool is_complete = false;
    unsigned failures = 0;
    for (; !is_complete && failures < 1000; failures++) {
        struct arena small = {0};
        failing_allocation = allocations + 1 + failures;
        is_complete = change_points_find(values, 20000, &rule, &small, &phases);
        failing_allocation = 0;
        assert_true(is_complete || small.is_out_of_memory);
        arena_free(&small);
    }
    assert_true(is_complete && failures > 3);
}

/* Returns the mean number of pieces over the steps of a search. Each step takes time in proportion to it. */
static double mean_pieces(size_t count)
{
    struct piecewise_cost cost;
    double pieces = 0;
    assert_true(piecewise_cost_begin(&cost, &arena));
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || piecewise_cost_limit(&cost, cost.least + 35, i));
        assert_true(piecewise_cost_add(&cost, values[i], sqrt(70)));
        piecewise_cost_minimise(&cost);
        pieces += (double)cost.count / (double)count;
    }
    return pieces;
}

static void test_time_per_value_does_not_grow_with_the_count(void **state)
{
    (void)state;
    struct generator generator = {SIMULATION_SEED};
    static const char *const names[] = {"noise", "squares", "random walk", "line", "heavy tails"};
    for (int kind = 0; kind < 5; kind++) {
        double walk = 0;
        for (size_t i = 0; i < MAX_VALUES; i++) {
            double noise = simulated_normal(&generator), level = i / 300 % 2 ? 5 : 0;
            walk += noise;
            values[i] = kind == 0   ? noise
                        : kind == 1 ? level + noise
                        : kind == 2 ? walk
                        : kind == 3 ? (double)i
                                    : noise / simulated_normal(&generator);
        }
        double few = mean_pieces(MAX_VALUES / 10), many = mean_pieces(MAX_VALUES);
        print_message("%s: %.1f pieces per step of 10,000, %.1f of 100,000\n", names[kind], few, many);
        assert_true(many < 40 && many < 2 * few);
        arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_the_cost_is_the_least_of_all_divisions, free_arena),
        cmocka_unit_test_teardown(test_bounds_of_clear_phases_are_exact, free_arena),
        cmocka_unit_test_teardown(test_phases_of_one_noise_sd_are_found_with_their_means, free_arena),
        cmocka_unit_test_teardown(test_energy_of_phases_adds_up, free_arena),
        cmocka_unit_test_teardown(test_the_unit_does_not_matter_and_time_may_run_backwards, free_arena),
        cmocka_unit_test_teardown(test_short_excursions_are_no_phases, free_arena),
        cmocka_unit_test_teardown(test_noise_is_not_divided, free_arena),
        cmocka_unit_test_teardown(test_equal_values_are_one_phase_and_a_step_is_two, free_arena),
        cmocka_unit_test_teardown(test_short_and_unknown_series, free_arena),
        cmocka_unit_test_teardown(test_each_failing_allocation_is_reported, free_arena),
        cmocka_unit_test_teardown(test_time_per_value_does_not_grow_with_the_count, free_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
