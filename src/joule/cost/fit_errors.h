/* joule/cost/fit_errors.h - how far a fit is off, the same way for speeds and prices. Only fit*.c and tests include it.
 *
 * Owns leaving families out and the sums of what is missed then. It knows neither what is fitted nor how.
 * Newcomers: errors are logarithms of factors; NaN is that of a kernel that is not used.
 */
#ifndef JOULE_COST_FIT_ERRORS_H
#define JOULE_COST_FIT_ERRORS_H

#include "joule/cost/fit.h"

#define FIT_MOST_SPREAD 0.1 /* of a kernel's repeats: others are not used */

/* A way to fit kernels. */
struct fit_way {
    const void *of;
    /* The unknowns, NNLS_MOST at most, without the kernels of a family (FIT_FAMILIES: with all). False: nothing fits. */
    bool (*find)(const void *of, enum fit_family without, double *out_x);
    /* By how much each kernel is missed with these unknowns. */
    void (*miss)(const void *of, const double *x, double *out_errors);
};

/* Fills in all of it, x being what all kernels fit: what is missed of them with it, and of each family by the fit of the others.
 * False: one of those fits nothing. */
bool fit_find_errors(const struct fit_way *way, const struct fit_kernel *kernels, size_t count,
                     const double *x, struct fit_errors *out);
/* UNSUPPORTED, with a message: too much is missed. */
joule_status fit_check_errors(const struct fit_errors *errors, joule_error *error);

#endif
