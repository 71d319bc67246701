/* reference/reference.h - reference functions that define the meaning of every operation, in plain C.
 *
 * There is one function for each row of ir/ops.def. Tests compare every kernel of every backend with these
 * functions, and a backend without a kernel for an operation runs them. They are written for clarity, not for
 * speed. Floats of all types are computed in double and rounded once, when they are stored. Integers wrap
 * modulo 2^bits.
 */
#ifndef FORGE_REFERENCE_H
#define FORGE_REFERENCE_H

#include "forge/ir/launch.h"

/* Computes the pieces [first, end) of a launch (see launch_pieces). Different pieces may be computed in any
 * order and at the same time by different threads. */
typedef void reference_fn(const struct launch *launch, size_t first, size_t end);

#define LEAF(...)
#define WHOLE(...)
#define OP(NAME, name, min_inputs, max_inputs, attributes) reference_fn reference_##name;
#include "forge/ir/ops.def"

/* Return the result of a binary operation, for example a + b. binary_number is for floats. binary_bits is for
 * bool and integers, whose bits are extended to 64 bits. is_signed: the type is signed. */
double binary_number(forge_binary_kind kind, double a, double b);
uint64_t binary_bits(forge_binary_kind kind, uint64_t a, uint64_t b, bool is_signed);

/* Returns the reference function of an operation, or NULL for leaves and composites. */
reference_fn *reference_of(enum op op);

#endif
