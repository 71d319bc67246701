/* backends/estimated/reference_rates.h - the cost of the reference's kernels, one by one.
 *
 * A unit is what a loop over elements takes for one of them: 10 ns of a thread, by which plain_per_s counts.
 */
#ifndef FORGE_ESTIMATED_REFERENCE_RATES_H
#define FORGE_ESTIMATED_REFERENCE_RATES_H

#include "forge/ir/launch.h"
#include "forge/ir/program.h"

#define REFERENCE_UNIT_SECONDS 1e-8

/* Units of a launch that the reference runs. */
double reference_units(const struct launch *launch, const struct program_cost *cost);
/* FLOP or elements, whichever are more, that the family's kernel does in a second of a thread; NaN: leaves
 * and composites. */
double reference_rate(enum op op);

#endif
