/* bench/networks.c - measures runs of networks and of products for bench/networks.py.
 *
 * `bench_networks THREADS SECONDS CASE...` prints one JSON line for each case: the times of its runs in s. A
 * case is measured for about SECONDS, and at least once. The first run is not counted, because it also waits
 * for the system to provide the memory. Cases (see bench/networks_peers.py for the same cases in the peers):
 *   infer:DEPTH:N          inference of ResNet on N images of 224 x 224
 *   train:DEPTH:N          a training step of ResNet with SGD
 *   gpt2:ROWS:TOKENS:LAYERS  a training step of GPT-2 with AdamW
 *   mnist:N                an epoch of the small convolutional network, in batches of N images
 *   gemm:M:K:N             a product of f32 matrices [M, K] and [K, N]
 *   mlp:N                  inference of the network 784-128-10 on N images
 *   launches:N             time per operation of a chain of N operations on 8 numbers
 */
#include <forge/compiler.h>
#include <forge/data.h>
#include <forge/optim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"

enum {
    MAX_RUNS = 2000,
    MAX_SIZES = 3,
    MAX_KERNELS = 64,
    MNIST_IMAGES = 60000,
    MNIST_PIXELS = 28 * 28,
    VOCABULARY = 50257
};

static forge_device *device;
static joule_error error;

static void need(joule_status status)
{
    if (status == JOULE_OK)
        return;
    fprintf(stderr, "bench_networks: %s\n", error.message);
    exit(1);
}

/* --- inputs --------------------------------------------------------------------------------------------- */

/* Returns a new tensor, packed. The caller releases its buffer. */
static forge_tensor new_tensor(forge_dtype dtype, forge_shape shape)
{
    forge_tensor tensor;
    forge_buffer *buffer = NULL;
    need(forge_buffer_new(4 * forge_shape_elements(&shape), &buffer, &error));
    need(forge_tensor_view(buffer, 0, dtype, &shape, &tensor, &error));
    return tensor;
}

/* Returns random numbers: f32 from -1 to 1, or i32 from 0 to `limit` - 1. */
static forge_tensor random_tensor(forge_dtype dtype, forge_shape shape, int32_t limit)
{
    forge_tensor tensor = new_tensor(dtype, shape);
    unsigned char *data = forge_buffer_data(tensor.buffer);
    uint32_t state = 1;
    for (size_t i = 0; i < forge_shape_elements(&shape); i++) {
        state = state * 1664525u + 1013904223u;
        int32_t whole = limit > 0 ? (int32_t)((state >> 8) % (uint32_t)limit) : 0;
        float real = (float)(int32_t)state * 0x1p-31f;
        memcpy(data + 4 * i, dtype == FORGE_I32 ? (void *)&whole : (void *)&real, 4);
    }
    return tensor;
}

static void set_random(forge_instance *instance, const char *input, forge_dtype dtype, forge_shape shape,
                       int32_t limit)
{
    forge_tensor tensor = random_tensor(dtype, shape, limit);
    need(forge_instance_set(instance, input, &tensor, &error));
    forge_buffer_release(tensor.buffer);
}

/* --- cases ---------------------------------------------------------------------------------------------- */

static void set_images(forge_instance *instance, const int64_t *sizes)
{
    set_random(instance, "x", FORGE_F32, forge_shape_of(sizes[1], 3, 224, 224), 0);
}

static void add_sgd(forge_builder *b, forge_value logits, int64_t count)
{
    forge_sgd_options sgd = {.struct_size = sizeof sgd, .momentum = 0.9};
    forge_value labels = forge_input(b, "labels", FORGE_I32, forge_shape_of(count));
    forge_value loss = forge_cross_entropy(b, logits, labels);
    forge_output(b, "loss", loss);
    forge_sgd(b, loss, forge_scalar(b, FORGE_F32, 1e-3), &sgd);
}

static forge_value resnet(forge_builder *b, const int64_t *sizes, bool is_training)
{
    forge_resnet_options options = {.struct_size = sizeof options,
                                    .depth = (uint32_t)sizes[0],
                                    .classes = 1000,
                                    .is_training = is_training};
    return forge_resnet(b, NULL, forge_input(b, "x", FORGE_F32, forge_shape_of(sizes[1], 3, 224, 224)),
                        &options);
}

