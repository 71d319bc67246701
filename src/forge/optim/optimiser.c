/* optim/optimiser.c - see optimiser.h. */
#include "forge/optim/optimiser.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A parameter to train. */
struct target {
    forge_slot number;
    const forge_parameter_group *group; /* NULL if the parameter is in no group */
};

static bool is_match(const forge_parameter_group *group, const struct slot *slot)
{
    return (!group->prefix || string_starts(slot->name, group->prefix)) &&
           (!group->suffix || string_ends(slot->name, group->suffix)) &&
           (group->ranks == 0 || (group->ranks >> slot->shape.rank & 1));
}

static const forge_parameter_group *group_of(const struct update_options *options, const struct slot *slot)
{
    for (size_t i = 0; i < options->group_count; i++)
        if (is_match(&options->groups[i], slot))
            return &options->groups[i];
    return NULL;
}

/* Finds all parameters that are not frozen. Returns their number. targets, parameters: capacity for all
 * parameters. */
static size_t find_targets(const forge_builder *b, const struct update_options *options,
                           struct target *targets, forge_value *parameters)
{
    size_t count = 0, all = forge_parameter_count(b);
    for (size_t i = 0; i < all; i++) {
        forge_slot number = forge_parameter_slot(b, i);
        const struct slot *slot = &b->graph->slots[number];
        const forge_parameter_group *group = group_of(options, slot);
        if (group && group->is_frozen)
            continue;
        targets[count] = (struct target){number, group};
        parameters[count++] = slot->read;
    }
    return count;
}

forge_value update_choose(forge_builder *b, forge_value is_finite, forge_value updated, forge_value old)
{
    return is_finite ? forge_select(b, is_finite, updated, old) : updated;
}

/* The numbers that all parameters of a step share. */
struct step {
    forge_value rate;               /* learning rate: f64, rank 0 */
    forge_value inverse, is_finite; /* 1 / loss scale (f64), bool; both FORGE_NO_VALUE without a loss scale */
};

static void update_one(forge_builder *b, const struct target *target, forge_value gradient,
                       const struct step *step, const struct update_options *options, update_fn *rule,
                       const void *context)
{
    const forge_parameter_group *group = target->group;
    struct slot slot = b->graph->slots[target->number];
    bool is_narrow = slot.dtype == FORGE_F16 || slot.dtype == FORGE_BF16;
    struct update update = {.b = b,
                            .slot = &slot,
                            .dtype = is_narrow ? FORGE_F32 : slot.dtype,
                            .rate = step->rate,
                            .is_finite = step->is_finite,
                            .weight_decay = group && group->has_no_decay ? 0 : options->weight_decay};
    b->scope = b->graph->nodes[b->graph->values[slot.read].node].scope;
    b->place = slot_place(b->graph, &slot);
    update.parameter = forge_cast(b, update.dtype, slot.read);
    update.gradient = forge_cast(b, update.dtype, gradient);
    if (step->inverse)
        update.gradient = forge_mul(b, update.gradient, forge_cast(b, update.dtype, step->inverse));
    if (group && group->rate_factor != 0)
        update.rate = forge_mul(b, step->rate, forge_scalar(b, FORGE_F64, group->rate_factor));
    forge_write(b, target->number, forge_cast(b, slot.dtype, rule(&update, context)), true);
}

/* Returns the factor of gradients whose norm is `norm` (f64, rank 0), so that it is at most max_norm. */
static forge_value clip_factor(forge_builder *b, forge_value norm, double max_norm)
{
    forge_value max = forge_scalar(b, FORGE_F64, max_norm), one = forge_scalar(b, FORGE_F64, 1);
    forge_value ratio = forge_div(b, max, forge_add(b, norm, forge_scalar(b, FORGE_F64, 1e-6)));
    return forge_binary(b, FORGE_MIN, one, ratio);
}

/* Sets the members of *step that a loss scale needs. norm: that of the scaled gradients. Returns the norm of
 * the gradients before scaling. */
static forge_value unscale(forge_builder *b, const struct update_options *options, forge_value norm,
                           struct step *step)
{
    step->is_finite = forge_binary(b, FORGE_LT, norm, forge_scalar(b, FORGE_F64, INFINITY));
    step->inverse = loss_scale_update(b, options->loss_scale, step->is_finite);
    norm = forge_mul(b, norm, step->inverse);
    if (options->max_norm > 0)
        step->inverse = forge_mul(b, step->inverse, clip_factor(b, norm, options->max_norm));
    return norm;
}

