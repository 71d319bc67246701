/* Checks sizes that are expressions: equal polynomials have one number, bounds hold, and overflow is
 * reported. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "forge/ir/dim.h"

struct fixture {
    struct dim_table table;
    forge_dim b, t, c;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->b = dim_symbol(&f->table, "B", 1, 64, 1);
    f->t = dim_symbol(&f->table, "T", 16, 1024, 16);
    f->c = dim_symbol(&f->table, "C", 0, 7, 1);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    dim_table_free(&f->table);
    free(f);
    return 0;
}

static void test_symbols_are_unique_by_name(void **state)
{
    struct fixture *f = *state;
    assert_true(f->b < 0 && f->t < 0 && f->b != f->t);
    assert_true(dim_symbol(&f->table, "B", 1, 64, 1) == f->b);
    assert_true(dim_symbol(&f->table, "B", 1, 65, 1) == DIM_FAILED);
    assert_true(dim_symbol(&f->table, "", 1, 2, 1) == DIM_FAILED);
    assert_true(dim_symbol(&f->table, "x", 3, 2, 1) == DIM_FAILED);
    assert_true(dim_symbol(&f->table, "x", 1, 2, 0) == DIM_FAILED);
    assert_true(dim_symbol(&f->table, "a name that does not fit into thirty-two bytes", 1, 2, 1) ==
                DIM_FAILED);
}

/* Both sides of each law must be the same forge_dim. */
static void test_laws_of_arithmetic_hold(void **state)
{
    struct fixture *f = *state;
    struct dim_table *t = &f->table;
    forge_dim all[] = {f->b,
                       f->t,
                       f->c,
                       0,
                       1,
                       3,
                       dim_add(t, f->b, 2),
                       dim_mul(t, f->t, f->b),
                       dim_add(t, dim_mul(t, f->c, 5), f->b)};
    size_t count = sizeof all / sizeof *all;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++) {
            assert_true(dim_add(t, all[i], all[j]) == dim_add(t, all[j], all[i]));
            assert_true(dim_mul(t, all[i], all[j]) == dim_mul(t, all[j], all[i]));
            for (size_t k = 0; k < count; k++) {
                assert_true(dim_add(t, dim_add(t, all[i], all[j]), all[k]) ==
                            dim_add(t, all[i], dim_add(t, all[j], all[k])));
                assert_true(dim_mul(t, dim_mul(t, all[i], all[j]), all[k]) ==
                            dim_mul(t, all[i], dim_mul(t, all[j], all[k])));
                assert_true(dim_mul(t, all[i], dim_add(t, all[j], all[k])) ==
                            dim_add(t, dim_mul(t, all[i], all[j]), dim_mul(t, all[i], all[k])));
            }
            bool is_term = j < 6 || j == 7; /* dim_div cancels a divisor that is a term, but not a sum */
            if (all[j] != 0 && is_term)
                assert_true(dim_div(t, dim_mul(t, all[i], all[j]), all[j]) == all[i]);
        }
}

/* The value of each expression must equal the result of C arithmetic, and must lie within the expression's
 * bounds. */
static void test_values_are_within_their_bounds(void **state)
{
    struct fixture *f = *state;
    struct dim_table *t = &f->table;
    int64_t values[256] = {0};
    srand(5);
    for (int round = 0; round < 500; round++) {
        forge_dim symbolic = f->b;
        values[-f->b - 1] = 1 + rand() % 64;
        values[-f->t - 1] = 16 * (1 + rand() % 64);
        values[-f->c - 1] = rand() % 8;
        int64_t number = values[-f->b - 1];
        for (int step = 0; step < 4; step++) {
            forge_dim other[] = {f->b, f->t, f->c, 2, 3};
            forge_dim o = other[rand() % 5];
            int64_t value = dim_value(t, o, values);
            switch (rand() % 3) {
            case 0:
                symbolic = dim_add(t, symbolic, o);
                number += value;
                break;
            case 1:
                symbolic = dim_mul(t, symbolic, o);
                number *= value;
                break;
            default:
                if (o == f->c)
                    continue;
                symbolic = dim_div(t, symbolic, o);
                number /= value;
            }
        }
        assert_true(t->count < 256 || round > 0);
        if (t->count >= 256)
            break;
        assert_true(dim_value(t, symbolic, values) == number);
        assert_true(dim_min(t, symbolic) <= number && number <= dim_max(t, symbolic));
    }
}

