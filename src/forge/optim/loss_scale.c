/* optim/loss_scale.c - the dynamic scale of the loss; see <forge/optim.h>.
 *
 * The rule is that of PyTorch's GradScaler (torch/amp/grad_scaler.py): the scale shrinks after a step whose
 * gradients are not finite, and grows after `growth_steps` other steps in succession.
 * Note: powers of two scale floats exactly, and the limits keep the scale and its reciprocal finite. */
#include <stdio.h>
#include "base/abi.h"
#include "forge/optim/optimiser.h"

#define MAX_SCALE 0x1p+96
#define MIN_SCALE 0x1p-96

static bool is_factor(double value, double low, double high)
{
    return value > low && value < high;
}

/* Copies and checks the options. Returns false if the builder has failed. */
static bool take_options(forge_builder *b, const forge_loss_scale_options *options,
                         forge_loss_scale_options *own)
{
    if (!builder_is_ok(b) ||
        !builder_take_options(b, "loss_scale", "forge_loss_scale_options", own, sizeof *own,
                              SIZE_UP_TO(forge_loss_scale_options, name), options))
        return false;
    if (!(own->initial >= MIN_SCALE && own->initial <= MAX_SCALE) || !is_factor(own->growth, 1, 1e6) ||
        !is_factor(own->backoff, 0, 1) || own->growth_steps == 0)
        forge_builder_fail(
            b, "loss_scale: initial must be in [2^-96, 2^96], growth in (1, 1e6), backoff in (0, 1), "
               "and growth_steps 1 or more; start with FORGE_LOSS_SCALE_OPTIONS");
    return builder_is_ok(b);
}

static forge_slot slot_of(forge_builder *b, const forge_loss_scale_options *own, const char *suffix,
                          forge_dtype dtype, double initial)
{
    char name[560];
    snprintf(name, sizeof name, "%s.%s", own->name ? own->name : "loss_scale", suffix);
    return forge_state(b, name, dtype, (forge_shape){0}, (forge_init){FORGE_INIT_CONSTANT, initial, 0});
}

static forge_slot scale_slot(forge_builder *b, const forge_loss_scale_options *own)
{
    return slot_of(b, own, "scale", FORGE_F32, own->initial);
}

forge_value forge_scale_loss(forge_builder *builder, forge_value loss,
                             const forge_loss_scale_options *options)
{
    forge_loss_scale_options own;
    if (!take_options(builder, options, &own))
        return FORGE_NO_VALUE;
    forge_dtype dtype = forge_value_dtype(builder, loss);
    forge_value scale = forge_read(builder, scale_slot(builder, &own));
    return forge_mul(builder, loss, forge_cast(builder, dtype, scale));
}

static forge_value number(forge_builder *b, double value)
{
    return forge_scalar(b, FORGE_F32, value);
}

/* Adds the update of a counter: 1 is added if `counts` is true. Returns the sum. */
static forge_value count(forge_builder *b, forge_slot slot, forge_value counts)
{
    return forge_add(b, forge_read(b, slot), forge_cast(b, FORGE_I64, counts));
}

forge_value loss_scale_update(forge_builder *b, const forge_loss_scale_options *options,
                              forge_value is_finite)
{
    forge_loss_scale_options own;
    if (!take_options(b, options, &own))
        return FORGE_NO_VALUE;
    forge_slot scale = scale_slot(b, &own), good = slot_of(b, &own, "good_steps", FORGE_I64, 0),
               skipped = slot_of(b, &own, "skipped_steps", FORGE_I64, 0);
    forge_value now = forge_read(b, scale), zero = forge_scalar(b, FORGE_I64, 0);
    forge_value steps = count(b, good, is_finite);
    forge_value is_enough =
        forge_binary(b, FORGE_GE, steps, forge_scalar(b, FORGE_I64, (double)own.growth_steps));
    forge_value grown = forge_mul(b, now, number(b, own.growth));
    forge_value shrunk = forge_mul(b, now, number(b, own.backoff));
    grown = forge_binary(b, FORGE_MIN, grown, number(b, MAX_SCALE));
    shrunk = forge_binary(b, FORGE_MAX, shrunk, number(b, MIN_SCALE));
    forge_value next = forge_select(b, is_finite, forge_select(b, is_enough, grown, now), shrunk);
    forge_write(b, scale, next, false);
    steps = forge_select(b, is_finite, forge_select(b, is_enough, zero, steps), zero);
    forge_write(b, good, steps, false);
    forge_value is_skipped = forge_binary(b, FORGE_EQ, is_finite, forge_scalar(b, FORGE_BOOL, 0));
    forge_write(b, skipped, count(b, skipped, is_skipped), false);
    return forge_unary(b, FORGE_RECIPROCAL, forge_cast(b, FORGE_F64, now));
}
