/* runtime/attribution_sums.h - what attribution keeps of the windows it was fed with, and of an answer.
 *
 * Owns the two structures that feeding, solving and answering share. Newcomers: the drift's pace is not known, so sums are
 * kept for several paces at once, and the evidence chooses when an answer is asked for.
 */
#ifndef FORGE_RUNTIME_ATTRIBUTION_SUMS_H
#define FORGE_RUNTIME_ATTRIBUTION_SUMS_H

#include "forge/runtime/attribution.h"

#define PACES 5

/* Windows with one pace of drift, as rows of a regression whose errors are independent: row' watts = joules + error. */
struct whitened {
    /* The drift after the last window, given the watts: level - weights' watts, with `variance`. */
    double level, variance;
    double *weights;
    double *gram;    /* sum of row row' / v, lower triangle, n x n */
    double *joules;  /* sum of row joules / v */
    double square;   /* sum of joules^2 / v */
    double log_size; /* sum of log v */
};

struct attribution {
    size_t count; /* of groups */
    struct whitened paces[PACES];
    double *row;     /* work space */
    double *seconds; /* of each group, in windows with energy */
    double joules, variance;
    double gap_s;    /* since the last window with energy */
    size_t windows;  /* with energy */
    double *numbers; /* all of the arrays above */
};

struct attribution_answer {
    size_t count;
    joule_class meter;
    double sum_sd;  /* relative error of the sum: of the meter, common to all groups */
    double *joules; /* of each group */
    double *seconds;
    double *covariance;   /* of the logarithms of the joules, given their sum; n x n */
    double *prior_joules; /* the same by the prior and the sum alone */
    double *prior_covariance;
    double *numbers; /* all of the arrays above */
};

/* All zeros; NULL: no memory. */
struct attribution_answer *attribution_answer_new(size_t count);

#endif
