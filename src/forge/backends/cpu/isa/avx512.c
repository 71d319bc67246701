/* isa/avx512.c - kernels for x86-64 with AVX-512; a tile uses 28 of the 32 vector registers. */
#if defined(__x86_64__)
#define FLOAT_LANES  16
#define DOUBLE_LANES 8
#define TILE_ROWS    14
#define REGISTERS    32
#define KERNELS      avx512_kernels
#include "forge/backends/cpu/isa/kernels.inc"
#else
typedef int avx512_is_elsewhere;
#endif
