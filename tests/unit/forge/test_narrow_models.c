/* Checks that networks in bf16 and f16, and networks in f32 whose products the compiler computes in these
 * types, run on fast kernels, forward and backward, and that they compute what the same networks compute
 * in f32.
 *
 * No launch may use a reference kernel, which converts and computes one element at a time, except those in
 * `allowed`. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/compiler.h>
#include <forge/nn.h>
#include <forge/optim.h>
#include "forge/core/dtype.h"
#include "forge/ir/program.h"
#include "support/views.h"
#include "support/workbench.h"

/* The reference kernels that may run, and why this costs no time in a network. */
static const struct {
    const char *kernel, *why;
} allowed[] = {
    {"reference_iota", "makes numbers once; constants are folded"},
    {"reference_random", "generates bits, which have no type of floats"},
    {"reference_reshape", "copies elements by their size"},
    {"reference_transpose", "copies elements by their size"},
    {"reference_broadcast", "copies elements by their size"},
    {"reference_concat", "copies elements by their size"},
    {"reference_slice", "copies elements by their size"},
    {"reference_pad", "copies elements by their size"},
    {"reference_gather", "copies elements by their size"},
};

/* Returns true if a reference kernel may run this launch. Single numbers, such as the step of an optimiser,
 * always may. */
static bool is_allowed(const forge_program *program, const struct program_launch *launch)
{
    const struct program_binding *out =
        &program_bindings(program)[launch->first_binding + launch->input_count];
    const char *kernel = program_string(program, launch->kernel);
    bool is_number = true;
    for (size_t i = 0; i < launch->input_count; i++)
        is_number &= forge_shape_elements(&program_bindings(program)[launch->first_binding + i].shape) == 1;
    if (is_number && forge_shape_elements(&out->shape) == 1)
        return true;
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (strcmp(kernel, allowed[i].kernel) == 0)
            return true;
    return strncmp(kernel, "reference_", strlen("reference_")) != 0;
}

static size_t slow_launches; /* in all networks */

static void count_slow(const char *name, forge_dtype dtype, const forge_program *program)
{
    size_t slow = 0;
    for (size_t i = 0; i < program->launches.count; i++) {
        const struct program_launch *launch = &program_launches(program)[i];
        if (is_allowed(program, launch))
            continue;
        const struct program_binding *in = &program_bindings(program)[launch->first_binding],
                                     *out = in + launch->input_count;
        print_message("%s in %s: %s runs on %s (%s to %s, %zu elements)\n", name, forge_dtype_name(dtype),
                      program_launch_name(program, launch), program_string(program, launch->kernel),
                      forge_dtype_name((forge_dtype)in->dtype), forge_dtype_name((forge_dtype)out->dtype),
                      forge_shape_elements(&out->shape));
        slow++;
    }
    slow_launches += slow;
}

/* --- networks ------------------------------------------------------------------------------------------- */

/* Returns the logits, [rows, classes], of a small network of the same layers as the real one. `labels`:
 * [rows]. */
typedef forge_value build_fn(forge_builder *b, forge_dtype dtype, bool is_training);

static forge_value mlp(forge_builder *b, forge_dtype dtype, bool is_training)
{
    (void)is_training;
    return forge_mlp(b, NULL, forge_input(b, "x", dtype, forge_shape_of(6, 784)), (int64_t[]){128, 10}, 2);
}

static forge_value cnn(forge_builder *b, forge_dtype dtype, bool is_training)
{
    (void)is_training;
    forge_value x = forge_input(b, "x", dtype, forge_shape_of(6, 1, 28, 28));
    return forge_cnn(b, NULL, x, (int64_t[]){8, 16, 32, 10});
}

static forge_value norm_cnn(forge_builder *b, forge_dtype dtype, bool is_training)
{
    forge_value x = forge_input(b, "x", dtype, forge_shape_of(6, 1, 28, 28));
    return forge_norm_cnn(b, NULL, x, 10, is_training);
}

static forge_value resnet18(forge_builder *b, forge_dtype dtype, bool is_training)
{
    forge_resnet_options o = {
        .struct_size = sizeof o, .depth = 18, .classes = 10, .is_training = is_training};
    return forge_resnet(b, NULL, forge_input(b, "x", dtype, forge_shape_of(2, 3, 112, 112)), &o);
}

