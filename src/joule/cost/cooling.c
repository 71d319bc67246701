/* joule/cost/cooling.c - the temperature rise of a package and its effect on leakage; see core.h.
 *
 * Note: the model has one thermal mass and one cooler. Hot spots that form in milliseconds and the warming of
 * a rack over hours are not modelled.
 */
#include <math.h>
#include "joule/cost/core.h"

/* Coolers are designed for this temperature rise at design power: from 45 C, the highest air temperature that
 * vendors allow, to 95 C (vendors' thermal guides; assumed for all). */
#define DESIGN_RISE_KELVIN 50
#define R_LOG_SD           0.42 /* a factor of 2 either way, at 90 % */

/* Thermal time constants: 1 kg of aluminium at 900 J/(kg K) with 0.1 to 0.5 K/W has 90 to 450 s. A laptop
 * with 0.1 kg and 2 K/W has 180 s. The chip and its lid alone have 5 s. The constant is a value in between,
 * and true values are within a factor of 4 of it (assumed). */
#define TAU_SECONDS 60
#define TAU_LOG_SD  0.84

/* Relative increase of idle power. Leakage doubles every 25 to 50 K and is at most half of the power of an
 * idle package. */
#define LEAK_PER_KELVIN 0.01

void cost_cooling_describe(const struct cost_cpu *cpu, struct cost_cooling *out_cooling)
{
    struct cost_table table;
    cost_cpu_table(cpu, &table);
    *out_cooling = (struct cost_cooling){
        .kelvin_per_watt = DESIGN_RISE_KELVIN / cost_cpu_type(cpu).package_watts,
        .seconds = TAU_SECONDS,
        .r_log_sd = R_LOG_SD,
        .tau_log_sd = TAU_LOG_SD,
        .instance = table.instance,
        .source = "assumed: design power warms the chip by 50 K, with a time constant of 60 s"};
}

struct estimate cost_cooling_rise(const struct cost_cooling *cooling, const struct estimate *watts,
                                  double seconds)
{
    double x = seconds / cooling->seconds, part = -expm1(-x);
    if (!(seconds >= 0) || isnan(watts->value))
        return estimate_unknown();
    struct estimate rise = estimate_scale(*watts, cooling->kelvin_per_watt * part);
    rise = estimate_weaken(rise, JOULE_CLASS_ASSUMED);
    /* `slope` is |d ln(rise) / d ln(tau)|: 1 at the beginning, 0 in the steady state. */
    double slope = x > 0 && isfinite(x) ? x * exp(-x) / part : 0;
    uint32_t cause = CAUSE(CAUSE_CPU_SEED, cooling->instance * COST_CAUSES + COST_CAUSE_COOLING);
    struct estimate error = estimate_make(0, rise.cls, rise.value * slope * cooling->tau_log_sd, cause,
                                          rise.value * cooling->r_log_sd);
    return estimate_add(rise, 1, &error);
}

void cost_table_warm(struct cost_table *table, double kelvin)
{
    table->joules[COST_PACKAGE_SECONDS] *= exp(LEAK_PER_KELVIN * kelvin);
    table->log_sd[COST_PACKAGE_SECONDS][COST_CAUSE_COOLING] = LEAK_PER_KELVIN * kelvin;
}
