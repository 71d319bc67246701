/* runtime/attribution_sums.h - the sums over windows, and the answer, that the files of attribution share.
 *
 * Note: the drift's pace is unknown. Sums are kept for several paces at once, and the evidence selects one
 * for each answer.
 */
#ifndef FORGE_RUNTIME_ATTRIBUTION_SUMS_H
#define FORGE_RUNTIME_ATTRIBUTION_SUMS_H

#include "forge/runtime/attribution.h"

#define PACES 5

/* Sums over windows for one pace of the drift. Each window is a row of a regression with independent errors:
 * row' watts = joules + error. Vectors: [n]; n: number of groups; v: variance of a row. */
struct whitened {
    /* The drift after the last window, given the watts, is level - weights' watts, with `variance`. */
    double level, variance;
    double *weights;
    double *gram;    /* sum of row row' / v, lower triangle of [n, n] */
    double *joules;  /* sum of row joules / v */
    double square;   /* sum of joules^2 / v */
    double log_size; /* sum of log v */
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
    size_t count;             /* n, the number of groups */
    joule_class meter;        /* class of the meter's sum */
    double sum_sd;            /* standard deviation of the relative error of the sum; common to all groups */
    double *joules;           /* [n] */
    double *seconds;          /* [n] */
    double *covariance;       /* covariance of the logarithms of the joules, given their sum: [n, n] */
    double *prior_joules;     /* joules that the prior and the sum alone give: [n] */
    double *prior_covariance; /* covariance of the logarithms of prior_joules, given their sum: [n, n] */
    double *numbers;          /* the memory of all arrays above */
};

/* Returns an answer that is all zeros, or NULL if out of memory. Free with attribution_answer_free. */
struct attribution_answer *attribution_answer_new(size_t count);

#endif
