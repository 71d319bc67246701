/* backends/cpu/softmax.c - see softmax.h. */
#include "forge/backends/cpu/softmax.h"

#include "forge/backends/cpu/packed.h"
#include "forge/core/dtype.h"

#define MIN_THREAD_WORK 8192 /* minimum work per thread, in elements */

struct softmax softmax_of(const struct launch *launch)
{
    const forge_shape *shape = &launch->inputs[0].shape;
    size_t elements = forge_shape_elements(shape), count = (size_t)shape->dims[shape->rank - 1];
    return (struct softmax){count ? elements / count : 0, count};
}

bool softmax_takes(const struct launch *launch)
{
    const forge_shape *shape = &launch->outputs[0].shape;
    return launch->input_count == 1 && launch->output_count == 1 && shape->rank > 0 &&
           view_is(&launch->outputs[0], shape) && view_is(&launch->inputs[0], shape);
}

/* Returns true if only the gradient of the first input is requested. */
static bool is_of_first(const struct launch *launch)
{
    const struct composite_attributes *a = launch->attributes;
    return a->wanted == 1 && a->given == 1 && launch->output_count == 1;
}

bool softmax_takes_gradient(const struct launch *launch)
{
    const forge_shape *shape = &launch->outputs[0].shape;
    return launch->input_count == 2 && is_of_first(launch) && shape->rank > 0 &&
           view_is(&launch->outputs[0], shape) && view_is(&launch->inputs[0], shape) &&
           view_is(&launch->inputs[1], shape);
}

/* Returns true if the type of the labels can represent each class, because the body of the composite compares
 * labels with classes in this type. */
static bool has_numbers(forge_dtype dtype, int64_t classes)
{
    const struct dtype_row *row = dtype_row(dtype);
    return forge_dtype_is_integer(dtype) && row->block_elements == 1 &&
           (row->bits > 16 || classes <= INT64_C(1) << (row->bits - (row->kind == DTYPE_SIGNED)));
}

/* Returns true if inputs 0 and 1 are logits: [rows, classes] and labels: [rows]. rows: the shape of the
 * logits. */
static bool takes_labels(const struct launch *launch, const forge_shape *rows)
{
    const struct view *labels = &launch->inputs[1];
    return rows->rank == 2 && view_is(&launch->inputs[0], rows) && labels->shape.rank == 1 &&
           labels->shape.dims[0] == rows->dims[0] && view_is_packed(labels) && rows->dims[1] <= INT32_MAX &&
           has_numbers(labels->dtype, rows->dims[1]);
}

bool softmax_takes_entropy(const struct launch *launch)
{
    return launch->input_count == 2 && launch->output_count == 1 &&
           takes_labels(launch, &launch->inputs[0].shape) && view_is(&launch->outputs[0], &(forge_shape){0});
}

bool softmax_takes_entropy_gradient(const struct launch *launch)
{
    const forge_shape *shape = &launch->outputs[0].shape;
    return launch->input_count == 3 && is_of_first(launch) && takes_labels(launch, shape) &&
           view_is(&launch->outputs[0], shape) && view_is(&launch->inputs[2], &(forge_shape){0});
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
