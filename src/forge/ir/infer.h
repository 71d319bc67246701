/* ir/infer.h - what a node's inputs and attributes make of its outputs.
 *
 * Owns the rules of shapes and types, one function for each family: in infer.c, and the larger ones in infer_*.c. Used
 * when a node is built and again by the verifier, so a graph can hold nothing that these rules refuse.
 * Newcomers: a rule that refuses writes operation, what is wrong and the shapes, and returns false.
 */
#ifndef FORGE_IR_INFER_H
#define FORGE_IR_INFER_H

#include "forge/ir/graph.h"

#define OP_MAX_OUTPUTS 4

struct inference {
    forge_graph *graph; /* for its symbols (which may grow), slots and bodies */
    enum op op;
    const void *attributes;
    uint32_t place; /* where the node runs */
    const struct value *inputs[16];
    size_t input_count;
    struct value outputs[OP_MAX_OUTPUTS];
    size_t output_count;
    char message[400];
};

/* Fills outputs (all but their node), or message. In a graph that is placed, operands have to live where the node runs. */
bool infer(struct inference *inference);

/* --- for the rules, which are in infer.c and infer_*.c ------------------------------------------------------- */

#define OP(NAME, name, least, most, attributes) bool infer_##name(struct inference *inference);
#include "forge/ir/ops.def"

/* Writes "conv(f32[2,3,8]): " and why; false. */
bool infer_refuse(struct inference *inference, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* One more output. */
bool infer_give(struct inference *inference, forge_dtype dtype, const forge_shape *shape);

/* --- facts --------------------------------------------------------------------------------------------------- */

/* How many bytes the attributes of this family have; a constant's elements come on top. */
size_t op_attributes_size(enum op op);
/* Least and most inputs. */
bool op_takes_inputs(enum op op, size_t count);

/* The shape that NumPy's rules make of two; false where they do not go together. */
bool shapes_broadcast(const forge_shape *a, const forge_shape *b, forge_shape *out_shape);

#endif
