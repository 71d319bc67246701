/* bench/passes.c - shows what each pass of the compiler changes in mlp, cnn, resnet18 and gpt: launches,
 * moved bytes, the time of a run, and modelled joules.
 *
 * Each model is compiled once with all passes, once without each pass, and once with all passes in bf16
 * and in f16. Their runs alternate, and the table contains medians. `bench_passes RUNS THREADS MODEL`
 * (default: 9 runs, 2 threads, all models) measures more or less. */
#include <forge/compiler.h>
#include <forge/optim.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "bench.h"

enum { MAX_RUNS = 200, MAX_VARIANTS = 16 };

static unsigned long runs = 9, threads = 2;
static joule_error error;

static void need(joule_status status)
{
    if (status == JOULE_OK)
        return;
    fprintf(stderr, "bench_passes: %s\n", error.message);
    exit(1);
}

/* --- models --------------------------------------------------------------------------------------------- */

/* Adds the loss of a classification and the step of an optimiser. */
static void add_training(forge_builder *b, forge_value logits, int64_t count)
{
    forge_adamw_options adamw = FORGE_ADAMW_OPTIONS;
    forge_value loss =
        forge_cross_entropy(b, logits, forge_input(b, "labels", FORGE_I32, forge_shape_of(count)));
    forge_output(b, "loss", loss);
    forge_adamw(b, loss, forge_scalar(b, FORGE_F32, 1e-3), &adamw);
}

static void finish(forge_builder *b, forge_value logits, int64_t count, bool is_training)
{
    if (is_training)
        add_training(b, logits, count);
    else
        forge_output(b, "logits", logits);
}

static void build_mlp(forge_builder *b, bool is_training)
{
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(128, 784));
    finish(b, forge_mlp(b, NULL, x, (const int64_t[]){128, 10}, 2), 128, is_training);
}

static void build_cnn(forge_builder *b, bool is_training)
{
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(128, 1, 28, 28));
    finish(b, forge_cnn(b, NULL, x, (const int64_t[]){16, 32, 64, 10}), 128, is_training);
}

static void build_resnet18(forge_builder *b, bool is_training)
{
    forge_resnet_options options = {
        .struct_size = sizeof options, .depth = 18, .classes = 1000, .is_training = is_training};
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(4, 3, 224, 224));
    finish(b, forge_resnet(b, NULL, x, &options), 4, is_training);
}

static void build_gpt(forge_builder *b, bool is_training)
{
    enum { ROWS = 4, CONTEXT = 64, VOCABULARY = 4096 };
    forge_gpt_options options = {.struct_size = sizeof options,
                                 .layers = 4,
                                 .heads = 12,
                                 .vocabulary = VOCABULARY,
                                 .context = CONTEXT,
                                 .width = 768,
                                 .is_training = is_training};
    forge_value tokens = forge_input(b, "tokens", FORGE_I32, forge_shape_of(ROWS, CONTEXT));
    forge_value logits = forge_gpt(b, NULL, tokens, &options);
    finish(b, forge_reshape(b, logits, forge_shape_of(ROWS * CONTEXT, VOCABULARY)), ROWS * CONTEXT,
           is_training);
}

/* --- variants ------------------------------------------------------------------------------------------- */

/* A model compiled without some passes, or in another type. */
struct variant {
    const char *skip; /* NULL: with all passes */
    forge_precision precision;
    forge_states *states;
    forge_program *program;
    forge_instance *instance;
    double bytes, joules; /* of the graph after the last pass */
    double times_s[MAX_RUNS];
};

static void note_graph(const forge_pass_facts *facts, const forge_graph *graph, void *context)
{
    struct variant *variant = context;
    (void)graph;
    variant->bytes = facts->bytes_after;
    variant->joules = facts->joules_after.value;
}

static void open_variant(struct variant *variant, const forge_graph *graph, forge_device *device)
{
    forge_compile_options options = {.struct_size = sizeof options,
                                     .skip = variant->skip,
                                     .precision = variant->precision,
                                     .notify = note_graph,
                                     .notify_context = variant};
    need(forge_compile_with(graph, device, &options, &variant->program, &error));
    need(forge_states_new(device, 1, &variant->states, &error));
    need(forge_instance_new(variant->program, device, variant->states, &variant->instance, &error));
    need(forge_instance_set_zeros(variant->instance, NULL, &error));
}

