/* Checks which memory level serves the loads of a loop. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "support/chance.h"
#include "support/cache_levels_trial.h"

#define STREAM "  %p = x\n  -->  {%a,+,8}<%b1> U: full-set\n"

static struct trial *stream_of(double times, const char *values)
{
    struct trial *t = trial_new(1, &times, values);
    add_load(t, "p");
    describe(t);
    return t;
}

/* --- one loop ------------------------------------------------------------------------------------------- */

static void test_a_stream_comes_from_the_level_that_holds_it(void **state)
{
    (void)state;
    struct trial *t = stream_of(512, STREAM); /* 4 KiB of data */
    expect(t, BOUND_LOW, 0, 0, 0);
    expect(t, BOUND_EST, 0, 0, 0);
    expect(t, BOUND_HIGH, 0, 0, 64); /* the first access to each line */
    NEAR(t->bytes[BOUND_EST], 4 * KIB);
    assert_true(t->memory[1].streamed >= 1);
    trial_free(t);
    t = stream_of(32 * KIB, STREAM); /* 256 KiB of data */
    expect(t, BOUND_EST, 4 * KIB, 0, 0);
    expect(t, BOUND_HIGH, 0, 0, 4 * KIB);
    trial_free(t);
    t = stream_of(MIB, STREAM); /* 8 MiB of data */
    expect(t, BOUND_EST, 0, 128 * KIB, 0);
    trial_free(t);
    t = stream_of(8 * MIB, STREAM); /* 64 MiB of data */
    expect(t, BOUND_EST, 0, 0, MIB);
    trial_free(t);
}

static void test_beyond_a_line_each_access_is_one(void **state)
{
    (void)state;
    for (int stride = 64; stride <= 4096; stride *= 4) {
        char values[100];
        snprintf(values, sizeof values, "  %%p = x\n  -->  {%%a,+,-%d}<%%b1> U: full-set\n", stride);
        struct trial *t = stream_of(2e6, values);
        expect(t, BOUND_EST, 0, 0, 2e6);
        assert_true(stride <= 2048 ? t->memory[1].streamed >= 1 : t->memory[1].streamed <= 0);
        trial_free(t);
    }
}

/* The addresses a[i], a[i + 1] and a[i + 2] are one stream. Each load is assigned a third of the stream's
 * lines. */
static void test_a_line_counts_once(void **state)
{
    (void)state;
    double times = 8 * MIB;
    struct trial *t = trial_new(1, &times,
                                STREAM "  %q = x\n  -->  {(8 + %a),+,8}<%b1> U: full-set\n"
                                       "  %r = x\n  -->  {(16 + %a),+,8}<%b1> U: full-set\n");
    add_load(t, "p");
    add_load(t, "r");
    add_load(t, "q");
    describe(t);
    expect(t, BOUND_EST, 0, 0, MIB);
    trial_free(t);
    t = trial_new(1, &times, STREAM "  %q = x\n  -->  {%b,+,8}<%b1> U: full-set\n");
    add_load(t, "p");
    add_load(t, "q");
    describe(t);
    expect(t, BOUND_EST, 0, 0, 2 * MIB);
    trial_free(t);
}

static void test_stores_are_written_back(void **state)
{
    (void)state;
    double times = 8 * MIB;
    struct trial *t = trial_new(1, &times, STREAM);
    add_load(t, "p")->is_store = true;
    describe(t);
    expect(t, BOUND_EST, 0, 0, 2 * MIB);
    trial_free(t);
}

static void test_one_place_stays_near(void **state)
{
    (void)state;
    double times = 1e9;
    struct trial *t = trial_new(1, &times, "");
    add_load(t, "a")->is_fixed = true;
    describe(t);
    expect(t, BOUND_EST, 0, 0, 0);
    expect(t, BOUND_HIGH, 0, 0, 1);
    trial_free(t);
}

/* --- unknown addresses ---------------------------------------------------------------------------------- */

