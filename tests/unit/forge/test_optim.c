/* Checks optimisers against plain loops in double, over 100 steps, and schedules against their formulas. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/optim.h>
#include <forge/program.h>
#include "support/check.h"
#include "support/workbench.h"

enum { WEIGHTS = 6, BIASES = 3, ALL = WEIGHTS + BIASES, STEPS = 100 };

/* A training. Its loss is half the sum of curvature * (p - target)^2 over all parameters. */
struct trial {
    forge_dtype dtype;
    forge_sgd_options sgd;
    forge_adamw_options adamw;
    bool is_adamw;
    bool is_given; /* the caller computes the gradients and sums them over a group of one process */
    struct workbench bench;
};

static double curvature(int i)
{
    return 0.5 + i;
}

static double target(int i)
{
    return i % 2 ? 0.5 * i : -0.25 * i;
}

static forge_value half_squares(forge_builder *b, forge_value p, int first, int count)
{
    double numbers[2][ALL];
    forge_value constants[2];
    forge_shape shape = forge_value_shape(b, p);
    for (int i = 0; i < count; i++) {
        numbers[0][i] = curvature(first + i);
        numbers[1][i] = target(first + i);
    }
    for (int i = 0; i < 2; i++) {
        forge_buffer *buffer;
        forge_tensor tensor;
        assert_int_equal(forge_buffer_wrap(numbers[i], sizeof numbers[i], NULL, NULL, &buffer, NULL), 0);
        assert_int_equal(forge_tensor_view(buffer, 0, FORGE_F64, &shape, &tensor, NULL), 0);
        constants[i] = forge_cast(b, forge_value_dtype(b, p), forge_constant(b, &tensor));
        forge_buffer_release(buffer);
    }
    forge_value square = forge_unary(b, FORGE_SQUARE, forge_sub(b, p, constants[1]));
    uint32_t axes = (1u << shape.rank) - 1;
    return forge_reduce(
        b, FORGE_SUM,
        forge_mul(b, forge_mul(b, square, constants[0]), forge_scalar(b, forge_value_dtype(b, p), 0.5)), axes,
        false);
}

static forge_value take_given(const struct trial *t, forge_builder *b, forge_value loss, forge_value rate)
{
    forge_gradient gradients[2];
    size_t count = forge_parameter_gradients(b, loss, NULL, 0, gradients);
    assert_int_equal(count, 2);
    for (size_t i = 0; i < count; i++)
        gradients[i].value =
            forge_collective(b, FORGE_ALL_REDUCE, &(forge_group){"alone", 1}, gradients[i].value, 0);
    return t->is_adamw ? forge_adamw_step(b, gradients, count, rate, &t->adamw)
                       : forge_sgd_step(b, gradients, count, rate, &t->sgd);
}

static forge_builder *build(const struct trial *t)
{
    forge_builder *b = forge_builder_new();
    forge_init init = {FORGE_INIT_UNIFORM, -1, 1};
    forge_scope_push(b, "fc");
    forge_value w = forge_parameter(b, "weight", t->dtype, forge_shape_of(2, 3), init);
    forge_value c = forge_parameter(b, "bias", t->dtype, forge_shape_of(3), init);
    forge_scope_pop(b);
    forge_value rate = forge_input(b, "rate", FORGE_F64, (forge_shape){0});
    forge_value loss = forge_add(b, half_squares(b, w, 0, WEIGHTS), half_squares(b, c, WEIGHTS, BIASES));
    if (t->is_given) {
        forge_output(b, "norm", take_given(t, b, loss, rate));
        return b;
    }
    forge_value norm =
        t->is_adamw ? forge_adamw(b, loss, rate, &t->adamw) : forge_sgd(b, loss, rate, &t->sgd);
    forge_output(b, "norm", norm);
    return b;
}

static void begin(struct trial *t)
{
    joule_error error = {0};
    assert_ok(workbench_begin(&t->bench, 7, &error), &error);
    workbench_load(&t->bench, build(t));
}

/* Reads the elements of a slot, converted to double. */
static void get(struct trial *t, const char *slot, double *out)
{
    forge_tensor tensor = workbench_slot(&t->bench, slot);
    assert_int_equal(forge_convert(tensor.dtype, forge_tensor_data(&tensor), FORGE_F64, out,
                                   forge_tensor_elements(&tensor)),
                     JOULE_OK);
}

static void get_parameters(struct trial *t, double *out)
{
    get(t, "fc.weight", out);
    get(t, "fc.bias", out + WEIGHTS);
}

/* Runs a step. Returns the norm of its gradients. */
static double step(struct trial *t, double rate)
{
    workbench_set(&t->bench, "rate", &rate);
    workbench_run(&t->bench);
    forge_tensor tensor = workbench_output(&t->bench, "norm");
    return *(double *)forge_tensor_data(&tensor);
}

