/* compiler/plan.h - plans the offsets of buffers in an arena.
 *
 * The method is "Greedy by Size for Offset Calculation" (Pisarchyk and Lee, "Efficient Memory Management for
 * Deep Neural Net Inference", 2020, arXiv:2001.03288).
 *
 * Note: two buffers that are live at the same launch never overlap.
 */
#ifndef FORGE_COMPILER_PLAN_H
#define FORGE_COMPILER_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A buffer that needs an offset in the arena. */
struct plan_item {
    uint64_t size_bytes;   /* a multiple of the alignment */
    uint32_t first, last;  /* first and last launch during which the buffer is live */
    uint64_t offset_bytes; /* set by plan */
};

struct plan_result {
    uint64_t size_bytes;  /* size of the arena */
    uint64_t bound_bytes; /* lower bound: the largest sum of live bytes at one launch */
    uint64_t comparisons; /* number of comparisons with placed items, as a measure of the work */
};

/* Sets the offsets of `count` items. All `last` must be below `launches`. Takes O(count^2) time in the worst
 * case, in which long-lived and short-lived items of one size alternate. Returns false if out of memory. */
bool plan(struct plan_item *items, size_t count, size_t launches, struct plan_result *out_result);

#endif
