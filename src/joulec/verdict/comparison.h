/* joulec/verdict/comparison.h - compares the joules of functions with those of a stored report.
 *
 * Note: the ratio of two figures is far more certain than either. Errors of prices, of the core's
 * description and of guessed trip counts are common to both. They cancel for the work that both do.
 */
#ifndef JOULEC_COMPARISON_H
#define JOULEC_COMPARISON_H

#include "joulec/verdict/baseline.h"

/* How a function differs from its stored form. The limit is the accepted growth. */
enum change {
    CHANGE_UNKNOWN, /* one of the figures is unknown, for example because the function runs on a GPU */
    CHANGE_NEW,     /* the stored report does not have the function */
    CHANGE_NONE,
    CHANGE_LESS,
    CHANGE_MORE, /* more joules, within the limit */
    /* within the limit with a probability of 50 % to 90 %, or a part of one side has no figure */
    CHANGE_UNDECIDED,
    CHANGE_OVER, /* more than the limit, with a probability of 50 % and more */
    CHANGES
};

/* The difference between a function and its stored form. All figures are NaN for CHANGE_NEW and
 * CHANGE_UNKNOWN. */
struct growth {
    const struct baseline_function *before; /* stored form; NULL: the function is new */
    bool is_renamed;                        /* `before` has another name */
    enum change change;
    double ratio, low, high; /* joules now / stored joules, 5 % and 95 % points; low 0, high NaN: unknown */
    double probability;      /* probability that the ratio is within the limit; NaN: unknown */
    const char *added,
        *removed; /* a callee without a figure, or a guess, that only one side has; NULL: none */
};

/* The comparison of one translation unit with a stored report. */
struct comparisons {
    const struct baseline *baseline;
    const struct baseline_unit *unit; /* NULL: the report does not contain the file */
    const char *build;                /* options of this run that determine the code */
    struct growth *of;                /* one for each function of the analysis */
    const struct baseline_function **gone;
    size_t gone_count;
};

/* Compares each function of `analysis` with the unit of `program` in the baseline, in memory of `arena`.
 * Returns JOULE_OK or JOULE_NO_MEMORY. */
joule_status comparisons_make(struct arena *arena, const struct baseline *baseline,
                              const struct analysis *analysis, const char *program, const char *build,
                              struct comparisons *out_comparisons);
/* Compares one pair of functions, both with known joules. The figures of `now` must come from the table of
 * `target`. */
void comparison_make(const struct baseline_function *before, const struct baseline_function *now,
                     const struct target *target, double fail_over, struct growth *out_comparison);
/* Returns the word for reports, such as "same" or "more". The text is static. */
const char *change_name(enum change change);

#endif
