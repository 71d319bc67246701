/* Checks optimisers with the caller's gradients: accumulated over runs, from two losses in one program, and
 * invalid ones. */
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

/* Returns the mean squared error of y = x w against t, for this many rows. */
static forge_value fit(forge_builder *b, int rows)
{
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(rows, 4));
    forge_value t = forge_input(b, "t", FORGE_F32, forge_shape_of(rows, 2));
    forge_scope_push(b, "fc");
    forge_value w = forge_parameter(b, "weight", FORGE_F32, forge_shape_of(4, 2),
                                    (forge_init){FORGE_INIT_UNIFORM, -1, 1});
    forge_scope_pop(b);
    forge_value error = forge_unary(b, FORGE_SQUARE, forge_sub(b, forge_matmul(b, x, w, 0), t));
    return forge_reduce(b, FORGE_MEAN, error, 3, false);
}

static void take_step(forge_builder *b, const forge_gradient *gradients, size_t count, bool is_adamw)
{
    forge_value rate = forge_scalar(b, FORGE_F32, 0.05);
    forge_sgd_options sgd = {.struct_size = sizeof sgd, .momentum = 0.9, .max_norm = 0.5};
    forge_adamw_options adamw = FORGE_ADAMW_OPTIONS;
    adamw.max_norm = 0.5;
    if (is_adamw)
        forge_adamw_step(b, gradients, count, rate, &adamw);
    else
        forge_sgd_step(b, gradients, count, rate, &sgd);
}

enum { ROWS = 12, PARTS = 3, FIT_STEPS = 20 };

static void fill_rows(float *x, float *t, int step)
{
    for (int i = 0; i < ROWS * 4; i++)
        x[i] = (float)sin(i * 0.7 + step);
    for (int i = 0; i < ROWS * 2; i++)
        t[i] = (float)cos(i * 1.3 - step);
}

static void run_rows(struct workbench *bench, const float *x, const float *t)
{
    workbench_set(bench, "x", x);
    workbench_set(bench, "t", t);
    workbench_run(bench);
}

/* Computes the parameters after some steps. Each step uses all rows. If parts is 1, a step is one run;
 * otherwise a step accumulates the gradients of several runs. */
static void train_rows(int parts, bool is_adamw, float *out)
{
    struct workbench bench;
    float x[ROWS * 4], t[ROWS * 2];
    assert_int_equal(workbench_begin(&bench, 3, NULL), JOULE_OK);
    for (int step = 0; step < FIT_STEPS; step++) {
        fill_rows(x, t, step);
        for (int part = 0; part < parts; part++) {
            int rows = ROWS / parts;
            forge_gradient gradients[1];
            forge_builder *b = forge_builder_new();
            size_t count = forge_parameter_gradients(b, fit(b, rows), NULL, 0, gradients);
            assert_int_equal(count, 1);
            if (parts > 1)
                forge_accumulate_gradients(b, gradients, count, (uint32_t)parts, part == parts - 1);
            if (part == parts - 1)
                take_step(b, gradients, count, is_adamw);
            workbench_load(&bench, b);
            run_rows(&bench, x + 4 * rows * part, t + 2 * rows * part);
            workbench_unload(&bench);
        }
    }
    forge_tensor weight = workbench_slot(&bench, "fc.weight");
    memcpy(out, forge_tensor_data(&weight), 8 * sizeof *out);
    if (parts > 1) {
        forge_tensor sums = workbench_slot(&bench, "fc.weight.gradient");
        for (int i = 0; i < 8; i++)
            assert_true(((float *)forge_tensor_data(&sums))[i] == 0);
    }
    workbench_end(&bench);
}

static void test_accumulated_gradients_are_those_of_the_batch(void **state)
{
    (void)state;
    for (int is_adamw = 0; is_adamw < 2; is_adamw++) {
        float whole[8], parts[8];
        train_rows(1, is_adamw, whole);
        train_rows(PARTS, is_adamw, parts);
        for (int i = 0; i < 8; i++)
            if (!(fabs((double)whole[i] - (double)parts[i]) < 1e-4))
                fail_msg("%d: %g in parts, %g at once", i, (double)parts[i], (double)whole[i]);
    }
}

/* Two networks (maker and judge) in one program have their own optimisers. The loss of one does not change
 * the parameters of the other. */
