/* Checks classes, ranges and sums in closed form of trip counts, computed from facts written by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "joulec/trips/trips.h"
#include "support/joulec/scev_text.h"

#define MAX_LOOPS 6

/* Loops l0, l1, ..., each inside the previous loop. READ sets their backedge-taken counts; "" means that the
 * count is unpredictable. */
struct nest {
    struct scev_facts text;
    struct trips_loop loops[MAX_LOOPS];
    struct trips trips[MAX_LOOPS];
    size_t count;
};

static void read_nest(struct nest *nest, const char *const *taken, size_t count, int64_t max)
{
    char words[4096], *at = stpcpy(words, "Determining loop execution counts for: @f\n");
    *nest = (struct nest){.count = count};
    for (size_t i = 0; i < count; i++) {
        if (*taken[i])
            at += sprintf(at, "Loop %%l%zu: backedge-taken count is %s\n", i, taken[i]);
        at += sprintf(at, "Loop %%l%zu: max backedge-taken count is %lld\n", i, (long long)max);
    }
    assert_true(scev_text_read(words, strlen(words), &nest->text));
    for (size_t i = 0; i < count; i++) {
        nest->loops[i].parent = i ? (uint32_t)i - 1 : TRIPS_NONE;
        nest->loops[i].facts = &nest->text.functions[0].loops[i];
    }
}

static const struct trips *count_with(struct nest *nest, const struct trips_symbol *symbols,
                                      size_t symbol_count)
{
    assert_true(trips_count(&nest->text.functions[0].pool, nest->loops, nest->count, symbols, symbol_count,
                            100, nest->trips));
    return &nest->trips[nest->count - 1];
}

static const struct trips *count_n(struct nest *nest, int64_t low, int64_t est, int64_t high)
{
    struct trips_symbol n = {"n", low, est, high};
    return count_with(nest, &n, 1);
}

static void check_range(const struct trips_range *range, double low, double est, double high)
{
    if (range->low != low || range->est != est || range->high != high)
        fail_msg("%.17g..%.17g..%.17g and not %.17g..%.17g..%.17g", range->low, range->est, range->high, low,
                 est, high);
}

#define READ(nest, max, ...)                                                                                 \
    read_nest(nest, (const char *const[]){__VA_ARGS__},                                                      \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), max)

static void test_classes_of_one_loop(void **state)
{
    (void)state;
    struct nest nest;
    READ(&nest, 999, "999");
    const struct trips *trips = count_with(&nest, NULL, 0);
    assert_int_equal(trips->cls, TRIPS_EXACT);
    check_range(&trips->per_entry, 1000, 1000, 1000);
    check_range(&trips->iterations, 1000, 1000, 1000);
    check_range(&trips->entries, 1, 1, 1);
    scev_facts_free(&nest.text);

    READ(&nest, 2147483646, "(-1 + %n)");
    trips = count_with(&nest, NULL, 0);
    assert_int_equal(trips->total_cls, TRIPS_GUESSED);
    check_range(&trips->per_entry, 1, 100, INFINITY);
    check_range(&trips->iterations, 0, 100, INFINITY); /* the guard may skip the loop */
    trips = count_n(&nest, 50, 50, 50);
    assert_int_equal(trips->total_cls, TRIPS_SYMBOLIC);
    check_range(&trips->iterations, 50, 50, 50);
    trips = count_n(&nest, 0, 0, 0);
    check_range(&trips->iterations, 0, 0, 0);
    check_range(&trips->entries, 0, 0, 0);
    trips = count_n(&nest, 0, 10, 40);
    assert_int_equal(trips->total_cls, TRIPS_SYMBOLIC);
    check_range(&trips->iterations, 0, 10, 40);
    check_range(&trips->entries, 0, 1, 1);
    check_range(&trips->per_entry, 1, 10, 40);
    nest.loops[0].entry = TRIPS_ALWAYS; /* without a guard, n = 0 would give 2^32 iterations */
    assert_int_equal(count_n(&nest, 0, 0, 0)->total_cls, TRIPS_GUESSED);
    scev_facts_free(&nest.text);

    READ(&nest, 499, "");
    nest.loops[0].entry = TRIPS_ALWAYS;
    trips = count_with(&nest, NULL, 0);
    assert_int_equal(trips->total_cls, TRIPS_BOUNDED);
    check_range(&trips->iterations, 1, 250.5, 500);
    scev_facts_free(&nest.text);
}

