/* bench/spans.c - measures the cost of the timestamps that each launch records.
 *
 * Runs training steps on one thread, alternately with the real clock and with a clock that costs nothing.
 * Note: timestamps cannot be switched off, so the linker replaces clock_gettime by a function of this file.
 * Without the clock, a timestamp is a call and a store.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <forge/nn.h>
#include <forge/optim.h>
#include <forge/program.h>
#include "bench.h"

#define SECONDS 4.0 /* duration of the measurement for each network, in s */

int __real_clock_gettime(clockid_t id, struct timespec *out_now);
int __wrap_clock_gettime(clockid_t id, struct timespec *out_now);

static bool is_off;

int __wrap_clock_gettime(clockid_t id, struct timespec *out_now)
{
    if (!is_off)
        return __real_clock_gettime(id, out_now);
    *out_now = (struct timespec){1, 0};
    return 0;
}

static double now_s(void)
{
    struct timespec t;
    __real_clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* --- networks ------------------------------------------------------------------------------------------- */

struct network {
    const char *name;
    forge_value (*loss)(forge_builder *b);
};

static forge_value label(forge_builder *b, int64_t rows)
{
    return forge_binary(b, FORGE_MOD, forge_iota(b, FORGE_I32, forge_shape_of(rows), 0),
                        forge_scalar(b, FORGE_I32, 10));
}

static forge_value loss_of_mlp(forge_builder *b)
{
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(64, 784));
    return forge_cross_entropy(b, forge_mlp(b, NULL, x, (int64_t[]){128, 64, 10}, 3), label(b, 64));
}

static forge_value loss_of_cnn(forge_builder *b)
{
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(8, 1, 28, 28));
    return forge_cross_entropy(b, forge_norm_cnn(b, NULL, x, 10, true), label(b, 8));
}

static forge_value loss_of_gpt(forge_builder *b)
{
    const forge_gpt_options options = {.struct_size = sizeof options,
                                       .layers = 4,
                                       .heads = 4,
                                       .vocabulary = 65,
                                       .context = 64,
                                       .width = 128,
                                       .is_training = true};
    forge_value tokens = forge_reshape(b, label(b, 4 * 64), forge_shape_of(4, 64));
    forge_value logits = forge_reshape(b, forge_gpt(b, NULL, tokens, &options), forge_shape_of(256, 65));
    return forge_cross_entropy(b, logits, label(b, 256));
}

/* --- measuring ------------------------------------------------------------------------------------------ */

struct bench {
    forge_device *device;
    forge_states *states;
    forge_program *program;
    forge_instance *instance;
};

static void need(joule_status status, const joule_error *error)
{
    if (status == JOULE_OK)
        return;
    fprintf(stderr, "spans: %s\n", error->message);
    exit(1);
}

static void begin(struct bench *bench, const struct network *network)
{
    joule_error error = {0};
    forge_graph *graph;
    forge_builder *b = forge_builder_new();
    forge_adamw_options adamw = FORGE_ADAMW_OPTIONS;
    forge_adamw(b, network->loss(b), forge_scalar(b, FORGE_F32, 1e-4), &adamw);
    need(forge_builder_finish(b, &graph, &error), &error);
    need(forge_device_open("cpu", &bench->device, &error), &error);
    need(forge_device_set_threads(bench->device, 1, &error), &error);
    need(forge_states_new(bench->device, 1, &bench->states, &error), &error);
    need(forge_compile(graph, bench->device, &bench->program, &error), &error);
    need(forge_instance_new(bench->program, bench->device, bench->states, &bench->instance, &error), &error);
    need(forge_instance_set_zeros(bench->instance, NULL, &error), &error);
    forge_graph_free(graph);
}

static void end(struct bench *bench)
{
    forge_instance_free(bench->instance);
    forge_states_free(bench->states);
    forge_program_free(bench->program);
    forge_device_close(bench->device);
}

static double step_seconds(struct bench *bench, bool without)
{
    is_off = without;
    double start = now_s();
    forge_instance_run(bench->instance, NULL);
    double taken = now_s() - start;
    is_off = false;
    return taken;
}

/* Returns the 10 % quantile, which excludes steps that waited for other programs. Sorts the values. */
static double undisturbed(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return values[count / 10];
}

/* Returns the duration of one clock reading, in ns. */
static double clock_cost(void)
{
    enum { READINGS = 1000000 };
    struct timespec t;
    double start = now_s();
    for (int i = 0; i < READINGS; i++)
        __real_clock_gettime(CLOCK_MONOTONIC, &t);
    return (now_s() - start) / READINGS * 1e9;
}

static void measure(const struct network *network, double clock_ns)
{
    enum { MAX_STEPS = 100000 };
    struct bench bench;
    forge_program_facts facts = {.struct_size = sizeof facts};
    double *taken[2] = {calloc(MAX_STEPS, sizeof **taken), calloc(MAX_STEPS, sizeof **taken)};
    size_t count = 0;
    begin(&bench, network);
    need(forge_program_query(bench.program, &facts), &(joule_error){0});
    step_seconds(&bench, false);
    for (double start = now_s(); taken[0] && taken[1] && count < MAX_STEPS && now_s() - start < SECONDS;
         count++)
        for (int k = 0; k < 2; k++) { /* the order of the two steps changes from round to round */
            int without = (k + (int)count) % 2;
            taken[without][count] = step_seconds(&bench, without);
        }
    double with = undisturbed(taken[0], count), off = undisturbed(taken[1], count);
    double stamps = (double)facts.launches * clock_ns * 1e-9;
    printf("%-10s %8zu %10.3f ms %10.3f ms %+9.2f %% %12.3f %%\n", network->name, facts.launches, with * 1e3,
           off * 1e3, 100 * (with / off - 1), 100 * stamps / off);
    printf(
        "{\"bench\": \"spans\", \"network\": \"%s\", \"launches\": %zu, \"on_ms\": %.4f, \"off_ms\": %.4f, "
        "\"clock_ns\": %.1f, \"steps\": %zu}\n",
        network->name, facts.launches, with * 1e3, off * 1e3, clock_ns, count);
    free(taken[0]);
    free(taken[1]);
    end(&bench);
}

int main(void)
{
    static const struct network networks[] = {
        {"mlp", loss_of_mlp}, {"norm cnn", loss_of_cnn}, {"gpt", loss_of_gpt}};
    double clock_ns = clock_cost();
    printf("%-10s %8s %13s %13s %11s %14s\n", "network", "launches", "step, on", "off", "more",
           "clock alone");
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        measure(&networks[i], clock_ns);
    printf("a reading of the clock: %.1f ns\n", clock_ns);
    return 0;
}
