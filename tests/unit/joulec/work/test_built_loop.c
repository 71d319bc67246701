/* Checks vectorized and unrolled loops: which compiled loop belongs to which source loop, and the cost of one
 * iteration if several iterations run together. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "joulec/work/built_loop.h"

#define NEAR(a, b) assert_true(fabs((double)(a) - (double)(b)) <= 1e-9 * fabs((double)(b)))

static const struct cost_cpu server = {"intel", 6, 85, "", 2, 40, 80, false};
static const char file[] = "a.c";

/* Two nested loops of the source, and the loops of the vectorized build. */
struct trial {
    struct target target;
    struct module module;
    struct function function;
    struct built_loop built[3];
    struct loop list[2];
    struct loops loops;
};

static struct trial trial_of(void)
{
    struct trial t = {.module = {.is_built = true}};
    cost_core_describe(&server, NAN, &t.target.core);
    cost_core_table(&server, &t.target.table);
    t.list[0] = (struct loop){
        .parent = -1, .depth = 1, .place = {file, 3, 5}, .is_outer = true, .first = 0, .end = 2};
    t.list[1] = (struct loop){.parent = 0, .depth = 2, .place = {file, 4, 9}, .first = 1, .end = 2};
    return t;
}

static void join(struct trial *t, size_t built_loop_count)
{
    t->function.built_loops = t->built;
    t->function.built_loop_count = built_loop_count;
    t->loops = (struct loops){.list = t->list, .count = 2};
    t->list[0].built = t->list[1].built = NULL;
    built_loop_join(&t->module, &t->function, &t->loops);
}

static void test_loops_are_found_by_their_place(void **state)
{
    (void)state;
    struct trial t = trial_of();
    t.built[0] =
        (struct built_loop){.place = {file, 4, 9}, .factor = 8, .is_complete = true, .is_vector = true};
    t.built[1] = /* the remainder loop */
        (struct built_loop){.place = {file, 4, 9}, .factor = 1, .is_complete = true};
    join(&t, 2);
    assert_ptr_equal(t.list[1].built, &t.built[0]);
    assert_null(t.list[0].built);
    assert_false(t.list[0].is_unjoined || t.list[1].is_unjoined);
}

static void test_a_loop_that_stays_is_priced_as_it_stands(void **state)
{
    (void)state;
    struct trial t = trial_of();
    t.built[0] = (struct built_loop){.place = {file, 4, 9}, .factor = 1, .is_complete = true};
    join(&t, 1);
    assert_null(t.list[1].built);
    assert_false(t.list[1].is_unjoined);
}

/* If the inner loop was unrolled completely, an iteration of the outer loop contains all work of the inner
 * loop. */
static void test_unrolled_inner_loop_belongs_to_the_outer(void **state)
{
    (void)state;
    struct trial t = trial_of();
    t.built[0] = (struct built_loop){.place = {file, 3, 5}, .factor = 1, .is_complete = true};
    join(&t, 1);
    assert_ptr_equal(t.list[0].built, &t.built[0]);
    assert_null(t.list[1].built);
    assert_false(t.list[1].is_unjoined);
}

static void test_loops_that_are_not_found_are_not_joined(void **state)
{
    (void)state;
    struct trial t = trial_of();
    t.built[0] =
        (struct built_loop){.place = {file, 9, 9}, .factor = 4, .is_complete = true, .is_vector = true};
    join(&t, 1);
    assert_true(t.list[1].is_unjoined && !t.list[0].is_unjoined);
    /* The build compiled two copies of one loop in different ways. It is unknown which copy corresponds to
     * this loop. */
    t.built[0] =
        (struct built_loop){.place = {file, 4, 9}, .factor = 8, .is_complete = true, .is_vector = true};
    t.built[1] =
        (struct built_loop){.place = {file, 4, 9}, .factor = 4, .is_complete = true, .is_vector = true};
    join(&t, 2);
    assert_null(t.list[1].built);
    assert_true(t.list[1].is_unjoined);
    /* No optimization passes were requested, so the loops are as in the source. */
    t.function.built_loops = NULL;
    t.function.built_loop_count = 0;
    t.list[1].built = NULL;
    built_loop_join(&t.module, &t.function, &t.loops);
    assert_false(t.list[1].is_unjoined);
    t.module.is_built = false;
    built_loop_join(&t.module, &t.function, &t.loops);
    assert_true(t.list[1].is_unjoined);
}

static void test_branches_and_calls_stay(void **state)
{
    (void)state;
    struct trial t = trial_of();
    t.built[0] = (struct built_loop){.place = {file, 4, 9}, .factor = 8, .is_vector = true};
    join(&t, 1);
    assert_null(t.list[1].built);
    t.built[0].is_complete = true;
    t.built[0].iteration.call_count = 1;
    join(&t, 1);
    assert_null(t.list[1].built);
}

/* --- iterations ---------------------------------------------------------------------------------------- */