static void build_infer(forge_builder *b, const int64_t *sizes)
{
    forge_output(b, "logits", resnet(b, sizes, false));
}

static void build_train(forge_builder *b, const int64_t *sizes)
{
    add_sgd(b, resnet(b, sizes, true), sizes[1]);
}

static void set_train(forge_instance *instance, const int64_t *sizes)
{
    set_images(instance, sizes);
    set_random(instance, "labels", FORGE_I32, forge_shape_of(sizes[1]), 1000);
}

static void build_gpt2(forge_builder *b, const int64_t *sizes)
{
    forge_gpt_options gpt = {.struct_size = sizeof gpt,
                             .layers = (uint32_t)sizes[2],
                             .heads = 12,
                             .vocabulary = VOCABULARY,
                             .context = 1024,
                             .width = 768,
                             .is_training = true};
    forge_adamw_options adamw = FORGE_ADAMW_OPTIONS;
    int64_t count = sizes[0] * sizes[1];
    forge_value tokens = forge_input(b, "tokens", FORGE_I32, forge_shape_of(sizes[0], sizes[1]));
    forge_value next = forge_input(b, "next", FORGE_I32, forge_shape_of(count));
    forge_value logits = forge_gpt(b, NULL, tokens, &gpt);
    forge_value flat = forge_reshape(b, logits, forge_shape_of(count, VOCABULARY));
    forge_value loss = forge_cross_entropy(b, flat, next);
    forge_output(b, "loss", loss);
    forge_adamw(b, loss, forge_scalar(b, FORGE_F32, 3e-4), &adamw);
}

static void set_gpt2(forge_instance *instance, const int64_t *sizes)
{
    set_random(instance, "tokens", FORGE_I32, forge_shape_of(sizes[0], sizes[1]), VOCABULARY);
    set_random(instance, "next", FORGE_I32, forge_shape_of(sizes[0] * sizes[1]), VOCABULARY);
}

static void build_mnist(forge_builder *b, const int64_t *sizes)
{
    forge_adamw_options adamw = FORGE_ADAMW_OPTIONS;
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(sizes[0], 1, 28, 28));
    forge_value labels = forge_input(b, "labels", FORGE_I32, forge_shape_of(sizes[0]));
    forge_value logits = forge_cnn(b, NULL, x, (const int64_t[]){16, 32, 64, 10});
    forge_value loss = forge_cross_entropy(b, logits, labels);
    forge_output(b, "loss", loss);
    forge_adamw(b, loss, forge_scalar(b, FORGE_F32, 1e-3), &adamw);
}

static forge_tensor mnist_images, mnist_labels;

/* Reads MNIST from JOULE_TEST_DATA, or creates random images and labels. */
static void set_mnist(forge_instance *instance, const int64_t *sizes)
{
    const char *data = getenv("JOULE_TEST_DATA");
    char folder[4096];
    forge_dataset *dataset = NULL;
    (void)instance, (void)sizes;
    mnist_images = random_tensor(FORGE_F32, forge_shape_of(MNIST_IMAGES, MNIST_PIXELS), 0);
    mnist_labels = random_tensor(FORGE_I32, forge_shape_of(MNIST_IMAGES), 10);
    snprintf(folder, sizeof folder, "%s/ml-data/mnist", data ? data : "../shared/data");
    if (forge_dataset_mnist(folder, false, &dataset, &error) != JOULE_OK)
        return;
    forge_tensor images = forge_dataset_column(dataset, 0), labels = forge_dataset_column(dataset, 1);
    const unsigned char *pixels = forge_tensor_data(&images), *classes = forge_tensor_data(&labels);
    float *x = forge_buffer_data(mnist_images.buffer);
    int32_t *y = forge_buffer_data(mnist_labels.buffer);
    for (size_t i = 0; i < forge_dataset_examples(dataset) && i < MNIST_IMAGES; i++) {
        y[i] = classes[i];
        for (size_t k = i * MNIST_PIXELS; k < (i + 1) * MNIST_PIXELS; k++)
            x[k] = ((float)pixels[k] / 255 - 0.1307f) / 0.3081f;
    }
    forge_dataset_free(dataset);
}

