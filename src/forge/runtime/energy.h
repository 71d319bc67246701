/* runtime/energy.h - attributes a meter's joules to the launches of an instance.
 *
 * energy.c combines spans of launches and ticks of the sensor into windows for the attribution.
 * energy_query.c implements the queries.
 *
 * Note: energy is collected between runs only, so all launches up to that time are complete.
 */
#ifndef FORGE_RUNTIME_ENERGY_H
#define FORGE_RUNTIME_ENERGY_H

#include <forge/energy.h>
#include "forge/runtime/instance.h"
#include "forge/runtime/items.h"
#include "forge/runtime/spans.h"

/* The energy counting of one instance, from forge_energy_start to forge_energy_stop. */
struct energy {
    forge_device *device;
    joule_meter *meter; /* NULL: the default meter */
    int32_t domain;
    struct spans spans;
    struct items items;
    struct attribution *attribution;
    double *active_s;         /* scratch: seconds of each item in the current window */
    int64_t begin_ns, cut_ns; /* start of counting, and end of the last window */
    uint64_t windows;
    /* Used on a device that only estimates; one for each item. expected: expected cost of the item's launches
     * in all runs. collected: the same sum over the collected runs only. */
    struct expected *expected, *collected;
    uint64_t expected_runs, collected_runs;
    double seen_s; /* total length of the windows with energy */
    forge_energy_basis basis;
    double cut_cpu_s;   /* CPU time of this process at cut_ns, in s */
    double joules_seen; /* joules of attributed windows */
    double lost_joules; /* joules of windows that were not attributed */
    /* standard deviation of the relative error of each window's joules; for FORGE_ENERGY_OF_PROCESS only */
    double relative_sd;
    /* Sums over the windows with energy since the last gap: of joules, of squared joules, and of variances.
     * own_variance uses them to find the error that all windows share. */
    double joules, squares, variance;
    int64_t first_ns; /* start of the first window in these sums */
    double gain_sd;   /* relative standard deviation of the common error */
    joule_class cls;  /* weakest class of a window's joules */
    /* The joules of each item, valid until the next collection. NULL means not computed yet. */
    struct attribution_answer *answer;
    size_t *group_of; /* one for each item: the lowest item of its group */
    double *part;     /* scratch, one for each item: the part of its joules in a sum, from 0 to 1 */
};

void energy_free(struct energy *energy);
/* Computes energy->answer if it is NULL. Returns JOULE_PENDING if there is no energy yet, otherwise the
 * status of attribution_solve. */
joule_status energy_solve(const forge_instance *instance);
/* Computes energy->answer on a device that only estimates (energy_expected.c). Returns JOULE_PENDING if no
 * run was collected yet, and JOULE_NO_MEMORY if out of memory. */
joule_status energy_expect(const forge_instance *instance);
/* Returns `value`, which is the total or a part of it, in joules. The interval covers the error that all
 * windows share. */
joule_quantity energy_part(const struct energy *energy, double value);
/* On a device that only estimates, adds the expected cost of the runs since the last call. Must be called
 * before launches get other sizes, and when energy is collected. Has no effect on other devices. */
void energy_add_expected(forge_instance *instance);

#endif
