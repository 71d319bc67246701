/* infer/engine/request_energy.c - see request_energy.h. */
#include "forge/infer/engine/request_energy.h"

#include <math.h>
#include <time.h>
#include "base/clock.h"
#include "forge/ir/operation_cost.h"

#define SCALE_STEP 0.2                /* weight of a new reading in the mean of joules per weight */
#define Z90        1.6448536269514722 /* 95 % quantile of the standard normal distribution */

/* --- the meter as a source ------------------------------------------------------------------------------ */

static joule_status read_meter(void *context, joule_quantity *out_joules)
{
    const struct request_energy *energy = context;
    joule_sample_now(energy->meter);
    return forge_energy_now(energy->instance, out_joules);
}

static int64_t now_ns(void *context)
{
    (void)context;
    return clock_now_ns();
}

static void wait_until(void *context, int64_t until_ns)
{
    (void)context;
    struct timespec until = clock_timespec(until_ns);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0 && clock_now_ns() < until_ns)
        continue;
}

/* --- life ----------------------------------------------------------------------------------------------- */

void request_energy_open(struct request_energy *energy, const forge_energy_source *source, joule_meter *meter,
                         forge_instance *instance)
{
    *energy = (struct request_energy){.instance = instance,
                                      .meter = meter,
                                      .scale = 1,
                                      .scale_variance = COST_JOULES_LOG_SD * COST_JOULES_LOG_SD};
    if (source)
        energy->source = *source;
    else
        energy->source = (forge_energy_source){"meter", read_meter, now_ns, wait_until, energy, NAN};
    if (!source && forge_energy_start(instance, meter, JOULE_TOTAL, NULL) != JOULE_OK)
        energy->source.read = NULL;
    request_energy_read(energy);
}

bool request_energy_is_known(const struct request_energy *energy)
{
    return energy->is_known;
}

int64_t request_energy_now_ns(const struct request_energy *energy)
{
    return energy->source.now_ns(energy->source.context);
}

/* --- sharing -------------------------------------------------------------------------------------------- */

void request_energy_add(struct request_energy *energy, struct spending *spending, enum spending_phase phase,
                        const struct row_cost *weight, bool is_shared)
{
    row_cost_add(&spending->weights[phase], weight);
    spending->last_weight = row_cost_sum(weight);
    spending->is_shared |= is_shared;
    row_cost_add(&energy->weights, weight);
}

/* Corrects for requests that ended before the reading: adds the difference between their part of the reading
 * and the expected joules that were attributed to them to the unattributed joules. */
static void settle_ended(struct request_energy *energy, double joules_per_weight)
{
    energy->unattributed_joules += energy->ended_weights * joules_per_weight - energy->ended_joules;
    energy->ended_weights = energy->ended_joules = 0;
}

/* Updates the scale and its variance with a new reading. */
static void learn_scale(struct request_energy *energy, double per_weight)
{
    double error = log(per_weight / energy->scale);
    if (energy->has_scale)
        energy->scale_variance += SCALE_STEP * (error * error - energy->scale_variance);
    energy->scale += (energy->has_scale ? SCALE_STEP : 1) * (per_weight - energy->scale);
    energy->has_scale = true;
}

double request_energy_read(struct request_energy *energy)
{
    joule_quantity now;
    energy->last_ns = request_energy_now_ns(energy);
    if (!energy->source.read || energy->source.read(energy->source.context, &now) != JOULE_OK ||
        !isfinite(now.value))
        return NAN;
    if (!energy->is_known)
        energy->first = energy->last = now;
    energy->is_known = true;
    double joules = now.value - energy->last.value;
    if (!(joules > 0))
        return NAN;
    energy->last = now;
    double weight = row_cost_sum(&energy->weights);
    if (!(weight > 0)) {
        energy->idle_joules += joules;
        return NAN;
    }
    for (int part = 0; part < COST_PARTS; part++)
        energy->mix.joules[part] = energy->weights.joules[part] / weight;
    learn_scale(energy, joules / weight);
    settle_ended(energy, joules / weight);
    energy->weights = (struct row_cost){0};
    return joules / weight;
}

