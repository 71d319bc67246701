/* backends/cpu/matmul.h - matmul as matrix products (gemm.h).
 *
 * a: [..., rows, depth]; b: [..., depth, columns]; out: [..., rows, columns]. A transposed operand is the
 * same array with its last two strides exchanged. There is one product for each index of the leading
 * dimensions, or one large product if b is broadcast along them.
 */
#ifndef FORGE_CPU_MATMUL_H
#define FORGE_CPU_MATMUL_H

#include "forge/backends/cpu/gemm.h"
#include "forge/ir/launch.h"

/* Return true if the kernel for this type supports the launch. Sums of bf16 and f16 are f32. */
bool matmul_takes_f32(const struct launch *launch);
bool matmul_takes_f64(const struct launch *launch);
bool matmul_takes_bf16(const struct launch *launch);
bool matmul_takes_f16(const struct launch *launch);
/* Returns the number of pieces, which are blocks of products. *out_grain: minimum number of pieces per
 * thread. */
size_t matmul_pieces(const struct launch *launch, size_t *out_grain);
/* Computes pieces [first, end). finish: NULL, or what is done with complete sums; only for f32 and f64.
 * scratch: KERNEL_SCRATCH_BYTES of memory that no other thread uses. */
void matmul_run(const struct gemm_elements *elements, const struct launch *launch, size_t first, size_t end,
                const struct gemm_finish *finish, void *scratch);

#endif
