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
