/* Checks the device that only estimates. Times and joules follow the roofline model of a given machine, and
 * no values are computed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <forge/compiler.h>
#include <forge/energy.h>
#include <forge/serialize.h>
#include <forge/telemetry.h>
#include "forge/backends/estimated/machine.h"
#include "forge/backends/estimated/reference_rates.h"
#include "forge/reference/reference.h"
#include "support/check.h"

/* The machine has 1 GFLOP/s, 1 GB/s, 1 ms per launch, 2 W idle + 8 W busy, 1 nJ/FLOP and 10 nJ/byte. */
#define MACHINE                                                                                              \
    "flop_per_s=1e9,bytes_per_s=1e9,launch_seconds=1e-3,idle_watts=2,busy_watts=8,flop_joules=1e-9,"         \
    "byte_joules=1e-8"

#define MACHINE_RATES "flop_per_s=1e9,bytes_per_s=1e9,idle_watts=2,busy_watts=8,flop_joules=0,byte_joules=0"

enum { N = 256 };

struct bench {
    forge_device *device;
    forge_states *states;
    forge_program *program;
    forge_instance *instance;
};

/* Returns a graph that computes y = relu(x * w) and w = w + 1. FLOP limit the product, and bytes limit
 * relu. */
static forge_graph *layer(void)
{
    forge_builder *b = forge_builder_new();
    forge_shape shape = forge_shape_of(N, N);
    forge_init one = {.kind = FORGE_INIT_CONSTANT, .a = 1};
    forge_slot w = forge_state(b, "w", FORGE_F32, shape, one);
    forge_value x = forge_input(b, "x", FORGE_F32, shape), weight = forge_read(b, w);
    forge_scope_push(b, "layer");
    forge_value product = forge_matmul(b, x, weight, 0);
    forge_output(b, "y", forge_relu(b, product));
    forge_scope_pop(b);
    forge_phase_set(b, FORGE_PHASE_OPTIMISER);
    forge_write(b, w, forge_add(b, weight, forge_scalar(b, FORGE_F32, 1)), true);
    forge_graph *graph = NULL;
    assert_int_equal(forge_builder_finish(b, &graph, NULL), JOULE_OK);
    return graph;
}

static void load(struct bench *bench, const char *device, forge_graph *graph)
{
    joule_error error = {0};
    assert_int_equal(forge_device_open(device, &bench->device, &error), JOULE_OK);
    assert_int_equal(forge_states_new(bench->device, 1, &bench->states, &error), JOULE_OK);
    const forge_compile_options options = {.struct_size = sizeof options, .skip = "fuse"};
    assert_int_equal(forge_compile_with(graph, bench->device, &options, &bench->program, &error), JOULE_OK);
    assert_int_equal(
        forge_instance_new(bench->program, bench->device, bench->states, &bench->instance, &error), JOULE_OK);
    forge_graph_free(graph);
}

static void unload(struct bench *bench)
{
    forge_instance_free(bench->instance);
    forge_program_free(bench->program);
    forge_states_free(bench->states);
    forge_device_close(bench->device);
}

static int set_up(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    assert_non_null(bench);
    setenv("FORGE_MACHINE", MACHINE, 1);
    load(bench, "estimated", layer());
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    unload(*state);
    free(*state);
    unsetenv("FORGE_MACHINE");
    return 0;
}

/* Returns the expected seconds of a launch of `layer`. The work was counted by hand. */
static double seconds_of(const forge_launch_facts *launch)
{
    bool is_product = strcmp(launch->op, "matmul") == 0;
    double bytes = (is_product ? 3.0 : 2.0) * N * N * 4;
    bytes += strcmp(launch->op, "binary") == 0 ? 4 : 0; /* the constant 1 is also read */
    double flop = is_product ? 2.0 * N * N * N : (double)N * N;
    assert_near(launch->flop, flop, 0.5);
    assert_near(launch->read_bytes + launch->written_bytes, bytes, 0.5);
    return fmax(flop, bytes) * 1e-9 + 1e-3;
}

static double joules_of(const forge_launch_facts *launch)
{
    return seconds_of(launch) * 10 + launch->flop * 1e-9 +
           (launch->read_bytes + launch->written_bytes) * 1e-8;
}

