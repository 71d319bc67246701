/* backends/cpu/softmax.h - softmax, log_softmax and cross_entropy, and their gradients, for rows of f32,
 * bf16 or f16 (isa/softmax.inc).
 *
 * The work is divided into rows. The sum of a row is accumulated in f64 lanes of a vector; then the lanes are
 * added from the first to the last. The losses of all rows are added in the order of the rows.
 */
#ifndef FORGE_CPU_SOFTMAX_H
#define FORGE_CPU_SOFTMAX_H

#include "forge/ir/launch.h"

struct softmax {
    size_t rows, count; /* count: elements per row */
};

struct softmax softmax_of(const struct launch *launch);
/* Return true if the f32 kernel (or the kernel for bf16 and f16, for *_narrow) of softmax or log_softmax
 * supports the launch. x: [..., count]; the result has the same shape. Inputs of the gradient: x, and the
 * gradient of the result. */
bool softmax_takes(const struct launch *launch);
bool softmax_takes_narrow(const struct launch *launch);
bool softmax_takes_gradient(const struct launch *launch);
bool softmax_takes_gradient_narrow(const struct launch *launch);
/* Return true if the kernel of cross_entropy supports the launch. logits: [rows, classes]; labels: [rows];
 * the result is one number. Inputs of the gradient: logits, labels, and the gradient of the number. */
bool softmax_takes_entropy(const struct launch *launch);
bool softmax_takes_entropy_narrow(const struct launch *launch);
bool softmax_takes_entropy_gradient(const struct launch *launch);
bool softmax_takes_entropy_gradient_narrow(const struct launch *launch);
/* Returns the number of pieces. A piece is one row. *out_grain: minimum number of pieces per thread. */
size_t softmax_pieces(const struct launch *launch, size_t *out_grain);
/* Returns the size in bytes of the shared memory of cross_entropy: [rows] in f64. */
size_t softmax_shared_bytes(const struct launch *launch);
/* Returns 1, because in the second round of cross_entropy one piece adds the losses of all rows. */
size_t softmax_one_piece(const struct launch *launch, size_t *out_grain);

/* Returns the label of a row as the index of a class; SIZE_MAX if the label is out of range. */
size_t softmax_label(const struct launch *launch, size_t row);

#endif
