/* autodiff/gradient.h - what a rule of differentiation gets and gives.
 *
 * Owns the interface between the walk back through a graph (backward.c) and the rule of each family (rules.c).
 * Newcomers: rules add ordinary nodes, so gradients have gradients. They may be called for a value that only some inputs
 * need; gradient_add drops what nobody wants.
 */
#ifndef FORGE_AUTODIFF_GRADIENT_H
#define FORGE_AUTODIFF_GRADIENT_H

#include "forge/ir/build.h"

struct gradient {
    forge_builder *b;
    struct node node;       /* a copy: the builder's nodes move while rules add to them */
    forge_value inputs[16]; /* of the node */
    forge_value y;          /* its first output; others are integers, through which nothing flows */
    forge_value g;          /* d loss / d y, of y's shape */
    forge_value sums[16];   /* what the rule has given so far, for each input */
};

/* Adds to the gradient of input i. Summed over the dimensions along which it was broadcast. */
void gradient_add(struct gradient *gradient, size_t i, forge_value value);

/* sum + more. What comes from slices that lie side by side is put side by side again, what a
 * gather took is added where it came from, and no arrays full of zeros are added. */
forge_value gradient_sum(forge_builder *b, forge_value sum, forge_value more);

/* What the walk back makes of a composite's body: a graph of its inputs and of the gradients of those outputs whose bits are
 * given, with the gradients of those inputs whose bits are wanted; of these, *wanted keeps the bits of those into which
 * something flows. NULL: none, or an error. The caller frees it. */
forge_graph *gradient_of_body(const forge_graph *body, const struct dim_table *dims, uint32_t given,
                              uint32_t *wanted, joule_error *out_error);

#define LEAF(...)
#define WHOLE(...)
#define OP(NAME, name, least, most, attributes) void gradient_##name(struct gradient *gradient);
#include "forge/ir/ops.def"

#endif
