/* autodiff/gradient.h - the interface between the backward pass (backward.c) and the rules of differentiation
 * (rules*.c).
 *
 * Note: rules add ordinary nodes, so gradients have gradients too. A rule may add gradients that are not
 * wanted; they are dropped.
 */
#ifndef FORGE_AUTODIFF_GRADIENT_H
#define FORGE_AUTODIFF_GRADIENT_H

#include "forge/ir/build.h"

/* Arguments and results of a rule. A gradient has the type and shape of its value. */
struct gradient {
    forge_builder *b;
    struct node node;       /* a copy: the builder's nodes move while rules add nodes */
    forge_value inputs[16]; /* of the node */
    forge_value y;          /* its first output; the others are integers and have no gradient */
    forge_value g;          /* d loss / d y, in y's shape */
    forge_value sums[16];   /* results: the gradient of each input, or FORGE_NO_VALUE */
};

/* Adds `value` to the gradient of input i. `value` may have the shape to which the input was broadcast; it is
 * summed over the broadcast dimensions. */
void gradient_add(struct gradient *gradient, size_t i, forge_value value);

/* Returns sum + more, without adding arrays of zeros: adjacent slices are concatenated, and the updates of a
 * scatter are added to the other operand. */
forge_value gradient_sum(forge_builder *b, forge_value sum, forge_value more);

/* Returns the gradient of a composite's body. Its inputs are those of the body, and then the gradients of the
 * outputs in `given` (bit k: output k). Its outputs are the gradients of the inputs in *wanted, which keeps
 * only the bits of inputs that have one. Returns NULL if there is none, or after an error. The caller frees
 * it with forge_graph_free. */
forge_graph *gradient_of_body(const forge_graph *body, const struct dim_table *dims, uint32_t given,
                              uint32_t *wanted, joule_error *out_error);

#define LEAF(...)
#define WHOLE(...)
#define OP(NAME, name, min_inputs, max_inputs, attributes) void gradient_##name(struct gradient *gradient);
#include "forge/ir/ops.def"

#endif
