/* Checks programs with symbolic sizes: one program runs all sizes without allocation and gives the bits of a
 * program for each size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <math.h>
#include <forge/energy.h>
#include <forge/nn.h>
#include <forge/optim.h>
#include <forge/program.h>
#include <forge/random.h>
#include "forge/ir/library.h"
#include "forge/ir/program.h"
#include "support/allocations.h"
#include "support/check.h"
#include "support/random_graph.h"

/* --- a program, its states, and an instance ------------------------------------------------------------- */

struct side {
    forge_program *program;
    forge_states *states;
    forge_instance *instance;
};

static forge_device *device;

static int set_up(void **state)
{
    (void)state;
    return forge_device_open("cpu", &device, NULL) != JOULE_OK;
}

static int tear_down(void **state)
{
    (void)state;
    forge_device_close(device);
    return 0;
}

static void load(struct side *side, const forge_graph *graph)
{
    joule_error error = {0};
    if ((!side->states && forge_states_new(device, 3, &side->states, &error)) ||
        forge_compile(graph, device, &side->program, &error) ||
        forge_instance_new(side->program, device, side->states, &side->instance, &error))
        fail_msg("%s", error.message);
}

static void unload(struct side *side)
{
    forge_instance_free(side->instance);
    forge_program_free(side->program);
    side->instance = NULL;
    side->program = NULL;
}

static void end(struct side *side)
{
    unload(side);
    forge_states_free(side->states);
}

/* Creates the inputs of both sides. `graph` has no symbols, so the inputs have its shapes. */
static size_t make_inputs(const forge_graph *graph, uint32_t round, forge_tensor *out)
{
    for (size_t i = 0; i < graph->input_count; i++) {
        const struct value *value = &graph->values[graph->inputs[i].value];
        assert_int_equal(forge_tensor_new(value->dtype, &value->shape, &out[i], NULL), JOULE_OK);
        size_t count = forge_tensor_elements(&out[i]);
        if (value->dtype == FORGE_F32)
            forge_random_uniform(&(forge_random){.key = round, .stream = (uint32_t)i}, 0, count,
                                 forge_tensor_data(&out[i]));
        for (size_t k = 0; value->dtype == FORGE_I64 && k < count; k++)
            ((int64_t *)forge_tensor_data(&out[i]))[k] = (int64_t)(k * 7 + round) % 5;
    }
    return graph->input_count;
}

static void run(const struct side *side, const forge_graph *graph, const forge_tensor *inputs)
{
    joule_error error = {0};
    for (size_t i = 0; i < graph->input_count; i++)
        assert_ok(forge_instance_set(side->instance, graph->inputs[i].name, &inputs[i], &error), &error);
    assert_ok(forge_instance_run(side->instance, &error), &error);
}

static void assert_same(const forge_tensor *a, const forge_tensor *b, uint64_t round, const char *name)
{
    assert_true(forge_shape_equal(&a->shape, &b->shape));
    size_t bytes = forge_dtype_size_bytes(a->dtype, forge_tensor_elements(a));
    if (bytes && memcmp(forge_tensor_data(a), forge_tensor_data(b), bytes) != 0)
        fail_msg("round %llu: '%s' differs", (unsigned long long)round, name);
}

static void compare(const struct side *a, const struct side *b, const forge_graph *graph, uint64_t round)
{
    forge_tensor x, y;
    for (size_t i = 0; i < graph->output_count; i++) {
        assert_int_equal(forge_instance_get(a->instance, graph->outputs[i].name, &x, NULL), JOULE_OK);
        assert_int_equal(forge_instance_get(b->instance, graph->outputs[i].name, &y, NULL), JOULE_OK);
        assert_same(&x, &y, round, graph->outputs[i].name);
    }
    for (size_t i = 0; i < graph->slot_count; i++) {
        assert_int_equal(forge_states_find(a->states, graph->slots[i].name, &x), JOULE_OK);
        assert_int_equal(forge_states_find(b->states, graph->slots[i].name, &y), JOULE_OK);
        assert_same(&x, &y, round, graph->slots[i].name);
    }
}

/* Sets the inputs and runs the program. Returns the number of allocations. */
static unsigned run_counted(const struct side *side, const forge_graph *graph, const forge_tensor *inputs)
{
    unsigned before = allocations;
    run(side, graph, inputs);
    return allocations - before;
}