static void test_annotations_and_profiles(void **state)
{
    (void)state;
    struct nest nest;
    READ(&nest, -1, "");
    struct trips_loop *loop = &nest.loops[0];
    loop->has_annotation = true;
    loop->annotated_low = 10;
    loop->annotated_high = 20;
    const struct trips *trips = count_with(&nest, NULL, 0);
    assert_int_equal(trips->total_cls, TRIPS_BOUNDED);
    check_range(&trips->iterations, 10, 15, 20);
    loop->has_profile = true;
    loop->profiled_mean = 12;
    loop->profiled_low = loop->profiled_high = NAN;
    trips = count_with(&nest, NULL, 0);
    assert_int_equal(trips->total_cls, TRIPS_BOUNDED);
    check_range(&trips->iterations, 10, 12, 20);
    loop->has_annotation = false;
    trips = count_with(&nest, NULL, 0);
    assert_int_equal(trips->total_cls, TRIPS_PROFILED);
    check_range(&trips->per_entry, 1, 12, INFINITY);
    loop->profiled_low = 8;
    loop->profiled_high = 16;
    trips = count_with(&nest, NULL, 0);
    check_range(&trips->per_entry, 8, 12, 20);
    scev_facts_free(&nest.text);

    READ(&nest, 9, "9");
    nest.loops[0].has_annotation = true;
    /* LLVM's count is exact and replaces the annotation */
    nest.loops[0].annotated_low = nest.loops[0].annotated_high = 3;
    trips = count_with(&nest, NULL, 0);
    check_range(&trips->iterations, 10, 10, 10);
    assert_true(trips->refutes_annotation);
    nest.loops[0].annotated_high = 10;
    assert_false(count_with(&nest, NULL, 0)->refutes_annotation);
    scev_facts_free(&nest.text);
}

static struct trips count_annotated(struct nest *nest, double low, double high,
                                    const struct trips_symbol *symbols, size_t symbol_count)
{
    struct trips_loop *loop = &nest->loops[nest->count - 1];
    loop->has_annotation = true;
    loop->annotated_low = low;
    loop->annotated_high = high;
    return *count_with(nest, symbols, symbol_count);
}

/* Some annotations are impossible, others are wider than necessary. */
static void test_annotations_against_the_code(void **state)
{
    (void)state;
    struct nest nest;
    READ(&nest, 63, ""); /* at most 64 iterations */
    assert_true(count_annotated(&nest, 100, 200, NULL, 0).refutes_annotation);
    struct trips trips = count_annotated(&nest, 10, 200, NULL, 0);
    assert_false(trips.refutes_annotation);
    check_range(&trips.iterations, 10, 37, 64);
    trips = count_annotated(&nest, 0, 0, NULL, 0);
    check_range(&trips.iterations, 0, 0, 0);
    scev_facts_free(&nest.text);

    READ(&nest, -1, "(-1 + %n)");
    struct trips_symbol n = {"n", 1, 500, 1000};
    trips = count_annotated(&nest, 5, 20, &n, 1); /* the narrower range is used */
    assert_false(trips.refutes_annotation);
    check_range(&trips.iterations, 5, 12.5, 20);
    n.low = 30;
    assert_true(count_annotated(&nest, 5, 20, &n, 1).refutes_annotation);
    scev_facts_free(&nest.text);

    READ(&nest, -1, "99", "{0,+,1}<%l0>"); /* 1 to 100 iterations, 50.5 on average */
    assert_false(count_annotated(&nest, 0, 100, NULL, 0).refutes_annotation);
    assert_true(count_annotated(&nest, 0, 50, NULL, 0).refutes_annotation);
    scev_facts_free(&nest.text);
}

