/* Checks layers of convolutions, dropout, and models built from them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/data.h>
#include <forge/nn.h>
#include <forge/optim.h>
#include <forge/program.h>
#include <forge/random.h>
#include "support/check.h"
#include "support/test_data.h"
#include "support/workbench.h"

static const void *run(struct workbench *m, const char *output)
{
    workbench_run(m);
    forge_tensor tensor = workbench_output(m, output);
    return forge_tensor_data(&tensor);
}

static void assert_slot(struct workbench *m, const char *name, const char *shape, double reach)
{
    char text[100];
    forge_tensor tensor = workbench_slot(m, name);
    forge_shape_format(&tensor.shape, text, sizeof text);
    assert_string_equal(text, shape);
    float max = 0;
    for (size_t i = 0; i < forge_tensor_elements(&tensor); i++)
        max = fmaxf(max, fabsf(((float *)forge_tensor_data(&tensor))[i]));
    assert_true((double)max <= reach && (double)max > 0.5 * reach);
}

/* --- convolutions --------------------------------------------------------------------------------------- */

static void test_parameters_of_convolutions(void **state)
{
    struct workbench *m = *state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(1, 4, 9));
    forge_conv_options o = {.struct_size = sizeof o, .groups = 2, .stride = {2}};
    forge_value y = forge_conv_layer(b, "down", x, 6, (int64_t[]){3}, &o, true);
    o.is_transposed = true;
    forge_output(b, "y", forge_conv_layer(b, "up", y, 8, (int64_t[]){5}, &o, false));
    forge_value image = forge_input(b, "image", FORGE_F32, forge_shape_of(1, 3, 8, 8));
    forge_output(b, "z", forge_conv2d(b, "square", image, 5, 3, 2, 1, true));
    workbench_load(m, b);
    assert_slot(m, "down.weight", "[6,2,3]", 1 / sqrt(6));
    assert_slot(m, "down.bias", "[6]", 1 / sqrt(6));
    assert_slot(m, "up.weight", "[6,4,5]", 1 / sqrt(20));
    assert_slot(m, "square.weight", "[5,3,3,3]", 1 / sqrt(27));
    assert_int_equal(forge_states_find(m->states, "up.bias", &(forge_tensor){0}), JOULE_ABSENT);
}

static void test_bias_is_by_channel(void **state)
{
    struct workbench *m = *state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(1, 1, 2, 2));
    forge_output(b, "y", forge_conv2d(b, "c", x, 3, 1, 1, 0, true));
    workbench_load(m, b);
    float zeros[4] = {0};
    forge_tensor bias = workbench_slot(m, "c.bias");
    workbench_set(m, "x", zeros);
    const float *y = run(m, "y");
    for (size_t i = 0; i < 12; i++)
        assert_true(y[i] == ((float *)forge_tensor_data(&bias))[i / 4]);
}

static void test_wrong_layers_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        static const char *const words[] = {"4 output channels must be multiples of 2 groups", "dimension 1",
                                            "dropout 'c'", "a rank from 4 to 4"};
        forge_graph *graph;
        joule_error error = {0};
        forge_builder *b = forge_builder_new();
        forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2, 3, 4));
        forge_conv_options o = {.struct_size = sizeof o, .groups = 2};
        forge_dim c = forge_symbol(b, "C", 1, 4, 1);
        if (i == 0)
            forge_conv_layer(b, "c", x, 4, (int64_t[]){2}, &o, true);
        else if (i == 1)
            forge_conv_layer(b, "c", forge_input(b, "z", FORGE_F32, forge_shape_of(1, c, 3)), 4,
                             (int64_t[]){2}, NULL, true);
        else if (i == 2)
            forge_dropout(b, "c", x, 1, true);
        else
            forge_conv2d(b, "c", x, 3, 1, 1, 0, true);
        assert_int_equal(forge_builder_finish(b, &graph, &error), JOULE_INVALID);
        assert_contains(error.message, words[i]);
    }
}

/* --- dropout -------------------------------------------------------------------------------------------- */

enum { DROPPED = 1000 };

static void build_dropout(struct workbench *m, bool is_training)
{
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(DROPPED)), g;
    forge_scope_push(b, "block");
    forge_value y = forge_dropout(b, "first", x, 0.25, is_training);
    forge_value z = forge_dropout(b, "second", x, 0.25, is_training);
    forge_scope_pop(b);
    forge_gradients(b, forge_reduce(b, FORGE_SUM, y, 1, false), &x, 1, &g);
    forge_output(b, "y", y);
    forge_output(b, "z", z);
    forge_output(b, "g", g);
    workbench_load(m, b);
}

