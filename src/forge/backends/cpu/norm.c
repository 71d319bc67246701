/* backends/cpu/norm.c - see norm.h. */
#include "forge/backends/cpu/norm.h"

#include "forge/backends/cpu/kernel.h"
#include "forge/backends/cpu/packed.h"

#define MIN_THREAD_WORK 16384 /* minimum work per thread, in elements */

static const struct composite_attributes *attributes_of(const struct launch *launch)
{
    return launch->attributes;
}

/* Returns true for "layer_norm" and its gradient, false for "rms_norm" and its gradient. */
static bool is_layer(const struct launch *launch)
{
    return attributes_of(launch)->name[0] == 'l';
}

struct norm norm_of(const struct launch *launch)
{
    const struct view *in = launch->inputs;
    const struct composite_attributes *a = attributes_of(launch);
    size_t own = launch->input_count - (a->given ? 1 : 0), count = forge_shape_elements(&in[1].shape);
    return (struct norm){.rows = count ? forge_shape_elements(&in[0].shape) / count : 0,
                         .count = count,
                         .epsilon = a->reals[0],
                         .subtracts_mean = is_layer(launch),
                         .x = &in[0],
                         .weight = &in[1],
                         .bias = own > 2 ? &in[2] : NULL,
                         .y = &launch->outputs[0]};
}

/* Returns the number of rows per block: the smallest number of whole groups that gives at most NORM_BLOCKS
 * blocks. */
static size_t rows_of_block(size_t rows)
{
    size_t groups = (rows + NORM_GROUP - 1) / NORM_GROUP;
    return ((groups + NORM_BLOCKS - 1) / NORM_BLOCKS) * NORM_GROUP;
}

struct norm_gradient norm_gradient_of(const struct launch *launch)
{
    struct norm_gradient n = {.norm = norm_of(launch)};
    const struct view *out = launch->outputs;
    uint32_t wanted = attributes_of(launch)->wanted;
    n.g = &launch->inputs[launch->input_count - 1];
    n.of_x = wanted & 1 ? out++ : NULL;
    n.of_weight = wanted & 2 ? out++ : NULL;
    n.of_bias = wanted & 4 ? out++ : NULL;
    n.block_rows = rows_of_block(n.norm.rows);
    n.blocks = n.block_rows ? (n.norm.rows + n.block_rows - 1) / n.block_rows : 0;
    return n;
}

/* Returns true if the first `own` inputs are x: [..., row] of this type, weight: [row] and, for
 * layer_norm, an optional bias: [row]. */
static bool takes_own(const struct launch *launch, forge_dtype dtype, size_t own)
{
    const forge_shape *shape = &launch->inputs[0].shape;
    uint32_t dims = attributes_of(launch)->numbers[0];
    if (own < 2 || own > (is_layer(launch) ? 3 : 2) || dims == 0 || dims > shape->rank)
        return false;
    forge_shape row = shape_from(shape, shape->rank - dims);
    bool are_valid = view_has(&launch->inputs[0], dtype, shape) && forge_shape_elements(&row) > 0;
    for (size_t i = 1; i < own; i++)
        are_valid = are_valid && view_has_float(&launch->inputs[i], dtype, &row);
    return are_valid;
}

/* Returns true if `rows` rows fit into the scratch memory as f32. */
static bool has_room(const struct launch *launch, size_t rows)
{
    return forge_shape_elements(&launch->inputs[1].shape) <= KERNEL_SCRATCH_BYTES / sizeof(float) / rows - 16;
}

static bool takes(const struct launch *launch, forge_dtype dtype)
{
    return takes_own(launch, dtype, launch->input_count) && launch->output_count == 1 &&
           view_has(&launch->outputs[0], dtype, &launch->inputs[0].shape);
}

bool norm_takes(const struct launch *launch)
{
    return takes(launch, FORGE_F32);
}

bool norm_takes_narrow(const struct launch *launch)
{
    forge_dtype dtype = launch->inputs[0].dtype;
    return dtype_is_narrow(dtype) && takes(launch, dtype) && has_room(launch, NORM_BUFFERS);
}

static bool takes_gradient(const struct launch *launch, forge_dtype dtype)
{
    size_t own = launch->input_count - 1;
    uint32_t wanted = attributes_of(launch)->wanted;
    if (launch->input_count < 3 || attributes_of(launch)->given != 1 || !wanted || wanted >> own ||
        !takes_own(launch, dtype, own) || !view_has(&launch->inputs[own], dtype, &launch->inputs[0].shape))
        return false;
    return outputs_are_wanted(launch, own);
}

bool norm_takes_gradient(const struct launch *launch)
{
    return takes_gradient(launch, FORGE_F32);
}

bool norm_takes_gradient_narrow(const struct launch *launch)
{
    forge_dtype dtype = launch->inputs[0].dtype;
    return dtype_is_narrow(dtype) && takes_gradient(launch, dtype) && has_room(launch, NORM_GRADIENT_BUFFERS);
}

size_t norm_pieces(const struct launch *launch, size_t *out_grain)
{
    struct norm norm = norm_of(launch);
    *out_grain = MIN_THREAD_WORK / (norm.count + 1) + 1;
    return norm.rows;
}

size_t norm_blocks(const struct launch *launch, size_t *out_grain)
{
    struct norm_gradient n = norm_gradient_of(launch);
    *out_grain = MIN_THREAD_WORK / (n.norm.count * n.block_rows + 1) + 1;
    return n.blocks;
}

size_t norm_columns(const struct launch *launch, size_t *out_grain)
{
    struct norm_gradient n = norm_gradient_of(launch);
    *out_grain = MIN_THREAD_WORK / (NORM_COLUMNS * n.blocks + 1) + 1;
    return n.of_weight || n.of_bias ? (n.norm.count + NORM_COLUMNS - 1) / NORM_COLUMNS : 0;
}

size_t norm_shared_bytes(const struct launch *launch)
{
    struct norm_gradient n = norm_gradient_of(launch);
    size_t groups = (n.norm.rows + NORM_GROUP - 1) / NORM_GROUP;
    /* Uses max_blocks instead of n.blocks, because n.blocks may decrease when the number of rows grows (see
     * cpu_kernel.shared_bytes). */
    size_t max_blocks = groups < NORM_BLOCKS ? groups : NORM_BLOCKS;
    return n.of_weight || n.of_bias ? 2 * max_blocks * n.norm.count * sizeof(double) : 0;
}