static void test_how_a_loop_is_reached(void **state)
{
    (void)state;
    struct nest nest;
    READ(&nest, -1, "9", "4");
    nest.loops[1].last = TRIPS_MISSED;
    const struct trips *trips = count_with(&nest, NULL, 0);
    check_range(&trips->iterations, 45, 45, 45);
    check_range(&trips->entries, 9, 9, 9);
    nest.loops[1].last = TRIPS_EITHER;
    trips = count_with(&nest, NULL, 0);
    check_range(&trips->iterations, 45, 50, 50);
    assert_int_equal(trips->total_cls, TRIPS_BOUNDED);
    nest.loops[1].last = TRIPS_REACHED;
    nest.loops[1].entry = TRIPS_SOMETIMES;
    trips = count_with(&nest, NULL, 0);
    check_range(&trips->iterations, 0, 25, 50);
    check_range(&trips->entries, 0, 5, 10);
    assert_int_equal(trips->cls, TRIPS_EXACT);
    assert_int_equal(trips->total_cls, TRIPS_BOUNDED);
    nest.loops[0].parent = 1;
    assert_false(trips_count(&nest.text.functions[0].pool, nest.loops, 2, NULL, 0, 100, nest.trips));
    scev_facts_free(&nest.text);
}

/* A loop that is entered many times usually runs for a small part of its upper bound. */
static void test_bounds_of_an_inner_loop(void **state)
{
    (void)state;
    struct nest nest;
    READ(&nest, -1, "9", "");
    nest.loops[1].entry = TRIPS_ALWAYS;
    struct trips trips = count_annotated(&nest, 0, 99, NULL, 0);
    assert_int_equal(trips.cls, TRIPS_BOUNDED);
    check_range(&trips.per_entry, 1, 9, 99);
    check_range(&trips.iterations, 0, 90, 990);
    scev_facts_free(&nest.text);
}

static void test_large_triangles_have_closed_sums(void **state)
{
    (void)state;
    struct nest nest;
    const double n = 100000;
    READ(&nest, -1, "(-1 + %n)", "{-1,+,1}<%l0>", "{-1,+,1}<%l1>");
    count_n(&nest, (int64_t)n, (int64_t)n, (int64_t)n);
    double two = n * (n - 1) / 2, three = two * (n - 2) / 3;
    check_range(&nest.trips[1].iterations, two, two, two);
    check_range(&nest.trips[1].entries, n - 1, n - 1, n - 1);
    check_range(&nest.trips[2].iterations, three, three, three);
    /* iteration 0 of the middle loop does not enter the inner loop */
    double entered = (n - 1) * (n - 2) / 2;
    check_range(&nest.trips[2].entries, entered, entered, entered);
    assert_int_equal(nest.trips[2].total_cls, TRIPS_SYMBOLIC);
    scev_facts_free(&nest.text);

    READ(&nest, -1, "4999", "{4999,+,-1}<%l0>", "{{4999,+,-1}<%l0>,+,-1}<%l1>",
         "{{{4999,+,-1}<%l0>,+,-1}<%l1>,+,-1}<%l2>");
    const struct trips *trips = count_with(&nest, NULL, 0);
    double four = 5000.0 * 5001 / 2 * 5002 / 3 * 5003 / 4;
    check_range(&trips->iterations, four, four, four);
    assert_int_equal(trips->total_cls, TRIPS_EXACT);
    scev_facts_free(&nest.text);
}