/* --- models --------------------------------------------------------------------------------------------- */

typedef void build_fn(forge_builder *b, forge_dim batch, forge_dim length);

static void mlp(forge_builder *b, forge_dim batch, forge_dim length)
{
    (void)length;
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(batch, 16));
    forge_output(b, "y", forge_log_softmax(b, forge_mlp(b, "mlp", x, (int64_t[]){24, 5}, 2)));
}

/* Loss and gradient are means over the batch, so they have a factor that depends on the batch size. */
static void mlp_training(forge_builder *b, forge_dim batch, forge_dim length)
{
    (void)length;
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(batch, 16));
    forge_value labels = forge_input(b, "labels", FORGE_I64, forge_shape_of(batch));
    forge_value y = forge_mlp(b, "mlp", forge_dropout(b, "drop", x, 0.2, true), (int64_t[]){24, 5}, 2);
    forge_value loss = forge_cross_entropy(b, forge_batch_norm(b, "norm", y, 1e-5, 0.1, true), labels);
    forge_adamw_options options = FORGE_ADAMW_OPTIONS;
    forge_output(b, "loss", loss);
    forge_adamw(b, loss, forge_scalar(b, FORGE_F32, 0.01), &options);
}

static void attention(forge_builder *b, forge_dim batch, forge_dim length)
{
    forge_shape shape = forge_shape_of(batch, length, 8);
    forge_value q = forge_input(b, "q", FORGE_F32, shape), k = forge_input(b, "k", FORGE_F32, shape);
    forge_value v = forge_input(b, "v", FORGE_F32, shape);
    forge_value scores = forge_matmul(b, q, k, FORGE_TRANSPOSE_B);
    forge_value e = forge_exp(b, forge_sub(b, scores, forge_reduce(b, FORGE_MAXIMUM, scores, 4, true)));
    forge_value weights = forge_div(b, e, forge_reduce(b, FORGE_SUM, e, 4, true));
    forge_output(b, "y", forge_matmul(b, weights, v, 0));
    forge_output(b, "mean", forge_reduce(b, FORGE_MEAN, weights, 3, false));
}

/* The step has attention heads, a causal mask, layer norms, dropout, the gradient, and an update. */
static void block_training(forge_builder *b, forge_dim batch, forge_dim length)
{
    forge_gpt_options options = {.struct_size = sizeof options,
                                 .heads = 2,
                                 .width = 8,
                                 .layers = 1,
                                 .is_training = true,
                                 .dropout = 0.1};
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(batch, length, 8));
    forge_value y = forge_transformer_block(b, "block", x, &options);
    forge_value loss = forge_reduce(b, FORGE_MEAN, forge_unary(b, FORGE_SQUARE, y), 7, false);
    forge_output(b, "y", y);
    forge_output(b, "loss", loss);
    forge_sgd(b, loss, forge_scalar(b, FORGE_F32, 0.1),
              &(forge_sgd_options){.struct_size = sizeof(forge_sgd_options)});
}

/* The device has a kernel for this composite, whose operands have a variable size. */
static void update(forge_builder *b, forge_dim batch, forge_dim length)
{
    forge_value in[ADAMW_INPUTS], out[3];
    for (size_t i = 0; i < ADAMW_INPUTS; i++) {
        forge_shape shape = i < ADAMW_KEEP ? forge_shape_of(batch, length) : (forge_shape){0};
        in[i] = forge_input(b, (char[]){(char)('a' + i), 0}, FORGE_F32, shape);
    }
    library_composite_many(b, &(struct composite_attributes){.name = "adamw"}, in, ADAMW_INPUTS, out);
    for (size_t i = 0; i < 3; i++)
        forge_output(b, (char[]){(char)('x' + i), 0}, out[i]);
}

static forge_graph *build(build_fn *model, int64_t batch, int64_t length)
{
    forge_builder *b = forge_builder_new();
    forge_graph *graph = NULL;
    joule_error error = {0};
    model(b, batch ? batch : forge_symbol(b, "batch", 2, 40, 1),
          length ? length : forge_symbol(b, "length", 1, 20, 1));
    assert_ok(forge_builder_finish(b, &graph, &error), &error);
    return graph;
}

/* --- 200 sizes ------------------------------------------------------------------------------------------ */

enum { ROUNDS = 200 };

