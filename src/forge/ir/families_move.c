/* ir/families_move.c - the builder's functions for a person that move elements; see families.c. */
#include "forge/ir/build.h"

static bool has_shape_already(const forge_builder *builder, forge_value x, const forge_shape *shape)
{
    forge_shape own = forge_value_shape(builder, x);
    return builder_goes_on(builder) && x && forge_shape_equal(&own, shape);
}

forge_value forge_reshape(forge_builder *builder, forge_value x, forge_shape shape)
{
    struct shape_attributes attributes = {builder_clean(shape)};
    if (has_shape_already(builder, x, &attributes.shape))
        return x;
    return builder_emit(builder, OP_RESHAPE, &attributes, sizeof attributes, &x, 1);
}

forge_value forge_broadcast(forge_builder *builder, forge_value x, forge_shape shape)
{
    struct shape_attributes attributes = {builder_clean(shape)};
    if (has_shape_already(builder, x, &attributes.shape))
        return x;
    return builder_emit(builder, OP_BROADCAST, &attributes, sizeof attributes, &x, 1);
}

forge_value forge_transpose(forge_builder *builder, forge_value x, const uint32_t *order)
{
    struct transpose_attributes attributes = {{0}};
    bool is_identity = true;
    for (uint32_t i = 0; i < forge_value_shape(builder, x).rank; i++) {
        attributes.order[i] = order[i];
        is_identity &= order[i] == i;
    }
    if (is_identity && builder_goes_on(builder) && x)
        return x;
    return builder_emit(builder, OP_TRANSPOSE, &attributes, sizeof attributes, &x, 1);
}
