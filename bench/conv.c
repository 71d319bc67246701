/* bench/conv.c - measures f32 and f64 convolutions of real networks on one thread: forward, and the gradients
 * of image and weight.
 *
 * Each round runs every case once, so that other load affects all alike. Times are medians of CPU time. The
 * limit is measured with a loop of f32 multiply-adds on registers; the limit of f64 is half as high. Note:
 * the FLOP of all three directions are those of the forward pass. Products with zeros of padding do not count
 * as work.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "bench.h"
#include "peak.h"
#include "forge/backends/cpu/isa.h"

enum { ROUNDS = 9 };

struct layer {
    const char *name;
    int64_t images, in, out, size, kernel, stride, padding;
};

static const struct layer layers[] = {
    {"cnn conv1", 128, 1, 16, 28, 3, 1, 0},        {"cnn conv2", 128, 16, 32, 13, 3, 1, 0},
    {"resnet18 stem", 8, 3, 64, 32, 3, 1, 1},      {"resnet18 layer1", 8, 64, 64, 32, 3, 1, 1},
    {"resnet18 layer2", 8, 128, 128, 16, 3, 1, 1}, {"resnet18 down2", 8, 64, 128, 32, 3, 2, 1},
    {"resnet18 layer4", 8, 512, 512, 4, 3, 1, 1},  {"resnet18 short2", 8, 64, 128, 32, 1, 2, 0},
};
enum { LAYERS = sizeof layers / sizeof *layers };

enum direction { FORWARD, DATA, WEIGHT, DIRECTIONS };

struct work {
    struct conv_attributes attributes;
    struct view in[2], out;
    struct launch launch;
    double flop;
};

static void exchange(struct view *view)
{
    int64_t dim = view->shape.dims[0], stride = view->strides[0];
    view->shape.dims[0] = view->shape.dims[1];
    view->strides[0] = view->strides[1];
    view->shape.dims[1] = dim;
    view->strides[1] = stride;
}

static void *numbers(forge_dtype dtype, size_t count)
{
    size_t bytes = forge_dtype_block_bytes(dtype);
    char *data = aligned_alloc(64, (count * bytes + 63) / 64 * 64);
    if (!data)
        exit(1);
    for (size_t i = 0; i < count; i++) {
        double number = drand48() - drand48();
        float narrow = (float)number;
        memcpy(data + i * bytes, dtype == FORGE_F32 ? (void *)&narrow : (void *)&number, bytes);
    }
    return data;
}

static struct view view_new(forge_dtype dtype, forge_shape shape)
{
    return view_packed(dtype, numbers(dtype, forge_shape_elements(&shape)), shape);
}

static int64_t places_of(const struct layer *l)
{
    return (l->size + 2 * l->padding - l->kernel) / l->stride + 1;
}

/* Creates the launch that gradient_rules_window.c creates for a layer and direction. Shapes: x is [images,
 * in, size, size], w is [out, in, kernel, kernel], y is [images, out, places, places]. The output is
 * allocated; the caller frees it. */
static void work_make(struct work *work, const struct layer *l, const struct view *tensors,
                      enum direction direction)
{
    struct view x = tensors[0], w = tensors[1], y = tensors[2];
    forge_dtype dtype = x.dtype;
    int64_t places = places_of(l);
    uint32_t stride = (uint32_t)l->stride, padding = (uint32_t)l->padding;
    work->attributes = (struct conv_attributes){.groups = 1,
                                                .accumulate = dtype,
                                                .stride = {stride, stride, 1},
                                                .dilation = {1, 1, 1},
                                                .before = {padding, padding, 0}};
    struct view in[DIRECTIONS][2] = {{x, w}, {y, w}, {x, y}}, out[DIRECTIONS] = {y, x, w};
    if (direction == DATA)
        work->attributes.flags = CONV_TRANSPOSED;
    if (direction == WEIGHT) {
        exchange(&in[WEIGHT][0]);
        exchange(&in[WEIGHT][1]);
        out[WEIGHT] = view_packed(dtype, NULL, forge_shape_of(l->in, l->out, l->kernel, l->kernel));
        for (int k = 0; k < 2; k++) {
            work->attributes.dilation[k] = stride;
            work->attributes.stride[k] = 1;
        }
    }
    memcpy(work->in, in[direction], sizeof work->in);
    work->out = view_new(dtype, out[direction].shape);
    work->launch = (struct launch){OP_CONV, &work->attributes, work->in, 2, &work->out, 1};
    work->flop = 2. * (double)(l->images * l->out * places * places * l->in * l->kernel * l->kernel);
}

