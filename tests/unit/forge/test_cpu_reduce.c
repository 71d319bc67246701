/* Checks the CPU's reductions, for each instruction set and type, against the reference. Sums are within
 * rounding, and extremes are exact. Rows, columns, views and empty inputs are tested. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "forge/reference/reference_walk.h"
#include "unit/forge/cpu_kernels.h"

static const forge_reduce_kind kinds[] = {FORGE_SUM, FORGE_MEAN, FORGE_MAXIMUM, FORGE_MINIMUM};

/* Compares an element with the exact result. depth: number of terms. The magnitude of finite terms is at most
 * 1. f64 sums have a larger error, because no wider type accumulates them. */
static bool is_right(const struct view *got, const struct view *exact, size_t i, forge_reduce_kind kind,
                     size_t depth)
{
    double x = view_number(got, i), wanted = view_number(exact, i), terms = (double)depth;
    double max = 4 * sqrt(terms) * DBL_EPSILON * (kind == FORGE_MEAN ? 1 : terms);
    if (x == wanted || (isnan(x) && isnan(wanted)))
        return true;
    if (got->dtype == FORGE_F32)
        max = 0x1p-23 * fabs(wanted) + 0x1p-45;
    return kind < FORGE_MAXIMUM && fabs(x - wanted) <= max;
}

static void check_view(struct view x, uint32_t axes)
{
    struct view kept = view_of_axes(&x, ~axes);
    struct view out = view_packed(x.dtype, NULL, kept.shape), wanted = out;
    size_t results = forge_shape_elements(&kept.shape),
           depth = results ? forge_shape_elements(&x.shape) / results : 0;
    out.data = random_floats(x.dtype, results);
    wanted.data = random_floats(x.dtype, results);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const struct reduce_attributes attributes = {kinds[k], axes, 0, x.dtype};
        struct launch launch = {OP_REDUCE, &attributes, &x, 1, &out, 1},
                      reference = {OP_REDUCE, &attributes, &x, 1, &wanted, 1};
        reference_reduce(&reference, 0, launch_rows(&launch));
        EACH_ISA (isa) {
            assert_non_null(kernel_for(isa, &launch));
            run_kernel(isa, &launch);
            for (size_t i = 0; i < results; i++)
                if (!is_right(&out, &wanted, i, kinds[k], depth))
                    fail_msg("%s %s %s, result %zu: %a, not %a", isa_name(isa), forge_dtype_name(x.dtype),
                             reduce_name(kinds[k]), i, view_number(&out, i), view_number(&wanted, i));
        }
    }
    free(out.data);
    free(wanted.data);
}

/* Reduces the f32 elements of `x`, and the same number of f64 elements with random mantissas. */
static void check(struct view x, uint32_t axes)
{
    int64_t min = 0, max = 0;
    check_view(x, axes);
    for (uint32_t i = 0; i < x.shape.rank; i++)
        *(x.strides[i] < 0 ? &min : &max) += (x.shape.dims[i] - 1) * x.strides[i];
    bool is_empty = forge_shape_elements(&x.shape) == 0;
    size_t count = is_empty ? 0 : (size_t)(max - min) + 1;
    double *wide = random_floats(FORGE_F64, count);
    for (size_t i = 0; i < count; i++) {
        float special = ((const float *)x.data)[min + (int64_t)i];
        if (!isfinite(special))
            wide[i] = (double)special;
    }
    x.data = is_empty ? wide : wide - min;
    x.dtype = FORGE_F64;
    check_view(x, axes);
    free(wide);
}

static void test_every_length_equals_the_reference(void **state)
{
    (void)state;
    float *data = random_floats(FORGE_F32, 20000);
    for (int64_t n = 1; n <= 2 * 64 + 1; n++) {
        check(view_packed(FORGE_F32, data, forge_shape_of(5, n)), 2);
        check(view_packed(FORGE_F32, data + 1, forge_shape_of(7, n)), 1);
    }
    check(view_packed(FORGE_F32, data, forge_shape_of(20000)), 1);
    check(view_packed(FORGE_F32, data, forge_shape_of(5000, 4)), 1);
    free(data);
}

static void test_several_axes_equal_the_reference(void **state)
{
    (void)state;
    float *data = random_floats(FORGE_F32, 6000);
    struct view x = view_packed(FORGE_F32, data, forge_shape_of(3, 4, 5, 37));
    for (uint32_t axes = 1; axes < 15; axes++)
        check(x, axes);
    struct view turned = {data + 5000, FORGE_F32, forge_shape_of(4, 30, 20), {-1000, 1, 31}};
    check(turned, 2);
    check(turned, 4);
    check(turned, 5);
    free(data);
}

static void test_nan_and_infinity_are_propagated(void **state)
{
    (void)state;
    enum { ROWS = 40, COLUMNS = 70 };
    float *data = random_floats(FORGE_F32, ROWS * COLUMNS);
    for (int64_t i = 0; i < ROWS; i++)
        data[i * COLUMNS + i] = i % 3 ? INFINITY : NAN;
    data[7 * COLUMNS + 69] = -INFINITY;
    data[3 * COLUMNS + 50] = -INFINITY;
    check(view_packed(FORGE_F32, data, forge_shape_of(ROWS, COLUMNS)), 1);
    check(view_packed(FORGE_F32, data, forge_shape_of(ROWS, COLUMNS)), 2);
    free(data);
}

static void test_reductions_of_no_elements_equal_the_reference(void **state)
{
    (void)state;
    float data[1] = {1};
    check(view_packed(FORGE_F32, data, forge_shape_of(3, 0)), 2);
    check(view_packed(FORGE_F32, data, forge_shape_of(0, 3)), 1);
    check(view_packed(FORGE_F32, data, forge_shape_of(0, 3)), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_length_equals_the_reference),
        cmocka_unit_test(test_several_axes_equal_the_reference),
        cmocka_unit_test(test_nan_and_infinity_are_propagated),
        cmocka_unit_test(test_reductions_of_no_elements_equal_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
