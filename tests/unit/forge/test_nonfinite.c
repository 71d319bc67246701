/* Checks that a checked run finds the origin of NaNs and infinities, also for results in place and after a
 * training has diverged. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <forge/nn.h>
#include <forge/nonfinite.h>
#include <forge/optim.h>
#include "support/check.h"
#include "support/workbench.h"

static joule_error error;

static forge_nonfinite check(struct workbench *bench, joule_status expected)
{
    forge_nonfinite found = {.struct_size = sizeof found};
    error = (joule_error){0};
    assert_int_equal(forge_instance_run_checked(bench->instance, &found, &error), expected);
    assert_int_equal(found.origin != FORGE_ORIGIN_NONE, expected == JOULE_FAILED);
    return found;
}

static void test_invalid_input_is_named(void **state)
{
    struct workbench *bench = *state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2, 3));
    forge_output(b, "y", forge_relu(b, forge_exp(b, x)));
    workbench_load(bench, b);
    workbench_set(bench, "x", (float[]){0, 1, 2, 3, 4, 5});
    check(bench, JOULE_OK);
    workbench_set(bench, "x", (float[]){0, 1, INFINITY, 3, 4, NAN});
    forge_nonfinite found = check(bench, JOULE_FAILED);
    assert_int_equal(found.origin, FORGE_ORIGIN_INPUT);
    assert_string_equal(found.made.name, "x");
    assert_int_equal(found.element, 5);
    assert_true(isnan(found.value) && found.made.min == 0 && found.made.max == 4);
    assert_int_equal(found.made.nans, 1);
    assert_int_equal(found.made.infinities, 1);
    assert_contains(error.message, "the input contains nan at [1,2] of \"x\" f32[2,3], the first of 2");
}

static void test_a_rate_without_end(void **state)
{
    struct workbench *bench = *state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2));
    forge_output(b, "y", forge_mul(b, x, forge_input(b, "rate", FORGE_F32, (forge_shape){0})));
    workbench_load(bench, b);
    workbench_set(bench, "x", (float[]){0, INFINITY});
    workbench_set(bench, "rate", (float[]){2});
    check(bench, JOULE_OK);
    workbench_set(bench, "rate", (float[]){INFINITY});
    assert_int_equal(check(bench, JOULE_FAILED).origin, FORGE_ORIGIN_INPUT);
    assert_contains(error.message, "the input contains inf at [] of \"rate\" f32[]");
}

static void test_a_product_that_overflows(void **state)
{
    struct workbench *bench = *state;
    bench->skip = "fuse"; /* the operations are named one by one */
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2, 2));
    forge_value w = forge_input(b, "w", FORGE_F32, forge_shape_of(2, 3));
    forge_scope_push(b, "net");
    forge_scope_push(b, "fc1");
    forge_value y = forge_matmul(b, x, w, 0);
    forge_scope_pop(b);
    /* inf - inf is NaN, but is computed after the origin */
    forge_output(b, "z", forge_sub(b, forge_relu(b, y), forge_relu(b, y)));
    forge_scope_pop(b);
    workbench_load(bench, b);
    workbench_set(bench, "x", (float[]){1, 2, -1e30f, 0.5f});
    workbench_set(bench, "w", (float[]){1, 1e30f, 2, 3, 4, 5});
    forge_nonfinite found = check(bench, JOULE_FAILED);
    assert_int_equal(found.origin, FORGE_ORIGIN_LAUNCH);
    assert_string_equal(found.op, "matmul");
    assert_string_equal(found.scope, "net/fc1");
    assert_int_equal(found.phase, FORGE_PHASE_FORWARD);
    assert_int_equal(found.element, 4);
    assert_true(found.value < 0 && isinf(found.value));
    assert_int_equal(found.operand_count, 2);
    assert_true(found.operands[0].min == (double)-1e30f && found.operands[0].max == 2);
    assert_contains(error.message, "matmul @net/fc1 (forward) computed -inf at [1,1] of f32[2,3]; from \"x\" "
                                   "f32[2,2] -1e+30 to 2, \"w\" "
                                   "f32[2,3] 1 to 1e+30");
}

/* The slot is multiplied in place. The report must describe its previous contents. */
static void test_result_in_place_reports_its_previous_contents(void **state)
{
    struct workbench *bench = *state;
    forge_builder *b = forge_builder_new();
    forge_init init = {.kind = FORGE_INIT_CONSTANT, .a = 3e20};
    forge_slot slot = forge_state(b, "w", FORGE_F32, forge_shape_of(1000), init);
    forge_value w = forge_read(b, slot);
    forge_write(b, slot, forge_mul(b, w, forge_scalar(b, FORGE_F32, 1e19)), true);
    workbench_load(bench, b);
    forge_nonfinite found = check(bench, JOULE_FAILED);
    assert_string_equal(found.op, "binary");
    assert_string_equal(found.kind, "mul");
    assert_string_equal(found.made.name, "w");
    assert_string_equal(found.operands[0].name, "w");
    assert_int_equal(found.made.infinities, 1000);
    assert_int_equal(found.operands[0].infinities, 0);
    assert_true(found.operands[0].max == (double)3e20f);
    /* the slot is infinite before this run, so no operation of the run is the origin */
    check(bench, JOULE_OK);
}

