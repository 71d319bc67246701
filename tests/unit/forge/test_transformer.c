/* Checks attention against a plain loop in double, rotary positions against a closed form, gradients, and
 * GPT-2's names and sizes. */
#include <math.h>
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
#include "support/check.h"
#include "support/derivative.h"
#include "support/graphs.h"
#include "support/workbench.h"

/* --- attention ------------------------------------------------------------------------------------------ */

struct sizes {
    int64_t b, heads, kv_heads, t, s, d, e;
    bool is_causal;
};

static const struct sizes cases[] = {
    {1, 1, 1, 1, 1, 1, 1, true},     {2, 3, 3, 5, 5, 4, 4, true},  {2, 4, 2, 7, 7, 3, 5, true},
    {1, 6, 1, 3, 9, 8, 2, true},     {2, 4, 4, 5, 3, 2, 2, false}, {1, 6, 3, 17, 33, 5, 7, false},
    {1, 2, 2, 33, 33, 16, 16, true},
};

static void fill(double *x, size_t count, uint32_t stream)
{
    for (size_t i = 0; i < count; i++) {
        float u;
        forge_random_normal(&(forge_random){.key = 9, .stream = stream}, i, 1, &u);
        x[i] = (double)u;
    }
}

/* Computes attention for one query of one head. */
static void attend_row(const struct sizes *c, double scale, const double *q, const double *k, const double *v,
                       int64_t i, double *y)
{
    double weights[64], sum = 0;
    int64_t seen = c->is_causal ? i + c->s - c->t + 1 : c->s;
    for (int64_t j = 0; j < seen; j++) {
        double dot = 0;
        for (int64_t n = 0; n < c->d; n++)
            dot += q[n] * k[j * c->d + n];
        sum += weights[j] = exp(scale * dot);
    }
    for (int64_t n = 0; n < c->e; n++) {
        y[n] = 0;
        for (int64_t j = 0; j < seen; j++)
            y[n] += weights[j] / sum * v[j * c->e + n];
    }
}

static void attend(const struct sizes *c, double scale, const double *q, const double *k, const double *v,
                   double *y)
{
    for (int64_t b = 0; b < c->b; b++)
        for (int64_t h = 0; h < c->heads; h++)
            for (int64_t i = 0; i < c->t; i++) {
                int64_t row = (b * c->heads + h) * c->t + i;
                int64_t other = (b * c->kv_heads + h / (c->heads / c->kv_heads)) * c->s;
                attend_row(c, scale, q + row * c->d, k + other * c->d, v + other * c->e, i, y + row * c->e);
            }
}

static forge_value attention_of(forge_builder *b, const struct sizes *c, forge_dtype dtype, double scale)
{
    forge_value q = forge_input(b, "q", FORGE_F64, forge_shape_of(c->b, c->heads, c->t, c->d));
    forge_value k = forge_input(b, "k", FORGE_F64, forge_shape_of(c->b, c->kv_heads, c->s, c->d));
    forge_value v = forge_input(b, "v", FORGE_F64, forge_shape_of(c->b, c->kv_heads, c->s, c->e));
    forge_value y = forge_attention(b, forge_cast(b, dtype, q), forge_cast(b, dtype, k),
                                    forge_cast(b, dtype, v), scale, c->is_causal);
    return forge_cast(b, FORGE_F64, y);
}

static void compare_attention(struct workbench *m, const struct sizes *c, forge_dtype dtype, double scale,
                              double error)
{
    size_t nq = (size_t)(c->b * c->heads * c->t * c->d), nk = (size_t)(c->b * c->kv_heads * c->s * c->d),
           nv = (size_t)(c->b * c->kv_heads * c->s * c->e), ny = (size_t)(c->b * c->heads * c->t * c->e);
    double *q = calloc(nq + nk + nv + ny, sizeof *q), *k = q + nq, *v = k + nk, *y = v + nv;
    forge_builder *b = forge_builder_new();
    forge_output(b, "y", attention_of(b, c, dtype, scale));
    workbench_load(m, b);
    fill(q, nq, 1), fill(k, nk, 2), fill(v, nv, 3);
    workbench_set(m, "q", q), workbench_set(m, "k", k), workbench_set(m, "v", v);
    workbench_run(m);
    attend(c, scale > 0 ? scale : 1 / sqrt((double)c->d), q, k, v, y);
    forge_tensor tensor = workbench_output(m, "y");
    const double *found = forge_tensor_data(&tensor);
    assert_int_equal(forge_tensor_elements(&tensor), ny);
    for (size_t i = 0; i < ny; i++)
        if (!(fabs(found[i] - y[i]) <= error * (1 + fabs(y[i]))))
            fail_msg("%s, t %d, s %d: y[%zu] is %.17g, not %.17g", forge_dtype_name(dtype), (int)c->t,
                     (int)c->s, i, found[i], y[i]);
    free(q);
}

