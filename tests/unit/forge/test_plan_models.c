/* Checks that memory plans of whole networks are at most 2 % larger than the values alive at one time. The
 * networks are compiled, but not run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include <forge/nn.h>
#include <forge/optim.h>
#include <forge/program.h>

static int open_device(void **state)
{
    return forge_device_open("cpu", (forge_device **)state, NULL);
}

static int close_device(void **state)
{
    forge_device_close(*state);
    return 0;
}

/* Compiles the builder's graph and checks the plan. Frees the builder. */
static void check(const char *name, forge_device *device, forge_builder *b)
{
    forge_graph *graph = NULL;
    forge_program *program = NULL;
    joule_error error = {0};
    forge_program_facts facts = {.struct_size = sizeof facts};
    if (forge_builder_finish(b, &graph, &error) != JOULE_OK ||
        forge_compile(graph, device, &program, &error) != JOULE_OK)
        fail_msg("%s: %s", name, error.message);
    assert_int_equal(forge_program_query(program, &facts), JOULE_OK);
    assert_true(facts.arena_bound_bytes > 0);
    if ((double)facts.arena_bytes > 1.02 * (double)facts.arena_bound_bytes)
        fail_msg("%s: %zu bytes planned, %zu alive at once", name, facts.arena_bytes,
                 facts.arena_bound_bytes);
    forge_program_free(program);
    forge_graph_free(graph);
}

/* --- ResNet-50 ------------------------------------------------------------------------------------------ */

static void check_resnet(forge_device *device, int64_t images, bool is_training)
{
    char name[80];
    forge_builder *b = forge_builder_new();
    forge_resnet_options o = {
        .struct_size = sizeof o, .depth = 50, .classes = 1000, .is_training = is_training};
    forge_sgd_options sgd = {.struct_size = sizeof sgd, .momentum = 0.9};
    forge_value y =
        forge_resnet(b, NULL, forge_input(b, "x", FORGE_F32, forge_shape_of(images, 3, 224, 224)), &o);
    if (is_training) {
        y = forge_cross_entropy(b, y, forge_input(b, "labels", FORGE_I64, forge_shape_of(images)));
        forge_sgd(b, y, forge_input(b, "rate", FORGE_F32, (forge_shape){0}), &sgd);
    }
    forge_output(b, "y", y);
    snprintf(name, sizeof name, "%s of %d images", is_training ? "training" : "inference", (int)images);
    check(name, device, b);
}

static void test_arena_of_resnet_50_is_near_its_lower_bound(void **state)
{
    for (int64_t images = 1; images <= 8; images++) {
        check_resnet(*state, images, false);
        check_resnet(*state, images, true);
    }
}

/* --- GPT-2 ---------------------------------------------------------------------------------------------- */

enum { BATCH = 4, TOKENS = 64, VOCABULARY = 50257 };

static forge_value gpt_logits(forge_builder *b)
{
    forge_gpt_options o = {.struct_size = sizeof o,
                           .layers = 12,
                           .heads = 12,
                           .vocabulary = VOCABULARY,
                           .context = 1024,
                           .width = 768,
                           .is_training = true};
    forge_value tokens = forge_input(b, "tokens", FORGE_I32, forge_shape_of(BATCH, TOKENS));
    return forge_reshape(b, forge_gpt(b, NULL, tokens, &o), forge_shape_of(BATCH * TOKENS, VOCABULARY));
}

static forge_value gpt_loss(forge_builder *b)
{
    forge_value labels = forge_input(b, "labels", FORGE_I32, forge_shape_of(BATCH * TOKENS));
    return forge_cross_entropy(b, gpt_logits(b), labels);
}

static void add_gradients(forge_builder *b, forge_value loss)
{
    enum { MAX_PARAMETERS = 200 };
    char name[40];
    forge_value parameters[MAX_PARAMETERS], gradients[MAX_PARAMETERS];
    size_t count = forge_parameter_count(b);
    assert_true(count <= MAX_PARAMETERS);
    for (size_t i = 0; i < count; i++)
        parameters[i] = forge_read(b, forge_parameter_slot(b, i));
    forge_gradients(b, loss, parameters, count, gradients);
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "gradient %zu", i);
        forge_output(b, name, gradients[i]);
    }
}

static void test_arena_of_gpt_2_is_near_its_lower_bound(void **state)
{
    forge_builder *b = forge_builder_new();
    forge_output(b, "logits", gpt_logits(b));
    check("forward", *state, b);
    b = forge_builder_new();
    add_gradients(b, gpt_loss(b));
    check("forward and backward", *state, b);
    b = forge_builder_new();
    forge_adamw_options adamw = FORGE_ADAMW_OPTIONS;
    forge_adamw(b, gpt_loss(b), forge_input(b, "rate", FORGE_F32, (forge_shape){0}), &adamw);
    check("training", *state, b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arena_of_resnet_50_is_near_its_lower_bound),
        cmocka_unit_test(test_arena_of_gpt_2_is_near_its_lower_bound),
    };
    return cmocka_run_group_tests_name("plan_models", tests, open_device, close_device);
}
