/* isa/plain.c - kernels for any processor, with vectors of 16 bytes that the compiler translates for the
 * target. On aarch64, products of bytes use NEON, and the instruction SDOT if the processor has it. */
#define FLOAT_LANES  4
#define DOUBLE_LANES 2
#define TILE_ROWS    4
#define KERNELS      plain_kernels
#include "forge/backends/cpu/isa/kernels.inc"
