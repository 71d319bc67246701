/* backends/cpu/update.h - checks which optimiser steps have fast kernels (isa/update.inc), and divides their
 * work.
 *
 * A step reads each array once. It writes the parameter and the moments once, in place.
 */
#ifndef FORGE_CPU_UPDATE_H
#define FORGE_CPU_UPDATE_H

#include "forge/ir/launch.h"

enum { UPDATE_PIECE = 4096 }; /* elements per piece */

/* Return true if the f32 kernel (or the kernel for bf16 and f16) supports the launch, which is one step of
 * AdamW. */
bool update_takes_adamw(const struct launch *launch);
bool update_takes_adamw_narrow(const struct launch *launch);
/* Returns the number of pieces of UPDATE_PIECE elements. *out_grain: minimum number of pieces per thread. */
size_t update_pieces(const struct launch *launch, size_t *out_grain);

#endif