static double run_ms(const struct cpu_kernel *table, const struct work *work)
{
    static _Alignas(64) unsigned char scratch[KERNEL_SCRATCH_BYTES];
    const struct cpu_kernel *kernel = table;
    size_t grain;
    while (kernel->name && !kernel_takes(kernel, &work->launch))
        kernel++;
    if (!kernel->name)
        return NAN;
    int64_t begin_ns = thread_ns();
    kernel->run_in(&work->launch, 0, kernel->pieces(&work->launch, &grain), scratch);
    return (double)(thread_ns() - begin_ns) / 1e6;
}

static void race(const struct cpu_kernel *table, const char *isa, const struct layer *layer,
                 forge_dtype dtype)
{
    static const char *const names[DIRECTIONS] = {"forward", "data", "weight"};
    struct work works[DIRECTIONS];
    double times[DIRECTIONS][ROUNDS], limits[ROUNDS];
    struct view tensors[] = {
        view_new(dtype, forge_shape_of(layer->images, layer->in, layer->size, layer->size)),
        view_new(dtype, forge_shape_of(layer->out, layer->in, layer->kernel, layer->kernel)),
        view_new(dtype, forge_shape_of(layer->images, layer->out, places_of(layer), places_of(layer)))};
    for (enum direction d = 0; d < DIRECTIONS; d++)
        work_make(&works[d], layer, tensors, d);
    for (int round = 0; round < ROUNDS; round++) {
        limits[round] = peak_thread_gflops(isa);
        for (enum direction d = 0; d < DIRECTIONS; d++)
            times[d][round] = run_ms(table, &works[d]);
    }
    qsort(limits, ROUNDS, sizeof *limits, by_value);
    printf("%-16s %s  %7.1f", layer->name, forge_dtype_name(dtype), works[FORWARD].flop / 1e6);
    for (enum direction d = 0; d < DIRECTIONS; d++) {
        qsort(times[d], ROUNDS, sizeof **times, by_value);
        printf("   %7.3f %6.1f", times[d][ROUNDS / 2], works[d].flop / times[d][ROUNDS / 2] / 1e6);
    }
    printf("   %6.1f\n{\"bench\":\"conv\",\"layer\":\"%s\",\"dtype\":\"%s\",\"threads\":1",
           limits[ROUNDS / 2] / (dtype == FORGE_F64 ? 2 : 1), layer->name, forge_dtype_name(dtype));
    for (enum direction d = 0; d < DIRECTIONS; d++) {
        if (!isnan(times[d][ROUNDS / 2]))
            printf(",\"%s_ms\":%.3f", names[d], times[d][ROUNDS / 2]);
        free(works[d].out.data);
        free(tensors[d].data);
    }
    printf("}\n");
}

int main(int count, char **words) /* words[1]: run only layers whose name contains it */
{
    enum isa isa;
    if (isa_choose(getenv("FORGE_ISA"), &isa, NULL) != JOULE_OK)
        return 1;
    srand48(1);
    printf("convolutions, one thread, %s: ms and GFLOP/s (nan: no fast kernel)\n", isa_name(isa));
    printf("layer            type  MFLOP   forward             data              weight            limit\n");
    for (forge_dtype dtype = FORGE_F32; dtype <= FORGE_F64; dtype++)
        for (size_t i = 0; i < LAYERS; i++)
            if (count < 2 || strstr(layers[i].name, words[1]))
                race(isa_kernels(isa), isa_name(isa), &layers[i], dtype);
    return 0;
}
