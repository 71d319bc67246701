/* Checks the CPU's attention kernels, forward and backward, for each instruction set, against the body in
 * f64. The cases are causal or not, and include groups, several blocks of queries, and any strides. */
#include "unit/forge/composite_trial.h"

enum { B, HEADS, KV_HEADS, T, S, D, E, SIZES };

static const int64_t cases[][SIZES] = {
    {1, 1, 1, 1, 1, 1, 1},   {2, 3, 3, 5, 5, 4, 4},    {1, 4, 2, 7, 9, 3, 5},
    {1, 6, 1, 17, 33, 8, 2}, {1, 2, 1, 70, 70, 16, 9}, {2, 2, 2, 130, 141, 33, 32},
};

/* data: the inputs q, k and v, one after the other. If is_gradient is true, the gradient of the result
 * follows. */
static struct trial trial_of(const int64_t *n, bool is_causal, bool is_gradient, float *data)
{
    struct trial t = {.attributes = {.name = "attention", .reals = {0.4}, .numbers = {is_causal}},
                      .input_count = 3,
                      .tolerance = 4e-6};
    const forge_shape shapes[] = {
        forge_shape_of(n[B], n[HEADS], n[T], n[D]), forge_shape_of(n[B], n[KV_HEADS], n[S], n[D]),
        forge_shape_of(n[B], n[KV_HEADS], n[S], n[E]), forge_shape_of(n[B], n[HEADS], n[T], n[E])};
    if (is_gradient) {
        strcpy(t.attributes.name, "attention.gradient");
        t.attributes.given = 1;
        t.attributes.wanted = 7;
        t.input_count = 4;
        t.tolerance = 2e-5; /* results are sums over up to 130 queries */
    }
    for (size_t i = 0; i < t.input_count; i++) {
        t.inputs[i] = view_packed(FORGE_F32, data, shapes[i]);
        data += forge_shape_elements(&shapes[i]);
    }
    return t;
}

static void check_cases(struct workbench *bench, bool is_gradient)
{
    float *data = random_floats(FORGE_F32, 100000);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int causal = 0; causal < 2; causal++) {
            struct trial t = trial_of(cases[i], causal, is_gradient, data);
            check_trial(bench, &t);
        }
    free(data);
}

static void test_attention_equals_its_definition(void **state)
{
    check_cases(*state, false);
}

static void test_gradients_of_attention_equal_their_definition(void **state)
{
    check_cases(*state, true);
}

/* The scores are far from 0, so exp() overflows unless it is applied to differences of scores. */
static void test_large_scores_do_not_overflow(void **state)
{
    float *data = random_floats(FORGE_F32, 2000);
    for (size_t i = 0; i < 2000; i++)
        data[i] *= 30;
    struct trial t = trial_of((const int64_t[]){1, 1, 1, 9, 9, 8, 4}, true, false, data);
    t.tolerance = 2e-4; /* scores of 1000 have errors of 1e-4 */
    check_trial(*state, &t);
    free(data);
}

/* q, k and v are slices of one [b, t, heads, 3 d], as in a layer. Results must have the same bytes as for
 * packed operands. */
static void test_slices_give_the_bytes_of_packed_operands(void **state)
{
    (void)state;
    const int64_t n[SIZES] = {2, 3, 3, 20, 20, 8, 8}, heads = 3, d = 8;
    size_t count = (size_t)(2 * 20 * 3 * 8);
    float *all = random_floats(FORGE_F32, 3 * count), *packed = calloc(3 * count, sizeof *packed);
    struct view slices[3];
    for (int64_t i = 0; i < 3; i++) {
        slices[i] = view_packed(FORGE_F32, all + i * d, forge_shape_of(2, heads, 20, d));
        memcpy(slices[i].strides, (int64_t[]){20 * heads * 3 * d, 3 * d, heads * 3 * d, 1},
               4 * sizeof(int64_t));
        for (int64_t k = 0; k < (int64_t)count; k++)
            packed[i * (int64_t)count + k] =
                ((float *)slices[i].data)[k / (heads * 20 * d) * slices[i].strides[0] +
                                          k / (20 * d) % heads * slices[i].strides[1] +
                                          k / d % 20 * slices[i].strides[2] + k % d];
    }
    struct trial t = trial_of(n, true, false, packed);
    float *results[2] = {calloc(count, sizeof(float)), calloc(count, sizeof(float))};
    EACH_ISA (isa) {
        for (int form = 0; form < 2; form++) {
            struct view out = view_packed(FORGE_F32, results[form], t.inputs[0].shape);
            struct launch launch = {OP_COMPOSITE, &t.attributes, form ? slices : t.inputs, 3, &out, 1};
            run_kernel(isa, &launch);
        }
        assert_memory_equal(results[0], results[1], count * sizeof(float));
    }
    free(results[0]);
    free(results[1]);
    free(packed);
    free(all);
}

int main(void)
{
#define on_workbench(test) cmocka_unit_test_setup_teardown(test, workbench_set_up, workbench_tear_down)
    const struct CMUnitTest tests[] = {
        on_workbench(test_attention_equals_its_definition),
        on_workbench(test_gradients_of_attention_equal_their_definition),
        on_workbench(test_large_scores_do_not_overflow),
        cmocka_unit_test(test_slices_give_the_bytes_of_packed_operands),
    };
    return cmocka_run_group_tests_name("cpu attention", tests, NULL, NULL);
}
