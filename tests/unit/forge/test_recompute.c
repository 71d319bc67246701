/* Checks recomputation in the backward pass: the same bits, less memory, and exactly the stated work. */
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
#include <forge/random.h>
#include "forge/ir/graph.h"
#include "support/check.h"
#include "support/graphs.h"
#include "support/workbench.h"

static joule_error error;

/* Results of a training: the loss of each step, and all slots. */
struct trace {
    forge_program_facts facts;
    struct kept kept;
};

/* Builds a network. region: number of layers in each recomputed region; 0: nothing is recomputed. */
typedef forge_value (*network_fn)(forge_builder *b, forge_value x, int region);

static void begin_at(forge_builder *b, int layer, int region)
{
    if (region && layer % region == 0)
        forge_recompute_begin(b);
}

static void end_at(forge_builder *b, int layer, int region)
{
    if (region && layer % region == region - 1)
        forge_recompute_end(b);
}

static forge_value mean_square(forge_builder *b, forge_value x)
{
    return forge_reduce(b, FORGE_MEAN, forge_mul(b, x, x), (1u << forge_value_shape(b, x).rank) - 1, false);
}

static void load(struct workbench *m, network_fn network, forge_shape shape, int region)
{
    forge_builder *b = forge_builder_new();
    forge_value loss = mean_square(b, network(b, forge_input(b, "x", FORGE_F32, shape), region));
    forge_output(b, "loss", loss);
    forge_sgd(b, loss, forge_scalar(b, FORGE_F32, 0.1),
              &(forge_sgd_options){.struct_size = sizeof(forge_sgd_options), .momentum = 0.9});
    workbench_load(m, b);
}

static struct trace train(network_fn network, forge_shape shape, int region)
{
    struct workbench m;
    forge_tensor tensor;
    const char *name;
    size_t count = forge_shape_elements(&shape);
    float *x = malloc(count * sizeof *x);
    assert_int_equal(workbench_begin(&m, 42, &error), JOULE_OK);
    load(&m, network, shape, region);
    struct trace trace = {.facts = workbench_facts(&m)};
    forge_random_normal(&(forge_random){.key = 3}, 0, count, x);
    workbench_set(&m, "x", x);
    for (int i = 0; i < 3; i++) {
        workbench_run(&m);
        tensor = workbench_output(&m, "loss");
        workbench_keep(&trace.kept, &tensor);
    }
    for (size_t i = 0; i < forge_states_count(m.states); i++) {
        assert_int_equal(forge_states_get(m.states, i, &tensor, &name), JOULE_OK);
        workbench_keep(&trace.kept, &tensor);
    }
    workbench_end(&m);
    free(x);
    return trace;
}

static void assert_same_bits(const struct trace *a, const struct trace *b)
{
    assert_int_equal(a->kept.size, b->kept.size);
    assert_true(a->kept.size > 0);
    assert_memory_equal(a->kept.bytes, b->kept.bytes, a->kept.size);
}

static void print_saving(const char *what, const struct trace *plain, const struct trace *marked)
{
    print_message("%s: arena %zu of %zu bytes, %.1f %% more FLOP\n", what, marked->facts.arena_bytes,
                  plain->facts.arena_bytes, 100 * (marked->facts.flop / plain->facts.flop - 1));
}

/* --- networks ------------------------------------------------------------------------------------------- */

enum { LAYERS = 36, ROWS = 256, WIDTH = 16, LAYER_BYTES = ROWS * WIDTH * 4 };
/* The gradients of all parameters are alive at one time, because the optimiser needs them together. */
enum { GRADIENT_BYTES = LAYERS * (WIDTH * WIDTH + WIDTH) * 4 };

static forge_value deep(forge_builder *b, forge_value x, int region)
{
    for (int i = 0; i < LAYERS; i++) {
        char name[16];
        snprintf(name, sizeof name, "fc%d", i);
        begin_at(b, i, region);
        x = forge_tanh(b, forge_linear(b, name, x, WIDTH, true));
        end_at(b, i, region);
    }
    return x;
}

/* Each region recomputes its layers, except the last one, whose result is stored as the input of the next
 * region. At any time, memory holds the inputs of all regions, the layers of one region, and gradients. */
static void test_recomputed_deep_network_gives_the_same_bits(void **state)
{
    (void)state;
    static const int regions[] = {1, 3, 6, 12, 36};
    struct trace plain = train(deep, forge_shape_of(ROWS, WIDTH), 0);
    assert_true(plain.facts.arena_bytes >= (size_t)LAYERS * LAYER_BYTES);
    for (size_t i = 0; i < sizeof regions / sizeof *regions; i++) {
        char what[40];
        int region = regions[i];
        struct trace marked = train(deep, forge_shape_of(ROWS, WIDTH), region);
        snprintf(what, sizeof what, "%d layers in regions of %d", LAYERS, region);
        print_saving(what, &plain, &marked);
        assert_same_bits(&plain, &marked);
        double again = LAYERS - LAYERS / region;
        double of_layer = 2.0 * ROWS * WIDTH * WIDTH + 2.0 * ROWS * WIDTH;
        assert_true(marked.facts.flop - plain.facts.flop == again * of_layer);
        size_t alive = (size_t)(LAYERS / region + region) * LAYER_BYTES + GRADIENT_BYTES;
        assert_true(marked.facts.arena_bytes <= alive);
        free(marked.kept.bytes);
    }
    free(plain.kept.bytes);
}

