/* reference/reference_scatter.h - the loops of a scatter, for kernels with their own function to combine
 * elements (reference_gather.c).
 *
 * Note: with every kernel, updates of the same element are applied in their order in `updates`.
 */
#ifndef FORGE_REFERENCE_SCATTER_H
#define FORGE_REFERENCE_SCATTER_H

#include "forge/ir/launch.h"

/* Combines to[i] and updates[i] by the kind, which is not FORGE_SCATTER_SET, and stores the result in to[i].
 * to, updates: [count]; count is at most TILE (reference_walk.h). */
typedef void scatter_combine_fn(forge_scatter_kind kind, forge_dtype dtype, void *to, const void *updates,
                                size_t count);

/* Computes lines [first, end) of a scatter as reference_scatter does, but combines elements by `combine`. */
void scatter_lines(const struct launch *launch, size_t first, size_t end, scatter_combine_fn *combine);

/* Returns the binary operation that combines two elements for this kind. */
forge_binary_kind scatter_binary(forge_scatter_kind kind);

#endif
