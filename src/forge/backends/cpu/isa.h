/* backends/cpu/isa.h - the instruction sets for which kernels are compiled, and the selection of one of them.
 *
 * The kernels have the same names for all instruction sets, so a program that is compiled on one machine runs
 * on another. The environment variable FORGE_ISA selects the instruction set when a device is opened.
 */
#ifndef FORGE_CPU_ISA_H
#define FORGE_CPU_ISA_H

#include <joule/base.h>
#include "forge/backends/cpu/kernel.h"

enum isa {
    ISA_PLAIN,  /* the instruction set of the compiler's target */
    ISA_AVX2,   /* AVX2 and FMA */
    ISA_AVX512, /* F, BW, DQ, VL; with FMA */
    ISA_NEON,   /* NEON of aarch64, which all its processors with Linux have */
    ISA_COUNT
};

/* Returns the name, for example "avx2"; static storage. */
const char *isa_name(enum isa isa);
/* Returns true if this processor supports the instruction set. */
bool isa_is_here(enum isa isa);
/* Returns true if this processor has the tiles of AMX for bytes and bf16, and the system allows this process
 * to use them. Kernels of ISA_AVX512 use them. Any thread. */
bool isa_has_amx(void);
/* Finds the instruction set with this name. If `name` is NULL, finds the best instruction set that the
 * processor supports. Returns JOULE_INVALID if the name is unknown, and JOULE_ABSENT if the processor does
 * not support the instruction set. */
joule_status isa_choose(const char *name, enum isa *out_isa, joule_error *out_error);
/* Return the options with which a C compiler uses the instruction set, each after a space, and the size of
 * its vector registers. */
const char *isa_compiler_options(enum isa isa);
uint32_t isa_vector_bytes(enum isa isa);
/* Returns the table of kernels of an instruction set, in static storage. The last row has the name NULL. */
const struct cpu_kernel *isa_kernels(enum isa isa);

#endif