static void test_invalid_slot_is_named(void **state)
{
    struct workbench *bench = *state;
    forge_builder *b = forge_builder_new();
    forge_slot slot = forge_state(b, "m", FORGE_F64, forge_shape_of(2, 2), (forge_init){0});
    forge_output(b, "y", forge_neg(b, forge_read(b, slot)));
    workbench_load(bench, b);
    check(bench, JOULE_OK);
    forge_tensor m = workbench_slot(bench, "m");
    ((double *)forge_tensor_data(&m))[2] = NAN;
    forge_nonfinite found = check(bench, JOULE_FAILED);
    assert_int_equal(found.origin, FORGE_ORIGIN_SLOT);
    assert_int_equal(found.element, 2);
    assert_contains(error.message, "before the run, the slot contained nan at [1,0] of \"m\" f64[2,2]");
}

static void test_invalid_quotient_is_named(void **state)
{
    struct workbench *bench = *state;
    bench->skip = "fuse"; /* the operations are named one by one */
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(3));
    forge_output(b, "y", forge_div(b, x, forge_relu(b, x)));
    workbench_load(bench, b);
    workbench_set(bench, "x", (float[]){1, 2, 3});
    check(bench, JOULE_OK);
    workbench_set(bench, "x", (float[]){1, 0, 3});
    forge_nonfinite found = check(bench, JOULE_FAILED);
    assert_string_equal(found.kind, "div");
    assert_int_equal(found.element, 1);
    assert_int_equal(found.operand_count, 2);
}

static void test_a_cast_that_overflows(void **state)
{
    struct workbench *bench = *state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2));
    forge_output(b, "y", forge_cast(b, FORGE_F16, x));
    workbench_load(bench, b);
    workbench_set(bench, "x", (float[]){65504, 1e6f});
    forge_nonfinite found = check(bench, JOULE_FAILED);
    assert_string_equal(found.op, "cast");
    assert_int_equal(found.element, 1);
    assert_contains(error.message, "of \"y\" f16[2]; from \"x\" f32[2] 6.55e+04 to 1e+06");
}

/* An infinity that serves as a mask, or as padding of a maximum, is not an error. */
static void test_infinities_that_are_meant(void **state)
{
    struct workbench *bench = *state;
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2, 4));
    forge_value keeps = forge_binary(b, FORGE_GT, x, forge_scalar(b, FORGE_F32, 0));
    forge_value lowest = forge_broadcast(b, forge_scalar(b, FORGE_F32, -INFINITY), forge_shape_of(2, 4));
    forge_value masked = forge_select(b, keeps, x, lowest);
    forge_output(b, "y", forge_exp(b, forge_log_softmax(b, masked)));
    forge_value padded = forge_pad(b, x, (int64_t[]){0, 1}, (int64_t[]){0, 1}, -INFINITY);
    forge_output(b, "z", forge_reduce(b, FORGE_MAXIMUM, padded, 2, false));
    workbench_load(bench, b);
    workbench_set(bench, "x", (float[]){1, -2, 3, -4, 5, 6, -7, 8});
    check(bench, JOULE_OK);
}

/* The graph computes log(0), whose result does not matter. This infinity is reported once. Later runs ignore
 * it, so that it does not hide other origins. */
static void test_infinities_that_are_usual(void **state)
{
    struct workbench *bench = *state;
    bench->skip = "fuse"; /* the operations are named one by one */
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(2));
    forge_value is_positive = forge_binary(b, FORGE_GT, x, forge_scalar(b, FORGE_F32, 0));
    forge_value safe = forge_select(b, is_positive, forge_log(b, x), x);
    forge_output(b, "y", forge_sqrt(b, safe));
    workbench_load(bench, b);
    workbench_set(bench, "x", (float[]){0, 4});
    assert_string_equal(check(bench, JOULE_FAILED).kind, "log");
    check(bench, JOULE_OK);
    workbench_set(bench, "x", (float[]){0, 0.5f});
    assert_string_equal(check(bench, JOULE_FAILED).kind, "sqrt");
}

