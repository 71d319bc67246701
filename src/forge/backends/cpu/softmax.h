/* backends/cpu/softmax.h - softmax and what is made of it, forward and back, for rows of f32 (isa/softmax.inc).
 *
 * Owns what these kernels take and how they are cut: by rows, whatever their length. Newcomers: a row's sum is of f64 lanes
 * that take turns, then of the lanes from the first to the last; the loss of all rows is summed in their order.
 */
#ifndef FORGE_CPU_SOFTMAX_H
#define FORGE_CPU_SOFTMAX_H

#include "forge/ir/launch.h"

struct softmax {
    size_t rows, count; /* elements of a row */
};

struct softmax softmax_of(const struct launch *launch);
/* x, to one of its shape; its gradient: x and that of the result. */
bool softmax_takes(const struct launch *launch);
bool softmax_takes_gradient(const struct launch *launch);
/* Logits and labels, to a number; its gradient: these and that of the number. */
bool softmax_takes_entropy(const struct launch *launch);
bool softmax_takes_entropy_gradient(const struct launch *launch);
size_t softmax_pieces(const struct launch *launch, size_t *out_grain);
/* A number of f64 for each row. */
size_t softmax_shared_bytes(const struct launch *launch);
size_t softmax_one_piece(const struct launch *launch, size_t *out_grain);

/* The place of the label in its row; SIZE_MAX: it is no class. */
size_t softmax_label(const struct launch *launch, size_t row);

#endif
