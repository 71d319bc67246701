/* backends/estimated/reference_rates.h - the cost of each reference kernel.
 *
 * A unit is the time of a loop over elements for one element: 10 ns of a thread. plain_per_s counts units
 * per second.
 */
#ifndef FORGE_ESTIMATED_REFERENCE_RATES_H
#define FORGE_ESTIMATED_REFERENCE_RATES_H

#include "forge/ir/launch.h"
#include "forge/ir/program.h"

#define REFERENCE_UNIT_SECONDS 1e-8

/* Returns the time of a launch with its reference kernel, in units. */
double reference_units(const struct launch *launch, const struct program_cost *cost);
/* Returns the work per second of one thread by the kernel of an operation, the larger of FLOP and elements.
 * NaN for leaves and composites. */
double reference_rate(enum op op);

#endif
