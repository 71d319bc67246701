/* Checks the pass that computes products in bf16 or f16: the graph before and after each rule, and random
 * graphs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/compiler.h>
#include "forge/compiler/pass.h"
#include "forge/ir/library.h"
#include "support/check.h"
#include "support/graphs.h"
#include "support/random_graph.h"
#include "support/side.h"
#include "support/workbench.h"

static joule_error error;

static forge_compile_options options_for(forge_precision precision)
{
    return (forge_compile_options){.struct_size = sizeof(forge_compile_options), .precision = precision};
}

static char *text_with(forge_device *device, const char *before, forge_precision precision)
{
    forge_compile_options options = options_for(precision);
    return text_after(graph_parsed(before), pass_precision, device, &options);
}

static void assert_makes(void **state, const char *before, const char *after)
{
    struct workbench *bench = *state;
    forge_compile_options options = options_for(FORGE_PRECISION_BF16);
    assert_pass_makes(pass_precision, bench->device, &options, before, after);
}

static void assert_unchanged(void **state, const char *text)
{
    assert_makes(state, text, text);
}

/* --- rules ---------------------------------------------------------------------------------------------- */

static void test_products_are_narrow_and_outputs_keep_their_type(void **state)
{
    static const char before[] = "forge graph 1\n"
                                 "%1 = input \"x\" : f32[2,4]\n"
                                 "%2 = input \"w\" : f32[3,4]\n"
                                 "%3 = matmul(%1, %2) transpose_b : f32[2,3] @fc backward\n"
                                 "output \"y\" = %3\n";
    struct workbench *bench = *state;
    assert_makes(state, before,
                 "forge graph 1\n"
                 "%1 = input \"x\" : f32[2,4]\n"
                 "%2 = input \"w\" : f32[3,4]\n"
                 "%3 = cast(%1) : bf16[2,4] @fc backward\n"
                 "%4 = cast(%2) : bf16[3,4] @fc backward\n"
                 "%5 = matmul(%3, %4) transpose_b accumulate=f32 : bf16[2,3] @fc backward\n"
                 "%6 = cast(%5) : f32[2,3] @fc backward\n"
                 "output \"y\" = %6\n");
    char *half = text_with(bench->device, before, FORGE_PRECISION_F16);
    assert_contains(half, "accumulate=f32 : f16[2,3] @fc backward");
    free(half);
    char *wide = text_with(bench->device, before, FORGE_PRECISION_F32);
    assert_string_equal(wide, before);
    free(wide);
}

static void test_a_parameter_is_cast_once_for_all_readers(void **state)
{
    assert_makes(state,
                 "forge graph 1\n"
                 "slot \"w\" : f32[4,4] = constant(2) parameter\n"
                 "%1 = input \"x\" : f32[4,4]\n"
                 "%2 = read \"w\" : f32[4,4]\n"
                 "%3 = matmul(%1, %2) : f32[4,4] @a\n"
                 "%4 = matmul(%3, %2) transpose_b : f32[4,4] @b\n"
                 "%5 = transpose(%2) order=[1,0] : f32[4,4] @c\n"
                 "%6 = matmul(%4, %5) : f32[4,4] @c\n"
                 "output \"y\" = %6\n",
                 "forge graph 1\n"
                 "slot \"w\" : f32[4,4] = constant(2) parameter\n"
                 "%1 = input \"x\" : f32[4,4]\n"
                 "%2 = read \"w\" : f32[4,4]\n"
                 "%3 = cast(%1) : bf16[4,4] @a\n"
                 "%4 = cast(%2) : bf16[4,4] @a\n"
                 "%5 = matmul(%3, %4) accumulate=f32 : bf16[4,4] @a\n"
                 "%6 = matmul(%5, %4) transpose_b accumulate=f32 : bf16[4,4] @b\n"
                 "%7 = transpose(%4) order=[1,0] : bf16[4,4] @c\n"
                 "%8 = matmul(%6, %7) accumulate=f32 : bf16[4,4] @c\n"
                 "%9 = cast(%8) : f32[4,4] @c\n"
                 "output \"y\" = %9\n");
}

