/* joule/collector/ledger.h - sums the energy of a tag's regions over sweeps, with its error.
 *
 * Energy within a sweep is attributed by time, as if power were constant between readings. A tag that is
 * present for a fraction p of a sweep gets the fraction p of the standard error of the sweep's energy. Its
 * variance also gets p (1 - p) times the variance of power within the sweep. That term is at most the square
 * of the tag's energy, because power is not negative. The errors of sweeps add in quadrature. Gain errors are
 * common to all readings of a sensor, so ledger_result adds them, and the sums exclude them.
 * Note: each group of devices has separate sums, because it has its own gain. A result is a sum over
 * groups.
 */
#ifndef JOULE_LEDGER_H
#define JOULE_LEDGER_H

#include "joule/meter/engine.h"
#include "joule/collector/sweep.h"

/* Energy sums of a tag or of one region, by group. */
struct ledger {
    struct ledger_line {
        double window, attributed, self;             /* joules */
        double window_var, attributed_var, self_var; /* variances in J^2; independent errors only */
        double covered_s;
    } lines[GROUPS];
};

/* One sweep's energy. */
struct sweep_energy {
    double joules[GROUPS];
    /* variance of `joules` in J^2, from noise and from errors of the sweep's edges */
    double variance[GROUPS];
    /* 4 * variance of the energy of the steps' first halves: variation of power within steps. */
    double step_variance[GROUPS];
};

/* Returns the variance in J^2 of x joules that a tag got from a group. presence: the fraction of the sweep, 0
 * to 1, in which the tag was present. */
double share_variance(double x, double presence, const struct sweep_energy *energy, unsigned group);
/* Adds the share that a tag's regions got from a group in one sweep. */
void ledger_add(struct ledger *ledger, unsigned group, const struct share *share,
                const struct sweep_energy *energy);
/* Adds all sums of `other`. */
void ledger_merge(struct ledger *ledger, const struct ledger *other);

/* The domains of each group, and the groups that are part of the total. */
struct group_covers {
    struct cover covers[GROUPS];
    uint32_t known;    /* bits: groups with a cover */
    uint32_t in_total; /* bits: groups that JOULE_TOTAL includes */
};
/* Chooses, for each group, the domains that measured its energy from begin_ns to end_ns. */
void group_covers_choose(struct group_covers *covers, joule_meter *meter, int64_t begin_ns, int64_t end_ns);
/* Returns the groups (bits) whose energies are a region's energy: the groups that it claims, or those of the
 * total if it claims all groups. */
uint32_t group_covers_summed(const struct group_covers *covers, uint32_t claims);

/* Sets the five quantities of out_result, with the sensors' gain errors over [begin_ns, end_ns]. Omits groups
 * that were never covered. If no group remains, the quantities are unknown. */
void ledger_result(const struct ledger *ledger, uint32_t claims, const struct group_covers *covers,
                   joule_meter *meter, int64_t begin_ns, int64_t end_ns, joule_result *out_result);
/* Returns a result in which all quantities are unknown. */
joule_result result_unknown(void);

#endif
