/* Checks scheduled programs: they compute the same bits as programs in the order of the graph, keep their
 * bounds, and survive a file. On two simulated machines, a scripted meter confirms which numbers of cores
 * need fewer joules. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include <forge/compiler.h>
#include <forge/energy.h>
#include <forge/random.h>
#include "base/clock.h"
#include "forge/hal/backend.h"
#include "forge/ir/program.h"
#include "support/check.h"
#include "support/graphs.h"
#include "support/random_graph.h"
#include "support/side.h"

static void note_facts(const forge_schedule_facts *facts, void *context)
{
    *(forge_schedule_facts *)context = *facts;
}

static forge_compile_options options_for(forge_minimise objective, forge_schedule_facts *facts)
{
    return (forge_compile_options){.struct_size = sizeof(forge_compile_options),
                                   .objective = objective,
                                   .notify_context = facts,
                                   .notify_schedule = facts ? note_facts : NULL};
}

/* --- the same bits -------------------------------------------------------------------------------------- */

/* The bound is the least number of live bytes that a first schedule reaches, so memory decides the order. */
static void test_schedules_change_no_bits(void **state)
{
    (void)state;
    forge_device *device;
    size_t moved = 0, less_memory = 0, graphs = 0, is_exact = 0, at_most = 0;
    forge_program_facts program = {.struct_size = sizeof program};
    assert_int_equal(forge_device_open("cpu", &device, NULL), JOULE_OK);
    assert_int_equal(forge_device_set_threads(device, 3, NULL), JOULE_OK);
    for (uint64_t seed = 0; seed < 60; seed++) {
        forge_graph *graph = random_graph(seed, 20 + seed % 60, RANDOM_GRAPH_GRADIENTS);
        forge_schedule_facts facts = {0};
        forge_compile_options options =
            options_for((forge_minimise)(FORGE_MINIMISE_ENERGY + seed % 3), &facts);
        struct side a = side_load(device, graph, NULL), b = side_load(device, graph, &options);
        assert_true(facts.launches > 0 && facts.chosen_seconds > 0 && facts.chosen_joules > 0);
        moved += facts.moved > 0;
        less_memory += facts.chosen_peak_bytes < facts.given_peak_bytes;
        assert_int_equal(forge_program_query(b.program, &program), JOULE_OK);
        is_exact += (double)program.arena_bound_bytes == facts.chosen_peak_bytes;
        at_most += (double)program.arena_bound_bytes <= facts.chosen_peak_bytes;
        graphs++;
        side_run_both(&a, &b, graph, 3, seed);
        side_unload(&a);
        side_unload(&b);
        forge_graph_free(graph);
    }
    print_message("%zu of %zu programs have another order, %zu need less memory\n", moved, graphs,
                  less_memory);
    print_message("%zu have exactly the expected live bytes, %zu at most\n", is_exact, at_most);
    assert_true(moved > graphs / 2 && less_memory > 0 && at_most + 3 >= graphs);
    forge_device_close(device);
}

/* --- bounds --------------------------------------------------------------------------------------------- */

/* Returns a graph whose builder's order needs far more memory than necessary: all `count` products are made
 * first, and added then. */
static forge_graph *wide_graph(int count)
{
    forge_builder *b = forge_builder_new();
    forge_shape shape = forge_shape_of(64, 64);
    forge_value x = forge_input(b, "x", FORGE_F32, shape), products[16], sum = x;
    for (int i = 0; i < count; i++)
        products[i] = forge_matmul(b, forge_mul(b, x, forge_scalar(b, FORGE_F32, 1 + i)), x, 0);
    for (int i = 0; i < count; i++)
        sum = forge_matmul(b, sum, products[i], 0);
    forge_output(b, "y", sum);
    forge_graph *graph = NULL;
    assert_int_equal(forge_builder_finish(b, &graph, NULL), JOULE_OK);
    return graph;
}