/* A sum in closed form equals the sum of its terms, even if guards limit counts to 0. */
static void test_closed_sums_are_those_of_counting(void **state)
{
    (void)state;
    for (int slope = -3; slope <= 3; slope++)
        for (int start = -9; start <= 9; start += 3)
            for (int inner = -1; inner <= 1; inner++) {
                char second[64], third[64];
                struct nest nest;
                sprintf(second, "{%d,+,%d}<%%l0>", slope < 0 ? start + 180 : start, slope);
                sprintf(third, "{%d,+,%d}<%%l1>", inner < 0 ? 170 : 3, inner);
                READ(&nest, -1, "59", second, third);
                const struct trips *trips = count_with(&nest, NULL, 0);
                double iterations = 0, entries = 0;
                for (int i = 0; i < 60; i++)
                    for (int j = 0; j <= (slope < 0 ? start + 180 : start) + slope * i; j++) {
                        int runs = (inner < 0 ? 170 : 3) + inner * j + 1;
                        iterations += runs > 0 ? runs : 0;
                        entries += runs > 0;
                    }
                check_range(&trips->iterations, iterations, iterations, iterations);
                check_range(&trips->entries, entries, entries, entries);
                assert_int_equal(trips->total_cls, TRIPS_EXACT);
                scev_facts_free(&nest.text);
            }
}

static void test_a_sum_that_is_too_long_is_a_range(void **state)
{
    (void)state;
    struct nest nest;
    READ(&nest, -1, "9999999", "({0,+,1}<%l0> /u 2)");
    const struct trips *trips = count_with(&nest, NULL, 0);
    assert_int_equal(trips->total_cls, TRIPS_BOUNDED);
    double counted = 0;
    for (int i = 0; i < 10000000; i++)
        counted += i / 2 + 1;
    assert_true(trips->iterations.low <= counted && counted <= trips->iterations.high);
    assert_true(isfinite(trips->iterations.high) && trips->iterations.low < trips->iterations.high);
    scev_facts_free(&nest.text);
}

/* The outer count increases and the inner count decreases with n. So the largest product is not at an end of
 * the range of n. */
static void test_ranges_hold_every_value_between(void **state)
{
    (void)state;
    struct nest nest;
    READ(&nest, -1, "(-1 + %n)", "(49 + (-1 * %n))");
    struct trips wide = *count_n(&nest, 5, 20, 45);
    for (int n = 5; n <= 45; n++) {
        const struct trips *one = count_n(&nest, n, n, n);
        check_range(&one->iterations, n * (50 - n), n * (50 - n), n * (50 - n));
        assert_true(wide.iterations.low <= one->iterations.low &&
                    one->iterations.high <= wide.iterations.high);
    }
    assert_true(wide.iterations.est == 600 && isfinite(wide.iterations.high));
    scev_facts_free(&nest.text);
}

/* The loops are those of a sieve. The estimate must be near the sum, and the bounds must contain it. */
static void test_a_sum_that_is_too_long_is_sampled(void **state)
{
    (void)state;
    static const char *const taken[] = {"(3000000 /u {1,+,1}<%l0>)",
                                        "(3000000 /u (3000000 + (-1 * {0,+,1}<%l0>)))"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        struct nest nest;
        double sum = 0;
        READ(&nest, -1, "2999999", taken[i]);
        nest.loops[1].entry = TRIPS_ALWAYS;
        const struct trips *trips = count_with(&nest, NULL, 0);
        for (int64_t k = 1; k <= 3000000; k++)
            sum += (double)(3000000 / k + 1);
        assert_int_equal(trips->total_cls, TRIPS_BOUNDED);
        assert_true(fabs(trips->iterations.est / sum - 1) < 0.01);
        assert_true(trips->iterations.low < sum && sum < trips->iterations.high);
        scev_facts_free(&nest.text);
    }
}

/* The machine's numbers may wrap, while the values of the formula do not. The formula is then no bound, even
 * if it is small at both ends of the range of n. */
