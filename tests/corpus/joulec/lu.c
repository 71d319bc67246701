/* tests/corpus/joulec/lu.c - LU factorisation of 8 x 8 matrices without pivoting. The matrices contain small
 * integers, and their pivots are powers of 2, so that the result is exact in any order.
 *
 * The programs work by rows, by columns, by rows of full length, or on four matrices at once.
 */
#include <string.h>
#include "corpus.h"

#define N        8
#define MATRICES 64
#define BESIDE   4

typedef float matrix[N][N];

static matrix in[MATRICES], out[MATRICES];
static float beside[N][N][BESIDE];

static float small_integer(void)
{
    return (float)(corpus_random() % 5) - 2;
}

static void prepare(void)
{
    memset(in, 0, sizeof in);
    for (int m = 0; m < MATRICES; m++) {
        matrix lower = {{0}}, upper = {{0}};
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                if (j < i)
                    lower[i][j] = small_integer();
                else
                    upper[i][j] = j == i ? (float)(1 << corpus_random() % 3) : small_integer();
        for (int i = 0; i < N; i++) {
            lower[i][i] = 1;
            for (int j = 0; j < N; j++)
                for (int k = 0; k < N; k++)
                    in[m][i][j] += lower[i][k] * upper[k][j];
        }
    }
}

static uint64_t lu_rows(void)
{
    memcpy(out, in, sizeof out);
    for (int m = 0; m < MATRICES; m++)
        for (int k = 0; k < N; k++)
            for (int i = k + 1; i < N; i++) {
                out[m][i][k] /= out[m][k][k];
                for (int j = k + 1; j < N; j++)
                    out[m][i][j] -= out[m][i][k] * out[m][k][j];
            }
    return 0;
}

/* Updates rows of full length. Subtracting zeros changes nothing. */
static uint64_t lu_whole_rows(void)
{
    memcpy(out, in, sizeof out);
    for (int m = 0; m < MATRICES; m++)
        for (int k = 0; k < N; k++) {
            float pivot_row[N] = {0}, inverse = 1 / out[m][k][k];
            for (int j = k + 1; j < N; j++)
                pivot_row[j] = out[m][k][j];
            for (int i = k + 1; i < N; i++) {
                float factor = out[m][i][k] * inverse;
                for (int j = 0; j < N; j++)
                    out[m][i][j] -= factor * pivot_row[j];
                out[m][i][k] = factor;
            }
        }
    return 0;
}

/* Computes column by column. Subtracts from each value all products that it needs. */
static uint64_t lu_columns(void)
{
    memcpy(out, in, sizeof out);
    for (int m = 0; m < MATRICES; m++)
        for (int j = 0; j < N; j++) {
            for (int k = 0; k < j; k++)
                for (int i = k + 1; i < N; i++)
                    out[m][i][j] -= out[m][i][k] * out[m][k][j];
            for (int i = j + 1; i < N; i++)
                out[m][i][j] /= out[m][j][j];
        }
    return 0;
}

static void factor_beside(void)
{
    for (int k = 0; k < N; k++)
        for (int i = k + 1; i < N; i++) {
            for (int b = 0; b < BESIDE; b++)
                beside[i][k][b] /= beside[k][k][b];
            for (int j = k + 1; j < N; j++)
                for (int b = 0; b < BESIDE; b++)
                    beside[i][j][b] -= beside[i][k][b] * beside[k][j][b];
        }
}

static uint64_t lu_beside(void)
{
    for (int m = 0; m < MATRICES; m += BESIDE) {
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                for (int b = 0; b < BESIDE; b++)
                    beside[i][j][b] = in[m + b][i][j];
        factor_beside();
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                for (int b = 0; b < BESIDE; b++)
                    out[m + b][i][j] = beside[i][j][b];
    }
    return 0;
}

const struct group lu = {prepare,
                         out,
                         sizeof out,
                         {PROGRAM(lu_rows), PROGRAM(lu_columns), PROGRAM(lu_whole_rows), PROGRAM(lu_beside)}};