static void test_a_bound_of_bytes_is_kept_or_refused(void **state)
{
    (void)state;
    forge_device *device;
    joule_error error = {0};
    forge_schedule_facts facts = {0};
    forge_program_facts program = {.struct_size = sizeof program};
    enum { TENSOR = 64 * 64 * 4 };
    assert_int_equal(forge_device_open("cpu", &device, NULL), JOULE_OK);
    forge_graph *graph = wide_graph(12);
    struct side given = side_load(device, graph, NULL);
    assert_int_equal(forge_program_query(given.program, &program), JOULE_OK);
    assert_true(program.arena_bytes >= 12 * TENSOR);
    forge_compile_options options = options_for(FORGE_MINIMISE_ENERGY, &facts);
    options.max_arena_bytes = 5 * TENSOR;
    struct side small = side_load(device, graph, &options);
    assert_int_equal(forge_program_query(small.program, &program), JOULE_OK);
    assert_true(program.arena_bytes <= 5 * TENSOR);
    assert_true(facts.chosen_peak_bytes <= 5 * TENSOR && facts.given_peak_bytes >= 12 * TENSOR);
    side_run_both(&given, &small, graph, 2, 0);
    side_unload(&given);
    side_unload(&small);
    forge_program *none = NULL;
    options.max_arena_bytes = TENSOR / 2;
    assert_int_equal(forge_compile_with(graph, device, &options, &none, &error), JOULE_FAILED);
    assert_non_null(strstr(error.message, "need at most 8192 bytes"));
    options.max_arena_bytes = 0;
    options.max_seconds = 1e-9;
    assert_int_equal(forge_compile_with(graph, device, &options, &none, &error), JOULE_FAILED);
    assert_non_null(strstr(error.message, "the fastest one"));
    options.objective = FORGE_MINIMISE_NONE;
    assert_int_equal(forge_compile_with(graph, device, &options, &none, &error), JOULE_INVALID);
    options.objective = (forge_minimise)7;
    assert_int_equal(forge_compile_with(graph, device, &options, &none, &error), JOULE_INVALID);
    assert_null(none);
    forge_graph_free(graph);
    forge_device_close(device);
}

/* Returns the training of a network of layers without branches, whose activations wait for the backward
 * pass. */
static forge_graph *deep_training(int layers)
{
    forge_builder *b = forge_builder_new();
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(256, 64)), w = FORGE_NO_VALUE;
    forge_slot slot =
        forge_state(b, "w", FORGE_F32, forge_shape_of(64, 64), (forge_init){FORGE_INIT_UNIFORM, -0.1, 0.1});
    w = forge_read(b, slot);
    for (int i = 0; i < layers; i++)
        x = forge_unary(b, i % 2 ? FORGE_TANH : FORGE_SIGMOID, forge_matmul(b, x, w, 0));
    forge_value loss = forge_reduce(b, FORGE_MEAN, forge_unary(b, FORGE_SQUARE, x), 3, false), gradient;
    forge_output(b, "loss", loss);
    forge_gradients(b, loss, &w, 1, &gradient);
    forge_write(b, slot, forge_sub(b, w, gradient), true);
    return graph_of(b);
}

static void test_launches_run_twice_if_memory_is_short(void **state)
{
    (void)state;
    forge_device *device;
    forge_schedule_facts facts = {0};
    forge_program_facts program = {.struct_size = sizeof program};
    assert_int_equal(forge_device_open("cpu", &device, NULL), JOULE_OK);
    forge_graph *graph = deep_training(24);
    forge_compile_options options = options_for(FORGE_MINIMISE_ENERGY, &facts);
    struct side given = side_load(device, graph, &options);
    double peak = facts.chosen_peak_bytes, joules = facts.chosen_joules;
    side_unload(&given);
    for (int part = 8; part >= 3; part--) {
        options.max_arena_bytes = (uint64_t)(part * peak / 10);
        struct side small = side_load(device, graph, &options);
        assert_int_equal(forge_program_query(small.program, &program), JOULE_OK);
        print_message("%d %% of the memory: %zu of %zu launches are copies, %.3g %% more joules\n", 10 * part,
                      facts.recomputed, facts.launches, 100 * (facts.chosen_joules / joules - 1));
        assert_true(facts.recomputed > 0 && program.arena_bytes <= options.max_arena_bytes);
        given = side_load(device, graph, NULL);
        side_run_both(&given, &small, graph, 3, (uint64_t)part);
        side_unload(&small);
        side_unload(&given);
    }
    forge_graph_free(graph);
    forge_device_close(device);
}

