/* runtime/attribution.h - attributes the joules of a meter to groups of launches, with errors.
 *
 * The input is a sequence of time windows: joules, and the time for which each group ran. It reads no clock
 * and no meter, and its memory does not grow with time.
 *
 * Model: while group g runs, the machine draws watts[g] + drift. The logarithms of the watts have a normal
 * prior, centred on a cost model. The prior has one error common to all groups, one per kind, and one per
 * group. So power is never negative, and groups of one kind inform each other. The drift is a random walk of
 * unknown level, so windows determine only differences of watts between groups. The level of the watts
 * follows from the sum of all joules, which must equal the meter's. The variance of the windows' errors and
 * the pace of the drift are estimated from the windows. Errors are those of a normal approximation at the
 * most probable point, conditioned on the sum.
 *
 * Note: a group's energy is everything that the machine used while the group ran, including idle power and
 * drift.
 */
#ifndef FORGE_RUNTIME_ATTRIBUTION_H
#define FORGE_RUNTIME_ATTRIBUTION_H

#include <joule/quantity.h>
#include <stdbool.h>
#include <stddef.h>

#define ATTRIBUTION_Z90 1.6448536269514722 /* 95 % quantile of the standard normal distribution */

/* The prior of a group of launches. Only ratios of watts between groups matter. */
struct attribution_group {
    double watts;       /* from the cost model; > 0 */
    uint32_t kind;      /* any number; the groups of one kind share an error */
    double kind_log_sd; /* standard deviation of the logarithm that the shared error causes; equal for all
                         * groups of a kind */
    double own_log_sd;  /* standard deviation of the logarithm that the group's own error causes; > 0 */
};

/* A time window of the meter. */
struct attribution_window {
    double seconds;  /* length of the window */
    double joules;   /* NaN: unknown; the window is then a gap */
    double variance; /* variance of the independent error of `joules`, in J^2; in most cases only ratios
                      * between windows matter */
};

struct attribution;

/* Returns a new attribution, or NULL if out of memory. Free with attribution_free. `groups` must include one
 * group for idle time and other work between launches. */
struct attribution *attribution_new(size_t groups);
void attribution_free(struct attribution *attribution);

/* Adds the next window in time. active_s: [groups], seconds for which each group ran in the window; their sum
 * should be the window's length. A window without known joules or length is a gap, during which the drift
 * continues. Allocates nothing. */
void attribution_add_window(struct attribution *attribution, const struct attribution_window *window,
                            const double *active_s);

/* The accuracy of the meter's sum. */
struct attribution_meter {
    joule_class cls;
    double gain_sd; /* standard deviation of the relative error common to all windows */
    bool is_exact;  /* the sum has no other error, so residuals of the fit do not add to it */
};

struct attribution_answer;

/* Computes the joules of each group from all windows that were added. groups: one prior for each group. The
 * caller frees *out_answer with attribution_answer_free. Returns JOULE_PENDING if no window has energy,
 * JOULE_INVALID if a prior is invalid, JOULE_NO_MEMORY, or JOULE_FAILED if the fit gives no finite result.
 * The time grows with the cube of the number of groups: about 0.3 s for 128 groups. */
joule_status attribution_solve(const struct attribution *attribution, const struct attribution_group *groups,
                               const struct attribution_meter *meter, struct attribution_answer **out_answer);
/* Returns an answer with figures of a model instead of windows. joules, seconds: [groups], the energy and
 * time of each group. log_sd: [groups, causes], row-major: the change of the logarithm of a group's joules if
 * a shared cause is one standard deviation higher. Returns NULL if out of memory. The caller frees the answer
 * with attribution_answer_free. */
struct attribution_answer *attribution_from_model(size_t groups, const double *joules, const double *seconds,
                                                  const double *log_sd, size_t causes);
void attribution_answer_free(struct attribution_answer *answer);

/* Returns the best estimate of a group's joules in the windows with energy. The sum over all groups equals
 * the meter's sum. */
double attribution_joules(const struct attribution_answer *answer, size_t group);
/* Returns the seconds for which the group ran in the windows with energy. */
double attribution_seconds(const struct attribution_answer *answer, size_t group);
/* Returns the joules of the groups for which is_in is true, including their common errors. is_in: [groups].
 * The class of the result is the meter's class if that is modelled or weaker. Otherwise it is
 * JOULE_CLASS_DERIVED if the windows have at least halved the relative error that the prior and the sum alone
 * would give, and JOULE_CLASS_MODELLED if not. */
joule_quantity attribution_sum(const struct attribution_answer *answer, const bool *is_in);

/* Merges groups that neither windows nor prior distinguish. Two sets of groups qualify if one of them has a
 * relative standard deviation above ATTRIBUTION_VAGUE, and if the standard deviation of their sum is at most
 * half the greater of the two sets' standard deviations, all in joules. The pair for which this ratio is
 * lowest is merged, until no pair qualifies. out_set: [groups], gets for each group the lowest group of its
 * set. Returns JOULE_NO_MEMORY if out of memory; every group is then its own set. */
#define ATTRIBUTION_VAGUE 0.15
joule_status attribution_merge(const struct attribution_answer *answer, size_t *out_set);

#endif