static void test_attention_equals_its_definition(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        compare_attention(*state, &cases[i], FORGE_F64, 0, 1e-13);
        compare_attention(*state, &cases[i], FORGE_F64, 0.7, 1e-13);
        compare_attention(*state, &cases[i], FORGE_F32, 0, 1e-5);
        compare_attention(*state, &cases[i], FORGE_BF16, 0, 3e-2);
    }
}

/* The scores must be computed in f32, because bf16 would round the two larger scores to the same value. */
static void test_softmax_is_wide(void **state)
{
    struct workbench *m = *state;
    const double q[] = {16, 1}, k[] = {16, 1, 16, 0, 0, 0}, v[] = {1, 0, 0};
    forge_builder *b = forge_builder_new();
    forge_output(b, "y", attention_of(b, &(struct sizes){1, 1, 1, 1, 3, 2, 1, false}, FORGE_BF16, 1));
    workbench_load(m, b);
    workbench_set(m, "q", q), workbench_set(m, "k", k), workbench_set(m, "v", v);
    workbench_run(m);
    forge_tensor tensor = workbench_output(m, "y");
    assert_true(fabs(*(double *)forge_tensor_data(&tensor) - 1 / (1 + exp(-1))) < 3e-3);
}

static forge_value causal(forge_builder *b, const forge_value *x, int kind)
{
    return forge_attention(b, x[0], x[1], x[2], 0, kind);
}

static forge_value rope(forge_builder *b, const forge_value *x, int kind)
{
    forge_value place = forge_iota(b, FORGE_I64, forge_shape_of(3), 0);
    return forge_rope(b, x[0], forge_add(b, place, forge_scalar(b, FORGE_I64, 4)), 100, kind);
}

static forge_value layer_of(forge_builder *b, const forge_value *x, int kind)
{
    forge_gpt_options o = {.struct_size = sizeof o, .layers = 1, .heads = 4, .kv_heads = kind ? 2 : 0};
    return kind == 2 ? forge_transformer_block(b, "h", x[0], &o)
                     : forge_multi_head_attention(b, "attn", x[0], &o);
}

