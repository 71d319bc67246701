/* backends/estimated/reference_rates.h - the cost of the reference's kernels, one by one.
 *
 * A unit is the time of a loop over elements for one element: 10 ns of a thread. plain_per_s counts in
 * units.
 */
#ifndef FORGE_ESTIMATED_REFERENCE_RATES_H
#define FORGE_ESTIMATED_REFERENCE_RATES_H

#include "forge/ir/launch.h"
#include "forge/ir/program.h"

#define REFERENCE_UNIT_SECONDS 1e-8

/* Units of a launch that the reference runs. */
double reference_units(const struct launch *launch, const struct program_cost *cost);
/* Work per second of a thread by the family's kernel, the larger of FLOP and elements; NaN: leaves and
 * composites. */
double reference_rate(enum op op);

#endif
