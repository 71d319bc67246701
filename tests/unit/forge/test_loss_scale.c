/* Checks loss scaling: the same bits as without it, steps that are skipped, and the growth of the scale. */
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

enum { ROWS = 16, IN = 8, OUT = 4 };

enum optimiser { SGD, SGD_STEP, ADAMW, ADAMW_STEP, OPTIMISERS };

/* Adds a step of training on the mean squared error of a network of two layers. loss_scale: NULL: none. */
static forge_builder *network(enum optimiser optimiser, const forge_loss_scale_options *loss_scale)
{
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(ROWS, IN));
    forge_value t = forge_input(b, "t", FORGE_F32, forge_shape_of(ROWS, OUT));
    forge_value y = forge_mlp(b, NULL, x, (const int64_t[]){12, OUT}, 2);
    forge_value loss =
        forge_reduce(b, FORGE_MEAN, forge_unary(b, FORGE_SQUARE, forge_sub(b, y, t)), 3, false);
    forge_output(b, "loss", loss);
    forge_value rate = forge_scalar(b, FORGE_F32, 0.01), norm;
    forge_sgd_options sgd = {
        .struct_size = sizeof sgd, .momentum = 0.9, .max_norm = 0.25, .loss_scale = loss_scale};
    forge_adamw_options adamw = FORGE_ADAMW_OPTIONS;
    adamw.loss_scale = loss_scale;
    forge_gradient gradients[8];
    bool is_given = optimiser == SGD_STEP || optimiser == ADAMW_STEP;
    if (is_given && loss_scale)
        loss = forge_scale_loss(b, loss, loss_scale);
    size_t count = is_given ? forge_parameter_gradients(b, loss, NULL, 0, gradients) : 0;
    switch (optimiser) {
    case SGD:
        norm = forge_sgd(b, loss, rate, &sgd);
        break;
    case SGD_STEP:
        norm = forge_sgd_step(b, gradients, count, rate, &sgd);
        break;
    case ADAMW:
        norm = forge_adamw(b, loss, rate, &adamw);
        break;
    default:
        norm = forge_adamw_step(b, gradients, count, rate, &adamw);
    }
    forge_output(b, "norm", norm);
    return b;
}

static void set_rows(struct workbench *bench, int step, float extra)
{
    float x[ROWS * IN], t[ROWS * OUT];
    for (int i = 0; i < ROWS * IN; i++)
        x[i] = (float)sin(i * 0.7 + step);
    for (int i = 0; i < ROWS * OUT; i++)
        t[i] = (float)cos(i * 1.3 - step);
    x[3] += extra;
    workbench_set(bench, "x", x);
    workbench_set(bench, "t", t);
}

static float float_slot(const struct workbench *bench, const char *name)
{
    forge_tensor tensor = workbench_slot(bench, name);
    return *(const float *)forge_tensor_data(&tensor);
}

static int64_t count_slot(const struct workbench *bench, const char *name)
{
    forge_tensor tensor = workbench_slot(bench, name);
    return *(const int64_t *)forge_tensor_data(&tensor);
}

/* Keeps the bytes of all slots that do not belong to the scale. The caller frees kept->bytes. */
static void keep_slots(const struct workbench *bench, struct kept *kept)
{
    forge_tensor tensor;
    const char *name;
    for (size_t i = 0; forge_states_get(bench->states, i, &tensor, &name) == JOULE_OK; i++)
        if (strncmp(name, "loss_scale.", strlen("loss_scale.")) != 0)
            workbench_keep(kept, &tensor);
}

static void assert_kept(const struct kept *a, const struct kept *b, bool are_equal)
{
    assert_int_equal(a->size, b->size);
    bool is_same = a->bytes && b->bytes && memcmp(a->bytes, b->bytes, a->size) == 0;
    assert_int_equal(is_same, are_equal);
}

/* Returns the slots after some steps. */
static struct kept trained(enum optimiser optimiser, const forge_loss_scale_options *loss_scale)
{
    struct workbench bench = {0};
    struct kept kept = {0};
    assert_int_equal(workbench_begin(&bench, 3, NULL), JOULE_OK);
    workbench_load(&bench, network(optimiser, loss_scale));
    for (int step = 0; step < 10; step++) {
        set_rows(&bench, step, 0);
        workbench_run(&bench);
    }
    keep_slots(&bench, &kept);
    workbench_end(&bench);
    return kept;
}

/* Powers of two scale all gradients exactly, also for the limit of the norm. */
static void test_a_scale_changes_no_bit(void **state)
{
    (void)state;
    for (enum optimiser i = 0; i < OPTIMISERS; i++) {
        struct kept plain = trained(i, NULL), scaled = trained(i, &FORGE_LOSS_SCALE_OPTIONS);
        assert_kept(&plain, &scaled, true);
        free(plain.bytes);
        free(scaled.bytes);
    }
}

