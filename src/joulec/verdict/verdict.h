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

/* A figure of one call. low and high are its 5 % and 95 % points. */
struct figure {
    double low, est, high;
    double least,
        most; /* of paths and loops that exist, with as much of the table's error as is hardly possible: for proofs */
};

struct limit {
    double limit;       /* NaN: none */
    double probability; /* that the figure is within it */
    enum verdict verdict;
    bool is_vacuous; /* more than a thousand times above what can be */
};

struct judgement {
    struct figure joules, seconds, watts, kelvin;
    struct limit joules_limit, watts_limit, kelvin_limit;
    enum verdict worst;
    char quality; /* A exact, B bounded, C profiled, D guessed, E the table is no measurement */
};

/* `basis`: what the amounts rest on. Where something is open nothing is decided, and what was only seen proves nothing.
 * `budget` NULL: figures alone. */
void judge(const struct target *target, const struct amounts *call, enum basis basis,
           const struct cost_cooling *cooling, const struct budget_text *budget, struct judgement *out);
/* Of what nobody can tell anything: figures are NaN, each limit undecided. */
void judge_unknown(const struct budget_text *budget, struct judgement *out);
/* "proved", "likely", "undecided", "likely_violated", "violated"; "none". */
const char *verdict_name(enum verdict verdict);

#endif
