/* ir/fused.h - the code of the composites "fused", "fused_matmul", "fused_conv", "layout_conv" and
 * "fused_rows": operations that are computed together.
 *
 * The code is in the composite's attributes. A step is a unary, a binary, a select or a cast. The first step
 * of "fused_matmul" is a matmul, and that of "fused_conv" and "layout_conv" a conv. One step of "fused_rows"
 * is a row operation: a softmax, a normalisation or a reduction, which computes its result row by row. The
 * result is the value of the last step; the further outputs of a row operation are further results. Operands
 * are numbered: the composite's inputs from 0, and the (first) values of the steps from FUSED_MAX_INPUTS.
 *
 * All steps have the shape of the result. Before a reduction, they have the shape of its operand.
 *
 * Note: library.def has rows for these composites, so their bodies follow from their code (library_fused.c).
 * A device needs only the code. */
#ifndef FORGE_IR_FUSED_H
#define FORGE_IR_FUSED_H

#include "forge/ir/graph.h"

enum { FUSED_MAX_INPUTS = 16, FUSED_CONV_WORDS = 13, FUSED_MAX_OPERANDS = 5 };

/* The row operations other than reductions: rows of library.def, and gradients of them in which only the
 * gradient of the first output is given. The first input and the first output have one shape, except in a
 * gradient without that of the first input. */
enum fused_row {
    FUSED_SOFTMAX,
    FUSED_LOG_SOFTMAX,
    FUSED_LAYER_NORM,
    FUSED_RMS_NORM,
    FUSED_BATCH_NORM_TRAINING,
    FUSED_SOFTMAX_GRADIENT,
    FUSED_LOG_SOFTMAX_GRADIENT,
    FUSED_LAYER_NORM_GRADIENT,
    FUSED_RMS_NORM_GRADIENT,
    FUSED_BATCH_NORM_GRADIENT,
    FUSED_ROWS
};

/* One operation. */
struct fused_step {
    /* OP_UNARY, OP_BINARY, OP_SELECT or OP_CAST; for products OP_MATMUL or OP_CONV; for row operations
     * OP_COMPOSITE or OP_REDUCE */
    uint8_t op;
    /* forge_unary_kind, forge_binary_kind, forge_reduce_kind or enum fused_row; for a cast, the forge_dtype
     * of its result; for a matmul or a conv, its flags */
    uint8_t kind;
    uint8_t operand_count; /* 1 to FUSED_MAX_OPERANDS */
    uint8_t operands[FUSED_MAX_OPERANDS];
};

/* The steps of a composite, in order. */
struct fused {
    uint32_t count;
    struct fused_step steps[FUSED_MAX_STEPS];
    struct conv_attributes conv;     /* of a conv, without `accumulate` */
    struct reduce_attributes reduce; /* of a reduction, without `accumulate` */
    struct composite_attributes row; /* of another row operation; its member `body` is not used */
};

/* Returns the number of words for a step, 0 if the operation cannot be a step. */
uint32_t fused_words(enum op op);
/* Returns true if a step of this operation is a row operation. */
static inline bool fused_is_row(enum op op)
{
    return op == OP_COMPOSITE || op == OP_REDUCE;
}
/* Writes the name and the code of the attributes. Returns false if the code is too long. */
bool fused_write(const struct fused *fused, struct composite_attributes *out);
/* Reads the code of a composite with `input_count` inputs. Returns false if it has no step, or if a word is
 * invalid: an operation or a kind does not exist or does not belong to the composite's name, or an operand is
 * not an input or an earlier step. */
bool fused_read(const struct composite_attributes *attributes, size_t input_count, struct fused *out);
/* Returns true if the attributes belong to one of these composites. */
bool fused_is(const struct composite_attributes *attributes);
/* Returns the number of the step that is a product or a row operation; fused->count if there is none. */
uint32_t fused_product(const struct fused *fused);
/* Returns the number of outputs of a composite with these steps. */
uint32_t fused_outputs(const struct fused *fused);
/* Returns true if the row operation is a gradient. */
static inline bool fused_is_gradient(enum fused_row row)
{
    return row >= FUSED_SOFTMAX_GRADIENT && row < FUSED_ROWS;
}
/* Returns the row operation with the name of a composite; FUSED_ROWS if there is none. */
enum fused_row fused_row_of(const char *name);

/* Adds a step that computes a node. operands: the numbers of the node's inputs. Returns false
 * if the node cannot be a step here. */
bool fused_add(struct fused *fused, const struct node *node, const uint8_t *operands);
/* Returns the element type of a step's value. dtypes: by operand number; those of the operands are set. */
forge_dtype fused_dtype(const struct fused_step *step, const forge_dtype *dtypes);

#endif
