/* tests/corpus/joulec/spmv.c - the product of a sparse matrix, with two to fourteen values in a row, and a
 * vector. All values are small integers, so that the result is exact in any order.
 *
 * The programs visit rows, visit values with their coordinates, use rows that are padded to one length, use
 * the transpose of these padded rows, or use one loop with marks of the ends of rows.
 */
#include <joule/budget.h>
#include <string.h>
#include "corpus.h"

#define ROWS       520 /* a multiple of 13 */
#define MIN_VALUES 2
#define MAX_VALUES 14
#define ENTRIES    (ROWS * (MIN_VALUES + MAX_VALUES) / 2)
#define TIMES      4

static double x[ROWS], y[ROWS], values[ENTRIES];
static uint32_t begin[ROWS + 1], columns[ENTRIES], rows[ENTRIES], ends[ENTRIES];
static double padded[ROWS][MAX_VALUES], padded_transposed[MAX_VALUES][ROWS];
static uint32_t padded_columns[ROWS][MAX_VALUES], padded_columns_transposed[MAX_VALUES][ROWS];

static void prepare_row(uint32_t row, uint32_t length)
{
    uint32_t at = begin[row];
    begin[row + 1] = at + length;
    for (uint32_t k = 0; k < length; k++, at++) {
        values[at] = corpus_random() % 16 + 1;
        columns[at] = corpus_random() % ROWS;
        rows[at] = row;
        ends[at] = k + 1 == length;
        padded[row][k] = padded_transposed[k][row] = values[at];
        padded_columns[row][k] = padded_columns_transposed[k][row] = columns[at];
    }
}

/* Makes the same number of rows of each length, in random order. */
static void prepare(void)
{
    uint32_t lengths[ROWS];
    memset(padded, 0, sizeof padded);
    memset(padded_transposed, 0, sizeof padded_transposed);
    for (uint32_t i = 0; i < ROWS; i++) {
        uint32_t j = corpus_random() % (i + 1);
        x[i] = corpus_random() % 64;
        lengths[i] = lengths[j];
        lengths[j] = MIN_VALUES + i % (MAX_VALUES - MIN_VALUES + 1);
    }
    for (uint32_t i = 0; i < ROWS; i++)
        prepare_row(i, lengths[i]);
}

static uint64_t spmv_rows(void)
{
    for (int t = 0; t < TIMES; t++)
        for (uint32_t i = 0; i < ROWS; i++) {
            double s = t;
            JOULE_LOOP(MIN_VALUES, MAX_VALUES)
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

static uint64_t spmv_padded(void)
{
    for (int t = 0; t < TIMES; t++)
        for (uint32_t i = 0; i < ROWS; i++) {
            double s = t;
            for (uint32_t k = 0; k < MAX_VALUES; k++)
                s += padded[i][k] * x[padded_columns[i][k]];
            y[i] = s;
        }
    return 0;
}

/* Adds the first two values of all rows, then the next two. */
static uint64_t spmv_padded_transposed(void)
{
    for (int t = 0; t < TIMES; t++) {
        for (uint32_t i = 0; i < ROWS; i++)
            y[i] = t;
        for (uint32_t k = 0; k < MAX_VALUES; k += 2)
            for (uint32_t i = 0; i < ROWS; i++)
                y[i] += padded_transposed[k][i] * x[padded_columns_transposed[k][i]] +
                        padded_transposed[k + 1][i] * x[padded_columns_transposed[k + 1][i]];
    }
    return 0;
}

/* Uses one loop for all values. The sum of a row is stored at each of its values, and is complete at the last
 * value. */
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
                           {PROGRAM(spmv_rows), PROGRAM(spmv_places), PROGRAM(spmv_padded),
                            PROGRAM(spmv_padded_transposed), PROGRAM(spmv_marks)}};
