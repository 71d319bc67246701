/* Checks the library's composites in graphs and programs: names, attributes and gradients. A kernel may
 * replace only the library's own body. */
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
#include "forge/autodiff/gradient.h"
#include "forge/compiler/pass.h"
#include "forge/ir/library.h"
#include "forge/runtime/items.h"
#include "support/check.h"
#include "support/graphs.h"
#include "support/small_program.h"
#include "support/workbench.h"

static bool has_launch(const forge_program *program, const char *name)
{
    for (size_t i = 0; i < program->launches.count; i++)
        if (strcmp(program_launch_name(program, &program_launches(program)[i]), name) == 0)
            return true;
    return false;
}

/* Creates the inputs "a", "b", ...: parameter, gradient and moments of this shape, and the scalars. */
static void adamw_inputs(forge_builder *b, forge_shape shape, forge_value in[ADAMW_INPUTS])
{
    for (size_t i = 0; i < ADAMW_INPUTS; i++)
        in[i] = forge_input(b, (char[]){(char)('a' + i), 0}, FORGE_F32,
                            i < ADAMW_KEEP ? shape : (forge_shape){0});
}

static void put_out(forge_builder *b, const forge_value *out)
{
    for (int i = 0; i < 3; i++)
        forge_output(b, (char[]){(char)('0' + i), 0}, out[i]);
}

static const struct composite_attributes adamw = {.name = "adamw"};

static forge_graph *step(void)
{
    forge_builder *b = forge_builder_new();
    forge_value in[ADAMW_INPUTS], out[3];
    adamw_inputs(b, forge_shape_of(2, 3), in);
    library_composite_many(b, &adamw, in, ADAMW_INPUTS, out);
    put_out(b, out);
    return graph_of(b);
}

/* --- untrusted names ------------------------------------------------------------------------------------ */

/* This body differs from the library's in one sign. */
static void nearly(forge_builder *b, const forge_value *in, size_t count, const void *context,
                   forge_value *out)
{
    library_adamw(b, in, count, context, out);
    out[2] = forge_neg(b, out[2]);
}

static void run_with_ones(struct workbench *bench)
{
    static const float ones[6] = {1, 1, 1, 1, 1, 1};
    for (size_t i = 0; i < ADAMW_INPUTS; i++)
        workbench_set(bench, (char[]){(char)('a' + i), 0}, ones);
    workbench_run(bench);
}

static void test_other_body_of_the_same_name_runs_as_written(void **state)
{
    struct workbench *bench = *state;
    for (int is_mine = 0; is_mine < 2; is_mine++) {
        forge_builder *b = forge_builder_new();
        forge_value in[ADAMW_INPUTS], out[3];
        adamw_inputs(b, forge_shape_of(2, 3), in);
        forge_composite_many(b, "adamw", in, ADAMW_INPUTS, is_mine ? nearly : library_adamw, NULL, out, 3);
        put_out(b, out);
        workbench_load(bench, b);
        assert_int_equal(has_launch(bench->program, "adamw"), !is_mine);
        run_with_ones(bench);
        float second = is_mine ? -2 : 2;
        workbench_assert_output(bench, "2", (float[]){second, second, second, second, second, second}, 6);
    }
}

/* Replaces one word in a graph's text. Returns the program of the changed graph. */
static forge_program *program_of(struct workbench *bench, const char *word, const char *other)
{
    forge_graph *graph = step();
    forge_program *program = NULL;
    char *text = graph_printed(graph), edited[8000];
    joule_error error = {0};
    char *at = strstr(text, word);
    assert_non_null(at);
    snprintf(edited, sizeof edited, "%.*s%s%s", (int)(at - text), text, other, at + strlen(word));
    forge_graph *changed = graph_parsed(edited);
    assert_ok(forge_compile(changed, bench->device, &program, &error), &error);
    forge_graph_free(changed);
    forge_graph_free(graph);
    free(text);
    return program;
}

