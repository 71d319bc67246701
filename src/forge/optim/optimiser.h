/* optim/optimiser.h - the code that all optimisers share: it selects parameters, clips gradients, applies the
 * options of parameter groups, and writes new values.
 *
 * An update rule computes only the new value of one parameter. Its operands and its result are f32 if the
 * parameter is f16 or bf16; otherwise they have the parameter's type.
 */
#ifndef FORGE_OPTIM_OPTIMISER_H
#define FORGE_OPTIM_OPTIMISER_H

#include <forge/optim.h>
#include "forge/ir/builder.h"

/* Options that all optimisers have. */
struct update_options {
    const char *optimiser; /* name for messages, for example "sgd" */
    double weight_decay, max_norm;
    const forge_parameter_group *groups;
    size_t group_count;
};

/* Arguments of an update rule, for one parameter. */
struct update {
    forge_builder *b;
    const struct slot *slot; /* a copy, because the builder's slots may move when slots are added */
    forge_dtype dtype;       /* type of parameter, gradient and the rule's slots */
    forge_value parameter, gradient;
    forge_value rate;    /* learning rate: f64, rank 0 */
    double weight_decay; /* 0 if the parameter's group has no decay */
};

/* An update rule. Returns the new value of the parameter. context: the optimiser's own data. */
typedef forge_value update_fn(const struct update *update, const void *context);

/* Adds one step for all parameters that are not frozen. Returns the norm of their gradients before clipping
 * (f64, rank 0), or FORGE_NO_VALUE if the builder has failed. */
forge_value update_parameters(forge_builder *b, forge_value loss, forge_value learning_rate,
                              const struct update_options *options, update_fn *rule, const void *context);

/* Like update_parameters, but with gradients from the caller. */
forge_value update_given(forge_builder *b, const forge_gradient *gradients, size_t count,
                         forge_value learning_rate, const struct update_options *options, update_fn *rule,
                         const void *context);

/* Returns the slot NAME.suffix, with the shape of the parameter and an initial value of 0. */
forge_slot update_slot(const struct update *update, const char *suffix);

#endif
