/* runtime/attribution_sums.h - the structures that the files of attribution share: the sums over windows, and
 * the answer.
 *
 * Note: the drift's pace is unknown. So the sums are computed for several paces at once, and each answer uses
 * the pace with the greatest evidence.
 */
#ifndef FORGE_RUNTIME_ATTRIBUTION_SUMS_H
#define FORGE_RUNTIME_ATTRIBUTION_SUMS_H

#include "forge/runtime/attribution.h"

#define PACES 5

/* Sums over windows for one pace of the drift. Each window is a row of a linear regression: the scalar
 * product of `row` and `watts` is joules + error. The errors are independent. n: number of groups; row,
 * watts, weights, joules: [n]; v: variance of the error of a row; x': x transposed. */
struct whitened {
    /* For given watts, the drift after the last window is level - weights' * watts, with the variance
     * `variance`, in W^2. */
    double level, variance;
    double *weights;
    double *gram;    /* sum of row * row' / v, lower triangle of [n, n] */
    double *joules;  /* sum of row * joules / v */
    double square;   /* sum of joules^2 / v */
    double log_size; /* sum of log(v) */
};

/* The sums over all windows, for each pace of the drift. */
struct attribution {
    size_t count; /* number of groups */
    struct whitened paces[PACES];
    double *row;             /* scratch: [count] */
    double *seconds;         /* seconds of each group, in windows with energy */
    double joules, variance; /* sums over the windows with energy, in J and J^2 */
    double gap_s;            /* seconds since the last window with energy */
    size_t windows;          /* number of windows with energy */
    double *numbers;         /* the memory of all arrays above */
};

/* The result of a fit: joules and their covariance. */
struct attribution_answer {
    size_t count;      /* n, the number of groups */
    joule_class meter; /* class of the meter's sum */
    /* standard deviation of the relative error of the meter's sum, which is common to all groups */
    double sum_sd;
    double *joules;           /* [n] */
    double *seconds;          /* [n] */
    double *covariance;       /* covariance of the logarithms of the joules, given their sum: [n, n] */
    double *prior_joules;     /* joules from the prior and the meter's sum alone: [n] */
    double *prior_covariance; /* covariance of the logarithms of prior_joules, given their sum: [n, n] */
    double *numbers;          /* the memory of all arrays above */
};

/* Returns an answer for `count` groups, with all members and arrays 0 except `count`; NULL if out of memory.
 * The caller frees it with attribution_answer_free. */
struct attribution_answer *attribution_answer_new(size_t count);

#endif
