/* joule/collector/ledger.h - what the regions of a tag got, with its error, sweep after sweep.
 *
 * Owns the sums for each group of devices and how their errors grow. Energy within a sweep is shared by time, as if
 * power were constant between readings. A tag that was present a part p of the sweep has that part of the error of the
 * sweep's own energy, and p (1 - p) of the variance with which power wanders, but no more than all of itself, because
 * power is not negative. Sweeps add in quadrature. Errors of gain are a property of the meter: ledger_result puts them in.
 * Newcomers: sums are by group because a group is what has one gain; a result adds groups up.
 */
#ifndef JOULE_LEDGER_H
#define JOULE_LEDGER_H

#include "joule/meter/engine.h"
#include "joule/collector/sweep.h"

struct ledger {
    struct ledger_line {
        double window, attributed, self;             /* joules */
        double window_var, attributed_var, self_var; /* J^2, independent */
        double covered_s;
    } lines[GROUPS];
};

/* One sweep's energy. */
struct sweep_energy {
    double joules[GROUPS];
    double variance[GROUPS];  /* of joules: noise and edges */
    double wandering[GROUPS]; /* of the energy of one half against the other, times 4 */
};

/* Variance of x joules that were got from a group while present a part `presence` (0 to 1) of a sweep. */
double share_variance(double x, double presence, const struct sweep_energy *energy, unsigned group);
/* Adds what regions got in one sweep. */
void ledger_add(struct ledger *ledger, unsigned group, const struct share *share,
                const struct sweep_energy *energy);
void ledger_merge(struct ledger *ledger, const struct ledger *other);

/* Which domains stand behind each group, and which groups the total consists of. */
struct group_covers {
    struct cover covers[GROUPS];
    uint32_t known;    /* bits: groups with a cover */
    uint32_t in_total; /* bits: groups that JOULE_TOTAL is the sum of */
};
void group_covers_choose(struct group_covers *covers, joule_meter *meter, int64_t begin_ns, int64_t end_ns);
/* The groups that a region adds up: what it claims; all that the total consists of where it claims everything. */
uint32_t group_covers_summed(const struct group_covers *covers, uint32_t claims);

/* Fills the five quantities of out_result. The meter's gain errors are those of [begin_ns, end_ns]. Groups that were
 * never covered are left out; unknown where that leaves none. */
void ledger_result(const struct ledger *ledger, uint32_t claims, const struct group_covers *covers,
                   joule_meter *meter, int64_t begin_ns, int64_t end_ns, joule_result *out_result);
/* A result in which nothing is known yet. */
joule_result result_unknown(void);

#endif