static void test_edited_body_in_a_text_loses_the_kernel(void **state)
{
    static const struct {
        const char *word, *other;
        bool is_kept;
    } edits[] = {{"output", "output", true},
                 {"unary.sqrt", "unary.exp", false},
                 {"output \"0\" = %2", "output \"0\" = %1", false},
                 {"composite.adamw", "composite.adam", false},
                 {"composite.adamw", "composite.adamw.gradient", false}};
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        forge_program *program = program_of(*state, edits[i].word, edits[i].other);
        assert_int_equal(has_launch(program, "adamw"), edits[i].is_kept);
        forge_program_free(program);
    }
}

/* --- attributes ----------------------------------------------------------------------------------------- */

static void test_attributes_as_text(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(1, 1, 1, 2, 1, 1, 3));
    struct composite_attributes a = {.name = "group_norm", .reals = {1e-5}, .numbers = {1}};
    x = library_composite(b, &a, &x, 1);
    forge_output(b, "y", x);
    forge_graph *graph = graph_of(b);
    char *text = graph_printed(graph);
    assert_contains(text, "composite.group_norm(%1) reals=[1e-05] numbers=[1] body=$0");
    forge_graph *again = graph_parsed(text);
    char *twice = graph_printed(again);
    assert_string_equal(text, twice);
    free(text);
    free(twice);
    forge_graph_free(graph);
    forge_graph_free(again);
}

/* --- gradients ------------------------------------------------------------------------------------------ */

static void test_a_gradient_is_a_composite(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(4, 3)), gradient;
    forge_value labels = forge_input(b, "labels", FORGE_I32, forge_shape_of(4));
    forge_gradients(b, forge_cross_entropy(b, x, labels), &x, 1, &gradient);
    forge_output(b, "gradient", gradient);
    forge_graph *graph = graph_of(b);
    const struct node *node = graph_composite(graph, "cross_entropy.gradient");
    assert_non_null(node);
    const struct composite_attributes *a = node->attributes;
    assert_int_equal(a->given, 1);
    assert_int_equal(a->wanted, 1);
    assert_int_equal(node->input_count, 3);
    assert_int_equal(node->phase, FORGE_PHASE_BACKWARD);
    assert_int_equal(graph_verify(graph, NULL), JOULE_OK);
    forge_graph_free(graph);
}

static forge_value product(forge_builder *b, const forge_value *in, size_t count, const void *context)
{
    (void)context;
    forge_value all = in[0];
    for (size_t i = 1; i < count; i++)
        all = forge_mul(b, all, in[i]);
    return all;
}

/* A composite multiplies up to 16 inputs. With many inputs, it has more gradients than a node can have
 * outputs. The composite's name has the maximum length. */
static void test_a_gradient_that_is_no_node(void **state)
{
    struct workbench *bench = *state;
    static const float factors[16] = {1, 2, 3, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 5};
    for (size_t count = 3; count <= 16; count++) {
        forge_builder *b = forge_builder_new();
        forge_value x[16], gradients[16];
        float whole = 1;
        for (size_t i = 0; i < count; i++) {
            x[i] = forge_input(b, (char[]){(char)('a' + i), 0}, FORGE_F32, (forge_shape){0});
            whole *= factors[i];
        }
        forge_value y = forge_composite(b, "a name of 31 characters, no less", x, count, product, NULL);
        assert_int_equal(y, FORGE_NO_VALUE); /* the name has 32 characters */
        forge_builder_free(b);
        b = forge_builder_new();
        for (size_t i = 0; i < count; i++)
            x[i] = forge_input(b, (char[]){(char)('a' + i), 0}, FORGE_F32, (forge_shape){0});
        y = forge_composite(b, "a name of 31 characters, no les", x, count, product, NULL);
        forge_gradients(b, y, x, count, gradients);
        for (size_t i = 0; i < count; i++)
            forge_output(b, (char[]){(char)('a' + i), 0}, gradients[i]);
        workbench_load(bench, b);
        for (size_t i = 0; i < count; i++)
            workbench_set(bench, (char[]){(char)('a' + i), 0}, &factors[i]);
        workbench_run(bench);
        for (size_t i = 0; i < count; i++)
            workbench_assert_output(bench, (char[]){(char)('a' + i), 0}, (float[]){whole / factors[i]}, 1);
    }
}

