/* infer/engine/request_energy.c - see request_energy.h. */
#include "forge/infer/engine/request_energy.h"

#include <math.h>
#include <time.h>
#include "base/clock.h"

#define SCALE_STEP 0.2 /* weight of a new reading in the mean of joules per weight */

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
    *energy = (struct request_energy){.instance = instance, .meter = meter, .scale = 1};
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
                        double weight, bool is_shared)
{
    spending->weights[phase] += weight;
    spending->last_weight = weight;
    spending->is_shared |= is_shared;
    energy->weights += weight;
}

/* Corrects for requests that ended before the reading: adds the difference between their part of the reading
 * and the expected joules that were attributed to them to the unattributed joules. */
static void settle_ended(struct request_energy *energy, double joules_per_weight)
{
    energy->unattributed_joules += energy->ended_weights * joules_per_weight - energy->ended_joules;
    energy->ended_weights = energy->ended_joules = 0;
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
    if (!(energy->weights > 0)) {
        energy->idle_joules += joules;
        return NAN;
    }
    double per_weight = joules / energy->weights;
    energy->scale =
        energy->has_scale ? energy->scale + SCALE_STEP * (per_weight - energy->scale) : per_weight;
    energy->has_scale = true;
    settle_ended(energy, per_weight);
    energy->weights = 0;
    return per_weight;
}

void request_energy_take(struct request_energy *energy, struct spending *spending, double joules_per_weight)
{
    for (int phase = 0; phase < SPENDING_PHASES; phase++) {
        double joules = spending->weights[phase] * joules_per_weight;
        spending->joules[phase] += joules;
        spending->weights[phase] = 0;
        energy->request_joules += joules;
    }
}

void request_energy_end(struct request_energy *energy, struct spending *spending)
{
    for (int phase = 0; phase < SPENDING_PHASES; phase++) {
        double joules = spending->weights[phase] * energy->scale;
        if (!(spending->weights[phase] > 0))
            continue;
        spending->joules[phase] += joules;
        spending->is_expected = true;
        energy->ended_weights += spending->weights[phase];
        energy->ended_joules += joules;
        energy->request_joules += joules;
        spending->weights[phase] = 0;
    }
}

/* --- queries -------------------------------------------------------------------------------------------- */

double request_energy_expect(const struct request_energy *energy, double weight)
{
    return energy->is_known && energy->has_scale ? weight * energy->scale : NAN;
}

/* Returns `joules` with the relative interval of the source. Its class is that of the source, or `best` if
 * that is weaker. */
static joule_quantity as_quantity(const struct request_energy *energy, double joules, joule_class best)
{
    double all = energy->last.value;
    if (!energy->is_known || !(all > 0))
        return (joule_quantity){NAN, NAN, NAN, JOULE_CLASS_NONE, 0};
    joule_class cls = energy->last.cls > best ? energy->last.cls : best;
    return (joule_quantity){joules, joules * energy->last.low / all, joules * energy->last.high / all, cls,
                            0};
}

joule_quantity request_energy_spent(const struct request_energy *energy, const struct spending *spending,
                                    int phase)
{
    double joules = 0;
    bool is_expected = spending->is_expected;
    for (int i = 0; i < SPENDING_PHASES; i++)
        if (phase == SPENDING_PHASES || phase == i) {
            joules += spending->joules[i] + spending->weights[i] * energy->scale;
            is_expected |= spending->weights[i] > 0;
        }
    bool is_modelled = is_expected || spending->is_shared;
    if (is_expected && !energy->has_scale)
        return (joule_quantity){NAN, NAN, NAN, JOULE_CLASS_NONE, 0};
    return as_quantity(energy, joules, is_modelled ? JOULE_CLASS_MODELLED : JOULE_CLASS_DERIVED);
}

void request_energy_query(const struct request_energy *energy, forge_engine_facts *facts)
{
    double unattributed = energy->unattributed_joules - energy->ended_joules;
    facts->meter_joules = as_quantity(energy, energy->last.value - energy->first.value, JOULE_CLASS_MEASURED);
    facts->request_joules = as_quantity(energy, energy->request_joules, JOULE_CLASS_MODELLED);
    facts->idle_joules = as_quantity(energy, energy->idle_joules, JOULE_CLASS_DERIVED);
    facts->unattributed_joules = as_quantity(energy, unattributed, JOULE_CLASS_DERIVED);
    facts->energy_source = energy->source.name;
}
