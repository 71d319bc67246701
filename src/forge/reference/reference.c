/* reference/reference.c - which function gives an operation its meaning.
 *
 * Owns the table and nothing else; the functions are in the files beside it, a group of families in each.
 * Newcomers: leaves and composites have none. A row of ir/ops.def without a function does not link.
 */
#include "forge/reference/reference.h"

static reference_fn *const functions[OP_COUNT] = {
#define LEAF(...)
#define WHOLE(...)
#define OP(NAME, name, min_inputs, max_inputs, attributes) [OP_##NAME] = reference_##name,
#include "forge/ir/ops.def"
};

reference_fn *reference_of(enum op op)
{
    return (unsigned)op < OP_COUNT ? functions[op] : NULL;
}