static void assert_modelled(joule_quantity q, double value)
{
    assert_near(q.value, value, 1e-9 * fabs(value) + 1e-12);
    assert_true(q.low < value && value < q.high);
    assert_int_equal(q.cls, JOULE_CLASS_MODELLED);
}

/* The device has a virtual clock. Launches take their expected time, even if the test sleeps. */
static void test_launches_take_the_time_of_the_roofline_model(void **state)
{
    struct bench *bench = *state;
    forge_launch_facts launch = {.struct_size = sizeof launch};
    joule_quantity seconds, joules;
    double all_s = 0, all_joules = 0;
    size_t count = 0;
    for (int i = 0; i < 5; i++)
        assert_int_equal(forge_instance_run(bench->instance, NULL), JOULE_OK);
    for (; forge_instance_launch(bench->instance, count, &launch) == JOULE_OK; count++) {
        assert_near(launch.seconds, 5 * seconds_of(&launch), 10e-9);
        assert_int_equal(launch.runs, 5);
        all_s += seconds_of(&launch);
        all_joules += joules_of(&launch);
    }
    assert_int_equal(count, 3);
    assert_int_equal(forge_expected_run(bench->instance, &seconds, &joules), JOULE_OK);
    assert_modelled(seconds, all_s);
    assert_modelled(joules, all_joules);
}

static void test_telemetry_counts_from_a_reset_on(void **state)
{
    struct bench *bench = *state;
    joule_quantity seconds, joules, q;
    assert_int_equal(forge_expected_run(bench->instance, &seconds, &joules), JOULE_OK);
    assert_int_equal(forge_energy_consumed(bench->device, &q), JOULE_OK);
    assert_true(q.value == 0 && q.high == 0);
    assert_near(forge_power_draw_watts(bench->device), 2, 1e-9); /* power of the idle machine */
    for (int i = 0; i < 3; i++)
        assert_int_equal(forge_instance_run(bench->instance, NULL), JOULE_OK);
    assert_int_equal(forge_energy_consumed(bench->device, &q), JOULE_OK);
    assert_modelled(q, 3 * joules.value);
    assert_int_equal(forge_power_draw(bench->device, &q), JOULE_OK);
    assert_modelled(q, joules.value / seconds.value);
    assert_true(q.high / q.value < joules.high / joules.value); /* errors of time cancel in power */
    assert_int_equal(forge_reset_counters(bench->device), JOULE_OK);
    assert_near(forge_energy_consumed_joules(bench->device), 0, 0);
    assert_int_equal(forge_instance_run(bench->instance, NULL), JOULE_OK);
    assert_near(forge_energy_consumed_joules(bench->device), joules.value, 1e-9);
    assert_int_equal(forge_temperature(bench->device, &q), JOULE_ABSENT);
    assert_true(isnan(q.value) && isnan(forge_temperature_celsius(bench->device)));
}

static void test_steps_phases_and_operations_add_up(void **state)
{
    struct bench *bench = *state;
    forge_instance *instance = bench->instance;
    joule_quantity seconds, joules, step, forward, update;
    forge_energy_facts item = {.struct_size = sizeof item};
    forge_energy_sum sum = {.struct_size = sizeof sum};
    double items = 0;
    assert_int_equal(forge_expected_run(instance, &seconds, &joules), JOULE_OK);
    /* runs before forge_energy_start are not counted */
    assert_int_equal(forge_instance_run(instance, NULL), JOULE_OK);
    assert_int_equal(forge_energy_start(instance, NULL, JOULE_TOTAL, NULL), JOULE_OK);
    assert_int_equal(forge_step_energy(instance, FORGE_ALL_PHASES, &step), JOULE_PENDING);
    assert_true(isnan(step.value));
    for (int i = 0; i < 7; i++)
        assert_int_equal(forge_instance_run(instance, NULL), JOULE_OK);
    assert_int_equal(forge_energy_collect(instance), JOULE_OK);
    assert_int_equal(forge_step_energy(instance, FORGE_ALL_PHASES, &step), JOULE_OK);
    assert_modelled(step, joules.value);
    assert_near(step.high, joules.high, 1e-9);
    assert_int_equal(forge_step_energy(instance, FORGE_PHASE_FORWARD, &forward), JOULE_OK);
    assert_int_equal(forge_step_energy(instance, FORGE_PHASE_OPTIMISER, &update), JOULE_OK);
    assert_near(forward.value + update.value, step.value, 1e-9);
    assert_int_equal(forge_scope_energy(instance, "layer", FORGE_ALL_PHASES, &forward), JOULE_OK);
    assert_near(forward.value, 7 * (step.value - update.value), 1e-9);
    for (size_t i = 0; i < forge_energy_count(instance); i++) {
        assert_int_equal(forge_energy_get(instance, i, &item), JOULE_OK);
        assert_int_equal(item.group, i);
        items += item.joules.value;
    }
    assert_string_equal(item.op, ""); /* the last item is the time between launches, which is 0 here */
    assert_near(item.joules.value, 0, 0);
    assert_int_equal(forge_energy_total(instance, &sum), JOULE_OK);
    assert_modelled(sum.joules, items);
    assert_near(sum.seconds, 7 * seconds.value, 1e-8);
    assert_near(sum.covered_seconds, sum.seconds, 0);
    assert_int_equal(forge_launch_energy(instance, 0, &joules), JOULE_OK);
    assert_true(joules.value > 0 && joules.value < sum.joules.value);
}

