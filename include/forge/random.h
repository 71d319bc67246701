/* forge/random.h - random numbers as a pure function.
 *
 * The generator is Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
 * SC 2011, doi:10.1145/2063384.2063405). It has no state: number `index` of a key, step and stream is always
 * the same, in any order and with any number of threads.
 */
#ifndef FORGE_RANDOM_H
#define FORGE_RANDOM_H

#include <forge/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Computes one block of four numbers with ten rounds. Any thread. */
FORGE_API void forge_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* A sequence of numbers. The counter is {block low, block high, step, stream}, the key {key low, key
 * high}. */
typedef struct forge_random {
    uint64_t key;    /* the seed */
    uint32_t step;   /* such as the number of the training step */
    uint32_t stream; /* distinguishes uses within a step */
} forge_random;

/* Writes the numbers first .. first + count - 1. Number i is word i % 4 of block i / 4. Any thread. */
FORGE_API void forge_random_bits(const forge_random *random, uint64_t first, size_t count, uint32_t *out);
/* Writes numbers in [0, 1): the upper 24 bits of number i, divided by 2^24. Any thread. */
FORGE_API void forge_random_uniform(const forge_random *random, uint64_t first, size_t count, float *out);
/* Writes normal numbers (mean 0, standard deviation 1) by the Box-Muller transform. Pair k uses u = number 2k
 * and v = number 2k + 1. The radius is sqrt(-2 log((u + 1) / 2^32)), the angle 2 pi v / 2^32. Result 2k is
 * radius * cos(angle), result 2k + 1 is radius * sin(angle). No magnitude exceeds 6.67, because u + 1 is
 * never 0. Computed in f64, rounded once. Any thread. */
FORGE_API void forge_random_normal(const forge_random *random, uint64_t first, size_t count, float *out);
/* Writes a permutation of 0 .. count - 1 by a Fisher-Yates shuffle from the end. Each draw uses two numbers,
 * low word first, reduced without bias; a rejected draw uses two more. count: at most 2^32. Any thread. */
FORGE_API void forge_random_permutation(const forge_random *random, size_t count, uint32_t *out);

#ifdef __cplusplus
}
#endif
#endif