/* Returns an iteration with 32 operations and one cache line. */
static struct amounts iteration_of(const struct target *target)
{
    const struct block block = {.work = {[WORK_INT] = 32}};
    struct amounts iteration;
    for (int b = 0; b < BOUNDS; b++) {
        iteration.of[b] = sum_features(&block);
        iteration.of[b].amount[COST_L2_LINES] = 1;
        sum_set_time(target, &iteration.of[b], 32 * (b + 1));
    }
    return iteration;
}

/* Returns a compiled loop that runs `factor` iterations with 32 operations. */
static struct built_loop joined_by(double factor)
{
    return (struct built_loop){.place = {file, 4, 9},
                               .factor = factor,
                               .iteration = {.work = {[WORK_INT] = 32}, .has_chain = true},
                               .is_complete = true,
                               .is_vector = true};
}

static void apply(struct trial *t, size_t loop, double times, struct amounts *iteration,
                  struct amounts *inner)
{
    struct loop_times all = {{times, times, times}};
    built_loop_apply(&t->target, &t->loops, loop, &all, &(struct built_loop_order){1, INFINITY}, iteration,
                     inner);
}

static void test_several_at_once(void **state)
{
    (void)state;
    struct trial t = trial_of();
    t.built[0] = joined_by(8);
    join(&t, 1);
    struct amounts inner[2], plain = iteration_of(&t.target), iteration = plain;
    apply(&t, 1, 8000, &iteration, inner);
    for (int b = 0; b < BOUNDS; b++) {
        NEAR(iteration.of[b].amount[COST_INT_OPS], 4);
        NEAR(iteration.of[b].amount[COST_L2_LINES], 1); /* vectors access the same number of lines */
        assert_true(iteration.of[b].amount[COST_CYCLES] < plain.of[b].amount[COST_CYCLES]);
    }
    assert_true(amounts_joules(&t.target, &iteration, BOUND_LOW) <=
                amounts_joules(&t.target, &iteration, BOUND_EST));
    assert_true(amounts_joules(&t.target, &iteration, BOUND_EST) <=
                amounts_joules(&t.target, &iteration, BOUND_HIGH));
    iteration = plain; /* four of twelve iterations are left for the remainder loop */
    apply(&t, 1, 12, &iteration, inner);
    NEAR(iteration.of[BOUND_EST].amount[COST_INT_OPS], (8 * 4 + 4 * 32) / 12.);
    iteration = plain; /* seven iterations are too few for the vectors */
    apply(&t, 1, 7, &iteration, inner);
    NEAR(iteration.of[BOUND_EST].amount[COST_INT_OPS], 32);
    NEAR(iteration.of[BOUND_EST].amount[COST_CYCLES], plain.of[BOUND_EST].amount[COST_CYCLES]);
    t.built[0].is_checked = true; /* at the upper bound, data overlaps and the loop runs without vectors */
    iteration = plain;
    apply(&t, 1, 8000, &iteration, inner);
    NEAR(iteration.of[BOUND_EST].amount[COST_INT_OPS], 4);
    NEAR(iteration.of[BOUND_HIGH].amount[COST_INT_OPS], 32);
}

/* Returns the joules of all iterations at one bound, for `min` to `max` iterations per entry. */
static double joules_of(const struct trial *t, double min, double max, enum bound bound)
{
    const double iterations[BOUNDS] = {min, (min + max) / 2, max};
    struct loop_times times = {
        {iterations[BOUND_LOW], iterations[BOUND_EST], iterations[BOUND_HIGH]}, min, max};
    struct amounts iteration = iteration_of(&t->target);
    built_loop_apply(&t->target, &t->loops, 1, &times, &(struct built_loop_order){1, INFINITY}, &iteration,
                     NULL);
    return iterations[bound] * amounts_joules(&t->target, &iteration, bound);
}

/* 15 iterations cost more than 16, because 16 leave no remainder. Bounds must include all counts between min
 * and max. */
static void test_bounds_hold_all_counts_between(void **state)
{
    (void)state;
    struct trial t = trial_of();
    t.built[0] = joined_by(8);
    join(&t, 1);
    assert_true(joules_of(&t, 15, 15, BOUND_HIGH) > 1.5 * joules_of(&t, 16, 16, BOUND_HIGH));
    for (int min = 1; min < 20; min++)
        for (int max = min + 1; max < 40; max++) {
            double low = INFINITY, high = 0;
            for (int iterations = min; iterations <= max; iterations++) {
                low = fmin(low, joules_of(&t, iterations, iterations, BOUND_LOW));
                high = fmax(high, joules_of(&t, iterations, iterations, BOUND_HIGH));
            }
            NEAR(joules_of(&t, min, max, BOUND_LOW), low);
            assert_true(joules_of(&t, min, max, BOUND_HIGH) >= high * (1 - 1e-9));
            assert_true(joules_of(&t, min, max, BOUND_HIGH) <= 1.5 * high);
        }
}

/* One entry has 1 iteration and the other has 31, so the mean is 16. The cost must include the remainders of
 * both entries, although 16 iterations would leave no remainder. */
