/* Checks the CPU's kernels of softmax and cross_entropy, forward and backward, for each instruction set,
 * against their bodies in f64. */
#include "unit/forge/composite_trial.h"

static const char *const names[] = {"softmax", "log_softmax"};

/* data: the rows of x, then the same number of rows of the gradient g. */
static void check_rows(struct workbench *bench, float *data, forge_shape shape)
{
    size_t count = forge_shape_elements(&shape);
    for (int i = 0; i < 4; i++) {
        struct trial t = {
            .input_count = i / 2 ? 2 : 1,
            .inputs = {view_packed(FORGE_F32, data, shape), view_packed(FORGE_F32, data + count, shape)},
            .tolerance = i / 2 ? 0x1p-19 : 0x1p-22};
        snprintf(t.attributes.name, sizeof t.attributes.name, "%s%s", names[i % 2], i / 2 ? ".gradient" : "");
        t.attributes.given = t.attributes.wanted = i / 2;
        check_trial(bench, &t);
    }
}

static float *spread(size_t count, float size)
{
    float *data = random_floats(FORGE_F32, count);
    for (size_t i = 0; i < count; i++)
        data[i] *= size;
    return data;
}

static void test_rows_of_every_length(void **state)
{
    float *data = spread(2 * 3 * 1000 + 1, 9);
    for (int64_t n = 1; n <= 2 * 16 + 1; n++)
        check_rows(*state, data + 1, forge_shape_of(3, n));
    check_rows(*state, data, forge_shape_of(1000));
    check_rows(*state, data, forge_shape_of(2, 3, 1, 7, 5));
    check_rows(*state, data, forge_shape_of(0, 3));
    free(data);
}

static void test_rows_with_a_wide_range_equal_the_definition(void **state)
{
    float *data = spread(2 * 400, 1);
    for (int i = 0; i < 400; i++)
        data[i] = data[i] * 300 + (i % 7 == 0 ? 1e30f : 0);
    check_rows(*state, data, forge_shape_of(8, 50));
    check_rows(*state, data, forge_shape_of(400, 1));
    free(data);
}

static void test_rows_with_nan_or_infinity_equal_the_definition(void **state)
{
    float *data = spread(2 * 200, 3);
    data[3] = NAN;
    data[25] = INFINITY;
    data[47] = data[48] = -INFINITY;
    for (int i = 60; i < 80; i++)
        data[i] = -INFINITY;
    data[200 + 90] = NAN; /* an element of g */
    data[200 + 110] = INFINITY;
    check_rows(*state, data, forge_shape_of(10, 20));
    free(data);
}

/* --- cross_entropy -------------------------------------------------------------------------------------- */

static void *labels_of(forge_dtype dtype, int64_t rows, int64_t classes)
{
    double *numbers = malloc((size_t)rows * sizeof *numbers + 1);
    char *labels = malloc((size_t)rows * 8 + 1);
    for (int64_t i = 0; i < rows; i++)
        numbers[i] = i % 5 == 4   ? (double)(classes + i % 2)
                     : i % 7 == 6 ? -1
                                  : (double)(i % (classes ? classes : 1));
    for (int64_t i = 0; i < rows; i++)
        dtype_row(dtype)->store(labels, (size_t)i, 1, &numbers[i]);
    free(numbers);
    return labels;
}

static void check_entropy(struct workbench *bench, float *logits, forge_dtype dtype, int64_t rows,
                          int64_t classes)
{
    float g = 1.75f;
    void *labels = labels_of(dtype, rows, classes);
    for (uint32_t is_gradient = 0; is_gradient < 2; is_gradient++) {
        struct trial t = {
            .attributes = {.name = "cross_entropy", .given = is_gradient, .wanted = is_gradient},
            .input_count = 2 + is_gradient,
            .inputs = {view_packed(FORGE_F32, logits, forge_shape_of(rows, classes)),
                       view_packed(dtype, labels, forge_shape_of(rows)),
                       view_packed(FORGE_F32, &g, (forge_shape){0})},
            .tolerance = 0x1p-22};
        if (is_gradient)
            library_name_gradient("cross_entropy", t.attributes.name);
        check_trial(bench, &t);
    }
    free(labels);
}

static void test_cross_entropy_equals_its_definition(void **state)
{
    static const forge_dtype dtypes[] = {FORGE_U8, FORGE_I8, FORGE_I32, FORGE_I64, FORGE_U64, FORGE_I16};
    float *logits = spread(13 * 1001, 5);
    for (int64_t n = 1; n <= 2 * 16 + 1; n++)
        check_entropy(*state, logits + 1, dtypes[n % 6], 13, n);
    check_entropy(*state, logits, FORGE_I32, 13, 1001);
    /* U8 labels: 200 classes are more than the maximum of i8 */
    check_entropy(*state, logits, FORGE_U8, 13, 200);
    check_entropy(*state, logits, FORGE_U8, 13, 256);
    check_entropy(*state, logits, FORGE_I32, 1, 5);
    check_entropy(*state, logits, FORGE_I32, 0, 5);
    free(logits);
}

static void test_cross_entropy_of_nan_equals_its_definition(void **state)
{
    float *logits = spread(20 * 8, 5);
    logits[9] = NAN;
    logits[34] = logits[35] = NAN; /* a row whose label is not a class */
    check_entropy(*state, logits, FORGE_I64, 20, 8);
    logits[9] = logits[34] = logits[35] = 1;
    logits[17] = -INFINITY;
    check_entropy(*state, logits, FORGE_I64, 20, 8);
    logits[49] = INFINITY;
    check_entropy(*state, logits, FORGE_I64, 20, 8);
    free(logits);
}

/* The body counts classes in the labels' type. This type cannot represent 300 classes, so there is no
 * kernel. */
static void test_classes_without_numbers(void **state)
{
    (void)state;
    float number;
    struct composite_attributes a = {.name = "cross_entropy"};
    struct view in[2] = {view_packed(FORGE_F32, NULL, forge_shape_of(3, 300)),
                         view_packed(FORGE_U8, NULL, forge_shape_of(3))};
    struct view out = view_packed(FORGE_F32, &number, (forge_shape){0});
    struct launch launch = {OP_COMPOSITE, &a, in, 2, &out, 1};
    assert_null(kernel_for(ISA_PLAIN, &launch));
    in[1].dtype = FORGE_I16;
    assert_non_null(kernel_for(ISA_PLAIN, &launch));
    in[0] = view_packed(FORGE_F32, NULL, forge_shape_of(3, 256)); /* 256 classes, as for the bytes of a
                                                                   * text */
    in[1].dtype = FORGE_U8;
    assert_non_null(kernel_for(ISA_PLAIN, &launch));
    in[1].dtype = FORGE_I8;
    assert_null(kernel_for(ISA_PLAIN, &launch));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, workbench_set_up, workbench_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_rows_of_every_length),
        TEST(test_rows_with_a_wide_range_equal_the_definition),
        TEST(test_rows_with_nan_or_infinity_equal_the_definition),
        TEST(test_cross_entropy_equals_its_definition),
        TEST(test_cross_entropy_of_nan_equals_its_definition),
        TEST(test_classes_without_numbers),
    };
    return cmocka_run_group_tests_name("cpu softmax", tests, NULL, NULL);
}
