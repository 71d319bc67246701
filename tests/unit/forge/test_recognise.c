/* Checks that attention which is made of other operations becomes the composite. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/compiler.h>
#include "forge/compiler/pass.h"
#include "forge/ir/program.h"
#include "forge/ir/program.h"
#include "support/check.h"
#include "support/graphs.h"
#include "support/workbench.h"

enum { HEADS = 3, QUERIES = 5, KEYS = 7, DEPTH = 4 };
/* The forms of an attention. Bits that are not set choose the simplest form. */
enum {
    IS_CAUSAL = 1,
    ADDS_MASK = 2,       /* the mask is added */
    COMPARES_LESS = 4,   /* the mask compares with LE instead of GE, and counts from the start */
    DIVIDES = 8,         /* the scale is a quotient */
    TURNS_KEYS = 16,     /* k is transposed */
    WRITES_SOFTMAX = 32, /* the softmax is made of other operations, too */
    HAS_BATCH = 64,      /* four dimensions */
    MASKS_FIRST = 128,   /* masks before the scale */
    FORMS = 256
};

static forge_shape shape_of(unsigned form, int64_t rows, int64_t columns)
{
    return form & HAS_BATCH ? forge_shape_of(2, HEADS, rows, columns) : forge_shape_of(HEADS, rows, columns);
}

static forge_value softmax(forge_builder *b, forge_value x, unsigned form)
{
    uint32_t axis = form & HAS_BATCH ? 8 : 4;
    if (!(form & WRITES_SOFTMAX))
        return forge_softmax(b, x);
    forge_value e = forge_exp(b, forge_sub(b, x, forge_reduce(b, FORGE_MAXIMUM, x, axis, true)));
    return forge_div(b, e, forge_reduce(b, FORGE_SUM, e, axis, true));
}

/* Returns the choice of the keys that each query attends to, shifted by `shift` keys. */
static forge_value choice(forge_builder *b, unsigned form, int64_t shift)
{
    forge_value query = forge_iota(b, FORGE_I32, forge_shape_of(QUERIES, 1), 0),
                key = forge_iota(b, FORGE_I32, forge_shape_of(1, KEYS), 1);
    if (!(form & COMPARES_LESS))
        return forge_binary(b, FORGE_GE,
                            forge_add(b, forge_flip(b, key, 2), forge_scalar(b, FORGE_I32, (double)shift)),
                            forge_flip(b, query, 1));
    query =
        forge_reshape(b, forge_iota(b, FORGE_I32, forge_shape_of(QUERIES), 0), forge_shape_of(QUERIES, 1));
    forge_value last = forge_add(b, query, forge_scalar(b, FORGE_I32, (double)(KEYS - QUERIES + shift)));
    return forge_binary(b, FORGE_LE, key, last);
}

static forge_value masked(forge_builder *b, forge_value scores, unsigned form, int64_t shift)
{
    forge_value none = forge_scalar(b, FORGE_F32, -(double)INFINITY), shown = choice(b, form, shift);
    if (!(form & IS_CAUSAL))
        return scores;
    if (!(form & ADDS_MASK))
        return forge_select(b, shown, scores, none);
    return forge_add(b, scores, forge_select(b, shown, forge_scalar(b, FORGE_F32, 0), none));
}

static forge_value scaled(forge_builder *b, forge_value scores, unsigned form, double scale)
{
    return form & DIVIDES ? forge_div(b, scores, forge_scalar(b, FORGE_F32, 1 / scale))
                          : forge_mul(b, scores, forge_scalar(b, FORGE_F32, scale));
}

