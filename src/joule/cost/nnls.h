/* joule/cost/nnls.h - least squares in which nothing is negative.
 *
 * Owns the sums of a problem's rows, its solution (Lawson and Hanson, "Solving Least Squares Problems", 1974, chapter 23), the
 * covariance of that and the condition of the problem. It allocates nothing.
 * Newcomers: rows are added one by one and not kept, so that a problem without some of them is a new one without those.
 */
#ifndef JOULE_NNLS_H
#define JOULE_NNLS_H

#include <stdbool.h>
#include <stddef.h>

#define NNLS_MOST 48 /* unknowns */

struct nnls {
    size_t count;                      /* of unknowns */
    double gram[NNLS_MOST][NNLS_MOST]; /* columns times columns */
    double moment[NNLS_MOST];          /* columns times values */
    double squares;                    /* of values */
    size_t rows;
};

void nnls_begin(struct nnls *problem, size_t count);
/* One equation: row times the unknowns is `value`; both already divided by its error. */
void nnls_add(struct nnls *problem, const double *row, double value);

/* x >= 0 with the least squares. False where it does not settle, which takes numbers that are not finite. */
bool nnls_solve(const struct nnls *problem, double *out_x);
/* Squares left over. */
double nnls_rest(const struct nnls *problem, const double *x);
/* One sd of each unknown, for rows of error 1, with those that are 0 held there; of one that is 0: as if it were alone.
 * INFINITY: no row tells. */
void nnls_errors(const struct nnls *problem, const double *x, double *out_sd);

/* Largest over smallest eigenvalue of the gram, its columns being scaled to length 1. INFINITY: they are not independent.
 * The two unknowns that are told apart worst; columns of length 0 are left out. */
double nnls_condition(const struct nnls *problem, size_t out_pair[2]);

#endif