/* Graphs that have no copies with which the bound is kept are left out. */
static void test_copies_of_launches_change_no_bits(void **state)
{
    (void)state;
    forge_device *device;
    size_t copies = 0;
    assert_int_equal(forge_device_open("cpu", &device, NULL), JOULE_OK);
    for (uint64_t seed = 0; seed < (is_full_test() ? 600 : 60); seed++) {
        forge_graph *graph = random_graph(seed, 20 + seed % 60, RANDOM_GRAPH_GRADIENTS);
        forge_schedule_facts facts = {0};
        forge_compile_options options =
            options_for((forge_minimise)(FORGE_MINIMISE_ENERGY + seed % 3), &facts);
        struct side a = side_load(device, graph, &options);
        options.max_arena_bytes = (uint64_t)(facts.chosen_peak_bytes * (0.6 + 0.05 * (double)(seed % 8)));
        forge_program *program = NULL;
        if (options.max_arena_bytes &&
            forge_compile_with(graph, device, &options, &program, NULL) == JOULE_OK) {
            struct side b = side_load(device, graph, &options);
            copies += facts.recomputed;
            side_run_both(&a, &b, graph, 3, seed);
            side_unload(&b);
        }
        forge_program_free(program);
        side_unload(&a);
        forge_graph_free(graph);
    }
    print_message("%zu copies\n", copies);
    assert_true(copies > 20);
    forge_device_close(device);
}

/* --- two simulated machines ----------------------------------------------------------------------------- */

enum { CORES = 8, LAUNCHES = 6, RUNS = 8 };
#define START_SECONDS 0.002 /* of each launch, on any number of cores */
#define WORK_SECONDS  0.008 /* of each launch, on one core */

/* A machine with a counter of its energy. It sleeps instead of computing. */
static struct simulated {
    struct device_ops ops;
    double static_watts, core_watts;
    double joules; /* consumed so far */
    char root[64];
} simulated;

#define ZONE "sys/class/powercap/intel-rapl:0"

static void write_zone(const char *name, const char *text)
{
    char path[192];
    snprintf(path, sizeof path, "%s/" ZONE "/%s", simulated.root, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void write_counter(void)
{
    char path[192], text[32];
    snprintf(path, sizeof path, "%s/" ZONE "/energy_uj", simulated.root);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    int length = snprintf(text, sizeof text, "%.0f\n", 1e9 + 1e6 * simulated.joules);
    assert_int_equal(pwrite(fd, text, (size_t)length, 0), length);
    close(fd);
}

static joule_status simulated_rates(forge_device *device, struct device_rates *out_rates, joule_error *error)
{
    (void)device, (void)error;
    *out_rates = (struct device_rates){.cores = CORES,
                                       .flop_per_s = 1e15,
                                       .launch_s = START_SECONDS,
                                       .static_watts = simulated.static_watts,
                                       .core_watts = simulated.core_watts};
    for (int level = 0; level < RATE_LEVELS; level++)
        out_rates->core_bytes_per_s[level] = out_rates->total_bytes_per_s[level] = 1e15;
    return JOULE_OK;
}

static void simulated_work(forge_device *device, const struct launch *launch, const struct program_cost *cost,
                           struct launch_work *out_work)
{
    (void)device, (void)launch, (void)cost;
    *out_work = (struct launch_work){.plain_s = WORK_SECONDS, .parts = 840}; /* divisible by 1 to 8 */
}

static void sleep_seconds(double seconds)
{
    struct timespec pause = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - floor(seconds)) * 1e9)};
    nanosleep(&pause, NULL);
}

