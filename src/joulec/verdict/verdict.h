/* joulec/verdict/verdict.h - whether a function keeps its budget, and how sure that is.
 *
 * Owns the way from amounts of work to joules, seconds, watts and kelvin with their intervals, and the rule of verdicts.
 * Newcomers: the logarithm of each figure is taken as normal, with one spread below the estimate and another above it: paths
 * and loops are rarely as far from the middle on both sides.
 */
#ifndef JOULEC_VERDICT_H
#define JOULEC_VERDICT_H

#include "joule/api/budget_text.h"
#include "joulec/work/sum.h"

enum verdict {
    VERDICT_NONE, /* no such limit */
    VERDICT_PROVED,
    VERDICT_LIKELY,
    VERDICT_UNDECIDED,
    VERDICT_LIKELY_VIOLATED,
    VERDICT_VIOLATED
};

/* A figure of one call. low and high are its 5 % and 95 % points; NaN: nobody knows one, as where something counts for nothing. est is
 * of what is known. */
struct figure {
    double low, est, high;
    /* No path and no number of rounds that exist is beyond these, with as much of the table's error as is hardly possible: for
     * proofs. NaN: nobody knows one. */
    double least, most;
};

struct limit {
    double limit;       /* NaN: none */
    double probability; /* that the figure is within it; NaN: nobody knows */
    enum verdict verdict;
    bool is_vacuous; /* more than a thousand times above what can be, of what has bounds */
};

struct judgement {
    struct figure joules, seconds, watts, kelvin;
    struct limit joules_limit, watts_limit, kelvin_limit;
    enum verdict worst;
    enum basis basis;
    bool is_vague; /* no bounds, and guesses span more than four orders of magnitude */
    char
        quality; /* A exact, B bounded, C profiled, D guessed, E no table that was measured, or hardly a figure */
};

/* Judges a function by the amounts of a call and their basis. BASIS_OPEN decides nothing, and BASIS_SEEN
 * proves nothing. With BASIS_OPEN or BASIS_MISSING joules and seconds have no upper end. With BASIS_MISSING
 * watts and kelvin, which more time may lower, have no ends at all. If calls may take several paths, watts
 * and kelvin have no `most`, and their `least` is that of a core that waits, because paths are ordered by
 * their joules. `budget` NULL: figures only. */
void judge(const struct target *target, const struct function_sum *sum, const struct cost_cooling *cooling,
           const struct budget_text *budget, struct judgement *out);
/* Of what nobody can tell anything: figures are NaN, each limit undecided. */
void judge_unknown(const struct budget_text *budget, struct judgement *out);
/* What was judged runs on another core than the target: nothing is decided. */
void judge_elsewhere(struct judgement *judgement);
/* What was judged takes more than that: nothing is proved, and nothing is beyond all that can be. */
void judge_at_least(struct judgement *judgement);
/* "proved", "likely", "undecided", "likely_violated", "violated"; "none". */
const char *verdict_name(enum verdict verdict);

#endif
