/* bench/gpt2.c - measures a training step of GPT-2 124M: forward, backward and AdamW on 4 rows of 64 tokens.
 *
 * Prints each step, then the time by kernel and phase, and the memory. The first step is not counted, because
 * it also waits for the system to provide the memory. Note: `bench_gpt2 STEPS ROWS CONTEXT THREADS LAYERS`
 * measures other shapes; 0 means the default.
 */
#include <forge/optim.h>
#include <forge/program.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "bench.h"

enum { MAX_STEPS = 1000, MAX_KINDS = 256 };

static struct {
    unsigned long steps, rows, context, threads, layers;
} how = {5, 4, 64, 2, 12};

static forge_device *device;
static forge_states *states;
static forge_program *program;
static forge_instance *instance;
static joule_error error;

static void need(joule_status status)
{
    if (status == JOULE_OK)
        return;
    fprintf(stderr, "bench_gpt2: %s\n", error.message);
    exit(1);
}

/* Returns the resident memory in bytes. */
static double resident(void)
{
    unsigned long all = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%lu %lu", &all, &pages) != 2)
        pages = 0;
    if (file)
        fclose(file);
    return (double)pages * 4096;
}

static void build(void)
{
    int64_t rows = (int64_t)how.rows, context = (int64_t)how.context;
    forge_gpt_options gpt = {.struct_size = sizeof gpt,
                             .layers = (uint32_t)how.layers,
                             .heads = 12,
                             .vocabulary = 50257,
                             .context = 1024,
                             .width = 768,
                             .is_training = true};
    forge_adamw_options adamw = FORGE_ADAMW_OPTIONS;
    forge_builder *b = forge_builder_new();
    forge_value tokens = forge_input(b, "tokens", FORGE_I32, forge_shape_of(rows, context));
    forge_value next = forge_input(b, "next", FORGE_I32, forge_shape_of(rows * context));
    forge_value logits = forge_gpt(b, NULL, tokens, &gpt);
    forge_value flat = forge_reshape(b, logits, forge_shape_of(rows * context, gpt.vocabulary));
    forge_value loss = forge_cross_entropy(b, flat, next);
    forge_output(b, "loss", loss);
    forge_adamw(b, loss, forge_scalar(b, FORGE_F32, 3e-4), &adamw);
    forge_graph *graph = NULL;
    need(forge_builder_finish(b, &graph, &error));
    need(forge_device_open("cpu", &device, &error));
    need(forge_device_set_threads(device, (unsigned)how.threads, &error));
    need(forge_states_new(device, 1, &states, &error));
    int64_t begin_ns = clock_now_ns();
    need(forge_compile(graph, device, &program, &error));
    printf("compiled in %.2f s\n", clock_seconds(clock_now_ns() - begin_ns));
    forge_graph_free(graph);
    need(forge_instance_new(program, device, states, &instance, &error));
}

static void set_tokens(const char *input, forge_shape shape, uint32_t seed)
{
    size_t count = forge_shape_elements(&shape);
    forge_tensor tensor;
    forge_buffer *buffer = NULL;
    need(forge_buffer_new(count * sizeof(int32_t), &buffer, &error));
    int32_t *tokens = forge_buffer_data(buffer);
    for (size_t i = 0; i < count; i++)
        tokens[i] = (int32_t)((seed += seed * 1664525u + 1013904223u) >> 8) % 50257;
    need(forge_tensor_view(buffer, 0, FORGE_I32, &shape, &tensor, &error));
    need(forge_instance_set(instance, input, &tensor, &error));
    forge_buffer_release(buffer);
}

/* --- time by kernel ------------------------------------------------------------------------------------- */

struct kind {
    forge_launch_facts facts; /* sums over all launches of this kind */
    size_t launches;
};

static int by_seconds(const void *x, const void *y)
{
    double a = ((const struct kind *)x)->facts.seconds, b = ((const struct kind *)y)->facts.seconds;
    return (a < b) - (a > b);
}

