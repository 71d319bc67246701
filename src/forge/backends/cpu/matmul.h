/* backends/cpu/matmul.h - the family matmul by way of the driver for products.
 *
 * Owns the way from views to products: transposes become strides, leading dimensions a list of products, and one large
 * product where b is the same for all.
 */
#ifndef FORGE_CPU_MATMUL_H
#define FORGE_CPU_MATMUL_H

#include "forge/backends/cpu/gemm.h"
#include "forge/ir/launch.h"

bool matmul_takes_f32(const struct launch *launch);
bool matmul_takes_f64(const struct launch *launch);
size_t matmul_pieces(const struct launch *launch, size_t *out_grain);
void matmul_run(const struct gemm_code *code, const struct launch *launch, size_t first, size_t end,
                void *scratch);

#endif
