/* support/chance.h - random numbers for simulations, the same in every run of a test.
 *
 * The generator is a xorshift. Its normal variates are inexact beyond three standard deviations. Note: all
 * code of a program shares one sequence. Set chance_state to CHANCE_SEED to restart it. */
#ifndef TEST_CHANCE_H
#define TEST_CHANCE_H

#include <math.h>
#include <stdint.h>

#define CHANCE_SEED UINT64_C(88172645463325252)
extern uint64_t chance_state;

static inline uint64_t chance_bits(void)
{
    chance_state ^= chance_state << 13;
    chance_state ^= chance_state >> 7;
    chance_state ^= chance_state << 17;
    return chance_state;
}

/* Starts the sequence of a seed. The first numbers of near seeds would be alike, so they are left out. */
static inline void chance_seed(uint64_t seed)
{
    chance_state = CHANCE_SEED + seed;
    for (int i = 0; i < 10; i++)
        chance_bits();
}

/* Returns a uniform variate from 0 to 1. */
static inline double chance(void)
{
    return (double)(chance_bits() >> 11) * 0x1p-53;
}

static inline double chance_between(double low, double high)
{
    return low + (high - low) * chance();
}

/* Returns a number between `low` and `high` whose logarithm is uniformly distributed. */
static inline double chance_scale(double low, double high)
{
    return exp(chance_between(log(low), log(high)));
}

/* Returns a normal variate with mean 0 and standard deviation 1: the scaled sum of eight uniform variates. */
static inline double chance_normal(void)
{
    uint64_t a = chance_bits(), b = chance_bits();
    const uint64_t lanes = UINT64_C(0x0000ffff0000ffff);
    uint64_t pairs = (a & lanes) + (a >> 16 & lanes) + (b & lanes) + (b >> 16 & lanes);
    double sum = (double)((pairs & 0xffffffff) + (pairs >> 32));
    /* sum of eight uniform 16-bit numbers, whose standard deviation is 65536 sqrt(8 / 12) */
    return (sum - 8 * 32767.5) * (1 / 53509.77);
}

#endif
