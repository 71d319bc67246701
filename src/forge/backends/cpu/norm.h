/* backends/cpu/norm.h - layer_norm and rms_norm, forward and back, for rows of f32 (isa/norm.inc).
 *
 * Owns what these kernels take and how they are cut: rows forward, blocks of rows back. Newcomers: the gradients of weight
 * and bias are sums over rows. NORM_GROUP rows are added in f32, then to the block's sum in f64, and blocks in their order;
 * where blocks begin follows from the number of rows alone.
 */
#ifndef FORGE_CPU_NORM_H
#define FORGE_CPU_NORM_H

#include "forge/ir/launch.h"

enum {
    NORM_GROUP = 8,     /* rows */
    NORM_BLOCKS = 64,   /* at most */
    NORM_COLUMNS = 256, /* of a piece of the second round */
};

struct norm {
    size_t rows, count; /* elements of a row */
    double epsilon;
    bool subtracts_mean;
    const float *x, *weight, *bias; /* bias: NULL where there is none */
    float *y;
};

/* x's gradient may lie on x, on its own gradient, and on what is not read at all: the bias. */
#define NORM_GRADIENT_IN_PLACE UINT64_C(0xd)

/* Outputs of the gradient may be NULL: not wanted. */
struct norm_gradient {
    struct norm norm;
    const float *g;
    float *of_x, *of_weight, *of_bias;
    size_t block_rows, blocks;
};

struct norm norm_of(const struct launch *launch);
struct norm_gradient norm_gradient_of(const struct launch *launch);

bool norm_takes(const struct launch *launch);
bool norm_takes_gradient(const struct launch *launch);
size_t norm_pieces(const struct launch *launch, size_t *out_grain);
size_t norm_blocks(const struct launch *launch, size_t *out_grain);
size_t norm_columns(const struct launch *launch, size_t *out_grain);
/* For each block the sums of weight's gradients, then those of bias's: f64. */
size_t norm_shared_bytes(const struct launch *launch);

#endif