static void test_formulas_that_overflow_give_no_bound(void **state)
{
    (void)state;
    struct nest nest;
    READ(&nest, -1, "(-1 + %n)");
    nest.loops[0].entry = TRIPS_ALWAYS; /* the loop is do ... while (--n) */
    assert_int_equal(count_n(&nest, 1, 50, 100)->cls, TRIPS_SYMBOLIC);
    const struct trips *trips = count_n(&nest, 0, 50, 100);
    assert_int_equal(trips->cls, TRIPS_GUESSED);
    assert_true(trips->may_overflow && isinf(trips->iterations.high));
    nest.loops[0].entry = TRIPS_GUARDED; /* the loop is while (n--) */
    check_range(&count_n(&nest, 0, 50, 100)->iterations, 0, 50, 100);
    /* the guard is n != 0: for n = 0 the count n - 1 = -1 means that the loop is not entered, but n = -1
     * would pass the guard */
    nest.loops[0].is_equality_test = true;
    check_range(&count_n(&nest, 0, 50, 100)->iterations, 0, 50, 100);
    assert_int_equal(count_n(&nest, -1, 50, 100)->cls, TRIPS_GUESSED);
    static const struct trips_symbol entered = {"n", 0, 50, 100, 32};
    nest.loops[0].entered = &entered; /* n is at least 0 where the loop is entered */
    assert_int_equal(count_n(&nest, -1, 50, 100)->cls, TRIPS_SYMBOLIC);
    scev_facts_free(&nest.text);
}

/* The loop is for (unsigned i = 1; i < n - 1; i++). */
static void test_guards_with_overflowed_values_give_no_count(void **state)
{
    (void)state;
    struct nest nest;
    READ(&nest, -1, "(-2 + %n)");
    struct expr_pool *pool = &nest.text.functions[0].pool;
    struct linear_side sides[] = {{*scev_expression(pool, "1", 1), true},
                                  {*scev_expression(pool, "(-1 + %n)", 9), true}};
    nest.loops[0].entry = TRIPS_GUARDED;
    nest.loops[0].compared = sides;
    nest.loops[0].compared_count = 2;
    check_range(&count_n(&nest, 1, 50, 100)->iterations, 0, 49, 99);
    check_range(&count_n(&nest, 7, 7, 7)->iterations, 6, 6, 6);
    assert_int_equal(count_n(&nest, 0, 0, 0)->cls, TRIPS_GUESSED);
    assert_int_equal(count_n(&nest, 0, 50, 100)->cls, TRIPS_GUESSED);
    sides[1].is_unsigned = sides[0].is_unsigned = false;
    check_range(&count_n(&nest, 0, 50, 100)->iterations, 0, 49, 99);
    scev_facts_free(&nest.text);
}

/* Two facts bound the formulas: the outer loop is entered, and its index has an upper limit. */
static void test_formulas_that_cannot_overflow_where_reached_give_bounds(void **state)
{
    (void)state;
    struct nest nest;
    READ(&nest, -1, "(-1 + %n)", "(-1 + %n)", "{(-1 + %n),+,-1}<%l0>");
    nest.loops[0].entry = TRIPS_GUARDED;
    nest.loops[1].entry = nest.loops[2].entry = TRIPS_ALWAYS;
    nest.loops[2].parent = 0;
    count_n(&nest, 0, 50, 100);
    assert_int_equal(nest.trips[1].cls, TRIPS_SYMBOLIC);
    check_range(&nest.trips[1].iterations, 0, 2500, 10000);
    assert_int_equal(nest.trips[2].cls, TRIPS_SYMBOLIC);
    check_range(&nest.trips[2].iterations, 0, 1275, 5050);
    scev_facts_free(&nest.text);

    /* the outer loop is i < m; the inner one is do ... while (j-- != 0) and starts at n - i */
    READ(&nest, -1, "(-1 + %m)", "{%n,+,-1}<%l0>");
    nest.loops[0].entry = TRIPS_GUARDED;
    nest.loops[1].entry = TRIPS_ALWAYS;
    struct trips_symbol symbols[] = {{"m", 0, 50, 100, 32}, {"n", 99, 150, 200, 32}};
    assert_int_equal(count_with(&nest, symbols, 2)->cls, TRIPS_SYMBOLIC);
    symbols[1].low = 98;
    assert_int_equal(count_with(&nest, symbols, 2)->cls, TRIPS_GUESSED);
    scev_facts_free(&nest.text);
}

static void test_unknown_outer_loop_and_known_inner_one(void **state)
{
    (void)state;
    struct nest nest;
    READ(&nest, -1, "%unknown", "{-1,+,1}<%l0>");
    const struct trips *trips = count_with(&nest, NULL, 0);
    assert_int_equal(trips->cls, TRIPS_EXACT);
    assert_int_equal(trips->total_cls, TRIPS_GUESSED);
    check_range(&trips->iterations, 0, 4950, INFINITY);
    scev_facts_free(&nest.text);
}

