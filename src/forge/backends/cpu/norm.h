/* backends/cpu/norm.h - layer_norm and rms_norm, and their gradients, for rows of f32, bf16 or f16
 * (isa/norm.inc).
 *
 * The forward kernels divide their work into rows, and the gradients into blocks of rows. The gradients of
 * weight and bias are sums over rows. Groups of NORM_GROUP rows are added in f32, then the groups of a block
 * in f64, and then the blocks in order. The division into blocks depends only on the number of rows.
 */
#ifndef FORGE_CPU_NORM_H
#define FORGE_CPU_NORM_H

#include "forge/ir/launch.h"

enum {
    NORM_GROUP = 8,     /* number of rows of a group, which are added in f32 */
    NORM_BLOCKS = 64,   /* maximum number of blocks */
    NORM_COLUMNS = 256, /* columns of a piece of the second round */
    /* rows that are kept in scratch memory if they are not f32: weight, bias, x and y; in the gradient the
     * weight, and a group of x, of g and of the result */
    NORM_BUFFERS = 4,
    NORM_GRADIENT_BUFFERS = 1 + 3 * NORM_GROUP,
};

struct norm {
    size_t rows, count; /* count: elements per row */
    double epsilon;
    bool subtracts_mean;
    const struct view *x, *weight, *bias; /* x: [rows, count]; weight, bias: [count]; bias may be NULL */
    const struct view *y;                 /* [rows, count] */
};

/* The gradient of x (output 0) may overwrite x, the gradient of the result, or the bias, which the kernel
 * does not read. */
#define NORM_GRADIENT_IN_PLACE UINT64_C(0xd)

struct norm_gradient {
    struct norm norm;
    const struct view *g;                          /* gradient of the result: [rows, count] */
    const struct view *of_x, *of_weight, *of_bias; /* outputs; NULL if not requested */
    size_t block_rows, blocks;
};

struct norm norm_of(const struct launch *launch);
struct norm_gradient norm_gradient_of(const struct launch *launch);

/* Return true if the f32 kernel (or the kernel for bf16 and f16, for *_narrow) supports the launch. */
bool norm_takes(const struct launch *launch);
bool norm_takes_narrow(const struct launch *launch);
bool norm_takes_gradient(const struct launch *launch);
bool norm_takes_gradient_narrow(const struct launch *launch);
/* Return the number of pieces. *out_grain: minimum number of pieces per thread.
 * - norm_pieces: for the forward kernels; a piece is one row.
 * - norm_blocks: for the first round of the gradient; a piece is one block of rows.
 * - norm_columns: for the second round of the gradient; a piece is NORM_COLUMNS columns. Returns 0 if no
 *   gradient of weight or bias is requested. */
size_t norm_pieces(const struct launch *launch, size_t *out_grain);
size_t norm_blocks(const struct launch *launch, size_t *out_grain);
size_t norm_columns(const struct launch *launch, size_t *out_grain);
/* Returns the size in bytes of the shared memory of the gradient, for the sums of the gradients of weight and
 * bias: [blocks, 2, count] in f64. */
size_t norm_shared_bytes(const struct launch *launch);

#endif
