/* joulec/work/library_call.h - the work of functions that have no body in the module: of the C library and of
 * the compiler.
 *
 * The figures are wide estimates from published latencies and from bench/calls.c.
 * Note: the length of strings is unknown, although it determines most of their work. The length of memory
 * calls is that of their argument.
 */
#ifndef JOULEC_LIBRARY_CALL_H
#define JOULEC_LIBRARY_CALL_H

#include "joulec/work/sum.h"

/* Returns the argument that states how many bytes a call processes; NULL: none. */
const struct operand *library_call_length(const struct call *call);
/* Sets *out_amounts to the work of a call of a library function by name and type. length: range of
 * library_call_length(); NULL: a constant, or unknown. Returns the basis: MISSING, no figures; OPEN, the
 * number of bytes is unknown; OBSERVED. */
enum basis library_call_work(const struct call *call, const struct call_length *length,
                             const struct target *target, struct amounts *out_amounts);
/* Returns the function's name in C; LLVM's intrinsics have other names. */
const char *library_call_name(const struct call *call);

#endif
