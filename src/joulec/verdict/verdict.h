/* joulec/verdict/verdict.h - computes joules, seconds, watts and kelvin of a call with their intervals, and
 * judges budgets.
 *
 * Note: the logarithm of each figure is assumed to be normal. The spreads below and above the estimate
 * differ, because the cheapest and the most expensive path rarely have the same distance from the estimate.
 */
#ifndef JOULEC_VERDICT_H
#define JOULEC_VERDICT_H

#include "joule/api/budget_text.h"
#include "joulec/work/sum.h"

/* Verdicts about a limit, from the best to the worst. */
enum verdict {
    VERDICT_NONE, /* the budget has no such limit */
    VERDICT_PROVED,
    VERDICT_LIKELY,
    VERDICT_UNDECIDED,
    VERDICT_LIKELY_VIOLATED,
    VERDICT_VIOLATED
};

/* A figure of one call: J, s, W or K. `est` is the estimate of the known part. `low` and `high` are the 5 %
 * and 95 % points. NaN: unknown, for example because a part of the work has no figure. */
struct figure {
    double low, est, high;
    /* Limits for proofs. No possible path or trip count leads to a figure outside of them. They include a
     * margin for the table's error (Z_PROOF). NaN: unknown. */
    double min, max;
};

/* The verdict about one limit of a budget. */
struct limit {
    double limit;       /* NaN: none */
    double probability; /* probability that the figure is within the limit; NaN: unknown */
    enum verdict verdict;
    bool is_vacuous; /* the limit is more than a thousand times the upper end of a bounded figure */
};

/* The figures of a function and the verdicts about its budget. */
struct judgement {
    struct figure joules, seconds, watts, kelvin;
    struct limit joules_limit, watts_limit, kelvin_limit;
    enum verdict worst;
    enum basis basis;
    bool is_vague; /* there are no bounds, and guesses span more than four orders of magnitude */
    /* A: exact; B: bounded; C: observed; D: guessed; E: missing work, unmeasured prices, or is_vague */
    char quality;
};

/* Judges a function by the amounts of a call and their basis. budget NULL: computes figures only.
 *
 * With BASIS_OBSERVED, no limit is proved. With BASIS_OPEN or BASIS_MISSING, a limit is decided only if the
 * figure certainly exceeds it, and joules and seconds have no upper ends. With BASIS_MISSING, watts and
 * kelvin have no ends, because the missing time may lower them. If calls may take several paths, watts and
 * kelvin have no `max`, and their `min` is that of an idle core. The reason is that the extreme paths are
 * known for joules, but not for power. */
void judge(const struct target *target, const struct function_sum *sum, const struct cost_cooling *cooling,
           const struct budget_text *budget, struct judgement *out);
/* Judges a function without any figure. Sets all figures to NaN, and the verdict of each limit to
 * undecided. */
void judge_unknown(const struct budget_text *budget, struct judgement *out);
/* Sets the verdict of each limit to undecided, because the code runs on another core than the target. */
void judge_elsewhere(struct judgement *judgement);
/* Weakens a judgement whose figures are only lower bounds: a proved limit becomes likely, and no limit is
 * vacuous. */
void judge_at_least(struct judgement *judgement);
/* Returns "none", "proved", "likely", "undecided", "likely_violated" or "violated". */
const char *verdict_name(enum verdict verdict);

#endif
