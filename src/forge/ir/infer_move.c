/* ir/infer_move.c - the rules of families that move elements; see infer.h.
 *
 * Owns reshape, broadcast, transpose, joining, cutting and what goes by indices. Newcomers: sizes may be expressions, so
 * "fits" means that it can be shown whatever the symbols are.
 */
#include "forge/ir/infer.h"

bool infer_reshape(struct inference *i)
{
    const struct shape_attributes *a = i->attributes;
    forge_dim before = dim_elements(&i->graph->dims, &i->inputs[0]->shape);
    forge_dim after = dim_elements(&i->graph->dims, &a->shape);
    if (before != after || before == DIM_FAILED) {
        char target[100];
        struct text text;
        text_init(&text, target, sizeof target);
        dim_print_shape(&i->graph->dims, &a->shape, &text);
        return infer_refuse(i, "%s holds another number of elements", target);
    }
    return infer_give(i, i->inputs[0]->dtype, &a->shape);
}

bool infer_broadcast(struct inference *i)
{
    const struct shape_attributes *a = i->attributes;
    forge_shape shape;
    if (!shapes_broadcast(&i->inputs[0]->shape, &a->shape, &shape) || !forge_shape_equal(&shape, &a->shape)) {
        char target[100];
        struct text text;
        text_init(&text, target, sizeof target);
        dim_print_shape(&i->graph->dims, &a->shape, &text);
        return infer_refuse(i, "it cannot become %s", target);
    }
    return infer_give(i, i->inputs[0]->dtype, &shape);
}

bool infer_transpose(struct inference *i)
{
    const struct transpose_attributes *a = i->attributes;
    const forge_shape *x = &i->inputs[0]->shape;
    forge_shape shape = {.rank = x->rank};
    uint32_t taken = 0;
    for (uint32_t k = 0; k < x->rank; k++) {
        if (a->order[k] >= x->rank || taken >> a->order[k] & 1)
            return infer_refuse(i, "the order is no permutation of %u dimensions", x->rank);
        taken |= 1u << a->order[k];
        shape.dims[k] = x->dims[a->order[k]];
    }
    return infer_give(i, i->inputs[0]->dtype, &shape);
}
