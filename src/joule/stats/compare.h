/* joule/stats/compare.h - the ratio of two commands, with its interval, tests and verdict.
 *
 * All computations use logarithms: the ratio b / a is the exponential of a mean difference. So the result
 * does not depend on the unit, a and b are treated equally, and the scatter of runs is relative.
 * Note: the ratio is one of geometric means, which for log-normal values is the ratio of medians. A value
 * that is not finite and positive has no logarithm: the comparison is then unknown.
 */
#ifndef JOULE_STATS_COMPARE_H
#define JOULE_STATS_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

/* The verdict about b, compared with a. */
enum ratio_verdict {
    RATIO_UNKNOWN,    /* "cannot tell": the runs show neither a difference nor equivalence */
    RATIO_BETTER,     /* b is better than a */
    RATIO_WORSE,      /* b is worse than a */
    RATIO_EQUIVALENT, /* the difference is smaller than the stated margin */
};
/* Returns "cannot tell", "better", "worse" or "equivalent"; static storage. */
const char *ratio_verdict_name(enum ratio_verdict verdict);

/* How to compare. */
struct ratio_rule {
    double level;          /* of the interval; 1 - level is the error rate of the tests; such as 0.95 */
    double margin;         /* ratios from 1 / (1 + margin) to 1 + margin are equivalent; 0: none is */
    bool higher_is_better; /* for example for samples per joule */
};

/* The ratio b / a and what the runs say about it. Unknown figures are NaN. */
struct ratio {
    double value, low, high; /* bounds at the rule's level, of this ratio alone */
    double p;                /* two-sided p-value of "the ratio is 1" */
    double equivalence_p;    /* p-value of "the ratio is outside the margin" (TOST); NaN without margin */
    double log_sd;           /* sd of one block's log ratio; unpaired: of two runs' log ratio */
    double freedom;          /* degrees of freedom */
    enum ratio_verdict verdict;
};

/* Compares commands that ran in blocks: a[i] and b[i] belong to block i, in which each command ran once, in
 * random order. Paired t test on ln(b[i] / a[i]): what is common to a block cancels. a, b: [count]. Unknown
 * if count < 2. */
struct ratio ratio_paired(const double *a, const double *b, size_t count, const struct ratio_rule *rule);
/* Compares independent runs, such as a stored baseline a. Welch's t test on logarithms (Welch, "The
 * generalization of Student's problem when several different population variances are involved", 1947).
 * Unknown if a count is < 2.
 * Note: runs of different days differ by more than their scatter. The test does not know this. */
struct ratio ratio_unpaired(const double *a, size_t a_count, const double *b, size_t b_count,
                            const struct ratio_rule *rule);

/* Corrects p, equivalence_p and the verdicts of `count` ratios for being many (metrics, candidates), by the
 * method of Holm (holm.h). p and equivalence_p are two families. Unknown p-values are not counted. Call it
 * once.
 * rules, ratios: [count]; scratch: [3 * count]
 * Note: the intervals do not change, so an interval may exclude 1 although the verdict is "cannot tell". */
void ratio_correct(struct ratio *ratios, const struct ratio_rule *rules, size_t count, double *scratch);

/* The metrics of a comparison that ratio_correct_products corrects: x, y, x / y and x * y. */
enum { RATIO_X, RATIO_Y, RATIO_QUOTIENT, RATIO_PRODUCT, RATIO_PRODUCTS };

/* Corrects p, equivalence_p and the verdicts of `count` comparisons, each with the ratios of x, y, x / y and
 * x * y of the same blocks or runs, such as energy and time with power and energy-delay product. These ratios
 * depend on each other, so Holm's method would find differences too rarely. Here the probability of one or
 * more false verdicts of one comparison is 1 - level (joint.h). Comparisons count as if each of them needed a
 * test of its own. Hypotheses are rejected one after the other, and only the remaining ones are corrected for
 * (Goeman and Solari, "The sequential rejection principle of familywise error control", 2010). equivalence_p
 * is corrected by the method of Holm, as in ratio_correct.
 * ratios: [count][RATIO_PRODUCTS]; scratch: [3 * RATIO_PRODUCTS * count]
 * Note: for runs in no common blocks, correlations are approximate if the numbers of runs differ. */
void ratio_correct_products(struct ratio (*ratios)[RATIO_PRODUCTS], const struct ratio_rule *rule,
                            size_t count, double *scratch);

/* Returns the level of a single test that is as strict as the test of the smallest p of `count` comparisons,
 * corrected by ratio_correct_products. For ratio_blocks_needed. ratios: of one comparison, not yet corrected:
 * [RATIO_PRODUCTS] */
double ratio_products_level(const struct ratio *ratios, const struct ratio_rule *rule, size_t count);

/* Returns the verdict of a ratio. Rule: first EQUIVALENT if equivalence_p <= 1 - level, because a difference
 * inside the margin does not matter even if it is certain. Then BETTER or WORSE if p <= 1 - level. Otherwise
 * UNKNOWN. Equivalence: two one-sided tests (Schuirmann, "A comparison of the two one-sided tests procedure
 * and the power approach", 1987). */
enum ratio_verdict ratio_judge(const struct ratio *ratio, const struct ratio_rule *rule);

/* Returns the number of blocks that are needed to see a true ratio with probability `power`, such as 0.8:
 * the smallest n with n >= (t(1 - alpha/2, n-1) + t(power, n-1))^2 (log_sd / ln ratio)^2. The result is
 * infinite for a ratio of 1, NaN if log_sd is unknown. log_sd: of one block's log ratio */
double ratio_blocks_needed(double log_sd, double ratio, double level, double power);

#endif
