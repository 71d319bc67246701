/* joulec/verdict/verdict.h - computes joules, seconds, watts and kelvin of a call with their intervals, and
 * judges budgets.
 *
 * Note: the logarithm of each figure is assumed to be normal. Its spread below the estimate differs from the
 * spread above it, because the cheapest and the most expensive path are rarely equally far from the middle.
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

/* A figure of one call. `est` is the estimate of the known part. `low` and `high` are the 5 % and 95 %
 * points. NaN: unknown, for example because a part of the work has no figure. */
struct figure {
    double low, est, high;
    /* Limits for proofs. No possible path or trip count exceeds them, with a margin for the table's error
     * (Z_PROOF). NaN: unknown. */
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
    char quality;  /* A exact, B bounded, C profiled, D guessed, E unmeasured price table or vague figure */
};

/* Judges a function by the amounts of a call and their basis. BASIS_OPEN decides nothing, and BASIS_OBSERVED
 * proves nothing. With BASIS_OPEN or BASIS_MISSING, joules and seconds have no upper end. With BASIS_MISSING,
 * watts and kelvin have no ends at all, because missing time may lower them. If calls may take several paths,
 * watts and kelvin have no `max`, and their `min` is that of an idle core, because paths are ordered by
 * joules and not by power. `budget` NULL: computes figures only. */
void judge(const struct target *target, const struct function_sum *sum, const struct cost_cooling *cooling,
           const struct budget_text *budget, struct judgement *out);
/* Judges a function without any figure. All figures are NaN, and each limit is undecided. */
void judge_unknown(const struct budget_text *budget, struct judgement *out);
/* Weakens the judgement of code that runs on another core than the target. No limit is then decided. */
void judge_elsewhere(struct judgement *judgement);
/* Weakens a judgement whose figures are only lower bounds. No limit is then proved, and none is vacuous. */
void judge_at_least(struct judgement *judgement);
/* Returns "none", "proved", "likely", "undecided", "likely_violated" or "violated". */
const char *verdict_name(enum verdict verdict);

#endif
