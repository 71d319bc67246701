/* isa/avx2.c - kernels for x86-64 with AVX2 and FMA; a tile uses 12 of the 16 vector registers. */
#if defined(__x86_64__)
#define FLOAT_LANES  8
#define DOUBLE_LANES 4
#define TILE_ROWS    6
#define REGISTERS    16
#define KERNELS      avx2_kernels
#include "forge/backends/cpu/isa/kernels.inc"
#else
typedef int avx2_is_elsewhere;
#endif
