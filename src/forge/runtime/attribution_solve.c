/* runtime/attribution_solve.c - solves for the watts of each group; see attribution.h.
 *
 * The unknowns are the logarithms of the watts. The fit starts at the prior, scaled to the meter's sum, and
 * reaches the most probable point by Gauss-Newton steps. After each step the sum of the groups' joules equals
 * the meter's sum.
 *
 * Note: there is one fit for each pace of the drift. The answer is the fit with the greatest evidence, in
 * Laplace's approximation.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "forge/runtime/attribution_sums.h"
#include "forge/runtime/symmetric.h"

/* standard deviation that the error common to all groups adds to the logarithms; wide, because only ratios
 * between groups matter */
#define SCALE_LOG_SD        1.0
#define NOISE_PRIOR_WINDOWS 1.0 /* weight of the variance that the meter reports, as a number of windows */
#define NOISE_ROUNDS        6
#define MAX_STEPS           40
#define MAX_HALVINGS        12

/* One fit, with its work space. Vectors: [n], matrices: [n, n], row-major; n: number of groups. */
struct fit {
    const struct attribution *a;
    const struct whitened *w;
    double *precision;    /* inverse of the prior's covariance */
    const double *centre; /* mean of the prior: logarithms of watts */
    /* variance of the errors of the rows (attribution_sums.h), relative to the variance that the meter
     * reports */
    double noise;
    double *theta, *watts, *joules; /* the current point */
    double *trial, *step, *slope, *hessian, *covariance, *scratch;
    double misfit; /* sum of squared errors of the rows, relative to the variance that the meter reports */
    double evidence;
};

/* --- the prior ------------------------------------------------------------------------------------------ */

static bool is_prior(const struct attribution_group *g)
{
    return g->watts > 0 && isfinite(g->watts) && g->own_log_sd > 0 && isfinite(g->own_log_sd) &&
           g->kind_log_sd >= 0 && isfinite(g->kind_log_sd);
}

static void prior_covariance(const struct attribution_group *groups, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            const struct attribution_group *left = &groups[i], *right = &groups[j];
            out[i * n + j] = SCALE_LOG_SD * SCALE_LOG_SD +
                             (left->kind == right->kind ? left->kind_log_sd * right->kind_log_sd : 0) +
                             (i == j ? left->own_log_sd * left->own_log_sd : 0);
        }
}

/* Adds a constant to the logarithms `theta`, so that the joules of all groups add up to the meter's sum.
 * Computes watts and joules from them. theta, watts, joules: [count]. */
static void scale_to_sum(const struct attribution *a, double *theta, double *watts, double *joules)
{
    double sum = 0;
    for (size_t i = 0; i < a->count; i++)
        sum += exp(theta[i]) * a->seconds[i];
    double shift = log(a->joules / sum);
    for (size_t i = 0; i < a->count; i++) {
        theta[i] += shift;
        watts[i] = exp(theta[i]);
        joules[i] = watts[i] * a->seconds[i];
    }
}

/* Conditions the covariance of the logarithms of the joules on their known sum. covariance: [n, n]; joules:
 * [n]; along: [n], scratch memory. */
static void condition(double *covariance, size_t n, const double *joules, double *along)
{
    double variance = 0;
    memset(along, 0, n * sizeof *along);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            along[i] += covariance[i * n + j] * joules[j];
    for (size_t i = 0; i < n; i++)
        variance += joules[i] * along[i];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            covariance[i * n + j] -= along[i] * along[j] / variance;
}

/* --- the fit -------------------------------------------------------------------------------------------- */

/* Returns the negative log posterior, without constant terms. Sets f->misfit. */
static double negative_log_posterior(struct fit *f, const double *theta, const double *watts)
{
    size_t n = f->a->count;
    double *offset = f->scratch, squares = f->w->square + symmetric_form(f->w->gram, n, watts, watts);
    for (size_t i = 0; i < n; i++) {
        squares -= 2 * f->w->joules[i] * watts[i];
        offset[i] = theta[i] - f->centre[i];
    }
    f->misfit = fmax(squares, 0);
    return 0.5 * (f->misfit / f->noise + symmetric_form(f->precision, n, offset, offset));
}

