/* reference/scatter.h - the order in which a scatter updates elements (gather.c).
 *
 * Owns what a kernel may have of its own in it: how two elements become one. Newcomers: whoever computes it, each element gets
 * its updates in the order of their indices.
 */
#ifndef FORGE_REFERENCE_SCATTER_H
#define FORGE_REFERENCE_SCATTER_H

#include "forge/ir/launch.h"

/* to[i] becomes what the kind, which is not FORGE_SCATTER_SET, makes of to[i] and updates[i]; count is at most a tile
 * (walk.h). */
typedef void scatter_combine_fn(forge_scatter_kind kind, forge_dtype dtype, void *to, const void *updates,
                                size_t count);

/* Lines [first, end), as reference_scatter. */
void scatter_lines(const struct launch *launch, size_t first, size_t end, scatter_combine_fn *combine);

/* The same, of two elements. */
forge_binary_kind scatter_binary(forge_scatter_kind kind);

#endif
