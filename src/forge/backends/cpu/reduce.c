/* backends/cpu/reduce.c - see reduce.h. */
#include "forge/backends/cpu/reduce.h"

#define MIN_THREAD_WORK 65536 /* minimum work per thread, in elements */

struct reduction reduce_of(const struct launch *launch)
{
    const struct reduce_attributes *attributes = launch->attributes;
    const struct view *x = &launch->inputs[0];
    struct view outer = view_of_axes(x, ~attributes->axes), reduced = view_of_axes(x, attributes->axes);
    struct reduction reduction = {.kind = (forge_reduce_kind)attributes->kind,
                                  .heads = walk_of(&outer, &outer.shape),
                                  .line = walk_of(&reduced, &reduced.shape),
                                  .depth = forge_shape_elements(&reduced.shape),
                                  .results = forge_shape_elements(&outer.shape),
                                  .out = launch->outputs[0].data};
    uint32_t last = reduction.line.rank - 1;
    reduction.stretch = reduction.depth ? (size_t)reduction.line.dims[last] : 0;
    reduction.step = reduction.line.strides[last];
    reduction.is_of_rows = reduction.step == 1 || reduction.heads.strides[reduction.heads.rank - 1] != 1;
    return reduction;
}

static bool takes(const struct launch *launch, forge_dtype dtype)
{
    if (launch->inputs[0].dtype != dtype || launch->outputs[0].dtype != dtype)
        return false;
    forge_reduce_kind kind = (forge_reduce_kind)((const struct reduce_attributes *)launch->attributes)->kind;
    return kind == FORGE_SUM || kind == FORGE_MEAN || kind == FORGE_MAXIMUM || kind == FORGE_MINIMUM;
}

bool reduce_takes_f32(const struct launch *launch)
{
    return takes(launch, FORGE_F32);
}

bool reduce_takes_f64(const struct launch *launch)
{
    return takes(launch, FORGE_F64);
}

bool reduce_takes_bf16(const struct launch *launch)
{
    return takes(launch, FORGE_BF16);
}

bool reduce_takes_f16(const struct launch *launch)
{
    return takes(launch, FORGE_F16);
}

size_t reduce_pieces(const struct launch *launch, size_t *out_grain)
{
    struct reduction r = reduce_of(launch);
    size_t width = r.is_of_rows ? 1 : REDUCE_COLUMNS;
    *out_grain = MIN_THREAD_WORK / (r.depth * width + 1) + 1;
    return (r.results + width - 1) / width;
}