static void test_slopes_of_attention_equal_differences(void **state)
{
    (void)state;
    const struct function functions[] = {
        {"attention",
         causal,
         1,
         3,
         {{.rank = 4, .dims = {1, 2, 3, 2}},
          {.rank = 4, .dims = {1, 2, 4, 2}},
          {.rank = 4, .dims = {1, 2, 4, 3}}},
         -1,
         1,
         true},
        {"grouped attention",
         causal,
         1,
         3,
         {{.rank = 4, .dims = {2, 4, 3, 2}},
          {.rank = 4, .dims = {2, 2, 3, 2}},
          {.rank = 4, .dims = {2, 2, 3, 2}}},
         -1,
         1,
         false},
        {"attention to all",
         causal,
         0,
         3,
         {{.rank = 4, .dims = {1, 2, 3, 2}},
          {.rank = 4, .dims = {1, 1, 2, 2}},
          {.rank = 4, .dims = {1, 1, 2, 1}}},
         -1,
         1,
         true},
        {"rope", rope, 0, 1, {{.rank = 4, .dims = {1, 2, 3, 6}}}, -1, 1, true},
        {"rope", rope, 1, 1, {{.rank = 3, .dims = {2, 3, 4}}}, -1, 1, true},
        {"multi-head attention", layer_of, 0, 1, {{.rank = 3, .dims = {2, 3, 8}}}, -1, 1, false},
        {"grouped layer", layer_of, 1, 1, {{.rank = 3, .dims = {2, 3, 8}}}, -1, 1, false},
        {"block", layer_of, 2, 1, {{.rank = 3, .dims = {2, 3, 8}}}, -1, 1, false},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        derivative_check(&functions[i]);
}

/* --- rotary positions ----------------------------------------------------------------------------------- */

/* The test rotates each pair of elements as one complex number. */
static void test_rotary_positions_equal_complex_rotation(void **state)
{
    struct workbench *m = *state;
    enum { B = 2, HEADS = 3, T = 4, D = 6, COUNT = B * HEADS * T * D };
    const int64_t places[B][T] = {{0, 1, 2, 3}, {1000, 7, 0, 123456}};
    double x[COUNT];
    fill(x, COUNT, 5);
    for (int interleaved = 0; interleaved < 2; interleaved++) {
        forge_builder *b = forge_builder_new();
        forge_value input = forge_input(b, "x", FORGE_F64, forge_shape_of(B, HEADS, T, D));
        forge_value place = forge_input(b, "place", FORGE_I64, forge_shape_of(B, 1, T));
        forge_output(b, "y", forge_rope(b, input, place, 10000, interleaved));
        workbench_load(m, b);
        workbench_set(m, "x", x), workbench_set(m, "place", places);
        workbench_run(m);
        forge_tensor tensor = workbench_output(m, "y");
        const double *y = forge_tensor_data(&tensor);
        for (size_t i = 0; i < COUNT / 2; i++) {
            size_t row = i / (D / 2), pair = i % (D / 2);
            size_t first = row * D + (interleaved ? 2 * pair : pair),
                   second = first + (interleaved ? 1 : D / 2);
            double angle = (double)places[row / (T * HEADS)][row % T] * pow(10000, -2.0 * (double)pair / D);
            assert_true(fabs(y[first] - (x[first] * cos(angle) - x[second] * sin(angle))) < 1e-9);
            assert_true(fabs(y[second] - (x[first] * sin(angle) + x[second] * cos(angle))) < 1e-9);
        }
    }
}

/* --- embedding ------------------------------------------------------------------------------------------ */

static void test_embedding_looks_up_rows(void **state)
{
    struct workbench *m = *state;
    enum { COUNT = 50, WIDTH = 40 };
    const uint8_t ids[] = {3, 49, 3, 50};
    forge_builder *b = forge_builder_new();
    forge_value id = forge_input(b, "id", FORGE_U8, forge_shape_of(2, 2));
    forge_output(b, "y", forge_embedding(b, "wte", id, FORGE_F32, COUNT, WIDTH, 0.5));
    workbench_load(m, b);
    workbench_set(m, "id", ids);
    workbench_run(m);
    forge_tensor table = workbench_slot(m, "wte.weight"), y = workbench_output(m, "y");
    const float *weights = forge_tensor_data(&table), *rows = forge_tensor_data(&y);
    double squares = 0;
    for (size_t i = 0; i < COUNT * WIDTH; i++)
        squares += (double)weights[i] * (double)weights[i];
    /* five standard deviations of the estimate */
    assert_true(fabs(sqrt(squares / (COUNT * WIDTH)) - 0.5) < 0.04);
    for (size_t i = 0; i < 3; i++)
        assert_memory_equal(rows + i * WIDTH, weights + ids[i] * WIDTH, WIDTH * sizeof *rows);
    assert_true(isnan(rows[3 * WIDTH]));
}

/* --- GPT-2 ---------------------------------------------------------------------------------------------- */

static const forge_gpt_options gpt2 = {.struct_size = sizeof gpt2,
                                       .layers = 12,
                                       .heads = 12,
                                       .vocabulary = 50257,
                                       .context = 1024,
                                       .width = 768};

/* Asserts that the graph's text has this slot with this shape, such as "h.0.mlp.c_fc.bias [3072]". */
static void assert_has(const char *text, const char *name, const char *shape)
{
    char quoted[100];
    snprintf(quoted, sizeof quoted, "\"%s\"", name);
    const char *found = strstr(text, quoted), *end = found ? strchr(found, '\n') : NULL;
    const char *has = found ? strstr(found, shape) : NULL;
    if (!has || has > end)
        fail_msg("%s %s is not in the graph", name, shape);
}

static uint64_t parameters_of(const forge_builder *b)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < forge_parameter_count(b); i++) {
        forge_shape shape = forge_value_shape(b, forge_read((forge_builder *)b, forge_parameter_slot(b, i)));
        sum += forge_shape_elements(&shape);
    }
    return sum;
}

