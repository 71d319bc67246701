/* ir/fused.h - the code of the composites "fused", "fused_matmul", "fused_conv" and "layout_conv": operations
 * that are computed together.
 *
 * The code is in the composite's attributes. A step is a unary, a binary, a select or a cast. The first step
 * of "fused_matmul" is a matmul, and that of "fused_conv" and "layout_conv" a conv. All steps and the result
 * have one shape; the result is the value of the last step. Operands are numbered: the composite's inputs
 * from 0, and the values of the steps from FUSED_MAX_INPUTS.
 *
 * Note: library.def has rows for these composites, so their bodies follow from their code (library_fused.c).
 * A device needs only the code. */
#ifndef FORGE_IR_FUSED_H
#define FORGE_IR_FUSED_H

#include "forge/ir/graph.h"

enum { FUSED_MAX_INPUTS = 16, FUSED_CONV_WORDS = 13 };

/* One operation. */
struct fused_step {
    uint8_t op; /* OP_UNARY, OP_BINARY, OP_SELECT or OP_CAST; the first also OP_MATMUL or OP_CONV */
    /* forge_unary_kind or forge_binary_kind; for a cast, the forge_dtype of its result; for a matmul, its
     * flags */
    uint8_t kind;
    uint8_t operand_count; /* 1 to 3 */
    uint8_t operands[3];
};

/* The steps of a composite, in order. */
struct fused {
    uint32_t count;
    struct fused_step steps[FUSED_MAX_STEPS];
    struct conv_attributes conv; /* if the first step is a conv: its attributes, without `accumulate` */
};

/* Returns the number of words for a step, 0 if the operation cannot be a step. */
uint32_t fused_words(enum op op);
/* Writes the name and the code of the attributes. Returns false if the code is too long. */
bool fused_write(const struct fused *fused, struct composite_attributes *out);
/* Reads the code of a composite with `input_count` inputs. Returns false if it has no step, or if a word is
 * invalid: an operation or a kind does not exist or does not belong to the composite's name, or an operand is
 * not an input or an earlier step. */
bool fused_read(const struct composite_attributes *attributes, size_t input_count, struct fused *out);
/* Returns true if the attributes belong to one of these composites. */
bool fused_is(const struct composite_attributes *attributes);

/* Adds a step that computes a node with one output. operands: the numbers of the node's inputs. Returns false
 * if the node cannot be a step here. */
bool fused_add(struct fused *fused, const struct node *node, const uint8_t *operands);

#endif
