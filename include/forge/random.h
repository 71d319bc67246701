/* forge/random.h - random numbers as a pure function.
 *
 * The generator is Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
 * SC 2011, doi:10.1145/2063384.2063405). It has no state: number i of a sequence depends only on i, key, step
 * and stream. So it is the same in any order of calls and with any number of threads.
 */
#ifndef FORGE_RANDOM_H
#define FORGE_RANDOM_H

#include <forge/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Computes one block of four random numbers from a counter and a key, with ten rounds. Any thread. */
FORGE_API void forge_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* Selects a sequence of random numbers. The counter of a block is {low half of the block's number, high half,
 * step, stream}. The key of the generator is {low half of `key`, high half}. */
typedef struct forge_random {
    uint64_t key;    /* the seed */
    uint32_t step;   /* for example the number of the training step */
    uint32_t stream; /* distinguishes uses within a step */
} forge_random;

/* Writes the numbers `first` to first + count - 1 to out: [count]. Number i is element i % 4 of block i / 4.
 * Any thread. */
FORGE_API void forge_random_bits(const forge_random *random, uint64_t first, size_t count, uint32_t *out);
/* Writes `count` numbers in [0, 1), from number `first` on, to out: [count]. Each is the upper 24 bits of
 * number i of forge_random_bits, divided by 2^24. Any thread. */
FORGE_API void forge_random_uniform(const forge_random *random, uint64_t first, size_t count, float *out);
/* Writes `count` normal numbers (mean 0, standard deviation 1), from number `first` on, to out: [count]. They
 * come from the Box-Muller transform. Pair k uses u = number 2k and v = number 2k + 1 of forge_random_bits.
 * The radius is sqrt(-2 log((u + 1) / 2^32)), and the angle is 2 pi v / 2^32. Result 2k is radius *
 * cos(angle), and result 2k + 1 is radius * sin(angle). No magnitude exceeds 6.67, because u + 1 is at least
 * 1. The computation is in f64 and rounded once. Any thread. */
FORGE_API void forge_random_normal(const forge_random *random, uint64_t first, size_t count, float *out);
/* Writes a random permutation of 0 to count - 1 to out: [count]. A Fisher-Yates shuffle swaps elements from
 * the last to the first. Each draw joins two numbers, low half first, and is reduced to its range without
 * bias. A draw that would cause a bias is repeated with the next two numbers. count: at most 2^32. Any
 * thread. */
FORGE_API void forge_random_permutation(const forge_random *random, size_t count, uint32_t *out);

#ifdef __cplusplus
}
#endif
#endif
