/* reference/reference.c - the table of reference functions by operation.
 *
 * Note: leaves and composites have no function. If the function of another row of ir/ops.def is missing,
 * linking fails.
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
