/* bench/emit.c - compares fused operations that kernels compute one after the other on tiles with compiled
 * code: for chains of several lengths on arrays in the L1 cache, in the L2 cache and in memory, after
 * products, and in training steps.
 *
 * Both alternate, and the table contains medians of the time of a run and of the ratios of neighbouring runs.
 * `bench_emit RUNS THREADS` (default: 31 runs, 1 thread). Code that is not in the cache is compiled first. */
#include <forge/compiler.h>
#include <forge/nn.h>
#include <forge/optim.h>
#include <forge/program.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "bench.h"

enum { MAX_RUNS = 200 };
#define ROUND_NS (NS_PER_S / 50) /* a round repeats a short program for so long */

static unsigned long runs = 31, threads = 1;
static joule_error error;
static forge_device *devices[2]; /* by tiles; compiled */

static void need(joule_status status)
{
    if (status == JOULE_OK)
        return;
    fprintf(stderr, "bench_emit: %s\n", error.message);
    exit(1);
}

/* --- graphs --------------------------------------------------------------------------------------------- */

/* The size of a graph. */
struct shape {
    size_t elements, steps;
};

/* Steps that take about one instruction for each vector. */
static void build_cheap(forge_builder *b, const struct shape *shape)
{
    forge_shape size = forge_shape_of((int64_t)shape->elements);
    forge_value x = forge_input(b, "x", FORGE_F32, size), y = x, a = forge_input(b, "a", FORGE_F32, size);
    for (size_t i = 0; i < shape->steps; i++)
        y = i % 3 == 2   ? forge_unary(b, FORGE_RELU, y)
            : i % 3 == 1 ? forge_binary(b, FORGE_MUL, y, x)
                         : forge_add(b, y, a);
    forge_output(b, "y", y);
}

/* A bias and steps of which every second one evaluates a polynomial. */
static void build_functions(forge_builder *b, const struct shape *shape)
{
    forge_shape size = forge_shape_of((int64_t)shape->elements);
    forge_value x = forge_input(b, "x", FORGE_F32, size), y = x;
    for (size_t i = 0; i < shape->steps; i++)
        y = i % 2 ? forge_unary(b, i % 4 == 1 ? FORGE_GELU : FORGE_TANH, y) : forge_add(b, y, x);
    forge_output(b, "y", y);
}

/* A matmul of [elements / 256, 256] and [256, 256] with steps after it. */
static void build_product(forge_builder *b, const struct shape *shape)
{
    int64_t rows = (int64_t)shape->elements / 256;
    forge_value y = forge_matmul(b, forge_input(b, "x", FORGE_F32, forge_shape_of(rows, 256)),
                                 forge_input(b, "w", FORGE_F32, forge_shape_of(256, 256)), 0);
    forge_value bias = forge_input(b, "b", FORGE_F32, forge_shape_of(256));
    for (size_t i = 0; i < shape->steps; i++)
        y = i % 2 ? forge_unary(b, FORGE_RELU, y) : forge_add(b, y, bias);
    forge_output(b, "y", y);
}

static void add_training(forge_builder *b, forge_value logits, int64_t count)
{
    forge_adamw_options adamw = FORGE_ADAMW_OPTIONS;
    forge_value labels = forge_input(b, "labels", FORGE_I32, forge_shape_of(count));
    forge_value loss = forge_cross_entropy(b, logits, labels);
    forge_output(b, "loss", loss);
    forge_adamw(b, loss, forge_scalar(b, FORGE_F32, 1e-3), &adamw);
}

static void build_cnn(forge_builder *b, const struct shape *shape)
{
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(32, 1, 28, 28));
    (void)shape;
    add_training(b, forge_cnn(b, NULL, x, (const int64_t[]){16, 32, 64, 10}), 32);
}

static void build_gpt(forge_builder *b, const struct shape *shape)
{
    enum { ROWS = 4, CONTEXT = 64, VOCABULARY = 1024 };
    forge_gpt_options options = {.struct_size = sizeof options,
                                 .layers = 2,
                                 .heads = 6,
                                 .vocabulary = VOCABULARY,
                                 .context = CONTEXT,
                                 .width = 384,
                                 .is_training = true};
    forge_value tokens = forge_input(b, "tokens", FORGE_I32, forge_shape_of(ROWS, CONTEXT));
    forge_value logits = forge_gpt(b, NULL, tokens, &options);
    (void)shape;
    add_training(b, forge_reshape(b, logits, forge_shape_of(ROWS * CONTEXT, VOCABULARY)), ROWS * CONTEXT);
}

