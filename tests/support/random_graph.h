/* support/random_graph.h - builds random graphs.
 *
 * Builds a graph from a seed: all families of operations, composites, slots with writes, scopes, and, if
 * requested, gradients and symbols. Note: the same seed gives the same graph. A new family needs a line in
 * `makers`. */
#ifndef SUPPORT_RANDOM_GRAPH_H
#define SUPPORT_RANDOM_GRAPH_H

#include <forge/graph.h>

enum {
    /* adds gradients of an f32 loss with respect to the parameters, and writes the parameters */
    RANDOM_GRAPH_GRADIENTS = 1,
    /* some sizes are the symbol "B", which stands for an even number from 2 to 64 */
    RANDOM_GRAPH_SYMBOLS = 2,
    /* some operations are on the places "a" and "b" instead of the program's own place */
    RANDOM_GRAPH_PLACES = 4,
};

/* Returns a graph of about `nodes` operations, which the caller frees. Fails the test on an error. */
forge_graph *random_graph(uint64_t seed, unsigned nodes, unsigned flags);

#endif
