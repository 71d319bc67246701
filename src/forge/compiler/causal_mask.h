/* compiler/causal_mask.h - recognises masks of attention that hide later keys. */
#ifndef FORGE_COMPILER_CAUSAL_MASK_H
#define FORGE_COMPILER_CAUSAL_MASK_H

#include "forge/ir/graph.h"

/* Returns the number in all elements of a value that is a constant of one element, possibly reshaped or
 * broadcast; NaN if the value is something else. */
double constant_number(const forge_graph *graph, forge_value value);

/* Returns true if `value`, of bool, is true exactly where query i may attend to key j: j <= i + s - t. It
 * broadcasts to [..., t, s]. It is an array of constants, or a comparison of positions (iota). */
bool is_causal_choice(const forge_graph *graph, forge_value value, int64_t t, int64_t s);
/* Returns true if `value` is 0 where query i may attend to key j, and -infinity elsewhere. */
bool is_causal_addend(const forge_graph *graph, forge_value value, int64_t t, int64_t s);

#endif
