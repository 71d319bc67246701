/* ir/cost.h - the work of an operation, counted.
 *
 * Owns FLOP and bytes of every family, whatever computes it, and published joules for each of them on a CPU; what cores
 * and packages need besides is libjoule's to say (<joule/model.h>).
 * Newcomers: a multiply-add is 2 FLOP; a function such as exp counts as 1, as does a comparison. Bytes are those that must
 * be moved at least once: broadcast elements count once.
 */
#ifndef FORGE_IR_COST_H
#define FORGE_IR_COST_H

#include "forge/ir/program.h"

/* M. Horowitz, "Computing's energy problem", ISSCC 2014, figure 1.1.9 (45 nm, 0.9 V): a 32-bit multiplication and
 * addition take 4.6 pJ, an instruction 70 pJ besides, here shared by the 8 lanes of a vector; and of later processes half. */
#define COST_FLOP_JOULES 3.4e-12
/* The same: DRAM takes 1.3 to 2.6 nJ for 64 bits. */
#define COST_BYTE_JOULES 240e-12
/* Of the logarithm of either, one sd: other processes, and what fits into caches. */
#define COST_JOULES_LOG_SD 0.7
static inline double cost_joules(struct program_cost cost)
{
    return COST_FLOP_JOULES * cost.flop + COST_BYTE_JOULES * (cost.read_bytes + cost.written_bytes);
}

/* Where an input and an output have one address, the work is done in place. Not of a composite. */
struct program_cost cost_of_launch(const struct launch *launch);
/* A composite does what its body computes, where entry i of its sizes is values[i], and moves no more than its own operands.
 * Allocates nothing. */
struct program_cost cost_of_composite(const struct launch *launch, const forge_graph *body,
                                      const int64_t *values, size_t value_count);

/* What bodies of composites cost: each is counted once, as bodies use bodies. Begins zeroed. */
struct body_costs {
    /* of the graph's sizes, where these are to be numbers; nothing is remembered then */
    const int64_t *values;
    size_t value_count;
    GRAPH_ARRAY(struct body_cost, list, item);
};
void body_costs_free(struct body_costs *known);

/* Of a node as the graph has it, each operand packed and in memory of its own; of a composite, its body's. A leaf costs
 * nothing. NaN: it depends on symbols, or memory is used up. */
struct program_cost cost_of_node(const forge_graph *graph, const struct node *node, struct body_costs *known);
/* Of all nodes, without those that only show elements in another shape or order, which most programs do not move. */
struct program_cost cost_of_graph(const forge_graph *graph);

#endif
