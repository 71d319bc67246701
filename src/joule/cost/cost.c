/* joule/cost/cost.c - see cost.h: multiplies amounts by coefficients and propagates the coefficients' errors.
 *
 * Note: an error in the logarithm of a coefficient is treated as a relative error of its joules, so no
 * exponential is needed.
 */
#include "joule/cost/cost.h"

#include <math.h>

const char *cost_feature_name(enum cost_feature feature)
{
    static const char *const names[COST_FEATURES] = {
        "package_seconds", "core_seconds", "cubic_seconds", "shared_seconds", "cycles",  "uops",
        "int_ops",         "int_muls",     "int_divs",      "fp_ops",         "fp_fmas", "fp_divs",
        "simd_256",        "simd_512",     "l1_loads",      "l1_stores",      "atomics", "branches",
        "mispredicts",     "l2_lines",     "l3_lines",      "dram_lines"};
    return (unsigned)feature < COST_FEATURES ? names[feature] : "unknown";
}

/* Returns the joules of one feature. An amount of 0 costs 0, even if the price is unknown. */
static double part_joules(const struct cost_table *table, const struct cost_features *features, int i)
{
    return features->amount[i] == 0 ? 0 : features->amount[i] * table->joules[i];
}

/* Returns `joules` with the errors of a coefficient. log_sd: [COST_CAUSES] */
static struct estimate part_estimate(const struct cost_table *table, double joules, const double *log_sd)
{
    if (isnan(joules))
        return estimate_unknown();
    struct estimate part = estimate_make(joules, table->cls, 0, CAUSE_NONE, 0);
    for (uint32_t cause = 0; joules != 0 && cause < COST_CAUSES; cause++) {
        uint32_t name = CAUSE(CAUSE_CPU_SEED, table->instance * COST_CAUSES + cause);
        struct estimate error = estimate_make(0, table->cls, 0, name, joules * log_sd[cause]);
        part = estimate_add(part, 1, &error);
    }
    return part;
}

/* Returns true if table and features have this version of the model. */
static bool is_same_version(const struct cost_table *table, const struct cost_features *features)
{
    return table->version == COST_VERSION && features->version == COST_VERSION;
}

struct cost cost_of(const struct cost_table *table, const struct cost_features *features)
{
    struct cost cost = {.total = estimate_zero()};
    bool is_known = is_same_version(table, features);
    for (int i = 0; i < COST_FEATURES; i++) {
        double joules = is_known ? part_joules(table, features, i) : NAN;
        cost.part[i] = part_estimate(table, joules, table->log_sd[i]);
        cost.total = estimate_add(cost.total, 1, &cost.part[i]);
    }
    return cost;
}

double cost_joules(const struct cost_table *table, const struct cost_features *features)
{
    double joules = is_same_version(table, features) ? 0 : NAN;
    for (int i = 0; i < COST_FEATURES; i++)
        joules += part_joules(table, features, i);
    return joules;
}
