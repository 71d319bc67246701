/* joule/cost/nnls.h - non-negative least squares (Lawson and Hanson, "Solving Least Squares Problems", 1974,
 * chapter 23).
 *
 * The functions also return the errors of the solution and the condition of the problem. They allocate no
 * memory.
 * Note: equations are summed, not stored. To leave some out, build the problem again.
 */
#ifndef JOULE_NNLS_H
#define JOULE_NNLS_H

#include <stdbool.h>
#include <stddef.h>

#define NNLS_MAX 48 /* maximum number of unknowns */

/* The sums over all equations. */
struct nnls {
    size_t count;                    /* number of unknowns */
    double gram[NNLS_MAX][NNLS_MAX]; /* A^T A: [count, count] */
    double moment[NNLS_MAX];         /* A^T b: [count] */
    double squares;                  /* b^T b */
    size_t rows;
};

/* Initialises an empty problem with `count` unknowns, at most NNLS_MAX. */
void nnls_begin(struct nnls *problem, size_t count);
/* Adds one equation: row times the unknowns = value. row: [count]. The caller must first divide row and value
 * by the standard error of the value. */
void nnls_add(struct nnls *problem, const double *row, double value);

/* Finds the x >= 0 that minimises the sum of squared residuals. out_x: [count]. Returns false if the search
 * does not converge, which happens only with non-finite numbers. */
bool nnls_solve(const struct nnls *problem, double *out_x);
/* Returns the sum of squared residuals. */
double nnls_residual(const struct nnls *problem, const double *x);
/* Sets out_sd to the standard error of each unknown, if each equation has an error of 1. An unknown that is 0
 * is fixed at 0. It gets the error that it would have as the only unknown. INFINITY: no equation depends on
 * the unknown. x, out_sd: [count] */
void nnls_errors(const struct nnls *problem, const double *x, double *out_sd);

/* Returns the ratio of the largest to the smallest eigenvalue of the Gram matrix, with the columns of A
 * scaled to length 1. INFINITY: linearly dependent. out_pair: the two unknowns that are hardest to separate.
 * Columns of length 0 are ignored. */
double nnls_condition(const struct nnls *problem, size_t out_pair[2]);

#endif