static void skip_steps(enum optimiser optimiser, forge_precision precision, float extra)
{
    struct workbench bench = {0};
    struct kept before = {0}, skipped = {0}, after = {0};
    assert_int_equal(workbench_begin(&bench, 3, NULL), JOULE_OK);
    bench.precision = precision;
    workbench_load(&bench, network(optimiser, &FORGE_LOSS_SCALE_OPTIONS));
    for (int step = 0; step < 3; step++) {
        set_rows(&bench, step, 0);
        workbench_run(&bench);
    }
    assert_int_equal(count_slot(&bench, "loss_scale.good_steps"), 3);
    keep_slots(&bench, &before);
    set_rows(&bench, 3, extra);
    workbench_run(&bench);
    keep_slots(&bench, &skipped);
    assert_kept(&before, &skipped, true);
    assert_true(float_slot(&bench, "loss_scale.scale") == 32768);
    assert_int_equal(count_slot(&bench, "loss_scale.good_steps"), 0);
    assert_int_equal(count_slot(&bench, "loss_scale.skipped_steps"), 1);
    set_rows(&bench, 4, 0);
    workbench_run(&bench);
    keep_slots(&bench, &after);
    assert_kept(&before, &after, false);
    assert_true(float_slot(&bench, "loss_scale.scale") == 32768);
    assert_int_equal(count_slot(&bench, "loss_scale.skipped_steps"), 1);
    free(before.bytes);
    free(skipped.bytes);
    free(after.bytes);
    workbench_end(&bench);
}

static void test_a_step_with_an_overflow_changes_nothing_and_halves_the_scale(void **state)
{
    (void)state;
    for (enum optimiser i = 0; i < OPTIMISERS; i++) {
        skip_steps(i, FORGE_PRECISION_F32, INFINITY);
        skip_steps(i, FORGE_PRECISION_F32, NAN);
        skip_steps(i, FORGE_PRECISION_F16, 1e6f); /* above the largest f16 */
        skip_steps(i, FORGE_PRECISION_BF16, INFINITY);
    }
}

/* The first step may be the one that is skipped: AdamW then divides by 1 - beta^1, not by 0. */
static void test_the_first_step_can_be_skipped(void **state)
{
    (void)state;
    for (enum optimiser i = 0; i < OPTIMISERS; i++) {
        struct workbench bench = {0};
        struct kept before = {0}, after = {0};
        assert_int_equal(workbench_begin(&bench, 3, NULL), JOULE_OK);
        workbench_load(&bench, network(i, &FORGE_LOSS_SCALE_OPTIONS));
        keep_slots(&bench, &before);
        set_rows(&bench, 0, INFINITY);
        workbench_run(&bench);
        keep_slots(&bench, &after);
        assert_kept(&before, &after, true);
        free(before.bytes);
        free(after.bytes);
        workbench_end(&bench);
    }
}

static void test_the_scale_grows_after_good_steps(void **state)
{
    struct workbench *bench = *state;
    forge_loss_scale_options options = FORGE_LOSS_SCALE_OPTIONS;
    options.growth_steps = 3;
    options.initial = 8;
    options.growth = 4;
    workbench_load(bench, network(ADAMW, &options));
    static const float extras[] = {0, 0, 0, 0, NAN, 0, 0, 0, 0};
    static const float scales[] = {8, 8, 32, 32, 16, 16, 16, 64, 64};
    for (int step = 0; step < 9; step++) {
        set_rows(bench, step, extras[step]);
        workbench_run(bench);
        assert_true(float_slot(bench, "loss_scale.scale") == scales[step]);
    }
    assert_int_equal(count_slot(bench, "optimiser.step"), 8);
}

/* A scale that is far too large falls until the gradients fit into f16, and the training then succeeds. */
static void test_a_training_in_f16_finds_its_scale(void **state)
{
    struct workbench *bench = *state;
    forge_loss_scale_options options = FORGE_LOSS_SCALE_OPTIONS;
    options.initial = 0x1p40;
    bench->precision = FORGE_PRECISION_F16;
    workbench_load(bench, network(ADAMW, &options));
    float first = NAN, last = NAN;
    for (int step = 0; step < 200; step++) {
        set_rows(bench, 0, 0);
        workbench_run(bench);
        forge_tensor loss = workbench_output(bench, "loss");
        last = *(const float *)forge_tensor_data(&loss);
        first = step == 0 ? last : first;
    }
    assert_in_range(count_slot(bench, "loss_scale.skipped_steps"), 20, 40);
    assert_true(last < 0.7f * first);
}

static void test_wrong_options_are_refused(void **state)
{
    (void)state;
    joule_error error = {0};
    struct workbench bench = {0};
    forge_loss_scale_options options = FORGE_LOSS_SCALE_OPTIONS;
    options.backoff = 1;
    assert_int_equal(workbench_begin(&bench, 3, NULL), JOULE_OK);
    assert_int_equal(workbench_try_load(&bench, network(SGD, &options), &error), JOULE_INVALID);
    assert_contains(error.message, "backoff in (0, 1)");
    workbench_end(&bench);
}

int main(void)
{
#define with_device(test) cmocka_unit_test_setup_teardown(test, workbench_set_up, workbench_tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_scale_changes_no_bit),
        cmocka_unit_test(test_a_step_with_an_overflow_changes_nothing_and_halves_the_scale),
        cmocka_unit_test(test_the_first_step_can_be_skipped),
        with_device(test_the_scale_grows_after_good_steps),
        with_device(test_a_training_in_f16_finds_its_scale),
        cmocka_unit_test(test_wrong_options_are_refused),
    };
    return cmocka_run_group_tests_name("loss_scale", tests, NULL, NULL);
}
