/* isa/plain.c - kernels for any processor: vectors of 16 bytes, which the compiler makes of what the target has. */
#define FLOAT_LANES  4
#define DOUBLE_LANES 2
#define TILE_ROWS    4
#define KERNELS      plain_kernels
#include "forge/backends/cpu/isa/kernels.inc"