static void assert_elements_near(const double *is, const double *wanted, int count, double tolerance, int at)
{
    for (int i = 0; i < count; i++)
        if (!(fabs(is[i] - wanted[i]) <= tolerance * (1 + fabs(wanted[i]))))
            fail_msg("step %d, element %d: %.17g, not %.17g", at, i, is[i], wanted[i]);
}

static double rate_of(int s)
{
    return 0.02 / (1 + 0.05 * s);
}

/* Computes the gradients, clipped to max_norm. Returns their norm before clipping. */
static double gradients(const double *p, double max_norm, double *out)
{
    double squares = 0;
    for (int i = 0; i < ALL; i++) {
        out[i] = curvature(i) * (p[i] - target(i));
        squares += out[i] * out[i];
    }
    double norm = sqrt(squares), scale = max_norm / (norm + 1e-6);
    for (int i = 0; i < ALL && max_norm > 0 && scale < 1; i++)
        out[i] *= scale;
    return norm;
}

static void naive_sgd(const forge_sgd_options *o, double *p, const double *g, double *velocity, int s)
{
    for (int i = 0; i < ALL; i++) {
        double direction = g[i] + o->weight_decay * p[i];
        velocity[i] = o->momentum * velocity[i] + direction;
        p[i] -= rate_of(s) * (o->nesterov ? direction + o->momentum * velocity[i] : velocity[i]);
    }
}

static void naive_adamw(const forge_adamw_options *o, double *p, const double *g, double *m, double *v, int s)
{
    for (int i = 0; i < ALL; i++) {
        m[i] = o->beta1 * m[i] + (1 - o->beta1) * g[i];
        v[i] = o->beta2 * v[i] + (1 - o->beta2) * g[i] * g[i];
        double m_hat = m[i] / (1 - pow(o->beta1, s + 1)), v_hat = v[i] / (1 - pow(o->beta2, s + 1));
        p[i] -= rate_of(s) * (m_hat / (sqrt(v_hat) + o->epsilon) + o->weight_decay * p[i]);
    }
}

static void follow(struct trial *t, double tolerance)
{
    double is[ALL], p[ALL], g[ALL], first[ALL] = {0}, second[ALL] = {0};
    double max_norm = t->is_adamw ? t->adamw.max_norm : t->sgd.max_norm;
    begin(t);
    get_parameters(t, p);
    for (int s = 0; s < STEPS; s++) {
        double norm = gradients(p, max_norm, g);
        double norm_is = step(t, rate_of(s));
        assert_elements_near(&norm_is, &norm, 1, tolerance, s);
        if (t->is_adamw)
            naive_adamw(&t->adamw, p, g, first, second, s);
        else
            naive_sgd(&t->sgd, p, g, first, s);
        get_parameters(t, is);
        assert_elements_near(is, p, ALL, tolerance, s);
    }
    workbench_end(&t->bench);
}

static void test_sgd_equals_its_definition(void **state)
{
    (void)state;
    const forge_sgd_options options[] = {
        {.momentum = 0},
        {.momentum = 0.9, .weight_decay = 0.01},
        {.momentum = 0.8, .nesterov = true, .max_norm = 1.5},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        for (int is_f32 = 0; is_f32 < 2; is_f32++) {
            struct trial t = {.dtype = is_f32 ? FORGE_F32 : FORGE_F64, .sgd = options[i]};
            t.sgd.struct_size = sizeof t.sgd;
            follow(&t, is_f32 ? 2e-5 : 1e-12);
        }
}

static void test_adamw_equals_its_definition(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct trial t = {
            .dtype = i % 2 ? FORGE_F32 : FORGE_F64, .is_adamw = true, .adamw = FORGE_ADAMW_OPTIONS};
        t.adamw.max_norm = i / 2 ? 2 : 0;
        t.adamw.weight_decay = i / 2 ? 0.1 : 0.01;
        follow(&t, i % 2 ? 2e-5 : 1e-11);
    }
}

/* Names, types and shapes of the state must not change, because checkpoints contain them. */
static void test_slots_of_adamw(void **state)
{
    (void)state;
    struct trial t = {.dtype = FORGE_BF16, .is_adamw = true, .adamw = FORGE_ADAMW_OPTIONS};
    forge_tensor tensor;
    begin(&t);
    for (int s = 0; s < 3; s++)
        step(&t, 0.1);
    assert_int_equal(forge_states_count(t.bench.states), 7);
    tensor = workbench_slot(&t.bench, "optimiser.step");
    assert_true(tensor.dtype == FORGE_I64 && *(int64_t *)forge_tensor_data(&tensor) == 3);
    tensor = workbench_slot(&t.bench, "fc.weight.exp_avg_sq");
    assert_true(tensor.dtype == FORGE_F32 && tensor.shape.rank == 2);
    tensor = workbench_slot(&t.bench, "fc.bias.exp_avg");
    tensor = workbench_slot(&t.bench, "fc.weight");
    assert_int_equal(tensor.dtype, FORGE_BF16);
    workbench_end(&t.bench);
}

