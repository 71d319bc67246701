/* support/random_function.h - functions in double that nobody thought of, and that have derivatives.
 *
 * Owns one function that builds a loss of a few parameters from a seed: all families through which gradients flow, in their
 * modes, kept in bounds, so that differences are exact enough. random_graph.h makes graphs for all else. Newcomers: the same
 * seed gives the same function, whatever the flags; a new family needs its line in `makers`.
 */
#ifndef SUPPORT_RANDOM_FUNCTION_H
#define SUPPORT_RANDOM_FUNCTION_H

#include <forge/nn.h>

enum {
    RANDOM_FUNCTION_RECOMPUTES = 1, /* parts of it are in regions of forge_recompute_begin */
};

struct random_function {
    uint64_t seed;
    unsigned nodes; /* about so many operations */
    unsigned flags;
};

/* A loss as in directional.h. `context` is a struct random_function. */
forge_value random_function(forge_builder *b, const void *context);

#endif
