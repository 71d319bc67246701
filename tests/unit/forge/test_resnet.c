/* Checks residual networks: torchvision's names, shapes and parameter counts, initial values, gradients of
 * both blocks, and learning. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/nn.h>
#include <forge/optim.h>
#include <forge/random.h>
#include "forge/ir/builder.h"
#include "support/check.h"
#include "support/derivative.h"
#include "support/workbench.h"

static forge_value images(forge_builder *b, int64_t n, int64_t channels, int64_t size)
{
    return forge_input(b, "x", FORGE_F32, forge_shape_of(n, channels, size, size));
}

static uint64_t parameters_of(const forge_builder *b)
{
    uint64_t count = 0;
    for (size_t i = 0; i < forge_parameter_count(b); i++)
        count += forge_shape_elements(&b->graph->slots[forge_parameter_slot(b, i)].shape);
    return count;
}

/* Parameter counts and the entries of the state_dict must equal those of torchvision. */
static void test_counts_equal_those_of_torchvision(void **state)
{
    (void)state;
    static const struct {
        uint32_t depth;
        uint64_t parameters;
        size_t slots;
    } known[] = {{18, 11689512, 122},
                 {34, 21797672, 218},
                 {50, 25557032, 320},
                 {101, 44549160, 626},
                 {152, 60192808, 932}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        forge_builder *b = forge_builder_new();
        forge_resnet_options o = {
            .struct_size = sizeof o, .depth = known[i].depth, .classes = 1000, .is_training = true};
        forge_value y = forge_resnet(b, NULL, images(b, 2, 3, 224), &o);
        assert_int_equal(parameters_of(b), known[i].parameters);
        assert_int_equal(b->graph->slot_count, known[i].slots);
        assert_true(forge_shape_equal(&(forge_shape){2, 0, {2, 1000}}, &b->graph->values[y].shape));
        forge_builder_free(b);
    }
}

static void assert_slot(const forge_builder *b, const char *name, const char *shape)
{
    char text[100];
    for (size_t i = 0; i < b->graph->slot_count; i++)
        if (strcmp(b->graph->slots[i].name, name) == 0) {
            forge_shape_format(&b->graph->slots[i].shape, text, sizeof text);
            assert_string_equal(text, shape);
            return;
        }
    fail_msg("there is no slot %s", name);
}

static void test_slots_have_the_names_of_torchvision(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_resnet_options o = {.struct_size = sizeof o, .depth = 50, .classes = 1000};
    forge_resnet(b, NULL, images(b, 1, 3, 224), &o);
    assert_slot(b, "conv1.weight", "[64,3,7,7]");
    assert_slot(b, "bn1.running_var", "[64]");
    assert_slot(b, "layer1.0.downsample.0.weight", "[256,64,1,1]");
    assert_slot(b, "layer1.0.downsample.1.num_batches_tracked", "[]");
    assert_slot(b, "layer2.0.conv2.weight", "[128,128,3,3]");
    assert_slot(b, "layer3.5.conv1.weight", "[256,1024,1,1]");
    assert_slot(b, "layer4.2.bn3.weight", "[2048]");
    assert_slot(b, "fc.weight", "[1000,2048]");
    assert_slot(b, "fc.bias", "[1000]");
    forge_builder_free(b);
    b = forge_builder_new();
    o = (forge_resnet_options){
        .struct_size = sizeof o, .depth = 18, .classes = 10, .width = 16, .is_for_small_images = true};
    forge_resnet(b, "net", images(b, 1, 1, 28), &o);
    assert_slot(b, "net.conv1.weight", "[16,1,3,3]");
    assert_slot(b, "net.layer1.1.conv2.weight", "[16,16,3,3]");
    assert_slot(b, "net.layer4.0.downsample.0.weight", "[128,64,1,1]");
    assert_slot(b, "net.fc.weight", "[10,128]");
    forge_builder_free(b);
}

static void test_wrong_options_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        static const char *const words[] = {"there are 18, 34, 50", "struct_size", "rank from 4 to 4"};
        forge_resnet_options o = {.struct_size = i == 1 ? 1 : sizeof o, .depth = i ? 18 : 19, .classes = 3};
        forge_graph *graph;
        joule_error error;
        forge_builder *b = forge_builder_new();
        forge_value x = i == 2 ? forge_input(b, "x", FORGE_F32, forge_shape_of(1, 3)) : images(b, 1, 3, 32);
        assert_int_equal(forge_resnet(b, NULL, x, &o), FORGE_NO_VALUE);
        assert_int_equal(forge_builder_finish(b, &graph, &error), JOULE_INVALID);
        assert_contains(error.message, words[i]);
    }
}

/* --- first values --------------------------------------------------------------------------------------- */

