/* backends/cpu/isa.h - the instruction sets that kernels are compiled for, and the choice of one.
 *
 * All have the same kernels under the same names, so a program compiled on one machine runs on another. The
 * environment variable FORGE_ISA selects one when a device is opened.
 */
#ifndef FORGE_CPU_ISA_H
#define FORGE_CPU_ISA_H

#include <joule/base.h>
#include "forge/backends/cpu/kernel.h"

enum isa {
    ISA_PLAIN,  /* whatever the compiler's target has */
    ISA_AVX2,   /* AVX2 and FMA */
    ISA_AVX512, /* F, BW, DQ, VL; with FMA */
    ISA_COUNT
};

/* Returns the name, for example "avx2"; static storage. */
const char *isa_name(enum isa isa);
/* Returns true if this processor supports the instruction set. */
bool isa_is_here(enum isa isa);
/* Finds the instruction set of this name, or the best supported one if name is NULL. JOULE_INVALID: unknown
 * name. JOULE_ABSENT: not supported by this processor. */
joule_status isa_choose(const char *name, enum isa *out_isa, joule_error *out_error);
/* Returns the table of the instruction set's kernels; the last row has the name NULL. */
const struct cpu_kernel *isa_kernels(enum isa isa);

#endif
