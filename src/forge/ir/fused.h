/* ir/fused.h - the code of the composite "fused": elementwise operations that are computed together.
 *
 * The code is in the composite's attributes, one word for each step. A step is a unary, a binary, a select or
 * a cast. All steps and the result have one shape; the result is the value of the last step. Operands are
 * numbered: the composite's inputs from 0, and the values of the steps from FUSED_MAX_INPUTS.
 *
 * Note: library.def has a row for this composite, so its body follows from its code (library_fused.c). A
 * device needs only the code.
 */
#ifndef FORGE_IR_FUSED_H
#define FORGE_IR_FUSED_H

#include "forge/ir/graph.h"

enum { FUSED_MAX_INPUTS = 16 };

/* One operation. */
struct fused_step {
    uint8_t op;   /* OP_UNARY, OP_BINARY, OP_SELECT or OP_CAST */
    uint8_t kind; /* forge_unary_kind, forge_binary_kind; for a cast, the forge_dtype of its result */
    uint8_t operand_count; /* 1 to 3 */
    uint8_t operands[3];
};

/* The steps of a composite, in order. */
struct fused {
    uint32_t count;
    struct fused_step steps[FUSED_MAX_STEPS];
};

/* Returns the word for a step. */
uint32_t fused_word(const struct fused_step *step);
/* Reads the code of a composite with `input_count` inputs. Returns false if it has no step, or if a word is
 * invalid: an operation or a kind does not exist, or an operand is not an input or an earlier step. */
bool fused_read(const struct composite_attributes *attributes, size_t input_count, struct fused *out);
/* Returns true if the attributes belong to the composite "fused". */
bool fused_is(const struct composite_attributes *attributes);

/* Returns the step that computes a node with one output. operands: the numbers of the node's inputs. Returns
 * false if the node is not elementwise. */
bool fused_step_of(const struct node *node, const uint8_t *operands, struct fused_step *out);

#endif
