/* ir/operation_cost.h - FLOP and bytes of each operation, and published energies per FLOP and byte on a CPU.
 *
 * Note: a multiply-add counts as 2 FLOP; a comparison, or a function such as exp, counts as 1. Bytes are the
 * minimum that must be moved, so broadcast elements count once. The energies do not include the idle power of
 * cores and packages; see <joule/model.h>.
 */
#ifndef FORGE_IR_OPERATION_COST_H
#define FORGE_IR_OPERATION_COST_H

#include "forge/ir/program.h"

/* M. Horowitz, "Computing's energy problem", ISSCC 2014, figure 1.1.9 (45 nm, 0.9 V): a 32-bit multiplication
 * and addition use 4.6 pJ. An instruction adds 70 pJ, shared here by the 8 lanes of a vector. The sum is
 * divided by 2 because a multiply-add is 2 FLOP, and by 2 again for later manufacturing processes. */
#define COST_FLOP_JOULES 3.4e-12
/* From the same paper: DRAM uses 1.3 to 2.6 nJ for 64 bits. */
#define COST_BYTE_JOULES 240e-12
/* Standard deviation of the natural logarithm of each of these constants. It covers other manufacturing
 * processes, and data that fits into caches. */
#define COST_JOULES_LOG_SD 0.7
/* Returns the modelled energy of this work, in joules. */
static inline double cost_joules(struct program_cost cost)
{
    return COST_FLOP_JOULES * cost.flop + COST_BYTE_JOULES * (cost.read_bytes + cost.written_bytes);
}

/* Returns the bytes of the view's elements in memory. A broadcast dimension (stride 0) counts once. */
double cost_view_bytes(const struct view *view);
/* Returns the cost of a launch of an operation other than a composite. If an input and an output have the
 * same address, the launch works in place. */
struct program_cost cost_of_launch(const struct launch *launch);
/* Returns the cost of a launch of a composite: the FLOP of its body, and the bytes of the launch's operands.
 * values: [value_count], the number for each entry of the body's dim table; not NULL. Allocates
 * nothing.
 *
 * Three composites access only parts of an operand, and the elements of their indices decide which parts. For
 * them, the figure is the largest that the shapes allow:
 * - embedding reads one row of the table for each token, and the whole table if there are more tokens.
 * - cache_write in place writes one row of the cache for each token, and reads nothing of the cache. If it
 *   does not work in place, it also copies the cache, so the whole cache counts twice.
 * - paged_attention reads the keys and values of the pages in the tables. Each place counts once, even if
 *   several rows read it. Tables of more sequences than rows do not count. FLOP and bytes are those of
 *   sequences that fill their tables, so both are upper bounds for shorter sequences. */
struct program_cost cost_of_composite(const struct launch *launch, const forge_graph *body,
                                      const int64_t *values, size_t value_count);

/* Cache of the costs of bodies, so that the cost of a body that several nodes use is computed only once.
 * Initialise with zeros; free with body_costs_free. */
struct body_costs {
    /* numbers for the entries of the graph's dim table, or NULL; if not NULL, nothing is cached */
    const int64_t *values;
    size_t value_count;
    GRAPH_ARRAY(struct body_cost, list, item);
};
void body_costs_free(struct body_costs *cache);

/* Returns the cost of a node whose operands are all packed and in separate memory. The cost of a composite is
 * the cost of its body. Returns 0 for leaves, and NaN if the cost depends on symbols or if out of memory. */
struct program_cost cost_of_node(const forge_graph *graph, const struct node *node, struct body_costs *cache);
/* Like cost_of_node, but counts a composite like cost_of_composite: as one kernel, which moves no values of
 * the body. A cache_write counts as not in place. */
struct program_cost cost_of_kernel(const forge_graph *graph, const struct node *node,
                                   struct body_costs *cache);
/* Returns the sum of the costs of all nodes. A composite counts as one kernel. Nodes that only change
 * shape or order cost nothing here, because most programs move no data for them. */
struct program_cost cost_of_graph(const forge_graph *graph);

#endif
