/* runtime/attribution.h - attributes the joules of a meter to groups of launches, and computes the errors.
 *
 * The input is a sequence of time windows, each with its joules and the time for which each group ran. These
 * functions read no clock and no meter, and their memory does not grow with time.
 *
 * Model: while group g runs, the power of the machine is watts[g] + drift. The logarithms of the watts have a
 * normal prior, whose mean comes from a cost model. The prior has an error that is common to all groups, an
 * error of each kind, and an error of each group. So power is never negative, and a window of one group also
 * improves the estimates of other groups of its kind. The drift is a random walk of unknown level, so windows
 * determine only differences of watts between groups. The level of the watts follows from the sum of all
 * joules, which must equal the meter's sum. The variance of the windows' errors and the pace of the drift are
 * estimated from the windows. Errors are computed from a normal approximation at the most probable point,
 * conditioned on the sum.
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
    double watts;  /* from the cost model; > 0 */
    uint32_t kind; /* any number; groups with the same kind share an error */
    /* standard deviation that the shared error adds to the logarithm of the watts; equal for all groups of a
     * kind */
    double kind_log_sd;
    /* standard deviation that the group's own error adds to the logarithm of the watts; > 0 */
    double own_log_sd;
};

/* A time window of the meter. */
struct attribution_window {
    double seconds; /* length of the window */
    double joules;  /* NaN: unknown; the window is then a gap */
    /* variance of the error of `joules` that is independent of other windows, in J^2; in most cases only
     * ratios between windows matter */
    double variance;
};

struct attribution;

/* Returns a new attribution for `groups` groups, or NULL if out of memory. One of the groups must be the time
 * between launches. The caller frees it with attribution_free. */
struct attribution *attribution_new(size_t groups);
void attribution_free(struct attribution *attribution);

/* Adds the next window in time. active_s: [groups], seconds for which each group ran in the window; their sum
 * should be the window's length. A window with unknown joules or variance is a gap, during which the drift
 * continues. A window without a positive length is ignored. Allocates no memory. */
void attribution_add_window(struct attribution *attribution, const struct attribution_window *window,
                            const double *active_s);

/* The accuracy of the meter's sum. */
struct attribution_meter {
    joule_class cls;
    double gain_sd; /* standard deviation of the relative error that is common to all windows */
    bool is_exact;  /* the sum has no other error, so residuals of the fit do not increase its error */
};

struct attribution_answer;

/* Computes the joules of each group from all windows that were added. groups: one prior for each group. Takes
 * time in proportion to the cube of the number of groups: about 0.3 s for 128 groups. The caller frees
 * *out_answer with attribution_answer_free. Returns JOULE_PENDING if no window has energy, JOULE_INVALID if a
 * prior is invalid, and JOULE_NO_MEMORY if out of memory. Returns JOULE_FAILED if the fit has no finite
 * result. */
joule_status attribution_solve(const struct attribution *attribution, const struct attribution_group *groups,
                               const struct attribution_meter *meter, struct attribution_answer **out_answer);
/* Returns an answer with the figures of a model instead of a fit to windows. joules, seconds: [groups], the
 * energy and time of each group. log_sd: [groups, causes], row-major: the change of the logarithm of a
 * group's joules if a cause of errors is one standard deviation higher. The caller frees the answer with
 * attribution_answer_free. Returns NULL if out of memory. */
struct attribution_answer *attribution_from_model(size_t groups, const double *joules, const double *seconds,
                                                  const double *log_sd, size_t causes);
void attribution_answer_free(struct attribution_answer *answer);

/* Returns the best estimate of a group's joules in the windows with energy. The sum over all groups equals
 * the meter's sum. */
double attribution_joules(const struct attribution_answer *answer, size_t group);
/* Returns the seconds for which the group ran in the windows with energy. */
double attribution_seconds(const struct attribution_answer *answer, size_t group);
/* Returns the sum of parts of the groups' joules. The interval takes common errors of the groups into
 * account. part: [groups], from 0 (nothing of the group) to 1 (all). If the meter's class is modelled or
 * weaker, the result has the meter's class. Otherwise the class depends on the relative error without
 * windows, from the prior and the meter's sum alone. If the windows at least halve this error, the class is
 * JOULE_CLASS_DERIVED; otherwise it is JOULE_CLASS_MODELLED. */
joule_quantity attribution_sum(const struct attribution_answer *answer, const double *part);

/* Merges groups into sets if only the sum of their joules is known well. out_set: [groups], receives for each
 * group the index of the lowest group in its set. Two sets can be merged if both conditions hold: the
 * relative standard deviation of at least one set is above ATTRIBUTION_VAGUE, and sd(sum) / max(sd(first),
 * sd(second)) is at most 0.5, where sd is the standard deviation of the joules. The pair with the lowest such
 * ratio is merged first, until no pair can be merged. Returns JOULE_NO_MEMORY if out of memory; each group is
 * then a set. */
#define ATTRIBUTION_VAGUE 0.15
joule_status attribution_merge(const struct attribution_answer *answer, size_t *out_set);

#endif
