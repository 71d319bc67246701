/* joule/stats/generator.h - pseudorandom numbers for resampling and for the order of runs.
 *
 * The generator is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
 * 2014). Equal seeds give equal numbers on all machines.
 * Note: the numbers are predictable. Do not use them as secrets.
 */
#ifndef JOULE_STATS_GENERATOR_H
#define JOULE_STATS_GENERATOR_H

#include <stddef.h>
#include <stdint.h>

/* A sequence of random numbers. Initialise `state` with any seed. */
struct generator {
    uint64_t state;
};

/* Returns 64 random bits. */
uint64_t generator_bits(struct generator *generator);
/* Returns a number from 0 to count - 1. Their probabilities differ by at most 2^-32. count: 1 to 2^32 */
size_t generator_below(struct generator *generator, size_t count);
/* Sets out_order to a random permutation of 0 to count - 1. Call it once per block to interleave commands.
 * out_order: [count] */
void generator_order(struct generator *generator, size_t *out_order, size_t count);

#endif
