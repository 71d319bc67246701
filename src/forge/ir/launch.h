/* ir/launch.h - one operation on elements in memory: the arguments of every kernel.
 *
 * Note: an output overlaps an input only if the kernel has declared that it may work in place. Strides of
 * inputs may be 0 (broadcast) or negative.
 */
#ifndef FORGE_IR_LAUNCH_H
#define FORGE_IR_LAUNCH_H

#include "forge/ir/graph.h"

/* An array in memory. Its sizes are numbers, not symbols. */
struct view {
    void *data; /* address of the element with all indices 0 */
    forge_dtype dtype;
    forge_shape shape;
    int64_t strides[FORGE_MAX_RANK]; /* in elements */
    const void *repacked; /* a copy in the order of bytes of the kernel's `repack` function; NULL: none */
    /* Only inside a kernel: the steps that compute the elements when they are read, or after which they are
     * stored; NULL: none. `data` is then no address of elements. */
    void *computed;
};

/* Writes the strides, in elements, of a row-major array without gaps. */
static inline void strides_packed(const forge_shape *shape, int64_t strides[FORGE_MAX_RANK])
{
    int64_t stride = 1;
    for (uint32_t i = shape->rank; i-- > 0; stride *= shape->dims[i])
        strides[i] = stride;
}

/* Returns true if the strides equal the strides of strides_packed, except along dimensions of size 1. */
static inline bool view_is_packed(const struct view *view)
{
    int64_t stride = 1;
    for (uint32_t i = view->shape.rank; i-- > 0; stride *= view->shape.dims[i])
        if (view->shape.dims[i] != 1 && view->strides[i] != stride)
            return false;
    return true;
}

static inline struct view view_packed(forge_dtype dtype, void *data, forge_shape shape)
{
    struct view view = {.data = data, .dtype = dtype, .shape = shape};
    strides_packed(&shape, view.strides);
    return view;
}

/* A set of pairs of an output and an input. Bit 16 * k + i is set if the kernel may write output k to the
 * memory of input i. In a launch that works in place, output k and input i have the same type, shape and
 * strides, and no two outputs share an input. The kernel recognises an in-place launch by equal addresses. */
typedef uint64_t in_place_bits;
#define IN_PLACE_NOT   UINT64_C(0)
#define IN_PLACE_ANY   UINT64_C(0xffff) /* the first output may overwrite any input */
#define IN_PLACE_FIRST UINT64_C(1)      /* the first output may overwrite the first input */
#define IN_PLACE_EACH  UINT64_MAX       /* each output may overwrite any input */

static inline bool in_place_may(in_place_bits bits, size_t output, size_t input)
{
    return output < 4 && input < 16 && (bits >> (16 * output + input) & 1);
}

/* The arguments of a kernel. */
struct launch {
    enum op op;
    /* Attributes of the operation. Kernels read sizes from the views, not from the attributes. `start` and
     * `limit` of a cut are numbers here, not symbols. */
    const void *attributes;
    const struct view *inputs;
    size_t input_count;
    const struct view *outputs; /* packed views */
    size_t output_count;
    /* code that the device compiled for a composite of fused operations (hal/backend.h); NULL: none */
    const void *compiled;
};

/* Computes the strides of the part of an array that `cut` describes. strides: strides of the array. shape:
 * shape of the part. Returns the offset of the part's first element from the array's first element, in
 * elements. */
static inline int64_t cut_part(const struct cut *cut, const forge_shape *shape, const int64_t *strides,
                               int64_t *out_strides)
{
    int64_t offset = 0;
    for (uint32_t i = 0; i < shape->rank; i++) {
        int64_t first = cut->step[i] > 0 ? cut->start[i] : cut->limit[i] - 1;
        offset += shape->dims[i] > 0 ? first * strides[i] : 0;
        out_strides[i] = cut->step[i] * strides[i];
    }
    return offset;
}

/* Returns the number of rows of the first output. A row is a run along the last dimension. Returns 1 for rank
 * 0, and 0 if there are no elements. */
static inline size_t launch_rows(const struct launch *launch)
{
    const forge_shape *shape = &launch->outputs[0].shape;
    size_t rows = shape->rank && shape->dims[shape->rank - 1] == 0 ? 0 : 1;
    for (uint32_t i = 0; i + 1 < shape->rank; i++)
        rows *= (size_t)shape->dims[i];
    return rows;
}

/* Returns the number of lines of the first output along an axis; 0 if there are no elements. *out_inner gets
 * the product of the dimensions after the axis. In line l, the index before the axis is l / inner and the
 * index after the axis is l % inner. */
static inline size_t launch_lines(const struct launch *launch, uint32_t axis, size_t *out_inner)
{
    const forge_shape *shape = &launch->outputs[0].shape;
    size_t outer = 1;
    *out_inner = 1;
    for (uint32_t i = 0; i < shape->rank; i++)
        if (i != axis)
            *(i < axis ? &outer : out_inner) *= (size_t)shape->dims[i];
    return outer * *out_inner;
}

/* Returns the number of independent pieces of work, which may run in any order and on any thread. A piece is
 * a line for scatter, scan and sort, and a row for all other operations. */
static inline size_t launch_pieces(const struct launch *launch)
{
    const struct scatter_attributes *scatter = launch->attributes;
    const struct scan_attributes *scan = launch->attributes;
    const struct sort_attributes *sort = launch->attributes;
    size_t inner;
    switch (launch->op) {
    case OP_SCATTER:
        return launch_lines(launch, scatter->axis, &inner);
    case OP_SCAN:
        return launch_lines(launch, scan->axis, &inner);
    case OP_SORT:
        return launch_lines(launch, sort->axis, &inner);
    default:
        return launch_rows(launch);
    }
}

#endif
