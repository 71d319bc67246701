/* joulec/work/overlap.h - whether a loop that the build made vectors of, for data that does not overlap, ever runs as such.
 *
 * Owns the comparison of what a loop writes with what else it touches of the same variable. The vectoriser compares where both
 * begin and end, once each time that the loop is entered, and takes the loop as it was where they meet. (Where it compares
 * distances instead, nothing is said.)
 * Newcomers: what keeps its distance is no matter of that comparison; LLVM knows whether it may be done at once.
 */
#ifndef JOULEC_OVERLAP_H
#define JOULEC_OVERLAP_H

#include "joulec/trips/trips.h"
#include "joulec/work/address.h"

/* Sets `overlap` of all loops, from how often each runs. */
void overlap_find(const struct addresses *addresses, const struct trips *trips, struct loops *loops);

#endif