static void run_sizes(build_fn *model)
{
    struct side bounded = {0}, special = {0};
    forge_graph *symbolic = build(model, 0, 0);
    uint32_t bits[2];
    load(&bounded, symbolic);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        forge_tensor inputs[ADAMW_INPUTS];
        forge_random_bits(&(forge_random){.key = 11, .step = round}, 0, 2, bits);
        forge_graph *graph = build(model, 2 + bits[0] % 39, 1 + bits[1] % 20);
        size_t count = make_inputs(graph, round, inputs);
        forge_device_set_threads(device, 1 + round % 2, NULL);
        assert_int_equal(run_counted(&bounded, graph, inputs), 0);
        forge_device_set_threads(device, 1 + round / 2 % 2, NULL);
        load(&special, graph);
        run(&special, graph, inputs);
        compare(&bounded, &special, graph, round);
        unload(&special);
        for (size_t i = 0; i < count; i++)
            forge_buffer_release(inputs[i].buffer);
        forge_graph_free(graph);
    }
    forge_graph_free(symbolic);
    end(&bounded);
    end(&special);
}

static void test_mlp_of_any_size_gives_the_bits_of_a_specialised_one(void **state)
{
    (void)state;
    run_sizes(mlp);
}

static void test_training_with_any_batch_gives_the_bits_of_a_specialised_one(void **state)
{
    (void)state;
    run_sizes(mlp_training);
}

static void test_attention_of_any_size_gives_the_bits_of_a_specialised_one(void **state)
{
    (void)state;
    run_sizes(attention);
}

static void test_training_a_transformer_block(void **state)
{
    (void)state;
    run_sizes(block_training);
}

/* The stated work is the work of the composite's body, although the program runs a kernel instead. */
static void test_a_composite_with_a_kernel(void **state)
{
    (void)state;
    struct side bounded = {0};
    forge_launch_facts facts = {.struct_size = sizeof facts};
    forge_graph *graph = build(update, 0, 0);
    run_sizes(update);
    load(&bounded, graph);
    assert_int_equal(forge_instance_launch(bounded.instance, 1, &facts), JOULE_INVALID);
    assert_int_equal(forge_instance_set_zeros(bounded.instance, NULL, NULL), JOULE_OK);
    for (int64_t n = 2; n <= 40; n += 19) {
        assert_int_equal(forge_instance_set_size(bounded.instance, "batch", n, NULL), JOULE_OK);
        assert_int_equal(forge_instance_run(bounded.instance, NULL), JOULE_OK);
        forge_instance_reset_times(bounded.instance);
        assert_int_equal(forge_instance_launch(bounded.instance, 0, &facts), JOULE_OK);
        assert_string_equal(facts.op, "adamw");
        assert_true(facts.flop == 14.0 * (double)n * 20 && facts.written_bytes == 12.0 * (double)n * 20);
    }
    forge_graph_free(graph);
    end(&bounded);
}

/* --- all families --------------------------------------------------------------------------------------- */

static void test_random_graphs_of_any_size_give_the_bits_of_specialised_ones(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct side bounded = {0}, special = {0};
        forge_graph *graph = random_graph(seed, 20 + (unsigned)seed % 40,
                                          RANDOM_GRAPH_SYMBOLS | (seed % 2 ? RANDOM_GRAPH_GRADIENTS : 0));
        load(&bounded, graph);
        for (uint32_t round = 0; round < 4; round++) {
            forge_graph *bound = NULL;
            forge_tensor inputs[8];
            joule_error error = {0};
            forge_size size = {"B", (int64_t[]){64, 2, 10, 38}[round]};
            if (forge_graph_bind(graph, &size, 1, &bound, &error) != JOULE_OK)
                fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
            size_t count = make_inputs(bound, round, inputs);
            assert_int_equal(forge_instance_set_size(bounded.instance, "B", size.value, NULL), JOULE_OK);
            assert_int_equal(run_counted(&bounded, bound, inputs), 0);
            load(&special, bound);
            run(&special, bound, inputs);
            compare(&bounded, &special, bound, seed);
            unload(&special);
            for (size_t i = 0; i < count; i++)
                forge_buffer_release(inputs[i].buffer);
            forge_graph_free(bound);
        }
        forge_graph_free(graph);
        end(&bounded);
        end(&special);
    }
}

/* --- incompatible sizes --------------------------------------------------------------------------------- */