static void test_elementwise_operations_follow_and_a_bias_does_not_decide(void **state)
{
    assert_makes(state,
                 "forge graph 1\n"
                 "slot \"bias\" : f32[4] = constant(2) parameter\n"
                 "%1 = input \"x\" : f32[4,4]\n"
                 "%2 = matmul(%1, %1) : f32[4,4]\n"
                 "%3 = read \"bias\" : f32[4]\n"
                 "%4 = binary.add(%2, %3) : f32[4,4] @bias\n"
                 "%5 = constant {0} : f32[]\n"
                 "%6 = binary.gt(%4, %5) : bool[4,4] @act\n"
                 "%7 = select(%6, %4, %5) : f32[4,4] @act\n"
                 "%8 = matmul(%7, %7) : f32[4,4]\n"
                 "output \"y\" = %8\n",
                 "forge graph 1\n"
                 "slot \"bias\" : f32[4] = constant(2) parameter\n"
                 "%1 = input \"x\" : f32[4,4]\n"
                 "%2 = cast(%1) : bf16[4,4]\n"
                 "%3 = matmul(%2, %2) accumulate=f32 : bf16[4,4]\n"
                 "%4 = read \"bias\" : f32[4]\n"
                 "%5 = cast(%4) : bf16[4] @bias\n"
                 "%6 = binary.add(%3, %5) : bf16[4,4] @bias\n"
                 "%7 = constant {0} : f32[]\n"
                 "%8 = cast(%7) : bf16[] @act\n"
                 "%9 = binary.gt(%6, %8) : bool[4,4] @act\n"
                 "%10 = select(%9, %6, %8) : bf16[4,4] @act\n"
                 "%11 = matmul(%10, %10) accumulate=f32 : bf16[4,4]\n"
                 "%12 = cast(%11) : f32[4,4]\n"
                 "output \"y\" = %12\n");
}

static void test_a_sum_with_an_f32_value_is_f32(void **state)
{
    assert_makes(state,
                 "forge graph 1\n"
                 "%1 = input \"x\" : f32[4,4]\n"
                 "%2 = matmul(%1, %1) : f32[4,4] @fc\n"
                 "%3 = binary.add(%1, %2) : f32[4,4] @residual\n"
                 "%4 = unary.relu(%3) : f32[4,4]\n"
                 "output \"y\" = %4\n",
                 "forge graph 1\n"
                 "%1 = input \"x\" : f32[4,4]\n"
                 "%2 = cast(%1) : bf16[4,4] @fc\n"
                 "%3 = matmul(%2, %2) accumulate=f32 : bf16[4,4] @fc\n"
                 "%4 = cast(%3) : f32[4,4] @residual\n"
                 "%5 = binary.add(%1, %4) : f32[4,4] @residual\n"
                 "%6 = unary.relu(%5) : f32[4,4]\n"
                 "output \"y\" = %6\n");
}

static void test_reductions_and_exponentials_are_f32(void **state)
{
    assert_makes(state,
                 "forge graph 1\n"
                 "%1 = input \"x\" : f32[4,4]\n"
                 "%2 = matmul(%1, %1) : f32[4,4]\n"
                 "%3 = reduce.sum(%2) axes=[0] : f32[4] @sum\n"
                 "%4 = unary.exp(%2) : f32[4,4] @exp\n"
                 "output \"s\" = %3\n"
                 "output \"e\" = %4\n",
                 "forge graph 1\n"
                 "%1 = input \"x\" : f32[4,4]\n"
                 "%2 = cast(%1) : bf16[4,4]\n"
                 "%3 = matmul(%2, %2) accumulate=f32 : bf16[4,4]\n"
                 "%4 = cast(%3) : f32[4,4] @sum\n"
                 "%5 = reduce.sum(%4) axes=[0] : f32[4] @sum\n"
                 "%6 = unary.exp(%4) : f32[4,4] @exp\n"
                 "output \"s\" = %5\n"
                 "output \"e\" = %6\n");
}

