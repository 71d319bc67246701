/* tests/corpus/joulec/histogram.c - a histogram of eight values.
 *
 * The programs use one table, two tables, fields of a word, or comparisons.
 */
#include "corpus.h"

#define N     32768
#define BINS  8
#define BLOCK 128 /* number of values per block, small enough to be counted in 8 bits */

static uint8_t bytes[N];
static uint32_t counts[BINS], pairs[64];

static void prepare(void)
{
    for (int i = 0; i < N; i++)
        bytes[i] = (uint8_t)corpus_random();
}

static uint64_t histogram_one(void)
{
    for (int k = 0; k < BINS; k++)
        counts[k] = 0;
    for (int i = 0; i < N; i++)
        counts[bytes[i] % BINS]++;
    return 0;
}

static uint64_t histogram_pairs(void)
{
    for (int k = 0; k < 64; k++)
        pairs[k] = 0;
    for (int i = 0; i < N; i += 2)
        pairs[bytes[i] % 8 << 3 | bytes[i + 1] % 8]++;
    for (int k = 0; k < BINS; k++)
        counts[k] = 0;
    for (int k = 0; k < 64; k++) {
        counts[k >> 3] += pairs[k];
        counts[k & 7] += pairs[k];
    }
    return 0;
}

static uint64_t histogram_fields(void)
{
    for (int k = 0; k < BINS; k++)
        counts[k] = 0;
    for (int i = 0; i < N; i += BLOCK) {
        uint64_t fields = 0;
        for (int j = 0; j < BLOCK; j++)
            fields += UINT64_C(1) << 8 * (bytes[i + j] % BINS);
        for (int k = 0; k < BINS; k++)
            counts[k] += fields >> 8 * k & 0xff;
    }
    return 0;
}

static uint64_t histogram_compare(void)
{
    uint32_t rest = N;
    for (int k = 0; k < BINS - 1; k++) {
        uint32_t count = 0;
        for (int i = 0; i < N; i++)
            count += bytes[i] % BINS == k;
        counts[k] = count;
        rest -= count;
    }
    counts[BINS - 1] = rest;
    return 0;
}

const struct group histogram = {prepare,
                                counts,
                                sizeof counts,
                                {PROGRAM(histogram_one), PROGRAM(histogram_pairs), PROGRAM(histogram_fields),
                                 PROGRAM(histogram_compare)}};
