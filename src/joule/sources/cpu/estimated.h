/* joule/sources/cpu/estimated.h - what the estimated source can tell beside its readings. */
#ifndef JOULE_ESTIMATED_H
#define JOULE_ESTIMATED_H

#include "joule/cost/cost.h"
#include "joule/sources/source.h"

extern const struct source_ops source_estimated;

/* The CPUs that `source` models, as long as it is open; NULL: it is closed, or another source. */
const struct cost_cpu *estimated_cpu(const struct source *source);

#endif
