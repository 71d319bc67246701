/* tests/corpus/joulec/division.c - quotients by divisors that are not constant.
 *
 * The programs divide 32-bit or 64-bit integers, double or float values, or multiply by a reciprocal.
 */
#include "corpus.h"

#define N     2048
#define TIMES 16

static uint32_t x[N], by[N];
static double inverse[N];

static void prepare(void)
{
    for (int i = 0; i < N; i++) {
        x[i] = corpus_random() & 0xfffff;
        by[i] = corpus_random() % 1000 + 3;
        inverse[i] = 1.0 / by[i] * (1 + 1e-12);
    }
}

static uint64_t division_32(void)
{
    uint64_t s = 0;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++)
            s += x[i] / by[i];
    return s;
}

static uint64_t division_64(void)
{
    uint64_t s = 0;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++)
            s += ((uint64_t)x[i] << 40) / ((uint64_t)by[i] << 40);
    return s;
}

static uint64_t division_floats(void)
{
    uint64_t s = 0;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++)
            s += (uint32_t)((double)x[i] / (double)by[i]);
    return s;
}

static uint64_t division_singles(void)
{
    uint64_t s = 0;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++)
            s += (uint32_t)((float)x[i] / (float)by[i]);
    return s;
}

static uint64_t division_inverse(void)
{
    uint64_t s = 0;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++)
            s += (uint32_t)(x[i] * inverse[i]);
    return s;
}

const struct group division = {prepare,
                               NULL,
                               0,
                               {PROGRAM(division_32), PROGRAM(division_64), PROGRAM(division_floats),
                                PROGRAM(division_singles), PROGRAM(division_inverse)}};
