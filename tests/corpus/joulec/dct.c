/* tests/corpus/joulec/dct.c - cosine transforms of 8 x 8 blocks in integers, so that the result is exact in
 * any order.
 *
 * The programs compute matrix products with two loop orders, or use the symmetry of the cosines, once or
 * recursively.
 */
#include "corpus.h"

#define N      8
#define BLOCKS 64

static int32_t in[BLOCKS][N][N], out[BLOCKS][N][N], half[N][N];
static int32_t transposed[N][N]; /* transpose of `waves` */

/* Ck = 64 sqrt(2) cos(pi k / 16), rounded. */
enum { C1 = 89, C2 = 84, C3 = 75, C4 = 64, C5 = 50, C6 = 35, C7 = 18 };

static const int32_t waves[N][N] = {
    {C4, C4, C4, C4, C4, C4, C4, C4},     {C1, C3, C5, C7, -C7, -C5, -C3, -C1},
    {C2, C6, -C6, -C2, -C2, -C6, C6, C2}, {C3, -C7, -C1, -C5, C5, C1, C7, -C3},
    {C4, -C4, -C4, C4, C4, -C4, -C4, C4}, {C5, -C1, C7, C3, -C3, -C7, C1, -C5},
    {C6, -C2, C2, -C6, -C6, C2, -C2, C6}, {C7, -C5, C3, -C1, C1, -C3, C5, -C7}};

static void prepare(void)
{
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                in[b][i][j] = (int32_t)(corpus_random() % 256) - 128;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            transposed[j][i] = waves[i][j];
}

/* Transforms the rows, then the columns. */
static uint64_t dct_sums(void)
{
    for (int b = 0; b < BLOCKS; b++) {
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                int32_t sum = 0;
                for (int k = 0; k < N; k++)
                    sum += in[b][i][k] * waves[j][k];
                half[i][j] = sum;
            }
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                int32_t sum = 0;
                for (int k = 0; k < N; k++)
                    sum += waves[i][k] * half[k][j];
                out[b][i][j] = sum;
            }
    }
    return 0;
}

/* Adds the contribution of each value to a whole row of sums. */
static uint64_t dct_rows(void)
{
    for (int b = 0; b < BLOCKS; b++) {
        for (int i = 0; i < N; i++) {
            int32_t sums[N] = {0};
            for (int k = 0; k < N; k++)
                for (int j = 0; j < N; j++)
                    sums[j] += in[b][i][k] * transposed[k][j];
            for (int j = 0; j < N; j++)
                half[i][j] = sums[j];
        }
        for (int i = 0; i < N; i++) {
            int32_t sums[N] = {0};
            for (int k = 0; k < N; k++)
                for (int j = 0; j < N; j++)
                    sums[j] += waves[i][k] * half[k][j];
            for (int j = 0; j < N; j++)
                out[b][i][j] = sums[j];
        }
    }
    return 0;
}

/* Even coefficients depend only on sums of mirrored samples, and odd coefficients only on differences. */
static void fold_once(const int32_t *x, int32_t step, int32_t *y)
{
    int32_t sums[4], differences[4];
    for (int k = 0; k < 4; k++) {
        sums[k] = x[k * step] + x[(7 - k) * step];
        differences[k] = x[k * step] - x[(7 - k) * step];
    }
    for (int j = 0; j < N; j += 2) {
        int32_t even = 0, odd = 0;
        for (int k = 0; k < 4; k++) {
            even += waves[j][k] * sums[k];
            odd += waves[j + 1][k] * differences[k];
        }
        y[j * step] = even;
        y[(j + 1) * step] = odd;
    }
}

static uint64_t dct_folded(void)
{
    for (int b = 0; b < BLOCKS; b++) {
        for (int i = 0; i < N; i++)
            fold_once(in[b][i], 1, half[i]);
        for (int j = 0; j < N; j++)
            fold_once(&half[0][j], N, &out[b][0][j]);
    }
    return 0;
}

/* Uses the symmetry recursively for the sums. */
static inline void fold_all(const int32_t *x, int32_t step, int32_t *y)
{
    int32_t s0 = x[0] + x[7 * step], s1 = x[step] + x[6 * step], s2 = x[2 * step] + x[5 * step];
    int32_t s3 = x[3 * step] + x[4 * step], d0 = x[0] - x[7 * step], d1 = x[step] - x[6 * step];
    int32_t d2 = x[2 * step] - x[5 * step], d3 = x[3 * step] - x[4 * step];
    int32_t outer = s0 + s3, inner = s1 + s2, p = s0 - s3, q = s1 - s2;
    y[0] = C4 * (outer + inner);
    y[4 * step] = C4 * (outer - inner);
    y[2 * step] = C2 * p + C6 * q;
    y[6 * step] = C6 * p - C2 * q;
    y[step] = C1 * d0 + C3 * d1 + C5 * d2 + C7 * d3;
    y[3 * step] = C3 * d0 - C7 * d1 - C1 * d2 - C5 * d3;
    y[5 * step] = C5 * d0 - C1 * d1 + C7 * d2 + C3 * d3;
    y[7 * step] = C7 * d0 - C5 * d1 + C3 * d2 - C1 * d3;
}

static uint64_t dct_fast(void)
{
    for (int b = 0; b < BLOCKS; b++) {
        for (int i = 0; i < N; i++)
            fold_all(in[b][i], 1, half[i]);
        for (int j = 0; j < N; j++)
            fold_all(&half[0][j], N, &out[b][0][j]);
    }
    return 0;
}

const struct group dct = {
    prepare, out, sizeof out, {PROGRAM(dct_sums), PROGRAM(dct_rows), PROGRAM(dct_folded), PROGRAM(dct_fast)}};
