/* Checks networks that run out of memory while they are built, compiled or loaded. Each allocation fails in
 * turn, and the error must report it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <forge/nn.h>
#include <forge/optim.h>
#include <forge/program.h>
#include "support/allocations.h"
#include "support/check.h"

typedef forge_value (*model_fn)(forge_builder *b);

static forge_value gpt(forge_builder *b)
{
    forge_gpt_options o = {.struct_size = sizeof o,
                           .layers = 1,
                           .heads = 2,
                           .vocabulary = 11,
                           .context = 8,
                           .width = 8,
                           .is_training = true,
                           .checkpoint_activations = true,
                           .dropout = 0.1};
    forge_value tokens = forge_input(b, "tokens", FORGE_I32, forge_shape_of(2, 4));
    forge_value logits = forge_reshape(b, forge_gpt(b, NULL, tokens, &o), forge_shape_of(8, 11));
    return forge_cross_entropy(b, logits, forge_input(b, "labels", FORGE_I32, forge_shape_of(8)));
}

static forge_value rotated(forge_builder *b)
{
    forge_value x = forge_linear(b, "a", forge_input(b, "x", FORGE_F32, forge_shape_of(2, 4, 8)), 8, true);
    forge_value at = forge_iota(b, FORGE_I32, forge_shape_of(4), 0);
    x = forge_add(b, forge_rope(b, x, at, 10000, false), forge_rope(b, x, at, 10000, true));
    return forge_reduce(b, FORGE_SUM, x, 7, false);
}

static forge_value residual(forge_builder *b)
{
    forge_resnet_options o = {
        .struct_size = sizeof o, .depth = 18, .classes = 3, .width = 4, .is_training = true};
    forge_value y = forge_resnet(b, NULL, forge_input(b, "x", FORGE_F32, forge_shape_of(2, 3, 64, 64)), &o);
    return forge_cross_entropy(b, y, forge_input(b, "labels", FORGE_I32, forge_shape_of(2)));
}

/* Builds and compiles a training step from an empty builder. */
static joule_status make(model_fn model, joule_error *error)
{
    forge_device *device = NULL;
    forge_graph *graph = NULL;
    forge_program *program = NULL;
    forge_builder *b = forge_builder_new();
    forge_adamw_options adamw = FORGE_ADAMW_OPTIONS;
    forge_value loss = model(b);
    forge_adamw(b, loss, forge_input(b, "rate", FORGE_F32, (forge_shape){0}), &adamw);
    forge_output(b, "loss", loss);
    joule_status status = forge_builder_finish(b, &graph, error);
    if (status == JOULE_OK)
        status = forge_device_open("cpu", &device, error);
    if (status == JOULE_OK)
        status = forge_compile(graph, device, &program, error);
    forge_program_free(program);
    forge_device_close(device);
    forge_graph_free(graph);
    return status;
}

/* Builds the model about max_trials times. In each trial, another allocation fails; the failing allocations
 * are evenly distributed. If there are fewer allocations, each of them fails once. A full test has ten times
 * as many trials. */
static void check(model_fn model, unsigned max_trials)
{
    joule_error error = {0};
    allocations = failing_allocation = 0;
    assert_ok(make(model, &error), &error);
    unsigned count = allocations, step = 1 + count / (is_full_test() ? 10 * max_trials : max_trials);
    for (unsigned number = 1; number <= count; number += step) {
        allocations = 0;
        failing_allocation = number;
        joule_status status = make(model, &error);
        failing_allocation = 0;
        /* Some allocations only improve speed, so their failure is not an error. Any other failure must give
         * JOULE_NO_MEMORY. */
        if (status != JOULE_OK && status != JOULE_NO_MEMORY)
            fail_msg("allocation %u of %u: %s: %s", number, count, joule_status_name(status), error.message);
    }
}

static void test_building_a_gpt_survives_each_failing_allocation(void **state)
{
    (void)state;
    check(gpt, 1000);
}

static void test_building_rotary_positions_survives_each_failing_allocation(void **state)
{
    (void)state;
    check(rotated, 1000);
}

static void test_building_a_resnet_survives_each_failing_allocation(void **state)
{
    (void)state;
    check(residual, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_building_a_gpt_survives_each_failing_allocation),
        cmocka_unit_test(test_building_rotary_positions_survives_each_failing_allocation),
        cmocka_unit_test(test_building_a_resnet_survives_each_failing_allocation),
    };
    return cmocka_run_group_tests_name("build_memory", tests, NULL, NULL);
}
