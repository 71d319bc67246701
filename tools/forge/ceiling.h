/* tools/forge/ceiling.h - what this processor can do at most, measured.
 *
 * Owns two loops: multiply-adds that touch registers alone, and a copy that is far larger than any cache. Newcomers: these are
 * ceilings of the moment; on a shared machine they move, so measure them next to what is compared with them.
 */
#ifndef FORGE_CEILING_H
#define FORGE_CEILING_H

/* GFLOP/s in f32 by the instruction set of this name (plain, avx2, avx512), which the processor must have: of one thread, by its
 * own time, in about a millisecond. NaN: not known how to measure. */
double limit_thread_gflops(const char *isa);
/* The same of so many threads at once, by the clock, in about 20 ms. */
double limit_gflops(const char *isa, unsigned threads);
/* GB/s read and written together by so many threads that copy 64 MiB each, in about 0.1 s. NaN: no memory. */
double limit_copy_gb_per_s(unsigned threads);

#endif
