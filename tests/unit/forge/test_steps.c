/* Checks that training steps give equal bits in all slots with any number of threads and allocate nothing
 * after the first step. Each instruction set is tested. */
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
#include "forge/backends/cpu/isa.h"
#include "support/allocations.h"
#include "support/workbench.h"

/* A network that computes logits from the input x and the labels. */
struct network {
    const char *name;
    forge_shape x;
    int64_t classes, labels;
    forge_value (*logits)(forge_builder *b, forge_value x, forge_value labels);
    bool is_adamw;
};

static forge_value mlp(forge_builder *b, forge_value x, forge_value labels)
{
    (void)labels;
    return forge_mlp(b, NULL, x, (int64_t[]){192, 96, 10}, 3);
}

static forge_value cnn(forge_builder *b, forge_value x, forge_value labels)
{
    (void)labels;
    return forge_cnn(b, NULL, x, (int64_t[]){12, 20, 48, 10});
}

static forge_value norm_cnn(forge_builder *b, forge_value x, forge_value labels)
{
    (void)labels;
    return forge_norm_cnn(b, NULL, x, 10, true);
}

/* The labels are also the tokens of the input. */
static forge_value gpt(forge_builder *b, forge_value x, forge_value labels)
{
    const forge_gpt_options options = {.struct_size = sizeof options,
                                       .layers = 2,
                                       .heads = 4,
                                       .vocabulary = 10,
                                       .context = 32,
                                       .width = 64,
                                       .is_training = true,
                                       .dropout = 0.1};
    (void)x;
    forge_value tokens = forge_reshape(b, labels, forge_shape_of(4, 32));
    return forge_reshape(b, forge_gpt(b, NULL, tokens, &options), forge_shape_of(128, 10));
}

static const struct network networks[] = {
    {"mlp", {2, 0, {96, 150}}, 10, 96, mlp, false},
    {"cnn", {4, 0, {24, 1, 20, 22}}, 10, 24, cnn, false},
    {"norm cnn with AdamW", {4, 0, {12, 1, 14, 14}}, 10, 12, norm_cnn, true},
    {"gpt with AdamW", {1, 0, {1}}, 10, 128, gpt, true},
};
enum { NETWORKS = sizeof networks / sizeof *networks, STEPS = 3 };

static void load(struct workbench *m, const struct network *network)
{
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, network->x);
    forge_value labels = forge_input(b, "labels", FORGE_I32, forge_shape_of(network->labels));
    forge_value loss = forge_cross_entropy(b, network->logits(b, x, labels), labels);
    forge_value rate = forge_scalar(b, FORGE_F32, network->is_adamw ? 0.002 : 0.05);
    forge_adamw_options adamw = FORGE_ADAMW_OPTIONS;
    adamw.max_norm = 1;
    forge_output(b, "loss", loss);
    if (network->is_adamw)
        forge_adamw(b, loss, rate, &adamw);
    else
        forge_sgd(b, loss, rate,
                  &(forge_sgd_options){.struct_size = sizeof(forge_sgd_options), .momentum = 0.9});
    workbench_load(m, b);
}

/* Inputs of a step, computed from its number. */
struct inputs {
    forge_tensor x, labels;
};

static struct inputs make_inputs(const struct network *network)
{
    struct inputs in;
    forge_shape labels = forge_shape_of(network->labels);
    assert_int_equal(forge_tensor_new(FORGE_F32, &network->x, &in.x, NULL), JOULE_OK);
    assert_int_equal(forge_tensor_new(FORGE_I32, &labels, &in.labels, NULL), JOULE_OK);
    return in;
}

static void free_inputs(struct inputs *in)
{
    forge_buffer_release(in->x.buffer);
    forge_buffer_release(in->labels.buffer);
}