/* --- operands ------------------------------------------------------------------------------------------- */

/* If a kernel needs packed operands, other operands are copied first. One value may be used as two
 * operands. */
static void test_operands_that_are_not_packed(void **state)
{
    struct workbench *bench = *state;
    float expected[3][6];
    for (int form = 0; form < 2; form++) {
        forge_builder *b = forge_builder_new();
        forge_value in[ADAMW_INPUTS], out[3];
        adamw_inputs(b, forge_shape_of(2, 2), in);
        in[ADAMW_GRADIENT] = forge_transpose(b, in[ADAMW_PARAMETER], (uint32_t[]){1, 0});
        in[ADAMW_EXP_AVG] = in[ADAMW_PARAMETER];
        if (form == 0)
            library_adamw(b, in, ADAMW_INPUTS, NULL, out);
        else
            library_composite_many(b, &adamw, in, ADAMW_INPUTS, out);
        put_out(b, out);
        workbench_load(bench, b);
        assert_int_equal(has_launch(bench->program, "adamw"), form);
        for (size_t i = 0; i < ADAMW_INPUTS; i++)
            workbench_set(bench, (char[]){(char)('a' + i), 0}, (float[]){1, 2, 4, 8});
        workbench_run(bench);
        for (int k = 0; k < 3; k++) {
            forge_tensor tensor = workbench_output(bench, (char[]){(char)('0' + k), 0});
            if (form == 0)
                memcpy(expected[k], forge_tensor_data(&tensor), 4 * sizeof(float));
            for (int i = 0; i < 4; i++)
                assert_true(fabsf(((float *)forge_tensor_data(&tensor))[i] - expected[k][i]) < 1e-5f);
        }
    }
}

/* --- symbols -------------------------------------------------------------------------------------------- */

/* The kernel needs at least 8 contiguous elements. If a symbol permits fewer, the composite is expanded for
 * all sizes. */
static void test_a_kernel_for_some_sizes(void **state)
{
    struct workbench *bench = *state;
    for (int64_t min_length = 7; min_length <= 8; min_length++) {
        forge_builder *b = forge_builder_new();
        forge_dim length = forge_symbol(b, "length", min_length - 1, 20, min_length == 7 ? 7 : 2);
        forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2, 3, length));
        forge_output(b, "y", forge_batch_norm(b, min_length == 7 ? "a" : "b", x, 0.1, 1e-5, true));
        workbench_load(bench, b);
        assert_int_equal(has_launch(bench->program, "batch_norm_training"), min_length == 8);
        assert_int_equal(forge_instance_set_size(bench->instance, "length", min_length, NULL), JOULE_OK);
        assert_int_equal(forge_instance_set_zeros(bench->instance, "x", NULL), JOULE_OK);
        assert_int_equal(forge_instance_run(bench->instance, NULL), JOULE_OK);
    }
}

/* --- files ---------------------------------------------------------------------------------------------- */

/* skip: passes that do not run; NULL: all run. */
static forge_program *compile_without(const char *skip, struct workbench *bench, forge_graph *graph)
{
    forge_compile_options options = {.struct_size = sizeof options, .skip = skip};
    forge_program *program = NULL;
    joule_error error = {0};
    assert_ok(forge_compile_with(graph, bench->device, &options, &program, &error), &error);
    forge_graph_free(graph);
    return program;
}

static forge_program *compile(struct workbench *bench, forge_graph *graph)
{
    return compile_without(NULL, bench, graph);
}

/* Changes one word of the program and corrects the hash. The program must be refused, or run within its own
 * memory. */
static void try_with(struct workbench *bench, const forge_program *program, size_t at, uint32_t word)
{
    forge_program *other = aligned_alloc(PROGRAM_ALIGNMENT, program->size_bytes);
    memcpy(other, program, program->size_bytes);
    memcpy((char *)other + at, &word, sizeof word);
    other->size_bytes = program->size_bytes;
    other->hash = program_hash(other);
    if (program_check(other, other->size_bytes, NULL) == JOULE_OK && program_is_small(other))
        program_try(other, bench->device, program_ignore, NULL);
    free(other);
}

