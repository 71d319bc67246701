/* compiler/fuse.h - the groups of the pass `fuse`: fuse_groups.c chooses them, fuse.c writes the new graph.
 *
 * A group of nodes becomes one composite (ir/fused.h). */
#ifndef FORGE_COMPILER_FUSE_H
#define FORGE_COMPILER_FUSE_H

#include <forge/compiler.h>
#include "forge/hal/rates.h"
#include "forge/ir/fused.h"

#define FUSE_NONE UINT32_MAX
#define FUSE_MANY (UINT32_MAX - 1)

/* A group of nodes. It has the number of its last node. */
struct group {
    forge_value inputs[FUSED_MAX_INPUTS]; /* values from outside that the group reads */
    uint8_t input_count;
    uint8_t node_count;
    uint8_t word_count; /* of its code */
    uint32_t first;     /* its first node; all its nodes are from here to the last */
    uint32_t product;   /* the node of its product or row operation; FUSE_NONE: it has none */
    uint32_t at;        /* the composite follows this node; the last node, or an earlier one */
    uint32_t next_at;   /* the next group that follows the same node; FUSE_NONE: there is none */
};

struct fusion {
    const forge_graph *graph;
    forge_device *device;
    struct device_rates rates;
    struct group *groups; /* by node */
    uint32_t *group_of;   /* by node: the last node of its group; FUSE_NONE: the node is in no group */
    uint32_t *groups_at;  /* by node: the first group that follows it; FUSE_NONE: there is none */
    /* by value: the group that contains all its readers; FUSE_NONE: there is no reader yet. FUSE_MANY: there
     * are readers outside of one group */
    uint32_t *readers;
    uint32_t *first_reader;   /* by value: its first reader; UINT32_MAX: there is none */
    forge_value *body_values; /* scratch, by value: its copy in the body that is built */
    uint8_t *numbers;         /* scratch, by node: the operand number of its value */
};

/* Returns true if the node is a row operation. */
static inline bool fuse_is_row(const struct node *node)
{
    return fused_is_row((enum op)node->op);
}

/* Returns how often a row operation reads its operands. */
uint32_t fuse_reads(const struct node *row);
/* Returns the modelled joules that are saved if `value` is not stored: an operand of a row operation
 * (is_before), or its result. */
double fuse_saved_joules(const struct fusion *fusion, const struct node *row, forge_value value,
                         bool is_before);
/* Fills in groups, group_of and groups_at. */
void fuse_choose_groups(struct fusion *fusion);

#endif
