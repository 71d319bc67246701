/* joulec/work/contract.h - what functions take that have no body here: the C library's, and the compiler's own.
 *
 * Owns the list of them. What they take is a wide guess, by the order of magnitude of published latencies.
 * Newcomers: of strings the length is not known here, which is most of what they take; of memory it is where its argument is.
 */
#ifndef JOULEC_CONTRACT_H
#define JOULEC_CONTRACT_H

#include "joulec/work/sum.h"

/* The argument that says how many bytes a call goes over; NULL: none does. */
const struct operand *contract_length(const struct call *call);
/* Of a call with a name, and with the type of the library's function. length: what contract_length() says there; NULL: a constant, or it
 * is not known. Returns what the amounts rest on: MISSING, nobody has said anything about it; OPEN, nobody knows over how many bytes
 * it goes; SEEN. */
enum basis contract_of(const struct call *call, const struct call_length *length, const struct target *target,
                       struct amounts *out_amounts);
/* As programs write it: LLVM has other names for some. */
const char *contract_name(const struct call *call);

#endif
