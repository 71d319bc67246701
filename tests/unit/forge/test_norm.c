/* Checks normalisations against plain loops in double, their running statistics, and their gradients. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/nn.h>
#include <forge/random.h>
#include "support/check.h"
#include "support/derivative.h"
#include "support/workbench.h"

#define EPSILON 1e-3

enum { N = 3, CHANNELS = 4, HEIGHT = 2, WIDTH = 5, AREA = HEIGHT * WIDTH, COUNT = N * CHANNELS * AREA };

/* --- one layer on [n, channels, height, width] ---------------------------------------------------------- */

struct layer {
    struct workbench bench;
    forge_tensor x, y;
};

typedef forge_value layer_fn(forge_builder *b, forge_value x);

static forge_shape input_shape(void)
{
    return forge_shape_of(N, CHANNELS, HEIGHT, WIDTH);
}

/* Builds a program of the layer. States that the layer already has are used again. */
static void build(struct layer *layer, forge_dtype dtype, layer_fn *fn)
{
    joule_error error = {0};
    forge_builder *b = forge_builder_new();
    forge_shape shape = input_shape();
    forge_output(b, "y", fn(b, forge_input(b, "x", dtype, shape)));
    if (!layer->bench.device && workbench_begin(&layer->bench, 1, &error))
        fail_msg("%s", error.message);
    workbench_load(&layer->bench, b);
    forge_buffer_release(layer->x.buffer);
    assert_int_equal(forge_tensor_new(dtype, &shape, &layer->x, NULL), JOULE_OK);
}

static void end(struct layer *layer)
{
    workbench_end(&layer->bench);
    forge_buffer_release(layer->x.buffer);
}

static double *slot(const struct layer *layer, const char *name)
{
    forge_tensor tensor = workbench_slot(&layer->bench, name);
    return forge_tensor_data(&tensor);
}

/* Runs the layer on random numbers between low and high. *out_x: the input; returns the output. Both are in
 * double. */
static const double *run(struct layer *layer, double low, double high, uint32_t stream, const double **out_x)
{
    double *x = forge_tensor_data(&layer->x);
    for (size_t i = 0; i < COUNT; i++) {
        float u;
        forge_random_uniform(&(forge_random){.key = 3, .stream = stream}, i, 1, &u);
        x[i] = low + (high - low) * (double)u;
    }
    assert_int_equal(forge_instance_set(layer->bench.instance, "x", &layer->x, NULL), JOULE_OK);
    workbench_run(&layer->bench);
    layer->y = workbench_output(&layer->bench, "y");
    *out_x = x;
    return forge_tensor_data(&layer->y);
}

static void set(double *values, size_t count, double first, double step)
{
    for (size_t i = 0; i < count; i++)
        values[i] = first + step * (double)i;
}

/* --- plain loops ---------------------------------------------------------------------------------------- */

struct moments {
    double mean, variance, square; /* moments of the elements that a predicate selects */
    size_t count;
};

/* Computes the moments of all elements that `together` groups with element i. */
static struct moments moments_of(const double *x, size_t i, bool (*together)(size_t a, size_t b))
{
    struct moments m = {0};
    for (size_t k = 0; k < COUNT; k++)
        if (together(i, k)) {
            m.mean += x[k];
            m.square += x[k] * x[k];
            m.count++;
        }
    m.mean /= (double)m.count;
    m.square /= (double)m.count;
    for (size_t k = 0; k < COUNT; k++)
        if (together(i, k))
            m.variance += (x[k] - m.mean) * (x[k] - m.mean) / (double)m.count;
    return m;
}

static size_t channel_of(size_t i)
{
    return i / AREA % CHANNELS;
}

static bool in_channel(size_t a, size_t b)
{
    return channel_of(a) == channel_of(b);
}

static bool in_row(size_t a, size_t b)
{
    return a / WIDTH == b / WIDTH;
}

static bool in_image(size_t a, size_t b)
{
    return a / AREA == b / AREA;
}

static bool in_group(size_t a, size_t b) /* a group is two channels */
{
    return a / (2 * AREA) == b / (2 * AREA);
}

/* --- single layers -------------------------------------------------------------------------------------- */

static forge_value layer_norm(forge_builder *b, forge_value x)
{
    return forge_layer_norm(b, "norm", x, 1, EPSILON, true);
}

static forge_value layer_norm_of_images(forge_builder *b, forge_value x)
{
    return forge_layer_norm(b, "norm", x, 2, EPSILON, false);
}

static forge_value rms_norm(forge_builder *b, forge_value x)
{
    return forge_rms_norm(b, "norm", x, 1, EPSILON);
}

static forge_value group_norm(forge_builder *b, forge_value x)
{
    return forge_group_norm(b, "norm", x, 2, EPSILON);
}

static forge_value instance_norm(forge_builder *b, forge_value x)
{
    return forge_instance_norm(b, "norm", x, EPSILON, true);
}