/* Returns attention made of operations. *out_scores: the masked and scaled scores. */
static forge_value attend(forge_builder *b, unsigned form, int64_t shift, double scale,
                          forge_value *out_scores)
{
    forge_value q = forge_input(b, "q", FORGE_F32, shape_of(form, QUERIES, DEPTH)),
                v = forge_input(b, "v", FORGE_F32, shape_of(form, KEYS, DEPTH)), x;
    forge_scope_push(b, "scores");
    if (form & TURNS_KEYS) {
        forge_value k = forge_input(b, "k", FORGE_F32, shape_of(form, KEYS, DEPTH));
        uint32_t order[] = {0, 1, 3, 2}, order3[] = {0, 2, 1};
        x = forge_matmul(b, q, forge_transpose(b, k, form & HAS_BATCH ? order : order3), 0);
    } else
        x = forge_matmul(b, q, forge_input(b, "k", FORGE_F32, shape_of(form, KEYS, DEPTH)),
                         FORGE_TRANSPOSE_B);
    if (form & MASKS_FIRST)
        x = scaled(b, masked(b, x, form, shift), form, scale);
    else
        x = masked(b, scaled(b, x, form, scale), form, shift);
    forge_scope_pop(b);
    *out_scores = x;
    forge_scope_push(b, "softmax");
    x = softmax(b, x, form);
    forge_scope_pop(b);
    return forge_matmul(b, x, v, 0);
}

/* Returns the attention of the graph after the pass; NULL if it has none. Frees the builder. *out_made: the
 * graph after the pass, which the caller frees. */
static const struct node *attention_after(const struct workbench *bench, forge_builder *builder,
                                          forge_graph **out_made)
{
    *out_made = graph_after(graph_of(builder), pass_recognise, bench->device, NULL);
    return graph_composite(*out_made, "attention");
}

static void test_all_forms_become_the_composite(void **state)
{
    for (unsigned form = 0; form < FORMS; form++) {
        forge_builder *b = forge_builder_new();
        forge_value scores;
        forge_graph *made;
        forge_output(b, "y", attend(b, form, 0, 0.25, &scores));
        const struct node *node = attention_after(*state, b, &made);
        assert_non_null(node);
        const struct composite_attributes *a = node->attributes;
        assert_float_equal(a->reals[0], 0.25, 1e-12);
        assert_int_equal(a->numbers[0], form & IS_CAUSAL);
        for (size_t n = 0; n < made->node_count; n++)
            assert_true(made->nodes[n].op != OP_MATMUL && made->nodes[n].op != OP_REDUCE);
        forge_graph_free(made);
    }
}

static void assert_stays(void **state, forge_builder *b)
{
    forge_graph *made;
    assert_null(attention_after(*state, b, &made));
    forge_graph_free(made);
}

static void test_other_masks_stay(void **state)
{
    for (int64_t shift = -1; shift <= 1; shift += 2)
        for (unsigned form = IS_CAUSAL; form < DIVIDES; form += 2) {
            forge_builder *b = forge_builder_new();
            forge_value scores;
            forge_output(b, "y", attend(b, form, shift, 0.25, &scores));
            assert_stays(state, b);
        }
}

static void test_a_negative_scale_stays(void **state)
{
    forge_builder *b = forge_builder_new();
    forge_value scores;
    forge_output(b, "y", attend(b, 0, 0, -0.25, &scores));
    assert_stays(state, b);
}

static void test_scores_that_are_needed_elsewhere_stay(void **state)
{
    for (unsigned form = 0; form < 64; form += WRITES_SOFTMAX) {
        forge_builder *b = forge_builder_new();
        forge_value scores;
        forge_output(b, "y", attend(b, form, 0, 0.25, &scores));
        forge_output(b, "scores", scores);
        assert_stays(state, b);
    }
}

/* The backward pass reads the weights. */
static void test_attention_with_a_gradient_stays(void **state)
{
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, shape_of(0, KEYS, DEPTH)), gradient;
    forge_value weights = forge_softmax(b, forge_matmul(b, x, x, FORGE_TRANSPOSE_B));
    forge_value y = forge_unary(b, FORGE_SQUARE, forge_matmul(b, weights, x, 0));
    forge_gradients(b, forge_reduce(b, FORGE_SUM, y, 7, false), &x, 1, &gradient);
    forge_output(b, "g", gradient);
    assert_stays(state, b);
}

