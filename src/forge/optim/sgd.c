/* optim/sgd.c - see <forge/optim.h>. */
#include <forge/optim.h>

#include <stdio.h>
#include <stdlib.h>
#include "base/abi.h"
#include "forge/ir/build.h"

/* The step's direction for one parameter. */
static forge_value direction(forge_builder *b, const struct slot *slot, forge_value parameter,
                             forge_value gradient, const forge_sgd_options *options)
{
    forge_dtype dtype = slot->dtype;
    if (options->weight_decay != 0)
        gradient =
            forge_add(b, gradient, forge_mul(b, parameter, forge_scalar(b, dtype, options->weight_decay)));
    if (options->momentum == 0)
        return gradient;
    char name[560];
    snprintf(name, sizeof name, "%s.momentum", slot->name);
    forge_value momentum = forge_scalar(b, dtype, options->momentum);
    forge_slot velocity_slot = forge_state(b, name, dtype, slot->shape, (forge_init){0});
    forge_value velocity = forge_add(b, forge_mul(b, forge_read(b, velocity_slot), momentum), gradient);
    forge_write(b, velocity_slot, velocity, true);
    return options->nesterov ? forge_add(b, gradient, forge_mul(b, velocity, momentum)) : velocity;
}

static void step(forge_builder *b, const forge_slot *slots, size_t count, const forge_value *values,
                 const forge_value *gradients, forge_value learning_rate, const forge_sgd_options *options)
{
    for (size_t i = 0; i < count && builder_goes_on(b); i++) {
        struct slot slot = b->graph->slots[slots[i]]; /* a copy: slots move */
        forge_value rate = forge_cast(b, slot.dtype, forge_reshape(b, learning_rate, (forge_shape){0}));
        forge_value way = direction(b, &slot, values[i], gradients[i], options);
        forge_write(b, slots[i], forge_sub(b, values[i], forge_mul(b, way, rate)), true);
    }
}

void forge_sgd(forge_builder *builder, forge_value loss, forge_value learning_rate,
               const forge_sgd_options *options)
{
    size_t count = forge_parameter_count(builder);
    forge_sgd_options own;
    if (!builder_goes_on(builder))
        return;
    if (abi_take(&own, sizeof own, SIZE_UP_TO(forge_sgd_options, weight_decay), options) != JOULE_OK ||
        count == 0 || (own.nesterov && own.momentum == 0)) {
        forge_builder_fail(builder,
                           "sgd: no parameters, nesterov without momentum, or options of another version");
        return;
    }
    forge_slot *slots = calloc(count, sizeof *slots);
    forge_value *values = calloc(2 * count, sizeof *values);
    for (size_t i = 0; slots && values && i < count; i++) {
        slots[i] = forge_parameter_slot(builder, i);
        values[i] = builder->graph->slots[slots[i]].read;
    }
    if (slots && values) {
        forge_gradients(builder, loss, values, count, values + count);
        forge_phase phase = forge_phase_set(builder, FORGE_PHASE_OPTIMISER);
        step(builder, slots, count, values, values + count, learning_rate, &own);
        forge_phase_set(builder, phase);
    } else {
        builder_refuse(builder, JOULE_NO_MEMORY, "memory is used up");
    }
    free(slots);
    free(values);
}
