/* backends/estimated/reference_rates.h - the cost of each reference kernel.
 *
 * The cost is a number of units. A unit is 10 ns of one thread, about the time of a simple loop for one
 * element. FIGURE_PLAIN_RATE is in units per second.
 */
#ifndef FORGE_ESTIMATED_REFERENCE_RATES_H
#define FORGE_ESTIMATED_REFERENCE_RATES_H

#include "forge/ir/launch.h"
#include "forge/ir/program.h"

#define REFERENCE_UNIT_SECONDS 1e-8

/* Returns the work of a launch with its reference kernel, in units; 0 if there is no rate for the
 * operation. */
double reference_units(const struct launch *launch, const struct program_cost *cost);
/* Returns the rate of an operation's reference kernel on one thread: FLOP per second or elements per second,
 * whichever is larger. Returns NaN for leaves and composites. */
double reference_rate(enum op op);

#endif
