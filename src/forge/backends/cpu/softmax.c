/* backends/cpu/softmax.c - see softmax.h. */
#include "forge/backends/cpu/softmax.h"

#include "forge/backends/cpu/kernel.h"
#include "forge/backends/cpu/packed.h"
#include "forge/core/dtype.h"

#define MIN_THREAD_WORK 8192 /* minimum work per thread, in elements */

struct softmax softmax_of(const struct launch *launch)
{
    const forge_shape *shape = &launch->inputs[0].shape;
    size_t elements = forge_shape_elements(shape), count = (size_t)shape->dims[shape->rank - 1];
    return (struct softmax){count ? elements / count : 0, count};
}

/* Returns true if the elements of one row of x, of a gradient and of the result fit into the scratch memory
 * as f32. */
static bool has_room(const struct launch *launch)
{
    return softmax_of(launch).count <= KERNEL_SCRATCH_BYTES / sizeof(float) / 3 - 16;
}

static bool takes(const struct launch *launch, forge_dtype dtype)
{
    const forge_shape *shape = &launch->outputs[0].shape;
    return launch->input_count == 1 && launch->output_count == 1 && shape->rank > 0 &&
           view_has(&launch->outputs[0], dtype, shape) && view_has(&launch->inputs[0], dtype, shape);
}

bool softmax_takes(const struct launch *launch)
{
    return takes(launch, FORGE_F32);
}

bool softmax_takes_narrow(const struct launch *launch)
{
    forge_dtype dtype = launch->inputs[0].dtype;
    return dtype_is_narrow(dtype) && takes(launch, dtype) && has_room(launch);
}

/* Returns true if only the gradient of the first input is requested. */
static bool is_of_first(const struct launch *launch)
{
    const struct composite_attributes *a = launch->attributes;
    return a->wanted == 1 && a->given == 1 && launch->output_count == 1;
}

static bool takes_gradient(const struct launch *launch, forge_dtype dtype)
{
    const forge_shape *shape = &launch->outputs[0].shape;
    return launch->input_count == 2 && is_of_first(launch) && shape->rank > 0 &&
           view_has(&launch->outputs[0], dtype, shape) && view_has(&launch->inputs[0], dtype, shape) &&
           view_has(&launch->inputs[1], dtype, shape);
}

bool softmax_takes_gradient(const struct launch *launch)
{
    return takes_gradient(launch, FORGE_F32);
}

bool softmax_takes_gradient_narrow(const struct launch *launch)
{
    forge_dtype dtype = launch->inputs[0].dtype;
    return dtype_is_narrow(dtype) && takes_gradient(launch, dtype) && has_room(launch);
}

/* Returns true if the type of the labels can represent each class, because the body of the composite compares
 * labels with classes in this type. */
static bool has_numbers(forge_dtype dtype, int64_t classes)
{
    const struct dtype_row *row = dtype_row(dtype);
    return forge_dtype_is_integer(dtype) && row->block_elements == 1 &&
           (row->bits > 16 || classes <= INT64_C(1) << (row->bits - (row->kind == DTYPE_SIGNED)));
}

/* Returns true if inputs 0 and 1 are logits: [rows, classes], of this type, and labels: [rows]. rows: the
 * shape of the logits. */
static bool takes_labels(const struct launch *launch, forge_dtype dtype, const forge_shape *rows)
{
    const struct view *labels = &launch->inputs[1];
    return rows->rank == 2 && view_has(&launch->inputs[0], dtype, rows) && labels->shape.rank == 1 &&
           labels->shape.dims[0] == rows->dims[0] && view_is_packed(labels) && rows->dims[1] <= INT32_MAX &&
           has_numbers(labels->dtype, rows->dims[1]);
}

static bool takes_entropy(const struct launch *launch, forge_dtype dtype)
{
    return launch->input_count == 2 && launch->output_count == 1 &&
           takes_labels(launch, dtype, &launch->inputs[0].shape) &&
           view_has(&launch->outputs[0], dtype, &(forge_shape){0});
}

bool softmax_takes_entropy(const struct launch *launch)
{
    return takes_entropy(launch, FORGE_F32);
}

bool softmax_takes_entropy_narrow(const struct launch *launch)
{
    forge_dtype dtype = launch->inputs[0].dtype;
    return dtype_is_narrow(dtype) && takes_entropy(launch, dtype) && has_room(launch);
}

static bool takes_entropy_gradient(const struct launch *launch, forge_dtype dtype)
{
    const forge_shape *shape = &launch->outputs[0].shape;
    return launch->input_count == 3 && is_of_first(launch) && takes_labels(launch, dtype, shape) &&
           view_has(&launch->outputs[0], dtype, shape) &&
           view_has(&launch->inputs[2], dtype, &(forge_shape){0});
}

bool softmax_takes_entropy_gradient(const struct launch *launch)
{
    return takes_entropy_gradient(launch, FORGE_F32);
}

bool softmax_takes_entropy_gradient_narrow(const struct launch *launch)
{
    forge_dtype dtype = launch->inputs[0].dtype;
    return dtype_is_narrow(dtype) && takes_entropy_gradient(launch, dtype) && has_room(launch);
}

size_t softmax_pieces(const struct launch *launch, size_t *out_grain)
{
    struct softmax s = softmax_of(launch);
    *out_grain = MIN_THREAD_WORK / (s.count + 1) + 1;
    return s.rows;
}

size_t softmax_shared_bytes(const struct launch *launch)
{
    return softmax_of(launch).rows * sizeof(double);
}

size_t softmax_one_piece(const struct launch *launch, size_t *out_grain)
{
    (void)launch;
    *out_grain = 1;
    return 1;
}

size_t softmax_label(const struct launch *launch, size_t row)
{
    const struct view *labels = &launch->inputs[1];
    uint64_t label;
    dtype_row(labels->dtype)->load_bits(labels->data, row, 1, &label);
    return label < (uint64_t)launch->inputs[0].shape.dims[1] ? (size_t)label : SIZE_MAX;
}
