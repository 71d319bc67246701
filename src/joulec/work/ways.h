/* joulec/work/ways.h - which ways lead out of a block, and how likely each is.
 *
 * Owns the likelihoods that are assumed where nobody measured any. Newcomers: they are shares of those ways that stay in the region, a
 * loop's body or the function.
 */
#ifndef JOULEC_WAYS_H
#define JOULEC_WAYS_H

#include "joulec/work/sum.h"

struct ways {
    const struct function *function;
    const struct loops *loops;
    const struct sum_ways *closed; /* NULL: all are open */
    enum heat *heat;               /* heat of each block, with only the open edges */
};

/* Edges of a block that lead to a loop, by where to. */
struct leads {
    uint32_t first;
    bool has_first, has_others;
    bool is_told; /* how likely they are */
};

/* Fills `heat`, which must be zeroed. */
void ways_find_heat(struct ways *ways);
bool ways_is_open(const struct ways *ways, const struct edge *edge);
/* An edge back to where a round of `loop` begins. */
bool ways_goes_round(const struct ways *ways, const struct edge *edge, int32_t loop);
/* An edge, of a node of the region, that stays in it and goes on. */
bool ways_goes_on(const struct ways *ways, const struct edge *edge, int32_t loop);
struct leads ways_leads_of(const struct ways *ways, uint32_t block, int32_t loop);
/* How likely an edge is among those of its block that stay, and what that makes for all of them. */
double ways_likelihood(const struct ways *ways, const struct block *block, const struct edge *edge,
                       const struct leads *leads, int32_t loop);
/* Returns the weight of a loop's exit edge. The edge's share of all exits is its weight divided by the sum of
 * their weights. rounds: rounds of one entry. */
double ways_exit_weight(const struct ways *ways, const struct edge *edge, double rounds);
double ways_sum(const struct ways *ways, uint32_t block, int32_t loop, const struct leads *leads);

#endif
