/* runtime/symmetric.h - positive definite matrices, dense and small.
 *
 * Owns the factorisation that attribution needs, in plain loops over doubles, row by row. Newcomers: a matrix is n x n
 * numbers, all of them there, of which only the lower triangle is read.
 */
#ifndef FORGE_RUNTIME_SYMMETRIC_H
#define FORGE_RUNTIME_SYMMETRIC_H

#include <stdbool.h>
#include <stddef.h>

/* Puts L with L L' = A in the place of A's lower triangle. False: A is not positive definite; it is then spoilt. */
bool symmetric_factor(double *a, size_t n);
/* x becomes the solution of L L' x = x. */
void symmetric_solve(const double *l, size_t n, double *x);
/* The inverse of L L', both triangles. */
void symmetric_inverse(const double *l, size_t n, double *out_inverse);
/* The logarithm of the determinant of L L'. */
double symmetric_log_determinant(const double *l, size_t n);
/* x' A y, by the lower triangle. */
double symmetric_form(const double *a, size_t n, const double *x, const double *y);
/* out = A x, by the lower triangle. */
void symmetric_apply(const double *a, size_t n, const double *x, double *out);

#endif
