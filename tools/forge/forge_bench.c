/* tools/forge/forge_bench.c - `forge bench`: measures the limits of this machine, and the speed of
 * TensorForge relative to them.
 *
 * Note: the limits are measured again just before each case, because they vary on a shared machine. After an
 * interrupt the remaining cases are skipped and the finished ones are reported.
 */
#include <forge/nn.h>
#include <forge/optim.h>
#include <forge/random.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/error.h"
#include "forge_commands.h"
#include "common/options.h"
#include "common/output.h"
#include "common/page.h"
#include "compiled_code.h"
#include "prediction.h"
#include "files.h"
#include "forge/ir/graph.h"
#include "peak.h"
#include "timing.h"

#define SCHEMA         "forge-bench-1"
#define METER_PERIOD_S 0.02
#define METERED_PART   1.5 /* timing_measure with a meter takes this multiple of `seconds` */

/* --- cases ---------------------------------------------------------------------------------------------- */

enum { CLASSES = 10, MLP_BATCH = 128, CNN_BATCH = 32 };

static forge_value square_product(forge_builder *b, int64_t n)
{
    forge_shape shape = forge_shape_of(n, n);
    forge_value left = forge_input(b, "a", FORGE_F32, shape);
    return forge_matmul(b, left, forge_input(b, "b", FORGE_F32, shape), 0);
}

static forge_value gemm_512(forge_builder *b)
{
    return square_product(b, 512);
}

static forge_value gemm_1024(forge_builder *b)
{
    return square_product(b, 1024);
}

static forge_value conv(forge_builder *b)
{
    forge_conv_options options = {
        .struct_size = sizeof options, .padding_before = {1, 1}, .padding_after = {1, 1}};
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(8, 64, 28, 28));
    return forge_conv(b, x, forge_input(b, "w", FORGE_F32, forge_shape_of(64, 64, 3, 3)), &options);
}

static forge_value add(forge_builder *b)
{
    forge_shape shape = forge_shape_of(1 << 24);
    forge_value left = forge_input(b, "a", FORGE_F32, shape);
    return forge_add(b, left, forge_input(b, "b", FORGE_F32, shape));
}

static forge_value train(forge_builder *b, forge_value logits, int64_t batch)
{
    forge_sgd_options sgd = {.struct_size = sizeof sgd, .momentum = 0.9};
    forge_value labels = forge_input(b, "labels", FORGE_U8, forge_shape_of(batch));
    forge_value loss = forge_cross_entropy(b, logits, labels);
    forge_sgd(b, loss, forge_input(b, "learning_rate", FORGE_F32, (forge_shape){0}), &sgd);
    return loss;
}

static forge_value train_mlp(forge_builder *b)
{
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(MLP_BATCH, 784));
    return train(b, forge_mlp(b, "mlp", x, (int64_t[]){128, CLASSES}, 2), MLP_BATCH);
}

static forge_value train_cnn(forge_builder *b)
{
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(CNN_BATCH, 1, 28, 28));
    return train(b, forge_cnn(b, "cnn", x, (int64_t[]){16, 32, 64, CLASSES}), CNN_BATCH);
}

static const struct bench_case {
    const char *name, *what;
    forge_value (*build)(forge_builder *b);
    unsigned samples; /* per run; 0: not a training step */
} bench_cases[] = {
    {"gemm-512", "product of 512 x 512 matrices, f32", gemm_512, 0},
    {"gemm-1024", "product of 1024 x 1024 matrices, f32", gemm_1024, 0},
    {"conv", "3 x 3 convolution, 8 images of 28 x 28, 64 to 64 channels, f32", conv, 0},
    {"add", "sum of two arrays of 2^24 f32", add, 0},
    {"train-mlp", "a step of training 784-128-10, 128 samples", train_mlp, MLP_BATCH},
    {"train-cnn", "a step of training the convolutional network, 32 samples", train_cnn, CNN_BATCH},
};
enum { BENCH_CASES = sizeof bench_cases / sizeof *bench_cases };

/* --- measurement ---------------------------------------------------------------------------------------- */

struct peak {
    const char *isa;
    double thread_gflops, gflops; /* limit of one thread; limit of all threads */
};

struct report {
    const char *json;
    unsigned threads;
    bool is_compiled;
    double seconds;  /* time limit of the whole benchmark */
    const char *isa; /* instruction set in use; NULL: the device has none */
    struct peak peaks[FORGE_MAX_INSTRUCTION_SETS];
    size_t peak_count;
    double thread_gb_per_s, gb_per_s;
    struct timing timings[BENCH_CASES];
    size_t count;
    bool is_quiet; /* print no table, because the JSON goes to standard output */
};

static volatile sig_atomic_t interrupted_by;

static void on_interrupt(int signal_number)
{
    interrupted_by = signal_number;
}