/* Runs an epoch. The last images that do not fill a batch are not used. */
static void run_mnist(forge_instance *instance, const int64_t *sizes)
{
    forge_shape images = forge_shape_of(sizes[0], 1, 28, 28), labels = forge_shape_of(sizes[0]);
    for (int64_t first = 0; first + sizes[0] <= MNIST_IMAGES; first += sizes[0]) {
        forge_tensor x, y;
        need(forge_tensor_view(mnist_images.buffer, 4 * (size_t)first * MNIST_PIXELS, FORGE_F32, &images, &x,
                               &error));
        need(forge_tensor_view(mnist_labels.buffer, 4 * (size_t)first, FORGE_I32, &labels, &y, &error));
        need(forge_instance_set(instance, "x", &x, &error));
        need(forge_instance_set(instance, "labels", &y, &error));
        need(forge_instance_run(instance, &error));
    }
}

static void build_gemm(forge_builder *b, const int64_t *sizes)
{
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(sizes[0], sizes[1]));
    forge_value y = forge_input(b, "y", FORGE_F32, forge_shape_of(sizes[1], sizes[2]));
    forge_output(b, "product", forge_matmul(b, x, y, 0));
}

static void set_gemm(forge_instance *instance, const int64_t *sizes)
{
    set_random(instance, "x", FORGE_F32, forge_shape_of(sizes[0], sizes[1]), 0);
    set_random(instance, "y", FORGE_F32, forge_shape_of(sizes[1], sizes[2]), 0);
}

static void build_mlp(forge_builder *b, const int64_t *sizes)
{
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(sizes[0], 784));
    forge_output(b, "logits", forge_mlp(b, NULL, x, (const int64_t[]){128, 10}, 2));
}

static void set_mlp(forge_instance *instance, const int64_t *sizes)
{
    set_random(instance, "x", FORGE_F32, forge_shape_of(sizes[0], 784), 0);
}

/* Adds and multiplies in turns, so that no rule can simplify the chain. */
static void build_launches(forge_builder *b, const int64_t *sizes)
{
    forge_value x = forge_input(b, "x", FORGE_F32, forge_shape_of(8));
    forge_value y = x;
    for (int64_t i = 0; i < sizes[0]; i++)
        y = i % 2 ? forge_mul(b, y, x) : forge_add(b, y, x);
    forge_output(b, "y", y);
}

static void set_launches(forge_instance *instance, const int64_t *sizes)
{
    (void)sizes;
    set_random(instance, "x", FORGE_F32, forge_shape_of(8), 0);
}

static const struct kind {
    const char *name;
    int sizes;
    bool is_inference, is_per_launch;
    const char *skip; /* passes that do not run */
    void (*build)(forge_builder *b, const int64_t *sizes);
    void (*set)(forge_instance *instance, const int64_t *sizes);
    void (*run)(forge_instance *instance, const int64_t *sizes); /* NULL: runs once */
} kinds[] = {
    {"infer", 2, true, false, NULL, build_infer, set_images, NULL},
    {"train", 2, false, false, NULL, build_train, set_train, NULL},
    {"gpt2", 3, false, false, NULL, build_gpt2, set_gpt2, NULL},
    {"mnist", 1, false, false, NULL, build_mnist, set_mnist, run_mnist},
    {"gemm", 3, false, false, NULL, build_gemm, set_gemm, NULL},
    {"mlp", 1, true, false, NULL, build_mlp, set_mlp, NULL},
    {"launches", 1, false, true, "fuse", build_launches, set_launches, NULL},
};

/* --- measuring ------------------------------------------------------------------------------------------ */

static double seconds_of(const struct kind *kind, forge_instance *instance, const int64_t *sizes)
{
    int64_t begin_ns = clock_now_ns();
    if (kind->run)
        kind->run(instance, sizes);
    else
        need(forge_instance_run(instance, &error));
    return clock_seconds(clock_now_ns() - begin_ns);
}

static void measure(const struct kind *kind, forge_instance *instance, const int64_t *sizes, double limit_s,
                    double divisor)
{
    static double times_s[MAX_RUNS];
    size_t runs = 0;
    double first_s = seconds_of(kind, instance, sizes);
    /* a run of microseconds is repeated until the caches, the threads and the clock rate are in their usual
     * state */
    for (double sum_s = first_s; sum_s < 0.1 * limit_s;)
        sum_s += seconds_of(kind, instance, sizes);
    for (double sum_s = 0; runs < MAX_RUNS && (runs == 0 || sum_s < limit_s); sum_s += times_s[runs++])
        times_s[runs] = seconds_of(kind, instance, sizes);
    for (size_t i = 0; i < runs; i++)
        printf("%s%.9g", i ? ", " : "", times_s[i] / divisor);
}

