/* matrix.c - product and sum of two matrices, and a check of both. */
#define PROGRAM "offload"
#include "matrix.h"
#include "../support/support.h"
#include <math.h>
#include <string.h>

static void add_row(float *restrict c, const float *restrict b, float factor, size_t count)
{
    for (size_t j = 0; j < count; j++)
        c[j] += factor * b[j];
}

void matrix_compute(enum operation operation, size_t size, const float *a, const float *b, float *c)
{
    for (size_t i = 0; i < size; i++) {
        const float *row = a + i * size;
        float *to = c + i * size;
        if (operation == SUM) {
            memcpy(to, row, size * sizeof *to);
            add_row(to, b + i * size, 1, size);
            continue;
        }
        memset(to, 0, size * sizeof *to);
        for (size_t k = 0; k < size; k++)
            add_row(to, b + k * size, row[k], size);
    }
}

/* Writes m * x to `out`. */
static void multiply_vector(size_t size, const float *m, const double *x, double *out)
{
    for (size_t i = 0; i < size; i++) {
        out[i] = 0;
        for (size_t j = 0; j < size; j++)
            out[i] += (double)m[i * size + j] * x[j];
    }
}

bool matrix_check(enum operation operation, size_t size, const float *a, const float *b, const float *c,
                  uint64_t seed)
{
    double *x = allocate(4 * size * sizeof *x), *bx = x + size, *expected = bx + size, *cx = expected + size;
    for (size_t i = 0; i < size; i++)
        x[i] = next_random(&seed) >> 63 ? 1 : -1;
    multiply_vector(size, b, x, bx);
    multiply_vector(size, a, operation == PRODUCT ? bx : x, expected);
    multiply_vector(size, c, x, cx);
    /* Elements are between -1 and 1. Rounding errors of a product add up along its rows. */
    double tolerance = 1e-5 + 2e-7 * (double)size * sqrt((double)size);
    bool is_right = true;
    for (size_t i = 0; i < size; i++)
        if (!(fabs(expected[i] + (operation == SUM ? bx[i] : 0) - cx[i]) <= tolerance))
            is_right = false;
    free(x);
    return is_right;
}
