/* tests/corpus/joulec/mersenne_twister.c - random numbers of the Mersenne twister. Its state of 624 words is
 * renewed eight times.
 *
 * The programs compute indices by remainders or by a table, make a call for each number, or use three indices
 * that wrap.
 */
#include <string.h>
#include "corpus.h"

#define WORDS  624
#define AHEAD  397
#define ROUNDS 8
#define UPPER  0x80000000u
#define TWIST  0x9908b0dfu

static uint32_t seeds[WORDS], state[WORDS], numbers[ROUNDS * WORDS];
static uint32_t used; /* number of words of the state that were used */

static void prepare(void)
{
    for (int i = 0; i < WORDS; i++)
        seeds[i] = corpus_random();
}

static inline uint32_t tempered(uint32_t v)
{
    v ^= v >> 11;
    v ^= v << 7 & 0x9d2c5680u;
    v ^= v << 15 & 0xefc60000u;
    return v ^ v >> 18;
}

static inline uint32_t twisted(uint32_t word, uint32_t next, uint32_t ahead)
{
    uint32_t v = (word & UPPER) | (next & ~UPPER);
    return ahead ^ v >> 1 ^ (next & 1 ? TWIST : 0);
}

static uint64_t mersenne_twister_remainders(void)
{
    memcpy(state, seeds, sizeof state);
    for (uint32_t r = 0; r < ROUNDS; r++)
        for (uint32_t i = 0; i < WORDS; i++) {
            state[i] = twisted(state[i], state[(i + 1) % WORDS], state[(i + AHEAD) % WORDS]);
            numbers[r * WORDS + i] = tempered(state[i]);
        }
    return 0;
}

static void twist_by_table(void)
{
    static const uint32_t twists[2] = {0, TWIST};
    uint32_t i = 0;
    for (; i < WORDS - AHEAD; i++) {
        uint32_t v = (state[i] & UPPER) | (state[i + 1] & ~UPPER);
        state[i] = state[i + AHEAD] ^ v >> 1 ^ twists[v & 1];
    }
    for (; i < WORDS - 1; i++) {
        uint32_t v = (state[i] & UPPER) | (state[i + 1] & ~UPPER);
        state[i] = state[i + AHEAD - WORDS] ^ v >> 1 ^ twists[v & 1];
    }
    uint32_t v = (state[WORDS - 1] & UPPER) | (state[0] & ~UPPER);
    state[WORDS - 1] = state[AHEAD - 1] ^ v >> 1 ^ twists[v & 1];
}

static uint64_t mersenne_twister_table(void)
{
    memcpy(state, seeds, sizeof state);
    for (uint32_t r = 0; r < ROUNDS; r++) {
        twist_by_table();
        for (uint32_t i = 0; i < WORDS; i++)
            numbers[r * WORDS + i] = tempered(state[i]);
    }
    return 0;
}

static void twist(void)
{
    uint32_t i = 0;
    for (; i < WORDS - AHEAD; i++)
        state[i] = twisted(state[i], state[i + 1], state[i + AHEAD]);
    for (; i < WORDS - 1; i++)
        state[i] = twisted(state[i], state[i + 1], state[i + AHEAD - WORDS]);
    state[WORDS - 1] = twisted(state[WORDS - 1], state[0], state[AHEAD - 1]);
}

__attribute__((noinline)) static uint32_t next_number(void)
{
    if (used == WORDS) {
        twist();
        used = 0;
    }
    return tempered(state[used++]);
}

static uint64_t mersenne_twister_calls(void)
{
    memcpy(state, seeds, sizeof state);
    used = WORDS;
    for (int i = 0; i < ROUNDS * WORDS; i++)
        numbers[i] = next_number();
    return 0;
}

/* Advances three indices that wrap, and computes each number when its word is ready. */
static uint64_t mersenne_twister_places(void)
{
    uint32_t here = 0, next = 1, ahead = AHEAD;
    memcpy(state, seeds, sizeof state);
    for (int i = 0; i < ROUNDS * WORDS; i++) {
        uint32_t word = twisted(state[here], state[next], state[ahead]);
        state[here] = word;
        numbers[i] = tempered(word);
        here = next;
        next = next + 1 < WORDS ? next + 1 : 0;
        ahead = ahead + 1 < WORDS ? ahead + 1 : 0;
    }
    return 0;
}

const struct group mersenne_twister = {prepare,
                                       numbers,
                                       sizeof numbers,
                                       {PROGRAM(mersenne_twister_remainders), PROGRAM(mersenne_twister_table),
                                        PROGRAM(mersenne_twister_calls), PROGRAM(mersenne_twister_places)}};
