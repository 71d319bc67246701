/* runtime/energy.h - an instance's launches joined with a meter's joules.
 *
 * Owns the way from spans and ticks of the sensor to windows of the attribution. The questions are in energy_ask.c.
 * Newcomers: collecting happens between runs, so every launch up to now is complete.
 */
#ifndef FORGE_RUNTIME_ENERGY_H
#define FORGE_RUNTIME_ENERGY_H

#include <forge/energy.h>
#include "forge/runtime/instance.h"
#include "forge/runtime/items.h"
#include "forge/runtime/spans.h"

struct energy {
    forge_device *device;
    joule_meter *meter; /* NULL: the default one */
    int32_t domain;
    struct spans spans;
    struct items items;
    struct attribution *attribution;
    double *active_s; /* of each item, in the window at hand */
    int64_t begin_ns, cut_ns;
    uint64_t windows;
    /* On a device that only estimates: what the launches of each item take in all runs so far, and in those
     * that were collected. */
    struct expected *expected, *collected;
    uint64_t expected_runs, collected_runs;
    double seen_s;
    forge_energy_basis basis;
    double cut_cpu_s;   /* CPU time of this process at cut_ns */
    double joules_seen; /* joules of windows that were attributed */
    double lost_joules; /* joules of windows that were not */
    double relative_sd; /* error of each window's joules where the process is the basis */
    /* Of the windows with energy: what tells the error that they have in common from their own. */
    double joules, squares, variance;
    int64_t first_ns; /* where the first of them without a gap since begins */
    double gain_sd;
    joule_class cls;
    /* Until the next collection; NULL: not solved. */
    struct attribution_answer *answer;
    size_t *group_of;
    bool *is_in;
};

void energy_free(struct energy *energy);
/* Makes the answer where there is none. PENDING: nothing to solve yet. */
joule_status energy_solve(const forge_instance *instance);
/* The same on a device that only estimates (energy_expected.c). */
joule_status energy_expect(const forge_instance *instance);
/* Joules of what `value` is a part of the total's. */
joule_quantity energy_part(const struct energy *energy, double value);
/* There, adds up what the runs since the last time take: before launches get other sizes, and when they are collected. */
void energy_add_expected(forge_instance *instance);

#endif
