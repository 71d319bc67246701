/* joule/cost/cooling.c - see core.h: how warm a package gets, and what that costs.
 *
 * Newcomers: one body and one cooler. A chip has many: a busy spot warms by some kelvins within milliseconds, a rack within
 * hours. What is here is the time between.
 */
#include <math.h>
#include "joule/cost/core.h"

/* Coolers are chosen so that the chip's design power takes it this far above the air: 95 C at most, less the 45 C that
 * servers and laptops allow their air to have (vendors' thermal guides; assumed of all). */
#define DESIGN_RISE_KELVIN 50
#define R_LOG_SD           0.42 /* a factor of 2 either way */

/* A kilogram of aluminium at 900 J/(kg K) on 0.1 to 0.5 K/W: 90 to 450 s; a laptop's tenth of that on 2 K/W: 180 s; but the
 * chip and its lid alone: 5 s. Between them, a factor of 4 either way (assumed). */
#define TAU_SECONDS 60
#define TAU_LOG_SD  0.84

/* Leakage doubles every 25 to 50 K; it is half of an idle package's power, or less. */
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
        .source = "assumed: a cooler that lets design power warm the chip by 50 K, in 60 s"};
}

struct estimate cost_cooling_rise(const struct cost_cooling *cooling, const struct estimate *watts,
                                  double seconds)
{
    double x = seconds / cooling->seconds, part = -expm1(-x);
    if (!(seconds >= 0) || isnan(watts->value))
        return estimate_unknown();
    struct estimate rise = estimate_scale(*watts, cooling->kelvin_per_watt * part);
    rise = estimate_weaken(rise, JOULE_CLASS_ASSUMED);
    /* The slope of the rise over that of tau, both in logarithms: -1 at first, 0 when it is as warm as it gets. */
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
