/* tests/corpus/joulec/popcount.c - the number of set bits of words.
 *
 * The programs use tables for bytes or half words, sums inside one word or two words, or sums of columns of
 * bits.
 */
#include "corpus.h"

#define N     2048
#define TIMES 16

static uint32_t x[N];
static uint8_t counts[N], bytes[256], halves[65536];

static void prepare(void)
{
    for (int i = 0; i < N; i++)
        x[i] = corpus_random();
    for (int k = 0; k < 256; k++)
        bytes[k] = (uint8_t)__builtin_popcount((unsigned)k);
    for (int k = 0; k < 65536; k++)
        halves[k] = (uint8_t)(bytes[k & 0xff] + bytes[k >> 8]);
}

static uint64_t popcount_bytes(void)
{
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++)
            counts[i] = (uint8_t)(bytes[x[i] & 0xff] + bytes[x[i] >> 8 & 0xff] + bytes[x[i] >> 16 & 0xff] +
                                  bytes[x[i] >> 24]);
    return 0;
}

static uint64_t popcount_halves(void)
{
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++)
            counts[i] = (uint8_t)(halves[x[i] & 0xffff] + halves[x[i] >> 16]);
    return 0;
}

static uint64_t popcount_sums(void)
{
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++) {
            uint32_t v = x[i];
            v -= v >> 1 & 0x55555555;
            v = (v & 0x33333333) + (v >> 2 & 0x33333333);
            v = (v + (v >> 4)) & 0x0f0f0f0f;
            counts[i] = (uint8_t)(v * 0x01010101u >> 24);
        }
    return 0;
}

/* Sums the bits of two words in one word. */
static uint64_t popcount_pairs(void)
{
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i += 2) {
            uint64_t v = x[i] | (uint64_t)x[i + 1] << 32;
            v -= v >> 1 & 0x5555555555555555;
            v = (v & 0x3333333333333333) + (v >> 2 & 0x3333333333333333);
            v = (v + (v >> 4)) & 0x0f0f0f0f0f0f0f0f;
            v += v >> 8;
            v += v >> 16;
            counts[i] = v & 0x3f;
            counts[i + 1] = v >> 32 & 0x3f;
        }
    return 0;
}

/* Counts bits of equal weight with carry-save adders. */
static uint64_t popcount_bits(void)
{
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++) {
            uint32_t v = 0;
            for (int b = 0; b < 8; b++)
                v += x[i] >> b & 0x01010101;
            counts[i] = (uint8_t)(v + (v >> 8) + (v >> 16) + (v >> 24));
        }
    return 0;
}

const struct group popcount = {prepare,
                               counts,
                               sizeof counts,
                               {PROGRAM(popcount_bytes), PROGRAM(popcount_halves), PROGRAM(popcount_sums),
                                PROGRAM(popcount_pairs), PROGRAM(popcount_bits)}};