/* The slots must not move to other addresses. */
static void test_adamw_writes_in_place(void **state)
{
    (void)state;
    struct trial t = {.dtype = FORGE_F32, .is_adamw = true, .adamw = FORGE_ADAMW_OPTIONS};
    double before[ALL], after[ALL];
    forge_tensor tensor, same;
    begin(&t);
    tensor = workbench_slot(&t.bench, "fc.weight");
    get_parameters(&t, before);
    step(&t, 0.1);
    get_parameters(&t, after);
    same = workbench_slot(&t.bench, "fc.weight");
    assert_ptr_equal(forge_tensor_data(&tensor), forge_tensor_data(&same));
    assert_memory_not_equal(before, after, sizeof before);
    workbench_end(&t.bench);
}

/* --- groups --------------------------------------------------------------------------------------------- */

/* The gradients are 0, so only weight decay changes parameters. */
static void test_parameter_groups_have_their_own_options(void **state)
{
    (void)state;
    const forge_parameter_group no_decay[] = {{.suffix = ".bias", .has_no_decay = true}};
    const forge_parameter_group vectors[] = {{.ranks = 1 << 1, .has_no_decay = true}};
    const forge_parameter_group slow[] = {{.prefix = "fc.w", .rate_factor = 0.5}, {.prefix = "fc."}};
    const forge_parameter_group *groups[] = {no_decay, vectors, slow};
    for (int i = 0; i < 3; i++) {
        struct trial t = {.dtype = FORGE_F64, .is_adamw = true, .adamw = FORGE_ADAMW_OPTIONS};
        double before[ALL], plain[ALL], is[ALL];
        t.adamw.weight_decay = 0.1;
        begin(&t);
        get_parameters(&t, before);
        step(&t, 0.01);
        get_parameters(&t, plain);
        workbench_end(&t.bench);
        t.adamw.groups = groups[i];
        t.adamw.group_count = i == 2 ? 2 : 1;
        begin(&t);
        step(&t, 0.01);
        get_parameters(&t, is);
        workbench_end(&t.bench);
        for (int k = 0; k < ALL; k++) {
            double wanted = plain[k];
            if (i < 2 && k >= WEIGHTS)
                wanted += 0.01 * 0.1 * before[k];
            if (i == 2 && k < WEIGHTS)
                wanted = (plain[k] + before[k]) / 2;
            assert_elements_near(&is[k], &wanted, 1, 1e-14, k);
        }
    }
}

static void test_frozen_parameters_stay(void **state)
{
    (void)state;
    const forge_parameter_group groups[] = {{.prefix = "fc.weight", .is_frozen = true}};
    struct trial t = {
        .dtype = FORGE_F32,
        .sgd = {.struct_size = sizeof t.sgd, .momentum = 0.9, .groups = groups, .group_count = 1}};
    double before[ALL], is[ALL];
    forge_tensor tensor;
    begin(&t);
    get_parameters(&t, before);
    step(&t, 0.1);
    get_parameters(&t, is);
    assert_memory_equal(before, is, WEIGHTS * sizeof *is);
    for (int i = WEIGHTS; i < ALL; i++)
        assert_true(is[i] != before[i]);
    assert_int_equal(forge_states_find(t.bench.states, "fc.weight.momentum", &tensor), JOULE_ABSENT);
    workbench_end(&t.bench);
}

/* --- wrong options -------------------------------------------------------------------------------------- */

static void expect_refusal(struct trial *t, const char *text)
{
    joule_error error = {0};
    forge_graph *graph = NULL;
    t->dtype = FORGE_F32;
    assert_int_equal(forge_builder_finish(build(t), &graph, &error), JOULE_INVALID);
    assert_contains(error.message, text);
}

static void test_wrong_options_are_refused(void **state)
{
    (void)state;
    const forge_parameter_group all[] = {{.is_frozen = true}};
    struct trial t = {.sgd = {.struct_size = sizeof t.sgd, .nesterov = true}};
    expect_refusal(&t, "sgd: nesterov needs momentum");
    t.sgd = (forge_sgd_options){.momentum = 0.9};
    expect_refusal(&t, "sgd: set struct_size to sizeof(forge_sgd_options)");
    t.sgd = (forge_sgd_options){.struct_size = sizeof t.sgd, .max_norm = -1};
    expect_refusal(&t, "sgd: weight_decay and max_norm must be 0 or more");
    t.sgd = (forge_sgd_options){.struct_size = sizeof t.sgd, .groups = all, .group_count = 1};
    expect_refusal(&t, "sgd: there are no parameters, or all are frozen");
    t.is_adamw = true;
    t.adamw = (forge_adamw_options){.struct_size = sizeof t.adamw};
    expect_refusal(&t, "epsilon above 0");
    t.adamw = FORGE_ADAMW_OPTIONS;
    t.adamw.beta2 = 1;
    expect_refusal(&t, "beta1 and beta2 must be in [0, 1)");
    t.adamw.struct_size = 8;
    expect_refusal(&t, "adamw: set struct_size to sizeof(forge_adamw_options)");
}

