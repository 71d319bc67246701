/* core/random.c - Philox 4x32-10, and uniform numbers, normal numbers and permutations from its bits.
 *
 * Note: the numbers of a seed must never change, because trained networks depend on them. Any change of
 * order, constant or rounding would change them. tests/unit/forge/test_random.c contains known answers.
 */
#include <forge/random.h>

#include <math.h>

enum { ROUNDS = 10, BLOCK_WORDS = 4 };

void forge_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t even = UINT64_C(0xd2511f53) * c0;
        uint64_t odd = UINT64_C(0xcd9e8d57) * c2;
        c0 = (uint32_t)(odd >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(even >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)odd;
        c3 = (uint32_t)even;
        k0 += 0x9e3779b9; /* golden ratio - 1, times 2^32 */
        k1 += 0xbb67ae85; /* sqrt(3) - 1, times 2^32 */
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

static void make_block(const forge_random *random, uint64_t block, uint32_t out[BLOCK_WORDS])
{
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), random->step, random->stream};
    const uint32_t key[2] = {(uint32_t)random->key, (uint32_t)(random->key >> 32)};
    forge_philox4x32(counter, key, out);
}

/* Returns number `number` of the sequence, from its block in `words`. Computes this block first if is_first
 * is true, or if the number is the first of the block. */
static uint32_t next_word(const forge_random *random, uint64_t number, bool is_first,
                          uint32_t words[BLOCK_WORDS])
{
    if (is_first || number % BLOCK_WORDS == 0)
        make_block(random, number / BLOCK_WORDS, words);
    return words[number % BLOCK_WORDS];
}

void forge_random_bits(const forge_random *random, uint64_t first, size_t count, uint32_t *out)
{
    uint32_t words[BLOCK_WORDS];
    for (size_t i = 0; i < count; i++)
        out[i] = next_word(random, first + i, i == 0, words);
}

void forge_random_uniform(const forge_random *random, uint64_t first, size_t count, float *out)
{
    uint32_t words[BLOCK_WORDS];
    for (size_t i = 0; i < count; i++)
        out[i] = (float)(next_word(random, first + i, i == 0, words) >> 8) * 0x1p-24f;
}

static void box_muller(const uint32_t numbers[2], double out[2])
{
    const double two_pi = 6.283185307179586;
    double radius = sqrt(-2 * log((numbers[0] + 1.0) * 0x1p-32));
    double angle = two_pi * numbers[1] * 0x1p-32;
    out[0] = radius * cos(angle);
    out[1] = radius * sin(angle);
}

void forge_random_normal(const forge_random *random, uint64_t first, size_t count, float *out)
{
    double normals[BLOCK_WORDS];
    for (size_t i = 0; i < count; i++) {
        uint64_t number = first + i;
        if (i == 0 || number % BLOCK_WORDS == 0) {
            uint32_t words[BLOCK_WORDS];
            make_block(random, number / BLOCK_WORDS, words);
            box_muller(words, normals);
            box_muller(words + 2, normals + 2);
        }
        out[i] = (float)normals[number % BLOCK_WORDS];
    }
}

/* Returns a uniform number below `bound`. *next: index of the next unused number of the sequence; increased
 * by the count of used numbers. */
static uint64_t draw_below(const forge_random *random, uint64_t bound, uint64_t *next)
{
    const uint64_t limit =
        /* a multiple of bound, so that values below it have uniform remainders */
        UINT64_MAX - UINT64_MAX % bound;
    for (;;) {
        uint32_t words[2];
        forge_random_bits(random, *next, 2, words);
        *next += 2;
        uint64_t value = (uint64_t)words[1] << 32 | words[0];
        if (value < limit)
            return value % bound;
    }
}

void forge_random_permutation(const forge_random *random, size_t count, uint32_t *out)
{
    uint64_t next = 0;
    for (size_t i = 0; i < count; i++)
        out[i] = (uint32_t)i;
    for (size_t i = count; i > 1; i--) {
        size_t j = draw_below(random, i, &next);
        uint32_t last = out[i - 1];
        out[i - 1] = out[j];
        out[j] = last;
    }
}
