/* isa/plain.c - kernels for any processor, with vectors of 16 bytes that the compiler translates for the
 * target. */
#define FLOAT_LANES  4
#define DOUBLE_LANES 2
#define TILE_ROWS    4
#define REGISTERS    16
#define KERNELS      plain_kernels
#include "forge/backends/cpu/isa/kernels.inc"
