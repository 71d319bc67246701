/* runtime/attribution.h - which operation used the joules that a meter saw.
 *
 * Owns the mathematics alone: it is fed with windows of time {joules, how long each group of launches ran meanwhile} and
 * answers each group's energy with its error. It reads no clock and no meter, and what it keeps does not grow with time.
 *
 * Model: while group g runs the machine draws watts[g] + drift. The logarithms of the watts have a normal prior: a cost
 * model, wrong by a factor common to all, one common to each kind and one of each group's own; so no power is ever
 * negative, and operations of a kind learn from each other. The drift is a random walk with a level that nothing is known
 * of, so windows only tell differences between groups; the level comes from the sum, which has to be what the meter saw.
 * Noise and the pace of the drift are estimated from the windows. Errors are those of the normal distribution around
 * the most probable point, under the condition on the sum.
 * Newcomers: a group's energy is all that the machine used while it ran, idle power and drift included.
 */
#ifndef FORGE_RUNTIME_ATTRIBUTION_H
#define FORGE_RUNTIME_ATTRIBUTION_H

#include <joule/quantity.h>
#include <stdbool.h>
#include <stddef.h>

#define ATTRIBUTION_Z90 1.6448536269514722 /* the 95 % point of the standard normal */

/* What is believed of a group of launches before anything is measured. Only ratios of watts matter. */
struct attribution_group {
    double watts;       /* by the cost model; > 0 */
    uint32_t kind;      /* groups of a kind have an error in common; any number */
    double kind_log_sd; /* of the logarithm, by that error; the same for all of a kind */
    double own_log_sd;  /* by the group's own error; > 0 */
};

/* What the meter saw. */
struct attribution_window {
    double seconds;
    double joules;   /* NaN: unknown, a gap */
    double variance; /* of `joules`, its independent part; only ratios between windows matter much */
};

struct attribution;

/* NULL: no memory. Between launches something runs, too: idle, loading. It needs a group. */
struct attribution *attribution_new(size_t groups);
void attribution_free(struct attribution *attribution);

/* Takes the next window in time. active_s[g]: how long group g ran in it; these should sum to its length. A window without
 * known joules or length leaves a gap, over which the drift goes on. Allocates nothing. */
void attribution_feed(struct attribution *attribution, const struct attribution_window *window,
                      const double *active_s);

/* How sure the meter is of the sum. */
struct attribution_meter {
    joule_class cls;
    double gain_sd; /* relative error common to all windows */
    bool is_exact;  /* the sum has no other error: residuals of the fit do not add to it */
};

struct attribution_answer;

/* PENDING: no window with energy yet. INVALID: a group's prior is none. NO_MEMORY. FAILED: no numbers came out. The answer
 * is the caller's. Takes time that grows with the cube of the number of groups: about 0.3 s for 128. */
joule_status attribution_solve(const struct attribution *attribution, const struct attribution_group *groups,
                               const struct attribution_meter *meter, struct attribution_answer **out_answer);
/* The answer of a model that no window can correct: joules and seconds of each group, and log_sd[group x causes], the change of
 * the logarithm of its joules when a cause that all share is one sd up. NULL: no memory. The answer is the caller's. */
struct attribution_answer *attribution_given(size_t groups, const double *joules, const double *seconds,
                                             const double *log_sd, size_t causes);
void attribution_answer_free(struct attribution_answer *answer);

/* Best estimate of a group's joules, in the windows that the meter saw. They add up to what it saw. */
double attribution_joules(const struct attribution_answer *answer, size_t group);
/* How long it ran in those windows. */
double attribution_seconds(const struct attribution_answer *answer, size_t group);
/* The joules of the groups for which is_in is true, with the errors that they have in common. Class: the meter's where
 * that is modelled or weaker; derived where the windows have made the relative error at most half of what it is by the
 * prior and the sum alone; else modelled. */
joule_quantity attribution_sum(const struct attribution_answer *answer, const bool *is_in);

/* Joins groups that neither windows nor prior tell apart: while there are two sets of which one has a relative sd over
 * ATTRIBUTION_VAGUE, and that are known together at least twice as well (sd of their sum at most half the greater of their
 * sds), the two that gain most become one. out_set[g] is the lowest group of g's set. NO_MEMORY leaves each alone. */
#define ATTRIBUTION_VAGUE 0.15
joule_status attribution_merge(const struct attribution_answer *answer, size_t *out_set);

#endif
