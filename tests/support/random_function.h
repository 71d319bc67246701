/* support/random_function.h - builds random differentiable functions in double precision.
 *
 * Builds a loss of a few parameters from a seed, with all families and modes of operations that have
 * gradients. Values are bounded, so that finite differences are exact enough. random_graph.h builds graphs of
 * all other operations. Note: the same seed gives the same function, whatever the flags. A new family needs a
 * line in `makers`. */
#ifndef SUPPORT_RANDOM_FUNCTION_H
#define SUPPORT_RANDOM_FUNCTION_H

#include <forge/nn.h>

enum {
    RANDOM_FUNCTION_RECOMPUTES = 1, /* parts are in regions of forge_recompute_begin */
};

struct random_function {
    uint64_t seed;
    unsigned nodes; /* approximate number of operations */
    unsigned flags;
};

/* Returns a loss as in directional.h. `context` is a struct random_function. */
forge_value random_function(forge_builder *b, const void *context);

#endif
