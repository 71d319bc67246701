/* tests/corpus/joulec/sum_of_ratios.c - a sum of ratios of powers of 2, so that the result is exact in any
 * order.
 *
 * The programs divide for each ratio, for each pair of ratios, or at the end, or make more divisions than
 * ratios.
 */
#include "corpus.h"

#define N     1024
#define TIMES 48

static double x[N], y[N];

static void prepare(void)
{
    for (int i = 0; i < N; i++) {
        x[i] = corpus_random() % 1024;
        y[i] = 1 << corpus_random() % 6;
    }
}

static uint64_t sum_of_ratios_each(void)
{
    double s = 0;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++)
            s += x[i] / y[i];
    return (uint64_t)(s * 64);
}

/* Sums the dividends with equal divisors first, and then divides. */
static uint64_t sum_of_ratios_late(void)
{
    double s = 0;
    for (int t = 0; t < TIMES; t++) {
        double sums[33] = {0};
        for (int i = 0; i < N; i++)
            sums[(int)y[i]] += x[i];
        for (int k = 1; k < 33; k++)
            s += sums[k] / k;
    }
    return (uint64_t)(s * 64);
}

static uint64_t sum_of_ratios_pairs(void)
{
    double s = 0;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i += 2)
            s += (x[i] * y[i + 1] + x[i + 1] * y[i]) / (y[i] * y[i + 1]);
    return (uint64_t)(s * 64);
}

/* Computes x[i + 1] / y[i + 1] as x[i + 1] / y[i] * (y[i] / y[i + 1]). */
static uint64_t sum_of_ratios_around(void)
{
    double s = 0;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i += 2)
            s += x[i] / y[i] + x[i + 1] / y[i] * (y[i] / y[i + 1]);
    return (uint64_t)(s * 64);
}

const struct group sum_of_ratios = {prepare,
                                    NULL,
                                    0,
                                    {PROGRAM(sum_of_ratios_each), PROGRAM(sum_of_ratios_pairs),
                                     PROGRAM(sum_of_ratios_late), PROGRAM(sum_of_ratios_around)}};