/* The program computes y = a + b and z = -c, and has a slot that counts runs. */
static forge_program *sums(void)
{
    forge_builder *b = forge_builder_new();
    forge_graph *graph = NULL;
    forge_program *program = NULL;
    forge_dim n = forge_symbol(b, "n", 4, 64, 4), m = forge_symbol(b, "m", 1, 9, 1);
    forge_value one = forge_input(b, "a", FORGE_F32, forge_shape_of(n, m));
    forge_value other = forge_input(b, "b", FORGE_F32, forge_shape_of(n, m));
    forge_slot runs = forge_state(b, "runs", FORGE_F32, forge_shape_of(), (forge_init){0});
    forge_write(b, runs, forge_add(b, forge_read(b, runs), forge_scalar(b, FORGE_F32, 1)), true);
    forge_output(b, "y", forge_add(b, one, other));
    forge_output(b, "z",
                 forge_neg(b, forge_input(b, "c", FORGE_F32, forge_shape_of(forge_dim_mul(b, n, 2)))));
    assert_int_equal(forge_builder_finish(b, &graph, NULL), JOULE_OK);
    assert_int_equal(forge_compile(graph, device, &program, NULL), JOULE_OK);
    forge_graph_free(graph);
    return program;
}

static joule_status set_ones(forge_instance *instance, const char *input, forge_shape shape,
                             joule_error *error)
{
    forge_tensor tensor;
    assert_int_equal(forge_tensor_new(FORGE_F32, &shape, &tensor, NULL), JOULE_OK);
    for (size_t i = 0; i < forge_tensor_elements(&tensor); i++)
        ((float *)forge_tensor_data(&tensor))[i] = 1;
    joule_status status = forge_instance_set(instance, input, &tensor, error);
    forge_buffer_release(tensor.buffer);
    return status;
}

static forge_shape shape_of(const struct side *side, const char *output)
{
    forge_tensor tensor;
    assert_int_equal(forge_instance_get(side->instance, output, &tensor, NULL), JOULE_OK);
    return tensor.shape;
}

#define assert_shape(shape, ...)                                                                             \
    assert_true(                                                                                             \
        forge_shape_equal(&(forge_shape[]){shape}[0], &(forge_shape[]){forge_shape_of(__VA_ARGS__)}[0]))

static void assert_status_and_message(joule_status status, joule_status expected, const joule_error *error,
                                      const char *words)
{
    assert_int_equal(status, expected);
    assert_contains(error->message, words);
}

static void load_sums(struct side *side)
{
    side->program = sums();
    assert_int_equal(forge_states_new(device, 3, &side->states, NULL), JOULE_OK);
    assert_int_equal(forge_instance_new(side->program, device, side->states, &side->instance, NULL),
                     JOULE_OK);
}

static void test_sizes_have_to_go_together(void **state)
{
    (void)state;
    struct side side = {0};
    joule_error e = {0};
    forge_tensor runs;
    load_sums(&side);
    assert_shape(shape_of(&side, "y"), 64, 9);
    assert_status_and_message(set_ones(side.instance, "a", forge_shape_of(6, 2), &e), JOULE_INVALID, &e,
                              "input 'a': n must be from 4 to 64, a multiple of 4, not 6");
    assert_status_and_message(set_ones(side.instance, "a", forge_shape_of(68, 2), &e), JOULE_INVALID, &e,
                              "not 68");
    assert_status_and_message(set_ones(side.instance, "a", forge_shape_of(8), &e), JOULE_INVALID, &e,
                              "input 'a' must be f32[n,m], packed, not f32[8]");
    assert_status_and_message(set_ones(side.instance, "c", forge_shape_of(8), &e), JOULE_INVALID, &e,
                              "input 'c' must be f32[(n*2)], packed, not f32[8]");
    assert_int_equal(set_ones(side.instance, "a", forge_shape_of(8, 2), &e), JOULE_OK);
    assert_int_equal(set_ones(side.instance, "b", forge_shape_of(8, 3), &e), JOULE_OK);
    assert_status_and_message(forge_instance_run(side.instance, &e), JOULE_INVALID, &e,
                              "input 'a' was set as [8,2], but with n=8, m=3 it must be [8,3]: set it again");
    assert_shape(shape_of(&side, "y"), 64, 9);
    assert_int_equal(set_ones(side.instance, "a", forge_shape_of(8, 3), &e), JOULE_OK);
    assert_int_equal(set_ones(side.instance, "c", forge_shape_of(16), &e), JOULE_OK);
    assert_int_equal(forge_instance_run(side.instance, &e), JOULE_OK);
    assert_shape(shape_of(&side, "y"), 8, 3);
    assert_shape(shape_of(&side, "z"), 16);
    assert_int_equal(forge_states_find(side.states, "runs", &runs), JOULE_OK);
    assert_true(*(float *)forge_tensor_data(&runs) == 1);
    assert_status_and_message(forge_instance_set_size(side.instance, "k", 1, &e), JOULE_ABSENT, &e,
                              "unknown symbol 'k'; known symbols: n, m");
    assert_status_and_message(forge_instance_set_size(side.instance, "m", 0, &e), JOULE_INVALID, &e,
                              "m must be from 1 to 9, not 0");
    end(&side);
}

