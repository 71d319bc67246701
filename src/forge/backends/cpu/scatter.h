/* backends/cpu/scatter.h - tells which scatters have fast kernels, and how all scatters are divided into
 * pieces.
 *
 * A fast kernel differs from the reference only in how it combines two vectors (isa/elements.inc). The order
 * of updates is that of the reference (reference/reference_scatter.h), so results do not depend on the
 * kernel.
 */
#ifndef FORGE_CPU_SCATTER_H
#define FORGE_CPU_SCATTER_H

#include "forge/ir/launch.h"

bool scatter_takes_f32(const struct launch *launch);
bool scatter_takes_f64(const struct launch *launch);
/* Returns the number of pieces. A piece is one line of the output along the axis. */
size_t scatter_pieces(const struct launch *launch, size_t *out_grain);

#endif
