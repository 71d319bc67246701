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

/* Some of the steps of a launch, as a launch of elementwise operations. It points into itself. */
struct fused_part {
    struct launch launch;
    struct fused_plan plan; /* no steps: the value is an input */
    struct view inputs[FUSED_MAX_INPUTS], output;
};

/* Sets the part of a launch that computes operand `value` of `steps`, and stores it in `output`. product: the
 * step whose value is the first input of the part, with the view `given`; FUSED_MAX_STEPS: there is none.
 * output NULL: a packed view without address, to whose shape the inputs are broadcast. Returns false if there
 * are too many inputs, or if a step has no kernel. */
bool fused_take_part(const struct launch *launch, const struct fused *steps, uint8_t value, uint32_t product,
                     const struct view *given, const struct view *output, struct fused_part *out);
/* Reads the code of a launch. Returns false if it is invalid. */
bool fused_read_launch(const struct launch *launch, struct fused *out);

/* A launch of fused_matmul or fused_conv, divided into the launch of the product and the steps after it. */
struct fused_product {
    struct launch product;  /* writes `product_output` */
    struct fused_part rest; /* its first input is the product; without steps if nothing follows the product */
    /* The output, with the type of the product. If that is bf16 or f16, the product is not stored there. */
    struct view product_output;
    struct view product_inputs[2];
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
