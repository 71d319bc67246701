/* autodiff/recompute.h - recomputes values of recompute regions (forge_recompute_begin) during the backward
 * pass.
 *
 * Note: two kinds of values stay in memory until the backward pass: the inputs of a region, and values of the
 * region that are used outside it. All other values are computed a second time, when the backward pass
 * reaches the region.
 */
#ifndef FORGE_AUTODIFF_RECOMPUTE_H
#define FORGE_AUTODIFF_RECOMPUTE_H

#include "forge/ir/builder.h"

/* State of the recomputation during one backward pass. */
struct recompute {
    bool *is_kept; /* one for each node that exists when the backward pass begins: true if it is used outside
                    * its region */
    bool *is_done; /* one for each region, from index 1: true if it has been recomputed */
    forge_value *values; /* one for each value: the recomputed value, or FORGE_NO_VALUE if it was not
                          * recomputed */
};

/* Begins the recomputation for one backward pass. Returns false if out of memory. Call recompute_end in any
 * case. */
bool recompute_begin(struct recompute *recompute, const forge_builder *b);
void recompute_end(struct recompute *recompute);

/* Must be called when the backward pass reaches `node`. Returns the number of the node's region, counted from
 * 1, or 0 if the node is in no region. The first call for a region recomputes the region. */
uint32_t recompute_enter(struct recompute *recompute, forge_builder *b, uint32_t node);

/* Returns the recomputed value, or `value` itself if it was not recomputed. */
static inline forge_value recompute_value(const struct recompute *recompute, forge_value value)
{
    return recompute->values[value] ? recompute->values[value] : value;
}

#endif