static void test_gpt2_has_its_parameters(void **state)
{
    (void)state;
    forge_builder *b = forge_builder_new();
    forge_value tokens = forge_input(b, "tokens", FORGE_I32, forge_shape_of(4, 64));
    forge_value logits = forge_gpt(b, NULL, tokens, &gpt2);
    assert_int_equal(parameters_of(b), 124439808);
    assert_int_equal(forge_parameter_count(b), 2 + 12 * 12 + 2);
    forge_shape shape = forge_value_shape(b, logits);
    assert_true(forge_shape_equal(&shape, &(forge_shape){.rank = 3, .dims = {4, 64, 50257}}));
    forge_output(b, "logits", logits);
    forge_graph *graph;
    char *text;
    assert_int_equal(forge_builder_finish(b, &graph, NULL), JOULE_OK);
    assert_int_equal(forge_graph_print(graph, &text, NULL), JOULE_OK);
    assert_has(text, "wte.weight", "[50257,768]");
    assert_has(text, "wpe.weight", "[1024,768]");
    assert_has(text, "h.0.ln_1.weight", "[768]");
    assert_has(text, "h.0.attn.c_attn.weight", "[768,2304]");
    assert_has(text, "h.0.attn.c_proj.bias", "[768]");
    assert_has(text, "h.11.ln_2.bias", "[768]");
    assert_has(text, "h.11.mlp.c_fc.weight", "[768,3072]");
    assert_has(text, "h.11.mlp.c_proj.weight", "[3072,768]");
    assert_has(text, "ln_f.bias", "[768]");
    free(text);
    forge_graph_free(graph);
}

static void test_untied_head_adds_its_parameters(void **state)
{
    (void)state;
    forge_gpt_options o = gpt2;
    o.untied_lm_head = true;
    forge_builder *b = forge_builder_new();
    forge_gpt(b, "gpt", forge_input(b, "tokens", FORGE_I32, forge_shape_of(1, 1024)), &o);
    assert_int_equal(parameters_of(b), 124439808 + 50257 * 768);
    forge_builder_free(b);
}

/* The text repeats one sequence of letters, so each letter determines the next one. */
static void test_gpt_learns(void **state)
{
    struct workbench *m = *state;
    enum { B = 4, T = 8, VOCABULARY = 5 };
    uint8_t tokens[B][T + 1];
    float rate = 0.01f, first = NAN, last = NAN;
    for (int i = 0; i < B; i++)
        for (int k = 0; k <= T; k++)
            tokens[i][k] = (uint8_t)((i + 2 * k) % VOCABULARY);
    forge_gpt_options o = {.struct_size = sizeof o,
                           .layers = 2,
                           .heads = 2,
                           .vocabulary = VOCABULARY,
                           .context = T,
                           .width = 16,
                           .is_training = true,
                           .dropout = 0.05};
    forge_builder *b = forge_builder_new();
    forge_value all = forge_input(b, "tokens", FORGE_U8, forge_shape_of(B, T + 1));
    forge_value logits = forge_gpt(b, NULL, forge_slice_along(b, all, 1, 0, T), &o);
    forge_value next = forge_reshape(b, forge_slice_along(b, all, 1, 1, T + 1), forge_shape_of(B * T));
    forge_value loss =
        forge_cross_entropy(b, forge_reshape(b, logits, forge_shape_of(B * T, VOCABULARY)), next);
    forge_output(b, "loss", loss);
    forge_adamw(b, loss, forge_input(b, "rate", FORGE_F32, (forge_shape){0}), &FORGE_ADAMW_OPTIONS);
    workbench_load(m, b);
    workbench_set(m, "tokens", tokens);
    workbench_set(m, "rate", &rate);
    for (int i = 0; i < 40; i++) {
        workbench_run(m);
        forge_tensor tensor = workbench_output(m, "loss");
        last = *(float *)forge_tensor_data(&tensor);
        first = i ? first : last;
    }
    /* before training, all letters are equally likely */
    assert_true(fabs((double)first - log(VOCABULARY)) < 0.2);
    assert_true(last < 0.2f);
}

