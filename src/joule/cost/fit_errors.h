/* joule/cost/fit_errors.h - what both fits share. Only fit*.c include it. */
#ifndef JOULE_COST_FIT_ERRORS_H
#define JOULE_COST_FIT_ERRORS_H

#include "joule/cost/fit.h"

/* Of the errors that are known; NaN: none is. */
double fit_root_mean_square(const double *errors, size_t count);
/* The sums of `residual` and `left_out`. */
void fit_sum_up_errors(const struct fit_kernel *kernels, size_t count, struct fit_errors *errors);

#endif