static const struct kind {
    layer_fn *fn;
    bool (*together)(size_t a, size_t b);
    size_t weights; /* number of elements of the weight */
    bool has_bias, by_channel;
} kinds[] = {
    {layer_norm, in_row, WIDTH, true, false},        {layer_norm_of_images, in_image, AREA, false, false},
    {rms_norm, in_row, WIDTH, false, false},         {group_norm, in_group, CHANNELS, true, true},
    {instance_norm, in_image, CHANNELS, true, true},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void test_norms_equal_their_definitions(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        const struct kind *kind = &kinds[k];
        struct layer layer = {0};
        const double *x, *y;
        build(&layer, FORGE_F64, kind->fn);
        double *weight = slot(&layer, "norm.weight"), none[AREA] = {0};
        double *bias = kind->has_bias ? slot(&layer, "norm.bias") : none;
        assert_true(weight[0] == 1 && bias[0] == 0);
        set(weight, kind->weights, 0.5, 0.25);
        if (kind->has_bias)
            set(bias, kind->weights, -1, 0.5);
        y = run(&layer, 1000, 1003, 0, &x);
        for (size_t i = 0; i < COUNT; i++) {
            struct moments m = moments_of(x, i, kind->together);
            size_t own = kind->by_channel ? channel_of(i) : i % kind->weights;
            double wanted = kind->fn == rms_norm ? x[i] / sqrt(m.square + EPSILON)
                                                 : (x[i] - m.mean) / sqrt(m.variance + EPSILON);
            double found = y[i] - bias[own] - wanted * weight[own];
            assert_true(fabs(found) < 1e-9); /* subtracting the mean loses 4 of 16 digits */
        }
        end(&layer);
    }
}

/* --- by a batch's statistics ---------------------------------------------------------------------------- */

static forge_value batch_norm_training(forge_builder *b, forge_value x)
{
    return forge_batch_norm(b, "norm", x, 0.2, EPSILON, true);
}

static forge_value batch_norm(forge_builder *b, forge_value x)
{
    return forge_batch_norm(b, "norm", x, 0.2, EPSILON, false);
}

static void test_batch_norm_equals_its_definition(void **state)
{
    (void)state;
    struct layer layer = {0};
    const double *x, *y;
    double mean[CHANNELS] = {0}, variance[CHANNELS] = {1, 1, 1, 1};
    build(&layer, FORGE_F64, batch_norm_training);
    double *weight = slot(&layer, "norm.weight"), *bias = slot(&layer, "norm.bias");
    set(weight, CHANNELS, 0.5, 0.25);
    set(bias, CHANNELS, -1, 0.5);
    for (uint32_t step = 0; step < 3; step++) {
        y = run(&layer, -1, 2 + step, step, &x);
        for (size_t i = 0; i < COUNT; i++) {
            struct moments m = moments_of(x, i, in_channel);
            size_t c = channel_of(i);
            assert_relative(y[i], (x[i] - m.mean) / sqrt(m.variance + EPSILON) * weight[c] + bias[c], 1e-12);
        }
        for (size_t c = 0; c < CHANNELS; c++) {
            struct moments m = moments_of(x, c * AREA, in_channel);
            mean[c] = 0.8 * mean[c] + 0.2 * m.mean;
            variance[c] = 0.8 * variance[c] + 0.2 * m.variance * (double)m.count / (double)(m.count - 1);
            assert_relative(slot(&layer, "norm.running_mean")[c], mean[c], 1e-12);
            assert_relative(slot(&layer, "norm.running_var")[c], variance[c], 1e-12);
        }
    }
    assert_int_equal(*(int64_t *)slot(&layer, "norm.num_batches_tracked"), 3);
    build(&layer, FORGE_F64, batch_norm);
    y = run(&layer, -1, 2, 9, &x);
    for (size_t i = 0; i < COUNT; i++) {
        size_t c = channel_of(i);
        assert_relative(y[i], (x[i] - mean[c]) / sqrt(variance[c] + EPSILON) * weight[c] + bias[c], 1e-12);
    }
    /* evaluation does not change the statistics */
    assert_relative(slot(&layer, "norm.running_mean")[0], mean[0], 1e-12);
    assert_int_equal(*(int64_t *)slot(&layer, "norm.num_batches_tracked"), 3);
    end(&layer);
}