static forge_value input(forge_builder *b, const char *name, int64_t rows)
{
    return forge_input(b, name, FORGE_F32, forge_shape_of(HEADS, rows, DEPTH));
}

/* Returns softmax(scores) v, where v has the scores' heads. */
static forge_value weigh(forge_builder *b, forge_value scores, unsigned form)
{
    forge_value v =
        forge_input(b, "v", FORGE_F32, forge_shape_of(forge_value_shape(b, scores).dims[0], KEYS, DEPTH));
    return forge_matmul(b, softmax(b, scores, form), v, 0);
}

/* Returns a product with sums in this type. */
static forge_value product(forge_builder *b, forge_value left, forge_value right, uint32_t flags,
                           forge_dtype sums)
{
    struct matmul_attributes attributes = {flags, sums};
    return builder_emit(b, OP_MATMUL, &attributes, sizeof attributes, (forge_value[]){left, right}, 2);
}

static void test_sums_in_another_type_stay(void **state)
{
    for (int at = 0; at < 3; at++) {
        forge_builder *b = forge_builder_new();
        forge_dtype sums[3] = {FORGE_F32, FORGE_F32, FORGE_F32};
        sums[at] = FORGE_F64;
        struct reduce_attributes sum = {FORGE_SUM, 4, true, sums[1]};
        forge_value x = product(b, input(b, "q", QUERIES), input(b, "k", KEYS), FORGE_TRANSPOSE_B, sums[0]);
        forge_value e = forge_exp(b, forge_sub(b, x, forge_reduce(b, FORGE_MAXIMUM, x, 4, true)));
        x = forge_div(b, e, builder_emit(b, OP_REDUCE, &sum, sizeof sum, &e, 1));
        forge_output(b, "y", product(b, x, input(b, "v", KEYS), 0, sums[2]));
        assert_stays(state, b);
    }
}

/* Returns attention whose q, or k if is_key, is read from a slot that is then written in place. The last
 * product comes after that, or before it if is_early. */
static forge_builder *attend_slot(bool is_key, bool is_early)
{
    forge_builder *b = forge_builder_new();
    forge_slot slot = forge_state(b, "state", FORGE_F32, forge_shape_of(HEADS, KEYS, DEPTH),
                                  (forge_init){FORGE_INIT_UNIFORM, -1, 1});
    forge_value old = forge_read(b, slot), other = input(b, "other", KEYS);
    forge_value x = forge_matmul(b, is_key ? other : old, is_key ? old : other, FORGE_TRANSPOSE_B);
    x = forge_softmax(b, x);
    if (is_early)
        forge_output(b, "y", forge_matmul(b, x, other, 0));
    forge_write(b, slot, forge_neg(b, old), true);
    if (!is_early)
        forge_output(b, "y", forge_matmul(b, x, other, 0));
    return b;
}

static void test_operands_that_a_slot_replaces_stay(void **state)
{
    for (int is_key = 0; is_key < 2; is_key++) {
        forge_graph *made;
        workbench_load(*state, attend_slot(is_key, false));
        assert_stays(state, attend_slot(is_key, false));
        assert_non_null(attention_after(*state, attend_slot(is_key, true), &made));
        forge_graph_free(made);
        workbench_load(*state, attend_slot(is_key, true));
    }
}

static void test_scores_that_a_mask_repeats_stay(void **state)
{
    for (unsigned form = IS_CAUSAL; form < DIVIDES; form += 2) {
        forge_builder *b = forge_builder_new();
        forge_value x = forge_matmul(b, input(b, "q", 1), input(b, "k", KEYS), FORGE_TRANSPOSE_B);
        forge_output(b, "y", weigh(b, masked(b, x, form, 0), form));
        assert_stays(state, b);
    }
}

/* Returns a reduction of x, [1, n, n], along the rows, in its shape; if is_turned, along the columns. */
static forge_value filled(forge_builder *b, forge_reduce_kind kind, forge_value x, bool is_turned)
{
    return forge_broadcast(b, forge_reduce(b, kind, x, 4, !is_turned), forge_value_shape(b, x));
}