static forge_value gpt(forge_builder *b, forge_dtype dtype, bool is_training)
{
    enum { BATCH = 2, TOKENS = 24, VOCABULARY = 65 };
    forge_gpt_options o = {.struct_size = sizeof o,
                           .layers = 2,
                           .heads = 4,
                           .vocabulary = VOCABULARY,
                           .context = TOKENS,
                           .width = 64,
                           .dtype = dtype,
                           .dropout = is_training ? 0.1 : 0,
                           .is_training = is_training};
    forge_value tokens = forge_input(b, "tokens", FORGE_I32, forge_shape_of(BATCH, TOKENS));
    return forge_reshape(b, forge_gpt(b, NULL, tokens, &o), forge_shape_of(BATCH * TOKENS, VOCABULARY));
}

static const struct network {
    const char *name;
    build_fn *build;
    bool is_random; /* training contains dropout, so losses of two types cannot be compared */
} networks[] = {{"mlp", mlp, false},
                {"cnn", cnn, false},
                {"norm_cnn", norm_cnn, true},
                {"resnet18", resnet18, false},
                {"gpt", gpt, true}};

enum purpose { FORWARD, SGD, ADAMW, PURPOSES };

static forge_builder *network_for(const struct network *network, forge_dtype dtype, enum purpose purpose)
{
    forge_builder *b = forge_builder_new();
    forge_sgd_options sgd = {.struct_size = sizeof sgd, .momentum = 0.9};
    forge_adamw_options adamw = FORGE_ADAMW_OPTIONS;
    forge_value y = network->build(b, dtype, purpose != FORWARD);
    forge_value labels = forge_input(b, "labels", FORGE_I32, forge_shape_of(forge_value_shape(b, y).dims[0]));
    forge_output(b, "softmax", forge_softmax(b, y));
    forge_value loss = forge_cross_entropy(b, y, labels);
    forge_output(b, "loss", loss);
    forge_value rate = forge_input(b, "rate", FORGE_F32, (forge_shape){0});
    if (purpose == SGD)
        forge_sgd(b, loss, rate, &sgd);
    if (purpose == ADAMW)
        forge_adamw(b, loss, rate, &adamw);
    return b;
}

static void check_launches_of(const struct network *network, forge_dtype dtype, forge_precision precision,
                              enum purpose purpose)
{
    struct workbench bench = {0};
    joule_error error = {0};
    assert_int_equal(workbench_begin(&bench, 1, NULL), JOULE_OK);
    bench.precision = precision;
    if (workbench_try_load(&bench, network_for(network, dtype, purpose), &error) != JOULE_OK)
        fail_msg("%s: %s", network->name, error.message);
    count_slow(network->name, dtype, bench.program);
    workbench_end(&bench);
}

static void test_every_launch_of_a_network_has_a_fast_kernel(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        for (enum purpose purpose = 0; purpose < PURPOSES; purpose++) {
            check_launches_of(&networks[i], FORGE_BF16, FORGE_PRECISION_F32, purpose);
            check_launches_of(&networks[i], FORGE_F16, FORGE_PRECISION_F32, purpose);
            check_launches_of(&networks[i], FORGE_F32, FORGE_PRECISION_BF16, purpose);
            check_launches_of(&networks[i], FORGE_F32, FORGE_PRECISION_F16, purpose);
        }
    assert_int_equal(slow_launches, 0);
}

/* --- results -------------------------------------------------------------------------------------------- */

/* Sets the inputs "x" or "tokens", "labels" and "rate" to the same numbers for each type. */
static void set_inputs(struct workbench *bench, const struct network *network, forge_dtype dtype)
{
    enum { MOST = 2 * 3 * 112 * 112 };
    int32_t labels[256], tokens[256];
    double *numbers = malloc(MOST * sizeof *numbers);
    void *x = malloc(MOST * sizeof(float));
    assert_true(numbers && x);
    for (size_t i = 0; i < MOST; i++)
        numbers[i] = sin((double)(i * i % 1013)) / 2;
    for (int i = 0; i < 256; i++) {
        labels[i] = i * 7 % 10;
        tokens[i] = i * i % 65;
    }
    dtype_row(dtype)->store(x, 0, MOST, numbers);
    bool is_text = strcmp(network->name, "gpt") == 0;
    workbench_set(bench, is_text ? "tokens" : "x", is_text ? (const void *)tokens : x);
    workbench_set(bench, "labels", labels);
    workbench_set(bench, "rate", &(float){0.02f});
    free(numbers);
    free(x);
}

