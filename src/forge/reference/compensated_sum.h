/* reference/compensated_sum.h - Neumaier's compensated sum: its error is about one rounding of double, unless
 * the terms nearly cancel. */
#ifndef FORGE_REFERENCE_COMPENSATED_SUM_H
#define FORGE_REFERENCE_COMPENSATED_SUM_H

#include <math.h>

/* A sum. Initialise with zeros. */
struct sum {
    double value;
    double lost; /* sum of the rounding errors */
};

/* Adds x to the sum. */
static inline void sum_add(struct sum *sum, double x)
{
    double total = sum->value + x;
    sum->lost += fabs(sum->value) >= fabs(x) ? sum->value - total + x : x - total + sum->value;
    sum->value = total;
}

/* Returns the sum with the correction. After an infinity was added, `lost` is NaN and is ignored. */
static inline double sum_total(const struct sum *sum)
{
    return isfinite(sum->value) ? sum->value + sum->lost : sum->value;
}

#endif
