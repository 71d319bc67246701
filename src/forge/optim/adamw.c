/* optim/adamw.c - see <forge/optim.h>; computes the inputs of the composite "adamw" (ir/library_update.c).
 *
 * Note: 1 - 0.999 in f32 has a relative error of about 1e-5, so every number is computed in f64 and then
 * rounded. These numbers are inputs of the composite, so a kernel does not need to read them from the
 * composite's body. If a step is skipped (struct update), the numbers become 0 and 1, with which the
 * composite changes nothing: in place, without a copy of the old values.
 */
#include <stdio.h>
#include "base/abi.h"
#include "forge/ir/library.h"
#include "forge/optim/optimiser.h"

struct adamw {
    const forge_adamw_options *options;
    forge_value correction1, correction2; /* 1 - beta1^t and 1 - beta2^t, in f64 */
    forge_slot slot;                      /* the number of steps */
    forge_value step;                     /* t */
};

static forge_value number(forge_builder *b, double value)
{
    return forge_scalar(b, FORGE_F64, value);
}

/* Replaces inputs of the composite, so that it changes nothing if u->is_finite is false. */
static void change_nothing(const struct update *u, forge_value in[ADAMW_INPUTS])
{
    static const struct {
        enum adamw_input input;
        double number;
    } idle[] = {{ADAMW_KEEP, 1},
                {ADAMW_STEP_SIZE, 0},
                {ADAMW_ONE_LESS_BETA1, 0},
                {ADAMW_BETA2, 1},
                {ADAMW_ONE_LESS_BETA2, 0}};
    forge_builder *b = u->b;
    in[ADAMW_GRADIENT] = forge_select(b, u->is_finite, in[ADAMW_GRADIENT], forge_scalar(b, u->dtype, 0));
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        in[idle[i].input] = forge_select(b, u->is_finite, in[idle[i].input], number(b, idle[i].number));
}

static forge_value update_by_adamw(const struct update *u, const void *context)
{
    const struct adamw *adamw = context;
    const forge_adamw_options *options = adamw->options;
    forge_builder *b = u->b;
    forge_slot exp_avg = update_slot(u, "exp_avg"), exp_avg_sq = update_slot(u, "exp_avg_sq");
    forge_value decay = forge_mul(b, u->rate, number(b, u->weight_decay));
    forge_value in[ADAMW_INPUTS] = {
        [ADAMW_PARAMETER] = u->parameter,
        [ADAMW_GRADIENT] = u->gradient,
        [ADAMW_EXP_AVG] = forge_read(b, exp_avg),
        [ADAMW_EXP_AVG_SQ] = forge_read(b, exp_avg_sq),
        [ADAMW_KEEP] = forge_sub(b, number(b, 1), decay),
        [ADAMW_STEP_SIZE] = forge_div(b, u->rate, adamw->correction1),
        [ADAMW_ROOT] = forge_sqrt(b, adamw->correction2),
        [ADAMW_ONE_LESS_BETA1] = number(b, 1 - options->beta1),
        [ADAMW_BETA2] = number(b, options->beta2),
        [ADAMW_ONE_LESS_BETA2] = number(b, 1 - options->beta2),
        [ADAMW_EPSILON] = number(b, options->epsilon),
    };
    if (u->is_finite)
        change_nothing(u, in);
    for (size_t i = ADAMW_KEEP; i < ADAMW_INPUTS; i++)
        in[i] = forge_cast(b, u->dtype, in[i]);
    forge_value out[3];
    library_composite_many(b, &(struct composite_attributes){.name = "adamw"}, in, ADAMW_INPUTS, out);
    forge_write(b, exp_avg, out[1], true);
    forge_write(b, exp_avg_sq, out[2], true);
    return out[0];
}

/* Increments the step t, and computes 1 - beta^t for both betas. */
static void begin_step(forge_builder *b, struct adamw *adamw)
{
    forge_phase phase = forge_phase_set(b, FORGE_PHASE_OPTIMISER);
    char name[560];
    snprintf(name, sizeof name, "%s.step", adamw->options->name ? adamw->options->name : "optimiser");
    forge_slot slot = forge_state(b, name, FORGE_I64, (forge_shape){0}, (forge_init){0});
    forge_value step = forge_add(b, forge_read(b, slot), forge_scalar(b, FORGE_I64, 1));
    forge_value t = forge_cast(b, FORGE_F64, step), one = number(b, 1);
    const forge_adamw_options *o = adamw->options;
    adamw->slot = slot;
    adamw->step = step;
    adamw->correction1 = forge_sub(b, one, forge_binary(b, FORGE_POW, number(b, o->beta1), t));
    adamw->correction2 = forge_sub(b, one, forge_binary(b, FORGE_POW, number(b, o->beta2), t));
    forge_phase_set(b, phase);
}

/* Stores the number of steps. */
static void end_step(forge_builder *b, const struct adamw *adamw, forge_value is_finite)
{
    forge_phase phase = forge_phase_set(b, FORGE_PHASE_OPTIMISER);
    forge_value old = forge_read(b, adamw->slot);
    forge_write(b, adamw->slot, update_choose(b, is_finite, adamw->step, old), true);
    forge_phase_set(b, phase);
}

static bool is_beta(double value)
{
    return value >= 0 && value < 1;
}

/* Copies and checks the options. Returns false if the builder has failed. */
static bool take_options(forge_builder *builder, const forge_adamw_options *options, forge_adamw_options *own)
{
    if (!builder_is_ok(builder) ||
        !builder_take_options(builder, "adamw", "forge_adamw_options", own, sizeof *own,
                              SIZE_UP_TO(forge_adamw_options, group_count), options))
        return false;
    if (!is_beta(own->beta1) || !is_beta(own->beta2) || !(own->epsilon > 0))
        forge_builder_fail(builder, "adamw: beta1 and beta2 must be in [0, 1), and epsilon above 0; start "
                                    "with FORGE_ADAMW_OPTIONS");
    return builder_is_ok(builder);
}

static struct update_options common(const forge_adamw_options *own)
{
    return (struct update_options){"adamw",     own->weight_decay, own->max_norm,
                                   own->groups, own->group_count,  own->loss_scale};
}

forge_value forge_adamw(forge_builder *builder, forge_value loss, forge_value learning_rate,
                        const forge_adamw_options *options)
{
    forge_adamw_options own;
    forge_value is_finite;
    if (!take_options(builder, options, &own))
        return FORGE_NO_VALUE;
    struct adamw adamw = {.options = &own};
    struct update_options all = common(&own);
    begin_step(builder, &adamw);
    forge_value norm =
        update_parameters(builder, loss, learning_rate, &all, update_by_adamw, &adamw, &is_finite);
    end_step(builder, &adamw, is_finite);
    return norm;
}

forge_value forge_adamw_step(forge_builder *builder, const forge_gradient *gradients, size_t count,
                             forge_value learning_rate, const forge_adamw_options *options)
{
    forge_adamw_options own;
    forge_value is_finite;
    if (!take_options(builder, options, &own))
        return FORGE_NO_VALUE;
    struct adamw adamw = {.options = &own};
    struct update_options all = common(&own);
    begin_step(builder, &adamw);
    forge_value norm =
        update_given(builder, gradients, count, learning_rate, &all, update_by_adamw, &adamw, &is_finite);
    end_step(builder, &adamw, is_finite);
    return norm;
}
