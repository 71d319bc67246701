/* backends/cpu/scatter.h - which scatters have fast kernels, and how all are cut.
 *
 * Owns both questions. Newcomers: what a kernel has of its own is isa/elements.inc's way of making one vector of two; the
 * order is the reference's (reference/scatter.h), so results do not depend on the kernel.
 */
#ifndef FORGE_CPU_SCATTER_H
#define FORGE_CPU_SCATTER_H

#include "forge/ir/launch.h"

bool scatter_takes_f32(const struct launch *launch);
bool scatter_takes_f64(const struct launch *launch);
/* Lines of the output along the axis. */
size_t scatter_pieces(const struct launch *launch, size_t *out_grain);

#endif
