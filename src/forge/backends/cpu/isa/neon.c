/* isa/neon.c - kernels for aarch64 with NEON; a tile uses 29 of the 32 vector registers. The instruction SDOT
 * is used if the processor has it. */
#if defined(__aarch64__)
#define FLOAT_LANES  4
#define DOUBLE_LANES 2
#define TILE_ROWS    12
#define REGISTERS    32
#define KERNELS      neon_kernels
#define HAS_NEON
#include "forge/backends/cpu/isa/kernels.inc"
#else
typedef int neon_is_elsewhere;
#endif
