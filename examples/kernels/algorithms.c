/* algorithms.c - the six kernels: input, and computation. */
#define PROGRAM "kernels"
#include "kernels.h"
#include "../support/support.h"
#include <math.h>
#include <string.h>

/* --- matrices: [size, size], row-major --- */

/* The output is one matrix; so is the input, which is symmetric and has a large diagonal. */
static void prepare_matrix(size_t size, uint64_t seed, void **out_input, void **out_output, size_t *out_bytes)
{
    float *matrix = allocate(size * size * sizeof *matrix);
    fill_random(matrix, size * size, seed);
    for (size_t i = 0; i < size; i++) {
        for (size_t j = 0; j < i; j++)
            matrix[i * size + j] = matrix[j * size + i];
        matrix[i * size + i] = (float)size;
    }
    *out_bytes = size * size * sizeof *matrix;
    *out_input = matrix;
    *out_output = allocate(*out_bytes);
}

/* The input is two matrices, the second after the first. */
static void prepare_two(size_t size, uint64_t seed, void **out_input, void **out_output, size_t *out_bytes)
{
    *out_bytes = size * size * sizeof(float);
    *out_input = allocate(2 * *out_bytes);
    *out_output = allocate(*out_bytes);
    fill_random(*out_input, 2 * size * size, seed);
}

/* Writes the lower triangular matrix whose product with its transpose is the input. */
static void run_cholesky(size_t size, const void *input, void *output, bool is_parallel)
{
    const float *a = input;
    float *l = output;
    for (size_t j = 0; j < size; j++) {
        float square = a[j * size + j];
        for (size_t k = 0; k < j; k++)
            square -= l[j * size + k] * l[j * size + k];
        float diagonal = l[j * size + j] = sqrtf(square);
#pragma omp parallel for if (is_parallel)
        for (size_t i = j + 1; i < size; i++) {
            float sum = a[i * size + j];
            for (size_t k = 0; k < j; k++)
                sum -= l[i * size + k] * l[j * size + k];
            l[i * size + j] = sum / diagonal;
        }
    }
}

/* Writes both factors into one matrix. The first has ones on its diagonal, which are not stored. */
static void run_lu(size_t size, const void *input, void *output, bool is_parallel)
{
    float *lu = output;
    memcpy(lu, input, size * size * sizeof *lu);
    for (size_t k = 0; k < size; k++) {
        const float *pivots = lu + k * size;
#pragma omp parallel for if (is_parallel)
        for (size_t i = k + 1; i < size; i++) {
            float *row = lu + i * size;
            float factor = row[k] /= pivots[k];
            for (size_t j = k + 1; j < size; j++)
                row[j] -= factor * pivots[j];
        }
    }
}

static void run_product(size_t size, const void *input, void *output, bool is_parallel)
{
    const float *a = input, *b = a + size * size;
    float *c = output;
#pragma omp parallel for if (is_parallel)
    for (size_t i = 0; i < size; i++) {
        float *restrict row = c + i * size;
        memset(row, 0, size * sizeof *row);
        for (size_t k = 0; k < size; k++)
            for (size_t j = 0; j < size; j++)
                row[j] += a[i * size + k] * b[k * size + j];
    }
}

static void run_sum(size_t size, const void *input, void *output, bool is_parallel)
{
    const float *a = input, *b = a + size * size;
    float *restrict c = output;
#pragma omp parallel for if (is_parallel)
    for (size_t i = 0; i < size * size; i++)
        c[i] = a[i] + b[i];
}

/* --- collinear list: how many triples of points are on one line --- */

struct point {
    int32_t x, y;
};

static void prepare_points(size_t size, uint64_t seed, void **out_input, void **out_output, size_t *out_bytes)
{
    struct point *points = allocate(size * sizeof *points);
    for (size_t i = 0; i < size; i++) {
        points[i].x = (int32_t)(next_random(&seed) % 1000);
        points[i].y = (int32_t)(next_random(&seed) % 1000);
    }
    *out_bytes = sizeof(uint64_t);
    *out_input = points;
    *out_output = allocate(*out_bytes);
}

static void run_collinear(size_t size, const void *input, void *output, bool is_parallel)
{
    const struct point *points = input;
    uint64_t count = 0;
    /* The first points have the longest inner loops, so the threads take them a few at a time. */
#pragma omp parallel for schedule(dynamic, 4) reduction(+ : count) if (is_parallel)
    for (size_t i = 0; i < size; i++)
        for (size_t j = i + 1; j < size; j++) {
            int32_t x = points[j].x - points[i].x, y = points[j].y - points[i].y;
            for (size_t k = j + 1; k < size; k++)
                count += x * (points[k].y - points[i].y) == y * (points[k].x - points[i].x);
        }
    *(uint64_t *)output = count;
}

/* --- string matching: how often a pattern occurs in a text --- */

enum { PATTERN = 16, LETTERS = 2 };

/* The input is the text, and after it the pattern, which is a part of the text. */
static void prepare_text(size_t size, uint64_t seed, void **out_input, void **out_output, size_t *out_bytes)
{
    char *text = allocate(size + PATTERN);
    for (size_t i = 0; i < size; i++)
        text[i] = (char)('a' + next_random(&seed) % LETTERS);
    memcpy(text + size, text + size / 2, PATTERN);
    *out_bytes = sizeof(uint64_t);
    *out_input = text;
    *out_output = allocate(*out_bytes);
}

static void run_matching(size_t size, const void *input, void *output, bool is_parallel)
{
    const char *text = input, *pattern = text + size;
    uint64_t count = 0;
#pragma omp parallel for reduction(+ : count) if (is_parallel)
    for (size_t i = 0; i <= size - PATTERN; i++) {
        size_t equal = 0;
        while (equal < PATTERN && text[i + equal] == pattern[equal])
            equal++;
        count += equal == PATTERN;
    }
    *(uint64_t *)output = count;
}

enum { MAX_ROWS = 8192, MAX_POINTS = 30000, MAX_TEXT = 1000000000 };

const struct kernel kernels[KERNELS] = {
    {"cholesky", {200, 400, 800}, MAX_ROWS, prepare_matrix, run_cholesky},
    {"lu", {200, 400, 800}, MAX_ROWS, prepare_matrix, run_lu},
    {"product", {200, 400, 800}, MAX_ROWS, prepare_two, run_product},
    {"sum", {500, 1000, 2000}, MAX_ROWS, prepare_two, run_sum},
    {"collinear", {250, 500, 1000}, MAX_POINTS, prepare_points, run_collinear},
    {"matching", {2000000, 4000000, 8000000}, MAX_TEXT, prepare_text, run_matching},
};
