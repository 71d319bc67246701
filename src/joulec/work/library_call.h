/* joulec/work/library_call.h - the work of functions that have no body in the module: of the C library and of
 * the compiler.
 *
 * The figures are wide estimates from published latencies and from bench/calls.c.
 * Note: the work of functions for strings depends mostly on the length of the string, which is unknown. The
 * work of functions for memory depends on an argument (library_call_length).
 */
#ifndef JOULEC_LIBRARY_CALL_H
#define JOULEC_LIBRARY_CALL_H

#include "joulec/work/sum.h"

/* Returns the argument with the number of bytes that a call processes; NULL: there is none. */
const struct operand *library_call_length(const struct call *call);
/* Sets *out_amounts to the work of a call of a library function, which is identified by name and type.
 * length: range of library_call_length(); NULL: the argument is a constant, or unknown. Returns the basis:
 * BASIS_OBSERVED, BASIS_OPEN if the number of bytes is unknown, or BASIS_MISSING if the function is
 * unknown. */
enum basis library_call_work(const struct call *call, const struct call_length *length,
                             const struct target *target, struct amounts *out_amounts);
/* Returns the name in C of the called function, also for LLVM's intrinsics such as "llvm.memcpy.". "": the
 * call is through a pointer. */
const char *library_call_name(const struct call *call);

#endif
