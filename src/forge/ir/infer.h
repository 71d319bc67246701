/* ir/infer.h - infers the types and shapes of a node's outputs, with one rule for each operation.
 *
 * The rules are in infer.c and infer_*.c. They are applied when a node is built, and again by the verifier.
 *
 * Note: if a node is invalid, its rule writes a message and returns false. The message contains the
 * operation, the types of the inputs and the reason.
 */
#ifndef FORGE_IR_INFER_H
#define FORGE_IR_INFER_H

#include "forge/ir/graph.h"

#define OP_MAX_OUTPUTS 4

/* The arguments of a rule (operation, attributes, inputs), and its results (outputs, or a message). */
struct inference {
    forge_graph *graph; /* for its dim table, to which rules may add expressions, and its slots and places */
    enum op op;
    const void *attributes;
    uint32_t place; /* where the node runs */
    const struct value *inputs[16];
    size_t input_count;
    struct value outputs[OP_MAX_OUTPUTS];
    size_t output_count;
    char message[400];
};

/* If the node is valid, returns true and fills `outputs`, except for their member `node`. If the node is
 * invalid, returns false and fills `message`. In a placed graph, all inputs must be stored where the node
 * runs, except the input of a transfer. */
bool infer(struct inference *inference);

/* --- for the rules in infer.c and infer_*.c ------------------------------------------------------------- */

#define OP(NAME, name, min_inputs, max_inputs, attributes) bool infer_##name(struct inference *inference);
#include "forge/ir/ops.def"

/* Writes the operation with its input types, for example "conv(f32[2,3,8]): ", and the reason to the message.
 * Returns false. */
bool infer_fail(struct inference *inference, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds an output. Returns false, with a message, if a dimension is not a valid size. */
bool infer_add_output(struct inference *inference, forge_dtype dtype, const forge_shape *shape);

/* --- operations ----------------------------------------------------------------------------------------- */

/* Returns the size of the attributes in bytes, without the elements of a constant. */
size_t op_attributes_size(enum op op);
/* Returns true if the operation accepts this number of inputs. */
bool op_takes_inputs(enum op op, size_t count);

/* Broadcasts two shapes by NumPy's rules; *out_shape gets the result. Returns false if they are
 * incompatible. */
bool shapes_broadcast(const forge_shape *a, const forge_shape *b, forge_shape *out_shape);

#endif
