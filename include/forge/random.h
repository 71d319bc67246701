/* forge/random.h - random numbers that are a pure function.
 *
 * Owns Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC 2011,
 * doi:10.1145/2063384.2063405) and the numbers made of its bits.
 * Newcomers: there is no state. Number `index` of stream `stream` at step `step` under a key is always the same,
 * whoever asks, in whatever order and on however many threads.
 */
#ifndef FORGE_RANDOM_H
#define FORGE_RANDOM_H

#include <forge/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Ten rounds. Any thread. */
FORGE_API void forge_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* Where numbers come from. The counter is {block low, block high, step, stream}, the key {key low, key high}. */
typedef struct forge_random {
    uint64_t key;    /* the seed */
    uint32_t step;   /* of training, say */
    uint32_t stream; /* which use within a step */
} forge_random;

/* Numbers first .. first + count - 1: number i is word i % 4 of block i / 4. Any thread, as all below. */
FORGE_API void forge_random_bits(const forge_random *random, uint64_t first, size_t count, uint32_t *out);
/* In [0, 1): the upper 24 bits of number i over 2^24. */
FORGE_API void forge_random_uniform(const forge_random *random, uint64_t first, size_t count, float *out);
/* Mean 0, sd 1: Box and Muller's transform of the numbers 2k and 2k + 1, cosine first; the radius is made of
 * (number 2k + 1) / 2^32, which is never 0, so that no result is beyond 6.67. In doubles, rounded once. */
FORGE_API void forge_random_normal(const forge_random *random, uint64_t first, size_t count, float *out);
/* The permutation of 0 .. count-1 that a Fisher-Yates shuffle from the end gives; each draw takes two numbers, the low
 * word first, and the 64-bit value is reduced without bias (rejected ones take two more). count: at most 2^32. */
FORGE_API void forge_random_permutation(const forge_random *random, size_t count, uint32_t *out);

#ifdef __cplusplus
}
#endif
#endif