static void test_exact_quotients_are_simplified(void **state)
{
    struct fixture *f = *state;
    struct dim_table *t = &f->table;
    assert_true(dim_div(t, dim_mul(t, f->t, 4), 2) == dim_mul(t, f->t, 2));
    assert_true(dim_div(t, dim_add(t, dim_mul(t, f->b, 6), 9), 3) == dim_add(t, dim_mul(t, f->b, 2), 3));
    forge_dim half = dim_div(t, dim_add(t, f->b, 1), 2);
    int64_t values[64] = {[0] = 6};
    assert_true(dim_value(t, half, values) == 3);
}

static void test_invalid_expressions_are_refused(void **state)
{
    struct fixture *f = *state;
    struct dim_table *t = &f->table;
    assert_true(dim_div(t, f->b, 0) == DIM_FAILED);
    assert_true(dim_add(t, DIM_FAILED, 1) == DIM_FAILED);
    assert_true(dim_mul(t, -1000, 1) == DIM_FAILED);
    assert_true(dim_mul(t, DIM_MAX_NUMBER, 2) == DIM_FAILED);
    forge_dim huge = dim_symbol(t, "huge", 0, DIM_MAX_NUMBER, 1);
    assert_true(dim_mul(t, huge, huge) == DIM_FAILED);
    assert_true(dim_add(t, huge, huge) == DIM_FAILED);
    assert_true(dim_elements(t, &(forge_shape){.rank = 2, .dims = {huge, 4}}) == DIM_FAILED);
}

static void test_expressions_are_printed(void **state)
{
    struct fixture *f = *state;
    char buffer[100];
    struct text text;
    text_init(&text, buffer, sizeof buffer);
    dim_print_shape(&f->table, &(forge_shape){.rank = 2, .dims = {dim_mul(&f->table, f->b, 3), 7}}, &text);
    assert_string_equal(buffer, "[(B*3),7]");
}

static void test_differences_are_simplified(void **state)
{
    (void)state;
    struct dim_table table = {0};
    forge_dim t = dim_symbol(&table, "T", 1, 64, 1), u = dim_symbol(&table, "U", 0, 8, 1);
    forge_dim sum = dim_add(&table, dim_add(&table, dim_mul(&table, t, 3), dim_mul(&table, t, u)), 5);
    assert_int_equal(dim_sub(&table, sum, 0), sum);
    assert_int_equal(dim_sub(&table, sum, sum), 0);
    assert_int_equal(dim_sub(&table, sum, dim_add(&table, dim_mul(&table, t, u), 5)), dim_mul(&table, t, 3));
    assert_int_equal(dim_add(&table, dim_sub(&table, sum, dim_add(&table, t, 2)), dim_add(&table, t, 2)),
                     sum);
    assert_int_equal(dim_sub(&table, 7, 3), 4);
    assert_int_equal(dim_sub(&table, t, 0), t);
    const forge_dim too_much[][2] = {{3, 7}, {t, 1}, {0, t}, {5, t}, {t, u}, {sum, u}, {t, -99}};
    for (size_t i = 0; i < sizeof too_much / sizeof *too_much; i++)
        assert_int_equal(dim_sub(&table, too_much[i][0], too_much[i][1]), DIM_FAILED);
    assert_true(dim_is_at_most(&table, t, sum) && dim_is_at_most(&table, u, 8) &&
                dim_is_at_most(&table, 1, t));
    assert_true(dim_is_at_most(&table, dim_div(&table, t, 2), t));
    assert_false(dim_is_at_most(&table, 2, t) || dim_is_at_most(&table, t, u) ||
                 dim_is_at_most(&table, -99, t));
    dim_table_free(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_symbols_are_unique_by_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_laws_of_arithmetic_hold, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_values_are_within_their_bounds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_exact_quotients_are_simplified, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_invalid_expressions_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_expressions_are_printed, set_up, tear_down),
        cmocka_unit_test(test_differences_are_simplified),
    };
    return cmocka_run_group_tests_name("dim", tests, NULL, NULL);
}