static void test_unknown_addresses_are_bounded_by_dram(void **state)
{
    (void)state;
    static const char loaded[] = "  %p = x\n  -->  (%a + (8 * (sext i32 %i to i64))<nsw>) U: full-set\n";
    const char *const texts[] = {loaded, /* the index is a loaded value */
                                 "  %p = x\n  -->  %i U: full-set\n",
                                 "  %p = x\n  -->  (nonsense) U: full-set\n", ""};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        double times = 1000;
        struct trial *t = trial_new(1, &times, texts[i]);
        add_value(t, 1, "i");
        add_load(t, "p");
        describe(t);
        expect(t, BOUND_LOW, 0, 0, 0);
        expect(t, BOUND_EST, 125, 0, 0); /* one access in eight */
        expect(t, BOUND_HIGH, 0, 0, 1000);
        assert_true(t->memory[1].streamed <= 0);
        trial_free(t);
    }
}

static void test_size_of_a_variable_bounds_its_lines(void **state)
{
    (void)state;
    double times = 1e6;
    struct trial *t =
        trial_new(1, &times, "  %p = x\n  -->  (@table + (8 * (sext i32 %i to i64))) U: full-set\n");
    add_value(t, 1, "i");
    add_load(t, "p");
    t->global = (struct object){"@table", 4 * KIB, false};
    t->module.object_count = 1;
    describe(t);
    expect(t, BOUND_EST, 0, 0, 0);
    expect(t, BOUND_HIGH, 0, 0, 64);
    t->global.bytes = 2 * MIB;
    describe(t); /* L1 holds a 64th of the array, and L2 holds half of it */
    expect(t, BOUND_EST, 1e6 * (0.5 - 1. / 64), 5e5, 0);
    t->global.bytes = 1e12;
    describe(t);
    expect(t, BOUND_EST, 1.016, 32.5, 1e6);
    trial_free(t);
}

static void test_local_variables_are_never_far(void **state)
{
    (void)state;
    double times = 1000;
    struct trial *t = trial_new(1, &times, STREAM);
    add_load(t, "p");
    t->local = (struct object){"a", 8000, true};
    t->function.object_count = 1;
    describe(t);
    expect(t, BOUND_HIGH, 0, 0, 0);
    trial_free(t);
}

/* The loaded value is the next address, so the dependence chain includes the wait for the line. */
static void test_a_chase_waits(void **state)
{
    (void)state;
    double times = 1000;
    struct trial *t = trial_new(1, &times, "  %p = x\n  -->  (8 + %at) U: full-set\n");
    add_value(t, 1, "at");
    add_load(t, "p")->is_in_chain = true;
    describe(t);
    assert_true(t->memory[1].wait_cycles[BOUND_LOW] <= 0);
    NEAR(t->memory[1].wait_cycles[BOUND_EST], 15. / 8);
    NEAR(t->memory[1].wait_cycles[BOUND_HIGH], 240);
    trial_free(t);
}

/* --- nests ---------------------------------------------------------------------------------------------- */

/* The loops access 1000 x 1000 elements by rows or by columns. The next column uses the lines of the previous
 * column again if they fit into the cache. */
static void test_rows_and_columns(void **state)
{
    (void)state;
    double times[] = {1000, 1000};
    struct trial *t = trial_new(2, times, "  %p = x\n  -->  {{%a,+,8000}<%b1>,+,8}<%b2> U: full-set\n");
    add_load(t, "p");
    describe(t);
    expect(t, BOUND_EST, 0, 125000, 0);
    assert_true(t->memory[2].streamed >= 1);
    trial_free(t);
    t = trial_new(2, times, "  %p = x\n  -->  {{%a,+,8}<%b1>,+,8000}<%b2> U: full-set\n");
    add_load(t, "p");
    describe(t); /* a column has 64 KB of lines */
    expect(t, BOUND_EST, 1e6 - 125000, 125000, 0);
    assert_true(t->memory[2].streamed <= 0);
    trial_free(t);
}

/* If the row size is a power of two, a column's lines share a 64th of the cache's sets. Rows with one more
 * line use all sets. */
