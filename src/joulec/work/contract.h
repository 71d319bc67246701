/* joulec/work/contract.h - what functions take that have no body here: the C library's.
 *
 * Owns the list of them. What they take is a wide guess, by the order of magnitude of published latencies.
 * Newcomers: of strings, and mostly of memory, the length is not known here, which is most of what they take.
 */
#ifndef JOULEC_CONTRACT_H
#define JOULEC_CONTRACT_H

#include "joulec/work/sum.h"

/* Of a call with a name, and with the type of the library's function. False: nobody has said anything about it. */
bool contract_of(const struct call *call, const struct target *target, struct amounts *out_amounts);

#endif
