/* joule/sources/cpu/estimated.h - the source "estimated", which models the CPU's energy, and the CPUs that it
 * models. */
#ifndef JOULE_ESTIMATED_H
#define JOULE_ESTIMATED_H

#include "joule/cost/cost.h"
#include "joule/sources/source.h"

extern const struct source_ops source_estimated;

/* Returns the CPUs that `source` models while it is open. Returns NULL if it is closed, or another source. */
const struct cost_cpu *estimated_cpu(const struct source *source);

#endif