/* Computes the gradient and the Cholesky factor of the Hessian at the current point. Returns false if the
 * Hessian is not positive definite. */
static bool compute_derivatives(struct fit *f)
{
    size_t n = f->a->count;
    double *offset = f->scratch;
    for (size_t i = 0; i < n; i++)
        offset[i] = f->theta[i] - f->centre[i];
    symmetric_apply(f->precision, n, offset, f->slope);
    symmetric_apply(f->w->gram, n, f->watts, offset);
    for (size_t i = 0; i < n; i++) {
        f->slope[i] += f->watts[i] * (offset[i] - f->w->joules[i]) / f->noise;
        for (size_t j = 0; j <= i; j++)
            f->hessian[i * n + j] =
                f->precision[i * n + j] + f->watts[i] * f->w->gram[i * n + j] * f->watts[j] / f->noise;
    }
    return symmetric_factor(f->hessian, n);
}

/* Computes the Gauss-Newton step that does not change the sum of joules, to first order. Returns the
 * magnitude of the step's largest component. */
static double compute_step(struct fit *f)
{
    size_t n = f->a->count;
    double *across = f->scratch, slope = 0, curve = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        f->step[i] = -f->slope[i];
        across[i] = f->joules[i];
    }
    symmetric_solve(f->hessian, n, f->step);
    symmetric_solve(f->hessian, n, across);
    for (size_t i = 0; i < n; i++) {
        slope += f->joules[i] * f->step[i];
        curve += f->joules[i] * across[i];
    }
    for (size_t i = 0; i < n; i++) {
        f->step[i] -= across[i] * slope / curve;
        largest = fmax(largest, fabs(f->step[i]));
    }
    return largest;
}

/* Moves the current point along the step. If the posterior does not improve, halves the step and tries again.
 * from: the negative log posterior before the step; largest: the result of compute_step. Returns false if the
 * posterior never improves. */
static bool descend(struct fit *f, double from, double largest)
{
    size_t n = f->a->count;
    double part = fmin(1, 1 / largest); /* limits the change of each power to a factor of e */
    for (int i = 0; i < MAX_HALVINGS; i++, part /= 2) {
        for (size_t k = 0; k < n; k++)
            f->trial[k] = f->theta[k] + part * f->step[k];
        scale_to_sum(f->a, f->trial, f->watts, f->joules);
        if (negative_log_posterior(f, f->trial, f->watts) < from) {
            memcpy(f->theta, f->trial, n * sizeof *f->theta);
            return true;
        }
    }
    scale_to_sum(f->a, f->theta, f->watts, f->joules);
    return false;
}

static bool minimise(struct fit *f)
{
    for (int i = 0; i < MAX_STEPS; i++) {
        if (!compute_derivatives(f))
            return false;
        double largest = compute_step(f);
        if (!(largest > 1e-7))
            break;
        if (!descend(f, negative_log_posterior(f, f->theta, f->watts), largest))
            break;
    }
    return compute_derivatives(f);
}

/* Returns how many of the unknowns the windows determine, rather than the prior. The result is a real number
 * from 0 to n. */
static double effective_unknowns(const struct fit *f)
{
    size_t n = f->a->count;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double gram = f->w->gram[i >= j ? i * n + j : j * n + i];
            sum += f->covariance[i * n + j] * f->watts[i] * gram * f->watts[j] / f->noise;
        }
    return sum;
}

