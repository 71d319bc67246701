/* joulec/work/overlap.h - finds vectorised loops that never run, because they require data that does not
 * overlap.
 *
 * The vectoriser may add a check, once per entry, that the loop's written address range does not overlap
 * other ranges. Otherwise the scalar loop runs. This code finds ranges within one variable that always
 * overlap. If the check compares distances instead of ranges, nothing is known.
 * Note: the check does not compare accesses with a constant distance. LLVM checks their dependence at compile
 * time.
 */
#ifndef JOULEC_OVERLAP_H
#define JOULEC_OVERLAP_H

#include "joulec/trips/trips.h"
#include "joulec/work/address.h"

/* Sets `overlap` and `overlapped` of all loops. trips: [loops->count]. */
void overlap_find(const struct addresses *addresses, const struct trips *trips, struct loops *loops);

#endif