/* Loads a training of y = mlp(x) towards 0. */
static void load_training(struct workbench *bench)
{
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(4, 8));
    forge_value rate = forge_input(b, "rate", FORGE_F32, (forge_shape){0});
    forge_value y = forge_mlp(b, "mlp", x, (int64_t[]){6, 3}, 2);
    forge_value loss = forge_reduce(b, FORGE_SUM, forge_mul(b, y, y), 3, false);
    forge_output(b, "loss", loss);
    forge_sgd_options sgd = {.struct_size = sizeof sgd, .momentum = 0.9};
    forge_sgd(b, loss, rate, &sgd);
    workbench_load(bench, b);
    float numbers[32];
    for (int i = 0; i < 32; i++)
        numbers[i] = (float)(i % 7) - 3;
    workbench_set(bench, "x", numbers);
}

static float step(struct workbench *bench, float rate)
{
    workbench_set(bench, "rate", &rate);
    workbench_run(bench);
    forge_tensor loss = workbench_output(bench, "loss");
    return *(float *)forge_tensor_data(&loss);
}

static void test_a_learning_rate_that_is_too_high(void **state)
{
    struct workbench *bench = *state;
    float rate = 1e30f;
    int bad = 0;
    load_training(bench);
    for (int i = 0; i < 3; i++)
        step(bench, 1e-3f);
    assert_int_equal(forge_states_snapshot(bench->states, NULL), JOULE_OK);
    while (isfinite(step(bench, rate)))
        bad++;
    assert_in_range(bad, 1, 5);
    /* too late to find the origin: all values are non-finite */
    assert_int_equal(check(bench, JOULE_FAILED).origin, FORGE_ORIGIN_SLOT);
    assert_int_equal(forge_states_restore(bench->states, NULL), JOULE_OK);
    for (int i = 0; i < bad; i++)
        assert_true(isfinite(step(bench, rate)));
    workbench_set(bench, "rate", &rate);
    forge_nonfinite found = check(bench, JOULE_FAILED);
    assert_int_equal(found.origin, FORGE_ORIGIN_LAUNCH);
    assert_true(strncmp(found.scope, "mlp", 3) == 0 || found.phase == FORGE_PHASE_FORWARD);
    assert_true(found.operand_count > 0);
    for (uint32_t i = 0; i < found.operand_count; i++)
        assert_true(found.operands[i].nans == 0 && found.operands[i].infinities == 0);
}

static void test_snapshot_is_restored(void **state)
{
    struct workbench *bench = *state;
    float losses[4], again[4];
    assert_int_equal(forge_states_restore(bench->states, &error), JOULE_ABSENT);
    load_training(bench);
    step(bench, 1e-3f);
    assert_int_equal(forge_states_snapshot(bench->states, NULL), JOULE_OK);
    for (int i = 0; i < 4; i++)
        losses[i] = step(bench, 1e-3f);
    assert_int_equal(forge_states_restore(bench->states, NULL), JOULE_OK);
    for (int i = 0; i < 4; i++)
        again[i] = step(bench, 1e-3f);
    assert_memory_equal(losses, again, sizeof losses);
    assert_true(losses[3] < losses[0]);
}

/* A checked run gives the same bits as an unchecked one. */
static void test_checked_run_gives_the_same_bits(void **state)
{
    struct workbench *bench = *state;
    float rate = 1e-3f, loss;
    load_training(bench);
    assert_int_equal(forge_states_snapshot(bench->states, NULL), JOULE_OK);
    step(bench, rate);
    loss = step(bench, rate);
    assert_int_equal(forge_states_restore(bench->states, NULL), JOULE_OK);
    check(bench, JOULE_OK);
    check(bench, JOULE_OK);
    forge_tensor again = workbench_output(bench, "loss");
    assert_memory_equal(forge_tensor_data(&again), &loss, sizeof loss);
    forge_launch_facts launch = {.struct_size = sizeof launch};
    assert_int_equal(forge_instance_launch(bench->instance, 0, &launch), JOULE_OK);
    assert_int_equal(launch.runs, 2); /* two normal runs; checked runs are not counted */
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, workbench_set_up, workbench_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_invalid_input_is_named),    TEST(test_a_rate_without_end),
        TEST(test_a_product_that_overflows),  TEST(test_result_in_place_reports_its_previous_contents),
        TEST(test_invalid_slot_is_named),     TEST(test_invalid_quotient_is_named),
        TEST(test_a_cast_that_overflows),     TEST(test_infinities_that_are_meant),
        TEST(test_infinities_that_are_usual), TEST(test_a_learning_rate_that_is_too_high),
        TEST(test_snapshot_is_restored),      TEST(test_checked_run_gives_the_same_bits),
    };
    return cmocka_run_group_tests_name("nonfinite", tests, NULL, NULL);
}
