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
#include "forge/runtime/items.h"
#include "support/check.h"
#include "support/graphs.h"
#include "support/workbench.h"

static joule_error error;

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
    forge_graph *graph = graph_of(builder);
    assert_ok(pass_regroup(graph, bench->device, NULL, out_made, &error), &error);
    assert_ok(graph_verify(*out_made, &error), &error);
    forge_graph_free(graph);
    for (size_t n = 0; n < (*out_made)->node_count; n++) {
        const struct node *node = &(*out_made)->nodes[n];
        const struct composite_attributes *a = node->attributes;
        if (node->op == OP_COMPOSITE && strcmp(a->name, "attention") == 0)
            return node;
    }
    return NULL;
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
    run(*state, "regroup", without);
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
    struct items items;
    assert_true(items_make(&items, bench->program));
    double of_scores = items_part(&items, bench->program, 0, "scores"),
           of_softmax = items_part(&items, bench->program, 0, "softmax");
    assert_true(of_scores > 0 && of_softmax > 0 && of_scores + of_softmax < 1);
    assert_float_equal(items_part(&items, bench->program, 0, ""), 1, 1e-12);
    items_free(&items);
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
        with_device(test_the_result_is_the_same_except_for_rounding),
        with_device(test_joules_are_divided_among_the_scopes),
    };
    return cmocka_run_group_tests_name("regroup attention", tests, NULL, NULL);
}
