/* backends/cpu/update.h - which composites of optimisers have fast kernels (isa/update.inc).
 *
 * Owns what they take and how it is cut. Newcomers: a step reads each of its arrays once and writes it once, in place.
 */
#ifndef FORGE_CPU_UPDATE_H
#define FORGE_CPU_UPDATE_H

#include "forge/ir/launch.h"

enum { UPDATE_PIECE = 4096 }; /* elements */

bool update_takes_adamw(const struct launch *launch);
size_t update_pieces(const struct launch *launch, size_t *out_grain);

#endif
