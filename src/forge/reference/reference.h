/* reference/reference.h - the meaning of every operation, in plain C.
 *
 * Owns one function for each row of ir/ops.def. Every kernel of every backend is checked against these, and a backend
 * without a kernel of its own runs them. They are written to be read, not to be fast.
 * Newcomers: floats are computed in double, whatever their type, and rounded once when stored; sums too, so a result is
 * the exact one to within the rounding of doubles. Integers wrap modulo 2^bits.
 */
#ifndef FORGE_REFERENCE_H
#define FORGE_REFERENCE_H

#include "forge/ir/launch.h"

/* Computes the pieces [first, end) of the work (see launch_pieces), in any order and on any thread. */
typedef void reference_fn(const struct launch *launch, size_t first, size_t end);

#define LEAF(...)
#define WHOLE(...)
#define OP(NAME, name, min_inputs, max_inputs, attributes) reference_fn reference_##name;
#include "forge/ir/ops.def"

/* What a binary kind makes of two elements: of floats, and of integers and bool, sign-extended to 64 bits. */
double binary_number(forge_binary_kind kind, double a, double b);
uint64_t binary_bits(forge_binary_kind kind, uint64_t a, uint64_t b, bool is_signed);

/* The one for this family; NULL for leaves and composites. */
reference_fn *reference_of(enum op op);

#endif
