/* bench/schedule.c - the effect of schedules on training steps and inference of four networks.
 *
 * For each network and objective, prints the expected gains of the order and of the numbers of cores, the
 * live bytes, and the time of compilation. For training steps, also prints how many launches run twice if the
 * bytes are bounded, and what this costs. All gains and costs are modelled. With --run, also runs the program
 * in the order of the graph and the scheduled program in turns, and prints the medians of the measured
 * seconds.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <forge/compiler.h>
#include <forge/nn.h>
#include <forge/optim.h>
#include "bench.h"

enum { ROUNDS = 7 };

static void need(joule_status status, const joule_error *error)
{
    if (status == JOULE_OK)
        return;
    fprintf(stderr, "schedule: %s\n", error->message);
    exit(1);
}

/* --- networks ------------------------------------------------------------------------------------------- */

static forge_value mlp(forge_builder *b)
{
    static const int64_t sizes[] = {128, 10};
    return forge_mlp(b, NULL, forge_input(b, "x", FORGE_F32, forge_shape_of(128, 784)), sizes, 2);
}

static forge_value cnn(forge_builder *b)
{
    static const int64_t sizes[] = {32, 64, 128, 10};
    return forge_cnn(b, NULL, forge_input(b, "x", FORGE_F32, forge_shape_of(128, 1, 28, 28)), sizes);
}

static forge_value resnet18(forge_builder *b)
{
    forge_resnet_options o = {.struct_size = sizeof o, .depth = 18, .classes = 10, .is_training = true};
    return forge_resnet(b, NULL, forge_input(b, "x", FORGE_F32, forge_shape_of(8, 3, 64, 64)), &o);
}

static forge_value gpt(forge_builder *b)
{
    forge_gpt_options o = {.struct_size = sizeof o,
                           .layers = 4,
                           .heads = 4,
                           .vocabulary = 96,
                           .context = 64,
                           .width = 128,
                           .is_training = true};
    forge_value tokens = forge_input(b, "tokens", FORGE_I32, forge_shape_of(32, 64));
    return forge_reshape(b, forge_gpt(b, NULL, tokens, &o), forge_shape_of(32 * 64, 96));
}

static const struct network {
    const char *name;
    forge_value (*build)(forge_builder *b);
    int64_t rows;
} networks[] = {{"mlp", mlp, 128}, {"cnn", cnn, 128}, {"resnet18", resnet18, 8}, {"gpt", gpt, 32 * 64}};

static forge_graph *build(const struct network *network, bool is_training)
{
    forge_builder *b = forge_builder_new();
    forge_graph *graph = NULL;
    joule_error error = {0};
    forge_value y = network->build(b);
    if (is_training) {
        forge_sgd_options sgd = {.struct_size = sizeof sgd, .momentum = 0.9};
        y = forge_cross_entropy(b, y, forge_input(b, "labels", FORGE_I32, forge_shape_of(network->rows)));
        forge_sgd(b, y, forge_input(b, "rate", FORGE_F32, (forge_shape){0}), &sgd);
    }
    forge_output(b, "y", y);
    need(forge_builder_finish(b, &graph, &error), &error);
    return graph;
}

/* --- programs ------------------------------------------------------------------------------------------- */

struct side {
    forge_program *program;
    forge_states *states;
    forge_instance *instance;
};

static struct side load(forge_device *device, const forge_graph *graph, const forge_compile_options *options)
{
    struct side s = {0};
    joule_error error = {0};
    need(forge_compile_with(graph, device, options, &s.program, &error), &error);
    need(forge_states_new(device, 1, &s.states, &error), &error);
    need(forge_instance_new(s.program, device, s.states, &s.instance, &error), &error);
    need(forge_instance_set_zeros(s.instance, NULL, &error), &error);
    return s;
}

static void unload(struct side *s)
{
    forge_instance_free(s->instance);
    forge_states_free(s->states);
    forge_program_free(s->program);
}

static double run_once(const struct side *s)
{
    joule_error error = {0};
    int64_t start_ns = clock_ns(CLOCK_MONOTONIC);
    need(forge_instance_run(s->instance, &error), &error);
    return (double)(clock_ns(CLOCK_MONOTONIC) - start_ns) * 1e-9;
}

/* Prints the medians of the seconds of both programs, which run in turns. */
static void print_measured(forge_device *device, const forge_graph *graph,
                           const forge_compile_options *options)
{
    double given[ROUNDS], chosen[ROUNDS];
    struct side a = load(device, graph, NULL), b = load(device, graph, options);
    run_once(&a);
    run_once(&b);
    for (int i = 0; i < ROUNDS; i++) {
        given[i] = run_once(&a);
        chosen[i] = run_once(&b);
    }
    printf("  measured %8.2f -> %8.2f ms", median(given, ROUNDS) * 1e3, median(chosen, ROUNDS) * 1e3);
    unload(&a);
    unload(&b);
}