static void test_dropout_masks_follow_key_and_step(void **state)
{
    struct workbench *m = *state;
    float x[DROPPED], u[DROPPED], first[DROPPED] = {0};
    for (size_t i = 0; i < DROPPED; i++)
        x[i] = 1 + (float)i;
    build_dropout(m, true);
    workbench_set(m, "x", x);
    forge_tensor key = workbench_slot(m, "random.key"), step = workbench_slot(m, "random.step");
    uint32_t stream = UINT32_C(0x811c9dc5);
    for (const char *at = "block/first"; *at; at++)
        stream = (stream ^ (unsigned char)*at) * UINT32_C(0x01000193);
    forge_random random = {.key = *(uint64_t *)forge_tensor_data(&key), .stream = stream};
    assert_true(random.key != 0);
    for (random.step = 0; random.step < 3; random.step++) {
        size_t dropped = 0, same = 0;
        forge_random_uniform(&random, 0, DROPPED, u);
        const float *y = run(m, "y"), *z, *g;
        forge_tensor other;
        assert_int_equal(*(uint32_t *)forge_tensor_data(&step), random.step + 1);
        forge_instance_get(m->instance, "z", &other, NULL);
        z = forge_tensor_data(&other);
        forge_instance_get(m->instance, "g", &other, NULL);
        g = forge_tensor_data(&other);
        for (size_t i = 0; i < DROPPED; i++) {
            float factor = u[i] < 0.25f ? 0 : (float)(1 / 0.75);
            assert_true(y[i] == x[i] * factor && g[i] == factor);
            dropped += factor == 0;
            same += (y[i] == 0) == (z[i] == 0);
        }
        /* limits of about five standard deviations */
        assert_true(dropped > 190 && dropped < 310 && same < 750);
        assert_memory_not_equal(y, first, sizeof first);
        memcpy(first, y, sizeof first);
    }
    build_dropout(m, false);
    workbench_set(m, "x", x);
    assert_memory_equal(run(m, "y"), x, sizeof x);
}

/* --- models --------------------------------------------------------------------------------------------- */

/* The images are horizontal or vertical bars, so a few training steps suffice to classify them. */
static void test_cnn_learns(void **state)
{
    struct workbench *m = *state;
    enum { BATCH = 8, SIDE = 10 };
    float images[BATCH][SIDE][SIDE], rate = 0.1f, loss[30];
    int32_t labels[BATCH];
    for (int i = 0; i < BATCH; i++) {
        labels[i] = i % 2;
        for (int y = 0; y < SIDE; y++)
            for (int x = 0; x < SIDE; x++)
                images[i][y][x] = ((i % 2 ? x : y) + i) % 3 == 0;
    }
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(BATCH, 1, SIDE, SIDE));
    forge_value label = forge_input(b, "label", FORGE_I32, forge_shape_of(BATCH));
    forge_value logits = forge_cnn(b, "cnn", x, (int64_t[]){4, 4, 8, 2});
    forge_value error = forge_cross_entropy(b, logits, label);
    forge_output(b, "loss", error);
    forge_sgd(b, error, forge_input(b, "rate", FORGE_F32, (forge_shape){0}),
              &(forge_sgd_options){.struct_size = sizeof(forge_sgd_options), .momentum = 0.9});
    workbench_load(m, b);
    workbench_set(m, "x", images);
    workbench_set(m, "label", labels);
    workbench_set(m, "rate", &rate);
    for (int i = 0; i < 30; i++)
        loss[i] = *(const float *)run(m, "loss");
    assert_true(loss[0] > 0.4f && loss[29] < 0.1f * loss[0]);
    assert_int_equal(workbench_slot(m, "cnn.fc1.weight").shape.rank, 2);
}

