/* runtime/weight_speed.c - measures how fast a device multiplies by weights, in each order of their bytes. */
#include <forge/random.h>
#include <math.h>
#include <string.h>
#include "base/abi.h"
#include "base/error.h"
#include "forge/core/dtype.h"
#include "forge/hal/backend.h"
#include "forge/ir/library.h"

enum {
    DEPTH = 2048,            /* a multiple of all block sizes */
    WEIGHT_BYTES = 32 << 20, /* more than the caches of a core */
    ROWS = 64,               /* rows of the product that gives flop_per_s */
    SLICE = 8,               /* this product uses 1 / SLICE of the weight, so that it takes less time */
    REPEATS = 4,             /* the shortest time counts */
};

/* A weight is repacked unless that is slower than this, relative to the mapped weight. The figure is below 1,
 * because other work disturbs short measurements, and the weights of a model exceed all caches. */
#define MIN_GAIN 0.75

/* A product x weight^T with its memory. */
struct trial {
    forge_device *device;
    struct composite_attributes attributes;
    struct view inputs[2], output;
    forge_buffer *x, *y, *weight, *copy;
    size_t columns;
};

static void trial_free(struct trial *t)
{
    forge_buffer_release(t->x);
    forge_buffer_release(t->y);
    forge_buffer_release(t->weight);
    forge_buffer_release(t->copy);
}

/* Fills the weight with copies of one row, and x with random numbers. */
static joule_status fill(struct trial *t, forge_dtype dtype, joule_error *error)
{
    float row[DEPTH];
    forge_random random = {.key = 1};
    size_t row_bytes = forge_dtype_size_bytes(dtype, DEPTH);
    char *weight = forge_buffer_data(t->weight);
    forge_random_normal(&random, 0, DEPTH, row);
    joule_status status = forge_convert(FORGE_F32, row, dtype, weight, DEPTH);
    if (status != JOULE_OK)
        return error_set(error, status, "cannot create weights in %s", forge_dtype_name(dtype));
    for (size_t i = 1; i < t->columns; i++)
        memcpy(weight + i * row_bytes, weight, row_bytes);
    forge_random_normal(&random, DEPTH, (size_t)ROWS * DEPTH, forge_buffer_data(t->x));
    return JOULE_OK;
}

static joule_status trial_make(struct trial *t, forge_device *device, forge_dtype dtype, joule_error *error)
{
    size_t row_bytes = forge_dtype_size_bytes(dtype, DEPTH);
    *t = (struct trial){
        .device = device, .attributes = {.name = "linear"}, .columns = WEIGHT_BYTES / row_bytes};
    t->attributes.numbers[0] = library_linear_rounding(dtype);
    joule_status status = device->ops->allocate(device, t->columns * row_bytes, &t->weight, error);
    if (status == JOULE_OK)
        status = device->ops->allocate(device, (size_t)ROWS * DEPTH * sizeof(float), &t->x, error);
    if (status == JOULE_OK)
        status = device->ops->allocate(device, ROWS * t->columns * sizeof(float), &t->y, error);
    return status == JOULE_OK ? fill(t, dtype, error) : status;
}

/* Binds the product of the first `rows` rows with the first `columns` columns. */
static joule_status trial_bind(struct trial *t, forge_dtype dtype, size_t rows, size_t columns,
                               bool is_repacked, struct bound_launch *out_bound)
{
    struct selection selection;
    int64_t m = (int64_t)rows, n = (int64_t)columns;
    t->inputs[0] = view_packed(FORGE_F32, forge_buffer_data(t->x), forge_shape_of(m, DEPTH));
    t->inputs[1] = view_packed(dtype, forge_buffer_data(t->weight), forge_shape_of(n, DEPTH));
    t->inputs[1].repacked = is_repacked ? forge_buffer_data(t->copy) : NULL;
    t->output = view_packed(FORGE_F32, forge_buffer_data(t->y), forge_shape_of(m, n));
    *out_bound = (struct bound_launch){.launch = {.op = OP_COMPOSITE,
                                                  .attributes = &t->attributes,
                                                  .inputs = t->inputs,
                                                  .input_count = 2,
                                                  .outputs = &t->output,
                                                  .output_count = 1}};
    joule_status status = t->device->ops->select(t->device, &out_bound->launch, &selection);
    if (status == JOULE_OK)
        out_bound->kernel = t->device->ops->find_kernel(t->device, selection.kernel, &out_bound->launch);
    return status == JOULE_OK && !out_bound->kernel ? JOULE_NO_MEMORY : status;
}