static void test_reductions_along_columns_stay(void **state)
{
    for (int turned = 0; turned < 4; turned++) {
        forge_builder *b = forge_builder_new();
        forge_graph *made;
        forge_value q = forge_input(b, "q", FORGE_F32, forge_shape_of(1, KEYS, DEPTH));
        forge_value x = forge_matmul(b, q, q, FORGE_TRANSPOSE_B);
        forge_value e = forge_exp(b, forge_sub(b, x, filled(b, FORGE_MAXIMUM, x, turned & 1)));
        x = forge_div(b, e, filled(b, FORGE_SUM, e, turned & 2));
        forge_output(b, "y", forge_matmul(b, x, q, 0));
        assert_int_equal(!attention_after(*state, b, &made), turned != 0);
        forge_graph_free(made);
    }
}

/* Returns attention in which each query attends to the keys up to `last`. */
static forge_builder *attend_up_to(forge_builder *b, int64_t queries, forge_value key, forge_value last)
{
    forge_value x = forge_matmul(b, input(b, "q", queries), input(b, "k", KEYS), FORGE_TRANSPOSE_B);
    forge_value none = forge_scalar(b, FORGE_F32, -(double)INFINITY);
    forge_output(b, "y", weigh(b, forge_select(b, forge_binary(b, FORGE_LE, key, last), x, none), 0));
    return b;
}

static void test_one_row_of_positions_is_constant(void **state)
{
    forge_builder *b = forge_builder_new();
    forge_graph *made;
    forge_value key = forge_iota(b, FORGE_I32, forge_shape_of(1, KEYS), 1),
                query = forge_iota(b, FORGE_I32, forge_shape_of(1, 1), 0);
    query = forge_broadcast(b, query, forge_shape_of(QUERIES, 1));
    assert_stays(state, attend_up_to(b, QUERIES, key,
                                     forge_add(b, query, forge_scalar(b, FORGE_I32, KEYS - QUERIES))));
    b = forge_builder_new();
    key = forge_iota(b, FORGE_I32, forge_shape_of(1, KEYS), 1);
    query = forge_iota(b, FORGE_I32, forge_shape_of(1, 1), 0);
    attend_up_to(b, 1, key, forge_add(b, query, forge_scalar(b, FORGE_I32, KEYS - 1)));
    const struct node *node = attention_after(*state, b, &made);
    assert_non_null(node);
    assert_int_equal(((const struct composite_attributes *)node->attributes)->numbers[0], 1);
    forge_graph_free(made);
}

/* A cast to integers removes the fraction of a position. */
static void test_positions_with_fractions_stay(void **state)
{
    forge_builder *b = forge_builder_new();
    forge_value key = forge_iota(b, FORGE_F32, forge_shape_of(1, KEYS), 1),
                query = forge_iota(b, FORGE_F32, forge_shape_of(QUERIES, 1), 0);
    query = forge_cast(b, FORGE_I32, forge_add(b, query, forge_scalar(b, FORGE_F32, 0.75)));
    forge_value shift = forge_scalar(b, FORGE_F32, KEYS - QUERIES - 0.75);
    assert_stays(state, attend_up_to(b, QUERIES, key, forge_add(b, forge_cast(b, FORGE_F32, query), shift)));
}

/* The composite needs a depth. */
static void test_a_depth_of_0_stays(void **state)
{
    forge_builder *b = forge_builder_new();
    forge_value q = forge_input(b, "q", FORGE_F32, forge_shape_of(HEADS, QUERIES, 0)),
                k = forge_input(b, "k", FORGE_F32, forge_shape_of(HEADS, KEYS, 0));
    forge_output(b, "y", weigh(b, forge_matmul(b, q, k, FORGE_TRANSPOSE_B), 0));
    assert_stays(state, b);
}

