/* autodiff/gradient.h - the interface between the backward pass (backward.c) and the rules of differentiation
 * (gradient_rules*.c).
 *
 * Note: rules add ordinary nodes, so gradients can be differentiated again. A rule may add gradients of all
 * inputs. backward.c ignores gradients that are not needed.
 */
#ifndef FORGE_AUTODIFF_GRADIENT_H
#define FORGE_AUTODIFF_GRADIENT_H

#include "forge/ir/builder.h"

/* Arguments and results of a rule. A gradient has the type and shape of its value. */
struct gradient {
    forge_builder *b;
    struct node node;       /* a copy, because the builder's nodes may move while rules add nodes */
    forge_value inputs[16]; /* inputs of the node */
    forge_value y;          /* first output of the node; other outputs are integers and have no gradient */
    forge_value g;          /* d loss / d y, in the shape of y */
    forge_value sums[16];   /* results: the gradient of each input, or FORGE_NO_VALUE */
};

/* Adds `value` to the gradient of input i. If the input was broadcast, `value` may have the shape to which it
 * was broadcast; it is then summed over the broadcast dimensions. */
void gradient_add(struct gradient *gradient, size_t i, forge_value value);

/* Returns sum + more. If both operands are zero-padded parts that are adjacent in the result, returns
 * pad(concat(part, part)). If one operand is a scatter onto zeros, scatters its updates onto the other
 * operand instead. */
forge_value gradient_sum(forge_builder *b, forge_value sum, forge_value more);

/* Returns the gradient of a composite's body as a graph. The graph begins with a copy of the dim table
 * `dims`. Its inputs are the inputs of the body, followed by the gradients of the outputs in `given` (bit k:
 * output k). Its outputs are the gradients of the inputs in *wanted. Bits of inputs without a gradient are
 * removed from *wanted. Returns NULL if there is no gradient, or after an error. The caller frees the graph
 * with forge_graph_free. */
forge_graph *gradient_of_body(const forge_graph *body, const struct dim_table *dims, uint32_t given,
                              uint32_t *wanted, joule_error *out_error);

#define LEAF(...)
#define WHOLE(...)
#define OP(NAME, name, min_inputs, max_inputs, attributes) void gradient_##name(struct gradient *gradient);
#include "forge/ir/ops.def"

#endif
