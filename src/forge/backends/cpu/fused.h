/* backends/cpu/fused.h - the composites of fused operations (ir/fused.h).
 *
 * Elementwise steps run one after the other on tiles of elements that stay in the cache, so only the inputs
 * and the result are moved through memory. Each step runs the kernel of its operation (isa/elements.inc,
 * isa/elementwise.inc), so a result is the same as without fusion. In the tiles, bf16 and f16 are stored as
 * f32: inputs are converted once, and the result of each step is rounded. After a product, the steps run on
 * each block of the result as soon as its sums are complete.
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

/* Elementwise steps, with the place of each value. */
struct fused_plan {
    struct fused fused;
    forge_dtype dtypes[FUSED_OPERANDS]; /* by operand number */
    uint8_t slots[FUSED_MAX_STEPS];     /* the tile of the scratch memory for a step's value */
};

/* Returns the type in which a tile stores elements of this type. */
forge_dtype fused_stored(forge_dtype dtype);
/* Returns true if there are kernels for all steps. */
bool fused_takes(const struct launch *launch);
size_t fused_pieces(const struct launch *launch, size_t *out_grain);
/* Fills in the plan of a launch that fused_takes accepts. */
void fused_plan(const struct launch *launch, struct fused_plan *out);

/* A launch of fused_matmul or fused_conv, divided into the launch of the product and the steps after it. */
struct fused_product {
    struct launch product;  /* writes `product_output` */
    struct launch rest;     /* its first input is the product, its others those that the steps read */
    struct fused_plan plan; /* of `rest`; without steps if nothing follows the product */
    /* The output, with the type of the product. If that is bf16 or f16, the product is not stored there. */
    struct view product_output;
    struct view product_inputs[2], rest_inputs[FUSED_MAX_INPUTS];
    struct matmul_attributes matmul;
    struct conv_attributes conv;
};

/* Return true if there are kernels for the product and for all steps. */
bool fused_takes_matmul(const struct launch *launch);
bool fused_takes_conv(const struct launch *launch);
size_t fused_product_pieces(const struct launch *launch, size_t *out_grain);
/* Divides a launch. Returns false if there is no kernel for a step. The result points into itself. */
bool fused_divide(const struct launch *launch, struct fused_product *out);

#endif
