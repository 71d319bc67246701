/* nn/dropout.c - the dropout layer, and the slots for the random numbers of a graph.
 *
 * All layers share the slots of key and step. The random stream of a layer is the hash of its name. So a
 * graph that is built again, or in another order, drops the same elements.
 */
#include "forge/nn/layer.h"

struct dropout {
    double rate;
    uint32_t stream;
};

enum { X, KEY, STEP, INPUTS };

static forge_value body(forge_builder *b, const forge_value *in, size_t count, const void *context)
{
    const struct dropout *dropout = context;
    (void)count;
    forge_dtype dtype = forge_value_dtype(b, in[X]);
    forge_value u = forge_random_numbers(b, FORGE_RANDOM_UNIFORM, forge_value_shape(b, in[X]), in[KEY],
                                         in[STEP], dropout->stream);
    forge_value is_kept = forge_binary(b, FORGE_GE, u, forge_scalar(b, FORGE_F32, dropout->rate));
    forge_value scaled = forge_mul(b, in[X], forge_scalar(b, dtype, 1 / (1 - dropout->rate)));
    return forge_select(b, is_kept, scaled, forge_scalar(b, dtype, 0));
}

/* Returns the 32-bit FNV-1a hash of the scope's path. */
static uint32_t stream_of(const forge_builder *b)
{
    uint32_t hash = UINT32_C(0x811c9dc5);
    for (const char *at = b->graph->scopes[b->scope]; *at; at++)
        hash = (hash ^ (unsigned char)*at) * UINT32_C(0x01000193);
    return hash;
}

/* Returns the number of the step. The first call adds a write that increments this number in each run. */
static forge_value step_of(forge_builder *b)
{
    forge_slot slot = forge_state(b, "random.step", FORGE_U32, (forge_shape){0}, (forge_init){0});
    forge_value step = forge_read(b, slot);
    if (builder_is_ok(b) && !b->graph->slots[slot].write)
        forge_write(b, slot, forge_add(b, step, forge_scalar(b, FORGE_U32, 1)), false);
    return step;
}

forge_value forge_dropout(forge_builder *builder, const char *name, forge_value x, double rate,
                          bool is_training)
{
    if (!builder_is_ok(builder))
        return FORGE_NO_VALUE;
    if (!(rate >= 0 && rate < 1) || !forge_dtype_is_float(forge_value_dtype(builder, x))) {
        forge_builder_fail(builder, "dropout '%s': x must be floats, and the rate in [0, 1)", name);
        return FORGE_NO_VALUE;
    }
    if (!is_training || rate == 0)
        return x;
    forge_init any = {FORGE_INIT_UNIFORM, 0, 0x1p64};
    forge_scope_push(builder, name);
    struct dropout dropout = {rate, builder_is_ok(builder) ? stream_of(builder) : 0};
    forge_slot key = forge_state(builder, "random.key", FORGE_U64, (forge_shape){0}, any);
    forge_value in[INPUTS] = {x, forge_read(builder, key), step_of(builder)};
    forge_value y = forge_composite(builder, "dropout", in, INPUTS, body, &dropout);
    forge_scope_pop(builder);
    return y;
}
