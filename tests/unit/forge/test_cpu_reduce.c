/* Checks the CPU's reductions, for each instruction set and type, against the reference. Sums are within
 * rounding, and extremes are exact. Rows, columns, views and empty inputs are tested. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "forge/ir/builder.h"
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
    if (got->dtype == FORGE_BF16) /* both results are within half an ulp */
        max = 0x1p-7 * fabs(wanted) + 0x1p-45;
    if (got->dtype == FORGE_F16)
        max = 0x1p-10 * fabs(wanted) + 0x1p-24;
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
        const struct reduce_attributes attributes = {kinds[k], axes, 0, builder_accumulator(x.dtype)};
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

/* Reduces random elements of this type, with the infinities and NaN of `x`. min: the lowest offset of an
 * element of x; count: number of elements in memory. */
static void check_as(forge_dtype dtype, struct view x, int64_t min, size_t count, uint32_t axes)
{
    char *data = random_floats(dtype, count);
    for (size_t i = 0; i < count; i++) {
        double special = (double)((const float *)x.data)[min + (int64_t)i];
        if (!isfinite(special))
            dtype_row(dtype)->store(data, i, 1, &special);
    }
    x.data = count ? data - min * (int64_t)forge_dtype_block_bytes(dtype) : data;
    x.dtype = dtype;
    check_view(x, axes);
    free(data);
}

/* Reduces the f32 elements of `x`, and the same number of elements of other types with random mantissas. */
static void check(struct view x, uint32_t axes)
{
    int64_t min = 0, max = 0;
    check_view(x, axes);
    for (uint32_t i = 0; i < x.shape.rank; i++)
        *(x.strides[i] < 0 ? &min : &max) += (x.shape.dims[i] - 1) * x.strides[i];
    size_t count = forge_shape_elements(&x.shape) ? (size_t)(max - min) + 1 : 0;
    check_as(FORGE_F64, x, min, count, axes);
    check_as(FORGE_BF16, x, min, count, axes);
    check_as(FORGE_F16, x, min, count, axes);
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
    struct view apart = {data + 5000, FORGE_F32, forge_shape_of(4, 6, 300), {-1000, 7, 3}};
    for (uint32_t axes = 1; axes < 8; axes++)
        check(apart, axes);
    struct view repeated = {data + 7, FORGE_F32, forge_shape_of(2, 5, 4, 300), {0, 0, 0, 0}};
    for (uint32_t axes = 1; axes < 16; axes++)
        check(repeated, axes);
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