/* Prints the time of each kernel in a run, in s. Runs that `measure` does not count are included. */
static void print_kernels(const forge_instance *instance)
{
    struct {
        const char *name;
        double seconds;
    } kernels[MAX_KERNELS];
    size_t count = 0, i;
    forge_launch_facts launch = {.struct_size = sizeof launch};
    for (size_t n = 0; forge_instance_launch(instance, n, &launch) == JOULE_OK; n++) {
        for (i = 0; i < count && strcmp(kernels[i].name, launch.kernel) != 0;)
            i++;
        if (i == MAX_KERNELS || launch.runs == 0)
            continue;
        if (i == count) {
            kernels[count].name = launch.kernel;
            kernels[count++].seconds = 0;
        }
        kernels[i].seconds += launch.seconds / (double)launch.runs;
    }
    for (i = 0; i < count; i++)
        printf("%s\"%s\": %.6g", i ? ", " : "", kernels[i].name, kernels[i].seconds);
}

static void measure_case(const char *text, const struct kind *kind, const int64_t *sizes, unsigned threads,
                         double limit_s)
{
    forge_builder *b = forge_builder_new();
    forge_graph *graph = NULL;
    forge_program *program = NULL;
    forge_states *states = NULL;
    forge_instance *instance = NULL;
    forge_compile_options options = {.struct_size = sizeof options, .skip = kind->skip};
    forge_program_facts facts = {.struct_size = sizeof facts};
    kind->build(b, sizes);
    need(forge_builder_finish(b, &graph, &error));
    need(forge_compile_with(graph, device, &options, &program, &error));
    forge_graph_free(graph);
    need(forge_states_new(device, 1, &states, &error));
    need(forge_instance_new(program, device, states, &instance, &error));
    if (kind->is_inference)
        need(forge_instance_repack(instance, NULL, &error));
    kind->set(instance, sizes);
    forge_program_query(program, &facts);
    printf("{\"bench\":\"networks\",\"who\":\"forge\",\"case\":\"%s\",\"threads\":%u,\"launches\":%zu,"
           "\"flop\":%.6g,\"times_s\":[",
           text, threads, facts.launches, facts.flop);
    measure(kind, instance, sizes, limit_s, kind->is_per_launch ? (double)facts.launches : 1);
    printf("],\"kernels_s\":{");
    print_kernels(instance);
    printf("}}\n");
    fflush(stdout);
    forge_instance_free(instance);
    forge_states_free(states);
    forge_program_free(program);
}

/* Parses "NAME:SIZE:..." into sizes. Returns NULL if there is no such case. */
static const struct kind *parse_case(const char *text, int64_t sizes[MAX_SIZES])
{
    size_t length = strcspn(text, ":");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *at = text + length;
        int count = 0;
        if (strlen(kinds[i].name) != length || strncmp(kinds[i].name, text, length) != 0)
            continue;
        for (char *end; *at == ':' && count < MAX_SIZES; at = end) {
            sizes[count] = strtoll(at + 1, &end, 10);
            if (end == at + 1 || sizes[count++] < 1)
                return NULL;
        }
        return *at == 0 && count == kinds[i].sizes ? &kinds[i] : NULL;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned threads = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    double limit_s = argc > 2 ? strtod(argv[2], NULL) : 0;
    if (argc < 4 || threads == 0 || !(limit_s > 0)) {
        fprintf(stderr, "usage: bench_networks THREADS SECONDS CASE...\n");
        return 2;
    }
    need(forge_device_open("cpu", &device, &error));
    need(forge_device_set_threads(device, threads, &error));
    for (int i = 3; i < argc; i++) {
        int64_t sizes[MAX_SIZES] = {0};
        const struct kind *kind = parse_case(argv[i], sizes);
        if (!kind) {
            fprintf(stderr, "bench_networks: cannot measure %s: unknown case\n", argv[i]);
            return 2;
        }
        measure_case(argv[i], kind, sizes, threads, limit_s);
    }
    forge_device_close(device);
    return 0;
}