/* Computes attention without the passes `skip`. out: [HEADS * QUERIES * DEPTH]. */
static void run(struct workbench *bench, const char *skip, float *out)
{
    static const char *const names[] = {"q", "k", "v"};
    forge_builder *b = forge_builder_new();
    forge_value scores;
    float elements[HEADS * KEYS * DEPTH];
    forge_output(b, "y", attend(b, IS_CAUSAL, 0, 0.5, &scores));
    bench->skip = skip;
    workbench_load(bench, b);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < HEADS * KEYS * DEPTH; k++)
            elements[k] = sinf((float)(k * (i + 2)));
        workbench_set(bench, names[i], elements);
    }
    workbench_run(bench);
    forge_tensor y = workbench_output(bench, "y");
    memcpy(out, forge_tensor_data(&y), sizeof(float) * HEADS * QUERIES * DEPTH);
}

static void test_the_result_is_the_same_except_for_rounding(void **state)
{
    float with[HEADS * QUERIES * DEPTH], without[HEADS * QUERIES * DEPTH];
    run(*state, NULL, with);
    run(*state, "recognise", without);
    for (int i = 0; i < HEADS * QUERIES * DEPTH; i++)
        assert_float_equal(with[i], without[i], 1e-5);
}

static void test_joules_are_divided_among_the_scopes(void **state)
{
    struct workbench *bench = *state;
    forge_builder *b = forge_builder_new();
    forge_value scores;
    forge_output(b, "y", attend(b, IS_CAUSAL, 0, 0.5, &scores));
    workbench_load(bench, b);
    assert_int_equal(workbench_launch(bench, "attention")->origin_count, 3);
    double of_scores = workbench_part(bench, "scores"), of_softmax = workbench_part(bench, "softmax");
    assert_true(of_scores > 0 && of_softmax > 0 && of_scores + of_softmax < 1);
    assert_float_equal(workbench_part(bench, ""), 1, 1e-12);
}

/* In mixed precision the composite computes in the narrow type, like one that the caller made. */
static void test_attention_in_narrow_types(void **state)
{
    static const forge_dtype dtypes[] = {
        [FORGE_PRECISION_BF16] = FORGE_BF16, [FORGE_PRECISION_F16] = FORGE_F16};
    const struct workbench *bench = *state;
    for (forge_precision precision = FORGE_PRECISION_BF16; precision <= FORGE_PRECISION_F16; precision++) {
        forge_builder *b = forge_builder_new();
        forge_value scores;
        forge_output(b, "y", attend(b, IS_CAUSAL, 0, 0.5, &scores));
        forge_graph *graph = graph_of(b), *made = NULL;
        forge_compile_options options = {.struct_size = sizeof options, .precision = precision};
        assert_int_equal(forge_passes_run(graph, bench->device, &options, &made, NULL), JOULE_OK);
        const struct node *node = graph_composite(made, "attention");
        assert_non_null(node);
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(made->values[node_input(made, node, i)].dtype, dtypes[precision]);
        forge_graph_free(made);
        forge_graph_free(graph);
    }
}

int main(void)
{
#define with_device(test) cmocka_unit_test_setup_teardown(test, workbench_set_up, workbench_tear_down)
    const struct CMUnitTest tests[] = {
        with_device(test_all_forms_become_the_composite),
        with_device(test_other_masks_stay),
        with_device(test_a_negative_scale_stays),
        with_device(test_scores_that_are_needed_elsewhere_stay),
        with_device(test_attention_with_a_gradient_stays),
        with_device(test_sums_in_another_type_stay),
        with_device(test_operands_that_a_slot_replaces_stay),
        with_device(test_scores_that_a_mask_repeats_stay),
        with_device(test_reductions_along_columns_stay),
        with_device(test_one_row_of_positions_is_constant),
        with_device(test_positions_with_fractions_stay),
        with_device(test_a_depth_of_0_stays),
        with_device(test_the_result_is_the_same_except_for_rounding),
        with_device(test_attention_in_narrow_types),
        with_device(test_joules_are_divided_among_the_scopes),
    };
    return cmocka_run_group_tests_name("recognise", tests, NULL, NULL);
}
