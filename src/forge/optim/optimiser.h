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
    const forge_loss_scale_options *loss_scale; /* NULL: none */
};

/* Arguments of an update rule, for one parameter. */
struct update {
    forge_builder *b;
    const struct slot *slot; /* a copy, because the builder's slots may move when slots are added */
    forge_dtype dtype;       /* type of parameter, gradient and the rule's slots */
    forge_value parameter, gradient;
    forge_value rate;    /* learning rate: f64, rank 0 */
    double weight_decay; /* 0 if the parameter's group has no decay */
    /* bool, rank 0: false if the step must change nothing; FORGE_NO_VALUE: there is no loss scale */
    forge_value is_finite;
};

/* An update rule. Returns the new value of the parameter, and writes the rule's slots. If
 * update->is_finite is false, they keep their values (update_choose). context: the optimiser's own data. */
typedef forge_value update_fn(const struct update *update, const void *context);

/* Adds one step for all parameters that are not frozen. Returns the norm of their gradients before clipping
 * (f64, rank 0), or FORGE_NO_VALUE if the builder has failed. *out_is_finite: see struct update. */
forge_value update_parameters(forge_builder *b, forge_value loss, forge_value learning_rate,
                              const struct update_options *options, update_fn *rule, const void *context,
                              forge_value *out_is_finite);

/* Like update_parameters, but with gradients from the caller. */
forge_value update_given(forge_builder *b, const forge_gradient *gradients, size_t count,
                         forge_value learning_rate, const struct update_options *options, update_fn *rule,
                         const void *context, forge_value *out_is_finite);

/* Returns `updated` if is_finite is true or FORGE_NO_VALUE, otherwise `old`. All have one shape. */
forge_value update_choose(forge_builder *b, forge_value is_finite, forge_value updated, forge_value old);

/* Adds the update of the scale and of its counters after a step. is_finite: bool, rank 0. Returns 1 / scale
 * (f64, rank 0), with the scale before the update. */
forge_value loss_scale_update(forge_builder *b, const forge_loss_scale_options *options,
                              forge_value is_finite);

/* Returns the slot NAME.suffix, with the shape of the parameter and an initial value of 0. */
forge_slot update_slot(const struct update *update, const char *suffix);

#endif
