/* backends/cpu/conv.h - convolutions by way of the driver for products.
 *
 * Owns the packing functions that make a convolution a product, for each group: rows are output channels, columns places of
 * the output of all images, and k goes over input channels and taps. Nothing is laid out in memory beyond the driver's blocks.
 * Newcomers: a transposed convolution is the same product; only which input an output reads through a tap differs
 * (reference/slide.h).
 */
#ifndef FORGE_CPU_CONV_H
#define FORGE_CPU_CONV_H

#include "forge/backends/cpu/gemm.h"
#include "forge/ir/launch.h"

bool conv_takes_f32(const struct launch *launch);
size_t conv_pieces(const struct launch *launch, size_t *out_grain);
/* With the code for f32. */
void conv_run(const struct gemm_code *code, const struct launch *launch, size_t first, size_t end,
              void *scratch);

#endif