static void print_kinds(double runs)
{
    static struct kind kinds[MAX_KINDS];
    size_t count = 0, i;
    double seconds = 0;
    forge_launch_facts launch = {.struct_size = sizeof launch};
    for (size_t n = 0; forge_instance_launch(instance, n, &launch) == JOULE_OK; n++) {
        seconds += launch.seconds;
        for (i = 0; i < count; i++)
            if (strcmp(kinds[i].facts.kernel, launch.kernel) == 0 && kinds[i].facts.phase == launch.phase)
                break;
        if (i == MAX_KINDS)
            continue;
        if (i == count)
            kinds[count++].facts = (forge_launch_facts){.kernel = launch.kernel, .phase = launch.phase};
        kinds[i].facts.seconds += launch.seconds;
        kinds[i].facts.flop += launch.flop;
        kinds[i].facts.read_bytes += launch.read_bytes + launch.written_bytes;
        kinds[i].launches++;
    }
    qsort(kinds, count, sizeof *kinds, by_seconds);
    printf("\n%-28s %-10s %8s %9s %7s %9s %8s\n", "kernel", "phase", "launches", "ms/step", "share",
           "GFLOP/s", "GB/s");
    for (i = 0; i < count && kinds[i].facts.seconds > 0.002 * seconds; i++) {
        const forge_launch_facts *facts = &kinds[i].facts;
        double of_step = facts->seconds / runs;
        printf("%-28s %-10s %8zu %9.2f %6.1f%% %9.1f %8.1f\n", facts->kernel, forge_phase_name(facts->phase),
               kinds[i].launches, of_step * 1e3, 100 * facts->seconds / seconds, facts->flop / of_step * 1e-9,
               facts->read_bytes / of_step * 1e-9);
    }
}

static double run_steps(void)
{
    static double steps_s[MAX_STEPS];
    for (unsigned long i = 0; i <= how.steps; i++) {
        forge_tensor loss;
        int64_t begin_ns = clock_now_ns();
        need(forge_instance_run(instance, &error));
        double seconds = clock_seconds(clock_now_ns() - begin_ns);
        need(forge_instance_get(instance, "loss", &loss, &error));
        printf("step %2lu  loss %.4f  %.3f s\n", i, (double)*(const float *)forge_tensor_data(&loss),
               seconds);
        if (i == 0)
            forge_instance_reset_times(instance);
        else
            steps_s[i - 1] = seconds;
    }
    return median(steps_s, how.steps);
}

int main(int argc, char **argv)
{
    unsigned long *wishes[] = {&how.steps, &how.rows, &how.context, &how.threads, &how.layers};
    for (int i = 1; i < argc; i++) {
        char *end;
        unsigned long wish = strtoul(argv[i], &end, 10);
        if (*end || i > 5) {
            fprintf(stderr, "usage: gpt2 [STEPS [ROWS [CONTEXT [THREADS [LAYERS]]]]]; 0: as it is\n");
            return 2;
        }
        if (wish)
            *wishes[i - 1] = wish;
    }
    if (how.steps > MAX_STEPS)
        how.steps = MAX_STEPS;
    double before = resident();
    build();
    set_tokens("tokens", forge_shape_of((int64_t)how.rows, (int64_t)how.context), 1);
    set_tokens("next", forge_shape_of((int64_t)(how.rows * how.context)), 2);
    double step_s = run_steps(), grown = resident() - before;
    print_kinds((double)how.steps);
    forge_program_facts facts = {.struct_size = sizeof facts};
    forge_program_query(program, &facts);
    double planned = (double)facts.arena_bytes + (double)facts.state_bytes;
    printf("\narena %.1f MiB, at least %.1f; slots %.1f MiB; resident growth %.1f MiB, %.1f %% above both\n",
           (double)facts.arena_bytes / 0x1p20, (double)facts.arena_bound_bytes / 0x1p20,
           (double)facts.state_bytes / 0x1p20, grown / 0x1p20, 100 * (grown / planned - 1));
    printf("median step %.3f s, %.1f GFLOP/s, %lu threads\n", step_s, facts.flop / step_s * 1e-9,
           how.threads);
    printf("{\"bench\":\"gpt2\",\"rows\":%lu,\"context\":%lu,\"layers\":%lu,\"threads\":%lu,\"step_s\":%.4f,"
           "\"flop\":%.4g,\"arena_bytes\":%zu,\"arena_bound_bytes\":%zu,\"state_bytes\":%zu,"
           "\"resident_growth_bytes\":%.0f}\n",
           how.rows, how.context, how.layers, how.threads, step_s, facts.flop, facts.arena_bytes,
           facts.arena_bound_bytes, facts.state_bytes, grown);
    forge_instance_free(instance);
    forge_program_free(program);
    forge_states_free(states);
    forge_device_close(device);
    return 0;
}