/* --- rows ----------------------------------------------------------------------------------------------- */

static void note_facts(const forge_schedule_facts *facts, void *context)
{
    *(forge_schedule_facts *)context = *facts;
}

static double gain(double before, double after)
{
    return 100 * (1 - after / before);
}

static void print_row(forge_device *device, const struct network *network, bool is_training,
                      forge_minimise objective, bool runs)
{
    static const char *const names[] = {"none", "energy", "time", "edp"};
    forge_schedule_facts f = {0};
    forge_compile_options options = {.struct_size = sizeof options,
                                     .objective = objective,
                                     .notify_schedule = note_facts,
                                     .notify_context = &f};
    forge_graph *graph = build(network, is_training);
    forge_program *program = NULL;
    joule_error error = {0};
    int64_t start_ns = clock_ns(CLOCK_MONOTONIC);
    need(forge_compile_with(graph, device, &options, &program, &error), &error);
    double compile_s = (double)(clock_ns(CLOCK_MONOTONIC) - start_ns) * 1e-9;
    double given = objective == FORGE_MINIMISE_ENERGY ? f.given_joules : f.given_seconds;
    double cores = objective == FORGE_MINIMISE_ENERGY ? f.cores_joules : f.cores_seconds;
    double chosen = objective == FORGE_MINIMISE_ENERGY ? f.chosen_joules : f.chosen_seconds;
    if (objective == FORGE_MINIMISE_EDP) {
        given *= f.given_joules;
        cores *= f.cores_joules;
        chosen *= f.chosen_joules;
    }
    printf("%-9s %-9s %-6s %4zu launches  %8.3f ms %8.4f J  cores gain %5.1f %%  order %5.2f %%%s  %4zu "
           "moved %4zu "
           "on fewer cores  live %8.3f -> %8.3f MB  %5.2f s",
           network->name, is_training ? "training" : "inference", names[objective], f.launches,
           f.chosen_seconds * 1e3, f.chosen_joules, gain(given, cores), gain(cores, chosen),
           gain(cores, chosen) < 1 ? " (< 1 %)" : "        ", f.moved, f.limited, f.given_peak_bytes * 1e-6,
           f.chosen_peak_bytes * 1e-6, compile_s);
    if (runs)
        print_measured(device, graph, &options);
    printf("\n");
    fflush(stdout);
    forge_program_free(program);
    forge_graph_free(graph);
}

/* Prints what bounds of the bytes cost, as parts of the bytes that the schedule without a bound needs. */
static void print_bounds(forge_device *device, const struct network *network, bool runs)
{
    forge_schedule_facts free_facts = {0}, f = {0};
    forge_compile_options options = {.struct_size = sizeof options,
                                     .objective = FORGE_MINIMISE_ENERGY,
                                     .notify_schedule = note_facts,
                                     .notify_context = &free_facts};
    forge_graph *graph = build(network, true);
    forge_program *program = NULL;
    joule_error error = {0};
    need(forge_compile_with(graph, device, &options, &program, &error), &error);
    forge_program_free(program);
    options.notify_context = &f;
    for (int percent = 80; percent >= 40; percent -= 20) {
        program = NULL;
        options.max_arena_bytes = (uint64_t)(free_facts.chosen_peak_bytes * percent / 100);
        printf("%-9s training, %d %% of %.3f MB: ", network->name, percent,
               free_facts.chosen_peak_bytes * 1e-6);
        int64_t start_ns = clock_ns(CLOCK_MONOTONIC);
        joule_status status = forge_compile_with(graph, device, &options, &program, &error);
        double compile_s = (double)(clock_ns(CLOCK_MONOTONIC) - start_ns) * 1e-9;
        if (status == JOULE_OK)
            printf("%zu of %zu launches are copies, %+.1f %% s, %+.1f %% J, %.2f s", f.recomputed, f.launches,
                   -gain(free_facts.chosen_seconds, f.chosen_seconds),
                   -gain(free_facts.chosen_joules, f.chosen_joules), compile_s);
        else
            printf("%s (%.2f s)", error.message, compile_s);
        if (status == JOULE_OK && runs)
            print_measured(device, graph, &options);
        printf("\n");
        fflush(stdout);
        forge_program_free(program);
    }
    forge_graph_free(graph);
}

int main(int argc, char **argv)
{
    forge_device *device = NULL;
    joule_error error = {0};
    bool runs = argc > 1 && strcmp(argv[1], "--run") == 0;
    need(forge_device_open("cpu", &device, &error), &error);
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        for (int is_training = 0; is_training <= 1; is_training++)
            for (forge_minimise objective = FORGE_MINIMISE_ENERGY; objective <= FORGE_MINIMISE_EDP;
                 objective++)
                print_row(device, &networks[i], is_training, objective, runs);
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        print_bounds(device, &networks[i], runs);
    forge_device_close(device);
    return 0;
}
