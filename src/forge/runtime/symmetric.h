/* runtime/symmetric.h - Cholesky factorisation of small dense positive definite matrices.
 *
 * Note: matrices are [n, n], row-major. Only the lower triangle is read, unless a comment says otherwise.
 */
#ifndef FORGE_RUNTIME_SYMMETRIC_H
#define FORGE_RUNTIME_SYMMETRIC_H

#include <stdbool.h>
#include <stddef.h>

/* Replaces the lower triangle of A [n, n] by L, where L L' = A. Returns false if A is not positive definite;
 * A is then partially overwritten. */
bool symmetric_factor(double *a, size_t n);
/* Replaces x [n] by the solution y of L L' y = x. */
void symmetric_solve(const double *l, size_t n, double *x);
/* Computes both triangles of the inverse of L L'. out_inverse: [n, n]. */
void symmetric_inverse(const double *l, size_t n, double *out_inverse);
/* Returns the logarithm of the determinant of L L'. */
double symmetric_log_determinant(const double *l, size_t n);
/* Returns x' A y. x, y: [n]. */
double symmetric_form(const double *a, size_t n, const double *x, const double *y);
/* Computes out = A x. x, out: [n]; they must not overlap. */
void symmetric_apply(const double *a, size_t n, const double *x, double *out);

#endif