static void close_variant(struct variant *variant)
{
    forge_instance_free(variant->instance);
    forge_states_free(variant->states);
    forge_program_free(variant->program);
}

/* Runs all variants in turns. The first run is not counted, because it also waits for the system to provide
 * the memory. */
static void time_variants(struct variant *variants, size_t count)
{
    for (unsigned long run = 0; run <= runs; run++)
        for (size_t i = 0; i < count; i++) {
            int64_t begin_ns = clock_now_ns();
            need(forge_instance_run(variants[i].instance, &error));
            if (run > 0)
                variants[i].times_s[run - 1] = clock_seconds(clock_now_ns() - begin_ns);
        }
}

static void print_variants(const char *model, bool is_training, struct variant *variants, size_t count)
{
    static const char *const types[] = {"", ", bf16", ", f16"};
    double all_s = median(variants[0].times_s, runs);
    for (size_t i = 0; i < count; i++) {
        forge_program_facts facts = {.struct_size = sizeof facts};
        forge_program_query(variants[i].program, &facts);
        double seconds = i ? median(variants[i].times_s, runs) : all_s;
        printf("| %s, %s | %s%s%s | %zu | %.1f | %.1f | %.2f | %.2f | %.2f |\n", model,
               is_training ? "training" : "inference", variants[i].skip ? "without " : "all passes",
               variants[i].skip ? variants[i].skip : "", types[variants[i].precision], facts.launches,
               variants[i].bytes / 0x1p20, (double)facts.arena_bytes / 0x1p20, seconds * 1e3, seconds / all_s,
               variants[i].joules * 1e3);
    }
    fflush(stdout);
}

static void measure(const char *model, void (*build)(forge_builder *b, bool is_training), bool is_training,
                    forge_device *device)
{
    static struct variant variants[MAX_VARIANTS];
    forge_builder *b = forge_builder_new();
    forge_graph *graph = NULL;
    size_t count = 1;
    build(b, is_training);
    need(forge_builder_finish(b, &graph, &error));
    variants[0] = (struct variant){0};
    for (size_t i = 0; forge_pass_name_at(i) && count + 2 < MAX_VARIANTS; i++) {
        const char *name = forge_pass_name_at(i);
        if (strcmp(name, "expand") != 0 && strcmp(name, "transfer") != 0 &&
            strcmp(name, "precision") != 0) /* programs need the first two; the third does nothing in f32 */
            variants[count++] = (struct variant){.skip = name};
    }
    variants[count++] = (struct variant){.precision = FORGE_PRECISION_BF16};
    variants[count++] = (struct variant){.precision = FORGE_PRECISION_F16};
    for (size_t i = 0; i < count; i++)
        open_variant(&variants[i], graph, device);
    time_variants(variants, count);
    print_variants(model, is_training, variants, count);
    for (size_t i = 0; i < count; i++)
        close_variant(&variants[i]);
    forge_graph_free(graph);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*build)(forge_builder *b, bool is_training);
    } models[] = {{"mlp", build_mlp}, {"cnn", build_cnn}, {"resnet18", build_resnet18}, {"gpt", build_gpt}};
    unsigned long *wishes[] = {&runs, &threads};
    for (int i = 1; i < argc && i <= 2; i++)
        *wishes[i - 1] = strtoul(argv[i], NULL, 10);
    runs = runs < 1 ? 1 : runs > MAX_RUNS ? MAX_RUNS : runs;
    forge_device *device = NULL;
    need(forge_device_open("cpu", &device, &error));
    need(forge_device_set_threads(device, (unsigned)threads, &error));
    printf("| model | passes | launches | MiB moved | MiB arena | ms | relative | mJ, modelled |\n"
           "|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        for (int is_training = 0; is_training < 2 && (argc < 4 || strcmp(argv[3], models[i].name) == 0);
             is_training++)
            measure(models[i].name, models[i].build, is_training, device);
    forge_device_close(device);
    return 0;
}
