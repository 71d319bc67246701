/* ir/library_fused.c - the bodies of the composites "fused", "fused_matmul", "fused_conv" and "fused_rows";
 * see fused.h. */
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

/* A body that has the types of a gradient; see library_body_with. context: the attributes. */
static void typed_body(forge_builder *b, const forge_value *in, size_t count, const void *context,
                       forge_value *out)
{
    const struct composite_attributes *a = context;
    (void)b;
    for (uint32_t i = 0, k = 0; i < count && k < OP_MAX_OUTPUTS; i++)
        if (a->wanted >> i & 1)
            out[k++] = in[i];
}

/* Adds the node of a gradient. in: [count]; the last is the gradient of the result. out: gets its outputs. */
static void add_gradient(forge_builder *b, const struct composite_attributes *row, const forge_value *in,
                         size_t count, forge_value *out)
{
    struct composite_attributes own = *row;
    const struct value *values[FUSED_MAX_OPERANDS];
    size_t outputs = (size_t)__builtin_popcount(row->wanted);
    forge_shape x = forge_value_shape(b, in[0]), g = forge_value_shape(b, in[count - 1]);
    if (builder_is_ok(b) && (!forge_shape_equal(&x, &g) || outputs > OP_MAX_OUTPUTS))
        forge_builder_fail(b, "%s: its operands do not fit each other", row->name);
    if (!builder_is_ok(b))
        return;
    if (!b->gradient) {
        builder_add_composite(b, row, in, count, typed_body, row, out, outputs);
        return;
    }
    for (size_t i = 0; i < count; i++)
        values[i] = &b->graph->values[in[i]];
    forge_graph *body = b->gradient(row, values, count, &b->graph->dims);
    if (!body)
        forge_builder_fail(b, "%s: it has no body", row->name);
    else if (builder_adopt_body(b, body)) {
        own.body = body;
        forge_value first = builder_emit(b, OP_COMPOSITE, &own, sizeof own, in, count);
        for (size_t k = 0; first && k < outputs; k++)
            out[k] = first + (forge_value)k;
    }
}

/* Adds the nodes of a row operation. out: gets its outputs. */
static void add_row(forge_builder *b, const struct fused *fused, const struct fused_step *step,
                    const forge_value *values, forge_value *out)
{
    forge_value in[FUSED_MAX_OPERANDS];
    for (int i = 0; i < step->operand_count; i++)
        in[i] = values[step->operands[i]];
    if (step->op == OP_REDUCE)
        out[0] = forge_reduce(b, (forge_reduce_kind)step->kind, in[0], fused->reduce.axes,
                              fused->reduce.keep_dims);
    else if (library_is_gradient(&fused->row))
        add_gradient(b, &fused->row, in, step->operand_count, out);
    else
        library_composite_many(b, &fused->row, in, step->operand_count, out);
}

/* Adds the node of a step. values: by operand number. out: gets its outputs. */
static void add_step(forge_builder *b, const struct fused *fused, const struct fused_step *step,
                     const forge_value *values, forge_value *out)
{
    forge_value x = values[step->operands[0]], y = values[step->operands[1]], z = values[step->operands[2]];
    switch (step->op) {
    case OP_UNARY:
        out[0] = forge_unary(b, (forge_unary_kind)step->kind, x);
        break;
    case OP_BINARY:
        out[0] = forge_binary(b, (forge_binary_kind)step->kind, x, y);
        break;
    case OP_SELECT:
        out[0] = forge_select(b, x, y, z);
        break;
    case OP_CAST:
        out[0] = forge_cast(b, (forge_dtype)step->kind, x);
        break;
    case OP_MATMUL:
        out[0] = forge_matmul(b, x, y, step->kind);
        break;
    case OP_CONV:
        out[0] = add_conv(b, &fused->conv, x, y);
        break;
    default:
        add_row(b, fused, step, values, out);
    }
}

/* Fails the builder if a step has neither the shape of the result nor that of the operand of a reduction. */
static void check_shapes(forge_builder *b, const struct fused *fused, const forge_value *values)
{
    const forge_value *steps = values + FUSED_MAX_INPUTS;
    uint32_t product = fused_product(fused);
    forge_shape result = forge_value_shape(b, steps[fused->count - 1]), reduced = result;
    if (product < fused->count && fused->steps[product].op == OP_REDUCE)
        reduced = forge_value_shape(b, values[fused->steps[product].operands[0]]);
    for (uint32_t i = 0; i < fused->count; i++) {
        forge_shape shape = forge_value_shape(b, steps[i]);
        const forge_shape *expected = i < product ? &reduced : &result;
        if (!forge_shape_equal(&shape, expected))
            forge_builder_fail(b, "fused: step %u has another shape than the result", (unsigned)i);
    }
}

void library_fused_steps(forge_builder *b, const struct fused *fused, const forge_value *in, size_t count,
                         enum value_layout layout, const char *const *scopes, forge_value *out)
{
    forge_value values[FUSED_MAX_INPUTS + FUSED_MAX_STEPS] = {0};
    uint32_t product = fused_product(fused);
    for (size_t i = 0; i < count; i++)
        values[i] = in[i];
    for (uint32_t i = 0; i < fused->count; i++) {
        forge_value own[OP_MAX_OUTPUTS] = {0};
        if (scopes && builder_is_ok(b))
            b->scope = builder_add_scope(b, scopes[i]);
        add_step(b, fused, &fused->steps[i], values, own);
        if (i == 0 && builder_is_ok(b))
            own[0] = layout_apply(b, own[0], layout);
        values[FUSED_MAX_INPUTS + i] = own[0];
        for (size_t k = 1; i == product && k < OP_MAX_OUTPUTS; k++)
            out[k] = own[k];
    }
    out[0] = values[FUSED_MAX_INPUTS + fused->count - 1];
    check_shapes(b, fused, values);
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

void library_fused_rows(forge_builder *b, const forge_value *in, size_t count, const void *context,
                        forge_value *out)
{
    library_fused(b, in, count, context, out);
}