static void assert_trusted_but_for_harm(struct workbench *bench, forge_program *program)
{
    static const uint32_t words[] = {0, 1, 2, 7, 64, 1u << 20, 0x7fffffff, UINT32_MAX};
    joule_error error = {0};
    assert_ok(program_check(program, program->size_bytes, &error), &error);
    assert_int_equal(program_try(program, bench->device, program_ignore, NULL), JOULE_OK);
    for (size_t at = sizeof *program; at < program->bytes.offset + program->bytes.count; at += 4)
        for (size_t k = at / 4 % 3; k < 8; k += 3)
            try_with(bench, program, at, words[k]);
    forge_program_free(program);
}

/* Returns the forward and backward pass of a training step through these layers. */
static forge_graph *training(bool has_runs)
{
    forge_builder *b = forge_builder_new();
    forge_value x =
        forge_parameter(b, "x", FORGE_F32, has_runs ? forge_shape_of(2, 2, 9) : forge_shape_of(3, 5),
                        (forge_init){FORGE_INIT_UNIFORM, -1, 1});
    forge_value y = has_runs
                        ? forge_batch_norm(b, "norm", x, 0.1, 1e-5, true)
                        : forge_rms_norm(b, "last", forge_layer_norm(b, "norm", x, 1, 1e-5, true), 1, 1e-5);
    forge_value labels = forge_input(b, "labels", FORGE_U8, forge_shape_of(has_runs ? 2 : 3));
    if (has_runs)
        y = forge_reshape(b, y, forge_shape_of(2, 18));
    else
        y = forge_mul(b, forge_softmax(b, y), forge_log_softmax(b, y));
    forge_value loss = forge_cross_entropy(b, y, labels), wrt[8], gradients[8];
    size_t count = forge_parameter_count(b);
    for (size_t i = 0; i < count; i++)
        wrt[i] = forge_read(b, forge_parameter_slot(b, i));
    forge_gradients(b, loss, wrt, count, gradients);
    forge_output(b, "loss", loss);
    for (size_t i = 0; i < count; i++)
        forge_output(b, (char[]){(char)('0' + i), 0}, gradients[i]);
    return graph_of(b);
}

static void test_changed_programs_are_harmless(void **state)
{
    static const char *const launches[2][9] = {
        {"layer_norm", "rms_norm", "softmax", "log_softmax", "cross_entropy.gradient", "softmax.gradient",
         "log_softmax.gradient", "rms_norm.gradient", "layer_norm.gradient"},
        {"batch_norm_training", "batch_norm_training.gradient", "cross_entropy"}};
    for (int i = 0; i < 2; i++) {
        forge_program *program = compile_without("fuse", *state, training(i));
        for (int k = 0; k < 9 && launches[i][k]; k++)
            if (!has_launch(program, launches[i][k]))
                fail_msg("no launch of %s", launches[i][k]);
        assert_trusted_but_for_harm(*state, program);
        assert_trusted_but_for_harm(*state, compile(*state, training(i)));
    }
    assert_trusted_but_for_harm(*state, compile(*state, step()));
}

/* --- items of a ledger ---------------------------------------------------------------------------------- */

static void test_composites_have_their_own_items(void **state)
{
    struct items items;
    forge_program *program = compile_without("fuse", *state, training(false));
    size_t back = 0;
    assert_true(items_make(&items, program));
    for (size_t i = 0; i < items.count; i++) {
        assert_string_not_equal(items.list[i].operation, "composite");
        if (items.list[i].phase == FORGE_PHASE_BACKWARD && *items.list[i].scope == '\0')
            back += strcmp(items.list[i].operation, "softmax.gradient") == 0 ||
                    strcmp(items.list[i].operation, "log_softmax.gradient") == 0;
    }
    assert_int_equal(back, 2); /* both gradients have the same scope and phase */
    items_free(&items);
    forge_program_free(program);
}

/* --- threads -------------------------------------------------------------------------------------------- */