static void test_initial_weights_have_their_distribution(void **state)
{
    struct workbench *m = *state;
    forge_builder *b = forge_builder_new();
    forge_resnet_options o = {.struct_size = sizeof o, .depth = 18, .classes = 3};
    forge_output(b, "y", forge_resnet(b, NULL, images(b, 1, 3, 32), &o));
    workbench_load(m, b);
    forge_tensor weight = workbench_slot(m, "layer2.0.conv1.weight"),
                 scale = workbench_slot(m, "layer2.0.bn2.weight");
    const float *w = forge_tensor_data(&weight);
    double sum = 0, squares = 0, count = (double)forge_tensor_elements(&weight);
    for (size_t i = 0; i < forge_tensor_elements(&weight); i++) {
        sum += (double)w[i];
        squares += (double)w[i] * (double)w[i];
    }
    /* for 73,728 numbers, 2 % is 7 sigma */
    assert_true(fabs(sqrt(squares / count) / sqrt(2. / (128 * 9)) - 1) < 0.02);
    assert_true(fabs(sum / count) < 0.02 * sqrt(2. / (128 * 9)));
    assert_true(*(float *)forge_tensor_data(&scale) == 1);
}

static void test_blocks_that_start_as_identity(void **state)
{
    struct workbench *m = *state;
    for (int i = 0; i < 2; i++) {
        forge_builder *b = forge_builder_new();
        forge_resnet_options o = {.struct_size = sizeof o, .is_training = true, .zero_init_residual = true};
        forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2, 8, 3, 3));
        forge_output(b, "y",
                     i ? forge_bottleneck(b, "b", x, 2, 1, &o) : forge_basic_block(b, "a", x, 8, 1, &o));
        workbench_load(m, b);
        float numbers[144], wanted[144];
        forge_random_normal(&(forge_random){.key = 3}, 0, 144, numbers);
        for (size_t k = 0; k < 144; k++)
            wanted[k] = fmaxf(numbers[k], 0);
        workbench_set(m, "x", numbers);
        workbench_run(m);
        workbench_assert_output(m, "y", wanted, 144);
        workbench_unload(m);
    }
}

/* --- gradients ------------------------------------------------------------------------------------------ */

/* Builds a block. kind: the stride, plus 4 for a bottleneck block. */
static forge_value block(forge_builder *b, const forge_value *x, int kind)
{
    forge_resnet_options o = {.struct_size = sizeof o, .is_training = true};
    return (kind & 4 ? forge_bottleneck : forge_basic_block)(b, "block", x[0], 2, kind & 3, &o);
}

static void test_slopes_of_blocks_equal_differences(void **state)
{
    (void)state;
    static const int kinds[] = {1, 2, 5, 6};
    for (size_t i = 0; i < 4; i++)
        derivative_check(
            &(struct function){"block", block, kinds[i], 1, {forge_shape_of(3, 3, 4, 4)}, -1, 1, false});
}

/* --- learning ------------------------------------------------------------------------------------------- */

static void test_resnet_learns(void **state)
{
    struct workbench *m = *state;
    enum { N = 6, SIZE = 12 };
    forge_builder *b = forge_builder_new();
    forge_resnet_options o = {.struct_size = sizeof o,
                              .depth = 18,
                              .classes = 3,
                              .width = 4,
                              .is_for_small_images = true,
                              .is_training = true};
    forge_value logits = forge_resnet(b, NULL, images(b, N, 1, SIZE), &o);
    forge_value loss = forge_cross_entropy(b, logits, forge_input(b, "labels", FORGE_U8, forge_shape_of(N)));
    forge_output(b, "loss", loss);
    forge_sgd_options sgd = {.struct_size = sizeof sgd, .momentum = 0.9};
    forge_sgd(b, loss, forge_scalar(b, FORGE_F32, 0.05), &sgd);
    workbench_load(m, b);
    float x[N * SIZE * SIZE], first = 0, last = 0;
    forge_random_normal(&(forge_random){.key = 5}, 0, N * SIZE * SIZE, x);
    for (int step = 0; step < 30; step++) {
        workbench_set(m, "x", x);
        workbench_set(m, "labels", (uint8_t[N]){0, 1, 2, 0, 1, 2});
        workbench_run(m);
        forge_tensor tensor = workbench_output(m, "loss");
        last = *(float *)forge_tensor_data(&tensor);
        first = step ? first : last;
    }
    if (!(last < first / 10))
        fail_msg("the loss went from %g to %g", (double)first, (double)last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_equal_those_of_torchvision),
        cmocka_unit_test(test_slots_have_the_names_of_torchvision),
        cmocka_unit_test(test_wrong_options_are_refused),
        cmocka_unit_test_setup_teardown(test_initial_weights_have_their_distribution, workbench_set_up,
                                        workbench_tear_down),
        cmocka_unit_test_setup_teardown(test_blocks_that_start_as_identity, workbench_set_up,
                                        workbench_tear_down),
        cmocka_unit_test(test_slopes_of_blocks_equal_differences),
        cmocka_unit_test_setup_teardown(test_resnet_learns, workbench_set_up, workbench_tear_down),
    };
    return cmocka_run_group_tests_name("resnet", tests, NULL, NULL);
}
