/* joulec/work/overlap.h - whether the vector version of a loop, which the build made for data that does not
 * overlap, ever runs.
 *
 * Compares what a loop writes with the other data of the same variable that it accesses. The vectoriser
 * compares the begin and end of both once per entry, and runs the scalar loop if they overlap. (If it
 * compares distances instead, nothing is known.)
 * Note: accesses at a constant distance are not part of that comparison; LLVM checks their dependence at
 * compile time.
 */
#ifndef JOULEC_OVERLAP_H
#define JOULEC_OVERLAP_H

#include "joulec/trips/trips.h"
#include "joulec/work/address.h"

/* Sets `overlap` and `overlapped` of all loops from their trip counts. */
void overlap_find(const struct addresses *addresses, const struct trips *trips, struct loops *loops);

#endif