/* Returns the loss after `steps` steps of SGD. */
static double loss_after(const struct network *network, forge_dtype dtype, forge_precision precision,
                         int steps)
{
    struct workbench bench = {0};
    double loss;
    assert_int_equal(workbench_begin(&bench, 7, NULL), JOULE_OK);
    bench.precision = precision;
    workbench_load(&bench, network_for(network, dtype, SGD));
    set_inputs(&bench, network, dtype);
    for (int i = 0; i <= steps; i++)
        workbench_run(&bench);
    forge_tensor tensor = workbench_output(&bench, "loss");
    dtype_row(dtype)->load(forge_tensor_data(&tensor), 0, 1, &loss);
    workbench_end(&bench);
    return loss;
}

static void test_losses_are_those_of_f32(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        if (networks[i].is_random)
            continue;
        for (int steps = 0; steps < 4; steps += 3) {
            double wide = loss_after(&networks[i], FORGE_F32, FORGE_PRECISION_F32, steps);
            double bf16 = loss_after(&networks[i], FORGE_BF16, FORGE_PRECISION_F32, steps);
            double f16 = loss_after(&networks[i], FORGE_F16, FORGE_PRECISION_F32, steps);
            if (!(fabs(bf16 - wide) <= 0.05 * (wide + 0.2)) || !(fabs(f16 - wide) <= 0.02 * (wide + 0.2)))
                fail_msg("%s, after %d steps: losses %g in f32, %g in bf16, %g in f16", networks[i].name,
                         steps, wide, bf16, f16);
        }
    }
}

/* --- mixed precision ------------------------------------------------------------------------------------ */

/* The same dropout is drawn in each precision, so all networks can be compared. Parameters are f32, so the
 * bounds are closer than for networks in bf16 and f16. */
static void test_losses_in_mixed_precision_are_those_of_f32(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        for (int steps = 0; steps < 4; steps += 3) {
            double wide = loss_after(&networks[i], FORGE_F32, FORGE_PRECISION_F32, steps);
            double bf16 = loss_after(&networks[i], FORGE_F32, FORGE_PRECISION_BF16, steps);
            double f16 = loss_after(&networks[i], FORGE_F32, FORGE_PRECISION_F16, steps);
            if (!(fabs(bf16 - wide) <= 0.03 * (wide + 0.2)) || !(fabs(f16 - wide) <= 0.02 * (wide + 0.2)))
                fail_msg("%s, after %d steps: losses %g in f32, %g in bf16, %g in f16", networks[i].name,
                         steps, wide, bf16, f16);
        }
}

/* Stores the probabilities of the classes in out: [MAX_OUTPUTS]. Returns their number. */
enum { MAX_OUTPUTS = 2 * 24 * 65 };
static size_t outputs_of(const struct network *network, forge_precision precision, float *out)
{
    struct workbench bench = {0};
    assert_int_equal(workbench_begin(&bench, 7, NULL), JOULE_OK);
    bench.precision = precision;
    workbench_load(&bench, network_for(network, FORGE_F32, FORWARD));
    set_inputs(&bench, network, FORGE_F32);
    workbench_run(&bench);
    forge_tensor tensor = workbench_output(&bench, "softmax");
    size_t count = forge_tensor_elements(&tensor);
    assert_true(count <= MAX_OUTPUTS);
    memcpy(out, forge_tensor_data(&tensor), count * sizeof *out);
    workbench_end(&bench);
    return count;
}

static void test_outputs_in_mixed_precision_are_those_of_f32(void **state)
{
    static const double bounds[] = {0, 0.01, 0.002};
    static float wide[MAX_OUTPUTS], narrow[MAX_OUTPUTS];
    (void)state;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        for (int precision = FORGE_PRECISION_BF16; precision <= FORGE_PRECISION_F16; precision++) {
            double most = 0;
            size_t count = outputs_of(&networks[i], FORGE_PRECISION_F32, wide);
            assert_int_equal(outputs_of(&networks[i], (forge_precision)precision, narrow), count);
            for (size_t k = 0; k < count; k++)
                most = fmax(most, fabs((double)narrow[k] - (double)wide[k]));
            if (!(most <= bounds[precision]))
                fail_msg("%s, precision %d: a probability differs by %g", networks[i].name, precision, most);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_launch_of_a_network_has_a_fast_kernel),
        cmocka_unit_test(test_losses_are_those_of_f32),
        cmocka_unit_test(test_losses_in_mixed_precision_are_those_of_f32),
        cmocka_unit_test(test_outputs_in_mixed_precision_are_those_of_f32),
    };
    return cmocka_run_group_tests_name("narrow_models", tests, NULL, NULL);
}