static forge_value add_step(forge_builder *b, const struct target *targets, size_t count,
                            forge_value *gradients, forge_value learning_rate,
                            const struct update_options *options, update_fn *rule, const void *context,
                            forge_value *out_is_finite)
{
    uint32_t scope = b->scope, place = b->place;
    forge_phase phase = forge_phase_set(b, FORGE_PHASE_OPTIMISER);
    bool clips = options->max_norm > 0 && !options->loss_scale;
    struct step step = {0};
    forge_value norm = forge_clip_gradients(b, gradients, count, clips ? options->max_norm : INFINITY);
    if (options->loss_scale)
        norm = unscale(b, options, norm, &step);
    step.rate = forge_cast(b, FORGE_F64, forge_reshape(b, learning_rate, (forge_shape){0}));
    for (size_t i = 0; i < count && builder_is_ok(b); i++)
        update_one(b, &targets[i], gradients[i], &step, options, rule, context);
    *out_is_finite = step.is_finite;
    if (builder_is_ok(b)) {
        b->scope = scope;
        b->place = place;
    }
    forge_phase_set(b, phase);
    return norm;
}

static bool check_options(forge_builder *b, const struct update_options *options)
{
    if (!(options->weight_decay >= 0) || !(options->max_norm >= 0))
        forge_builder_fail(b, "%s: weight_decay and max_norm must be 0 or more", options->optimiser);
    return builder_is_ok(b);
}

forge_value update_parameters(forge_builder *b, forge_value loss, forge_value learning_rate,
                              const struct update_options *options, update_fn *rule, const void *context,
                              forge_value *out_is_finite)
{
    *out_is_finite = FORGE_NO_VALUE;
    if (!check_options(b, options))
        return FORGE_NO_VALUE;
    forge_gradient *gradients = calloc(forge_parameter_count(b) + 1, sizeof *gradients);
    forge_value norm = FORGE_NO_VALUE;
    if (!gradients) {
        builder_fail(b, JOULE_NO_MEMORY, "out of memory");
    } else {
        if (options->loss_scale)
            loss = forge_scale_loss(b, loss, options->loss_scale);
        size_t count = forge_parameter_gradients(b, loss, options->groups, options->group_count, gradients);
        norm = update_given(b, gradients, count, learning_rate, options, rule, context, out_is_finite);
    }
    free(gradients);
    return norm;
}

/* --- gradients from the caller -------------------------------------------------------------------------- */

size_t forge_parameter_gradients(forge_builder *b, forge_value loss, const forge_parameter_group *groups,
                                 size_t group_count, forge_gradient *out_gradients)
{
    size_t max = forge_parameter_count(b), count = 0;
    const struct update_options options = {.groups = groups, .group_count = group_count};
    struct target *targets = calloc(max + 1, sizeof *targets);
    forge_value *values = calloc(2 * max + 1, sizeof *values);
    if (!targets || !values) {
        builder_fail(b, JOULE_NO_MEMORY, "out of memory");
    } else if (builder_is_ok(b)) {
        count = find_targets(b, &options, targets, values);
        forge_gradients(b, loss, values, count, values + count);
    }
    for (size_t i = 0; i < count; i++)
        out_gradients[i] = (forge_gradient){targets[i].number, values[count + i]};
    free(targets);
    free(values);
    return builder_is_ok(b) ? count : 0;
}

/* Checks gradient i: its value must be floats in the parameter's shape. The parameter must be a slot that is
 * read, and must not belong to an earlier gradient. */
static bool check_gradient(forge_builder *b, const forge_gradient *gradients, size_t i, const char *name)
{
    const forge_gradient *g = &gradients[i];
    if (g->parameter >= b->graph->slot_count || !b->graph->slots[g->parameter].read) {
        forge_builder_fail(b, "%s: gradient %zu belongs to no parameter", name, i);
        return false;
    }
    const struct slot *slot = &b->graph->slots[g->parameter];
    forge_shape shape = forge_value_shape(b, g->value);
    if (!g->value || !forge_dtype_is_float(forge_value_dtype(b, g->value)) ||
        !forge_shape_equal(&shape, &slot->shape))
        forge_builder_fail(b, "%s: the gradient of '%s' must be a float of the parameter's shape", name,
                           slot->name);
    for (size_t k = 0; k < i; k++)
        if (gradients[k].parameter == g->parameter)
            forge_builder_fail(b, "%s: the parameter '%s' is given twice", name, slot->name);
    return builder_is_ok(b);
}

static bool check_gradients(forge_builder *b, const forge_gradient *gradients, size_t count, const char *name)
{
    if (count == 0)
        forge_builder_fail(b, "%s: there are no parameters, or all are frozen", name);
    for (size_t i = 0; i < count && builder_is_ok(b); i++)
        check_gradient(b, gradients, i, name);
    return builder_is_ok(b);
}

