/* ir/library_fused.c - the bodies of the composites "fused", "fused_matmul" and "fused_conv"; see fused.h. */
#include "forge/ir/fused.h"
#include "forge/ir/layout.h"
#include "forge/ir/library.h"

static forge_value add_conv(forge_builder *b, const struct conv_attributes *conv, forge_value x,
                            forge_value weight)
{
    struct conv_attributes attributes = *conv;
    attributes.accumulate = builder_accumulator(forge_value_dtype(b, x));
    return builder_emit(b, OP_CONV, &attributes, sizeof attributes, (forge_value[]){x, weight}, 2);
}

/* Adds the node of a step. values: by operand number. */
static forge_value add_step(forge_builder *b, const struct fused *fused, const struct fused_step *step,
                            const forge_value *values)
{
    forge_value x = values[step->operands[0]], y = values[step->operands[1]], z = values[step->operands[2]];
    switch (step->op) {
    case OP_UNARY:
        return forge_unary(b, (forge_unary_kind)step->kind, x);
    case OP_BINARY:
        return forge_binary(b, (forge_binary_kind)step->kind, x, y);
    case OP_SELECT:
        return forge_select(b, x, y, z);
    case OP_MATMUL:
        return forge_matmul(b, x, y, step->kind);
    case OP_CONV:
        return add_conv(b, &fused->conv, x, y);
    default:
        return forge_cast(b, (forge_dtype)step->kind, x);
    }
}

void library_fused_steps(forge_builder *b, const struct fused *fused, const forge_value *in, size_t count,
                         enum value_layout layout, const char *const *scopes, forge_value *out)
{
    forge_value values[FUSED_MAX_INPUTS + FUSED_MAX_STEPS] = {0};
    for (size_t i = 0; i < count; i++)
        values[i] = in[i];
    forge_value *steps = values + FUSED_MAX_INPUTS;
    for (uint32_t i = 0; i < fused->count; i++) {
        if (scopes && builder_is_ok(b))
            b->scope = builder_add_scope(b, scopes[i]);
        steps[i] = add_step(b, fused, &fused->steps[i], values);
        if (i == 0 && builder_is_ok(b))
            steps[i] = layout_apply(b, steps[i], layout);
    }
    out[0] = steps[fused->count - 1];
    forge_shape result = forge_value_shape(b, out[0]);
    for (uint32_t i = 0; i < fused->count; i++) {
        forge_shape shape = forge_value_shape(b, steps[i]);
        if (!forge_shape_equal(&shape, &result))
            forge_builder_fail(b, "fused: step %u has another shape than the result", (unsigned)i);
    }
}

void library_fused(forge_builder *b, const forge_value *in, size_t count, const void *context,
                   forge_value *out)
{
    struct fused fused;
    if (!fused_read(context, count, &fused)) {
        forge_builder_fail(b, "fused: its code is invalid");
        return;
    }
    library_fused_steps(b, &fused, in, count, LAYOUT_PACKED, NULL, out);
}

void library_fused_matmul(forge_builder *b, const forge_value *in, size_t count, const void *context,
                          forge_value *out)
{
    library_fused(b, in, count, context, out);
}

void library_fused_conv(forge_builder *b, const forge_value *in, size_t count, const void *context,
                        forge_value *out)
{
    library_fused(b, in, count, context, out);
}
