/* ir/cost.c - see cost.h. */
#include "forge/ir/cost.h"

typedef double flop_fn(const struct launch *launch);

static double elements(const struct view *view)
{
    return (double)forge_shape_elements(&view->shape);
}

static double bytes(const struct view *view)
{
    forge_shape stored = view->shape;
    for (uint32_t i = 0; i < stored.rank; i++)
        if (view->strides[i] == 0 && stored.dims[i] > 1)
            stored.dims[i] = 1;
    return (double)forge_dtype_size_bytes(view->dtype, forge_shape_elements(&stored));
}

/* Moves elements, and computes nothing. */
#define NO_FLOP(name)                                                                                        \
    static double cost_##name(const struct launch *launch)                                                   \
    {                                                                                                        \
        (void)launch;                                                                                        \
        return 0;                                                                                            \
    }
NO_FLOP(iota)
NO_FLOP(select)
NO_FLOP(cast)
NO_FLOP(reshape)
NO_FLOP(broadcast)
NO_FLOP(transpose)
NO_FLOP(concat)
NO_FLOP(slice)
NO_FLOP(pad)

static double cost_unary(const struct launch *launch)
{
    return elements(&launch->outputs[0]);
}

static double cost_binary(const struct launch *launch)
{
    return elements(&launch->outputs[0]);
}

static double cost_reduce(const struct launch *launch)
{
    return elements(&launch->inputs[0]);
}

static double cost_matmul(const struct launch *launch)
{
    const struct matmul_attributes *a = launch->attributes;
    const forge_shape *left = &launch->inputs[0].shape;
    forge_dim inner = left->dims[left->rank - (a->flags & FORGE_TRANSPOSE_A ? 2 : 1)];
    return 2 * (double)inner * elements(&launch->outputs[0]);
}

static flop_fn *const flop_of[OP_COUNT] = {
#define LEAF(...)
#define WHOLE(...)
#define OP(NAME, name, least, most, attributes) [OP_##NAME] = cost_##name,
#include "forge/ir/ops.def"
};

struct program_cost cost_of_launch(const struct launch *launch)
{
    struct program_cost cost = {.flop = flop_of[launch->op](launch)};
    for (size_t i = 0; i < launch->input_count; i++)
        cost.read_bytes += bytes(&launch->inputs[i]);
    for (size_t i = 0; i < launch->output_count; i++)
        cost.written_bytes += bytes(&launch->outputs[i]);
    return cost;
}