/* The network uses dropout and both batch norms, forward and backward. */
static void test_norm_cnn_trains(void **state)
{
    struct workbench *m = *state;
    enum { BATCH = 4, SIDE = 8 };
    float images[BATCH * SIDE * SIDE], rate = 0.05f;
    int32_t labels[BATCH] = {0, 1, 2, 0};
    forge_random_normal(&(forge_random){.key = 5}, 0, BATCH * SIDE * SIDE, images);
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(BATCH, 1, SIDE, SIDE));
    forge_value error = forge_cross_entropy(b, forge_norm_cnn(b, NULL, x, 3, true),
                                            forge_input(b, "label", FORGE_I32, forge_shape_of(BATCH)));
    forge_output(b, "loss", error);
    forge_sgd(b, error, forge_input(b, "rate", FORGE_F32, (forge_shape){0}),
              &(forge_sgd_options){.struct_size = sizeof(forge_sgd_options)});
    workbench_load(m, b);
    workbench_set(m, "x", images);
    workbench_set(m, "label", labels);
    workbench_set(m, "rate", &rate);
    float begin = *(const float *)run(m, "loss"), last = begin;
    for (int i = 0; i < 15; i++)
        last = *(const float *)run(m, "loss");
    assert_true(isfinite(last) && last < begin);
    forge_tensor batches = workbench_slot(m, "norm2.num_batches_tracked");
    assert_int_equal(*(int64_t *)forge_tensor_data(&batches), 16);
}

/* Copies the tensor `name` of a valid safetensors file in memory to the slot `name`. */
static void take(struct workbench *m, const char *file, const char *name)
{
    char key[80];
    unsigned long long header, begin = 0, end = 0;
    memcpy(&header, file, 8);
    snprintf(key, sizeof key, "\"%s\":{", name);
    const char *entry = strstr(file + 8, key), *offsets = entry ? strstr(entry, "\"data_offsets\":[") : NULL;
    if (!offsets || sscanf(offsets, "\"data_offsets\":[%llu,%llu]", &begin, &end) != 2)
        fail_msg("no %s in the file", name);
    forge_tensor tensor = workbench_slot(m, name);
    assert_int_equal(forge_buffer_size_bytes(tensor.buffer), end - begin);
    memcpy(forge_tensor_data(&tensor), file + 8 + header + begin, end - begin);
}

/* A network that was trained in PyTorch classifies the first 100 images. The results must equal those of
 * PyTorch. */
static void test_imported_network_gives_the_results_of_pytorch(void **state)
{
    struct workbench *m = *state;
    enum { IMAGES = 100, PIXELS = 28 * 28 };
    const char *path = test_data("weights/mnist_cnn.safetensors");
    char *weights = path ? test_read_file(path, NULL) : NULL;
    forge_dataset *test;
    joule_error error;
    path = test_data("ml-data/mnist");
    if (!weights || !path || forge_dataset_mnist(path, true, &test, &error) != JOULE_OK) {
        free(weights);
        print_message("MNIST or a network trained on it is absent\n");
        skip();
    }
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(IMAGES, 1, 28, 28));
    forge_output(b, "class", forge_reduce(b, FORGE_ARGMAX, forge_norm_cnn(b, NULL, x, 10, false), 2, false));
    workbench_load(m, b);
    for (size_t i = 0; i < forge_states_count(m->states); i++) {
        const char *name;
        assert_int_equal(forge_states_get(m->states, i, &(forge_tensor){0}, &name), JOULE_OK);
        take(m, weights, name);
    }
    forge_tensor columns[] = {forge_dataset_column(test, 0), forge_dataset_column(test, 1)};
    const uint8_t *bytes = forge_tensor_data(&columns[0]), *labels = forge_tensor_data(&columns[1]);
    float *pixels = calloc(IMAGES * PIXELS, sizeof *pixels);
    for (size_t i = 0; i < IMAGES * PIXELS; i++)
        pixels[i] = ((float)bytes[i] / 255 - 0.1307f) / 0.3081f;
    workbench_set(m, "x", pixels);
    const int64_t *class = run(m, "class");
    int right = 0;
    for (int i = 0; i < IMAGES; i++)
        right += class[i] == labels[i];
    assert_int_equal(right, IMAGES);
    free(pixels);
    free(weights);
    forge_dataset_free(test);
}

int main(void)
{
#define on_workbench(test) cmocka_unit_test_setup_teardown(test, workbench_set_up, workbench_tear_down)
    const struct CMUnitTest tests[] = {
        on_workbench(test_parameters_of_convolutions),
        on_workbench(test_bias_is_by_channel),
        cmocka_unit_test(test_wrong_layers_are_refused),
        on_workbench(test_dropout_masks_follow_key_and_step),
        on_workbench(test_cnn_learns),
        on_workbench(test_norm_cnn_trains),
        on_workbench(test_imported_network_gives_the_results_of_pytorch),
    };
    return cmocka_run_group_tests_name("layers", tests, NULL, NULL);
}