/* Gives a request the joules of its weights in a phase, and returns them. */
static double take_phase(struct request_energy *energy, struct spending *spending, int phase,
                         double joules_per_weight)
{
    struct row_cost *weights = &spending->weights[phase];
    double weight = row_cost_sum(weights), joules = weight * joules_per_weight;
    for (int part = 0; part < COST_PARTS; part++)
        spending->slopes[phase].joules[part] +=
            joules_per_weight * (weights->joules[part] - weight * energy->mix.joules[part]);
    spending->joules[phase] += joules;
    energy->request_joules += joules;
    *weights = (struct row_cost){0};
    return joules;
}

void request_energy_take(struct request_energy *energy, struct spending *spending, double joules_per_weight)
{
    for (int phase = 0; phase < SPENDING_PHASES; phase++)
        take_phase(energy, spending, phase, joules_per_weight);
}

void request_energy_end(struct request_energy *energy, struct spending *spending)
{
    for (int phase = 0; phase < SPENDING_PHASES; phase++) {
        double weight = row_cost_sum(&spending->weights[phase]),
               joules = take_phase(energy, spending, phase, energy->scale);
        spending->expected[phase] += joules;
        energy->ended_weights += weight;
        energy->ended_joules += joules;
    }
}

/* --- queries -------------------------------------------------------------------------------------------- */

double request_energy_expect(const struct request_energy *energy, double weight)
{
    return energy->is_known && energy->has_scale ? weight * energy->scale : NAN;
}

/* Returns `joules` with the relative interval of the source, and an independent error: the standard deviation
 * of the logarithm of the joules. The class is that of the source, or `best` if that is weaker. */
static joule_quantity as_quantity(const struct request_energy *energy, double joules, double log_sd,
                                  joule_class best)
{
    const joule_quantity *all = &energy->last;
    if (!energy->is_known || !(all->value > 0))
        return (joule_quantity){NAN, NAN, NAN, JOULE_CLASS_NONE, 0};
    double below = all->low > 0 ? log(all->value / all->low) : INFINITY, above = log(all->high / all->value);
    joule_class cls = all->cls > best ? all->cls : best;
    double low = joules * exp(-hypot(below, Z90 * log_sd)), high = joules * exp(hypot(above, Z90 * log_sd));
    return (joule_quantity){joules, fmin(low, high), fmax(low, high), cls, 0};
}

double request_energy_joules(const struct request_energy *energy, const struct spending *spending)
{
    double joules = 0;
    for (int phase = 0; phase < SPENDING_PHASES; phase++)
        joules += spending->joules[phase] + row_cost_sum(&spending->weights[phase]) * energy->scale;
    return energy->is_known && (energy->has_scale || joules == 0) ? joules : NAN;
}

joule_quantity request_energy_spent(const struct request_energy *energy, const struct spending *spending,
                                    int phase)
{
    struct spending all = *spending;
    struct request_energy copy = *energy; /* the sums of the engine do not change */
    double joules = 0, expected = 0, variance = 0;
    struct row_cost slopes = {0};
    request_energy_end(&copy, &all);
    for (int i = 0; i < SPENDING_PHASES; i++)
        if (phase == SPENDING_PHASES || phase == i) {
            joules += all.joules[i];
            expected += all.expected[i];
            row_cost_add(&slopes, &all.slopes[i]);
        }
    if (expected > 0 && !energy->has_scale)
        return (joule_quantity){NAN, NAN, NAN, JOULE_CLASS_NONE, 0};
    for (int part = 0; part < COST_PARTS; part++)
        variance += pow(COST_JOULES_LOG_SD * slopes.joules[part], 2);
    variance += expected * expected * energy->scale_variance;
    return as_quantity(energy, joules, joules > 0 ? sqrt(variance) / joules : 0,
                       expected > 0 || spending->is_shared ? JOULE_CLASS_MODELLED : JOULE_CLASS_DERIVED);
}

void request_energy_query(const struct request_energy *energy, forge_engine_facts *facts)
{
    double unattributed = energy->unattributed_joules - energy->ended_joules;
    facts->meter_joules =
        as_quantity(energy, energy->last.value - energy->first.value, 0, JOULE_CLASS_MEASURED);
    facts->request_joules = as_quantity(energy, energy->request_joules, 0, JOULE_CLASS_MODELLED);
    facts->idle_joules = as_quantity(energy, energy->idle_joules, 0, JOULE_CLASS_DERIVED);
    facts->unattributed_joules = as_quantity(energy, unattributed, 0, JOULE_CLASS_DERIVED);
    facts->energy_source = energy->source.name;
}
