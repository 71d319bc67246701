/* tests/corpus/joulec/spmv.c - a sparse matrix, two to fourteen values in a row, by a vector: rows one after the other, rows filled
 * up to one length, values with their places. All are small integers, so that every order is exact. */
#include <joule/budget.h>
#include <string.h>
#include "corpus.h"

#define ROWS    520 /* of thirteens */
#define LEAST   2
#define MOST    14
#define ENTRIES (ROWS * (LEAST + MOST) / 2)
#define TIMES   4

static double x[ROWS], y[ROWS], values[ENTRIES];
static uint32_t begin[ROWS + 1], columns[ENTRIES], rows[ENTRIES], ends[ENTRIES];
static double filled[ROWS][MOST], filled_turned[MOST][ROWS];
static uint32_t filled_columns[ROWS][MOST], filled_columns_turned[MOST][ROWS];

static void prepare_row(uint32_t row, uint32_t length)
{
    uint32_t at = begin[row];
    begin[row + 1] = at + length;
    for (uint32_t k = 0; k < length; k++, at++) {
        values[at] = corpus_random() % 16 + 1;
        columns[at] = corpus_random() % ROWS;
        rows[at] = row;
        ends[at] = k + 1 == length;
        filled[row][k] = filled_turned[k][row] = values[at];
        filled_columns[row][k] = filled_columns_turned[k][row] = columns[at];
    }
}

/* As many rows of each length, in random order. */
static void prepare(void)
{
    uint32_t lengths[ROWS];
    memset(filled, 0, sizeof filled);
    memset(filled_turned, 0, sizeof filled_turned);
    for (uint32_t i = 0; i < ROWS; i++) {
        uint32_t j = corpus_random() % (i + 1);
        x[i] = corpus_random() % 64;
        lengths[i] = lengths[j];
        lengths[j] = LEAST + i % (MOST - LEAST + 1);
    }
    for (uint32_t i = 0; i < ROWS; i++)
        prepare_row(i, lengths[i]);
}

static uint64_t spmv_rows(void)
{
    for (int t = 0; t < TIMES; t++)
        for (uint32_t i = 0; i < ROWS; i++) {
            double s = t;
            JOULE_LOOP(LEAST, MOST)
            for (uint32_t k = begin[i]; k < begin[i + 1]; k++)
                s += values[k] * x[columns[k]];
            y[i] = s;
        }
    return 0;
}

static uint64_t spmv_places(void)
{
    for (int t = 0; t < TIMES; t++) {
        for (uint32_t i = 0; i < ROWS; i++)
            y[i] = t;
        for (uint32_t k = 0; k < ENTRIES; k++)
            y[rows[k]] += values[k] * x[columns[k]];
    }
    return 0;
}

static uint64_t spmv_filled(void)
{
    for (int t = 0; t < TIMES; t++)
        for (uint32_t i = 0; i < ROWS; i++) {
            double s = t;
            for (uint32_t k = 0; k < MOST; k++)
                s += filled[i][k] * x[filled_columns[i][k]];
            y[i] = s;
        }
    return 0;
}

/* The first two values of all rows, then the next two. */
static uint64_t spmv_filled_turned(void)
{
    for (int t = 0; t < TIMES; t++) {
        for (uint32_t i = 0; i < ROWS; i++)
            y[i] = t;
        for (uint32_t k = 0; k < MOST; k += 2)
            for (uint32_t i = 0; i < ROWS; i++)
                y[i] += filled_turned[k][i] * x[filled_columns_turned[k][i]] +
                        filled_turned[k + 1][i] * x[filled_columns_turned[k + 1][i]];
    }
    return 0;
}

/* One loop over all; the sum of a row lies there from its first value on, and is whole at its last. */
static uint64_t spmv_marks(void)
{
    for (int t = 0; t < TIMES; t++) {
        double s = t;
        uint32_t row = 0;
        for (uint32_t k = 0; k < ENTRIES; k++) {
            s += values[k] * x[columns[k]];
            y[row] = s;
            row += ends[k];
            s = ends[k] ? t : s;
        }
    }
    return 0;
}

const struct group spmv = {prepare,
                           y,
                           sizeof y,
                           {PROGRAM(spmv_rows), PROGRAM(spmv_places), PROGRAM(spmv_filled),
                            PROGRAM(spmv_filled_turned), PROGRAM(spmv_marks)}};
