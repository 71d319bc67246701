/* compiler/plan.h - where buffers lie in an arena.
 *
 * Owns the packing of intervals of time into as little memory as possible: greedy by size, the method "Greedy by Size for
 * Offset Calculation" of Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference" (2020,
 * arXiv:2001.03288). Newcomers: two buffers that are alive at the same launch never overlap; the bound is the largest sum
 * of what is alive at one launch.
 */
#ifndef FORGE_COMPILER_PLAN_H
#define FORGE_COMPILER_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plan_item {
    uint64_t size_bytes;   /* a multiple of the alignment */
    uint32_t first, last;  /* the launches that it is alive in, both included */
    uint64_t offset_bytes; /* filled by plan */
};

struct plan_result {
    uint64_t size_bytes;  /* of the arena */
    uint64_t bound_bytes; /* alive at once at the worst launch */
    uint64_t looks; /* at what was placed before, to find where each item goes: what the work grows with */
};

/* Fills the offsets; false when memory is used up. Items live below `launches`. O(n^2) in time at worst: where items that live
 * long and items that live shortly, of one size, lie between each other, few blocks can be passed. */
bool plan(struct plan_item *items, size_t count, size_t launches, struct plan_result *out_result);

#endif