static void test_a_mean_of_many_counts(void **state)
{
    (void)state;
    struct trial t = trial_of();
    t.built[0] = joined_by(16);
    join(&t, 1);
    struct loop_times times = {{16, 16, 16}, 1, 31};
    struct amounts iteration = iteration_of(&t.target);
    built_loop_apply(&t.target, &t.loops, 1, &times, &(struct built_loop_order){1, INFINITY}, &iteration,
                     NULL);
    double entries = joules_of(&t, 1, 1, BOUND_HIGH) + joules_of(&t, 31, 31, BOUND_HIGH);
    assert_true(2 * 16 * amounts_joules(&t.target, &iteration, BOUND_HIGH) >= entries);
}

static void test_wide_registers_are_priced(void **state)
{
    (void)state;
    struct trial t = trial_of();
    t.built[0] =
        (struct built_loop){.place = {file, 4, 9},
                            .factor = 8,
                            .iteration = {.work = {[WORK_FLOAT] = 8}, .simd_256 = 8, .has_chain = true},
                            .is_complete = true,
                            .is_vector = true};
    join(&t, 1);
    struct amounts inner[2], iteration = iteration_of(&t.target);
    apply(&t, 1, 8000, &iteration, inner);
    NEAR(iteration.of[BOUND_EST].amount[COST_SIMD_256], 1);
}

static void test_inner_loops_take_their_part(void **state)
{
    (void)state;
    struct trial t = trial_of();
    t.built[0] = (struct built_loop){.place = {file, 3, 5},
                                     .factor = 1,
                                     .iteration = {.work = {[WORK_INT] = 16}, .has_chain = true},
                                     .is_complete = true};
    join(&t, 1);
    struct amounts inner[2] = {iteration_of(&t.target), iteration_of(&t.target)},
                   iteration = iteration_of(&t.target);
    double before = amounts_joules(&t.target, &iteration, BOUND_EST);
    apply(&t, 0, 100, &iteration, inner);
    double ratio = amounts_joules(&t.target, &iteration, BOUND_EST) / before;
    assert_true(ratio < 1);
    NEAR(amounts_joules(&t.target, &inner[1], BOUND_EST), ratio * before);
    struct loop_times times = {{100, 100, 100}};
    struct amounts alone = iteration_of(&t.target);
    built_loop_apply(&t.target, &t.loops, 0, &times,
                     &(struct built_loop_order){.streamed = 1, .entry_uops = INFINITY}, &alone, NULL);
    NEAR(amounts_joules(&t.target, &alone, BOUND_EST), amounts_joules(&t.target, &iteration, BOUND_EST));
}

static void test_vectors_that_are_never_used(void **state)
{
    (void)state;
    struct trial t = trial_of();
    struct loop_times times = {{100, 100, 100}};
    const struct built_loop_order order = {.streamed = 1, .entry_uops = INFINITY, .overlaps = true};
    t.built[0] = joined_by(8);
    t.built[0].is_checked = true;
    join(&t, 1);
    struct amounts plain = iteration_of(&t.target), by_distance = plain, by_ranges = plain;
    built_loop_apply(&t.target, &t.loops, 1, &times, &order, &by_distance, NULL);
    t.built[0].compares_ranges = true;
    built_loop_apply(&t.target, &t.loops, 1, &times, &order, &by_ranges, NULL);
    assert_true(amounts_joules(&t.target, &by_distance, BOUND_EST) <
                amounts_joules(&t.target, &plain, BOUND_EST));
    assert_memory_equal(&by_ranges, &plain, sizeof plain);
}

/* If it is unknown how the loop was compiled, only bounds of the saving are known. The lower bound is no
 * saving, and the upper bound is the saving of vectors. */
static void test_not_joined_is_wider(void **state)
{
    (void)state;
    struct trial t = trial_of();
    join(&t, 0);
    t.list[1].is_unjoined = true;
    struct amounts inner[2], plain = iteration_of(&t.target), iteration = plain;
    apply(&t, 1, 100, &iteration, inner);
    NEAR(iteration.of[BOUND_LOW].amount[COST_INT_OPS], 4);
    NEAR(iteration.of[BOUND_EST].amount[COST_INT_OPS], 32);
    NEAR(iteration.of[BOUND_HIGH].amount[COST_CYCLES], plain.of[BOUND_HIGH].amount[COST_CYCLES]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loops_are_found_by_their_place),
        cmocka_unit_test(test_a_loop_that_stays_is_priced_as_it_stands),
        cmocka_unit_test(test_unrolled_inner_loop_belongs_to_the_outer),
        cmocka_unit_test(test_loops_that_are_not_found_are_not_joined),
        cmocka_unit_test(test_branches_and_calls_stay),
        cmocka_unit_test(test_several_at_once),
        cmocka_unit_test(test_bounds_hold_all_counts_between),
        cmocka_unit_test(test_a_mean_of_many_counts),
        cmocka_unit_test(test_wide_registers_are_priced),
        cmocka_unit_test(test_inner_loops_take_their_part),
        cmocka_unit_test(test_vectors_that_are_never_used),
        cmocka_unit_test(test_not_joined_is_wider),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
