/* tests/unit/forge/dtype_trial.h - random bits and elements, for the tests of element types. */
#ifndef FORGE_DTYPE_TRIAL_H
#define FORGE_DTYPE_TRIAL_H

#include "forge/core/dtype.h"

/* Returns the next number of a well-distributed sequence of 64-bit numbers (SplitMix64). */
static inline uint64_t next_scattered(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Returns the bits of the f16 at an address. */
static inline uint16_t f16_at(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

#endif
