/* Checks the CPU's kernel of gelu's gradient, for each instruction set, against its body in f64. */
#include "unit/forge/composite_trial.h"

static void check(struct workbench *bench, float *g, float *x, size_t count)
{
    for (uint32_t has_tanh = 0; has_tanh < 2; has_tanh++) {
        struct trial t = {.attributes = {.name = "gelu_back", .numbers = {has_tanh}},
                          .input_count = 2,
                          .inputs = {view_packed(FORGE_F32, g, forge_shape_of((int64_t)count)),
                                     view_packed(FORGE_F32, x, forge_shape_of((int64_t)count))},
                          .tolerance = 0x1p-22};
        check_trial(bench, &t);
    }
}

static void test_every_length_equals_the_definition(void **state)
{
    float *data = random_floats(FORGE_F32, 20001);
    for (size_t i = 0; i < 10000; i++)
        data[i] *= 12;
    for (size_t n = 0; n <= 2 * 16 + 1; n++)
        check(*state, data + 10000, data, n);
    check(*state, data + 10000, data, 10001);
    free(data);
}

static void test_large_values_nan_and_infinity_equal_the_definition(void **state)
{
    float x[] = {0,     -0.f,   1e-30f,   -1e-30f,   30,  -30, 1e10f, -1e10f,
                 1e30f, -1e30f, INFINITY, -INFINITY, NAN, 5,   -5};
    float g[sizeof x / sizeof *x];
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        g[i] = i % 2 ? 1.5f : -0.5f;
    check(*state, g, x, sizeof x / sizeof *x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_length_equals_the_definition, workbench_set_up,
                                        workbench_tear_down),
        cmocka_unit_test_setup_teardown(test_large_values_nan_and_infinity_equal_the_definition,
                                        workbench_set_up, workbench_tear_down),
    };
    return cmocka_run_group_tests_name("cpu gelu", tests, NULL, NULL);
}
