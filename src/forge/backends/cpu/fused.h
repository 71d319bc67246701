/* backends/cpu/fused.h - the composite "fused": its steps run one after the other on tiles of elements that
 * stay in the cache, so only the inputs and the result are moved through memory.
 *
 * Each step runs the kernel of its operation (isa/elements.inc, isa/elementwise.inc), so a result is the same
 * as without fusion.
 */
#ifndef FORGE_CPU_FUSED_H
#define FORGE_CPU_FUSED_H

#include "forge/backends/cpu/runs.h"
#include "forge/ir/fused.h"

enum {
    FUSED_TILE = 1024,                  /* elements */
    FUSED_VALUE_BYTES = FUSED_TILE * 8, /* a tile of the largest element type */
    FUSED_OPERANDS = FUSED_MAX_INPUTS + FUSED_MAX_STEPS,
};

/* The steps of a launch, with the place of each value. */
struct fused_plan {
    struct fused fused;
    forge_dtype dtypes[FUSED_OPERANDS]; /* by operand number */
    uint8_t slots[FUSED_MAX_STEPS];     /* the tile of the scratch memory for a step's value */
};

/* Returns true if the device has kernels for all steps. */
bool fused_takes(const struct launch *launch);
size_t fused_pieces(const struct launch *launch, size_t *out_grain);
/* Fills in the plan of a launch that fused_takes accepts. */
void fused_plan(const struct launch *launch, struct fused_plan *out);

#endif
