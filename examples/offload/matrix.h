/* matrix.h - product and sum of two matrices, and a check of both. a, b, c: [size, size], row-major. */
#ifndef EXAMPLES_MATRIX_H
#define EXAMPLES_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum operation { PRODUCT = 1, SUM = 2 };
enum { MAX_SIZE = 4096 }; /* of a matrix that the server accepts: 64 MiB for each */

/* Computes c = a * b or c = a + b. */
void matrix_compute(enum operation operation, size_t size, const float *a, const float *b, float *c);

/* Returns whether c is the result. It multiplies a random vector by both sides, which takes size^2 steps, and
 * not the size^3 of a product. An element with an error above the rounding errors of `size` additions passes
 * with probability 1/2 or less. */
bool matrix_check(enum operation operation, size_t size, const float *a, const float *b, const float *c,
                  uint64_t seed);

#endif
