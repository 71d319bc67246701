/* backends/cpu/isa.h - the instruction sets that kernels are compiled for.
 *
 * Owns the list, and which one is used. Newcomers: all have the same kernels under the same names, so that a program that
 * was compiled on one machine runs on another; FORGE_ISA in the environment chooses one when a device is opened.
 */
#ifndef FORGE_CPU_ISA_H
#define FORGE_CPU_ISA_H

#include <joule/base.h>
#include "forge/backends/cpu/kernel.h"

enum isa {
    ISA_PLAIN,  /* whatever the compiler's target has */
    ISA_AVX2,   /* with FMA */
    ISA_AVX512, /* F, BW, DQ, VL; with FMA */
    ISA_COUNT
};

/* "avx2". */
const char *isa_name(enum isa isa);
/* Whether this processor has it. */
bool isa_is_here(enum isa isa);
/* The one with this name; NULL: the best that is here. INVALID: no such name; ABSENT: not on this processor. */
joule_status isa_choose(const char *name, enum isa *out_isa, joule_error *out_error);
/* Its kernels; the end of the table has name NULL. */
const struct cpu_kernel *isa_kernels(enum isa isa);

#endif