/* --- gradients from the caller -------------------------------------------------------------------------- */

/* Gradients that are computed, summed over a group of one, and passed to the optimiser must give the same
 * bits as the optimiser's own gradients. */
static void test_given_gradients_have_the_bits_of_the_optimisers_own(void **state)
{
    (void)state;
    for (int is_adamw = 0; is_adamw < 2; is_adamw++) {
        struct trial t = {.dtype = FORGE_F32, .is_adamw = is_adamw, .adamw = FORGE_ADAMW_OPTIONS};
        t.sgd = (forge_sgd_options){.struct_size = sizeof t.sgd, .momentum = 0.9, .max_norm = 1};
        t.adamw.max_norm = 1;
        double own[ALL], given[ALL];
        begin(&t);
        for (int s = 0; s < 10; s++)
            step(&t, rate_of(s));
        get_parameters(&t, own);
        workbench_end(&t.bench);
        t.is_given = true;
        begin(&t);
        for (int s = 0; s < 10; s++)
            step(&t, rate_of(s));
        get_parameters(&t, given);
        workbench_end(&t.bench);
        assert_memory_equal(own, given, sizeof own);
    }
}

/* --- schedules ------------------------------------------------------------------------------------------ */

static double rate_at(forge_schedule s, uint64_t step)
{
    s.struct_size = sizeof s;
    return forge_schedule_rate(&s, step);
}

static void assert_rate(forge_schedule s, uint64_t step, double wanted)
{
    double is = rate_at(s, step);
    assert_elements_near(&is, &wanted, 1, 1e-15, (int)step);
}

static void test_rates_follow_their_schedule(void **state)
{
    (void)state;
    forge_schedule s = {.rate = 0.5, .warm_up_steps = 4};
    for (uint64_t i = 0; i < 4; i++)
        assert_rate(s, i, 0.5 * (double)(i + 1) / 4);
    assert_rate(s, 4, 0.5);
    assert_rate(s, UINT64_MAX, 0.5);
    s = (forge_schedule){
        .kind = FORGE_SCHEDULE_LINEAR, .rate = 1, .last_rate = 0.2, .warm_up_steps = 10, .steps = 110};
    assert_rate(s, 10, 1);
    assert_rate(s, 35, 0.8);
    assert_rate(s, 110, 0.2);
    assert_rate(s, 5000, 0.2);
    s.kind = FORGE_SCHEDULE_COSINE;
    for (uint64_t i = 10; i < 110; i++)
        assert_rate(s, i, 0.6 + 0.4 * cos(M_PI * (double)(i - 10) / 100));
    assert_rate(s, 110, 0.2);
    s.steps = 3; /* the schedule is shorter than the warm-up */
    assert_rate(s, 9, 1);
    assert_rate(s, 10, 0.2);
    s = (forge_schedule){.kind = FORGE_SCHEDULE_STEP, .rate = 8, .factor = 0.5, .period_steps = 30};
    assert_rate(s, 29, 8);
    assert_rate(s, 30, 4);
    assert_rate(s, 95, 1);
    s.kind = FORGE_SCHEDULE_EXPONENTIAL;
    assert_rate(s, 15, 8 * sqrt(0.5));
    assert_rate(s, 60, 2);
    s.period_steps = 0;
    assert_rate(s, 2, 2);
    s.kind = (forge_schedule_kind)9;
    assert_true(isnan(rate_at(s, 0)));
    assert_true(isnan(forge_schedule_rate(&(forge_schedule){0}, 0)));
    assert_true(isnan(forge_schedule_rate(NULL, 0)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sgd_equals_its_definition),
        cmocka_unit_test(test_adamw_equals_its_definition),
        cmocka_unit_test(test_slots_of_adamw),
        cmocka_unit_test(test_adamw_writes_in_place),
        cmocka_unit_test(test_parameter_groups_have_their_own_options),
        cmocka_unit_test(test_frozen_parameters_stay),
        cmocka_unit_test(test_wrong_options_are_refused),
        cmocka_unit_test(test_given_gradients_have_the_bits_of_the_optimisers_own),
        cmocka_unit_test(test_rates_follow_their_schedule),
    };
    return cmocka_run_group_tests_name("optim", tests, NULL, NULL);
}
