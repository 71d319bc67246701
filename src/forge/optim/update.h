/* optim/update.h - what all optimisers have in common.
 *
 * Owns the walk over parameters: which are trained, their gradients, clipping, groups, types, and the write at the end. A
 * rule says only what one parameter becomes. Newcomers: a rule gets values of a type that can be computed in without loss
 * (f32 for a bf16 parameter) and returns one of the same type.
 */
#ifndef FORGE_OPTIM_UPDATE_H
#define FORGE_OPTIM_UPDATE_H

#include <forge/optim.h>
#include "forge/ir/build.h"

/* What the options of every optimiser say. */
struct update_options {
    const char *optimiser; /* "sgd", for messages */
    double weight_decay, max_norm;
    const forge_parameter_group *groups;
    size_t group_count;
};

/* One parameter. */
struct update {
    forge_builder *b;
    const struct slot *slot; /* a copy that stays: the builder's slots move */
    forge_dtype dtype;       /* of the two values below and of what the rule remembers */
    forge_value parameter, gradient;
    forge_value rate;    /* f64, rank 0 */
    double weight_decay; /* 0 where its group has none */
};

/* The parameter's new value. */
typedef forge_value update_fn(const struct update *update, const void *context);

/* One step on all parameters; the norm of their gradients. */
forge_value update_parameters(forge_builder *b, forge_value loss, forge_value learning_rate,
                              const struct update_options *options, update_fn *rule, const void *context);

/* The same with gradients of the caller. */
forge_value update_given(forge_builder *b, const forge_gradient *gradients, size_t count,
                         forge_value learning_rate, const struct update_options *options, update_fn *rule,
                         const void *context);

/* The slot NAME.suffix, like the parameter, which begins with zeros. */
forge_slot update_slot(const struct update *update, const char *suffix);

#endif
