/* bench/compile.c - measures the time from layers to a runnable program, for several numbers of layers.
 *
 * Times each step: building the graph with gradients and updates, compiling it to a program, creating an
 * instance, grouping its launches for the attribution of energy, and writing and reading program and graph.
 * Note: tensors are tiny, because nothing is run. The time per node must not grow with the number of layers.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <forge/nn.h>
#include <forge/optim.h>
#include <forge/program.h>
#include "bench.h"
#include "forge/runtime/items.h"

enum { BUILD, COMPILE, INSTANCE, ITEMS, READ, TEXT, STEPS };

static void need(joule_status status, const joule_error *error)
{
    if (status == JOULE_OK)
        return;
    fprintf(stderr, "compile: %s\n", error->message);
    exit(1);
}

/* --- networks ------------------------------------------------------------------------------------------- */

static forge_value labels(forge_builder *b, int64_t rows)
{
    return forge_input(b, "labels", FORGE_I32, forge_shape_of(rows));
}

static forge_value loss_of_mlp(forge_builder *b, unsigned layers)
{
    int64_t *sizes = calloc(layers, sizeof *sizes);
    for (unsigned i = 0; sizes && i < layers; i++)
        sizes[i] = 8;
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(4, 8));
    x = forge_mlp(b, NULL, x, sizes, sizes ? layers : 0);
    free(sizes);
    return forge_cross_entropy(b, x, labels(b, 4));
}

static forge_value loss_of_gpt(forge_builder *b, unsigned layers, bool checkpoint_activations)
{
    const forge_gpt_options options = {.struct_size = sizeof options,
                                       .layers = layers,
                                       .heads = 2,
                                       .vocabulary = 16,
                                       .context = 8,
                                       .width = 16,
                                       .is_training = true,
                                       .checkpoint_activations = checkpoint_activations,
                                       .dropout = 0.1};
    forge_value tokens = forge_input(b, "tokens", FORGE_I32, forge_shape_of(2, 8));
    forge_value logits = forge_reshape(b, forge_gpt(b, NULL, tokens, &options), forge_shape_of(16, 16));
    return forge_cross_entropy(b, logits, labels(b, 16));
}

static forge_value loss_of_gpt_kept(forge_builder *b, unsigned layers)
{
    return loss_of_gpt(b, layers, false);
}

static forge_value loss_of_gpt_again(forge_builder *b, unsigned layers)
{
    return loss_of_gpt(b, layers, true);
}

/* Returns the loss of a network in which each layer has 50 operations. Each operation has two operands, which
 * are chosen from the last 1,000 values. */
static forge_value loss_of_tangle(forge_builder *b, unsigned layers)
{
    enum { WINDOW = 1000, OPERATIONS = 50 };
    forge_value last[WINDOW];
    uint64_t random = 1;
    forge_value sum =
        forge_parameter(b, "weight", FORGE_F32, forge_shape_of(4), (forge_init){FORGE_INIT_CONSTANT, 1, 0});
    for (unsigned i = 0; i < WINDOW; i++)
        last[i] = sum;
    for (unsigned i = 0; i < layers * OPERATIONS; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        forge_value x = last[(random >> 33) % WINDOW], y = last[(random >> 43) % WINDOW];
        last[i % WINDOW] = forge_binary(b, i % 2 ? FORGE_MUL : FORGE_SUB, x, forge_tanh(b, y));
        sum = forge_add(b, sum, last[i % WINDOW]);
    }
    return forge_reduce(b, FORGE_SUM, sum, 1, false);
}

struct network {
    const char *name;
    forge_value (*loss)(forge_builder *b, unsigned layers);
};

/* --- measuring ------------------------------------------------------------------------------------------ */

struct times {
    double ms[STEPS];
    int64_t since_ns;
};

/* Stores the CPU time since the last call of note() as the time of `step`. */
static void note(struct times *times, unsigned step)
{
    int64_t now_ns = thread_ns();
    times->ms[step] = (double)(now_ns - times->since_ns) * 1e-6;
    times->since_ns = thread_ns();
}

static forge_graph *build(const struct network *network, unsigned layers)
{
    joule_error error;
    forge_graph *graph = NULL;
    forge_builder *b = forge_builder_new();
    forge_adamw_options adamw = FORGE_ADAMW_OPTIONS;
    forge_adamw(b, network->loss(b, layers), forge_scalar(b, FORGE_F32, 1e-4), &adamw);
    need(forge_builder_finish(b, &graph, &error), &error);
    return graph;
}

