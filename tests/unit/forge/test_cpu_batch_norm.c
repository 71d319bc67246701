/* Checks the CPU's batch_norm kernels, forward and backward, for each instruction set, against their bodies
 * in f64. */
#include "unit/forge/composite_trial.h"

/* data: x and g, then the values for each channel. Terms of a gradient are up to 1 / sqrt(epsilon) times as
 * large as the gradient. */
static void check_batch_norm(struct workbench *bench, float *data, forge_shape shape)
{
    size_t count = forge_shape_elements(&shape), channels = (size_t)shape.dims[1];
    struct trial t = {.attributes = {.name = "batch_norm", .reals = {0.01}},
                      .input_count = 5,
                      .inputs = {view_packed(FORGE_F32, data, shape)},
                      .tolerance = 0x1p-20};
    for (size_t i = 1; i < 5; i++)
        t.inputs[i] = view_packed(FORGE_F32, data + 2 * count + i * channels, forge_shape_of(shape.dims[1]));
    for (size_t i = 0; i < channels; i++)
        ((float *)t.inputs[4].data)[i] = fabsf(((float *)t.inputs[4].data)[i]);
    check_trial(bench, &t);
    t.input_count = 3;
    strcpy(t.attributes.name, "batch_norm_training");
    check_trial(bench, &t);
    t.inputs[t.input_count++] = view_packed(FORGE_F32, data + count, shape);
    strcpy(t.attributes.name, "batch_norm_training.gradient");
    t.tolerance = 0x1p-17;
    t.attributes.given = 1;
    for (t.attributes.wanted = 1; t.attributes.wanted < 8; t.attributes.wanted++)
        check_trial(bench, &t);
}

static void test_runs_of_every_length(void **state)
{
    float *data = random_floats(FORGE_F32, 20000);
    for (int64_t n = 8; n <= 2 * 16 + 1; n++)
        check_batch_norm(*state, data + 1, forge_shape_of(3, 5, n));
    check_batch_norm(*state, data, forge_shape_of(2, 3, 5, 7, 9));
    check_batch_norm(*state, data, forge_shape_of(1, 1, 3, 3));
    check_batch_norm(*state, data, forge_shape_of(17, 4, 8));
    check_batch_norm(*state, data, forge_shape_of(2, 0, 8));
    free(data);
}

static void test_channels_far_from_zero(void **state)
{
    float *data = random_floats(FORGE_F32, 2 * 4 * 3 * 20 + 40);
    for (int i = 0; i < 240; i++)
        data[i] += (float)(1000 * (i / 20 % 3));
    check_batch_norm(*state, data, forge_shape_of(4, 3, 20));
    free(data);
}

static void test_nan_and_infinity_equal_the_definition(void **state)
{
    float *data = random_floats(FORGE_F32, 2 * 4 * 3 * 20 + 40);
    data[25] = NAN;
    data[240 + 50] = NAN;
    check_batch_norm(*state, data, forge_shape_of(4, 3, 20));
    data[25] = INFINITY;
    check_batch_norm(*state, data, forge_shape_of(4, 3, 20));
    free(data);
}

/* If the runs of a channel are too short, the device has no kernel. The nodes of the composite's body run
 * instead. */
static void test_short_runs_use_the_expanded_body(void **state)
{
    (void)state;
    struct composite_attributes a = {.name = "batch_norm_training"};
    for (int64_t n = 7; n <= 8; n++) {
        forge_shape x = forge_shape_of(4, 3, n), channels = forge_shape_of(3);
        struct view in[3] = {view_packed(FORGE_F32, NULL, x), view_packed(FORGE_F32, NULL, channels),
                             view_packed(FORGE_F32, NULL, channels)};
        struct launch launch = {OP_COMPOSITE, &a, in, 3, in, 3};
        assert_int_equal(kernel_for(ISA_PLAIN, &launch) != NULL, n == 8);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workbench_set_up, workbench_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_runs_of_every_length),
        TEST(test_channels_far_from_zero),
        TEST(test_nan_and_infinity_equal_the_definition),
        TEST(test_short_runs_use_the_expanded_body),
    };
    return cmocka_run_group_tests_name("cpu batch_norm", tests, NULL, NULL);
}
