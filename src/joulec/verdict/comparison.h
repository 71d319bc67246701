/* joulec/verdict/comparison.h - compares the joules of functions with those of a stored report.
 *
 * Note: the ratio of two figures is much more certain than each figure. Both have the same errors of prices,
 * of the core's description and of guessed trip counts. These errors cancel for work that both versions do.
 */
#ifndef JOULEC_COMPARISON_H
#define JOULEC_COMPARISON_H

#include "joulec/verdict/baseline.h"

/* How a function differs from its stored version. "Limit" means the accepted growth. */
enum change {
    CHANGE_UNKNOWN, /* one of the figures is unknown, for example because the function runs on a GPU */
    CHANGE_NEW,     /* the stored report does not contain the function */
    CHANGE_NONE,
    CHANGE_LESS,
    CHANGE_MORE, /* more joules, within the limit */
    /* The probability of being within the limit is 50 % to 90 %, or only one version has a part without a
     * figure. */
    CHANGE_UNDECIDED,
    CHANGE_OVER, /* over the limit with a probability of at least 50 % */
    CHANGES
};

/* The difference between a function and its stored version. All figures are NaN for CHANGE_NEW and
 * CHANGE_UNKNOWN. */
struct growth {
    const struct baseline_function *before; /* stored version; NULL: the function is new */
    bool is_renamed;                        /* `before` has another name */
    enum change change;
    /* Joules of this run / stored joules, with 5 % and 95 % points. low 0, high NaN: unknown. */
    double ratio, low, high;
    double probability; /* probability that the ratio is within the limit; NaN: unknown */
    /* added: a callee without a figure, or a guess, that only the new version has. removed: one that only the
     * stored version has. NULL: none. */
    const char *added, *removed;
};

/* The comparison of one translation unit with a stored report. */
struct comparisons {
    const struct baseline *baseline;
    const struct baseline_unit *unit;      /* NULL: the report does not contain the file */
    const char *build;                     /* options of this run that determine the code */
    struct growth *of;                     /* for each function of the analysis */
    const struct baseline_function **gone; /* functions of `unit` that no longer exist */
    size_t gone_count;
};

/* Compares each function of `analysis` with the unit of `program` in the baseline. The arguments must outlive
 * *out_comparisons, whose lists are allocated in `arena`. Returns JOULE_OK or JOULE_NO_MEMORY. */
joule_status comparisons_make(struct arena *arena, const struct baseline *baseline,
                              const struct analysis *analysis, const char *program, const char *build,
                              struct comparisons *out_comparisons);
/* Compares two versions of a function, both with known joules. The figures of `now` must come from the table
 * of `target`. fail_over: accepted relative growth, such as 0.05. */
void comparison_make(const struct baseline_function *before, const struct baseline_function *now,
                     const struct target *target, double fail_over, struct growth *out_comparison);
/* Returns the name of a change in reports, such as "same" or "more". The text is static. */
const char *change_name(enum change change);

#endif
