/* joule/cost/fit_errors.h - the errors of a fit, for speeds and prices alike. Only fit*.c and tests include
 * it.
 *
 * Note: errors are ln(modelled / measured); NaN: the kernel is not used.
 */
#ifndef JOULE_COST_FIT_ERRORS_H
#define JOULE_COST_FIT_ERRORS_H

#include "joule/cost/fit.h"

#define FIT_MAX_SPREAD 0.1 /* maximum log sd of a kernel's repeats; noisier kernels are not used */

/* A method to fit kernels. of: the problem, which is passed to both functions. */
struct fit_method {
    const void *of;
    /* Finds the unknowns (at most NNLS_MAX) from the kernels of all families but one; FIT_FAMILIES: from all
     * kernels. Returns false if the fit fails. */
    bool (*find)(const void *of, enum fit_family without, double *out_x);
    /* Sets out_errors to the error of each kernel for the unknowns x. */
    void (*errors)(const void *of, const double *x, double *out_errors);
};

/* Fills *out with the errors of x, the unknowns fitted to all kernels. Also fits without each family, for the
 * errors of that family. Returns false if one of these fits fails. */
bool fit_find_errors(const struct fit_method *method, const struct fit_kernel *kernels, size_t count,
                     const double *x, struct fit_errors *out);
/* Checks the errors of a fit. Returns UNSUPPORTED, with a message, if they are too large. */
joule_status fit_check_errors(const struct fit_errors *errors, joule_error *error);

#endif
