/* joulec/work/branch_probability.h - feasible successors of a block, and their probabilities.
 *
 * Without measurements, probabilities are assumed. Note: they are relative to the edges that stay in the
 * region, which is a loop's body or the function.
 */
#ifndef JOULEC_BRANCH_PROBABILITY_H
#define JOULEC_BRANCH_PROBABILITY_H

#include "joulec/work/sum.h"

struct branch_probabilities {
    const struct function *function;
    const struct loops *loops;
    const struct sum_context *context; /* NULL: all edges are feasible */
    enum heat *heat;                   /* of each block, with only the feasible edges */
};

/* The successors of a block that lead to an inner loop. */
struct loop_successors {
    uint32_t first;
    bool has_first, has_others;
    bool has_probabilities; /* the probabilities of these edges are known */
};

/* Fills `heat`, which must be zeroed. */
void branch_find_heat(struct branch_probabilities *branches);
/* Returns true if an edge leads back to the header of `loop`. */
bool branch_is_back_edge(const struct branch_probabilities *branches, const struct edge *edge, int32_t loop);
/* Returns true if an edge is feasible, stays in the region, and is no back edge. */
bool branch_is_forward(const struct branch_probabilities *branches, const struct edge *edge, int32_t loop);
struct loop_successors branch_loop_successors(const struct branch_probabilities *branches, uint32_t block,
                                              int32_t loop);
/* Return the probability of an edge among those of its block that stay in the region, and the sum of
 * these. */
double branch_edge_probability(const struct branch_probabilities *branches, const struct block *block,
                               const struct edge *edge, const struct loop_successors *loop_successors,
                               int32_t loop);
/* Returns the weight of a loop's exit edge. The edge's probability among all exits is its weight divided by
 * the sum of their weights. iterations: per entry. */
double branch_exit_weight(const struct branch_probabilities *branches, const struct edge *edge,
                          double iterations);
double branch_probability_sum(const struct branch_probabilities *branches, uint32_t block, int32_t loop,
                              const struct loop_successors *loop_successors);

#endif
