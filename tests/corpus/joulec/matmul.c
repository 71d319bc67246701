/* tests/corpus/joulec/matmul.c - a product of matrices of small integers, so that the result is exact in any
 * order.
 *
 * The programs use different loop orders, a transposed operand, tiles, or two rows and two columns at a time.
 */
#include "corpus.h"

#define N    96
#define TILE 12

static double a[N][N], b[N][N], c[N][N], transposed[N][N];

static void prepare(void)
{
    for (int i = 0; i < N * N; i++) {
        a[i / N][i % N] = corpus_random() % 100;
        b[i / N][i % N] = corpus_random() % 100;
    }
}

static uint64_t matmul_ijk(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double s = 0;
            for (int k = 0; k < N; k++)
                s += a[i][k] * b[k][j];
            c[i][j] = s;
        }
    return 0;
}

static void clear(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            c[i][j] = 0;
}

static uint64_t matmul_ikj(void)
{
    clear();
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++)
                c[i][j] += a[i][k] * b[k][j];
    return 0;
}

static uint64_t matmul_jki(void)
{
    clear();
    for (int j = 0; j < N; j++)
        for (int k = 0; k < N; k++)
            for (int i = 0; i < N; i++)
                c[i][j] += a[i][k] * b[k][j];
    return 0;
}

static uint64_t matmul_transposed(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            transposed[j][i] = b[i][j];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            double s = 0;
            for (int k = 0; k < N; k++)
                s += a[i][k] * transposed[j][k];
            c[i][j] = s;
        }
    return 0;
}

static uint64_t matmul_tiled(void)
{
    clear();
    for (int kk = 0; kk < N; kk += TILE)
        for (int jj = 0; jj < N; jj += TILE)
            for (int i = 0; i < N; i++)
                for (int k = kk; k < kk + TILE; k++)
                    for (int j = jj; j < jj + TILE; j++)
                        c[i][j] += a[i][k] * b[k][j];
    return 0;
}

/* Computes two rows and two columns at a time. */
static uint64_t matmul_two_by_two(void)
{
    for (int i = 0; i < N; i += 2)
        for (int j = 0; j < N; j += 2) {
            double s = 0, t = 0, u = 0, v = 0;
            for (int k = 0; k < N; k++) {
                s += a[i][k] * b[k][j];
                t += a[i][k] * b[k][j + 1];
                u += a[i + 1][k] * b[k][j];
                v += a[i + 1][k] * b[k][j + 1];
            }
            c[i][j] = s, c[i][j + 1] = t, c[i + 1][j] = u, c[i + 1][j + 1] = v;
        }
    return 0;
}

const struct group matmul = {prepare,
                             c,
                             sizeof c,
                             {PROGRAM(matmul_ijk), PROGRAM(matmul_ikj), PROGRAM(matmul_jki),
                              PROGRAM(matmul_transposed), PROGRAM(matmul_tiled), PROGRAM(matmul_two_by_two)}};
