/* support/random_graph.h - builds random graphs.
 *
 * Makes a graph from a seed: all families of operations, composites, slots with writes, scopes, and, if
 * requested, gradients and symbols. Note: the same seed gives the same graph. A new family needs a line in
 * `makers`. */
#ifndef SUPPORT_RANDOM_GRAPH_H
#define SUPPORT_RANDOM_GRAPH_H

#include <forge/graph.h>

enum {
    RANDOM_GRAPH_GRADIENTS = 1, /* gradients of an f32 loss with respect to parameters, which are then written
                                 * */
    RANDOM_GRAPH_SYMBOLS = 2,   /* some sizes are a symbol, "B": 2 to 64, even */
    RANDOM_GRAPH_PLACES = 4,    /* some operations are on places "a" and "b" besides the program's own place
                                 * */
};

/* Returns a graph of about `nodes` operations, which the caller frees. Fails the test on an error. */
forge_graph *random_graph(uint64_t seed, unsigned nodes, unsigned flags);

#endif
