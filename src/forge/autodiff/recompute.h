/* autodiff/recompute.h - what is computed again on the way back.
 *
 * Owns the regions of forge_recompute_begin, and where their values are while gradients are made. Newcomers: what a region
 * takes from outside and what is used outside of it is kept; all else is made anew, once, when the way back comes to it.
 */
#ifndef FORGE_AUTODIFF_RECOMPUTE_H
#define FORGE_AUTODIFF_RECOMPUTE_H

#include "forge/ir/build.h"

struct recompute {
    bool *is_kept; /* for each node that was there when the way back began: used outside of its region */
    bool *is_done; /* for each region: computed again */
    forge_value *values; /* for each value: what it is on the way back; NO_VALUE: itself */
};

/* False: no memory. */
bool recompute_begin(struct recompute *recompute, const forge_builder *b);
void recompute_end(struct recompute *recompute);

/* The way back comes to this node. The number of its region, from 1, which is computed again if it is not yet; 0: in none. */
uint32_t recompute_enter(struct recompute *recompute, forge_builder *b, uint32_t node);

static inline forge_value recompute_value(const struct recompute *recompute, forge_value value)
{
    return recompute->values[value] ? recompute->values[value] : value;
}

#endif