/* Fits watts and noise alternately. Returns false if the result is not finite. */
static bool fit(struct fit *f)
{
    const struct attribution *a = f->a;
    size_t n = a->count;
    double rows = (double)a->windows - 1, height_here;
    f->noise = 1;
    memcpy(f->theta, f->centre, n * sizeof *f->theta);
    scale_to_sum(a, f->theta, f->watts, f->joules);
    for (int i = 0;; i++) {
        if (!minimise(f))
            return false;
        symmetric_inverse(f->hessian, n, f->covariance);
        condition(f->covariance, n, f->joules, f->scratch);
        height_here = negative_log_posterior(f, f->theta, f->watts);
        if (i == NOISE_ROUNDS)
            break;
        f->noise =
            (f->misfit + NOISE_PRIOR_WINDOWS) / (fmax(rows - effective_unknowns(f), 0) + NOISE_PRIOR_WINDOWS);
    }
    f->evidence = -height_here - 0.5 * (rows * log(f->noise) + f->w->log_size) -
                  0.5 * symmetric_log_determinant(f->hessian, n);
    return isfinite(f->evidence);
}

/* --- answer --------------------------------------------------------------------------------------------- */

static void store_answer(struct attribution_answer *answer, const struct fit *f,
                         const struct attribution_meter *meter)
{
    const struct attribution *a = f->a;
    memcpy(answer->joules, f->joules, a->count * sizeof *answer->joules);
    memcpy(answer->covariance, f->covariance, a->count * a->count * sizeof *answer->covariance);
    double noise_sd = meter->is_exact ? 0 : sqrt(f->noise * a->variance) / a->joules;
    answer->sum_sd = hypot(noise_sd, meter->gain_sd);
}

static joule_status solve(const struct attribution *a, const struct attribution_group *groups,
                          struct attribution_answer *answer, double *numbers,
                          const struct attribution_meter *meter)
{
    size_t n = a->count;
    struct fit f = {
        .a = a, .precision = numbers, .hessian = numbers + n * n, .covariance = numbers + 2 * n * n};
    double *centre = numbers + 3 * n * n,
           **vectors[] = {&f.theta, &f.watts, &f.joules, &f.trial, &f.step, &f.slope, &f.scratch};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = centre + (i + 1) * n;
    for (size_t i = 0; i < n; i++)
        centre[i] = log(groups[i].watts);
    scale_to_sum(a, centre, f.watts, answer->prior_joules);
    prior_covariance(groups, n, answer->prior_covariance);
    memcpy(f.hessian, answer->prior_covariance, n * n * sizeof *f.hessian);
    condition(answer->prior_covariance, n, answer->prior_joules, f.scratch);
    if (!symmetric_factor(f.hessian, n))
        return JOULE_FAILED;
    symmetric_inverse(f.hessian, n, f.precision);
    f.centre = centre;
    double best = -DBL_MAX;
    for (size_t i = 0; i < PACES; i++) {
        f.w = &a->paces[i];
        if (!fit(&f) || !(f.evidence > best))
            continue;
        best = f.evidence;
        store_answer(answer, &f, meter);
    }
    return best > -DBL_MAX ? JOULE_OK : JOULE_FAILED;
}

joule_status attribution_solve(const struct attribution *a, const struct attribution_group *groups,
                               const struct attribution_meter *meter, struct attribution_answer **out_answer)
{
    size_t n = a->count;
    double seconds = 0;
    for (size_t i = 0; i < n; i++) {
        seconds += a->seconds[i];
        if (!is_prior(&groups[i]))
            return JOULE_INVALID;
    }
    if (!(a->joules > 0 && seconds > 0))
        return JOULE_PENDING;
    struct attribution_answer *answer = attribution_answer_new(n);
    double *numbers = calloc(3 * n * n + 8 * n, sizeof *numbers);
    joule_status status = JOULE_NO_MEMORY;
    if (answer && numbers) {
        answer->meter = meter->cls;
        memcpy(answer->seconds, a->seconds, n * sizeof *answer->seconds);
        status = solve(a, groups, answer, numbers, meter);
    }
    free(numbers);
    if (status == JOULE_OK)
        *out_answer = answer;
    else
        attribution_answer_free(answer);
    return status;
}