/* Changing a later token must not change results of earlier positions. */
static void test_later_tokens_change_no_earlier_result(void **state)
{
    struct workbench *m = *state;
    enum { T = 6, VOCABULARY = 7 };
    int32_t tokens[T] = {1, 2, 3, 4, 5, 6};
    float before[T * VOCABULARY];
    forge_gpt_options o = {
        .struct_size = sizeof o, .layers = 1, .heads = 2, .vocabulary = VOCABULARY, .context = T, .width = 8};
    forge_builder *b = forge_builder_new();
    forge_output(b, "y", forge_gpt(b, "gpt", forge_input(b, "tokens", FORGE_I32, forge_shape_of(1, T)), &o));
    workbench_load(m, b);
    for (int i = 0; i < 2; i++) {
        workbench_set(m, "tokens", tokens);
        workbench_run(m);
        forge_tensor tensor = workbench_output(m, "y");
        const float *y = forge_tensor_data(&tensor);
        if (i == 0)
            memcpy(before, y, sizeof before);
        else
            assert_memory_equal(before, y, 4 * VOCABULARY * sizeof *y);
        if (i == 1)
            assert_memory_not_equal(before, y, sizeof before);
        tokens[4] = 0;
    }
}

/* --- refused inputs ------------------------------------------------------------------------------------- */

static void test_wrong_operands_are_refused(void **state)
{
    (void)state;
    const struct {
        struct sizes sizes;
        const char *words;
    } wrong[] = {
        {{1, 3, 2, 4, 4, 2, 2, false}, "must be a multiple of those of k"},
        {{1, 2, 2, 5, 4, 2, 2, true}, "more queries than keys"},
        {{1, 2, 2, 4, 4, 0, 2, true}, "the same last dimension"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        forge_builder *b = forge_builder_new();
        attention_of(b, &wrong[i].sizes, FORGE_F64, 0);
        assert_builder_refused(b, wrong[i].words);
    }
    forge_gpt_options o = gpt2;
    forge_builder *b = forge_builder_new();
    forge_gpt(b, NULL, forge_input(b, "x", FORGE_I32, forge_shape_of(1, 1025)), &o);
    assert_builder_refused(b, "t at most 1024");
    o.heads = 7;
    b = forge_builder_new();
    forge_gpt(b, NULL, forge_input(b, "x", FORGE_I32, forge_shape_of(1, 8)), &o);
    assert_builder_refused(b, "the width 768 must be a multiple of 7 heads");
    b = forge_builder_new();
    o.struct_size = 4;
    forge_gpt(b, NULL, forge_input(b, "x", FORGE_I32, forge_shape_of(1, 8)), &o);
    assert_builder_refused(b, "struct_size");
    b = forge_builder_new();
    forge_embedding(b, "e", forge_input(b, "x", FORGE_F32, forge_shape_of(3)), FORGE_F32, 4, 4, 1);
    assert_builder_refused(b, "embedding 'e': ids must be integers");
    b = forge_builder_new();
    forge_rope(b, forge_input(b, "x", FORGE_F32, forge_shape_of(3, 5)), forge_scalar(b, FORGE_I32, 0), 10,
               true);
    assert_builder_refused(b, "an even d");
}

/* Batch size and length are known only at run time. */
static void test_batch_and_length_may_be_symbols(void **state)
{
    (void)state;
    forge_graph *graph = NULL;
    joule_error error = {0};
    forge_builder *b = forge_builder_new();
    forge_dim n = forge_symbol(b, "B", 1, 64, 1), t = forge_symbol(b, "T", 1, 1024, 1);
    forge_output(b, "y", forge_gpt(b, NULL, forge_input(b, "x", FORGE_I32, forge_shape_of(n, t)), &gpt2));
    assert_ok(forge_builder_finish(b, &graph, &error), &error);
    forge_graph_free(graph);
}

int main(void)
{
#define on_workbench(test) cmocka_unit_test_setup_teardown(test, workbench_set_up, workbench_tear_down)
    const struct CMUnitTest tests[] = {
        on_workbench(test_attention_equals_its_definition),
        on_workbench(test_softmax_is_wide),
        cmocka_unit_test(test_slopes_of_attention_equal_differences),
        on_workbench(test_rotary_positions_equal_complex_rotation),
        on_workbench(test_embedding_looks_up_rows),
        cmocka_unit_test(test_gpt2_has_its_parameters),
        cmocka_unit_test(test_untied_head_adds_its_parameters),
        on_workbench(test_gpt_learns),
        on_workbench(test_later_tokens_change_no_earlier_result),
        cmocka_unit_test(test_wrong_operands_are_refused),
        cmocka_unit_test(test_batch_and_length_may_be_symbols),
    };
    return cmocka_run_group_tests_name("transformer", tests, NULL, NULL);
}
