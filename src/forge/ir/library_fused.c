/* ir/library_fused.c - the body of the composite "fused", which its code describes; see fused.h. */
#include "forge/ir/fused.h"
#include "forge/ir/library.h"

/* Adds the node of a step. values: by operand number. */
static forge_value add_step(forge_builder *b, const struct fused_step *step, const forge_value *values)
{
    forge_value x = values[step->operands[0]], y = values[step->operands[1]], z = values[step->operands[2]];
    switch (step->op) {
    case OP_UNARY:
        return forge_unary(b, (forge_unary_kind)step->kind, x);
    case OP_BINARY:
        return forge_binary(b, (forge_binary_kind)step->kind, x, y);
    case OP_SELECT:
        return forge_select(b, x, y, z);
    default:
        return forge_cast(b, (forge_dtype)step->kind, x);
    }
}

void library_fused(forge_builder *b, const forge_value *in, size_t count, const void *context,
                   forge_value *out)
{
    forge_value values[FUSED_MAX_INPUTS + FUSED_MAX_STEPS] = {0};
    struct fused fused;
    if (!fused_read(context, count, &fused)) {
        forge_builder_fail(b, "fused: its code is invalid");
        return;
    }
    for (size_t i = 0; i < count; i++)
        values[i] = in[i];
    forge_value *steps = values + FUSED_MAX_INPUTS;
    for (uint32_t i = 0; i < fused.count; i++)
        steps[i] = add_step(b, &fused.steps[i], values);
    out[0] = steps[fused.count - 1];
    forge_shape result = forge_value_shape(b, out[0]);
    for (uint32_t i = 0; i < fused.count; i++) {
        forge_shape shape = forge_value_shape(b, steps[i]);
        if (!forge_shape_equal(&shape, &result))
            forge_builder_fail(b, "fused: step %u has another shape than the result", (unsigned)i);
    }
}