static void test_invalid_sizes_cannot_be_bound(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_graph *graph = NULL, *bound = NULL;
    joule_error e = {0};
    forge_dim n = forge_symbol(b, "n", 0, 64, 4);
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(n));
    forge_output(b, "y", forge_reduce(b, FORGE_MAXIMUM, x, 1, false));
    assert_int_equal(forge_builder_finish(b, &graph, NULL), JOULE_OK);
    assert_status_and_message(forge_graph_bind(graph, &(forge_size){"n", 3}, 1, &bound, &e), JOULE_INVALID,
                              &e, "n must be from 0 to 64, a multiple of 4, not 3");
    assert_status_and_message(forge_graph_bind(graph, &(forge_size){"k", 3}, 1, &bound, &e), JOULE_ABSENT, &e,
                              "unknown symbol 'k'; known symbols: n");
    assert_status_and_message(forge_graph_bind(graph, &(forge_size){"n", 0}, 1, &bound, &e), JOULE_INVALID,
                              &e, "maximum needs at least one element");
    struct side side = {0};
    load(&side, graph);
    assert_int_equal(forge_instance_set_zeros(side.instance, "x", NULL), JOULE_OK);
    assert_int_equal(forge_instance_set_size(side.instance, "n", 0, NULL), JOULE_OK);
    assert_status_and_message(forge_instance_run(side.instance, &e), JOULE_INVALID, &e,
                              "with n=0: launch 0, reduce(f32[0]): maximum needs at least one element");
    assert_int_equal(forge_instance_set_size(side.instance, "n", 4, NULL), JOULE_OK);
    assert_int_equal(forge_instance_run(side.instance, NULL), JOULE_OK);
    end(&side);
    forge_graph_free(graph);
}

/* --- malicious files ------------------------------------------------------------------------------------ */

/* The view's offset is 512 / n: inside the buffer if n is 64, far outside if n is 4. */
static void test_a_view_that_leaves_its_buffer_at_some_sizes(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_graph *graph = NULL;
    struct side side = {0};
    joule_error e = {0};
    forge_dim n = forge_symbol(b, "n", 4, 64, 4), quotient = forge_dim_div(b, 512, n);
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(72));
    forge_output(b, "y", forge_neg(b, forge_slice_along(b, x, 0, 0, n)));
    forge_output(b, "z", forge_neg(b, forge_input(b, "w", FORGE_F32, forge_shape_of(quotient))));
    assert_int_equal(forge_builder_finish(b, &graph, NULL), JOULE_OK);
    assert_int_equal(forge_compile(graph, device, &side.program, NULL), JOULE_OK);
    struct program_binding *view = (struct program_binding *)program_bindings(side.program);
    while (view->shape.dims[0] != n)
        view++;
    assert_int_equal(view->offset, 0);
    view->offset = quotient;
    side.program->hash = program_hash(side.program);
    assert_int_equal(program_check(side.program, side.program->size_bytes, &e), JOULE_OK);
    assert_int_equal(forge_states_new(device, 3, &side.states, NULL), JOULE_OK);
    assert_int_equal(forge_instance_new(side.program, device, side.states, &side.instance, NULL), JOULE_OK);
    assert_int_equal(forge_instance_set_zeros(side.instance, NULL, NULL), JOULE_OK);
    assert_int_equal(forge_instance_run(side.instance, &e), JOULE_OK);
    assert_int_equal(forge_instance_set_size(side.instance, "n", 4, NULL), JOULE_OK);
    assert_status_and_message(forge_instance_run(side.instance, &e), JOULE_INVALID, &e,
                              "lies outside its buffer");
    assert_int_equal(forge_instance_set_size(side.instance, "n", 64, NULL), JOULE_OK);
    assert_int_equal(forge_instance_run(side.instance, &e), JOULE_OK);
    end(&side);
    forge_graph_free(graph);
}

