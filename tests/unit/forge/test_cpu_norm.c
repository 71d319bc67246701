/* Checks the CPU's kernels of layer_norm and rms_norm, forward and backward, for each instruction set,
 * against their bodies in f64. */
#include "unit/forge/composite_trial.h"

/* data: x, g, weight and bias, one after the other. The last `dims` dimensions are normalised. Each subset of
 * the gradients is requested. Terms of a gradient are up to 1 / sqrt(epsilon) times as large as the
 * gradient. */
static void check_norm(struct workbench *bench, const char *name, float *data, forge_shape shape,
                       uint32_t dims, size_t own)
{
    forge_shape row = {.rank = dims};
    size_t count = forge_shape_elements(&shape);
    for (uint32_t i = 0; i < dims; i++)
        row.dims[i] = shape.dims[shape.rank - dims + i];
    for (uint32_t wanted = 0; wanted < 1u << own; wanted++) {
        struct trial t = {
            .attributes = {.reals = {0.01}, .numbers = {dims}, .wanted = wanted, .given = wanted != 0},
            .input_count = own,
            .inputs = {view_packed(FORGE_F32, data, shape), view_packed(FORGE_F32, data + 2 * count, row),
                       view_packed(FORGE_F32, data + 2 * count + forge_shape_elements(&row), row)},
            .tolerance = wanted ? 0x1p-18 : 0x1p-20};
        snprintf(t.attributes.name, sizeof t.attributes.name, "%s%s", name, wanted ? ".gradient" : "");
        if (wanted)
            t.inputs[t.input_count++] = view_packed(FORGE_F32, data + count, shape);
        check_trial(bench, &t);
    }
}

static void check_norms(struct workbench *bench, float *data, forge_shape shape, uint32_t dims)
{
    check_norm(bench, "layer_norm", data, shape, dims, 3);
    check_norm(bench, "layer_norm", data, shape, dims, 2);
    check_norm(bench, "rms_norm", data, shape, dims, 2);
}

static void test_rows_of_every_length(void **state)
{
    float *data = random_floats(FORGE_F32, 20000);
    for (int64_t n = 1; n <= 2 * 16 + 1; n++)
        check_norms(*state, data + 1, forge_shape_of(5, n), 1);
    check_norms(*state, data, forge_shape_of(2, 3, 5, 7), 2);
    check_norms(*state, data, forge_shape_of(2, 3, 5, 7), 4);
    check_norms(*state, data, forge_shape_of(50), 1);
    check_norms(*state, data, forge_shape_of(0, 3), 1);
    free(data);
}

/* Some cases have more rows than a block has groups, or a last group that is not full. */
static void test_every_number_of_rows(void **state)
{
    float *data = random_floats(FORGE_F32, 40000);
    for (int64_t rows = 1; rows <= 18; rows++)
        check_norms(*state, data, forge_shape_of(rows, 3), 1);
    check_norms(*state, data, forge_shape_of(513, 7), 1);
    check_norms(*state, data, forge_shape_of(1101, 5), 1);
    check_norms(*state, data, forge_shape_of(9, 600), 1);
    free(data);
}

/* The mean is much larger than the deviations from the mean. */
static void test_rows_far_from_zero(void **state)
{
    float *data = random_floats(FORGE_F32, 2 * 6 * 100 + 200);
    for (int i = 0; i < 600; i++)
        data[i] = 3000 + data[i] * (float)(1 + i / 100);
    check_norm(*state, "layer_norm", data, forge_shape_of(6, 100), 1, 3);
    free(data);
}

static void test_nan_and_infinity_equal_the_definition(void **state)
{
    float *data = random_floats(FORGE_F32, 2 * 200 + 40);
    data[23] = NAN;
    data[200 + 64] = NAN;
    check_norms(*state, data, forge_shape_of(10, 20), 1);
    data[23] = INFINITY;
    check_norm(*state, "layer_norm", data, forge_shape_of(10, 20), 1, 3);
    for (int i = 0; i < 20; i++)
        data[100 + i] = 0.25f;
    check_norms(*state, data, forge_shape_of(10, 20), 1);
    free(data);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workbench_set_up, workbench_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_rows_of_every_length),
        TEST(test_every_number_of_rows),
        TEST(test_rows_far_from_zero),
        TEST(test_nan_and_infinity_equal_the_definition),
    };
    return cmocka_run_group_tests_name("cpu norm", tests, NULL, NULL);
}