static void measure_peaks(struct report *r, const forge_device_facts *facts)
{
    for (const forge_instruction_set *set = facts->instruction_sets; set->name && !interrupted_by; set++) {
        if (!set->is_supported)
            continue;
        r->isa = set->is_in_use ? set->name : r->isa;
        r->peaks[r->peak_count++] =
            (struct peak){set->name, peak_gflops(set->name, 1), peak_gflops(set->name, r->threads)};
    }
    r->thread_gb_per_s = peak_copy_gb_per_s(1);
    r->gb_per_s = peak_copy_gb_per_s(r->threads);
}

/* Sets input i to pseudo-random values. Note: reading unwritten memory would be too fast, because all its
 * pages map to one zero page. */
static joule_status fill(forge_instance *instance, const forge_graph *graph, size_t i, joule_error *error)
{
    const struct value *value = &graph->values[graph->inputs[i].value];
    forge_tensor tensor;
    joule_status status = forge_tensor_new(value->dtype, &value->shape, &tensor, error);
    if (status != JOULE_OK)
        return status;
    size_t count = forge_tensor_elements(&tensor);
    if (value->dtype == FORGE_F32)
        forge_random_uniform(&(forge_random){.key = i}, 0, count, forge_tensor_data(&tensor));
    for (size_t k = 0; value->dtype == FORGE_U8 && k < count; k++)
        ((uint8_t *)forge_tensor_data(&tensor))[k] = (uint8_t)(k % CLASSES);
    if (value->shape.rank == 0) /* the learning rate */
        *(float *)forge_tensor_data(&tensor) = 1e-3f;
    status = forge_instance_set(instance, graph->inputs[i].name, &tensor, error);
    forge_buffer_release(tensor.buffer);
    return status;
}

static joule_status measure_case(struct report *r, size_t i, forge_device *device, joule_meter *meter,
                                 double seconds, joule_error *error)
{
    forge_builder *b = forge_builder_new();
    forge_graph *graph = NULL;
    forge_program *program = NULL;
    forge_states *states = NULL;
    forge_instance *instance = NULL;
    forge_output(b, "y", bench_cases[i].build(b));
    joule_status status = forge_builder_finish(b, &graph, error);
    if (status == JOULE_OK)
        status = forge_compile(graph, device, &program, error);
    if (status == JOULE_OK)
        status = forge_states_new(device, 1, &states, error);
    if (status == JOULE_OK)
        status = forge_instance_new(program, device, states, &instance, error);
    for (size_t k = 0; status == JOULE_OK && k < graph->input_count; k++)
        status = fill(instance, graph, k, error);
    timing_limits(&r->timings[i], r->isa, r->threads);
    if (status == JOULE_OK)
        status = timing_measure(instance, meter, seconds, &interrupted_by, &r->timings[i], error);
    forge_instance_free(instance);
    forge_states_free(states);
    forge_program_free(program);
    forge_graph_free(graph);
    return status;
}

/* --- table ---------------------------------------------------------------------------------------------- */

static void print_peaks(const struct report *r)
{
    printf("Limits of this machine, measured   1 thread   %u threads\n", r->threads);
    for (size_t i = 0; i < r->peak_count; i++)
        printf("  multiply-adds, %-8s GFLOP/s %10.1f %10.1f%s\n", r->peaks[i].isa, r->peaks[i].thread_gflops,
               r->peaks[i].gflops, r->isa && strcmp(r->isa, r->peaks[i].isa) == 0 ? "  (in use)" : "");
    printf("  copying                   GB/s %10.1f %10.1f\n\n", r->thread_gb_per_s, r->gb_per_s);
    printf("%-10s %s  energy of a run\n", "", timing_head);
    fflush(stdout);
}

static void print_case(const struct report *r, size_t i)
{
    const struct timing *t = &r->timings[i];
    char timing[TIMING_TEXT], energy[QUANTITY_TEXT], rate[48] = "";
    if (bench_cases[i].samples && t->joules.value > 0)
        snprintf(rate, sizeof rate, "; %.4g samples/J", bench_cases[i].samples / t->joules.value);
    printf("%-10s %s  %s%s%s%s\n", bench_cases[i].name, timing_text(t, timing),
           quantity_text(t->joules, JOULE_DIMENSION_ENERGY, energy), isnan(t->joules.value) ? "" : ", ",
           isnan(t->joules.value) ? "" : joule_class_name(t->joules.cls), rate);
    fflush(stdout);
}

static void print_foot(void)
{
    puts("\nshare: speed relative to the nearer limit, which is measured just before each case. Above\n"
         "100 %, the data fit in caches, or the machine was busy while the limit was measured. Without\n"
         "an energy sensor, energy is that of this process, modelled from its CPU time. Intervals of\n"
         "energy are 90 % intervals.");
    for (size_t i = 0; i < BENCH_CASES; i++)
        printf("  %-10s %s\n", bench_cases[i].name, bench_cases[i].what);
}

/* --- JSON ----------------------------------------------------------------------------------------------- */