forge_value update_given(forge_builder *b, const forge_gradient *gradients, size_t count,
                         forge_value learning_rate, const struct update_options *options, update_fn *rule,
                         const void *context, forge_value *out_is_finite)
{
    forge_value norm = FORGE_NO_VALUE;
    *out_is_finite = FORGE_NO_VALUE;
    if (!check_options(b, options) || !check_gradients(b, gradients, count, options->optimiser))
        return FORGE_NO_VALUE;
    struct target *targets = calloc(count + 1, sizeof *targets);
    forge_value *values = calloc(count + 1, sizeof *values);
    size_t kept = 0;
    bool has_memory = targets && values;
    if (!has_memory)
        builder_fail(b, JOULE_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < count && has_memory && builder_is_ok(b); i++) {
        const forge_parameter_group *group = group_of(options, &b->graph->slots[gradients[i].parameter]);
        if (group && group->is_frozen)
            continue;
        targets[kept] = (struct target){gradients[i].parameter, group};
        values[kept++] = gradients[i].value;
    }
    if (builder_is_ok(b))
        norm = add_step(b, targets, kept, values, learning_rate, options, rule, context, out_is_finite);
    free(targets);
    free(values);
    return builder_is_ok(b) ? norm : FORGE_NO_VALUE;
}

/* Adds a gradient to its slot NAME.gradient, and replaces *gradient by the sum. If is_last is true, also
 * divides the sum by `parts`, and sets the slot to 0. */
static void accumulate_one(forge_builder *b, forge_gradient *gradient, uint32_t parts, bool is_last)
{
    char name[560];
    struct slot slot = b->graph->slots[gradient->parameter];
    forge_dtype dtype = slot.dtype == FORGE_F64 ? FORGE_F64 : FORGE_F32;
    snprintf(name, sizeof name, "%s.gradient", slot.name);
    b->scope = b->graph->nodes[b->graph->values[slot.read].node].scope;
    b->place = slot_place(b->graph, &slot);
    forge_slot sums = forge_state(b, name, dtype, slot.shape, (forge_init){0});
    forge_value sum = forge_add(b, forge_read(b, sums), forge_cast(b, dtype, gradient->value));
    forge_value zeros = forge_broadcast(b, forge_scalar(b, dtype, 0), slot.shape);
    gradient->value = is_last ? forge_mul(b, sum, forge_scalar(b, dtype, 1.0 / parts)) : sum;
    forge_write(b, sums, is_last ? zeros : sum, true);
}

void forge_accumulate_gradients(forge_builder *b, forge_gradient *gradients, size_t count, uint32_t parts,
                                bool is_last)
{
    if (!builder_is_ok(b) || !check_gradients(b, gradients, count, "accumulate_gradients"))
        return;
    if (parts == 0)
        forge_builder_fail(b, "accumulate_gradients: parts must be 1 or more");
    uint32_t scope = b->scope, place = b->place;
    forge_phase phase = forge_phase_set(b, FORGE_PHASE_OPTIMISER);
    for (size_t i = 0; i < count && builder_is_ok(b); i++)
        accumulate_one(b, &gradients[i], parts, is_last);
    if (builder_is_ok(b)) {
        b->scope = scope;
        b->place = place;
    }
    forge_phase_set(b, phase);
}

/* --- update rules --------------------------------------------------------------------------------------- */

forge_slot update_slot(const struct update *update, const char *suffix)
{
    char name[560];
    snprintf(name, sizeof name, "%s.%s", update->slot->name, suffix);
    return forge_state(update->b, name, update->dtype, update->slot->shape, (forge_init){0});
}

/* --- clipping ------------------------------------------------------------------------------------------- */

static forge_value sum_of_squares(forge_builder *b, forge_value x)
{
    uint32_t all = (1u << forge_value_shape(b, x).rank) - 1;
    const char *before = forge_place_set(b, forge_value_place(b, x));
    forge_value sum = forge_reduce(b, FORGE_SUM, forge_unary(b, FORGE_SQUARE, x), all, false);
    forge_place_set(b, before);
    return forge_cast(b, FORGE_F64, sum);
}

forge_value forge_clip_gradients(forge_builder *builder, forge_value *gradients, size_t count,
                                 double max_norm)
{
    forge_builder *b = builder;
    forge_value sum = forge_scalar(b, FORGE_F64, 0);
    if (builder_is_ok(b) && !(max_norm > 0))
        forge_builder_fail(b, "clip_gradients: max_norm must be above 0");
    for (size_t i = 0; i < count; i++)
        sum = forge_add(b, sum, sum_of_squares(b, gradients[i]));
    forge_value norm = forge_sqrt(b, sum);
    if (isinf(max_norm))
        return norm;
    forge_value scale = clip_factor(b, norm, max_norm);
    const char *before = forge_place_set(b, NULL);
    for (size_t i = 0; i < count; i++) {
        forge_place_set(b, forge_value_place(b, gradients[i]));
        gradients[i] = forge_mul(b, gradients[i], forge_cast(b, forge_value_dtype(b, gradients[i]), scale));
    }
    forge_place_set(b, before);
    return norm;
}