static void test_columns_that_meet_in_few_sets(void **state)
{
    (void)state;
    double times[] = {1000, 1000};
    struct trial *t = trial_new(2, times, "  %p = x\n  -->  {{%a,+,8}<%b1>,+,8192}<%b2> U: full-set\n");
    add_load(t, "p");
    describe(t);
    expect(t, BOUND_EST, 0, 1e6, 0);
    trial_free(t);
    t = trial_new(2, times, "  %p = x\n  -->  {{%a,+,8}<%b1>,+,8256}<%b2> U: full-set\n");
    add_load(t, "p");
    describe(t);
    expect(t, BOUND_EST, 1e6 - 125000, 125000, 0);
    trial_free(t);
    double few[] = {1000, 100}; /* 100 lines fit in 128 ways of L2, but not in the 8 ways of L1 */
    t = trial_new(2, few, "  %p = x\n  -->  {{%a,+,8}<%b1>,+,8192}<%b2> U: full-set\n");
    add_load(t, "p");
    describe(t);
    expect(t, BOUND_EST, 1e5, 0, 0);
    trial_free(t);
}

/* The row length is unknown and is assumed to be the loop's trip count. */
static void test_unknown_row_length_is_the_trip_count(void **state)
{
    (void)state;
    double times[] = {1000, 1000};
    struct trial *t = trial_new(
        2, times, "  %p = x\n  -->  {{%a,+,8}<%b1>,+,(8 * (sext i32 %n to i64))}<%b2> U: full-set\n");
    add_load(t, "p");
    describe(t);
    expect(t, BOUND_EST, 1e6 - 125000, 125000, 0);
    trial_free(t);
    t = trial_new(2, times,
                  "  %p = x\n  -->  {{%a,+,(8 * (sext i32 %n to i64))}<%b1>,+,8}<%b2> U: full-set\n");
    add_load(t, "p");
    describe(t);
    expect(t, BOUND_EST, 0, 125000, 0);
    trial_free(t);
}

/* Rows are accessed through pointers. Each row is contiguous, but rows may be anywhere. */
static void test_rows_by_pointers(void **state)
{
    (void)state;
    double times[] = {1000, 1000};
    struct trial *t = trial_new(2, times, "  %p = x\n  -->  {%row,+,8}<%b2> U: full-set\n");
    add_value(t, 1, "row");
    add_load(t, "p");
    describe(t);
    expect(t, BOUND_EST, 0, 125000, 0);
    assert_true(t->memory[2].streamed >= 1);
    trial_free(t);
}

/* A product of 200 x 200 matrices with the loops i, k, j reads b[k][j]. The whole matrix b stays in L2
 * between iterations of i. */
static void test_reuse_in_outer_loops(void **state)
{
    (void)state;
    double times[] = {200, 200, 200};
    struct trial *t = trial_new(3, times, "  %p = x\n  -->  {{%b,+,1600}<%b2>,+,8}<%b3> U: full-set\n");
    add_load(t, "p");
    describe(t);
    expect(t, BOUND_EST, 200 * 5000, 0, 0);
    NEAR(t->bytes[BOUND_EST], 320000);
    trial_free(t);
}

static void test_callees_push_out(void **state)
{
    (void)state;
    double times[] = {10, 1000};
    struct trial *t = trial_new(2, times, "  %p = x\n  -->  {%a,+,8}<%b2> U: full-set\n");
    add_load(t, "p");
    describe(t);
    expect(t, BOUND_EST, 0, 0, 0);
    for (int b = 0; b < BOUNDS; b++)
        t->callee.bytes[b] = 100 * KIB;
    t->blocks[1].calls = &t->call;
    t->blocks[1].call_count = 1;
    describe(t);
    expect(t, BOUND_EST, 10 * 125, 0, 0);
    trial_free(t);
}

/* --- any nest ------------------------------------------------------------------------------------------- */

static double beyond(const struct trial *t, enum bound bound, enum cost_level level)
{
    double sum = 0;
    for (int l = level + 1; l < COST_LEVELS; l++)
        sum += lines(t, bound, (enum cost_level)l);
    return sum;
}

static uint32_t below(uint32_t count)
{
    return (uint32_t)(chance_bits() % count);
}

static double stride_of(void)
{
    static const double strides[] = {0, 4, 8, 24, 64, 72, 1600, 4096, 65544};
    return strides[below(9)];
}