static void print_json(const void *context, struct text *out)
{
    const struct report *r = context;
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_string(&json, "schema", SCHEMA);
    json_string(&json, "forge_version", joule_version());
    json_integer(&json, "threads", r->threads);
    json_string(&json, "isa", r->isa);
    json_bool(&json, "interrupted", interrupted_by != 0);
    json_open(&json, "limits", '[');
    for (size_t i = 0; i < r->peak_count; i++) {
        json_open(&json, NULL, '{');
        json_string(&json, "isa", r->peaks[i].isa);
        json_double(&json, "thread_gflops", r->peaks[i].thread_gflops);
        json_double(&json, "gflops", r->peaks[i].gflops);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_double(&json, "thread_gb_per_s", r->thread_gb_per_s);
    json_double(&json, "gb_per_s", r->gb_per_s);
    json_open(&json, "results", '[');
    for (size_t i = 0; i < r->count; i++) {
        json_open(&json, NULL, '{');
        json_string(&json, "name", bench_cases[i].name);
        json_string(&json, "what", bench_cases[i].what);
        if (bench_cases[i].samples)
            json_integer(&json, "samples", bench_cases[i].samples);
        else
            json_null(&json, "samples");
        timing_json(&json, &r->timings[i]);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
    text_add(out, "\n");
}

/* --- run ------------------------------------------------------------------------------------------------ */

static joule_status run_all(struct report *r, forge_device *device, joule_meter *meter, joule_error *error)
{
    forge_device_facts facts = {.struct_size = sizeof facts};
    int64_t begin_ns = clock_now_ns();
    forge_device_query(device, &facts);
    r->threads = facts.threads;
    measure_peaks(r, &facts);
    if (!r->is_quiet)
        print_peaks(r);
    for (size_t i = 0; i < BENCH_CASES && !interrupted_by; i++) {
        double left_s = r->seconds - clock_seconds(clock_now_ns() - begin_ns);
        double each_s = fmax(left_s / (double)(BENCH_CASES - i) - 0.5, 0.05) / (meter ? METERED_PART : 1);
        joule_status status = measure_case(r, i, device, meter, each_s, error);
        if (status != JOULE_OK)
            return status;
        if (r->timings[i].runs == 0)
            break; /* interrupted before the first run of this case */
        r->count = i + 1;
        if (!r->is_quiet)
            print_case(r, i);
    }
    if (!r->is_quiet && !interrupted_by)
        print_foot();
    return JOULE_OK;
}

static int end(const struct report *r)
{
    joule_error error = {0};
    size_t length;
    int code = interrupted_by ? 128 + interrupted_by : 0;
    char *page = r->json ? page_make("bench", print_json, r, &length) : NULL;
    if (r->json && (!page || output_write(r->json, page, length, &error) != JOULE_OK)) {
        if (page)
            complain("bench", "%s", error.message);
        code = EXIT_OWN_FAILURE;
    }
    free(page);
    return code;
}

static int bench(struct report *r)
{
    forge_device *device = NULL;
    joule_meter *meter = NULL;
    joule_error error = {0};
    const joule_options how = {.struct_size = sizeof how, .period_s = METER_PERIOD_S};
    joule_status status = forge_device_open("cpu", &device, &error);
    if (status == JOULE_OK)
        status = forge_device_set_threads(device, r->threads, &error);
    if (status == JOULE_OK)
        compiled_code_begin(device, "bench", r->is_compiled);
    if (status == JOULE_OK && joule_open(&how, &meter, &error) != JOULE_OK)
        complain("bench", "cannot measure energy: %s", error.message);
    if (status == JOULE_OK)
        status = run_all(r, device, meter, &error);
    if (status == JOULE_OK)
        compiled_code_end(device, "bench");
    forge_device_close(device);
    joule_close(meter);
    if (status == JOULE_OK)
        return end(r);
    complain("bench", "%s", error.message);
    return EXIT_OWN_FAILURE;
}

int bench_main(int argc, char **argv)
{
    struct report report = {.seconds = 20};
    const struct option table[] = {
        {"time", 0, OPTION_TIME, &report.seconds, "TIME", "approximate total duration (default: 20s)"},
        {"threads", 't', OPTION_COUNT, &report.threads, "N",
         "number of threads (default: all CPUs allowed to the process)"},
        COMPILED_OPTION(&report.is_compiled),
        {"json", 'j', OPTION_TEXT, &report.json, "FILE",
         "write the report as JSON; -: to standard output, without the table"},
        {NULL},
    };
    const struct command_text text = {
        "forge bench [OPTIONS]",
        "Measures the limits of this machine, and the speed and energy of TensorForge on it.",
        "FORGE_ISA chooses the instruction set of the kernels.\n"};
    int first = options_read(table, &text, argc, argv);
    if (first == OPTIONS_HELP || first == OPTIONS_WRONG)
        return first == OPTIONS_HELP ? 0 : EXIT_USAGE;
    if (first < argc) {
        complain("bench", "unexpected argument '%s'; see forge bench --help", argv[first]);
        return EXIT_USAGE;
    }
    joule_error error = {0};
    if (report.json && output_check(report.json, &error) != JOULE_OK) {
        complain("bench", "%s", error.message);
        return EXIT_USAGE;
    }
    report.is_quiet = report.json && strcmp(report.json, "-") == 0;
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return bench(&report);
}
