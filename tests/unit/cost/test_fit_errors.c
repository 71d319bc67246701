/* Tests the leave-one-out errors of a fit: each family of kernels is omitted once, and the fit of the others
 * predicts it. The fit is a fake that returns the number of the omitted family. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "joule/cost/fit_errors.h"
#include "support/check.h"

#define KERNELS 4
#define ALL     100.0

static const struct fit_kernel list[KERNELS] = {
    {.family = FIT_IDLE}, {.family = FIT_CHAINS}, {.family = FIT_UNITS}, {.family = FIT_UNITS}};

struct trial {
    enum fit_family impossible;
    size_t unused; /* index of the kernel that must not be used */
};

static bool find(const void *of, enum fit_family without, double *out_x)
{
    const struct trial *trial = of;
    out_x[0] = without;
    return without != trial->impossible;
}

static void miss(const void *of, const double *x, double *out_errors)
{
    const struct trial *trial = of;
    for (size_t i = 0; i < KERNELS; i++)
        out_errors[i] = i == trial->unused ? NAN : x[0];
}

static bool find_errors(const struct trial *trial, struct fit_errors *out)
{
    struct fit_method method = {trial, find, miss};
    return fit_find_errors(&method, list, KERNELS, (double[]){ALL}, out);
}

static void test_each_family_is_missed_by_the_fit_of_the_others(void **state)
{
    (void)state;
    struct fit_errors errors;
    assert_true(find_errors(&(struct trial){FIT_FAMILIES, 3}, &errors));
    assert_true(errors.residual[0] == ALL && errors.residual[2] == ALL && isnan(errors.residual[3]));
    assert_true(errors.residual_log_sd == ALL);
    /* all fits include the idle machine */
    assert_true(isnan(errors.left_out[0]) && isnan(errors.left_out[3]));
    assert_true(errors.left_out[1] == FIT_CHAINS && errors.left_out[2] == FIT_UNITS);
    assert_true(isnan(errors.family_log_sd[FIT_IDLE]) && isnan(errors.family_log_sd[FIT_CACHES]));
    assert_true(errors.family_log_sd[FIT_UNITS] == FIT_UNITS);
    double both = (double)FIT_CHAINS * FIT_CHAINS + (double)FIT_UNITS * FIT_UNITS;
    assert_true(fabs(errors.log_sd - sqrt(both / 2)) < 1e-12);
}

static void test_a_family_that_nothing_fits_without(void **state)
{
    (void)state;
    struct fit_errors errors;
    assert_false(find_errors(&(struct trial){FIT_BRANCHES, KERNELS}, &errors));
}

static void test_too_much_is_refused(void **state)
{
    (void)state;
    struct fit_errors errors = {.log_sd = 0.5};
    joule_error error;
    assert_int_equal(fit_check_errors(&errors, &error), JOULE_OK);
    errors.log_sd = log(3);
    assert_int_equal(fit_check_errors(&errors, &error), JOULE_UNSUPPORTED);
    assert_contains(error.message, "a factor of 3:");
    errors.log_sd = NAN; /* no kernel could be omitted */
    assert_int_equal(fit_check_errors(&errors, NULL), JOULE_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_family_is_missed_by_the_fit_of_the_others),
        cmocka_unit_test(test_a_family_that_nothing_fits_without),
        cmocka_unit_test(test_too_much_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
