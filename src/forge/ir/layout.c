/* ir/layout.c - see layout.h. */
#include "forge/ir/layout.h"

const char *layout_name(enum value_layout layout)
{
    static const char *const names[LAYOUT_COUNT] = {"packed", "last", "blocks"};
    return layout < LAYOUT_COUNT ? names[layout] : "unknown";
}

forge_shape layout_shape(enum value_layout layout, const forge_shape *images)
{
    const forge_dim *dims = images->dims;
    if (layout == LAYOUT_LAST)
        return forge_shape_of(dims[0], dims[2], dims[3], dims[1]);
    if (layout == LAYOUT_BLOCKS)
        return forge_shape_of(dims[0], layout_blocks(dims[1]), dims[2], dims[3], LAYOUT_LANES);
    return *images;
}

forge_value layout_apply(forge_builder *builder, forge_value images, enum value_layout layout)
{
    forge_shape shape = forge_value_shape(builder, images);
    int64_t blocks = layout_blocks(shape.dims[1]), missing = blocks * LAYOUT_LANES - shape.dims[1];
    if (layout == LAYOUT_LAST)
        return forge_transpose(builder, images, (const uint32_t[]){0, 2, 3, 1});
    if (layout != LAYOUT_BLOCKS)
        return images;
    if (missing)
        images =
            forge_pad(builder, images, (const int64_t[]){0, 0, 0, 0}, (const int64_t[]){0, missing, 0, 0}, 0);
    forge_shape apart = forge_shape_of(shape.dims[0], blocks, LAYOUT_LANES, shape.dims[2], shape.dims[3]);
    return forge_transpose(builder, forge_reshape(builder, images, apart), (const uint32_t[]){0, 1, 3, 4, 2});
}

forge_value layout_undo(forge_builder *builder, forge_value x, enum value_layout layout, int64_t channels)
{
    forge_shape shape = forge_value_shape(builder, x);
    if (layout == LAYOUT_LAST)
        return forge_transpose(builder, x, (const uint32_t[]){0, 3, 1, 2});
    if (layout != LAYOUT_BLOCKS)
        return x;
    int64_t lanes = shape.dims[1] * LAYOUT_LANES;
    forge_value apart = forge_transpose(builder, x, (const uint32_t[]){0, 1, 4, 2, 3});
    x = forge_reshape(builder, apart, forge_shape_of(shape.dims[0], lanes, shape.dims[2], shape.dims[3]));
    return lanes == channels ? x : forge_slice_along(builder, x, 1, 0, channels);
}
