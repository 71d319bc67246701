/* Checks the CPU's optimiser kernels, for each instruction set, against their bodies in f64, and the memory
 * that a step uses. */
#include "unit/forge/composite_trial.h"

#include "forge/ir/program.h"
#include "support/check.h"

static struct trial adamw_of(float *data, size_t count, const float *numbers)
{
    struct trial t = {.attributes = {.name = "adamw"}, .input_count = ADAMW_INPUTS, .tolerance = 0x1p-22};
    for (size_t i = 0; i < ADAMW_KEEP; i++)
        t.inputs[i] = view_packed(FORGE_F32, data + i * count, forge_shape_of((int64_t)count));
    for (size_t i = ADAMW_KEEP; i < ADAMW_INPUTS; i++)
        t.inputs[i] = view_packed(FORGE_F32, (float *)&numbers[i - ADAMW_KEEP], (forge_shape){0});
    for (size_t i = 0; i < count; i++)
        data[ADAMW_EXP_AVG_SQ * count + i] = fabsf(data[ADAMW_EXP_AVG_SQ * count + i]);
    return t;
}

static const float numbers[] = {0.9995f, 0.01f, 0.04f, 0.1f, 0.999f, 0.001f, 1e-8f};

static void test_adamw_of_every_length(void **state)
{
    float *data = random_floats(FORGE_F32, 4 * 10001 + 1);
    for (size_t n = 0; n <= 2 * 16 + 1; n++) {
        struct trial t = adamw_of(data + 1, n, numbers);
        check_trial(*state, &t);
    }
    struct trial t = adamw_of(data, 10001, numbers);
    check_trial(*state, &t);
    free(data);
}

static void test_adamw_without_decay_at_its_first_step(void **state)
{
    static const float first[] = {1, 1e-3f, 1, 0.1f, 0.999f, 0.001f, 1e-8f};
    float *data = random_floats(FORGE_F32, 4 * 100);
    memset(data + 200, 0, 200 * sizeof *data);
    struct trial t = adamw_of(data, 100, first);
    check_trial(*state, &t);
    free(data);
}

static void test_adamw_of_nan_equals_the_reference(void **state)
{
    float *data = random_floats(FORGE_F32, 4 * 40);
    for (int i = 0; i < 12; i++)
        data[40 * (i % 4) + 3 * i] = i < 4 ? NAN : i < 8 ? INFINITY : -INFINITY;
    data[40 * 3 + 33] = 0;
    struct trial t = adamw_of(data, 40, numbers);
    check_trial(*state, &t);
    free(data);
}

/* --- in programs ---------------------------------------------------------------------------------------- */

static forge_value slot_value(forge_builder *b, const char *name, forge_shape shape)
{
    return forge_read(b, forge_state(b, name, FORGE_F32, shape, (forge_init){FORGE_INIT_UNIFORM, 0, 1}));
}

/* Returns an optimiser step. Its gradient and scalars are inputs. */
static forge_builder *step_of(forge_shape shape)
{
    static const char *const slots[] = {"w", "w.exp_avg", "w.exp_avg_sq"};
    forge_builder *b = forge_builder_new();
    forge_value in[ADAMW_INPUTS] = {slot_value(b, slots[0], shape), forge_input(b, "g", FORGE_F32, shape),
                                    slot_value(b, slots[1], shape), slot_value(b, slots[2], shape)};
    forge_value out[3];
    for (size_t i = ADAMW_KEEP; i < ADAMW_INPUTS; i++)
        in[i] = forge_input(b, (char[]){(char)('A' + i), 0}, FORGE_F32, (forge_shape){0});
    library_composite_many(b, &(struct composite_attributes){.name = "adamw"}, in, ADAMW_INPUTS, out);
    for (size_t i = 0; i < 3; i++)
        forge_write(b, forge_state(b, slots[i], FORGE_F32, shape, (forge_init){FORGE_INIT_UNIFORM, 0, 1}),
                    out[i], true);
    return b;
}

static void test_a_step_needs_no_memory(void **state)
{
    struct workbench *bench = *state;
    workbench_load(bench, step_of(forge_shape_of(100, 101)));
    assert_int_equal(workbench_facts(bench).arena_bytes, 0);
    assert_int_equal(workbench_facts(bench).launches, 1);
}

static void test_cost_of_a_step_counts_flop_and_bytes(void **state)
{
    struct workbench *bench = *state;
    workbench_load(bench, step_of(forge_shape_of(100, 10)));
    const struct program_launch *launch = workbench_launch(bench, "adamw");
    assert_string_equal(program_string(bench->program, launch->kernel), "f32_adamw");
    assert_true(launch->cost.flop == 14 * 1000);
    assert_true(launch->cost.read_bytes == 4 * 4000 + 7 * 4);
    assert_true(launch->cost.written_bytes == 3 * 4000);
    forge_launch_facts facts = {.struct_size = sizeof facts};
    size_t i = (size_t)(launch - program_launches(bench->program));
    assert_int_equal(forge_instance_launch(bench->instance, i, &facts), JOULE_OK);
    assert_string_equal(facts.op, "adamw");
    char *page = NULL;
    assert_int_equal(forge_program_print(bench->program, &page, NULL), JOULE_OK);
    assert_contains(page, "  adamw by f32_adamw: ");
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_adamw_of_every_length, workbench_set_up, workbench_tear_down),
        cmocka_unit_test_setup_teardown(test_adamw_without_decay_at_its_first_step, workbench_set_up,
                                        workbench_tear_down),
        cmocka_unit_test_setup_teardown(test_adamw_of_nan_equals_the_reference, workbench_set_up,
                                        workbench_tear_down),
        cmocka_unit_test_setup_teardown(test_a_step_needs_no_memory, workbench_set_up, workbench_tear_down),
        cmocka_unit_test_setup_teardown(test_cost_of_a_step_counts_flop_and_bytes, workbench_set_up,
                                        workbench_tear_down),
    };
    return cmocka_run_group_tests_name("cpu update", tests, NULL, NULL);
}
