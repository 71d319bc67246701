/* tools/forge/peak.h - measures the limits of this processor: multiply-adds in registers, and copying
 * memory.
 *
 * Note: the limits vary on a shared machine; measure them just before the work that is compared with them.
 */
#ifndef FORGE_PEAK_H
#define FORGE_PEAK_H

/* Returns the GFLOP/s of f32 multiply-adds of one thread, per CPU time. Takes about 1 ms. isa: plain, avx2,
 * avx512 or neon; the processor must support it. NaN: this instruction set cannot be measured. */
double peak_thread_gflops(const char *isa);
/* Returns the GFLOP/s of f32 multiply-adds of all `threads` together, per wall-clock time. Takes about 20 ms.
 * NaN: this instruction set cannot be measured. */
double peak_gflops(const char *isa, unsigned threads);
/* Returns the GB/s of `threads` threads that copy 64 MiB each; bytes read and written both count. Takes about
 * 0.1 s. NaN: out of memory. */
double peak_copy_gb_per_s(unsigned threads);

#endif