/* --- stated work ---------------------------------------------------------------------------------------- */

static void run_at(forge_instance *instance, int64_t n, int times)
{
    assert_int_equal(forge_instance_set_size(instance, "n", n, NULL), JOULE_OK);
    for (int i = 0; i < times; i++)
        assert_int_equal(forge_instance_run(instance, NULL), JOULE_OK);
}

static double flop_of(const forge_instance *instance)
{
    forge_launch_facts facts = {.struct_size = sizeof facts};
    double flop = 0;
    for (size_t i = 0; forge_instance_launch(instance, i, &facts) == JOULE_OK; i++)
        flop += facts.flop;
    return flop;
}

/* Each run has n * m + 2 * n + 1 FLOP. */
static void test_work_is_that_of_the_sizes_that_ran(void **state)
{
    (void)state;
    struct side side = {0};
    forge_program_facts facts = {.struct_size = sizeof facts};
    load_sums(&side);
    assert_int_equal(forge_program_query(side.program, &facts), JOULE_OK);
    assert_true(facts.symbols == 2 && facts.flop == 64 * 11 + 1);
    assert_true(flop_of(side.instance) == 64 * 11 + 1);
    assert_int_equal(forge_instance_set_zeros(side.instance, NULL, NULL), JOULE_OK);
    run_at(side.instance, 4, 3);
    assert_true(flop_of(side.instance) == 4 * 11 + 1);
    run_at(side.instance, 32, 1);
    assert_true(flop_of(side.instance) == (3 * 4 + 32) / 4.0 * 11 + 1);
    forge_instance_reset_times(side.instance);
    assert_true(flop_of(side.instance) == 32 * 11 + 1);
    end(&side);
}

static void test_joules_are_those_of_the_sizes_that_ran(void **state)
{
    (void)state;
    struct side side = {0};
    forge_device *cpu = device;
    forge_energy_sum sum = {.struct_size = sizeof sum};
    joule_quantity seconds, small, large;
    assert_int_equal(forge_device_open("estimated", &device, NULL), JOULE_OK);
    load_sums(&side);
    assert_int_equal(forge_energy_start(side.instance, NULL, JOULE_TOTAL, NULL), JOULE_OK);
    assert_int_equal(forge_expected_run(side.instance, &seconds, &large), JOULE_OK);
    run_at(side.instance, 64, 2);
    assert_int_equal(forge_instance_set_size(side.instance, "n", 4, NULL), JOULE_OK);
    assert_int_equal(forge_expected_run(side.instance, &seconds, &small), JOULE_OK);
    run_at(side.instance, 4, 3);
    assert_true(small.value < large.value);
    assert_int_equal(forge_energy_collect(side.instance), JOULE_OK);
    run_at(side.instance, 64, 4); /* these runs are not collected */
    assert_int_equal(forge_energy_total(side.instance, &sum), JOULE_OK);
    assert_true(fabs(sum.joules.value / (2 * large.value + 3 * small.value) - 1) < 1e-12);
    end(&side);
    forge_device_close(device);
    device = cpu;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mlp_of_any_size_gives_the_bits_of_a_specialised_one),
        cmocka_unit_test(test_training_with_any_batch_gives_the_bits_of_a_specialised_one),
        cmocka_unit_test(test_attention_of_any_size_gives_the_bits_of_a_specialised_one),
        cmocka_unit_test(test_training_a_transformer_block),
        cmocka_unit_test(test_a_composite_with_a_kernel),
        cmocka_unit_test(test_random_graphs_of_any_size_give_the_bits_of_specialised_ones),
        cmocka_unit_test(test_sizes_have_to_go_together),
        cmocka_unit_test(test_invalid_sizes_cannot_be_bound),
        cmocka_unit_test(test_a_view_that_leaves_its_buffer_at_some_sizes),
        cmocka_unit_test(test_work_is_that_of_the_sizes_that_ran),
        cmocka_unit_test(test_joules_are_those_of_the_sizes_that_ran),
    };
    return cmocka_run_group_tests_name("sizes", tests, set_up, tear_down);
}
