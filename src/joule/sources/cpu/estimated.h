/* joule/sources/cpu/estimated.h - the source "estimated", which computes the CPUs' energy with the cost
 * model. */
#ifndef JOULE_ESTIMATED_H
#define JOULE_ESTIMATED_H

#include "joule/cost/cost.h"
#include "joule/sources/source.h"

extern const struct source_ops source_estimated;

/* Returns the description of the CPUs whose energy the source computes. The source owns the result. Returns
 * NULL if `source` is another source or is not open. */
const struct cost_cpu *estimated_cpu(const struct source *source);

#endif
