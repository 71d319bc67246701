/* tests/corpus/joulec/adler32.c - the Adler-32 checksum of a text. It consists of two sums modulo 65521: the
 * sum of the bytes, and the sum of all intermediate values of the first sum.
 *
 * The sums are reduced after each byte, after eight bytes, or after a block. The block is summed with weights
 * or in steps of four bytes.
 */
#include "corpus.h"

#define N       16384
#define BLOCK   4096 /* bytes for which the sums stay below 2^32 */
#define MODULUS 65521u

static uint8_t text[N];

static void prepare(void)
{
    for (int i = 0; i < N; i++)
        text[i] = (uint8_t)corpus_random();
}

static uint64_t adler32_each(void)
{
    uint32_t a = 1, b = 0;
    for (int i = 0; i < N; i++) {
        a += text[i];
        a = a >= MODULUS ? a - MODULUS : a;
        b += a;
        b = b >= MODULUS ? b - MODULUS : b;
    }
    return (uint64_t)b << 32 | a;
}

static uint64_t adler32_often(void)
{
    uint32_t a = 1, b = 0;
    for (int begin = 0; begin < N; begin += 8) {
        for (int i = begin; i < begin + 8; i++) {
            a += text[i];
            b += a;
        }
        a %= MODULUS;
        b %= MODULUS;
    }
    return (uint64_t)b << 32 | a;
}

/* The weight of a byte in the second sum is the number of bytes from it to the end of the block. */
static uint64_t adler32_weights(void)
{
    uint32_t a = 1, b = 0;
    for (int begin = 0; begin < N; begin += BLOCK) {
        uint32_t sum = 0, weighted = 0;
        for (uint32_t i = 0; i < BLOCK; i++) {
            sum += text[(uint32_t)begin + i];
            weighted += (BLOCK - i) * text[(uint32_t)begin + i];
        }
        b = (b + BLOCK * a + weighted) % MODULUS;
        a = (a + sum) % MODULUS;
    }
    return (uint64_t)b << 32 | a;
}

/* Adds four bytes in each step. The first of them counts four times in the second sum. */
static uint64_t adler32_fours(void)
{
    uint32_t a = 1, b = 0;
    for (int begin = 0; begin < N; begin += BLOCK) {
        for (int i = begin; i < begin + BLOCK; i += 4) {
            uint32_t s = text[i], t = text[i + 1], u = text[i + 2], v = text[i + 3];
            b += 4 * a + 4 * s + 3 * t + 2 * u + v;
            a += s + t + u + v;
        }
        a %= MODULUS;
        b %= MODULUS;
    }
    return (uint64_t)b << 32 | a;
}

const struct group adler32 = {
    prepare,
    NULL,
    0,
    {PROGRAM(adler32_each), PROGRAM(adler32_often), PROGRAM(adler32_weights), PROGRAM(adler32_fours)}};
