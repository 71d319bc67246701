/* tests/corpus/joulec/dot_product.c - a dot product of small integers in floating point, so that the result
 * is exact in any order.
 *
 * The programs use one, two or three accumulators, or squares.
 */
#include "corpus.h"

#define N     1020 /* a multiple of 3 */
#define TIMES 128

static double x[N], y[N];

static void prepare(void)
{
    for (int i = 0; i < N; i++) {
        x[i] = corpus_random() % 64;
        y[i] = corpus_random() % 64;
    }
}

static uint64_t dot_product_one(void)
{
    double s = 0;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++)
            s += x[i] * y[i];
    return (uint64_t)s;
}

static uint64_t dot_product_two(void)
{
    double s = 0, r = 0;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i += 2) {
            s += x[i] * y[i];
            r += x[i + 1] * y[i + 1];
        }
    return (uint64_t)(s + r);
}

static uint64_t dot_product_three(void)
{
    double s = 0, r = 0, q = 0;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i += 3) {
            s += x[i] * y[i];
            r += x[i + 1] * y[i + 1];
            q += x[i + 2] * y[i + 2];
        }
    return (uint64_t)(s + r + q);
}

/* x y = ((x + y)^2 - x^2 - y^2) / 2 */
static uint64_t dot_product_squares(void)
{
    double s = 0, r = 0;
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < N; i++) {
            s += (x[i] + y[i]) * (x[i] + y[i]);
            r += x[i] * x[i] + y[i] * y[i];
        }
    return (uint64_t)((s - r) / 2);
}

const struct group dot_product = {prepare,
                                  NULL,
                                  0,
                                  {PROGRAM(dot_product_one), PROGRAM(dot_product_two),
                                   PROGRAM(dot_product_three), PROGRAM(dot_product_squares)}};