static forge_value blocks(forge_builder *b, forge_value x, int region)
{
    const forge_gpt_options options = {
        .struct_size = sizeof options, .heads = 4, .dropout = 0.2, .is_training = true};
    for (int i = 0; i < 6; i++) {
        char name[16];
        snprintf(name, sizeof name, "h%d", i);
        begin_at(b, i, region);
        x = forge_transformer_block(b, name, x, &options);
        end_at(b, i, region);
    }
    return x;
}

/* The blocks contain attention, norms and dropout, which are composites, and random numbers, which differ in
 * each step. */
static void test_recomputed_transformer_blocks_give_the_same_bits(void **state)
{
    (void)state;
    forge_shape shape = forge_shape_of(8, 24, 2 * WIDTH);
    struct trace plain = train(blocks, shape, 0), marked = train(blocks, shape, 1);
    print_saving("6 transformer blocks", &plain, &marked);
    assert_same_bits(&plain, &marked);
    assert_true(marked.facts.arena_bytes * 3 < plain.facts.arena_bytes);
    assert_true(marked.facts.flop > plain.facts.flop && marked.facts.flop < 1.4 * plain.facts.flop);
    free(plain.kept.bytes);
    free(marked.kept.bytes);
}

/* Plans a step of the smallest GPT-2 with 4 x 256 tokens. Nothing runs. */
static forge_program_facts plan_gpt(bool checkpoint_activations)
{
    forge_gpt_options options = {.struct_size = sizeof options,
                                 .layers = 12,
                                 .heads = 12,
                                 .vocabulary = 50257,
                                 .context = 1024,
                                 .width = 768,
                                 .is_training = true,
                                 .checkpoint_activations = checkpoint_activations};
    forge_adamw_options adamw = FORGE_ADAMW_OPTIONS;
    forge_graph *graph = NULL;
    forge_device *device = NULL;
    forge_program *program = NULL;
    forge_program_facts facts = {.struct_size = sizeof facts};
    forge_builder *b = forge_builder_new();
    forge_value tokens = forge_input(b, "tokens", FORGE_I32, forge_shape_of(4, 256));
    forge_value labels = forge_input(b, "labels", FORGE_I32, forge_shape_of(4 * 256));
    forge_value logits =
        forge_reshape(b, forge_gpt(b, NULL, tokens, &options), forge_shape_of(4 * 256, 50257));
    forge_value loss = forge_cross_entropy(b, logits, labels);
    forge_output(b, "loss", loss);
    forge_adamw(b, loss, forge_input(b, "rate", FORGE_F32, (forge_shape){0}), &adamw);
    assert_int_equal(forge_builder_finish(b, &graph, &error), JOULE_OK);
    assert_int_equal(forge_device_open("cpu", &device, &error), JOULE_OK);
    assert_int_equal(forge_compile(graph, device, &program, &error), JOULE_OK);
    assert_int_equal(forge_program_query(program, &facts), JOULE_OK);
    forge_program_free(program);
    forge_device_close(device);
    forge_graph_free(graph);
    return facts;
}

static void test_recomputation_shrinks_the_arena_of_gpt_2(void **state)
{
    (void)state;
    struct trace plain = {.facts = plan_gpt(false)}, marked = {.facts = plan_gpt(true)};
    print_saving("GPT-2 by blocks", &plain, &marked);
    double block_bytes = 4.0 * 256 * 768 * 4; /* size of one block's result */
    double saved = (double)plain.facts.arena_bytes - (double)marked.facts.arena_bytes;
    /* in eleven blocks, at least the inner MLP layer is not stored */
    assert_true(saved > 11 * 4 * block_bytes);
    assert_true((double)marked.facts.arena_bytes <= 1.02 * (double)marked.facts.arena_bound_bytes);
    assert_true(marked.facts.flop < 1.25 * plain.facts.flop);
}

static forge_value norms(forge_builder *b, forge_value x, int region)
{
    begin_at(b, 0, region);
    x = forge_conv2d(b, "conv", x, 4, 3, 1, 1, false);
    x = forge_relu(b, forge_batch_norm(b, "norm", x, 0.1, 1e-5, true));
    x = forge_dropout(b, "drop", forge_max_pool(b, x, 2, 0, 0), 0.5, true);
    end_at(b, 0, region);
    return forge_conv2d(b, "last", x, 3, 3, 1, 0, true);
}

/* Running statistics are written once, by the forward pass; recomputation does not write them. */
static void test_recomputed_norms_and_dropout_give_the_same_bits(void **state)
{
    (void)state;
    forge_shape shape = forge_shape_of(8, 2, 6, 6);
    struct trace plain = train(norms, shape, 0), marked = train(norms, shape, 1);
    assert_same_bits(&plain, &marked);
    assert_true(marked.facts.flop > plain.facts.flop);
    free(plain.kept.bytes);
    free(marked.kept.bytes);
}