static void test_nothing_has_a_value(void **state)
{
    struct bench *bench = *state;
    forge_tensor tensor;
    const char *name;
    joule_error error = {0};
    char path[] = "/tmp/forge-estimated-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0 && close(file) == 0 && unlink(path) == 0);
    assert_int_equal(forge_instance_run(bench->instance, NULL), JOULE_OK);
    assert_int_equal(forge_instance_get(bench->instance, "y", &tensor, &error), JOULE_UNSUPPORTED);
    assert_contains(error.message, "only estimates");
    assert_int_equal(forge_instance_get(bench->instance, "z", &tensor, &error), JOULE_ABSENT);
    assert_int_equal(forge_states_count(bench->states), 1);
    assert_int_equal(forge_states_get(bench->states, 0, &tensor, &name), JOULE_UNSUPPORTED);
    assert_int_equal(forge_states_find(bench->states, "w", &tensor), JOULE_UNSUPPORTED);
    assert_int_equal(forge_states_find(bench->states, "v", &tensor), JOULE_ABSENT);
    assert_int_equal(forge_states_save(bench->states, path, NULL, NULL, &error), JOULE_UNSUPPORTED);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void test_inputs_are_checked_and_not_kept(void **state)
{
    struct bench *bench = *state;
    forge_tensor right, wrong;
    forge_shape shape = forge_shape_of(N, N), other = forge_shape_of(N, N + 1);
    assert_int_equal(forge_tensor_new(FORGE_F32, &shape, &right, NULL), JOULE_OK);
    assert_int_equal(forge_tensor_new(FORGE_F32, &other, &wrong, NULL), JOULE_OK);
    assert_int_equal(forge_instance_set(bench->instance, "x", &right, NULL), JOULE_OK);
    assert_int_equal(forge_instance_set(bench->instance, "x", &wrong, NULL), JOULE_INVALID);
    forge_buffer_release(right.buffer);
    forge_buffer_release(wrong.buffer);
}

static void test_programs_are_exchangeable_with_those_of_the_cpu(void **state)
{
    struct bench *bench = *state, cpu = {0};
    forge_instance *crossed = NULL;
    forge_tensor y;
    joule_quantity seconds, joules;
    load(&cpu, "cpu", layer());
    assert_int_equal(forge_expected_run(cpu.instance, &seconds, &joules), JOULE_UNSUPPORTED);
    assert_true(isnan(seconds.value) && isnan(joules.value));
    assert_int_equal(forge_instance_new(bench->program, cpu.device, cpu.states, &crossed, NULL), JOULE_OK);
    /* unlike this device, a CPU needs inputs */
    assert_int_equal(forge_instance_run(crossed, NULL), JOULE_INVALID);
    assert_int_equal(forge_instance_set_zeros(crossed, NULL, NULL), JOULE_OK);
    assert_int_equal(forge_instance_run(crossed, NULL), JOULE_OK);
    assert_int_equal(forge_instance_get(crossed, "y", &y, NULL), JOULE_OK);
    forge_instance_free(crossed);
    assert_int_equal(forge_instance_new(cpu.program, bench->device, bench->states, &crossed, NULL), JOULE_OK);
    assert_int_equal(forge_instance_run(crossed, NULL), JOULE_OK);
    forge_instance_free(crossed); /* another instance uses the same memory again */
    assert_int_equal(forge_instance_new(cpu.program, bench->device, bench->states, &crossed, NULL), JOULE_OK);
    forge_instance_free(crossed);
    unload(&cpu);
}

/* The weights have 64 GiB, more than this machine's memory. They are never accessed. */
static void test_programs_larger_than_memory_can_be_estimated(void **state)
{
    (void)state;
    struct bench bench = {0};
    joule_quantity seconds, joules;
    forge_builder *b = forge_builder_new();
    forge_init none = {.kind = FORGE_INIT_NORMAL, .b = 1};
    forge_slot w = forge_state(b, "w", FORGE_F32, forge_shape_of(1 << 17, 1 << 17), none);
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(1, 1 << 17));
    forge_output(b, "y", forge_matmul(b, x, forge_read(b, w), 0));
    forge_graph *graph = NULL;
    assert_int_equal(forge_builder_finish(b, &graph, NULL), JOULE_OK);
    setenv("FORGE_MACHINE", MACHINE, 1);
    load(&bench, "estimated", graph);
    unsetenv("FORGE_MACHINE");
    assert_int_equal(forge_instance_run(bench.instance, NULL), JOULE_OK);
    assert_int_equal(forge_expected_run(bench.instance, &seconds, &joules), JOULE_OK);
    assert_near(seconds.value, 0x1p36 * 1e-9, 0.01); /* 2^36 bytes at 1 GB/s */
    unload(&bench);
}

