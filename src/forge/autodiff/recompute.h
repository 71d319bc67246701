/* autodiff/recompute.h - recomputes values of the regions of forge_recompute_begin during the backward pass.
 *
 * Note: values that a region takes from outside, or that are used outside it, are kept. All others are
 * computed again once, when the backward pass reaches the region.
 */
#ifndef FORGE_AUTODIFF_RECOMPUTE_H
#define FORGE_AUTODIFF_RECOMPUTE_H

#include "forge/ir/build.h"

struct recompute {
    bool *is_kept; /* one for each node at the start of the backward pass: it is used outside its region */
    bool *is_done; /* one for each region: it has been recomputed */
    forge_value *values; /* one for each value: its recomputed value; FORGE_NO_VALUE: itself */
};

/* Returns false if out of memory. Call recompute_end in any case. */
bool recompute_begin(struct recompute *recompute, const forge_builder *b);
void recompute_end(struct recompute *recompute);

/* Call when the backward pass reaches this node. Returns the number of its region, from 1, and recomputes it
 * the first time; 0 if it is in none. */
uint32_t recompute_enter(struct recompute *recompute, forge_builder *b, uint32_t node);

static inline forge_value recompute_value(const struct recompute *recompute, forge_value value)
{
    return recompute->values[value] ? recompute->values[value] : value;
}

#endif
