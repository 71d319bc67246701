/* nn/embedding.c - embedding tables and rotary position embeddings.
 *
 * Note: there are two conventions for rotary position embeddings, which is_interleaved selects. Both use
 * weights of the same shapes. So a model with the wrong convention runs, but its results are meaningless.
 */
#include "forge/ir/library.h"
#include "forge/nn/layer.h"

forge_value forge_embedding(forge_builder *builder, const char *name, forge_value ids, forge_dtype dtype,
                            int64_t count, int64_t width, double sd)
{
    if (!builder_is_ok(builder))
        return FORGE_NO_VALUE;
    if (!forge_dtype_is_integer(forge_value_dtype(builder, ids)) || !forge_dtype_is_float(dtype) ||
        count < 1 || width < 1) {
        forge_builder_fail(
            builder,
            "embedding '%s': ids must be integers, and the table 1 or more vectors of 1 or more floats",
            name);
        return FORGE_NO_VALUE;
    }
    forge_scope_push(builder, name);
    forge_value table = forge_parameter(builder, "weight", dtype, forge_shape_of(count, width),
                                        (forge_init){FORGE_INIT_NORMAL, 0, sd});
    forge_value y = forge_gather(builder, table, ids, 0);
    forge_scope_pop(builder);
    return y;
}

forge_value forge_rope(forge_builder *builder, forge_value x, forge_value positions, double base,
                       bool is_interleaved)
{
    struct composite_attributes attributes = {.name = "rope", .reals = {base}, .numbers = {is_interleaved}};
    return library_composite(builder, &attributes, (forge_value[]){x, positions}, 2);
}
