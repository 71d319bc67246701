/* joulec/work/branch_probability.h - feasible successors of a block, and their probabilities.
 *
 * Without a profile, probabilities are assumed. Note: the probabilities of a block's edges refer to those
 * edges that stay in the region. A region is the body of a loop (`loop`), or the function (`loop` -1).
 */
#ifndef JOULEC_BRANCH_PROBABILITY_H
#define JOULEC_BRANCH_PROBABILITY_H

#include "joulec/work/sum.h"

struct branch_probabilities {
    const struct function *function;
    const struct loops *loops;
    const struct sum_context *context; /* NULL: all edges are feasible */
    enum heat *heat;                   /* heat of each block over feasible edges */
};

/* The successors of a block that lead to an inner loop. */
struct loop_successors {
    uint32_t first;             /* one such successor, as a block; valid if has_first */
    bool has_first, has_others; /* there is one such successor, there are others */
    bool has_probabilities;     /* the probabilities of these edges may be used */
};

/* Fills branches->heat. The caller zeroes it before. */
void branch_find_heat(struct branch_probabilities *branches);
/* Returns true if an edge leads back to the header of `loop`. */
bool branch_is_back_edge(const struct branch_probabilities *branches, const struct edge *edge, int32_t loop);
/* Returns true if an edge is feasible, stays in the region, and is not a back edge of `loop`. */
bool branch_is_forward(const struct branch_probabilities *branches, const struct edge *edge, int32_t loop);
/* Returns which successors of a block lead to a loop within `loop`. has_first is false if the block has only
 * one successor. */
struct loop_successors branch_loop_successors(const struct branch_probabilities *branches, uint32_t block,
                                              int32_t loop);
/* Returns the probability of an edge of `block`, 0 to 1, not normalised. Divide it by
 * branch_probability_sum, which is the sum over all edges of the block that stay in the region. */
double branch_edge_probability(const struct branch_probabilities *branches, const struct block *block,
                               const struct edge *edge, const struct loop_successors *loop_successors,
                               int32_t loop);
/* Returns the weight of a loop's exit edge. The probability that the loop ends by this edge is its weight
 * divided by the sum of the weights of all exits. iterations: iterations of the loop per entry. */
double branch_exit_weight(const struct branch_probabilities *branches, const struct edge *edge,
                          double iterations);
double branch_probability_sum(const struct branch_probabilities *branches, uint32_t block, int32_t loop,
                              const struct loop_successors *loop_successors);

#endif
