/* tools/joule/calibrate/measure.h - the time, and where a sensor is the joules, of a round of each kernel.
 *
 * Owns the CPU that they run on, their order, how often and how long, and what is told meanwhile.
 * Newcomers: cycles are counted by a chain of additions that runs just before and after, since the clock of a core changes
 * from moment to moment; time is the thread's own, so that what others run beside it is not counted.
 */
#ifndef CALIBRATE_MEASURE_H
#define CALIBRATE_MEASURE_H

#include <signal.h>
#include <joule/joule.h>
#include "calibrate/kernels.h"

struct effort {
    double seconds; /* of a kernel in each repeat, at the least */
    double
        least_joules; /* and until so many are used, where a sensor is; at most MOST_STRETCH times as long */
    unsigned repeats;
    bool has_energy; /* look for a sensor */
    bool is_seen;    /* tell how far it is, on standard error */
};
#define MOST_STRETCH 10

struct measured {
    struct fit_kernel
        list[FIT_MOST_KERNELS]; /* those that run here, in the order of the table; then idle, with a sensor */
    size_t count;
    struct cost_term hz;
    double hz_log_sd;
    joule_class energy_class; /* NONE: no sensor; MEASURED, DERIVED */
    char energy_source[48];
    double temperature_celsius; /* at the end; NaN: unknown */
    int cpu;                    /* that they ran on; -1: it could not be held to one */
    double seconds;             /* that it all took */
};

/* Seconds that it is about to take, without making memory ready. */
double measure_expected_seconds(const struct cost_core *core, const struct effort *effort);
/* Runs all kernels that are here. *stopped is looked at every few milliseconds. FAILED: it is not 0. NO_MEMORY. */
joule_status measure_kernels(const struct cost_core *core, const struct effort *effort,
                             const volatile sig_atomic_t *stopped, struct measured *out,
                             joule_error *out_error);

#endif
