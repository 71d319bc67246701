/* The CPU's reductions of f32, for each instruction set, against the reference: sums to a rounding, extremes exactly; rows,
 * columns, views, nothing.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "forge/reference/walk.h"
#include "unit/forge/cpu_kernels.h"

static const forge_reduce_kind kinds[] = {FORGE_SUM, FORGE_MEAN, FORGE_MAXIMUM, FORGE_MINIMUM};

static void check(struct view x, uint32_t axes)
{
    struct view kept = view_of_axes(&x, ~axes);
    size_t results = forge_shape_elements(&kept.shape), fast = 0;
    float *got = malloc(results * 4 + 1), *exact = malloc(results * 4 + 1);
    struct view out = view_packed(FORGE_F32, got, kept.shape),
                wanted = view_packed(FORGE_F32, exact, kept.shape);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const struct reduce_attributes attributes = {kinds[k], axes, 0, FORGE_F32};
        struct launch launch = {OP_REDUCE, &attributes, &x, 1, &out, 1},
                      reference = {OP_REDUCE, &attributes, &x, 1, &wanted, 1};
        reference_reduce(&reference, 0, launch_rows(&launch));
        EACH_ISA (isa) {
            assert_non_null(kernel_for(isa, &launch));
            run_kernel(isa, &launch);
            for (size_t i = 0; i < results; i++) {
                double error = fabs((double)got[i] - (double)exact[i]);
                bool is_right = kinds[k] >= FORGE_MAXIMUM
                                    ? got[i] == exact[i]
                                    : error <= 0x1p-23 * fabs((double)exact[i]) + 0x1p-45;
                if (!is_right && !(got[i] == exact[i] || (isnan(got[i]) && isnan(exact[i]))))
                    fail_msg("%s %s, result %zu: %a, not %a", isa_name(isa), reduce_name(kinds[k]), i,
                             (double)got[i], (double)exact[i]);
                fast++;
            }
        }
    }
    assert_true(fast > 0 || results == 0);
    free(got);
    free(exact);
}

static void test_every_length(void **state)
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

static void test_several_axes(void **state)
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

static void test_nan_and_infinity(void **state)
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

static void test_nothing(void **state)
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
        cmocka_unit_test(test_every_length),
        cmocka_unit_test(test_several_axes),
        cmocka_unit_test(test_nan_and_infinity),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
