/* autodiff/rules_move.c - the derivatives of families that move elements; see gradient.h. */
#include "forge/autodiff/gradient.h"

void gradient_reshape(struct gradient *r)
{
    gradient_add(r, 0, forge_reshape(r->b, r->g, forge_value_shape(r->b, r->inputs[0])));
}

void gradient_broadcast(struct gradient *r)
{
    gradient_add(r, 0, r->g);
}

void gradient_transpose(struct gradient *r)
{
    const struct transpose_attributes *a = r->node.attributes;
    uint32_t inverse[FORGE_MAX_RANK] = {0};
    for (uint32_t i = 0; i < forge_value_shape(r->b, r->g).rank; i++)
        inverse[a->order[i]] = i;
    gradient_add(r, 0, forge_transpose(r->b, r->g, inverse));
}

void gradient_concat(struct gradient *r)
{
    const struct axis_attributes *a = r->node.attributes;
    forge_dim start = 0;
    for (size_t i = 0; i < r->node.input_count; i++) {
        forge_dim end = forge_dim_add(r->b, start, forge_value_shape(r->b, r->inputs[i]).dims[a->axis]);
        gradient_add(r, i, forge_slice_along(r->b, r->g, a->axis, start, end));
        start = end;
    }
}

void gradient_slice(struct gradient *r)
{
    const struct slice_attributes *a = r->node.attributes;
    struct pad_attributes back = {a->cut, 0, forge_value_shape(r->b, r->inputs[0])};
    gradient_add(r, 0, builder_emit(r->b, OP_PAD, &back, sizeof back, &r->g, 1));
}

void gradient_pad(struct gradient *r)
{
    const struct pad_attributes *a = r->node.attributes;
    struct slice_attributes back = {a->cut};
    gradient_add(r, 0, builder_emit(r->b, OP_SLICE, &back, sizeof back, &r->g, 1));
}
