/* autodiff/recompute.h - recomputes values of the regions of forge_recompute_begin during the backward pass.
 *
 * Note: values that a region takes from outside are kept, and so are its values that are used outside it. Its
 * other values are computed again once, when the backward pass reaches the region.
 */
#ifndef FORGE_AUTODIFF_RECOMPUTE_H
#define FORGE_AUTODIFF_RECOMPUTE_H

#include "forge/ir/builder.h"

/* State of the recomputation during one backward pass. */
struct recompute {
    bool *is_kept; /* one for each node at the start of the backward pass: true if it is used outside its
                    * region */
    bool *is_done; /* one for each region: true if it has been recomputed */
    forge_value *values; /* one for each value: its recomputed value; FORGE_NO_VALUE: not recomputed */
};

/* Begins the recomputation for one backward pass. Returns false if out of memory. Call recompute_end in any
 * case. */
bool recompute_begin(struct recompute *recompute, const forge_builder *b);
void recompute_end(struct recompute *recompute);

/* Must be called when the backward pass reaches this node. Returns the number of the node's region, from 1,
 * or 0 if the node is in none. Recomputes the region at the first call for it. */
uint32_t recompute_enter(struct recompute *recompute, forge_builder *b, uint32_t node);

/* Returns the recomputed value, or `value` itself if it was not recomputed. */
static inline forge_value recompute_value(const struct recompute *recompute, forge_value value)
{
    return recompute->values[value] ? recompute->values[value] : value;
}

#endif