/* --- measurement ---------------------------------------------------------------------------------------- */

struct side {
    forge_states *states;
    forge_program *program;
    forge_instance *instance;
};

static struct side open_side(const forge_graph *graph, forge_device *device)
{
    struct side side = {0};
    need(forge_compile_with(graph, device, NULL, &side.program, &error));
    need(forge_states_new(device, 1, &side.states, &error));
    need(forge_instance_new(side.program, device, side.states, &side.instance, &error));
    need(forge_instance_set_zeros(side.instance, NULL, &error));
    return side;
}

static void close_side(struct side *side)
{
    forge_instance_free(side->instance);
    forge_states_free(side->states);
    forge_program_free(side->program);
}

/* Returns the mean time of `times` runs, in seconds. */
static double time_of(const struct side *side, size_t times)
{
    int64_t begin_ns = clock_now_ns();
    for (size_t i = 0; i < times; i++)
        need(forge_instance_run(side->instance, &error));
    return clock_seconds(clock_now_ns() - begin_ns) / (double)times;
}

static void measure(const char *name, void (*build)(forge_builder *b, const struct shape *shape),
                    struct shape shape)
{
    static double tiles_s[MAX_RUNS], compiled_s[MAX_RUNS], ratios[MAX_RUNS];
    struct side sides[2];
    forge_builder *b = forge_builder_new();
    forge_graph *graph = NULL;
    build(b, &shape);
    need(forge_builder_finish(b, &graph, &error));
    for (int i = 0; i < 2; i++)
        sides[i] = open_side(graph, devices[i]);
    double first_s = time_of(&sides[0], 1) + time_of(&sides[1], 1);
    size_t times = (size_t)(clock_seconds(ROUND_NS) * 2 / first_s) + 1;
    for (unsigned long run = 0; run < runs; run++) {
        tiles_s[run] = time_of(&sides[0], times);
        compiled_s[run] = time_of(&sides[1], times);
        ratios[run] = tiles_s[run] / compiled_s[run];
    }
    printf("| %s | %zu | %zu | %.2f | %.2f | %.2f |\n", name, shape.elements, shape.steps,
           median(tiles_s, runs) * 1e6, median(compiled_s, runs) * 1e6, median(ratios, runs));
    fflush(stdout);
    for (int i = 0; i < 2; i++)
        close_side(&sides[i]);
    forge_graph_free(graph);
}

static void open_devices(void)
{
    for (int i = 0; i < 2; i++) {
        need(forge_device_open("cpu", &devices[i], &error));
        need(forge_device_set_threads(devices[i], (unsigned)threads, &error));
    }
    need(forge_device_set_compiled(devices[1], true, &error));
}

static void close_devices(void)
{
    forge_compiled_facts facts = {.struct_size = sizeof facts};
    forge_device_query_compiled(devices[1], &facts);
    printf("\n%s: %zu groups compiled, %zu from the cache, %zu not compiled; %.2f s\n", facts.compiler,
           facts.compiled, facts.cached, facts.failed, facts.seconds);
    for (int i = 0; i < 2; i++)
        forge_device_close(devices[i]);
}

int main(int argc, char **argv)
{
    static const size_t elements[] = {1024, 2048, 65536, 8 << 20}; /* f32: in L1, L1, L2, memory */
    static const size_t steps[] = {2, 4, 8, 16};
    unsigned long *wishes[] = {&runs, &threads};
    for (int i = 1; i < argc && i <= 2; i++)
        *wishes[i - 1] = strtoul(argv[i], NULL, 10);
    runs = runs < 1 ? 1 : runs > MAX_RUNS ? MAX_RUNS : runs;
    open_devices();
    printf("| steps | elements | number of steps | tiles, us | compiled, us | ratio "
           "|\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
            measure("add, mul, relu", build_cheap, (struct shape){elements[i], steps[k]});
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        measure("add, gelu, tanh", build_functions, (struct shape){elements[i], 4});
    for (size_t k = 0; k < 2; k++)
        measure("after a matmul", build_product, (struct shape){65536, steps[k]});
    measure("a step of the cnn", build_cnn, (struct shape){0, 0});
    measure("a step of a small gpt", build_gpt, (struct shape){0, 0});
    close_devices();
    return 0;
}