static void instantiate(const forge_program *program, forge_device *device, struct times *times)
{
    joule_error error;
    forge_states *states = NULL;
    forge_instance *instance = NULL;
    struct items items;
    need(forge_states_new(device, 1, &states, &error), &error);
    need(forge_instance_new(program, device, states, &instance, &error), &error);
    note(times, INSTANCE);
    struct attribution_group *groups = calloc(program->launches.count + 1, sizeof *groups);
    if (groups && items_make(&items, program))
        items_prior(&items, instance, groups);
    note(times, ITEMS);
    items_free(&items);
    free(groups);
    forge_instance_free(instance);
    forge_states_free(states);
}

static void write_and_read(const forge_program *program)
{
    joule_error error;
    char path[] = P_tmpdir "/bench-compile-XXXXXX";
    forge_program *again = NULL;
    int file = mkstemp(path);
    need(forge_program_write(program, path, &error), &error);
    need(forge_program_read(path, &again, &error), &error);
    forge_program_free(again);
    unlink(path);
    close(file);
}

static void print_and_parse(const forge_graph *graph)
{
    joule_error error;
    char *text = NULL;
    forge_graph *again = NULL;
    need(forge_graph_print(graph, &text, &error), &error);
    need(forge_graph_parse(text, strlen(text), &again, &error), &error);
    forge_graph_free(again);
    free(text);
}

static void measure(const struct network *network, unsigned layers, forge_device *device)
{
    struct times times = {.since_ns = thread_ns()};
    joule_error error;
    forge_program *program = NULL;
    forge_graph *graph = build(network, layers);
    note(&times, BUILD);
    need(forge_compile(graph, device, &program, &error), &error);
    note(&times, COMPILE);
    instantiate(program, device, &times);
    times.since_ns = thread_ns();
    write_and_read(program);
    note(&times, READ);
    print_and_parse(graph);
    note(&times, TEXT);
    double sum = 0;
    for (unsigned i = 0; i < STEPS; i++)
        sum += times.ms[i];
    printf("%-10s %6u %8zu %8zu", network->name, layers, forge_graph_nodes(graph),
           (size_t)program->launches.count);
    for (unsigned i = 0; i < STEPS; i++)
        printf(" %9.2f", times.ms[i]);
    printf(" %9.2f\n", sum * 1e3 / (double)forge_graph_nodes(graph));
    printf("{\"bench\":\"compile\",\"network\":\"%s\",\"layers\":%u,\"nodes\":%zu,\"launches\":%zu,\"build_"
           "ms\":%.3f,"
           "\"compile_ms\":%.3f,\"instance_ms\":%.3f,\"items_ms\":%.3f,\"read_ms\":%.3f,\"text_ms\":%.3f,"
           "\"program\":\"%016llx\"}\n",
           network->name, layers, forge_graph_nodes(graph), (size_t)program->launches.count, times.ms[BUILD],
           times.ms[COMPILE], times.ms[INSTANCE], times.ms[ITEMS], times.ms[READ], times.ms[TEXT],
           (unsigned long long)program->hash);
    fflush(stdout);
    forge_program_free(program);
    forge_graph_free(graph);
}

/* usage: compile [NETWORK [LAYERS]] */
int main(int argc, char **argv)
{
    static const struct network networks[] = {{"mlp", loss_of_mlp},
                                              {"gpt", loss_of_gpt_kept},
                                              {"gpt again", loss_of_gpt_again},
                                              {"tangle", loss_of_tangle}};
    joule_error error;
    forge_device *device = NULL;
    need(forge_device_open("cpu", &device, &error), &error);
    printf("%-10s %6s %8s %8s %9s %9s %9s %9s %9s %9s %9s\n", "network", "layers", "nodes", "launches",
           "build ms", "compile", "instance", "items", "read", "text", "us/node");
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        for (unsigned layers = 25; layers <= 800; layers *= 2)
            if ((argc < 2 || strcmp(argv[1], networks[i].name) == 0) &&
                (argc < 3 || layers == strtoul(argv[2], NULL, 10)))
                measure(&networks[i], layers, device);
    forge_device_close(device);
    return 0;
}