static void test_two_optimisers_in_one_program(void **state)
{
    (void)state;
    struct workbench bench;
    forge_builder *b = forge_builder_new();
    const forge_parameter_group maker[] = {{.prefix = "judge.", .is_frozen = true}};
    const forge_parameter_group judge[] = {{.prefix = "maker.", .is_frozen = true}};
    forge_init init = {FORGE_INIT_CONSTANT, 0.5, 0};
    forge_scope_push(b, "maker");
    forge_value g = forge_parameter(b, "weight", FORGE_F64, forge_shape_of(3), init);
    forge_scope_pop(b);
    forge_scope_push(b, "judge");
    forge_value d = forge_parameter(b, "weight", FORGE_F64, forge_shape_of(3), init);
    forge_scope_pop(b);
    forge_value rate = forge_scalar(b, FORGE_F64, 0.1), product = forge_mul(b, g, d);
    forge_value held = forge_mul(b, forge_stop_gradient(b, g), forge_unary(b, FORGE_SQUARE, d));
    forge_value loss_g = forge_reduce(b, FORGE_SUM, product, 1, false);
    forge_value loss_d = forge_reduce(b, FORGE_SUM, held, 1, false);
    forge_gradient of_g[2], of_d[2];
    forge_value through[2], self = forge_mul(b, g, forge_stop_gradient(b, g));
    forge_gradients(b, forge_reduce(b, FORGE_SUM, self, 1, false), &g, 1, &through[0]);
    forge_gradients(b, forge_reduce(b, FORGE_SUM, forge_stop_gradient(b, g), 1, false), &g, 1, &through[1]);
    forge_output(b, "once", through[0]);
    forge_output(b, "never", through[1]);
    size_t count_g = forge_parameter_gradients(b, loss_g, maker, 1, of_g);
    size_t count_d = forge_parameter_gradients(b, loss_d, judge, 1, of_d);
    assert_true(count_g == 1 && count_d == 1);
    forge_adamw_options adamw = FORGE_ADAMW_OPTIONS;
    forge_sgd_options sgd = {.struct_size = sizeof sgd};
    adamw.name = "judge.optimiser";
    forge_sgd_step(b, of_g, count_g, rate, &sgd);
    forge_adamw_step(b, of_d, count_d, rate, &adamw);
    assert_int_equal(workbench_begin(&bench, 1, NULL), JOULE_OK);
    workbench_load(&bench, b);
    workbench_run(&bench);
    forge_tensor weight = workbench_slot(&bench, "maker.weight"), steps;
    double wanted = 0.5 - 0.1 * 0.5; /* the gradient is the weight of the other network */
    assert_true(fabs(*(double *)forge_tensor_data(&weight) - wanted) < 1e-15);
    forge_tensor once = workbench_output(&bench, "once"), never = workbench_output(&bench, "never");
    for (int i = 0; i < 3; i++) {
        /* the gradient of the square would be 1 */
        assert_true(((double *)forge_tensor_data(&once))[i] == 0.5);
        assert_true(((double *)forge_tensor_data(&never))[i] == 0);
    }
    weight = workbench_slot(&bench, "judge.weight");
    assert_true(*(double *)forge_tensor_data(&weight) < 0.5);
    steps = workbench_slot(&bench, "judge.optimiser.step");
    assert_int_equal(*(int64_t *)forge_tensor_data(&steps), 1);
    workbench_end(&bench);
}

static void refuse_gradients(const char *text, int kind)
{
    joule_error error = {0};
    forge_graph *graph = NULL;
    forge_builder *b = forge_builder_new();
    forge_value loss = fit(b, 2);
    forge_gradient gradients[2];
    forge_parameter_gradients(b, loss, NULL, 0, gradients);
    gradients[1] = gradients[0];
    if (kind == 1)
        gradients[0].value = loss;
    if (kind == 2)
        gradients[0].parameter = 4711;
    if (kind == 3)
        gradients[0].value = forge_cast(b, FORGE_I64, gradients[0].value);
    if (kind == 4)
        forge_accumulate_gradients(b, gradients, 1, 0, true);
    take_step(b, gradients, kind == 0 ? 2 : kind == 5 ? 0 : 1, false);
    assert_int_equal(forge_builder_finish(b, &graph, &error), JOULE_INVALID);
    assert_contains(error.message, text);
}

static void test_wrong_gradients_are_refused(void **state)
{
    (void)state;
    refuse_gradients("sgd: the parameter 'fc.weight' is given twice", 0);
    refuse_gradients("sgd: the gradient of 'fc.weight' must be a float of the parameter's shape", 1);
    refuse_gradients("sgd: gradient 0 belongs to no parameter", 2);
    refuse_gradients("sgd: the gradient of 'fc.weight' must be a float of the parameter's shape", 3);
    refuse_gradients("accumulate_gradients: parts must be 1 or more", 4);
    refuse_gradients("sgd: there are no parameters", 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accumulated_gradients_are_those_of_the_batch),
        cmocka_unit_test(test_two_optimisers_in_one_program),
        cmocka_unit_test(test_wrong_gradients_are_refused),
    };
    return cmocka_run_group_tests_name("optim_gradients", tests, NULL, NULL);
}
