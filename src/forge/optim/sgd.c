/* optim/sgd.c - see <forge/optim.h>. */
#include "base/abi.h"
#include "forge/optim/optimiser.h"

static forge_value update_by_sgd(const struct update *u, const void *context)
{
    const forge_sgd_options *options = context;
    forge_builder *b = u->b;
    forge_value delta = u->gradient;
    if (u->weight_decay != 0)
        delta = forge_add(b, delta, forge_mul(b, u->parameter, forge_scalar(b, u->dtype, u->weight_decay)));
    if (options->momentum != 0) {
        forge_value momentum = forge_scalar(b, u->dtype, options->momentum);
        forge_slot slot = update_slot(u, "momentum");
        forge_value old = forge_read(b, slot);
        forge_value velocity = forge_add(b, forge_mul(b, old, momentum), delta);
        forge_write(b, slot, update_choose(b, u->is_finite, velocity, old), true);
        delta = options->nesterov ? forge_add(b, delta, forge_mul(b, velocity, momentum)) : velocity;
    }
    forge_value updated = forge_sub(b, u->parameter, forge_mul(b, delta, forge_cast(b, u->dtype, u->rate)));
    return update_choose(b, u->is_finite, updated, u->parameter);
}

/* Copies and checks the options. Returns false if the builder has failed. */
static bool take_options(forge_builder *builder, const forge_sgd_options *options, forge_sgd_options *own)
{
    if (!builder_is_ok(builder) ||
        !builder_take_options(builder, "sgd", "forge_sgd_options", own, sizeof *own,
                              SIZE_UP_TO(forge_sgd_options, weight_decay), options))
        return false;
    if (own->nesterov && own->momentum == 0)
        forge_builder_fail(builder, "sgd: nesterov needs momentum above 0");
    return builder_is_ok(builder);
}

static struct update_options common(const forge_sgd_options *own)
{
    return (struct update_options){"sgd",       own->weight_decay, own->max_norm,
                                   own->groups, own->group_count,  own->loss_scale};
}

forge_value forge_sgd(forge_builder *builder, forge_value loss, forge_value learning_rate,
                      const forge_sgd_options *options)
{
    forge_sgd_options own;
    forge_value is_finite;
    if (!take_options(builder, options, &own))
        return FORGE_NO_VALUE;
    struct update_options all = common(&own);
    return update_parameters(builder, loss, learning_rate, &all, update_by_sgd, &own, &is_finite);
}

forge_value forge_sgd_step(forge_builder *builder, const forge_gradient *gradients, size_t count,
                           forge_value learning_rate, const forge_sgd_options *options)
{
    forge_sgd_options own;
    forge_value is_finite;
    if (!take_options(builder, options, &own))
        return FORGE_NO_VALUE;
    struct update_options all = common(&own);
    return update_given(builder, gradients, count, learning_rate, &all, update_by_sgd, &own, &is_finite);
}