static void step(struct workbench *m, const struct network *network, struct inputs *in, unsigned number,
                 forge_tensor *out_loss)
{
    int32_t *labels = forge_tensor_data(&in->labels);
    forge_random_normal(&(forge_random){.key = 5, .step = number}, 0, forge_tensor_elements(&in->x),
                        forge_tensor_data(&in->x));
    for (int64_t i = 0; i < network->labels; i++)
        labels[i] = (int32_t)((i * i + number) % network->classes);
    assert_int_equal(forge_instance_set(m->instance, "x", &in->x, NULL), JOULE_OK);
    assert_int_equal(forge_instance_set(m->instance, "labels", &in->labels, NULL), JOULE_OK);
    assert_int_equal(forge_instance_run(m->instance, NULL), JOULE_OK);
    assert_int_equal(forge_instance_get(m->instance, "loss", out_loss, NULL), JOULE_OK);
}

/* --- bits ----------------------------------------------------------------------------------------------- */

/* Trains for a few steps. Returns the losses, followed by the contents of all slots. */
static struct kept train(const struct network *network, unsigned threads)
{
    struct workbench m;
    struct kept bits = {0};
    forge_tensor tensor;
    const char *name;
    assert_int_equal(workbench_begin(&m, 42, NULL), JOULE_OK);
    assert_int_equal(forge_device_set_threads(m.device, threads, NULL), JOULE_OK);
    load(&m, network);
    struct inputs in = make_inputs(network);
    for (unsigned i = 0; i < STEPS; i++) {
        step(&m, network, &in, i, &tensor);
        workbench_keep(&bits, &tensor);
    }
    free_inputs(&in);
    for (size_t i = 0; i < forge_states_count(m.states); i++) {
        assert_int_equal(forge_states_get(m.states, i, &tensor, &name), JOULE_OK);
        workbench_keep(&bits, &tensor);
    }
    workbench_end(&m);
    return bits;
}

static void compare_threads(const struct network *network, const char *isa)
{
    static const unsigned threads[] = {2, 3, 5};
    struct kept alone = train(network, 1);
    float loss[STEPS];
    memcpy(loss, alone.bytes, sizeof loss);
    /* the first loss is plausible, and training changes it */
    assert_true(loss[0] > 1 && loss[0] < 10 && loss[1] != loss[0]);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        struct kept together = train(network, threads[i]);
        if (together.size != alone.size || memcmp(together.bytes, alone.bytes, alone.size) != 0)
            fail_msg("%s with %s: %u threads give other bits than one", network->name, isa, threads[i]);
        free(together.bytes);
    }
    free(alone.bytes);
}

static void test_any_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    for (enum isa isa = 0; isa < ISA_COUNT; isa++) {
        if (!isa_is_here(isa)) {
            print_message("%s is not here\n", isa_name(isa));
            continue;
        }
        setenv("FORGE_ISA", isa_name(isa), 1);
        for (size_t i = 0; i < NETWORKS; i++)
            compare_threads(&networks[i], isa_name(isa));
    }
    unsetenv("FORGE_ISA");
}

/* --- memory --------------------------------------------------------------------------------------------- */

static void test_steps_ask_for_no_memory(void **state)
{
    (void)state;
    enum { COUNTED = 100 };
    for (size_t i = 0; i < NETWORKS; i++) {
        struct workbench m;
        forge_tensor loss;
        assert_int_equal(workbench_begin(&m, 42, NULL), JOULE_OK);
        assert_int_equal(forge_device_set_threads(m.device, 2, NULL), JOULE_OK);
        load(&m, &networks[i]);
        struct inputs in = make_inputs(&networks[i]);
        step(&m, &networks[i], &in, 0, &loss);
        unsigned before = allocations;
        for (unsigned k = 1; k <= COUNTED; k++)
            step(&m, &networks[i], &in, k, &loss);
        if (allocations != before)
            fail_msg("%s: %u allocations in %d steps", networks[i].name, allocations - before, COUNTED);
        void *volatile memory = malloc(1); /* shows that the counter counts allocations */
        free(memory);
        assert_true(allocations == before + 1);
        free_inputs(&in);
        workbench_end(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(test_steps_ask_for_no_memory),
    };
    return cmocka_run_group_tests_name("steps", tests, NULL, NULL);
}