static joule_status simulated_run(forge_device *device, const struct bound_launch *launches, size_t count,
                                  int64_t *ends_ns, joule_error *error)
{
    int64_t now_ns = clock_now_ns();
    (void)device, (void)error;
    for (size_t i = 0; i < count; i++) {
        double cores = launches[i].cores ? launches[i].cores : CORES;
        double seconds = START_SECONDS + WORK_SECONDS / cores;
        sleep_seconds(seconds);
        simulated.joules += (simulated.static_watts + cores * simulated.core_watts) * seconds;
        write_counter();
        now_ns += (int64_t)(seconds * 1e9);
        ends_ns[i] = now_ns;
    }
    return JOULE_OK;
}

/* Lets the meter see that the machine consumes next to nothing now. */
static void stand_by(void)
{
    for (int i = 0; i < 20; i++) {
        sleep_seconds(0.003);
        simulated.joules += 1e-6;
        write_counter();
    }
}

/* Returns a graph of equal launches, each of which needs the one before. */
static forge_graph *chain(void)
{
    forge_builder *b = forge_builder_new();
    forge_shape shape = forge_shape_of(16, 16);
    forge_value x = forge_input(b, "x", FORGE_F32, shape), y = x;
    for (int i = 0; i < LAUNCHES; i++)
        y = forge_matmul(b, y, x, 0);
    forge_output(b, "y", y);
    forge_graph *graph = NULL;
    assert_int_equal(forge_builder_finish(b, &graph, NULL), JOULE_OK);
    return graph;
}

/* The result of a run. */
struct outcome {
    unsigned cores;         /* of each launch */
    double joules, seconds; /* by the meter, and by the device's time */
    forge_schedule_facts facts;
};

static struct outcome measure(forge_device *device, forge_minimise objective)
{
    struct outcome outcome = {0};
    joule_meter *meter = NULL;
    joule_quantity joules;
    forge_launch_facts launch = {.struct_size = sizeof launch};
    joule_options options = {.struct_size = sizeof options, .period_s = 0.005, .root = simulated.root};
    forge_compile_options compile = options_for(objective, &outcome.facts);
    forge_graph *graph = chain();
    struct side side = side_load(device, graph, &compile);
    assert_int_equal(joule_open(&options, &meter, NULL), JOULE_OK);
    stand_by();
    assert_int_equal(forge_instance_set_zeros(side.instance, NULL, NULL), JOULE_OK);
    assert_int_equal(forge_energy_start(side.instance, meter, JOULE_CPU, NULL), JOULE_OK);
    for (int i = 0; i < RUNS; i++)
        assert_int_equal(forge_instance_run(side.instance, NULL), JOULE_OK);
    stand_by();
    joule_sample_now(meter);
    assert_int_equal(forge_energy_now(side.instance, &joules), JOULE_OK);
    assert_int_equal(joules.cls, JOULE_CLASS_MEASURED);
    outcome.joules = joules.value / RUNS;
    for (size_t i = 0; i < LAUNCHES; i++) {
        assert_int_equal(forge_instance_launch(side.instance, i, &launch), JOULE_OK);
        assert_true(i == 0 || outcome.cores == (launch.cores ? launch.cores : CORES));
        outcome.cores = launch.cores ? launch.cores : CORES;
        outcome.seconds += launch.seconds / RUNS;
    }
    joule_close(meter);
    side_unload(&side);
    forge_graph_free(graph);
    return outcome;
}

/* Opens a device with the CPU's memory and kernels, but the simulated machine's time and energy. */
static forge_device *open_simulated(double static_watts, double core_watts)
{
    forge_device *device;
    assert_int_equal(forge_device_open("cpu", &device, NULL), JOULE_OK);
    simulated.ops = *device->ops;
    simulated.ops.run = simulated_run;
    simulated.ops.rates = simulated_rates;
    simulated.ops.work = simulated_work;
    simulated.static_watts = static_watts;
    simulated.core_watts = core_watts;
    device->ops = &simulated.ops;
    return device;
}

/* Measures both objectives, and checks the signs. The meter's energy misses a part of the first launch,
 * because its counter increases when a launch ends. Returns the number of cores for `energy`. */
