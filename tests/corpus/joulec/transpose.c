/* tests/corpus/joulec/transpose.c - the transpose of a matrix.
 *
 * The programs use ordered reads, ordered writes, tiles, or swaps.
 */
#include "corpus.h"

#define N 96

static uint32_t in[N][N], out[N][N];

static void prepare(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            in[i][j] = corpus_random();
}

static uint64_t transpose_reads(void)
{
    for (int t = 0; t < 4; t++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                out[j][i] = in[i][j] + (uint32_t)t;
    return 0;
}

static uint64_t transpose_writes(void)
{
    for (int t = 0; t < 4; t++)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                out[i][j] = in[j][i] + (uint32_t)t;
    return 0;
}

static uint64_t transpose_tiles(void)
{
    for (int t = 0; t < 4; t++)
        for (int ii = 0; ii < N; ii += 8)
            for (int jj = 0; jj < N; jj += 8)
                for (int i = ii; i < ii + 8; i++)
                    for (int j = jj; j < jj + 8; j++)
                        out[j][i] = in[i][j] + (uint32_t)t;
    return 0;
}

static uint64_t transpose_swaps(void)
{
    for (int t = 0; t < 4; t++) {
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                out[i][j] = in[i][j] + (uint32_t)t;
        for (int i = 0; i < N; i++)
            for (int j = 0; j < i; j++) {
                uint32_t kept = out[i][j];
                out[i][j] = out[j][i];
                out[j][i] = kept;
            }
    }
    return 0;
}

static uint64_t transpose_pairs(void)
{
    for (int t = 0; t < 4; t++)
        for (int i = 0; i < N; i += 2)
            for (int j = 0; j < N; j += 2) {
                out[j][i] = in[i][j] + (uint32_t)t;
                out[j][i + 1] = in[i + 1][j] + (uint32_t)t;
                out[j + 1][i] = in[i][j + 1] + (uint32_t)t;
                out[j + 1][i + 1] = in[i + 1][j + 1] + (uint32_t)t;
            }
    return 0;
}

const struct group transpose = {prepare,
                                out,
                                sizeof out,
                                {PROGRAM(transpose_reads), PROGRAM(transpose_writes),
                                 PROGRAM(transpose_tiles), PROGRAM(transpose_swaps),
                                 PROGRAM(transpose_pairs)}};
