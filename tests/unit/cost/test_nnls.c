/* Tests non-negative least squares on problems with and without an exact solution: random steps must not
 * improve the solution. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "joule/cost/nnls.h"
#include "support/chance.h"

#define MAX_TERMS 5

struct rows {
    size_t count, columns;
    double of[40][MAX_TERMS], value[40];
};

static void begin(const struct rows *rows, struct nnls *out)
{
    nnls_begin(out, rows->columns);
    for (size_t i = 0; i < rows->count; i++)
        nnls_add(out, rows->of[i], rows->value[i]);
}

static double squares(const struct rows *rows, const double *x)
{
    double sum = 0;
    for (size_t i = 0; i < rows->count; i++) {
        double miss = -rows->value[i];
        for (size_t k = 0; k < rows->columns; k++)
            miss += rows->of[i][k] * x[k];
        sum += miss * miss;
    }
    return sum;
}

static struct rows random_rows(size_t count, size_t columns, double noise)
{
    double truth[MAX_TERMS];
    struct rows rows = {.count = count, .columns = columns};
    for (size_t k = 0; k < columns; k++)
        truth[k] = chance_between(-1, 1);
    for (size_t i = 0; i < count; i++) {
        rows.value[i] = noise * chance_normal();
        for (size_t k = 0; k < columns; k++) {
            rows.of[i][k] = chance();
            rows.value[i] += rows.of[i][k] * truth[k];
        }
    }
    return rows;
}

/* Fails if one of many random steps that keep all unknowns non-negative improves the solution. The problem is
 * convex, so a solution without such a step is optimal. */
static void assert_best(const struct rows *rows, const double *x)
{
    double best = squares(rows, x);
    for (int i = 0; i < 400; i++) {
        double other[MAX_TERMS], size = chance_scale(1e-6, 1);
        for (size_t k = 0; k < rows->columns; k++)
            other[k] = fmax(0, x[k] + size * chance_normal());
        assert_true(squares(rows, other) >= best * (1 - 1e-9) - 1e-18);
    }
}

static void test_nothing_near_is_better(void **state)
{
    (void)state;
    size_t held = 0;
    for (int i = 0; i < 300; i++) {
        struct rows rows =
            random_rows(3 + (size_t)(chance() * 30), 1 + (size_t)(chance() * MAX_TERMS), i % 3 * 0.2);
        struct nnls problem;
        double x[NNLS_MAX];
        begin(&rows, &problem);
        assert_true(nnls_solve(&problem, x));
        for (size_t k = 0; k < rows.columns; k++) {
            assert_true(x[k] >= 0);
            held += x[k] <= 0;
        }
        assert_true(fabs(nnls_residual(&problem, x) - squares(&rows, x)) <= 1e-9 * (1 + problem.squares));
        assert_best(&rows, x);
    }
    assert_true(held > 100); /* otherwise no constraint was active */
}

static void test_an_exact_answer_is_found(void **state)
{
    (void)state;
    struct nnls problem;
    double x[NNLS_MAX];
    nnls_begin(&problem, 3);
    nnls_add(&problem, (double[]){1, 2, 0}, 8);
    nnls_add(&problem, (double[]){0, 1, 1}, 3);
    nnls_add(&problem, (double[]){1, 0, 5}, 2);
    assert_true(nnls_solve(&problem, x));
    assert_true(fabs(x[0] - 2) < 1e-9 && fabs(x[1] - 3) < 1e-9 && fabs(x[2]) < 1e-9);
}

/* Two columns are multiples of each other. Any split of the result between them is optimal, and the solver
 * must find one of them. */
static void test_columns_that_depend(void **state)
{
    (void)state;
    struct nnls problem;
    double x[NNLS_MAX], sd[NNLS_MAX];
    size_t pair[2];
    nnls_begin(&problem, 3);
    for (int i = 0; i < 20; i++) {
        double a = chance(), b = chance();
        nnls_add(&problem, (double[]){a, 2 * a, b}, 4 * a + b);
    }
    assert_true(nnls_solve(&problem, x));
    assert_true(fabs(x[0] + 2 * x[1] - 4) < 1e-6 && fabs(x[2] - 1) < 1e-6);
    nnls_errors(&problem, x, sd);
    assert_true(sd[2] > 0 && isfinite(sd[2]));
    assert_true(nnls_condition(&problem, pair) > 1e10);
    assert_true(pair[0] + pair[1] == 1);
}

static void test_condition_of_orthogonal_columns_is_1(void **state)
{
    (void)state;
    struct nnls problem;
    size_t pair[2];
    nnls_begin(&problem, 3);
    nnls_add(&problem, (double[]){1, 0, 0}, 1);
    nnls_add(&problem, (double[]){0, 100, 0}, 1);
    nnls_add(&problem, (double[]){0, 0, 0}, 1);
    /* The condition is computed from columns that are scaled to the same length. Empty columns have no
     * effect. */
    assert_true(fabs(nnls_condition(&problem, pair) - 1) < 1e-9);
    double c = 0.6; /* for two columns with the cosine c, the condition is (1 + c) / (1 - c) */
    nnls_begin(&problem, 2);
    nnls_add(&problem, (double[]){1, c}, 1);
    nnls_add(&problem, (double[]){0, sqrt(1 - c * c)}, 1);
    assert_true(fabs(nnls_condition(&problem, pair) - (1 + c) / (1 - c)) < 1e-9);
}

/* The stated errors equal the standard deviations of many solutions with random noise. */
static void test_errors_are_those_of_answers(void **state)
{
    (void)state;
    enum { TRIES = 2000, ROWS = 12 };
    double sum[2] = {0}, squared[2] = {0}, sd[NNLS_MAX], x[NNLS_MAX];
    struct nnls problem;
    for (int i = 0; i < TRIES; i++) {
        nnls_begin(&problem, 2);
        for (int k = 0; k < ROWS; k++) {
            double row[] = {1 + k % 3, 1 + k % 5};
            nnls_add(&problem, row, 10 * row[0] + 20 * row[1] + chance_normal());
        }
        assert_true(nnls_solve(&problem, x));
        for (int k = 0; k < 2; k++) {
            sum[k] += x[k] / TRIES;
            squared[k] += x[k] * x[k] / TRIES;
        }
    }
    nnls_errors(&problem, x, sd);
    for (int k = 0; k < 2; k++)
        assert_true(fabs(sqrt(squared[k] - sum[k] * sum[k]) / sd[k] - 1) < 0.1);
}

static void test_values_that_are_not_finite_are_refused(void **state)
{
    (void)state;
    struct nnls problem;
    double x[NNLS_MAX];
    nnls_begin(&problem, 1);
    nnls_add(&problem, (double[]){NAN}, 1);
    assert_false(nnls_solve(&problem, x));
    nnls_begin(&problem, 2); /* the problem has no rows */
    assert_true(nnls_solve(&problem, x));
    assert_true(x[0] <= 0 && x[1] <= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_near_is_better),
        cmocka_unit_test(test_an_exact_answer_is_found),
        cmocka_unit_test(test_columns_that_depend),
        cmocka_unit_test(test_condition_of_orthogonal_columns_is_1),
        cmocka_unit_test(test_errors_are_those_of_answers),
        cmocka_unit_test(test_values_that_are_not_finite_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
