/* tests/corpus/joulec/matvec.c - the product of a matrix and a vector of small integers, so that the result
 * is exact in any order.
 *
 * The programs work by rows, by columns, with a transposed matrix, or with two rows or two columns at once.
 */
#include "corpus.h"

#define ROWS    48
#define COLUMNS 96
#define TIMES   8

static double a[ROWS][COLUMNS], transposed[COLUMNS][ROWS], x[COLUMNS], y[ROWS];

static void prepare(void)
{
    for (int j = 0; j < COLUMNS; j++) {
        x[j] = corpus_random() % 64;
        for (int i = 0; i < ROWS; i++)
            transposed[j][i] = a[i][j] = corpus_random() % 64;
    }
}

static uint64_t matvec_rows(void)
{
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < ROWS; i++) {
            double s = t;
            for (int j = 0; j < COLUMNS; j++)
                s += a[i][j] * x[j];
            y[i] = s;
        }
    return 0;
}

/* Reads each column with a stride of COLUMNS values. */
static uint64_t matvec_columns(void)
{
    for (int t = 0; t < TIMES; t++) {
        for (int i = 0; i < ROWS; i++)
            y[i] = t;
        for (int j = 0; j < COLUMNS; j++)
            for (int i = 0; i < ROWS; i++)
                y[i] += a[i][j] * x[j];
    }
    return 0;
}

static uint64_t matvec_transposed(void)
{
    for (int t = 0; t < TIMES; t++) {
        for (int i = 0; i < ROWS; i++)
            y[i] = t;
        for (int j = 0; j < COLUMNS; j++)
            for (int i = 0; i < ROWS; i++)
                y[i] += transposed[j][i] * x[j];
    }
    return 0;
}

static uint64_t matvec_two_rows(void)
{
    for (int t = 0; t < TIMES; t++)
        for (int i = 0; i < ROWS; i += 2) {
            double s = t, r = s;
            for (int j = 0; j < COLUMNS; j++) {
                s += a[i][j] * x[j];
                r += a[i + 1][j] * x[j];
            }
            y[i] = s;
            y[i + 1] = r;
        }
    return 0;
}

/* Adds two columns in one pass, which halves the loads and stores of the sums. */
static uint64_t matvec_two_columns(void)
{
    for (int t = 0; t < TIMES; t++) {
        for (int i = 0; i < ROWS; i++)
            y[i] = t;
        for (int j = 0; j < COLUMNS; j += 2)
            for (int i = 0; i < ROWS; i++)
                y[i] += a[i][j] * x[j] + a[i][j + 1] * x[j + 1];
    }
    return 0;
}

const struct group matvec = {prepare,
                             y,
                             sizeof y,
                             {PROGRAM(matvec_rows), PROGRAM(matvec_columns), PROGRAM(matvec_transposed),
                              PROGRAM(matvec_two_rows), PROGRAM(matvec_two_columns)}};
