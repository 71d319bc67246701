/* isa/tables.h - the kernel table of each instruction set; all have the same rows (isa/kernels.inc). */
#ifndef FORGE_CPU_ISA_TABLES_H
#define FORGE_CPU_ISA_TABLES_H

#include "forge/backends/cpu/kernel.h"

extern const struct cpu_kernel plain_kernels[];
extern const struct cpu_kernel avx2_kernels[];
extern const struct cpu_kernel avx512_kernels[];
extern const struct cpu_kernel neon_kernels[];

#endif