static void test_new_values_of_slots_are_computed_in_f32(void **state)
{
    assert_makes(state,
                 "forge graph 1\n"
                 "slot \"w\" : f32[4,4] = constant(2) parameter\n"
                 "%1 = input \"x\" : f32[4,4]\n"
                 "%2 = read \"w\" : f32[4,4]\n"
                 "%3 = matmul(%1, %1) : f32[4,4]\n"
                 "%4 = constant {0.1} : f32[]\n"
                 "%5 = binary.mul(%3, %4) : f32[4,4]\n"
                 "%6 = binary.sub(%2, %5) : f32[4,4]\n"
                 "write \"w\" = %6 in_place\n",
                 "forge graph 1\n"
                 "slot \"w\" : f32[4,4] = constant(2) parameter\n"
                 "%1 = input \"x\" : f32[4,4]\n"
                 "%2 = read \"w\" : f32[4,4]\n"
                 "%3 = cast(%1) : bf16[4,4]\n"
                 "%4 = matmul(%3, %3) accumulate=f32 : bf16[4,4]\n"
                 "%5 = constant {0.1} : f32[]\n"
                 "%6 = cast(%4) : f32[4,4]\n"
                 "%7 = binary.mul(%6, %5) : f32[4,4]\n"
                 "%8 = binary.sub(%2, %7) : f32[4,4]\n"
                 "write \"w\" = %8 in_place\n");
}

static void test_the_cast_of_a_gradient_belongs_to_its_product(void **state)
{
    assert_makes(state,
                 "forge graph 1\n"
                 "slot \"w\" : f32[4,4] = constant(2) parameter\n"
                 "%1 = input \"x\" : f32[4,4]\n"
                 "%2 = read \"w\" : f32[4,4]\n"
                 "%3 = matmul(%1, %1) : f32[4,4] @fc backward\n"
                 "%4 = reshape(%3) : f32[16] @fc optimiser\n"
                 "%5 = reshape(%4) : f32[4,4] @fc optimiser\n"
                 "%6 = binary.sub(%2, %5) : f32[4,4] @fc optimiser\n"
                 "write \"w\" = %6 in_place\n",
                 "forge graph 1\n"
                 "slot \"w\" : f32[4,4] = constant(2) parameter\n"
                 "%1 = input \"x\" : f32[4,4]\n"
                 "%2 = read \"w\" : f32[4,4]\n"
                 "%3 = cast(%1) : bf16[4,4] @fc backward\n"
                 "%4 = matmul(%3, %3) accumulate=f32 : bf16[4,4] @fc backward\n"
                 "%5 = cast(%4) : f32[4,4] @fc backward\n"
                 "%6 = reshape(%5) : f32[16] @fc optimiser\n"
                 "%7 = reshape(%6) : f32[4,4] @fc optimiser\n"
                 "%8 = binary.sub(%2, %7) : f32[4,4] @fc optimiser\n"
                 "write \"w\" = %8 in_place\n");
}

static void test_masks_and_bytes_are_cast_once(void **state)
{
    assert_makes(state,
                 "forge graph 1\n"
                 "%1 = input \"bytes\" : u8[4,4]\n"
                 "%2 = cast(%1) : f32[4,4]\n"
                 "%3 = matmul(%2, %2) : f32[4,4]\n"
                 "output \"y\" = %3\n",
                 "forge graph 1\n"
                 "%1 = input \"bytes\" : u8[4,4]\n"
                 "%2 = cast(%1) : bf16[4,4]\n"
                 "%3 = matmul(%2, %2) accumulate=f32 : bf16[4,4]\n"
                 "%4 = cast(%3) : f32[4,4]\n"
                 "output \"y\" = %4\n");
}

static void test_other_types_stay(void **state)
{
    assert_unchanged(state, "forge graph 1\n"
                            "%1 = input \"x\" : f64[4,4]\n"
                            "%2 = input \"h\" : f16[4,4]\n"
                            "%3 = matmul(%1, %1) : f64[4,4]\n"
                            "%4 = matmul(%2, %2) accumulate=f32 : f16[4,4]\n"
                            "output \"y\" = %3\n"
                            "output \"z\" = %4\n");
}

/* Returns true if the text has a line with both words. */
static bool has_line(const char *text, const char *word, const char *other)
{
    for (const char *line = text; line; line = strchr(line + 1, '\n')) {
        const char *end = strchr(line + 1, '\n'), *found = strstr(line, word), *second = strstr(line, other);
        if (found && second && (!end || (found < end && second < end)))
            return true;
    }
    return false;
}