/* The outer loop's list of symbols contains n, but the inner loop's list does not. The nest then has no sum
 * in closed form, only a range. */
static void test_a_symbol_that_only_the_loop_around_has(void **state)
{
    (void)state;
    static const struct trips_symbol n = {"n", 2, 10, 40}, other = {"other", 1, 1, 1};
    struct nest nest;
    READ(&nest, -1, "(-1 + %n)", "9", "(-1 + %n)");
    nest.loops[0].entry = nest.loops[1].entry = TRIPS_ALWAYS;
    nest.loops[0].symbols = &n;
    nest.loops[1].symbols = &other;
    nest.loops[0].symbol_count = nest.loops[1].symbol_count = 1;
    nest.loops[2].parent = TRIPS_NONE; /* an outermost loop, for which n is bound */
    count_with(&nest, &n, 1);
    check_range(&nest.trips[0].iterations, 2, 10, 40);
    assert_int_equal(nest.trips[1].cls, TRIPS_EXACT);
    check_range(&nest.trips[1].per_entry, 10, 10, 10);
    check_range(&nest.trips[1].iterations, 20, 100, 400);
    check_range(&nest.trips[2].iterations, 2, 10, 40);
    scev_facts_free(&nest.text);
}

static void test_names_of_other_loops_are_not_taken(void **state)
{
    (void)state;
    struct nest nest;
    READ(&nest, -1, "9", "{0,+,1}<%l0>", "{0,+,1}<%elsewhere>");
    nest.loops[1].parent = TRIPS_NONE; /* l1 is not inside l0 */
    count_with(&nest, NULL, 0);
    assert_int_equal(nest.trips[1].cls, TRIPS_GUESSED);
    assert_int_equal(nest.trips[2].cls, TRIPS_GUESSED);
    scev_facts_free(&nest.text);
    struct trips_loop bare = {.parent = TRIPS_NONE};
    struct trips trips;
    assert_true(trips_count(NULL, &bare, 1, NULL, 0, 7, &trips));
    check_range(&trips.per_entry, 1, 7, INFINITY);
}

static void test_deep_nests_are_ranges(void **state)
{
    (void)state;
    enum { deep = 3000 };
    static struct trips_loop loops[deep];
    static struct trips trips[deep];
    for (uint32_t i = 0; i < deep; i++)
        loops[i] = (struct trips_loop){.parent = i ? i - 1 : TRIPS_NONE,
                                       .has_annotation = true,
                                       .annotated_low = 1,
                                       .annotated_high = 1};
    assert_true(trips_count(NULL, loops, deep, NULL, 0, 100, trips));
    check_range(&trips[deep - 1].iterations, 0, 1, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes_of_one_loop),
        cmocka_unit_test(test_annotations_and_profiles),
        cmocka_unit_test(test_annotations_against_the_code),
        cmocka_unit_test(test_how_a_loop_is_reached),
        cmocka_unit_test(test_bounds_of_an_inner_loop),
        cmocka_unit_test(test_large_triangles_have_closed_sums),
        cmocka_unit_test(test_closed_sums_are_those_of_counting),
        cmocka_unit_test(test_a_sum_that_is_too_long_is_a_range),
        cmocka_unit_test(test_ranges_hold_every_value_between),
        cmocka_unit_test(test_a_sum_that_is_too_long_is_sampled),
        cmocka_unit_test(test_formulas_that_overflow_give_no_bound),
        cmocka_unit_test(test_guards_with_overflowed_values_give_no_count),
        cmocka_unit_test(test_formulas_that_cannot_overflow_where_reached_give_bounds),
        cmocka_unit_test(test_unknown_outer_loop_and_known_inner_one),
        cmocka_unit_test(test_a_symbol_that_only_the_loop_around_has),
        cmocka_unit_test(test_names_of_other_loops_are_not_taken),
        cmocka_unit_test(test_deep_nests_are_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