/* The elements are far from 0. A one-pass sum in f32 would lose all digits, and sums would overflow f16. */
static void test_narrow_types_lose_no_digits(void **state)
{
    (void)state;
    static layer_fn *const fns[] = {layer_norm, group_norm, batch_norm_training};
    static const forge_dtype types[] = {FORGE_F32, FORGE_F16, FORGE_BF16};
    for (size_t k = 0; k < 9; k++) {
        struct layer layer = {0};
        double numbers[COUNT], results[COUNT];
        forge_dtype dtype = types[k % 3];
        build(&layer, dtype, fns[k / 3]);
        for (size_t i = 0; i < COUNT; i++)
            numbers[i] = (dtype == FORGE_F32 ? 10000 : 128) + (double)(i * 7 % 5);
        assert_int_equal(forge_convert(FORGE_F64, numbers, dtype, forge_tensor_data(&layer.x), COUNT),
                         JOULE_OK);
        assert_int_equal(forge_instance_set(layer.bench.instance, "x", &layer.x, NULL), JOULE_OK);
        workbench_run(&layer.bench);
        layer.y = workbench_output(&layer.bench, "y");
        assert_int_equal(layer.y.dtype, dtype);
        assert_int_equal(forge_convert(dtype, forge_tensor_data(&layer.y), FORGE_F64, results, COUNT),
                         JOULE_OK);
        for (size_t i = 0; i < COUNT; i++) {
            struct moments m = moments_of(numbers, i,
                                          k / 3 == 0   ? in_row
                                          : k / 3 == 1 ? in_group
                                                       : in_channel);
            double wanted = (numbers[i] - m.mean) / sqrt(m.variance + EPSILON);
            double error = dtype == FORGE_F32 ? 1e-3 : dtype == FORGE_F16 ? 2e-3 : 8e-3;
            assert_true(fabs(results[i] - wanted) <= error);
        }
        end(&layer);
    }
}

/* --- gradients, refusals -------------------------------------------------------------------------------- */

static forge_value any(forge_builder *b, const forge_value *x, int kind)
{
    return kind < KINDS ? kinds[kind].fn(b, x[0])
                        : (kind == KINDS ? batch_norm_training : batch_norm)(b, x[0]);
}

static void test_slopes_of_norms_equal_differences(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS + 2; kind++)
        derivative_check(&(struct function){"norm", any, kind, 1, {forge_shape_of(2, 4, 1, 3)}, -1, 1, true});
    derivative_check(&(struct function){"norm of rows", any, KINDS, 1, {forge_shape_of(5, 3)}, -1, 1, true});
}

static void assert_refused(forge_shape shape, forge_dtype dtype, layer_fn *fn, const char *words)
{
    forge_graph *graph;
    joule_error error = {0};
    forge_builder *b = forge_builder_new();
    assert_int_equal(fn(b, forge_input(b, "x", dtype, shape)), FORGE_NO_VALUE);
    assert_int_equal(forge_builder_finish(b, &graph, &error), JOULE_INVALID);
    assert_contains(error.message, words);
}

static forge_value too_many_dims(forge_builder *b, forge_value x)
{
    return forge_layer_norm(b, "norm", x, 3, EPSILON, true);
}

static forge_value of_a_symbol(forge_builder *b, forge_value x)
{
    (void)x;
    forge_dim t = forge_symbol(b, "T", 1, 8, 1);
    return forge_rms_norm(b, "norm", forge_input(b, "s", FORGE_F32, forge_shape_of(2, t)), 1, EPSILON);
}

static void test_wrong_operands_are_refused(void **state)
{
    (void)state;
    assert_refused(forge_shape_of(1, 3), FORGE_F32, batch_norm_training,
                   "batch_norm 'norm': training needs two elements of each channel");
    assert_refused(forge_shape_of(4), FORGE_F32, batch_norm, "x must have a rank from 2 to 8, not 1");
    assert_refused(forge_shape_of(2, 3), FORGE_I32, batch_norm, "x must be floats, not i32");
    assert_refused(forge_shape_of(2, 3), FORGE_F32, group_norm, "3 channels are not a multiple of 2 groups");
    assert_refused(forge_shape_of(2, 3), FORGE_F32, too_many_dims, "the last 3 dimensions of rank 2");
    assert_refused(forge_shape_of(2, 3), FORGE_F32, of_a_symbol, "dimension 1 of x must be a number above 0");
}

static void test_batch_size_may_be_a_symbol(void **state)
{
    (void)state;
    forge_graph *graph = NULL;
    joule_error error = {0};
    forge_builder *b = forge_builder_new();
    forge_dim n = forge_symbol(b, "B", 2, 64, 1), t = forge_symbol(b, "T", 2, 64, 1);
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(n, 4, t));
    x = forge_batch_norm(b, "a", x, 0.1, EPSILON, true);
    x = forge_instance_norm(b, "b", forge_group_norm(b, "c", x, 2, EPSILON), EPSILON, true);
    forge_output(b, "y", x);
    assert_ok(forge_builder_finish(b, &graph, &error), &error);
    forge_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_norms_equal_their_definitions),
        cmocka_unit_test(test_batch_norm_equals_its_definition),
        cmocka_unit_test(test_narrow_types_lose_no_digits),
        cmocka_unit_test(test_slopes_of_norms_equal_differences),
        cmocka_unit_test(test_wrong_operands_are_refused),
        cmocka_unit_test(test_batch_size_may_be_a_symbol),
    };
    return cmocka_run_group_tests_name("norm", tests, NULL, NULL);
}
