/* tests/corpus/joulec/bigint.c - products of 512-bit integers.
 *
 * The programs add row by row, or propagate the carries at the end. They use words of 32 or 64 bits.
 */
#include "corpus.h"

#define NUMBERS 64
#define WORDS   16 /* words of 32 bits */
#define LONGS   (WORDS / 2)

__extension__ typedef unsigned __int128 uint128;

static uint32_t a[NUMBERS][WORDS], b[NUMBERS][WORDS], product[NUMBERS][2 * WORDS];

static void prepare(void)
{
    for (int n = 0; n < NUMBERS; n++)
        for (int i = 0; i < WORDS; i++) {
            a[n][i] = corpus_random();
            b[n][i] = corpus_random();
        }
}

static uint64_t bigint_rows(void)
{
    for (int n = 0; n < NUMBERS; n++) {
        for (int i = 0; i < WORDS; i++)
            product[n][i] = 0;
        for (int i = 0; i < WORDS; i++) {
            uint64_t carry = 0;
            for (int j = 0; j < WORDS; j++) {
                carry += (uint64_t)a[n][i] * b[n][j] + product[n][i + j];
                product[n][i + j] = (uint32_t)carry;
                carry >>= 32;
            }
            product[n][i + WORDS] = (uint32_t)carry;
        }
    }
    return 0;
}

static void to_longs(const uint32_t *words, uint64_t *out_longs)
{
    for (int i = 0; i < LONGS; i++)
        out_longs[i] = words[2 * i] | (uint64_t)words[2 * i + 1] << 32;
}

static void to_words(const uint64_t *longs, uint32_t *out_words)
{
    for (int i = 0; i < 2 * LONGS; i++) {
        out_words[2 * i] = (uint32_t)longs[i];
        out_words[2 * i + 1] = (uint32_t)(longs[i] >> 32);
    }
}

static uint64_t bigint_long_rows(void)
{
    uint64_t x[LONGS], y[LONGS], z[2 * LONGS];
    for (int n = 0; n < NUMBERS; n++) {
        to_longs(a[n], x);
        to_longs(b[n], y);
        for (int i = 0; i < LONGS; i++)
            z[i] = 0;
        for (int i = 0; i < LONGS; i++) {
            uint64_t carry = 0;
            for (int j = 0; j < LONGS; j++) {
                uint128 sum = (uint128)x[i] * y[j] + z[i + j] + carry;
                z[i + j] = (uint64_t)sum;
                carry = (uint64_t)(sum >> 64);
            }
            z[i + LONGS] = carry;
        }
        to_words(z, product[n]);
    }
    return 0;
}

/* Returns the low word of x * y + z + *carry, computed from halves of words, and stores the high word in
 * *carry. */
static inline uint64_t multiplied(uint64_t x, uint64_t y, uint64_t z, uint64_t *carry)
{
    uint64_t x0 = (uint32_t)x, x1 = x >> 32, y0 = (uint32_t)y, y1 = y >> 32;
    uint64_t low = x0 * y0, middle = x1 * y0 + (low >> 32), other = x0 * y1 + (uint32_t)middle;
    uint64_t word = other << 32 | (uint32_t)low, high = x1 * y1 + (middle >> 32) + (other >> 32);
    word += z;
    high += word < z;
    word += *carry;
    *carry = high + (word < *carry);
    return word;
}

/* Uses 64-bit words, but no 128-bit type. */
static uint64_t bigint_long_halves(void)
{
    uint64_t x[LONGS], y[LONGS], z[2 * LONGS];
    for (int n = 0; n < NUMBERS; n++) {
        to_longs(a[n], x);
        to_longs(b[n], y);
        for (int i = 0; i < LONGS; i++)
            z[i] = 0;
        for (int i = 0; i < LONGS; i++) {
            uint64_t carry = 0;
            for (int j = 0; j < LONGS; j++)
                z[i + j] = multiplied(x[i], y[j], z[i + j], &carry);
            z[i + LONGS] = carry;
        }
        to_words(z, product[n]);
    }
    return 0;
}

/* Sums the low and high halves of each column separately, and propagates the carries at the end. */
static uint64_t bigint_late(void)
{
    uint64_t sums[2 * WORDS];
    for (int n = 0; n < NUMBERS; n++) {
        uint64_t carry = 0;
        for (int c = 0; c < 2 * WORDS; c++)
            sums[c] = 0;
        for (int i = 0; i < WORDS; i++)
            for (int j = 0; j < WORDS; j++) {
                uint64_t part = (uint64_t)a[n][i] * b[n][j];
                sums[i + j] += (uint32_t)part;
                sums[i + j + 1] += part >> 32;
            }
        for (int c = 0; c < 2 * WORDS; c++) {
            carry += sums[c];
            product[n][c] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    return 0;
}

const struct group bigint = {
    prepare,
    product,
    sizeof product,
    {PROGRAM(bigint_rows), PROGRAM(bigint_long_rows), PROGRAM(bigint_long_halves), PROGRAM(bigint_late)}};
