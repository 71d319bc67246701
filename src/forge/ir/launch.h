/* ir/launch.h - one operation on elements in memory.
 *
 * Owns what every kernel gets, the reference's and a backend's alike. Newcomers: outputs never overlap inputs unless the
 * planner was told that the kernel may work in place; strides of inputs may be 0 (broadcast) or negative.
 */
#ifndef FORGE_IR_LAUNCH_H
#define FORGE_IR_LAUNCH_H

#include "forge/ir/graph.h"

/* Elements somewhere. All sizes are numbers. */
struct view {
    void *data; /* of the element with all indices 0 */
    forge_dtype dtype;
    forge_shape shape;
    int64_t strides[FORGE_MAX_RANK]; /* in elements */
};

struct launch {
    enum op op;
    const void *attributes; /* of the op; sizes in them are not to be used: the views have them as numbers */
    const struct view *inputs;
    size_t input_count;
    const struct view *outputs; /* packed */
    size_t output_count;
};

/* The rows of the first output: runs along its last dimension. 1 for rank 0; 0 where there are no elements. */
static inline size_t launch_rows(const struct launch *launch)
{
    const forge_shape *shape = &launch->outputs[0].shape;
    size_t rows = shape->rank && shape->dims[shape->rank - 1] == 0 ? 0 : 1;
    for (uint32_t i = 0; i + 1 < shape->rank; i++)
        rows *= (size_t)shape->dims[i];
    return rows;
}

#endif
