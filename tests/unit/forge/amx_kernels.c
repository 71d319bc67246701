/* The kernels of AVX-512 with the tiles of AMX in plain C, for test_cpu_amx. */
#include "support/amx.h"

#if defined(__x86_64__)
#define FLOAT_LANES  16
#define DOUBLE_LANES 8
#define TILE_ROWS    14
#define REGISTERS    32
#define KERNELS      amx_kernels
#include "forge/backends/cpu/isa/kernels.inc"
#else
#include "forge/backends/cpu/kernel.h"
const struct cpu_kernel amx_kernels[] = {{NULL}};
#endif