static void test_this_machine_is_described(void **state)
{
    (void)state;
    forge_device *device;
    forge_device_facts facts = {.struct_size = sizeof facts}, half = facts;
    assert_int_equal(forge_device_open("estimated", &device, NULL), JOULE_OK);
    assert_int_equal(forge_device_set_threads(device, 2, NULL), JOULE_OK);
    assert_int_equal(forge_device_query(device, &facts), JOULE_OK);
    assert_true(facts.is_estimate_only);
    size_t count = 0;
    for (const forge_device_figure *f = facts.figures; f->name; f++, count++) {
        assert_true(f->value.low < f->value.value && f->value.value < f->value.high && f->value.low > 0);
        assert_true(f->value.cls == JOULE_CLASS_MODELLED || f->value.cls == JOULE_CLASS_ASSUMED);
        assert_true(*f->unit && *f->source);
    }
    assert_true(count >= 7);
    assert_int_equal(forge_device_set_threads(device, 1, NULL), JOULE_OK);
    assert_int_equal(forge_device_query(device, &half), JOULE_OK);
    assert_near(half.figures[0].value.value / facts.figures[0].value.value, 0.5, 1e-9);
    forge_device_close(device);
}

static void test_wrong_figures_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {{"clock=3", "unknown figure 'clock'; known: flop_per_s"},
                 {"idle_watts", "idle_watts must be a number >= 0, in W"},
                 {"idle_watts=-1", ">= 0"},
                 {"idle_watts=1,flop_per_s=0", "flop_per_s must be a number > 0"},
                 {"bytes_per_s=1e9 ,flop_per_s=fast", "flop_per_s must be"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        forge_device *device = NULL;
        joule_error error = {0};
        setenv("FORGE_MACHINE", cases[i].text, 1);
        assert_int_equal(forge_device_open("estimated", &device, &error), JOULE_INVALID);
        assert_contains(error.message, cases[i].message);
    }
    unsetenv("FORGE_MACHINE");
}

/* --- kernels of the reference --------------------------------------------------------------------------- */

static double expected_of(const forge_instance *instance, const char *op)
{
    forge_launch_facts facts = {.struct_size = sizeof facts};
    for (size_t i = 0; forge_instance_launch(instance, i, &facts) == JOULE_OK; i++)
        if (strcmp(facts.op, op) == 0)
            return facts.seconds;
    fail_msg("there is no launch of %s", op);
    return NAN;
}