static unsigned compare_objectives(const char *name, double static_watts, double core_watts)
{
    forge_device *device = open_simulated(static_watts, core_watts);
    struct outcome energy = measure(device, FORGE_MINIMISE_ENERGY),
                   quick = measure(device, FORGE_MINIMISE_TIME);
    print_message(
        "%s: energy uses %u cores, %.4f J and %.1f ms by the meter (expected %.4f J, %.1f ms); time uses "
        "%u cores, %.4f J and %.1f ms (expected %.4f J, %.1f ms)\n",
        name, energy.cores, energy.joules, energy.seconds * 1e3, energy.facts.chosen_joules,
        energy.facts.chosen_seconds * 1e3, quick.cores, quick.joules, quick.seconds * 1e3,
        quick.facts.chosen_joules, quick.facts.chosen_seconds * 1e3);
    assert_true(energy.cores < quick.cores);
    assert_true(energy.joules < quick.joules);
    assert_true(energy.seconds > quick.seconds);
    assert_near(energy.joules, energy.facts.chosen_joules, 0.03 * energy.joules);
    assert_near(quick.joules, quick.facts.chosen_joules, 0.03 * quick.joules);
    assert_near(energy.seconds, energy.facts.chosen_seconds, 0.01 * energy.seconds);
    forge_device_close(device);
    return energy.cores;
}

/* With much static power, the energy is least on many cores, because the machine is then idle earlier. With
 * much power of each core, it is least on one core, because cores also wait while a launch starts. */
static void test_a_meter_confirms_the_numbers_of_cores(void **state)
{
    (void)state;
    char command[160];
    strcpy(simulated.root, "/tmp/forge-schedule-XXXXXX");
    assert_non_null(mkdtemp(simulated.root));
    snprintf(command, sizeof command, "mkdir -p %s/" ZONE, simulated.root);
    assert_int_equal(system(command), 0);
    write_zone("name", "package-0\n");
    write_zone("max_energy_range_uj", "262143328850\n");
    write_zone("energy_uj", "1000000000\n");
    unsigned high_static = compare_objectives("20 W static, 4 W per core", 20, 4);
    unsigned high_dynamic = compare_objectives("3 W static, 12 W per core", 3, 12);
    assert_true(high_dynamic == 1 && high_static > 2 * high_dynamic);
    snprintf(command, sizeof command, "rm -r %s", simulated.root);
    assert_int_equal(system(command), 0);
}

/* --- files ---------------------------------------------------------------------------------------------- */

static void test_numbers_of_cores_survive_a_file(void **state)
{
    (void)state;
    char path[] = "/tmp/forge-schedule-file-XXXXXX", *text = NULL;
    forge_program *program = NULL, *read = NULL;
    forge_graph *graph = chain();
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    forge_device *device = open_simulated(3, 12);
    forge_compile_options options = options_for(FORGE_MINIMISE_ENERGY, NULL);
    assert_int_equal(forge_compile_with(graph, device, &options, &program, NULL), JOULE_OK);
    assert_int_equal(forge_program_write(program, path, NULL), JOULE_OK);
    assert_int_equal(forge_program_read(path, &read, NULL), JOULE_OK);
    assert_int_equal(forge_program_print(read, &text, NULL), JOULE_OK);
    assert_non_null(strstr(text, "at most 1 core\n"));
    for (size_t i = 0; i < read->launches.count; i++)
        assert_int_equal(program_launches(read)[i].cores, 1);
    ((struct program_launch *)program_launches(program))[0].cores = PROGRAM_MAX_CORES + 1;
    program->hash = program_hash(program);
    assert_int_equal(program_check(program, program->size_bytes, NULL), JOULE_INVALID);
    free(text);
    unlink(path);
    forge_program_free(program);
    forge_program_free(read);
    forge_graph_free(graph);
    forge_device_close(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedules_change_no_bits),
        cmocka_unit_test(test_a_bound_of_bytes_is_kept_or_refused),
        cmocka_unit_test(test_launches_run_twice_if_memory_is_short),
        cmocka_unit_test(test_copies_of_launches_change_no_bits),
        cmocka_unit_test(test_a_meter_confirms_the_numbers_of_cores),
        cmocka_unit_test(test_numbers_of_cores_survive_a_file),
    };
    return cmocka_run_group_tests_name("schedule_program", tests, NULL, NULL);
}
