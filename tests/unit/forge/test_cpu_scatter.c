/* Checks the CPU's scatters, for each instruction set, against the reference.
 *
 * The test covers all kinds, row lengths up to several tiles, repeated updates of a row, indices out of
 * range, NaN, and updates in place. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "unit/forge/cpu_kernels.h"

static const forge_dtype types[] = {FORGE_F32, FORGE_F64, FORGE_BF16, FORGE_F16};

/* Returns a view of random floats. Some are NaN or infinite, and some views have reversed or repeated
 * dimensions. */
static struct view floats(forge_dtype dtype, forge_shape shape)
{
    size_t count = forge_shape_elements(&shape);
    struct view view = view_packed(dtype, random_floats(dtype, count), shape);
    static const double specials[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = (size_t)pick(0, 40); i < count; i += 97)
        dtype_row(dtype)->store(view.data, i, 1, &specials[i % 3]);
    return view_any_way(view);
}

static void expect_same(const struct launch *launch, const struct view *wanted, const char *isa)
{
    const struct view *out = &launch->outputs[0];
    for (size_t i = 0; i < forge_shape_elements(&out->shape); i++) {
        double a = view_number(out, i), b = view_number(wanted, i);
        if (a != b && !(isnan(a) && isnan(b)))
            fail_msg("%s %s, element %zu: %g, not %g", isa, forge_dtype_name(out->dtype), i, a, b);
    }
}

/* Runs the scatter with its output in the memory of x, and compares with `wanted`. */
static void check_in_place(enum isa isa, const struct launch *launch, const struct view *wanted)
{
    struct view in[] = {*wanted, launch->inputs[1], launch->inputs[2]};
    struct launch in_place = *launch;
    in[0].data = in_place.outputs[0].data;
    in_place.inputs = in;
    for (size_t i = 0; i < forge_shape_elements(&wanted->shape); i++) {
        double number = view_number(&launch->inputs[0], i);
        dtype_row(wanted->dtype)->store(in[0].data, i, 1, &number);
    }
    run_rounds(kernel_for(isa, &in_place), &in_place, true);
    expect_same(&in_place, wanted, isa_name(isa));
}

/* Scatters into an array of three dimensions, along the middle one. */
static void check(forge_dtype dtype, int64_t outer, int64_t size, int64_t inner, int64_t count, bool is_along)
{
    forge_shape x = forge_shape_of(outer, size, inner), taken = forge_shape_of(outer, count, inner);
    forge_shape of_indices = is_along ? taken : forge_shape_of(count);
    size_t index_count = forge_shape_elements(&of_indices);
    int64_t *indices = calloc(index_count + 1, sizeof *indices);
    assert_non_null(indices);
    for (size_t i = 0; i < index_count; i++)
        indices[i] = pick(-size - 1, size);
    struct view in[] = {floats(dtype, x), view_packed(FORGE_I64, indices, of_indices), floats(dtype, taken)};
    struct view wanted = view_packed(dtype, random_floats(dtype, forge_shape_elements(&x)), x), got = wanted;
    got.data = random_floats(dtype, forge_shape_elements(&x));
    for (uint32_t kind = 0; kind < FORGE_SCATTER_KINDS; kind++) {
        struct scatter_attributes attributes = {kind, 1, is_along};
        struct launch exactly = {OP_SCATTER, &attributes, in, 3, &wanted, 1}, launch = exactly;
        launch.outputs = &got;
        reference_scatter(&exactly, 0, launch_pieces(&exactly));
        EACH_ISA (isa) {
            assert_non_null(kernel_for(isa, &launch));
            run_kernel(isa, &launch);
            expect_same(&launch, &wanted, isa_name(isa));
            check_in_place(isa, &launch, &wanted);
        }
    }
    void *const all[] = {indices, in[0].data, in[2].data, wanted.data, got.data};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void test_random_shapes_equal_the_reference(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++)
        check(types[i % 4], pick(0, 3), pick(0, 6), pick(0, 40), pick(0, 12), i % 3 == 0);
}

static void test_long_rows_equal_the_reference(void **state)
{
    (void)state;
    for (int64_t inner = 250; inner < 800; inner += 37)
        check(types[inner % 4], 2, 5, inner, 20, false);
}

/* Updates of one element are added in the order of their indices. */
static void test_sums_have_the_order_of_the_reference(void **state)
{
    (void)state;
    float zeros[20] = {0}, updates[4 * 20], out[20];
    int32_t indices[] = {0, 0, 0, 0};
    for (int i = 0; i < 20; i++) {
        updates[i] = 0x1p24f;
        updates[20 + i] = 1; /* rounding removes this 1, because the sum is 2^24 */
        updates[40 + i] = -0x1p24f;
        updates[60 + i] = 1; /* this 1 is added to 0 and stays */
    }
    struct view in[] = {view_packed(FORGE_F32, zeros, forge_shape_of(1, 20)),
                        view_packed(FORGE_I32, indices, forge_shape_of(4)),
                        view_packed(FORGE_F32, updates, forge_shape_of(4, 20))};
    struct view result = view_packed(FORGE_F32, out, forge_shape_of(1, 20));
    struct launch launch = {OP_SCATTER, &(struct scatter_attributes){FORGE_SCATTER_ADD, 0, 0}, in, 3, &result,
                            1};
    EACH_ISA (isa) {
        run_kernel(isa, &launch);
        for (int i = 0; i < 20; i++)
            assert_true(out[i] == 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_shapes_equal_the_reference),
                                       cmocka_unit_test(test_long_rows_equal_the_reference),
                                       cmocka_unit_test(test_sums_have_the_order_of_the_reference)};
    return cmocka_run_group_tests_name("cpu_scatter", tests, NULL, NULL);
}