static void test_norms_keep_f32_parameters_and_attention_is_narrow(void **state)
{
    struct workbench *bench = *state;
    forge_compile_options options = options_for(FORGE_PRECISION_BF16);
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(8, 8));
    forge_value w = forge_input(b, "w", FORGE_F32, forge_shape_of(8));
    forge_value y = forge_matmul(b, x, x, 0);
    const struct composite_attributes norm = {.name = "rms_norm", .reals = {1e-5}, .numbers = {1}};
    y = library_composite(b, &norm, (forge_value[]){y, w}, 2);
    y = forge_reshape(b, y, forge_shape_of(1, 2, 8, 4));
    const struct composite_attributes attention = {.name = "attention", .reals = {0.5}, .numbers = {1}};
    y = library_composite(b, &attention, (forge_value[]){y, y, y}, 3);
    forge_output(b, "y", forge_softmax(b, y));
    char *text = text_after(graph_of(b), pass_precision, bench->device, &options);
    assert_true(has_line(text, "%2 = input \"w\"", "f32[8]"));
    assert_true(has_line(text, "composite.rms_norm(%4, %2)", ": bf16[8,8]"));
    assert_true(has_line(text, "composite.attention", ": bf16[1,2,8,4]"));
    assert_true(has_line(text, "composite.softmax", ": f32[1,2,8,4]"));
    free(text);
}

static void test_an_unknown_precision_is_refused(void **state)
{
    (void)state;
    forge_compile_options options = options_for((forge_precision)3);
    forge_builder *b = forge_builder_new();
    forge_output(b, "y", forge_input(b, "x", FORGE_F32, forge_shape_of(8)));
    forge_graph *graph = graph_of(b), *made = NULL;
    assert_int_equal(forge_passes_run(graph, NULL, &options, &made, &error), JOULE_INVALID);
    assert_contains(error.message, "unknown precision 3");
    forge_graph_free(graph);
}

/* --- random graphs -------------------------------------------------------------------------------------- */

static uint64_t graphs(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return 60;
#endif
    return is_full_test() ? 10000 : 200;
}

/* The compiler verifies the graph after the pass. With all passes and with the narrow operations one by one,
 * the bits are the same. */
static void test_random_graphs_are_valid_and_fusion_changes_no_bit(void **state)
{
    struct workbench *bench = *state;
    for (uint64_t seed = 0; seed < graphs(); seed++) {
        unsigned flags = RANDOM_GRAPH_GRADIENTS * (seed % 2);
        forge_graph *graph = random_graph(seed, 10 + seed % 50, flags);
        forge_compile_options options = options_for(seed % 3 ? FORGE_PRECISION_BF16 : FORGE_PRECISION_F16);
        struct side all = side_load(bench->device, graph, &options);
        options.skip = "fuse";
        struct side less = side_load(bench->device, graph, &options);
        side_run_both(&all, &less, graph, 1, seed);
        side_unload(&less);
        side_unload(&all);
        forge_graph_free(graph);
    }
}

static void test_graphs_with_symbols_and_places_are_valid(void **state)
{
    struct workbench *bench = *state;
    for (uint64_t seed = 0; seed < graphs(); seed++) {
        unsigned flags = seed % 2 ? RANDOM_GRAPH_SYMBOLS | RANDOM_GRAPH_GRADIENTS : RANDOM_GRAPH_PLACES;
        forge_graph *graph = random_graph(seed, 40, flags), *made = NULL;
        forge_compile_options options = options_for(FORGE_PRECISION_BF16);
        assert_ok(forge_passes_run(graph, seed % 3 ? bench->device : NULL, &options, &made, &error), &error);
        forge_graph_free(made);
        forge_graph_free(graph);
    }
}

int main(void)
{
#define with_device(test) cmocka_unit_test_setup_teardown(test, workbench_set_up, workbench_tear_down)
    const struct CMUnitTest tests[] = {
        with_device(test_products_are_narrow_and_outputs_keep_their_type),
        with_device(test_a_parameter_is_cast_once_for_all_readers),
        with_device(test_elementwise_operations_follow_and_a_bias_does_not_decide),
        with_device(test_a_sum_with_an_f32_value_is_f32),
        with_device(test_reductions_and_exponentials_are_f32),
        with_device(test_new_values_of_slots_are_computed_in_f32),
        with_device(test_the_cast_of_a_gradient_belongs_to_its_product),
        with_device(test_masks_and_bytes_are_cast_once),
        with_device(test_other_types_stay),
        with_device(test_norms_keep_f32_parameters_and_attention_is_narrow),
        with_device(test_an_unknown_precision_is_refused),
        with_device(test_random_graphs_are_valid_and_fusion_changes_no_bit),
        with_device(test_graphs_with_symbols_and_places_are_valid),
    };
    return cmocka_run_group_tests_name("precision", tests, NULL, NULL);
}
