/* Checks which memory level serves loads whose addresses grow by a bounded step or not at all. An example is
 * the output of a filter. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "support/cache_levels_trial.h"

#define FILTER "  %p = x\n  -->  ((8 * (zext i32 %c to i64))<nuw> + %a) U: full-set\n"

/* The estimate assumes that the value grows in each iteration, so the addresses form a stream. In the best
 * case the value does not grow. */
static void test_a_filter_is_a_stream(void **state)
{
    (void)state;
    for (int extent = -1; extent <= 3; extent += 2) {
        double times = 8 * MIB;
        struct trial *t = trial_new(1, &times, FILTER);
        add_monotonic_phi(t, 1, "c", extent, NULL);
        add_load(t, "p");
        describe(t);
        expect(t, BOUND_LOW, 0, 0, 0);
        expect(t, BOUND_EST, 0, 0, fabs((double)extent) * MIB);
        expect(t, BOUND_HIGH, 0, 0, fabs((double)extent) * MIB);
        assert_true(t->memory[1].streamed >= 1);
        t->blocks[1].monotonic_phi_count = 0;
        describe(t); /* now nothing is known about the value */
        assert_true(t->memory[1].streamed <= 0);
        trial_free(t);
    }
}

/* The monotonic value is the address itself. It starts at the address of a variable. */
static void test_a_monotonic_pointer_in_a_variable(void **state)
{
    (void)state;
    double times = 1e6;
    struct trial *t = trial_new(1, &times, "  %p = x\n  -->  %p U: full-set\n");
    add_monotonic_phi(t, 1, "p", 8, "@table");
    add_load(t, "p");
    t->global = (struct object){"@table", 4 * KIB, false};
    t->module.object_count = 1;
    describe(t);
    expect(t, BOUND_EST, 0, 0, 0);
    expect(t, BOUND_HIGH, 0, 0, 64);
    NEAR(t->bytes[BOUND_EST], 4 * KIB);
    trial_free(t);
}

/* The addresses differ by conditional increments, but are consecutive, so they form one stream. */
static void test_places_beside_each_other_are_one(void **state)
{
    (void)state;
    double times = 8 * MIB;
    struct trial *t = trial_new(
        1, &times,
        FILTER "  %q = x\n  -->  ((8 * (zext i32 ((zext i1 %b to i32) + %c) to i64)) + %a) U: full-set\n"
               "  %r = x\n  -->  ((8 * (zext i32 %d to i64)) + %a) U: full-set\n");
    add_monotonic_phi(t, 1, "c", 2, NULL);
    add_monotonic_phi(t, 1, "d", 0, "c"); /* d is the merged value after the conditional increment of c */
    add_load(t, "p");
    add_load(t, "q");
    add_load(t, "r");
    describe(t);
    expect(t, BOUND_EST, 0, 0, 2 * MIB);
    trial_free(t);
}

/* A filter stores rejected elements at i - c, which also grows by 0 or 1 per iteration. */
static void test_the_rest_is_a_stream(void **state)
{
    (void)state;
    double times = 8 * MIB;
    struct trial *t = trial_new(1, &times, "  %p = x\n  -->  ({%a,+,8}<%b1> + (-8 * %c)) U: full-set\n");
    add_monotonic_phi(t, 1, "c", 1, NULL);
    add_load(t, "p");
    describe(t);
    expect(t, BOUND_LOW, 0, 0, 0);
    expect(t, BOUND_EST, 0, 0, MIB);
    assert_true(t->memory[1].streamed >= 1);
    trial_free(t);
}

/* There are 1000 rows of 1000 elements. The value is reset in each row, continues from the previous row, or
 * starts at a position that depends on the row. */
static void test_filters_in_nests(void **state)
{
    (void)state;
    static const struct {
        const char *from;
        double bytes;
    } starts[] = {{NULL, 8000}, {"n", 8000}, {"row", 8e6}, {"left", 8e6}};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        double times[] = {1000, 1000};
        struct trial *t = trial_new(2, times,
                                    FILTER "  %row = x\n  -->  {0,+,1000}<%b1> U: full-set\n"
                                           "  %left = x\n  -->  %left U: full-set\n");
        add_monotonic_phi(t, 2, "c", 1, starts[i].from);
        add_value(t, 1, "left");
        add_load(t, "p");
        describe(t);
        NEAR(t->bytes[BOUND_EST], starts[i].bytes);
        assert_true(t->memory[2].streamed >= 1 || starts[i].bytes < 32 * KIB);
        trial_free(t);
    }
}

/* The value grows in the outer loop, so it is constant in the inner one. */
static void test_phi_of_an_outer_loop_is_constant_in_the_inner(void **state)
{
    (void)state;
    double times[] = {1000, 1000};
    struct trial *t = trial_new(2, times, "  %p = x\n  -->  {((8 * %c) + %a),+,8}<%b2> U: full-set\n");
    add_monotonic_phi(t, 1, "c", 1, NULL);
    add_load(t, "p");
    describe(t);
    NEAR(t->bytes[BOUND_EST], 16000);
    trial_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_filter_is_a_stream),
        cmocka_unit_test(test_a_monotonic_pointer_in_a_variable),
        cmocka_unit_test(test_places_beside_each_other_are_one),
        cmocka_unit_test(test_the_rest_is_a_stream),
        cmocka_unit_test(test_filters_in_nests),
        cmocka_unit_test(test_phi_of_an_outer_loop_is_constant_in_the_inner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