/* Returns the shortest time of a bound launch, in seconds. */
static double shortest_s(forge_device *device, const struct bound_launch *bound)
{
    double shortest = INFINITY;
    for (int i = 0; i < REPEATS; i++) {
        int64_t begin_ns = device_now_ns(device), end_ns;
        if (device->ops->run(device, bound, 1, &end_ns, NULL) != JOULE_OK)
            return NAN;
        double seconds = (double)(end_ns - begin_ns) * 1e-9;
        shortest = seconds < shortest ? seconds : shortest;
    }
    return shortest;
}

/* Makes the repacked copy of the trial's weight, if the device has another order. */
static joule_status trial_repack(struct trial *t, const struct bound_launch *bound, joule_error *error)
{
    size_t bytes = t->device->ops->repack ? t->device->ops->repacked_bytes(t->device, bound, 1) : 0;
    joule_status status = bytes ? t->device->ops->allocate(t->device, bytes, &t->copy, error) : JOULE_OK;
    if (t->copy)
        t->device->ops->repack(t->device, bound, 1, forge_buffer_data(t->copy));
    return status;
}

static joule_status measure(struct trial *t, forge_dtype dtype, forge_weight_speed *out, joule_error *error)
{
    struct bound_launch bound;
    double bytes = (double)forge_buffer_size_bytes(t->weight);
    joule_status status = trial_bind(t, dtype, 1, t->columns, false, &bound);
    if (status == JOULE_OK)
        status = trial_repack(t, &bound, error);
    if (status != JOULE_OK)
        return error_set(error, status, "the device %s has no kernel for weights in %s", t->device->ops->name,
                         forge_dtype_name(dtype));
    out->mapped_bytes_per_s = bytes / shortest_s(t->device, &bound);
    if (t->copy && trial_bind(t, dtype, 1, t->columns, true, &bound) == JOULE_OK)
        out->repacked_bytes_per_s = bytes / shortest_s(t->device, &bound);
    bool is_exact = forge_dtype_block_elements(dtype) > 1;
    out->is_repacked =
        t->copy && (!is_exact || out->repacked_bytes_per_s >= MIN_GAIN * out->mapped_bytes_per_s);
    size_t columns = t->columns / SLICE;
    status = trial_bind(t, dtype, ROWS, columns, out->is_repacked, &bound);
    if (status == JOULE_OK)
        out->flop_per_s = 2.0 * ROWS * DEPTH * (double)columns / shortest_s(t->device, &bound);
    return status;
}

joule_status forge_device_measure_weights(forge_device *device, forge_dtype dtype,
                                          forge_weight_speed *out_speed, joule_error *out_error)
{
    struct trial trial = {0};
    forge_weight_speed speed = {.mapped_bytes_per_s = NAN, .repacked_bytes_per_s = NAN, .flop_per_s = NAN};
    if (!abi_has_room(out_speed, SIZE_UP_TO(forge_weight_speed, flop_per_s)) || !forge_dtype_is_float(dtype))
        return error_set(out_error, JOULE_INVALID,
                         "cannot measure weights: struct_size is too small, or the type is not a float");
    if (device->ops->expect)
        return error_set(out_error, JOULE_UNSUPPORTED, "the device %s runs no kernels", device->ops->name);
    joule_status status = trial_make(&trial, device, dtype, out_error);
    if (status == JOULE_OK)
        status = measure(&trial, dtype, &speed, out_error);
    trial_free(&trial);
    if (status == JOULE_OK)
        abi_write(out_speed, &speed, sizeof speed);
    return status;
}