/* The operands are large enough to be split between threads. */
static forge_graph *large_training(void)
{
    forge_builder *b = forge_builder_new();
    forge_init init = {FORGE_INIT_UNIFORM, -1, 1};
    forge_value x = forge_read(b, forge_state(b, "x", FORGE_F32, forge_shape_of(1001, 300), init));
    forge_value y = forge_layer_norm(b, "norm", x, 1, 1e-5, true);
    forge_value labels = forge_input(b, "labels", FORGE_I32, forge_shape_of(1001));
    forge_value loss = forge_cross_entropy(b, y, labels), gradients[2];
    forge_value wrt[] = {forge_read(b, forge_parameter_slot(b, 0)),
                         forge_read(b, forge_parameter_slot(b, 1))};
    forge_gradients(b, loss, wrt, 2, gradients);
    forge_output(b, "loss", loss);
    forge_output(b, "0", gradients[0]);
    forge_output(b, "1", gradients[1]);
    return graph_of(b);
}

static void test_bits_do_not_depend_on_threads(void **state)
{
    struct workbench *bench = *state;
    forge_program *program = compile(bench, large_training());
    uint64_t hashes[5];
    for (unsigned threads = 1; threads <= 5; threads++) {
        hashes[threads - 1] = 1;
        assert_int_equal(forge_device_set_threads(bench->device, threads, NULL), JOULE_OK);
        assert_int_equal(program_try(program, bench->device, program_hash_bytes, &hashes[threads - 1]),
                         JOULE_OK);
        assert_true(hashes[threads - 1] == hashes[0]);
    }
    assert_true(hashes[0] != 1);
    forge_program_free(program);
}

/* A launch is refused if its composite has a wrong name, or if it has a pointer to a body. */
static void test_invalid_launches_are_refused(void **state)
{
    struct workbench *bench = *state;
    static const char *const names[] = {"adamw.gradient", "softmax", "none", "adamw.gradient.gradient"};
    forge_program *program = compile(bench, step());
    struct composite_attributes *a =
        (void *)((char *)program_at(program, program->bytes) + program_launches(program)[0].attributes);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        memset(a->name, 0, sizeof a->name);
        strcpy(a->name, names[i]);
        program->hash = program_hash(program);
        assert_int_equal(program_check(program, program->size_bytes, NULL), JOULE_INVALID);
    }
    *a = adamw;
    program->hash = program_hash(program);
    assert_int_equal(program_check(program, program->size_bytes, NULL), JOULE_OK);
    memset(&a->body, 1, sizeof a->body);
    program->hash = program_hash(program);
    assert_int_equal(program_check(program, program->size_bytes, NULL), JOULE_INVALID);
    forge_program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_other_body_of_the_same_name_runs_as_written, workbench_set_up,
                                        workbench_tear_down),
        cmocka_unit_test_setup_teardown(test_edited_body_in_a_text_loses_the_kernel, workbench_set_up,
                                        workbench_tear_down),
        cmocka_unit_test(test_attributes_as_text),
        cmocka_unit_test(test_a_gradient_is_a_composite),
        cmocka_unit_test_setup_teardown(test_a_gradient_that_is_no_node, workbench_set_up,
                                        workbench_tear_down),
        cmocka_unit_test_setup_teardown(test_operands_that_are_not_packed, workbench_set_up,
                                        workbench_tear_down),
        cmocka_unit_test_setup_teardown(test_changed_programs_are_harmless, workbench_set_up,
                                        workbench_tear_down),
        cmocka_unit_test_setup_teardown(test_a_kernel_for_some_sizes, workbench_set_up, workbench_tear_down),
        cmocka_unit_test_setup_teardown(test_composites_have_their_own_items, workbench_set_up,
                                        workbench_tear_down),
        cmocka_unit_test_setup_teardown(test_bits_do_not_depend_on_threads, workbench_set_up,
                                        workbench_tear_down),
        cmocka_unit_test_setup_teardown(test_invalid_launches_are_refused, workbench_set_up,
                                        workbench_tear_down),
    };
    return cmocka_run_group_tests_name("composites", tests, NULL, NULL);
}
