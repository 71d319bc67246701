/* joulec/work/branch_probability.h - feasible successors of a block, and their probabilities.
 *
 * Without measurements, probabilities are assumed. Note: they are relative to the edges that stay in the
 * region, which is a loop's body or the function.
 */
#ifndef JOULEC_WAYS_H
#define JOULEC_WAYS_H

#include "joulec/work/sum.h"

struct ways {
    const struct function *function;
    const struct loops *loops;
    const struct sum_ways *closed; /* NULL: all edges are feasible */
    enum heat *heat;               /* of each block, with only the feasible edges */
};

/* The successors of a block that lead to an inner loop. */
struct leads {
    uint32_t first;
    bool has_first, has_others;
    bool is_told; /* the probabilities of these edges are known */
};

/* Fills `heat`, which must be zeroed. */
void ways_find_heat(struct ways *ways);
bool ways_is_open(const struct ways *ways, const struct edge *edge);
/* Returns true if an edge leads back to the header of `loop`. */
bool ways_goes_round(const struct ways *ways, const struct edge *edge, int32_t loop);
/* Returns true if an edge is feasible, stays in the region, and is no back edge. */
bool ways_goes_on(const struct ways *ways, const struct edge *edge, int32_t loop);
struct leads ways_leads_of(const struct ways *ways, uint32_t block, int32_t loop);
/* Return the probability of an edge among those of its block that stay in the region, and the sum of
 * these. */
double ways_likelihood(const struct ways *ways, const struct block *block, const struct edge *edge,
                       const struct leads *leads, int32_t loop);
/* Returns the weight of a loop's exit edge. The edge's probability among all exits is its weight divided by
 * the sum of their weights. iterations: per entry. */
double ways_exit_weight(const struct ways *ways, const struct edge *edge, double rounds);
double ways_sum(const struct ways *ways, uint32_t block, int32_t loop, const struct leads *leads);

#endif
