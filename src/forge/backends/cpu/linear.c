/* backends/cpu/linear.c - see linear.h. */
#include "forge/backends/cpu/linear.h"

#include "forge/backends/cpu/kernel.h"
#include "forge/backends/cpu/packed.h"
#include "forge/ir/library.h"

#define MIN_THREAD_WORK 65536 /* minimum work per thread, in multiply-adds */
#define MAX_CHUNKS      24    /* maximum number of parts into which the strips are divided */

struct linear linear_of(const struct launch *launch)
{
    const struct view *x = &launch->inputs[0], *weight = &launch->inputs[1];
    size_t depth = (size_t)x->shape.dims[1];
    return (struct linear){.rows = (size_t)x->shape.dims[0],
                           .columns = (size_t)weight->shape.dims[0],
                           .depth = depth,
                           .x = x->data,
                           .weight = weight->data,
                           .repacked = weight->repacked,
                           .dtype = weight->dtype,
                           .row_bytes = forge_dtype_size_bytes(weight->dtype, depth),
                           .bias = launch->input_count > 2 ? launch->inputs[2].data : NULL,
                           .bias_dtype = launch->input_count > 2 ? launch->inputs[2].dtype : FORGE_F32,
                           .y = launch->outputs[0].data};
}

/* --- supported launches --------------------------------------------------------------------------------- */

size_t linear_group(forge_dtype dtype)
{
    switch (dtype) {
    case FORGE_Q8_0:
    case FORGE_Q4_0:
    case FORGE_Q4_K:
        return STRIP_GROUP;
    case FORGE_Q6_K:
        return STRIP_MIN_GROUP;
    default:
        return 0;
    }
}

static bool takes(const struct launch *launch, enum linear_rounding rounding)
{
    const struct composite_attributes *attributes = launch->attributes;
    const struct view *in = launch->inputs;
    if (launch->input_count < 2 || launch->input_count > 3 || launch->output_count != 1 ||
        attributes->numbers[0] != (uint32_t)rounding || in[0].shape.rank != 2 || in[1].shape.rank != 2)
        return false;
    forge_shape y = forge_shape_of(in[0].shape.dims[0], in[1].shape.dims[0]);
    bool are_valid = view_is(&in[0], &in[0].shape) && view_is(&launch->outputs[0], &y) &&
                     view_is_packed(&in[1]) && in[0].shape.dims[1] == in[1].shape.dims[1] &&
                     in[0].shape.dims[0] <= STRIP_MAX_ROWS && in[0].shape.dims[1] > 0;
    if (are_valid && launch->input_count == 3)
        are_valid = in[2].dtype == FORGE_F32 && in[2].shape.rank == 1 &&
                    in[2].shape.dims[0] == in[1].shape.dims[0] && view_is_packed(&in[2]);
    return are_valid;
}

bool linear_takes_blocks(const struct launch *launch)
{
    return takes(launch, LINEAR_Q8_0) && linear_group(launch->inputs[1].dtype) != 0 &&
           launch->inputs[1].shape.dims[1] % (int64_t)forge_dtype_block_elements(launch->inputs[1].dtype) ==
               0;
}

bool linear_takes_floats(const struct launch *launch)
{
    forge_dtype dtype = launch->input_count > 1 ? launch->inputs[1].dtype : FORGE_DTYPE_NONE;
    return (dtype == FORGE_F32 || dtype == FORGE_F16 || dtype == FORGE_BF16) && takes(launch, LINEAR_EXACT);
}

bool linear_takes_bf16(const struct launch *launch)
{
    return launch->input_count > 1 && launch->inputs[1].dtype == FORGE_BF16 && takes(launch, LINEAR_BF16);
}

/* --- division of the work ------------------------------------------------------------------------------- */

size_t linear_strips(const struct launch *launch, size_t *out_grain)
{
    struct linear l = linear_of(launch);
    size_t strips = (l.columns + STRIP_COLUMNS - 1) / STRIP_COLUMNS;
    size_t worth = MIN_THREAD_WORK / (l.rows * l.depth * STRIP_COLUMNS + 1) + 1;
    /* A thread gets several consecutive strips, because it prefetches the next strip while it unpacks one. */
    *out_grain = worth > strips / MAX_CHUNKS + 1 ? worth : strips / MAX_CHUNKS + 1;
    return strips;
}

size_t linear_rows(const struct launch *launch, size_t *out_grain)
{
    struct linear l = linear_of(launch);
    *out_grain = MIN_THREAD_WORK / 8 / (l.depth + 1) + 1;
    return l.rows;
}

size_t linear_repacked_bytes(const struct launch *launch)
{
    struct linear l = linear_of(launch);
    size_t strips = (l.columns + STRIP_COLUMNS - 1) / STRIP_COLUMNS;
    bool is_block = linear_group(l.dtype) != 0;
    return is_block || l.row_bytes % 4 == 0 ? strips * STRIP_COLUMNS * l.row_bytes : 0;
}

/* --- the rounded x -------------------------------------------------------------------------------------- */

/* Returns the total size of `count` elements of `size` bytes, rounded up to whole cache lines. */
static size_t line_bytes(size_t count, size_t size)
{
    return (count * size + 63) / 64 * 64;
}

size_t linear_shared_bytes(const struct launch *launch)
{
    struct linear l = linear_of(launch);
    size_t group = linear_group(l.dtype), groups = group ? l.rows * (l.depth / group) : 0;
    return line_bytes(l.rows * l.depth, 1) + 2 * line_bytes(groups, 4);
}

struct rounded linear_rounded(const struct launch *launch, void *shared)
{
    struct linear l = linear_of(launch);
    size_t group = linear_group(l.dtype), groups = group ? l.rows * (l.depth / group) : 0;
    char *scales = (char *)shared + line_bytes(l.rows * l.depth, 1);
    return (struct rounded){shared, (float *)(void *)scales,
                            (int32_t *)(void *)(scales + line_bytes(groups, 4)), group};
}

size_t linear_bf16_bytes(const struct launch *launch)
{
    struct linear l = linear_of(launch);
    size_t padded = (l.rows + AMX_ROWS - 1) / AMX_ROWS * AMX_ROWS;
    size_t floats = line_bytes(l.rows * l.depth, sizeof(float)), bits = line_bytes(padded * l.depth, 2);
    return floats > bits ? floats : bits;
}
