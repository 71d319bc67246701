/* backends/cpu/packed.h - checks of operands for kernels of composites.
 *
 * Note: these kernels may refuse operands that are not packed. The compiler then copies the operands to
 * packed buffers (compiler/lower.c).
 */
#ifndef FORGE_CPU_PACKED_H
#define FORGE_CPU_PACKED_H

#include "forge/ir/launch.h"

/* Returns true for the floats of 16 bits, which kernels convert to f32. */
static inline bool dtype_is_narrow(forge_dtype dtype)
{
    return dtype == FORGE_BF16 || dtype == FORGE_F16;
}

/* Returns true if the view has this type and shape, and is packed. */
static inline bool view_has(const struct view *view, forge_dtype dtype, const forge_shape *shape)
{
    return view->dtype == dtype && forge_shape_equal(&view->shape, shape) && view_is_packed(view);
}

/* Returns true if the view is f32, packed, and has this shape. */
static inline bool view_is(const struct view *view, const forge_shape *shape)
{
    return view_has(view, FORGE_F32, shape);
}

/* Returns the dimensions of a shape from index `first` on. */
static inline forge_shape shape_from(const forge_shape *shape, uint32_t first)
{
    forge_shape part = {.rank = shape->rank - first};
    for (uint32_t i = first; i < shape->rank; i++)
        part.dims[i - first] = shape->dims[i];
    return part;
}

/* Returns true if the view is f32 or has this narrower type, has this shape, and is packed. Norms of bf16 or
 * f16 take their parameters in either type. */
static inline bool view_has_float(const struct view *view, forge_dtype dtype, const forge_shape *shape)
{
    return view_has(view, dtype, shape) || view_is(view, shape);
}

/* Returns true if the outputs are the requested gradients of the first `own` inputs: packed, and with the
 * types and shapes of these inputs. */
static inline bool outputs_are_wanted(const struct launch *launch, size_t own)
{
    const struct composite_attributes *attributes = launch->attributes;
    size_t count = 0;
    for (size_t i = 0; i < own; i++)
        if (attributes->wanted >> i & 1) {
            if (count == launch->output_count ||
                !view_has(&launch->outputs[count], launch->inputs[i].dtype, &launch->inputs[i].shape))
                return false;
            count++;
        }
    return count == launch->output_count;
}

#endif
