/* tests/corpus/joulec/stencil.c - a five-point stencil: the sum of each point and its four neighbours.
 *
 * The programs work by rows, by columns, in tiles, by pairs of columns, or in two steps.
 */
#include "corpus.h"

#define N    64
#define TILE 4

static double in[N + 2][N + 2], out[N][N], flat[N + 2][N];

static void prepare(void)
{
    for (int i = 0; i < N + 2; i++)
        for (int j = 0; j < N + 2; j++)
            in[i][j] = corpus_random() % 1000;
}

static double cross(int i, int j)
{
    return in[i + 1][j + 1] + in[i][j + 1] + in[i + 2][j + 1] + in[i + 1][j] + in[i + 1][j + 2];
}

static uint64_t stencil_rows(void)
{
    for (int t = 0; t < 8; t++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                out[i][j] = cross(i, j) + t;
    return 0;
}

static uint64_t stencil_columns(void)
{
    for (int t = 0; t < 8; t++)
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++)
                out[i][j] = cross(i, j) + t;
    return 0;
}

static uint64_t stencil_tiles(void)
{
    for (int t = 0; t < 8; t++)
        for (int jj = 0; jj < N; jj += TILE)
            for (int i = 0; i < N; i++)
                for (int j = jj; j < jj + TILE; j++)
                    out[i][j] = cross(i, j) + t;
    return 0;
}

static uint64_t stencil_column_pairs(void)
{
    for (int t = 0; t < 8; t++)
        for (int j = 0; j < N; j += 2)
            for (int i = 0; i < N; i++) {
                out[i][j] = cross(i, j) + t;
                out[i][j + 1] = cross(i, j + 1) + t;
            }
    return 0;
}

static uint64_t stencil_two_steps(void)
{
    for (int t = 0; t < 8; t++) {
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                flat[i][j] = in[i + 1][j] + in[i + 1][j + 1] + in[i + 1][j + 2];
        for (int j = 0; j < N; j++)
            for (int i = 0; i < N; i++)
                out[i][j] = flat[i][j] + in[i][j + 1] + in[i + 2][j + 1] + t;
    }
    return 0;
}

const struct group stencil = {prepare,
                              out,
                              sizeof out,
                              {PROGRAM(stencil_rows), PROGRAM(stencil_columns), PROGRAM(stencil_tiles),
                               PROGRAM(stencil_column_pairs), PROGRAM(stencil_two_steps)}};