/* Returns the expected seconds of an operation on elements in rows of this length. */
static double expect_rows(const char *op, int64_t columns)
{
    struct bench bench = {0};
    forge_graph *graph = NULL;
    forge_builder *b = forge_builder_new();
    forge_shape shape = forge_shape_of((1 << 20) / columns, columns);
    forge_value x = forge_input(b, "x", FORGE_F32, shape), y = x, indices;
    if (strcmp(op, "concat") == 0)
        y = forge_concat(b, (forge_value[]){x, x, x}, 3, 1);
    else if (strcmp(op, "pad") == 0)
        y = forge_pad(b, x, (int64_t[]){1, 0}, (int64_t[]){0, 1}, 0);
    else if (strcmp(op, "sort") == 0)
        y = forge_sort(b, x, 1, false, &indices);
    else
        y = forge_scan(b, FORGE_SUM, x, 1, 0);
    forge_output(b, "y", y);
    assert_int_equal(forge_builder_finish(b, &graph, NULL), JOULE_OK);
    load(&bench, "estimated", graph);
    assert_int_equal(forge_device_set_threads(bench.device, 1, NULL), JOULE_OK);
    assert_int_equal(forge_instance_run(bench.instance, NULL), JOULE_OK);
    double seconds = expected_of(bench.instance, op);
    unload(&bench);
    return seconds;
}

/* A copy of long rows is faster than a loop over elements. A copy of short rows takes longer, and a sort
 * takes longest. */
static void test_kernels_of_the_reference_have_rates_of_their_own(void **state)
{
    (void)state;
    for (enum op op = 0; op < OP_COUNT; op++)
        assert_int_equal(isnan(reference_rate(op)), !reference_of(op));
    unsetenv("FORGE_MACHINE");
    double concat = expect_rows("concat", 1024), short_rows = expect_rows("concat", 2);
    assert_true(1.5 * concat < expect_rows("scan", 1024));
    assert_true(20 * concat < expect_rows("sort", 1024));
    assert_true(3 * concat < short_rows);
    assert_true(3 * expect_rows("pad", 1024) < expect_rows("pad", 2));
}

/* Four cores, of which two reach the rate of bytes. A limit of the cores changes seconds and watts. */
static void test_launches_on_fewer_cores(void **state)
{
    (void)state;
    struct machine machine = {0};
    struct expected e;
    joule_error error = {0};
    machine.cores.cores = 64;
    assert_ok(machine_read(&machine, "cores=4,core_bytes_per_s=5e8,launch_seconds=0," MACHINE_RATES, &error),
              &error);
    struct machine_work flop = {.cost.flop = 1e9}, bytes = {.cost.read_bytes = 1e9};
    static const double flop_s[] = {1, 4, 2, 4.0 / 3, 1, 1}, bytes_s[] = {1, 2, 1, 1, 1, 1};
    for (unsigned cores = 0; cores <= 5; cores++) {
        double watts = 2 + 8 * (cores && cores < 4 ? cores / 4.0 : 1);
        flop.cores = bytes.cores = cores;
        machine_expect(&machine, &flop, &e);
        assert_near(e.seconds, flop_s[cores], 1e-9);
        assert_near(e.joules, flop_s[cores] * watts, 1e-9);
        machine_expect(&machine, &bytes, &e);
        assert_near(e.seconds, bytes_s[cores], 1e-9);
    }
    struct device_rates rates = machine_rates(&machine);
    assert_int_equal(rates.cores, 4);
    assert_near(rates.flop_per_s, 2.5e8, 1e-3);
    assert_near(rates.core_watts, 2, 1e-9);
    assert_true(rates.l2_bytes == 0 && rates.llc_bytes == 0 && !rates.is_calibrated);
    assert_int_equal(machine_read(&machine, "cores=0", &error), JOULE_INVALID);
    assert_int_equal(machine_read(&machine, "l2_bytes=-1", &error), JOULE_INVALID);
    assert_int_equal(machine_read(&machine, "l2_bytes", &error), JOULE_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launches_on_fewer_cores),
        cmocka_unit_test_setup_teardown(test_launches_take_the_time_of_the_roofline_model, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_telemetry_counts_from_a_reset_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_steps_phases_and_operations_add_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nothing_has_a_value, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_inputs_are_checked_and_not_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_programs_are_exchangeable_with_those_of_the_cpu, set_up,
                                        tear_down),
        cmocka_unit_test(test_programs_larger_than_memory_can_be_estimated),
        cmocka_unit_test(test_this_machine_is_described),
        cmocka_unit_test(test_wrong_figures_are_refused),
        cmocka_unit_test(test_kernels_of_the_reference_have_rates_of_their_own),
    };
    return cmocka_run_group_tests_name("estimated", tests, NULL, NULL);
}