/* --- marks ---------------------------------------------------------------------------------------------- */

static size_t count_marked(const forge_graph *graph)
{
    size_t count = 0;
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct node *node = &graph->nodes[n];
        count += node->recompute_region != 0;
        assert_true(!node->recompute_region || node->phase == FORGE_PHASE_BACKWARD);
        assert_true(!node->recompute_region || (node->op != OP_READ && node->op != OP_CONSTANT));
    }
    return count;
}

static forge_graph *marked_graph(void)
{
    forge_graph *graph = NULL;
    forge_value gradient;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F64, forge_shape_of(4));
    forge_scope_push(b, "inner");
    forge_recompute_begin(b);
    forge_value y = forge_exp(b, forge_tanh(b, forge_log_softmax(b, x)));
    forge_recompute_end(b);
    forge_scope_pop(b);
    forge_gradients(b, mean_square(b, y), &x, 1, &gradient);
    forge_output(b, "g", gradient);
    assert_int_equal(forge_builder_finish(b, &graph, &error), JOULE_OK);
    return graph;
}

/* Passes and the text format must not merge equal nodes if one of them is a recomputation. */
static void test_marks_are_kept(void **state)
{
    (void)state;
    forge_graph *graph = marked_graph(), *plain = NULL, *again = NULL;
    char *text, *text_again;
    size_t tanhs = 0;
    assert_true(count_marked(graph) > 0);
    assert_int_equal(forge_passes_run(graph, NULL, NULL, &plain, &error), JOULE_OK);
    assert_true(count_marked(plain) >= count_marked(graph));
    for (size_t n = 0; n < plain->node_count; n++) {
        const struct node *node = &plain->nodes[n];
        tanhs += node->op == OP_UNARY && node_kind(node) == FORGE_TANH;
        assert_true(!node->recompute_region || strcmp(plain->scopes[node->scope], "inner") == 0);
    }
    assert_int_equal(tanhs, 2);
    assert_int_equal(forge_graph_print(plain, &text, &error), JOULE_OK);
    assert_contains(text, " @inner backward again 1\n");
    assert_int_equal(forge_graph_parse(text, strlen(text), &again, &error), JOULE_OK);
    assert_int_equal(forge_graph_print(again, &text_again, &error), JOULE_OK);
    assert_string_equal(text, text_again);
    assert_int_equal(count_marked(again), count_marked(plain));
    free(text);
    free(text_again);
    forge_graph_free(again);
    forge_graph_free(plain);
    forge_graph_free(graph);
}

/* Values that are used outside their region are stored. Values from before the region are stored, too. */
static void test_values_used_outside_a_region_are_kept(void **state)
{
    (void)state;
    forge_graph *graph = NULL;
    forge_value gradient;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F64, forge_shape_of(4)), before = forge_exp(b, x);
    forge_recompute_begin(b);
    forge_value first = forge_tanh(b, forge_exp(b, x)), second = forge_sigmoid(b, first);
    forge_recompute_end(b);
    forge_output(b, "before", before);
    forge_gradients(b, mean_square(b, forge_add(b, first, second)), &x, 1, &gradient);
    forge_output(b, "g", gradient);
    assert_int_equal(forge_builder_finish(b, &graph, &error), JOULE_OK);
    size_t unaries[FORGE_UNARY_KINDS] = {0};
    for (size_t n = 0; n < graph->node_count; n++)
        if (graph->nodes[n].op == OP_UNARY)
            unaries[node_kind(&graph->nodes[n])]++;
    assert_true(unaries[FORGE_EXP] == 1 && unaries[FORGE_TANH] == 1 && unaries[FORGE_SIGMOID] == 1);
    forge_graph_free(graph);
}

static void test_impossible_regions_are_refused(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_recompute_begin(b);
    forge_recompute_begin(b);
    assert_builder_refused(b, "regions do not nest");
    b = forge_builder_new();
    forge_recompute_begin(b);
    forge_recompute_end(b);
    forge_recompute_end(b);
    assert_builder_refused(b, "forge_recompute_end without forge_recompute_begin");
    b = forge_builder_new();
    forge_recompute_begin(b);
    forge_value x = forge_input(b, "x", FORGE_F32, (forge_shape){0}), g;
    forge_gradients(b, forge_exp(b, x), &x, 1, &g);
    assert_builder_refused(b, "has no forge_recompute_end");
    forge_recompute_begin(NULL);
    forge_recompute_end(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recomputed_deep_network_gives_the_same_bits),
        cmocka_unit_test(test_recomputed_transformer_blocks_give_the_same_bits),
        cmocka_unit_test(test_recomputation_shrinks_the_arena_of_gpt_2),
        cmocka_unit_test(test_recomputed_norms_and_dropout_give_the_same_bits),
        cmocka_unit_test(test_marks_are_kept),
        cmocka_unit_test(test_values_used_outside_a_region_are_kept),
        cmocka_unit_test(test_impossible_regions_are_refused),
    };
    return cmocka_run_group_tests_name("recompute", tests, NULL, NULL);
}