static struct trial *any_nest(void)
{
    char values[600];
    double times[3];
    for (int d = 0; d < 3; d++)
        times[d] = 1 + (double)below(300);
    snprintf(values, sizeof values,
             "  %%p = x\n  -->  {{{%%a,+,%.0f}<%%b1>,+,%.0f}<%%b2>,+,%.0f}<%%b3> U: full-set\n"
             "  %%q = x\n  -->  {{(%.0f + %%a),+,%%n}<%%b2>,+,%.0f}<%%b3> U: full-set\n"
             "  %%r = x\n  -->  {%%row,+,%.0f}<%%b3> U: full-set\n"
             "  %%s = x\n  -->  {(%%a + (%.0f * %%c)),+,%.0f}<%%b3> U: full-set\n",
             stride_of(), stride_of(), stride_of(), stride_of(), stride_of(), stride_of(), stride_of(),
             stride_of());
    struct trial *t = trial_new(3, times, values);
    add_value(t, below(4), "row");
    add_load(t, "p");
    add_load(t, "q")->is_store = below(2) == 1;
    add_load(t, "r");
    add_monotonic_phi(t, 1 + below(3), "c", below(2) ? -1 : 3, below(2) ? "row" : NULL);
    add_load(t, "s");
    return t;
}

static void test_bounds_hold_the_estimate(void **state)
{
    (void)state;
    chance_state = CHANCE_SEED;
    for (int i = 0; i < 2000; i++) {
        struct trial *t = any_nest();
        t->times[below(3)].times[BOUND_LOW] = 1;
        t->times[below(3)].times[BOUND_HIGH] *= 1 + (double)below(9);
        describe(t);
        for (enum cost_level level = COST_L1; level < COST_DRAM; level++) {
            assert_true(beyond(t, BOUND_LOW, level) <= beyond(t, BOUND_EST, level) * (1 + 1e-9));
            assert_true(beyond(t, BOUND_EST, level) <= beyond(t, BOUND_HIGH, level) * (1 + 1e-9));
        }
        trial_free(t);
    }
}

/* More iterations or a smaller cache must not move loads to a nearer level. */
static void test_more_is_never_nearer(void **state)
{
    (void)state;
    chance_state = CHANCE_SEED;
    for (int i = 0; i < 2000; i++) {
        struct trial *t = any_nest();
        double before[BOUNDS][COST_DRAM];
        describe(t);
        for (enum bound b = BOUND_LOW; b < BOUNDS; b++)
            for (enum cost_level level = COST_L1; level < COST_DRAM; level++)
                before[b][level] = beyond(t, b, level);
        if (i % 2)
            t->core.cache_bytes[COST_L2] /= 2;
        for (enum bound b = BOUND_LOW; b < BOUNDS; b++)
            t->times[i % 3].times[b] *= i % 2 ? 1 : 2;
        describe(t);
        for (enum bound b = BOUND_LOW; b < BOUNDS; b++)
            for (enum cost_level level = COST_L1; level < COST_DRAM; level++)
                assert_true(beyond(t, b, level) >= before[b][level] * (1 - 1e-9));
        trial_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stream_comes_from_the_level_that_holds_it),
        cmocka_unit_test(test_beyond_a_line_each_access_is_one),
        cmocka_unit_test(test_a_line_counts_once),
        cmocka_unit_test(test_stores_are_written_back),
        cmocka_unit_test(test_one_place_stays_near),
        cmocka_unit_test(test_unknown_addresses_are_bounded_by_dram),
        cmocka_unit_test(test_size_of_a_variable_bounds_its_lines),
        cmocka_unit_test(test_local_variables_are_never_far),
        cmocka_unit_test(test_a_chase_waits),
        cmocka_unit_test(test_rows_and_columns),
        cmocka_unit_test(test_columns_that_meet_in_few_sets),
        cmocka_unit_test(test_unknown_row_length_is_the_trip_count),
        cmocka_unit_test(test_rows_by_pointers),
        cmocka_unit_test(test_reuse_in_outer_loops),
        cmocka_unit_test(test_callees_push_out),
        cmocka_unit_test(test_bounds_hold_the_estimate),
        cmocka_unit_test(test_more_is_never_nearer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
