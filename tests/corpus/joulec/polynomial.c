/* tests/corpus/joulec/polynomial.c - a polynomial of degree 15 at small integers, so that any order of
 * evaluation is exact.
 *
 * The programs use Horner's rule, powers, even and odd coefficients, or Estrin's scheme, or add one
 * coefficient at a time for all x.
 */
#include "corpus.h"

#define N      8000
#define DEGREE 15

static double x[N], c[DEGREE + 1], y[N];

static void prepare(void)
{
    for (int i = 0; i < N; i++)
        x[i] = (double)(corpus_random() % 7) - 3;
    for (int k = 0; k <= DEGREE; k++)
        c[k] = (double)(corpus_random() % 9) - 4;
}

static uint64_t polynomial_horner(void)
{
    for (int i = 0; i < N; i++) {
        double s = c[DEGREE];
        for (int k = DEGREE - 1; k >= 0; k--)
            s = s * x[i] + c[k];
        y[i] = s;
    }
    return 0;
}

static uint64_t polynomial_powers(void)
{
    for (int i = 0; i < N; i++) {
        double s = c[0], p = 1;
        for (int k = 1; k <= DEGREE; k++) {
            p *= x[i];
            s += c[k] * p;
        }
        y[i] = s;
    }
    return 0;
}

static uint64_t polynomial_even_odd(void)
{
    for (int i = 0; i < N; i++) {
        double xx = x[i] * x[i], even = c[DEGREE - 1], odd = c[DEGREE];
        for (int k = DEGREE - 3; k >= 0; k -= 2) {
            even = even * xx + c[k];
            odd = odd * xx + c[k + 1];
        }
        y[i] = odd * x[i] + even;
    }
    return 0;
}

static uint64_t polynomial_estrin(void)
{
    for (int i = 0; i < N; i++) {
        double x1 = x[i], x2 = x1 * x1, x4 = x2 * x2, x8 = x4 * x4;
        double a = c[0] + c[1] * x1 + (c[2] + c[3] * x1) * x2, b = c[4] + c[5] * x1 + (c[6] + c[7] * x1) * x2;
        double d = c[8] + c[9] * x1 + (c[10] + c[11] * x1) * x2,
               e = c[12] + c[13] * x1 + (c[14] + c[15] * x1) * x2;
        y[i] = a + b * x4 + (d + e * x4) * x8;
    }
    return 0;
}

/* Adds one coefficient for all x, and then the next one. The sums are in memory. */
static uint64_t polynomial_by_coefficient(void)
{
    for (int i = 0; i < N; i++)
        y[i] = c[DEGREE];
    for (int k = DEGREE - 1; k >= 0; k--)
        for (int i = 0; i < N; i++)
            y[i] = y[i] * x[i] + c[k];
    return 0;
}

const struct group polynomial = {prepare,
                                 y,
                                 sizeof y,
                                 {PROGRAM(polynomial_horner), PROGRAM(polynomial_powers),
                                  PROGRAM(polynomial_even_odd), PROGRAM(polynomial_estrin),
                                  PROGRAM(polynomial_by_coefficient)}};
