/* bench/run.h - the figures of one run of a command. */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include <joule/devices.h>
#include <joule/quantity.h>
#include <stdbool.h>
#include <stddef.h>
#include "fail_rule.h"

/* Which joules decide. */
enum basis {
    BASIS_UNKNOWN, /* no energy is known: time decides */
    BASIS_GROSS,   /* of the machine, measured, with idle energy */
    BASIS_NET,     /* of the machine, measured, without idle energy */
    BASIS_COMMAND, /* of the command's CPU time, by a model, because no sensor measures the machine */
};
/* Returns "unknown", "gross", "net" or "command"; static storage. */
const char *basis_name(enum basis basis);

/* Reasons of reduced clocks that make a run slower: heat or power. */
#define RUN_THROTTLED                                                                                        \
    (JOULE_CLOCKS_POWER | JOULE_CLOCKS_TEMPERATURE | JOULE_CLOCKS_HOT_HARDWARE | JOULE_CLOCKS_SLOWDOWN |     \
     JOULE_CLOCKS_POWER_BRAKE)

/* One run. Unknown figures are NaN. */
struct run {
    unsigned block; /* number of the round of runs, from 0; unknown order: the number of the run */
    bool is_warm_up;
    const char *rejected; /* why the run does not count, static storage or an arena; NULL: it counts */
    double machine_joules, net_joules, command_joules;
    double own_sd,
        common_sd; /* of the energy that decides: independent error, and error common to all runs */
    double seconds;
    double coverage;             /* share of the time that sensors covered, 0 to 1 */
    double cpu_busy, other_busy; /* share of all CPUs that worked, and that worked for other programs */
    double gpu_busy;             /* mean over all GPUs */
    double temperature_celsius;  /* the highest of all CPUs and GPUs, at the end */
    int throttled; /* why GPUs reduced their clocks: bits of RUN_THROTTLED; 0: no; -1: unknown */
    double work;   /* amount of work; NaN: not given */
    int exit_code;
    joule_class cls;        /* of the energy that decides */
    bool is_modelled;       /* no sensor measured machine_joules; not stored */
    size_t remaining_count; /* processes that the command left running; their later energy is missing */
};

/* Returns the joules that decide, or NaN. */
double run_joules(const struct run *run, enum basis basis);
/* Returns a metric of the run, in joules, seconds, watts or joule-seconds; NaN: unknown. */
double run_metric(const struct run *run, enum basis basis, enum metric metric);

/* Mean and scatter of values that are added one by one, by Welford's method. All 0: no values. */
struct moments {
    size_t count;
    double mean;
    double squares; /* sum of the squared distances from the mean */
};
void moments_add(struct moments *moments, double value);

/* Sums of the runs that count, in the units of struct run. All 0: no runs. */
struct run_sums {
    struct moments joules, seconds, watts;
    struct moments work;   /* of the runs with known work */
    size_t rejected_count; /* runs that are neither warm-up nor count */
};
void run_sums_add(struct run_sums *sums, const struct run *run, enum basis basis);

/* The runs of one command. */
struct run_list {
    struct run *items;
    size_t count, capacity;
};
/* Appends a run. Returns false if out of memory. */
bool run_list_add(struct run_list *list, const struct run *run);
/* Writes the metric of all runs that count to out_values and returns their number. out_values: [list->count]
 */
size_t run_list_metric(const struct run_list *list, enum basis basis, enum metric metric, double *out_values);
/* Returns the mean of a member of the runs that count, over known values; NaN: none is known. `offset`:
 * offsetof a double in struct run */
double run_list_mean(const struct run_list *list, size_t offset);

#endif
