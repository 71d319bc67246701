/* backends/cpu/scatter.h - checks which scatters have fast kernels, and divides all scatters into pieces.
 *
 * A fast kernel differs from the reference kernel only in how it combines two vectors (isa/elements.inc).
 * Both use the same order of updates (reference/reference_scatter.h), so results do not depend on the kernel.
 */
#ifndef FORGE_CPU_SCATTER_H
#define FORGE_CPU_SCATTER_H

#include "forge/ir/launch.h"

/* Return true if the f32 kernel (or the f64 kernel) supports the launch. */
bool scatter_takes_f32(const struct launch *launch);
bool scatter_takes_f64(const struct launch *launch);
/* Returns true if the kernel for bf16 and f16 supports the launch. */
bool scatter_takes_narrow(const struct launch *launch);
/* Returns the number of pieces. A piece is one line of the output along the axis. *out_grain: minimum number
 * of pieces per thread. */
size_t scatter_pieces(const struct launch *launch, size_t *out_grain);

#endif
