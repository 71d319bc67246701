/* support/random_graph.h - graphs that nobody thought of.
 *
 * Owns one function that makes a graph from a seed: all families, composites, slots with writes, scopes, and, where asked,
 * gradients and symbols. Newcomers: the same seed gives the same graph; a new family needs its line in `makers`.
 */
#ifndef SUPPORT_RANDOM_GRAPH_H
#define SUPPORT_RANDOM_GRAPH_H

#include <forge/graph.h>

enum {
    RANDOM_GRAPH_GRADIENTS = 1, /* of a loss in f32 with respect to parameters, which are then written */
    RANDOM_GRAPH_SYMBOLS = 2,   /* sizes that are a symbol, "B": 2 to 64, even */
    RANDOM_GRAPH_PLACES = 4,    /* operations on "a" and "b" besides the program's own place */
};

/* Of about `nodes` operations. The caller's. Ends the test where that fails. */
forge_graph *random_graph(uint64_t seed, unsigned nodes, unsigned flags);

#endif
