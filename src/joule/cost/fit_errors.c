/* joule/cost/fit_errors.c - see fit_errors.h. */
#include "joule/cost/fit_errors.h"

#include <math.h>
#include "base/error.h"
#include "joule/cost/nnls.h"

#define MAX_LOG_SD 0.69 /* a factor of 2; a worse calibration is useless */

/* Returns the root mean square of the known errors; NaN if no error is known. */
static double root_mean_square(const double *errors, size_t count)
{
    double squares = 0;
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(errors[i])) {
            squares += errors[i] * errors[i];
            known++;
        }
    return known ? sqrt(squares / (double)known) : NAN;
}

static void set_means(const struct fit_kernel *kernels, size_t count, struct fit_errors *errors)
{
    for (int family = 0; family < FIT_FAMILIES; family++) {
        double own[FIT_MAX_KERNELS];
        for (size_t i = 0; i < count; i++)
            own[i] = (int)kernels[i].family == family ? errors->left_out[i] : NAN;
        errors->family_log_sd[family] = root_mean_square(own, count);
    }
    errors->residual_log_sd = root_mean_square(errors->residual, count);
    errors->log_sd = root_mean_square(errors->left_out, count);
}

bool fit_find_errors(const struct fit_method *method, const struct fit_kernel *kernels, size_t count,
                     const double *x, struct fit_errors *out)
{
    double other_x[NNLS_MAX], family_errors[FIT_MAX_KERNELS];
    method->errors(method->of, x, out->residual);
    for (size_t i = 0; i < count; i++)
        out->left_out[i] = NAN;
    for (int family = FIT_IDLE + 1; family < FIT_FAMILIES; family++) {
        if (!method->find(method->of, (enum fit_family)family, other_x))
            return false;
        method->errors(method->of, other_x, family_errors);
        for (size_t i = 0; i < count; i++)
            if ((int)kernels[i].family == family)
                out->left_out[i] = family_errors[i];
    }
    set_means(kernels, count, out);
    return true;
}

joule_status fit_check_errors(const struct fit_errors *errors, joule_error *error)
{
    if (errors->log_sd <= MAX_LOG_SD)
        return JOULE_OK;
    return error_set(
        error, JOULE_UNSUPPORTED,
        "the fit predicts left-out kernels with an error of a factor of %.2g: the fit is rejected",
        exp(errors->log_sd));
}
