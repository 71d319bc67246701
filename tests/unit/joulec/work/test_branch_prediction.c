/* Checks misprediction rates of branches, computed from facts about the branch, and their use in sums of
 * blocks and loops. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "joulec/work/branch_prediction.h"

#define NEAR(a, b) assert_true(fabs((double)(a) - (double)(b)) <= 1e-12)

static void check_block(bool is_by_data, size_t edge_count, const double *probability, double est,
                        double high)
{
    struct edge edges[4];
    double wrong[BOUNDS];
    for (size_t i = 0; i < edge_count; i++)
        edges[i] = (struct edge){(uint32_t)i, probability[i]};
    struct block block = {.edges = edges, .edge_count = edge_count, .is_by_data = is_by_data};
    misprediction_of_block(&block, NULL, wrong);
    NEAR(wrong[BOUND_LOW], 0);
    NEAR(wrong[BOUND_EST], est);
    NEAR(wrong[BOUND_HIGH], high);
}

static void test_only_data_surprise(void **state)
{
    (void)state;
    check_block(false, 2, (double[]){NAN, NAN}, 0, 0);
    check_block(true, 1, (double[]){NAN}, 0, 0);
    check_block(true, 0, NULL, 0, 0);
    check_block(true, 2, (double[]){NAN, NAN}, 0.125, 0.5);
    check_block(true, 4, (double[]){NAN, NAN, NAN, NAN}, 0.125, 0.75);
}

static void test_equality_is_mispredicted_less_than_order(void **state)
{
    (void)state;
    struct edge edges[2] = {{1, NAN}, {2, NAN}};
    struct block block = {
        .edges = edges, .edge_count = 2, .is_by_data = true, .branch_test = BRANCH_TEST_EQUAL};
    double wrong[BOUNDS];
    misprediction_of_block(&block, NULL, wrong);
    NEAR(wrong[BOUND_EST], 1. / 12);
    block.branch_test = BRANCH_TEST_ORDER;
    misprediction_of_block(&block, NULL, wrong);
    NEAR(wrong[BOUND_EST], 1. / 4);
    NEAR(wrong[BOUND_HIGH], 1. / 2);
}

/* A branch is never mispredicted if all other paths end the program, and rarely if they are cold. */
static void test_paths_that_hardly_ever_run(void **state)
{
    (void)state;
    static const enum heat heats[][3] = {{HEAT_NORMAL, HEAT_NEVER, HEAT_NORMAL},
                                         {HEAT_NORMAL, HEAT_DEAD, HEAT_NORMAL},
                                         {HEAT_NORMAL, HEAT_COLD, HEAT_NORMAL},
                                         {HEAT_COLD, HEAT_COLD, HEAT_NORMAL}};
    static const double est[] = {0, 0, 1. / 2001, 1. / 8}, high[] = {0, 0, 0.5, 0.5};
    struct edge edges[2] = {{0, NAN}, {1, NAN}};
    struct block block = {.edges = edges, .edge_count = 2, .is_by_data = true};
    for (size_t i = 0; i < sizeof heats / sizeof *heats; i++) {
        double wrong[BOUNDS];
        misprediction_of_block(&block, heats[i], wrong);
        NEAR(wrong[BOUND_EST], est[i]);
        NEAR(wrong[BOUND_HIGH], high[i]);
    }
}

static void test_misprediction_follows_the_rarer_edge(void **state)
{
    (void)state;
    check_block(true, 2, (double[]){0.75, 0.25}, 0.25, 0.5);
    check_block(true, 2, (double[]){0.01, 0.99}, 0.01, 0.02);
    check_block(true, 2, (double[]){0, 1}, 0, 0);
    check_block(true, 2, (double[]){0.5, 0.5}, 0.5, 0.5);
}

static void check_loop(double low, double est, double high, bool ends_by_data, double est_wrong,
                       double high_wrong)
{
    double wrong[BOUNDS];
    misprediction_of_loop(&(struct loop_times){{low, est, high}}, ends_by_data, wrong);
    NEAR(wrong[BOUND_LOW], 0);
    NEAR(wrong[BOUND_EST], est_wrong);
    NEAR(wrong[BOUND_HIGH], high_wrong);
}

static void test_ends_of_loops(void **state)
{
    (void)state;
    check_loop(16, 16, 16, false, 0, 0);
    check_loop(1000, 1000, 1000, false, 1, 1);
    check_loop(16, 16, 16, true, 1, 1);
    check_loop(0, 0.25, 4, true, 0.25, 1);
    check_loop(0, 50, INFINITY, false, 1, 1);
}

/* Block 0 branches to 1 or 2, and both lead to 3. */
static void test_a_branch_by_data_costs_cycles(void **state)
{
    (void)state;
    static const struct cost_cpu cpu = {"intel", 6, 85, "", 2, 40, 80, false};
    struct edge edges[4] = {{1, NAN}, {2, NAN}, {3, NAN}, {3, NAN}};
    struct block blocks[4] = {{.edges = edges, .edge_count = 2},
                              {.edges = edges + 2, .edge_count = 1},
                              {.edges = edges + 3, .edge_count = 1},
                              {0}};
    struct function function = {.name = "f", .blocks = blocks, .block_count = 4};
    struct arena arena = {0};
    struct target target;
    struct function_sum sums[2];
    cost_core_describe(&cpu, NAN, &target.core);
    cost_core_table(&cpu, &target.table);
    for (int i = 0; i < 2; i++) {
        struct loops loops;
        blocks[0].is_by_data = i == 1;
        assert_int_equal(loops_find(&arena, &function, &loops), JOULE_OK);
        assert_int_equal(sum_function(&arena, &function, &loops, NULL, NULL, &target, NULL, NULL, &sums[i]),
                         JOULE_OK);
    }
    const struct cost_features *plain = sums[0].call.of, *data = sums[1].call.of;
    double cost = target.core.latency[COST_MISPREDICTS];
    NEAR(plain[BOUND_HIGH].amount[COST_MISPREDICTS], 0);
    NEAR(data[BOUND_LOW].amount[COST_MISPREDICTS], 0);
    NEAR(data[BOUND_EST].amount[COST_MISPREDICTS], 0.125);
    NEAR(data[BOUND_HIGH].amount[COST_MISPREDICTS], 0.5);
    assert_true(data[BOUND_EST].amount[COST_CYCLES] >= plain[BOUND_EST].amount[COST_CYCLES] + 0.125 * cost);
    assert_true(data[BOUND_HIGH].amount[COST_CYCLES] >= plain[BOUND_HIGH].amount[COST_CYCLES] + 0.5 * cost);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_only_data_surprise),
                                       cmocka_unit_test(test_equality_is_mispredicted_less_than_order),
                                       cmocka_unit_test(test_paths_that_hardly_ever_run),
                                       cmocka_unit_test(test_misprediction_follows_the_rarer_edge),
                                       cmocka_unit_test(test_ends_of_loops),
                                       cmocka_unit_test(test_a_branch_by_data_costs_cycles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
